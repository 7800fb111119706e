//! Rates of the LSBF with `match => 'any'`.

use super::{Facts, bloom, crowding};
use crate::binomial;
use crate::filter::probing::curve::{Curve, Shape, TABLES, hit, probes};
use crate::limits::MAX_LINE_HASHES;
use crate::params::{Family, LINE, Params};

/// Keys that are really tried.
fn tried(params: &Params, probes: u32) -> f64 {
    match params.family.law() {
        Family::MinHash => 1.0,
        Family::Bits | Family::Symbols => f64::from(probes),
        _ => Curve::of(Shape::of(params), probes, TABLES).keys().min(f64::from(probes)),
    }
}

/// Keys a line holds, from the share of bits that are set.
pub fn line_keys(fill: f64, hashes: u32) -> f64 {
    let spared = -libm::expm1(f64::from(hashes) * libm::log1p(-1.0 / LINE as f64));
    -libm::log1p(-fill.min(1.0 - 1e-12)) / spared
}

/// The false positive rate of a line, where lines hold so many keys on average.
pub fn line_rate(keys: f64, hashes: u32) -> f64 {
    let spared = libm::log1p(-1.0 / LINE as f64) * f64::from(hashes);
    let (mut weight, mut rate, mut sum) = (libm::exp(-keys), 0.0, 0.0);
    let most = (keys + 12.0 * libm::sqrt(keys) + 24.0) as u32;
    if keys > 600.0 {
        return 1.0;
    }
    for j in 0..most {
        rate += weight * libm::pow(-libm::expm1(spared * f64::from(j)), f64::from(hashes));
        sum += weight;
        weight *= keys / f64::from(j + 1);
    }
    // What is beyond the sum has more keys than any in it.
    (rate + (1.0 - sum).max(0.0)).min(1.0)
}

/// The chance that some of so many probes meet a false positive.
pub fn noise(rate: f64, probes: f64) -> f64 {
    -libm::expm1(probes * libm::log1p(-rate.min(1.0 - 1e-15)))
}

/// The chance that one unrelated member has one of the first keys of a query.
pub fn chance(params: &Params, probes: u32) -> f64 {
    let unrelated = if params.family == Family::Symbols { 1.0 } else { params.metric.unrelated() };
    match params.family.law() {
        Family::Gaussian | Family::Cauchy => 0.0,
        // Vectors of one length are unrelated where they are orthogonal.
        Family::CrossPolytope => {
            f64::from(probes) * libm::pow(f64::from(2 * params.polytope()), -f64::from(params.hashes))
        }
        _ => hit(params, unrelated, probes),
    }
}

/// P(enough tables hit) with the nearest member at `distance`.
pub fn acceptance(facts: &Facts, distance: f64, theta: f64) -> f64 {
    let params = &facts.params;
    let probes = probes(params, theta);
    let keys = line_keys(facts.fill, params.bloom_hashes);
    let members = facts.members as f64;
    let noise = noise(line_rate(keys, params.bloom_hashes), tried(params, probes));
    let distinct = keys * (params.partition() / LINE) as f64;
    let others = -libm::expm1(-members * chance(params, probes));
    // Where nothing is known of unrelated vectors, members that share keys tell how they crowd, or that they are alike.
    let others = match params.family.law() {
        Family::Gaussian | Family::Cauchy => others.max(crowding::crowding(distinct, members)),
        _ => others,
    };
    let missed = (1.0 - hit(params, distance, probes)) * (1.0 - others) * (1.0 - noise);
    binomial::at_least(params.tables, 1.0 - missed, params.votes)
}

/// Bits a key sets so that a line errs least, and how often it then errs, with so many bits for each key.
pub fn best_line(bits_a_key: f64) -> (u32, f64) {
    let keys = LINE as f64 / bits_a_key;
    let about = bloom::best_hashes(bits_a_key, 1.0).round().clamp(1.0, f64::from(MAX_LINE_HASHES)) as u32;
    let tried = about.saturating_sub(3).max(1)..=about;
    let rated = tried.map(|hashes| (hashes, line_rate(keys, hashes)));
    rated.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((about, 1.0))
}
