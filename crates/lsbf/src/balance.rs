//! The LSBF paper's trade-off between false positives and false negatives, used to choose default parameters.

/// The weight of false positives: a missed row is worse than an unnecessary exact comparison.
pub const LAMBDA: f64 = 0.3;

/// f_balance of the LSBF paper: lambda FPR + (1 - lambda) FNR.
pub fn balance(fpr: f64, fnr: f64) -> f64 {
    LAMBDA * fpr + (1.0 - LAMBDA) * fnr
}
