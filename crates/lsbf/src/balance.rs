//! The balance of the LSBF paper between the two kinds of errors, where a parameter is chosen for the user.

/// The weight of false positives: a missed row is worse than a wasted exact comparison.
pub const LAMBDA: f64 = 0.3;

/// f_balance of the LSBF paper: lambda FPR + (1 - lambda) FNR.
pub fn balance(fpr: f64, fnr: f64) -> f64 {
    LAMBDA * fpr + (1.0 - LAMBDA) * fnr
}
