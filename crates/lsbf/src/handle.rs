//! A filter together with its hash functions.

use crate::design::advise::Advice;
use crate::design::{Options, parameters};
use crate::error::Result;
use crate::filter::format::{self, View};
use crate::filter::{Engine, Owned};
use crate::params::{Kind, Metric, Params};
use crate::rates::{self, Facts};
use crate::vector::Vector;

/// A filter that can be filled, queried, merged and stored.
///
/// Its hash functions are expanded from the seed when the first vector is added or queried, because the number of
/// dimensions may not be known before. Many filters with the same parameters can share one [`Engine`]; see [`Owned`].
pub struct Filter {
    owned: Owned,
    params: Params,
    engine: Option<Engine>,
}

impl Filter {
    /// Creates an empty filter. `near` is required, and `capacity` except for [`Kind::Lsqf`]; all other options have
    /// defaults.
    pub fn new(kind: Kind, metric: Metric, options: &Options) -> Result<Filter> {
        let (params, dims) = parameters(kind, metric, options)?;
        Ok(Filter::with_params(params, dims, options.centre.as_deref().unwrap_or_default()))
    }

    /// Creates an empty filter with these parameters. If `dims` is 0, the first member determines the dimensions. The centre
    /// is ignored if the parameters have none.
    pub fn with_params(params: Params, dims: u32, centre: &[f32]) -> Filter {
        let centre = if params.centre() == 0 { &[] } else { centre };
        Filter { owned: Owned::centred(&params, dims, centre), params, engine: None }
    }

    /// Creates an empty filter from the best choice of [`advise`](crate::design::advise), which designs filters for a sample
    /// of the data.
    pub fn advised(advice: &Advice) -> Option<Filter> {
        let best = advice.choices.first()?;
        Some(Filter::with_params(best.params.clone(), advice.dims, &advice.centre))
    }

    /// Reads a filter from its bytes, which are validated completely.
    pub fn from_bytes(bytes: &[u8]) -> Result<Filter> {
        let owned = Owned::read(bytes)?;
        let params = format::decode_params(owned.view().stored())?;
        Ok(Filter { owned, params, engine: None })
    }

    /// The bytes of the filter. They depend only on its parameters and the set of its members (`lsqf`: and how often each was added).
    pub fn to_bytes(&self) -> &[u8] {
        format::payload(&self.owned.image)
    }

    /// Adds a member.
    pub fn add<'a>(&mut self, vector: impl Into<Vector<'a>>) -> Result<()> {
        let vector = vector.into();
        let engine = expanded(&mut self.engine, &self.params, &self.owned.view(), &vector)?;
        self.owned.add(engine, &vector)
    }

    /// Whether a member is probably within `near` of a vector.
    pub fn contains<'a>(&mut self, vector: impl Into<Vector<'a>>) -> Result<bool> {
        self.contains_within(vector, 1.0)
    }

    /// Whether a member is probably within `theta` times `near` of a vector.
    pub fn contains_within<'a>(&mut self, vector: impl Into<Vector<'a>>, theta: f64) -> Result<bool> {
        let vector = vector.into();
        let view = self.owned.view();
        expanded(&mut self.engine, &self.params, &view, &vector)?.contains(&view.queried(), &vector, theta)
    }

    /// Removes a member of a quotient filter (LSQF); returns whether it was one.
    pub fn remove<'a>(&mut self, vector: impl Into<Vector<'a>>) -> Result<bool> {
        let vector = vector.into();
        let engine = expanded(&mut self.engine, &self.params, &self.owned.view(), &vector)?;
        self.owned.remove(engine, &vector)
    }

    /// The number of tables or projections that agree, which [`Filter::contains`] compares with a threshold; for LSQF the
    /// number of members that match.
    pub fn votes<'a>(&mut self, vector: impl Into<Vector<'a>>) -> Result<u32> {
        let vector = vector.into();
        let view = self.owned.view();
        expanded(&mut self.engine, &self.params, &view, &vector)?.votes(&view.queried(), &vector, 1.0)
    }

    /// An estimate of the distance to the nearest member (ILBF and LSQF); `None` if no member is near.
    pub fn distance<'a>(&mut self, vector: impl Into<Vector<'a>>) -> Result<Option<f64>> {
        let vector = vector.into();
        let view = self.owned.view();
        expanded(&mut self.engine, &self.params, &view, &vector)?.distance(&view.queried(), &vector)
    }

    /// Adds the members of another filter, which must have the same parameters.
    pub fn merge(&mut self, other: &Filter) -> Result<()> {
        self.owned.merge(&other.owned)
    }

    /// The parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The size of the filter, its fill and an estimate of its number of members.
    pub fn facts(&self) -> Result<Facts> {
        Facts::of(&self.owned.image)
    }

    /// What the filter contains and how often it errs, in a few sentences.
    pub fn explain(&self) -> Result<String> {
        Ok(rates::explain::explain(&self.facts()?))
    }

    /// The predicted fraction of vectors whose nearest member is at distance `far` for which [`Filter::contains`]
    /// returns true.
    pub fn false_positives(&self) -> Result<f64> {
        Ok(rates::false_positives(&self.facts()?, 1.0))
    }

    /// The predicted fraction of vectors at this distance from a member for which [`Filter::contains`] returns false.
    pub fn false_negatives(&self, distance: f64) -> Result<f64> {
        Ok(1.0 - rates::acceptance(&self.facts()?, distance, 1.0))
    }
}

impl Clone for Filter {
    /// The copy expands its own hash functions.
    fn clone(&self) -> Filter {
        Filter { owned: self.owned.clone(), params: self.params.clone(), engine: None }
    }
}

impl std::fmt::Debug for Filter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Filter").field("params", &self.params).field("bytes", &self.to_bytes().len()).finish()
    }
}

/// The expanded hash functions of a filter. A filter whose dims are unknown takes those of the vector.
fn expanded<'a>(
    engine: &'a mut Option<Engine>,
    params: &Params,
    filter: &View,
    vector: &Vector,
) -> Result<&'a mut Engine> {
    let made = match engine.take() {
        // Queries do not set the dims of an empty filter, so that the next vector may have others.
        Some(engine) if filter.header.dims != 0 || engine.dims == params.input(vector)?.dims => engine,
        _ => {
            let dims = match filter.header.dims {
                0 => params.input(vector)?.dims,
                dims => dims,
            };
            Engine::centred(params.clone(), dims, filter.centre()?)?
        }
    };
    Ok(engine.insert(made))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::advise::for_sample;
    use crate::design::request::Goals;
    use crate::design::reservoir::Reservoir;
    use crate::error::Code;
    use crate::hash::rng::Stream;

    fn filter(capacity: i64) -> Filter {
        let options = Options { near: Some(1.0), capacity: Some(capacity), ..Options::default() };
        Filter::new(Kind::Dsbf, Metric::L2, &options).unwrap()
    }

    #[test]
    fn members_are_found_after_a_round_trip_and_a_union() {
        let (mut a, mut b) = (filter(100), filter(100));
        for i in 0..50 {
            a.add(&[f64::from(i) * 100.0, 0.0][..]).unwrap();
            b.add(&[0.0, f64::from(i) * -100.0 - 50.0][..]).unwrap();
        }
        a.merge(&b).unwrap();
        let mut copy = Filter::from_bytes(a.to_bytes()).unwrap();
        for i in 0..50 {
            assert!(copy.contains(&[f64::from(i) * 100.0, 0.0][..]).unwrap());
            assert!(copy.contains_within(&[0.0f32, i as f32 * -100.0 - 50.0][..], 3.0).unwrap());
        }
        let facts = copy.facts().unwrap();
        // Four standard errors of the member sketch, which is at most 4 %.
        assert!((84..=116).contains(&facts.members), "{}", facts.members);
        assert!(copy.false_positives().unwrap() < 0.2 && copy.false_negatives(0.0).unwrap() < 1e-6);
    }

    #[test]
    fn an_empty_filter_accepts_any_dims_until_the_first_member_is_added() {
        let mut filter = filter(10);
        assert!(!filter.contains(&[1.0f32, 2.0][..]).unwrap());
        assert!(!filter.contains(&[1.0f32, 2.0, 3.0][..]).unwrap());
        filter.add(&[1.0f32, 2.0, 3.0][..]).unwrap();
        assert_eq!(filter.contains(&[1.0f32, 2.0][..]).unwrap_err().code, Code::Data);
        assert!(filter.contains(&[1.0f32, 2.0, 3.0][..]).unwrap());
    }

    #[test]
    fn a_filter_is_designed_from_a_sample() {
        let mut stream = Stream::new(5, 0);
        let rows: Vec<Vec<f32>> = (0..500).map(|_| (0..16).map(|_| stream.gaussian() as f32).collect()).collect();
        let mut sample = Reservoir::new(Metric::L2, false, None, 0).unwrap();
        for row in &rows {
            sample.offer(|| Ok(row.into())).unwrap();
        }
        let options = Options { near: Some(0.1), ..Options::default() };
        let advice = for_sample(Metric::L2, &options, &Goals::default(), sample, 500.0).unwrap();
        let mut filter = Filter::advised(&advice).unwrap();
        rows.iter().for_each(|row| filter.add(row).unwrap());
        let mut copy = filter.clone();
        assert!(rows.iter().all(|row| copy.contains(row).unwrap() && copy.votes(row).unwrap() > 0));
        assert!(filter.explain().unwrap().contains("vectors of 16 dimensions"));
        assert!(filter.distance(&rows[0]).unwrap() == Some(0.0) && format!("{filter:?}").starts_with("Filter"));
        assert!(filter.remove(&rows[0]).unwrap() && !filter.remove(&rows[0]).unwrap());
        assert_eq!(filter.facts().unwrap().members, 499);
    }

    #[test]
    fn filters_with_different_parameters_are_not_merged() {
        assert!(filter(10).merge(&filter(20)).unwrap_err().message.contains("capacity"));
    }
}
