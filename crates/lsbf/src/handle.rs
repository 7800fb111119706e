//! A filter together with its hash functions.

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
    /// Creates an empty filter. `near` and `capacity` are required; all other options have defaults.
    pub fn new(kind: Kind, metric: Metric, options: &Options) -> Result<Filter> {
        let (params, dims) = parameters(kind, metric, options)?;
        let centre = options.centre.as_deref().filter(|_| params.centre() != 0).unwrap_or_default();
        Ok(Filter { owned: Owned::centred(&params, dims, centre), params, engine: None })
    }

    /// Reads a filter from its bytes, which are validated completely.
    pub fn from_bytes(bytes: &[u8]) -> Result<Filter> {
        let owned = Owned::read(bytes)?;
        let params = format::decode_params(owned.view().stored())?;
        Ok(Filter { owned, params, engine: None })
    }

    /// The bytes of the filter. They depend only on its parameters and the set of its members.
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

    /// Adds the members of another filter, which must have the same parameters.
    pub fn union(&mut self, other: &Filter) -> Result<()> {
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
    use crate::error::Code;

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
        a.union(&b).unwrap();
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
    fn filters_with_different_parameters_are_not_merged() {
        assert!(filter(10).union(&filter(20)).unwrap_err().message.contains("capacity"));
    }
}
