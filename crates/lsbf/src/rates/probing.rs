//! Rates of the LSBF with `match => 'any'`.

use super::{Facts, bloom, crowding};
use crate::binomial;
use crate::filter::probing::curve::{Curve, TABLES, hit, probes};
use crate::hash::agreement::{Agreement, Reach, below, partitions, unrelated};
use crate::limits::MAX_LINE_HASHES;
use crate::params::{Family, LINE, Params};

/// The average number of keys that are tried: there may be fewer than `probes`.
fn tried(params: &Params, probes: u32) -> f64 {
    match params.family {
        Family::MinHash | Family::Blocks | Family::SymbolBlocks => 1.0,
        Family::Bits | Family::Symbols => f64::from(probes),
        _ => Curve::of(params.hashes, probes, TABLES).keys().min(f64::from(probes)),
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
    let unrelated = if params.family.has_symbols() { 1.0 } else { params.metric.unrelated() };
    match params.family {
        Family::Cauchy => 0.0,
        _ => hit(params, unrelated, probes),
    }
}

/// P(at least `votes` tables match), given the distance of the nearest member.
pub fn acceptance(facts: &Facts, distance: f64, theta: f64) -> f64 {
    let params = &facts.params;
    if params.family.has_blocks() {
        return 1.0 - rejection(facts, distance, theta);
    }
    let probes = probes(params, theta);
    let keys = line_keys(facts.fill, params.bloom_hashes);
    let members = facts.members as f64;
    let noise = noise(line_rate(keys, params.bloom_hashes), tried(params, probes));
    let distinct = keys * (params.partition() / LINE) as f64;
    let others = -libm::expm1(-members * chance(params, probes));
    // The distance of unrelated vectors is unknown for l1: estimate it from the members that share keys.
    let others = match params.family {
        Family::Cauchy => others.max(crowding::shared_keys(distinct, members)),
        _ => others,
    };
    let missed = (1.0 - hit(params, distance, probes)) * (1.0 - others) * (1.0 - noise);
    binomial::at_least(params.tables, 1.0 - missed, params.votes)
}

/// P(fewer tables than needed match), for keys of blocks. It is zero only if that is impossible.
pub fn rejection(facts: &Facts, distance: f64, theta: f64) -> f64 {
    let Facts { params, dims, .. } = facts;
    let votes = Reach::of(params, *dims).votes(params, *dims, theta);
    let law = |distance: f64| Agreement::new(params, *dims, distance.min(params.metric.largest()), partitions(params));
    let others = -libm::expm1(facts.members as f64 * libm::log1p(-unrelated(params, *dims).min(1.0 - 1e-12)));
    let noise = line_rate(line_keys(facts.fill, params.bloom_hashes), params.bloom_hashes);
    below_with(law(distance).of(params.tables), 1.0 - (1.0 - others) * (1.0 - noise), votes)
}

/// P(fewer than `votes` tables match), given how many agree with a member, if each of the others matches with probability
/// `other`.
pub fn below_with(agreement: &[f64], other: f64, votes: u32) -> f64 {
    if other == 0.0 {
        return below(agreement, votes);
    }
    let tables = agreement.len() as u32 - 1;
    let with = |(agreeing, chance): (usize, &f64)| {
        let agreeing = agreeing as u32;
        chance * binomial::quick::below(tables - agreeing, other, votes - agreeing)
    };
    // What is impossible must stay so. An empty sum would be -0.
    let possible = agreement.iter().enumerate().take(votes as usize).filter(|(_, chance)| **chance > 0.0);
    possible.map(with).fold(0.0f64, |sum, chance| sum + chance).min(1.0)
}

/// The number of bits that a key should set to minimize the false positive rate of a line, and that rate.
pub fn best_line(bits_per_key: f64) -> (u32, f64) {
    let keys = LINE as f64 / bits_per_key;
    let about = bloom::best_hashes(bits_per_key, 1.0).round().clamp(1.0, f64::from(MAX_LINE_HASHES)) as u32;
    let tried = about.saturating_sub(3).max(1)..=about;
    let rated = tried.map(|hashes| (hashes, line_rate(keys, hashes)));
    rated.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((about, 1.0))
}
