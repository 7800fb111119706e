//! Formulas for ordinary Bloom filters.

/// The expected fraction of bits set after `keys` keys with `hashes` bits each.
pub fn fill(keys: f64, hashes: f64, bits: f64) -> f64 {
    -libm::expm1(-keys * hashes / bits)
}

/// The number of hashes that minimizes the false positive rate: ln 2 x bits / keys.
pub fn best_hashes(bits: f64, keys: f64) -> f64 {
    std::f64::consts::LN_2 * bits / keys
}

/// The expected number of keys, given the fraction of bits set.
pub fn keys_from_fill(fill: f64, hashes: f64, bits: f64) -> f64 {
    -libm::log1p(-fill) * bits / hashes
}

/// The Jaccard similarity of two sets, from their sizes and the size of their union: |intersection| / |union|.
pub fn overlap(a: f64, b: f64, union: f64) -> f64 {
    if union <= 0.0 { 0.0 } else { ((a + b - union) / union).clamp(0.0, 1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn textbook_example() {
        // m/n = 8: the optimal k is 5.545, with a false positive rate of 0.6185^8.
        let k = best_hashes(8.0, 1.0);
        assert!((k - 5.545).abs() < 1e-3);
        let rate = libm::pow(fill(1.0, k, 8.0), k);
        assert!((rate - libm::pow(0.6185, 8.0)).abs() < 1e-4);
        assert!((keys_from_fill(fill(123.0, 4.0, 1000.0), 4.0, 1000.0) - 123.0).abs() < 1e-9);
    }
}
