//! Recommends filters, with or without a sample of the data, and reports which requirements cannot be met.

use super::choose::{self, Choice, Choices};
use super::data::Data;
use super::options::Options;
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
    let dims = choose::check(metric, options)?;
    let request = Request { goals: *goals, ..choose::request(metric, options, dims)? };
    let data = choose::assumed(metric, options, &request);
    let choices = choose::choices(metric, options, &request, &data, None)?;
    let mut advice = Advice::new(choices, &request, data.centre, None)?;
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
    choose::check(metric, &with_some_capacity(options))?;
    choose::check_rates(goals)
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
    let mut study = sample::study(metric, &rows, population, request.near, request.far);
    let is_spread = study.is_spread(as_length(metric, request.near));
    if metric == Metric::Cosine && !is_spread {
        study.without_centre();
    }
    let doubt = doubt(&study, rows.len(), &request);
    let directions = match metric {
        Metric::Cosine => true,
        // Directions separate bit strings better than sampled bits, whatever their weight.
        Metric::Hamming => !options.symbols && is_spread,
        _ => study.one_length && is_spread,
    };
    let data = Data { cases: study.cases, directions, centre: study.centre };
    let choices = choose::choices(metric, &options, &request, &data, Some(&rows))?;
    Advice::new(choices, &request, data.centre, doubt)
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

/// The l2 norm of the difference of two vectors at this distance.
fn as_length(metric: Metric, near: f64) -> f64 {
    match metric {
        Metric::Cosine => (2.0 * near).sqrt(),
        Metric::Hamming => near.sqrt(),
        _ => near,
    }
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
            (false, doubt) => vec![unreached(best, request, doubt)],
        };
        Ok(Advice { choices: choices.list, dims: request.dims, centre, notices })
    }
}

fn unreached(best: &Choice, request: &Request, doubt: Option<String>) -> Notice {
    let message = format!(
        "the requested error rates cannot be reached: \
         the best filter misses {} of the vectors at near {} and passes {} of those at far {}",
        percent(best.fnr),
        shown(request.near),
        percent(best.fpr),
        rounded(request.far)
    );
    let hint = match doubt {
        None => "Raise fpr, fnr or far, or lower near.".to_string(),
        Some(doubt) => format!("Raise fpr, fnr or far, or lower near. Note that {doubt}."),
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
    (rows < FEW_ROWS).then(|| format!("the sample has only {rows} rows: the predicted rates are rough estimates"))
}

fn percent(rate: f64) -> String {
    if rate >= 0.001 { format!("{:.1} %", rate * 100.0) } else { format!("{:.4} %", rate * 100.0) }
}
