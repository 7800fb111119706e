//! The experiments of docs/papers.md and tests/papers.rs. They build and query filters through an [`Engine`], as the
//! extension does, and the same seeds give the same numbers on every machine.

pub mod dsbf;
pub mod grid;
pub mod ilbf;
pub mod lecture;
pub mod lsbf;
pub mod lsqf;
pub mod vectors;

use ::lsbf::filter::Engine;
use ::lsbf::params::Params;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Called with the progress of an experiment: parts done, and parts in total.
pub type Progress<'a> = &'a (dyn Fn(usize, usize) + Sync);

const THREADS: usize = 2;

/// Runs parts of an experiment on two threads. Each part has its own seeds, so that their order does not matter.
pub fn parallel<T: Send>(parts: usize, progress: Progress, run: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let results: Vec<Mutex<Option<T>>> = (0..parts).map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let part = next.fetch_add(1, Ordering::Relaxed);
                    let Some(slot) = results.get(part) else { break };
                    *slot.lock().unwrap() = Some(run(part));
                    progress(done.fetch_add(1, Ordering::Relaxed) + 1, parts);
                }
            });
        }
    });
    results.into_iter().map(|slot| slot.into_inner().unwrap().expect("every part ran")).collect()
}

/// An engine for valid parameters.
pub fn engine(params: &Params, dims: u32) -> Engine {
    params.validate().expect("parameters of an experiment are valid");
    Engine::new(params.clone(), dims).expect("parameters of an experiment can be expanded")
}

/// The number of events in a number of trials.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Count {
    pub events: u64,
    pub trials: u64,
}

impl Count {
    pub fn record(&mut self, event: bool) {
        self.events += u64::from(event);
        self.trials += 1;
    }

    pub fn rate(self) -> f64 {
        self.events as f64 / self.trials.max(1) as f64
    }

    /// The difference between the rate and an expected one, in standard errors. If less than one event is expected, the
    /// standard error is that of one event.
    pub fn deviation(self, expected: f64) -> f64 {
        let trials = self.trials.max(1) as f64;
        let error = (expected * (1.0 - expected)).max(1.0 / trials) / trials;
        (self.rate() - expected) / error.sqrt()
    }
}

impl std::iter::Sum for Count {
    fn sum<I: Iterator<Item = Count>>(counts: I) -> Count {
        counts.fold(Count::default(), |a, b| Count { events: a.events + b.events, trials: a.trials + b.trials })
    }
}

/// A mean over filters, with the standard deviation between them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mean {
    pub mean: f64,
    pub sd: f64,
    pub draws: usize,
}

impl Mean {
    pub fn of(values: &[f64]) -> Mean {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let square = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0).max(1.0);
        Mean { mean, sd: square.sqrt(), draws: values.len() }
    }

    /// Standard error of the mean.
    pub fn error(self) -> f64 {
        self.sd / (self.draws as f64).sqrt()
    }
}
