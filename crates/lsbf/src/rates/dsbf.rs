//! Rates of the DSBF: B(u) ~ Bin(k, q) with q(d) = 1 - (1 - p(d)^l') (1 - f), where f is the probability that other
//! members have set the bit.

use super::Facts;
use crate::binomial;
use crate::filter::dsbf::threshold;
use crate::hash::collision;

/// P(B(u) >= ceil(t)) with the nearest member at `distance`.
pub fn acceptance(facts: &Facts, distance: f64, theta: f64) -> f64 {
    let own = collision::tuple(&facts.params, distance);
    let q = 1.0 - (1.0 - own) * (1.0 - facts.set_by_others());
    binomial::at_least(facts.params.tables, q, threshold(&facts.params, theta))
}

/// q of the paper's Table 1: bit sampling into 2^l' positions, and `members` members.
pub fn law(distance: f64, hashes: u32, members: u64) -> f64 {
    let own = libm::pow(1.0 - distance, f64::from(hashes));
    let missed_by_others = libm::pow(1.0 - libm::exp2(-f64::from(hashes)), members as f64 - 1.0);
    1.0 - (1.0 - own) * missed_by_others
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_1_of_the_dsbf_paper() {
        for (d, l, n, q) in [
            (0.05, 21, 1000, 0.34088),
            (0.2, 21, 1000, 0.009695),
            (0.1, 21, 1000, 0.10984),
            (0.025, 24, 10000, 0.54491),
            (0.2, 24, 10000, 0.005315),
            (0.05, 24, 10000, 0.29241),
        ] {
            assert!((law(d, l, n) - q).abs() < 1e-5, "{d} {l} {n}");
        }
    }
}
