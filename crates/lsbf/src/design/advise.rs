//! Filters for data that a sample shows, or that nobody has looked at, with remarks on what cannot be had.

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

/// The filters that serve best, and what the user should know about them.
pub struct Advice {
    /// Best first, at least one.
    pub choices: Vec<Choice>,
    /// Dimensions of the vectors; 0 if not known.
    pub dims: u32,
    /// The centre of the filters that have one.
    pub centre: Vec<f32>,
    pub notices: Vec<Notice>,
}

/// A remark on a choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    pub message: String,
    pub hint: Option<String>,
}

impl Notice {
    fn new(message: impl Into<String>, hint: impl Into<String>) -> Notice {
        Notice { message: message.into(), hint: Some(hint.into()) }
    }
}

/// Filters for data of which nothing is known but the options.
pub fn without_data(metric: Metric, options: &Options, goals: &Goals) -> Result<Advice> {
    let dims = choose::check(metric, options)?;
    let request = Request { goals: *goals, ..choose::request(metric, options, dims)? };
    let data = choose::assumed(metric, options, &request);
    let choices = choose::choices(metric, options, &request, &data, None)?;
    let mut advice = Advice::new(choices, &request, data.centre, None)?;
    if metric == Metric::L2 && options.length.is_none() {
        advice.notices.push(Notice::new(
            "all other members are assumed to be far away",
            "If all vectors have about the same length, give length, or let lsbf_design_for examine the table.",
        ));
    }
    Ok(advice)
}

/// Checks options and rates before a table is read for [`for_sample`].
pub fn check(metric: Metric, options: &Options, goals: &Goals) -> Result<()> {
    choose::check(metric, &with_some_capacity(options))?;
    choose::check_rates(goals)
}

/// The capacity may be left out: the table tells it.
fn with_some_capacity(options: &Options) -> Options {
    Options { capacity: options.capacity.or(Some(1)), ..options.clone() }
}

/// Filters for a table of about `population` rows of which a sample was taken.
pub fn for_sample(
    metric: Metric,
    options: &Options,
    goals: &Goals,
    sample: Reservoir,
    population: f64,
) -> Result<Advice> {
    memory::check_room(sample.work_bytes())?;
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
        // Bit strings of any weight are hashed by direction: sampled bits separate them less.
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

/// What is wanted, with a default for far that takes the distances of the sample into account.
fn requested(metric: Metric, options: &Options, goals: &Goals, rows: &Rows) -> Result<Request> {
    let request = choose::request(metric, options, rows.dims() as u32)?;
    let far = match (options.far, metric) {
        (None, Metric::Hamming | Metric::Jaccard) => {
            choose::default_far(metric, request.near, sample::typical(metric, rows))
        }
        _ => request.far,
    };
    Ok(Request { far, goals: *goals, ..request })
}

/// The length of the difference of two vectors at this distance.
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
            return Err(Error::too_large(format!("no filter of at most {MAX_BYTES} bytes serves this purpose"))
                .with_hint("Lower capacity: several filters can be queried instead of one."));
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
        "the wanted rates cannot be reached: the best filter misses {} of the vectors at {} and passes {} of those at {}",
        percent(best.fnr),
        shown(request.near),
        percent(best.fpr),
        rounded(request.far)
    );
    let hint = match doubt {
        None => "Raise fpr, fnr or far, or lower near.".to_string(),
        Some(doubt) => format!("Raise fpr, fnr or far, or lower near: {doubt}."),
    };
    Notice::new(message, hint)
}

/// What makes the predicted rates doubtful.
fn doubt(study: &Study, rows: usize, request: &Request) -> Option<String> {
    const FEW_ROWS: usize = 200;
    const MOST: f64 = 0.5;
    const MANY_PAIRS: f64 = 0.02;
    // If every row has a few copies, only a small share of the pairs is within far.
    let many = study.pairs_within_far > MANY_PAIRS;
    if many && study.within_near > MOST {
        return Some(format!(
            "near {} is too large for this table: {} of its rows have another row within near, and the median distance of two rows is {}",
            shown(request.near),
            percent(study.within_near),
            rounded(study.median)
        ));
    }
    if many && study.within_far > MOST {
        return Some(format!(
            "{} of the rows have another row within far {}, and the median distance of two rows is {}: most rows will pass",
            percent(study.within_far),
            shown(request.far),
            rounded(study.median)
        ));
    }
    (rows < FEW_ROWS).then(|| format!("the sample has only {rows} rows: the rates are rough guesses"))
}

fn percent(rate: f64) -> String {
    if rate >= 0.001 { format!("{:.1} %", rate * 100.0) } else { format!("{:.4} %", rate * 100.0) }
}
