//! Rates of the LSQF.

pub mod meeting;
pub mod pass;

use super::Facts;
use crate::filter::Engine;
use crate::filter::lsqf::CODE_SHARE;
use crate::filter::lsqf::likelihood::Likelihood;
use crate::hash::rng::Stream;
use crate::params::{Layout, MAX_GRID, Metric, Params, Quotient, length, radius};
use meeting::{Meeting, Table};
use pass::{Curve, Law};
use std::cell::RefCell;
use std::rc::Rc;

/// The rates of queries with one theta.
pub struct Passing {
    model: Rc<Model>,
    /// The fraction of near members in cells that are not visited.
    in_cells: f64,
    others: Others,
}

/// What the other members let pass.
enum Others {
    /// The fractions of queries without a member within far, and of those at far.
    Counted { unrelated: f64, at_far: f64 },
    /// What this number of random members do.
    Random { prepared: Rc<Prepared>, members: f64 },
}

/// What the rates of all filters with the same parameters have in common.
struct Model {
    layout: Layout,
    likelihood: Likelihood,
    in_cells: f64,
    /// The radius of the queries.
    radius: f64,
    metric: Metric,
    near: f64,
}

/// A model with what queries of random vectors meet. It takes some hundredths of a second to prepare.
struct Prepared {
    params: Params,
    dims: u32,
    theta: f64,
    model: Rc<Model>,
    curve: Curve,
    meeting: Option<Meeting>,
}

thread_local! {
    /// The models that were used last; each has about 100 kB.
    static PREPARED: RefCell<Vec<Rc<Prepared>>> = const { RefCell::new(Vec::new()) };
}
const MAX_PREPARED: usize = 4;

/// Frees the models that are kept.
pub fn release() {
    PREPARED.with_borrow_mut(Vec::clear);
}

impl Model {
    fn new(params: &Params, dims: u32, theta: f64) -> Option<Model> {
        let (layout, quotient) = (Layout::of(params, dims)?, params.quotient?);
        Some(Model {
            likelihood: Likelihood::new(&layout, quotient.fnr * CODE_SHARE),
            in_cells: quotient.fnr * (1.0 - CODE_SHARE),
            radius: radius(params.metric, theta),
            metric: params.metric,
            near: params.near,
            layout,
        })
    }

    /// A distance as a length, as a multiple of near.
    fn in_near(&self, distance: f64) -> f64 {
        length(self.metric, distance) / length(self.metric, self.near)
    }

    /// The probability that the code of a member matches, by distance.
    fn curve(&self) -> Curve {
        Curve::new(&self.layout, &self.likelihood, self.radius)
    }
}

impl Passing {
    /// The rates of filters with these parameters at theta 1, with what queries of `members` members meet; `None` for other
    /// kinds.
    pub fn among(params: &Params, dims: u32, meeting: Option<&Meeting>, members: f64) -> Option<Passing> {
        let model = Model::new(params, dims, 1.0)?;
        let curve = model.curve();
        let far = length(params.metric, params.far) / length(params.metric, params.near);
        let others = Others::Counted {
            unrelated: meeting.map_or(0.0, |meeting| meeting.passed_unrelated(&curve, members, far)),
            at_far: meeting.map_or(0.0, |meeting| meeting.passed_at_far(&curve, members, far)),
        };
        let in_cells = meeting.and_then(|meeting| meeting.missed).unwrap_or(model.in_cells);
        Some(Passing { model: Rc::new(model), in_cells, others })
    }

    /// The rates of a filter. Unrelated members are assumed to be in random directions from the centre.
    pub fn of(facts: &Facts, theta: f64) -> Option<Passing> {
        let is_of = |one: &&Rc<Prepared>| one.params == facts.params && one.dims == facts.dims && one.theta == theta;
        let known = PREPARED.with_borrow(|prepared| prepared.iter().find(is_of).cloned());
        let prepared = match known {
            Some(prepared) => prepared,
            None => {
                // Not while it is borrowed: this may be interrupted.
                let (params, dims) = (facts.params.clone(), facts.dims);
                let model = Rc::new(Model::new(&params, dims, theta)?);
                let (curve, meeting) = (model.curve(), random_meeting(&params, dims, theta));
                let new = Rc::new(Prepared { params, dims, theta, model, curve, meeting });
                PREPARED.with_borrow_mut(|prepared| {
                    prepared.truncate(MAX_PREPARED - 1);
                    prepared.insert(0, new.clone());
                });
                new
            }
        };
        let in_cells = prepared.meeting.as_ref().and_then(|meeting| meeting.missed);
        Some(Passing {
            model: prepared.model.clone(),
            in_cells: in_cells.unwrap_or(prepared.model.in_cells),
            others: Others::Random { prepared, members: facts.members as f64 },
        })
    }

    /// The probability that a query without a member within far passes.
    pub fn unrelated(&self) -> f64 {
        match &self.others {
            Others::Counted { unrelated, .. } => *unrelated,
            Others::Random { prepared, .. } => self.others(prepared.params.far),
        }
    }

    /// The probability that a member farther away than the nearest one, at this distance, lets a query pass. Of random vectors
    /// of more than a few dimensions, none are much nearer than the others.
    fn others(&self, distance: f64) -> f64 {
        match &self.others {
            Others::Counted { unrelated, .. } => *unrelated,
            Others::Random { prepared, members } => {
                let Prepared { params, curve, meeting, dims, theta, .. } = &**prepared;
                let nearest = if *dims <= MAX_GRID { distance.min(theta * params.far) } else { 0.0 };
                let nearest = self.model.in_near(nearest);
                meeting.as_ref().map_or(0.0, |meeting| meeting.passed_beyond(curve, *members, nearest))
            }
        }
    }

    /// P(a query passes), given the distance of its nearest member. At an infinite distance, it has none within far.
    pub fn at(&self, distance: f64) -> f64 {
        if !distance.is_finite() {
            return self.unrelated();
        }
        1.0 - (1.0 - self.by_nearest(distance)) * (1.0 - self.others(distance))
    }

    /// P(a query at far from its nearest member passes).
    pub fn at_far(&self, far: f64) -> f64 {
        let others = match &self.others {
            Others::Counted { at_far, .. } => *at_far,
            Others::Random { .. } => self.others(far),
        };
        1.0 - (1.0 - self.by_nearest(far)) * (1.0 - others)
    }

    /// P(the nearest member lets a query pass), given its distance.
    pub fn by_nearest(&self, distance: f64) -> f64 {
        let Model { layout, likelihood, radius, .. } = &*self.model;
        let distance = self.model.in_near(distance);
        self.visits(distance) * Law::new(layout, likelihood, *radius).matches(distance)
    }

    /// The probability that the cell of a member is visited. The cost of a cell grows with the square of the distance, and
    /// the probability of a cost falls exponentially.
    fn visits(&self, distance: f64) -> f64 {
        if distance <= 0.0 {
            return 1.0;
        }
        let ratio = self.model.radius / distance;
        1.0 - libm::pow(self.in_cells, ratio * ratio)
    }
}

/// What a query meets if members and queries are normal vectors of the typical length; `None` if that is not known, so that
/// unrelated members are assumed to be far apart.
pub fn random_meeting(params: &Params, dims: u32, theta: f64) -> Option<Meeting> {
    const QUERIES: usize = 128;
    // Of more than a few dimensions, distances are alike.
    let (most, values) = if dims <= MAX_GRID { (1 << 15, 1 << 18) } else { (1 << 13, 1 << 20) };
    let typical = match params.metric {
        Metric::Cosine if params.width == 0.0 => 1.0,
        _ => params.width,
    };
    if typical == 0.0 || dims == 0 {
        return None;
    }
    let quotient = params.quotient.map(|quotient| Quotient { centre: 0, ..quotient });
    let metric = params.metric;
    // Vectors of this length are not normalized again, and theta multiplies a length.
    let theta = radius(params.metric, theta);
    let params = Params { metric: Metric::L2, near: length(params.metric, params.near), quotient, ..params.clone() };
    let mut engine = Engine::new(params.clone(), dims).ok()?;
    let (count, mut stream) = (dims as usize, Stream::new(1, 0));
    let rows = (values / count).clamp(64, most);
    let scale = (typical / f64::from(dims).sqrt()) as f32;
    let mut values: Vec<f32> = (0..rows * count).map(|_| stream.gaussian() as f32 * scale).collect();
    if metric == Metric::Cosine {
        // Normalized vectors have one length.
        for row in values.chunks_exact_mut(count) {
            let length = row.iter().map(|x| f64::from(x * x)).sum::<f64>().sqrt().max(f64::MIN_POSITIVE);
            row.iter_mut().for_each(|x| *x *= (typical / length) as f32);
        }
    }
    let table = Table { values: &values, dims: count };
    if dims > MAX_GRID {
        return Meeting::of_random(&mut engine, table, QUERIES.min(rows), theta, params.near).ok();
    }
    let queries: Vec<usize> = (0..QUERIES).collect();
    Meeting::count(&mut engine, table, &queries, theta, params.near).ok()
}
