//! MinHash for the Jaccard distance: a hash is the minimum of the set's elements under a random order.

use super::probe::{Alternative, Wanted};
use super::rng::Stream;
use super::{Buckets, Lsh};
use crate::error::{Error, Result};
use crate::limits;
use crate::mix::mix;
use crate::params::Params;
use crate::vector::Vector;
use crate::vector::set::{not_a_set, number_element, ones};

/// `tables x hashes` random orders, each given by a salt.
pub struct MinHash {
    orders: Vec<u64>,
    /// The minimum of the last set under each order.
    minima: Vec<i64>,
    /// The elements of a set that is given as a bit string.
    ones: Vec<u64>,
}

impl MinHash {
    /// Draws the orders of a filter.
    pub fn new(params: &Params) -> Self {
        let (tables, hashes) = (params.tables as usize, params.hashes as usize);
        let mut orders = Vec::with_capacity(tables * hashes);
        for table in 0..tables {
            let mut stream = Stream::new(params.seed, table as u64);
            orders.extend((0..hashes).map(|_| stream.word()));
        }
        MinHash { minima: vec![0; orders.len()], orders, ones: Vec::new() }
    }
}

fn find_minima(orders: &[u64], len: usize, element: impl Fn(usize) -> u64, minima: &mut [i64]) -> Result<()> {
    if len == 0 {
        return Err(Error::empty_set());
    }
    let max = limits::MAX_SET.min(limits::MAX_SET_WORK / orders.len());
    if len > max {
        let hashes = orders.len();
        return Err(Error::too_large(format!("set of {len} elements exceeds the limit of {max} for {hashes} hashes")));
    }
    minima.fill(-1);
    for i in 0..len {
        let element = element(i);
        for (min, &order) in minima.iter_mut().zip(orders) {
            *min = (*min as u64).min(mix(order, element)) as i64;
        }
    }
    Ok(())
}

impl Lsh for MinHash {
    fn start(&mut self, vector: &Vector) -> Result<()> {
        let MinHash { orders, minima, ones: set } = self;
        match vector {
            Vector::Ints(ints) => find_minima(orders, ints.len(), |i| number_element(i64::from(ints[i])), minima),
            Vector::BigInts(ints) => find_minima(orders, ints.len(), |i| number_element(ints[i]), minima),
            Vector::Hashed(hashes) => find_minima(orders, hashes.len(), |i| hashes[i], minima),
            Vector::Bits { bytes, .. } | Vector::Bytes(bytes) => {
                set.clear();
                set.extend(ones(bytes));
                find_minima(orders, set.len(), |i| set[i], minima)
            }
            other => Err(not_a_set(other)),
        }
    }

    fn buckets(&self) -> Buckets<'_> {
        Buckets::Numbers(&self.minima)
    }

    /// Sets with the same minima count as one member: the filter cannot distinguish them.
    fn id(&self, _: &Vector, keys: &[u64]) -> u64 {
        keys.iter().fold(0, |id, &key| mix(id, key))
    }

    /// The minimum of a similar set that does not share it is unpredictable.
    fn alternatives(&self, _: &Wanted, _: &mut Vec<Alternative>) {}

    fn bytes(&self) -> usize {
        (self.orders.capacity() + self.minima.capacity() + self.ones.capacity()) * size_of::<u64>()
    }
}
