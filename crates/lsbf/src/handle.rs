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
/// Its hash functions are expanded when the first vector is added or queried, since only then the dimensions are known for
/// sure. Many filters with the same parameters can share one [`Engine`]; see [`Owned`].
pub struct Filter {
    owned: Owned,
    params: Params,
    engine: Option<Engine>,
}

impl Filter {
    /// An empty filter. `near` and `capacity` must be given; all else has a default.
    pub fn new(kind: Kind, metric: Metric, options: &Options) -> Result<Filter> {
        let (params, dims) = parameters(kind, metric, options)?;
        let centre = options.centre.as_deref().filter(|_| params.centre() != 0).unwrap_or_default();
        Ok(Filter { owned: Owned::centred(&params, dims, centre), params, engine: None })
    }

    /// Reads the bytes of a filter. All of them are validated.
    pub fn from_bytes(bytes: &[u8]) -> Result<Filter> {
        let owned = Owned::read(bytes)?;
        let params = format::decode_params(owned.view().stored())?;
        Ok(Filter { owned, params, engine: None })
    }

    /// The bytes of the filter: a function of its parameters and its members.
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

    /// What is known of the filter: its size, its fill and an estimate of the number of members.
    pub fn facts(&self) -> Result<Facts> {
        Facts::of(&self.owned.image)
    }

    /// The predicted share of vectors at distance `far` from every member for which [`Filter::contains`] returns true.
    pub fn false_positives(&self) -> Result<f64> {
        Ok(rates::false_positives(&self.facts()?, 1.0))
    }

    /// The predicted share of vectors at this distance from a member for which [`Filter::contains`] returns false.
    pub fn false_negatives(&self, distance: f64) -> Result<f64> {
        Ok(1.0 - rates::acceptance(&self.facts()?, distance, 1.0))
    }
}

/// The hash functions of a filter, expanded if they are not yet. A filter without dims takes those of the first vector.
fn expanded<'a>(
    engine: &'a mut Option<Engine>,
    params: &Params,
    filter: &View,
    vector: &Vector,
) -> Result<&'a mut Engine> {
    let made = match engine.take() {
        // Queries do not fix the dims of an empty filter.
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
        // The sketch of 1,024 registers has a standard error of 4 % at this size.
        assert!((84..=116).contains(&facts.members), "{}", facts.members);
        assert!(copy.false_positives().unwrap() < 0.2 && copy.false_negatives(0.0).unwrap() < 1e-6);
    }

    #[test]
    fn an_empty_filter_answers_vectors_of_any_length_and_the_first_member_fixes_it() {
        let mut filter = filter(10);
        assert!(!filter.contains(&[1.0f32, 2.0][..]).unwrap());
        assert!(!filter.contains(&[1.0f32, 2.0, 3.0][..]).unwrap());
        filter.add(&[1.0f32, 2.0, 3.0][..]).unwrap();
        assert_eq!(filter.contains(&[1.0f32, 2.0][..]).unwrap_err().code, Code::Data);
        assert!(filter.contains(&[1.0f32, 2.0, 3.0][..]).unwrap());
    }

    #[test]
    fn filters_with_other_parameters_are_not_merged() {
        assert!(filter(10).union(&filter(20)).unwrap_err().message.contains("capacity"));
    }
}
