//! Rates of ordinary Bloom filters, and what two filters say about their sets (the slides).

/// Expected share of bits set after `keys` keys with `hashes` bits each.
pub fn fill(keys: f64, hashes: f64, bits: f64) -> f64 {
    -libm::expm1(-keys * hashes / bits)
}

/// The number of hashes that minimises false positives: ln 2 x bits / keys.
pub fn best_hashes(bits: f64, keys: f64) -> f64 {
    std::f64::consts::LN_2 * bits / keys
}

/// Expected number of keys from the share of bits set.
pub fn keys_from_fill(fill: f64, hashes: f64, bits: f64) -> f64 {
    -libm::log1p(-fill) * bits / hashes
}

/// How much two sets overlap, from their sizes and the size of their union: |both| / |either|.
pub fn overlap(a: f64, b: f64, union: f64) -> f64 {
    if union <= 0.0 { 0.0 } else { ((a + b - union) / union).clamp(0.0, 1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slides_example_comes_out() {
        // m/n = 8: the best k is 5.45, with 0.6185^8 false positives.
        let k = best_hashes(8.0, 1.0);
        assert!((k - 5.545).abs() < 1e-3);
        let rate = libm::pow(fill(1.0, k, 8.0), k);
        assert!((rate - libm::pow(0.6185, 8.0)).abs() < 1e-4);
        assert!((keys_from_fill(fill(123.0, 4.0, 1000.0), 4.0, 1000.0) - 123.0).abs() < 1e-9);
    }
}
