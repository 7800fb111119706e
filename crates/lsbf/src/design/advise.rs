//! Recommends filters, with or without a sample of the data, and reports which requirements cannot be met.

use super::choose::{self, Choice, Choices};
use super::data::Data;
use super::options::Options;
use super::quotient;
use super::request::{Goals, Request};
use super::reservoir::Reservoir;
use super::rows::Rows;
use super::sample::{self, Study};
use crate::error::{Error, Result};
use crate::limits::MAX_BYTES;
use crate::memory;
use crate::params::{Metric, shown};
use crate::rates::explain::rounded;

/// Recommended filters, with notices for the user.
pub struct Advice {
    /// Best first, at least one.
    pub choices: Vec<Choice>,
    /// Dimensions of the vectors; 0 if not known.
    pub dims: u32,
    /// The centre of the filters that have one.
    pub centre: Vec<f32>,
    /// Notices for the user.
    pub notices: Vec<Notice>,
}

/// A notice about a recommendation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The message: lower case, without a period.
    pub message: String,
    /// What to do next, as a sentence.
    pub hint: Option<String>,
}

impl Notice {
    fn new(message: impl Into<String>, hint: impl Into<String>) -> Notice {
        Notice { message: message.into(), hint: Some(hint.into()) }
    }
}

/// Recommends filters without knowledge of the data.
pub fn without_data(metric: Metric, options: &Options, goals: &Goals) -> Result<Advice> {
    let dims = checked(metric, options)?;
    let request = Request { goals: *goals, ..choose::request(metric, options, dims)? };
    let (choices, centre) = match metric {
        Metric::L2 | Metric::Cosine => quotient::choices(metric, options, &request, None)?,
        _ => {
            let data = choose::assumed(metric, options, &request);
            (choose::choices(metric, options, &request, &data, None)?, Vec::new())
        }
    };
    let mut advice = Advice::new(choices, &request, centre, None)?;
    if dims == 0 && matches!(metric, Metric::L2 | Metric::Cosine) {
        let message = format!("the predicted rates assume vectors of {} dimensions", quotient::ASSUMED_DIMS);
        advice.notices.push(Notice::new(message, "Specify dims."));
    }
    if metric == Metric::L2 && options.length.is_none() {
        advice.notices.push(Notice::new(
            "the predicted rates assume that unrelated vectors are far apart",
            "If all vectors have about the same length, specify length, or let lsbf_design_for examine the table.",
        ));
    }
    Ok(advice)
}

/// Checks options and rates before a table is read for [`for_sample`].
pub fn check(metric: Metric, options: &Options, goals: &Goals) -> Result<()> {
    checked(metric, &with_some_capacity(options))?;
    choose::check_rates(metric, goals)
}

/// Checks the options; returns dims, or 0 if not known.
fn checked(metric: Metric, options: &Options) -> Result<u32> {
    match metric {
        Metric::L2 | Metric::Cosine => quotient::check(metric, options),
        _ => choose::check(metric, options),
    }
}

/// The options with any capacity, which may be omitted because it is taken from the table.
fn with_some_capacity(options: &Options) -> Options {
    Options { capacity: options.capacity.or(Some(1)), ..options.clone() }
}

/// Recommends filters for a table of about `population` rows, given a sample of it.
pub fn for_sample(
    metric: Metric,
    options: &Options,
    goals: &Goals,
    sample: Reservoir,
    population: f64,
) -> Result<Advice> {
    memory::check_available(sample.work_bytes())?;
    let rows = sample.rows;
    let options = with_capacity(options, population);
    let request = requested(metric, &options, goals, &rows)?;
    let study = sample::study(metric, &rows, population, request.near, request.far);
    let doubt = doubt(&study, rows.len(), &request);
    if matches!(metric, Metric::L2 | Metric::Cosine) {
        let (choices, centre) = quotient::choices(metric, &options, &request, Some((&study, &rows)))?;
        return Advice::new(choices, &request, centre, doubt);
    }
    let data = Data { cases: study.cases };
    let choices = choose::choices(metric, &options, &request, &data, Some(&rows))?;
    Advice::new(choices, &request, Vec::new(), doubt)
}

fn with_capacity(options: &Options, population: f64) -> Options {
    let capacity = options.capacity.or(Some(population.ceil().max(1.0) as i64));
    Options { capacity, ..options.clone() }
}

/// The requirements, with a default for far that depends on the distances in the sample.
fn requested(metric: Metric, options: &Options, goals: &Goals, rows: &Rows) -> Result<Request> {
    let request = choose::request(metric, options, rows.dims() as u32)?;
    let far = match (options.far, metric) {
        (None, Metric::Hamming | Metric::Jaccard) => {
            choose::default_far(metric, request.near, sample::median_distance(metric, rows))
        }
        _ => request.far,
    };
    Ok(Request { far, goals: *goals, ..request })
}

impl Advice {
    fn new(choices: Choices, request: &Request, centre: Vec<f32>, doubt: Option<String>) -> Result<Advice> {
        let Some(best) = choices.list.first() else {
            return Err(Error::too_large(format!("no filter of at most {MAX_BYTES} bytes is suitable"))
                .with_hint("Lower capacity. Several smaller filters can be queried instead of one."));
        };
        let notices = match (choices.reached, doubt) {
            (true, None) => Vec::new(),
            (true, Some(doubt)) => vec![Notice { message: doubt, hint: None }],
            (false, doubt) => vec![unreached(best, request, choices.limited, doubt)],
        };
        Ok(Advice { choices: choices.list, dims: request.dims, centre, notices })
    }
}

fn unreached(best: &Choice, request: &Request, is_limited: bool, doubt: Option<String>) -> Notice {
    let message = format!(
        "the requested error rates cannot be reached: \
         the best filter misses {} of the vectors at near {}, and passes {} of those at far {} and {} of unrelated ones",
        percent(best.fnr),
        shown(request.near),
        percent(best.fpr),
        rounded(request.far),
        percent(best.unrelated)
    );
    let advice = match is_limited {
        true => format!("A larger filter would exceed {MAX_BYTES} bytes: query several filters of fewer rows each."),
        false => "Raise fpr, fnr or far, or lower near.".to_string(),
    };
    let hint = match doubt {
        None => advice,
        Some(doubt) => format!("{advice} Note that {doubt}."),
    };
    Notice::new(message, hint)
}

/// A reason to doubt the predicted rates, if there is one.
fn doubt(study: &Study, rows: usize, request: &Request) -> Option<String> {
    const FEW_ROWS: usize = 200;
    const MAJORITY: f64 = 0.5;
    const MANY_PAIRS: f64 = 0.02;
    // A large fraction of pairs within far: a few near-duplicates of each row do not count.
    let many = study.pairs_within_far > MANY_PAIRS;
    if many && study.within_near > MAJORITY {
        return Some(format!(
            "near {} is too large for this table: {} of its rows have another row within near, \
             and the median distance between two rows is {}",
            shown(request.near),
            percent(study.within_near),
            rounded(study.median)
        ));
    }
    if many && study.within_far > MAJORITY {
        return Some(format!(
            "{} of the rows have another row within far {}, \
             and the median distance between two rows is {}: most rows will pass",
            percent(study.within_far),
            shown(request.far),
            rounded(study.median)
        ));
    }
    (rows < FEW_ROWS).then(|| {
        format!(
            "the sample has only {rows} row{}: the predicted rates are rough estimates",
            if rows == 1 { "" } else { "s" }
        )
    })
}

fn percent(rate: f64) -> String {
    if rate == 0.0 {
        return "0 %".into();
    }
    if rate < 0.000001 {
        return "under 0.0001 %".into();
    }
    if rate >= 0.001 { format!("{:.1} %", rate * 100.0) } else { format!("{:.4} %", rate * 100.0) }
}
