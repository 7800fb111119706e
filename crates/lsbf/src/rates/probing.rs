//! Rates of the LSBF with `match => 'any'`.

use super::{Facts, bloom, crowding};
use crate::binomial;
use crate::filter::probing::curve::{Curve, Shape, TABLES, hit, probes};
use crate::limits::MAX_LINE_HASHES;
use crate::params::{Family, LINE, Params};

/// The average number of keys that are tried: there may be fewer than `probes`.
fn tried(params: &Params, probes: u32) -> f64 {
    match params.family.law() {
        Family::MinHash => 1.0,
        Family::Bits | Family::Symbols => f64::from(probes),
        _ => Curve::of(Shape::of(params), probes, TABLES).keys().min(f64::from(probes)),
    }
}

/// The average number of keys per cache line, given the fraction of bits set.
pub fn line_keys(fill: f64, hashes: u32) -> f64 {
    let spared = -libm::expm1(f64::from(hashes) * libm::log1p(-1.0 / LINE as f64));
    -libm::log1p(-fill.min(1.0 - 1e-12)) / spared
}

/// The false positive rate of a cache line, given the average number of keys per line.
pub fn line_rate(keys: f64, hashes: u32) -> f64 {
    let spared = libm::log1p(-1.0 / LINE as f64) * f64::from(hashes);
    let (mut weight, mut rate, mut sum) = (libm::exp(-keys), 0.0, 0.0);
    let max = (keys + 12.0 * libm::sqrt(keys) + 24.0) as u32;
    if keys > 600.0 {
        return 1.0;
    }
    for j in 0..max {
        rate += weight * libm::pow(-libm::expm1(spared * f64::from(j)), f64::from(hashes));
        sum += weight;
        weight *= keys / f64::from(j + 1);
    }
    // The remaining lines have even more keys: count them as false positives.
    (rate + (1.0 - sum).max(0.0)).min(1.0)
}

/// The probability that at least one of `probes` probes is a false positive.
pub fn noise(rate: f64, probes: f64) -> f64 {
    -libm::expm1(probes * libm::log1p(-rate.min(1.0 - 1e-15)))
}

/// The probability that an unrelated member has one of the first `probes` keys of a query.
pub fn chance(params: &Params, probes: u32) -> f64 {
    let unrelated = if params.family == Family::Symbols { 1.0 } else { params.metric.unrelated() };
    match params.family.law() {
        Family::Gaussian | Family::Cauchy => 0.0,
        // Unrelated directions are orthogonal, so that all vertices are equally likely.
        Family::CrossPolytope => {
            f64::from(probes) * libm::pow(f64::from(2 * params.polytope()), -f64::from(params.hashes))
        }
        _ => hit(params, unrelated, probes),
    }
}

/// P(at least `votes` tables match), given the distance of the nearest member.
pub fn acceptance(facts: &Facts, distance: f64, theta: f64) -> f64 {
    let params = &facts.params;
    let probes = probes(params, theta);
    let keys = line_keys(facts.fill, params.bloom_hashes);
    let members = facts.members as f64;
    let noise = noise(line_rate(keys, params.bloom_hashes), tried(params, probes));
    let distinct = keys * (params.partition() / LINE) as f64;
    let others = -libm::expm1(-members * chance(params, probes));
    // The distance of unrelated vectors is unknown for l2 and l1: estimate it from the members that share keys.
    let others = match params.family.law() {
        Family::Gaussian | Family::Cauchy => others.max(crowding::shared_keys(distinct, members)),
        _ => others,
    };
    let missed = (1.0 - hit(params, distance, probes)) * (1.0 - others) * (1.0 - noise);
    binomial::at_least(params.tables, 1.0 - missed, params.votes)
}

/// The number of bits that a key should set to minimize the false positive rate of a line, and that rate.
pub fn best_line(bits_per_key: f64) -> (u32, f64) {
    let keys = LINE as f64 / bits_per_key;
    let about = bloom::best_hashes(bits_per_key, 1.0).round().clamp(1.0, f64::from(MAX_LINE_HASHES)) as u32;
    let tried = about.saturating_sub(3).max(1)..=about;
    let rated = tried.map(|hashes| (hashes, line_rate(keys, hashes)));
    rated.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((about, 1.0))
}
