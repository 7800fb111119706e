//! Binomial and Poisson-binomial tails.

fn ln_choose(n: u32, k: u32) -> f64 {
    let ln_factorial = |x: u32| libm::lgamma(f64::from(x) + 1.0);
    ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k)
}

/// The binomial coefficient "n choose k".
pub fn choose(n: u32, k: u32) -> f64 {
    libm::exp(ln_choose(n, k))
}

/// P(Bin(n, p) = k).
pub fn pmf(n: u32, p: f64, k: u32) -> f64 {
    if p <= 0.0 {
        return f64::from(u8::from(k == 0));
    }
    if p >= 1.0 {
        return f64::from(u8::from(k == n));
    }
    libm::exp(ln_choose(n, k) + f64::from(k) * libm::log(p) + f64::from(n - k) * libm::log1p(-p))
}

/// P(Bin(n, p) >= k).
pub fn at_least(n: u32, p: f64, k: u32) -> f64 {
    // Sum the smaller tail directly: 1 - x would cancel its significant digits.
    if f64::from(k) > f64::from(n) * p { upper(n, p, k) } else { (1.0 - lower(n, p, k)).max(0.0) }
}

/// P(Bin(n, p) < k), without cancellation in the small tail.
pub fn below(n: u32, p: f64, k: u32) -> f64 {
    if f64::from(k) > f64::from(n) * p { (1.0 - upper(n, p, k)).max(0.0) } else { lower(n, p, k) }
}

/// Sums upwards from k; beyond the mode each term is smaller than the previous one.
fn upper(n: u32, p: f64, k: u32) -> f64 {
    if k > n || p <= 0.0 {
        return f64::from(u8::from(k == 0));
    }
    let (odds, mut term, mut sum) = (p / (1.0 - p), pmf(n, p, k), 0.0);
    for j in k..=n {
        sum += term;
        term *= odds * f64::from(n - j) / f64::from(j + 1);
        if term < sum * 1e-17 {
            break;
        }
    }
    sum.min(1.0)
}

/// Sums downwards from k - 1.
fn lower(n: u32, p: f64, k: u32) -> f64 {
    if k == 0 || p >= 1.0 {
        return f64::from(u8::from(k > n));
    }
    let last = (k - 1).min(n);
    let (odds, mut term, mut sum) = ((1.0 - p) / p, pmf(n, p, last), 0.0);
    for j in (0..=last).rev() {
        sum += term;
        term *= odds * f64::from(j) / f64::from(n - j + 1);
        if term < sum * 1e-17 {
            break;
        }
    }
    sum.min(1.0)
}

/// The Poisson-binomial distribution: P(n successes) of independent trials with these probabilities, for every n.
pub fn poisson_binomial(probabilities: &[f64]) -> Vec<f64> {
    let mut distribution = Vec::with_capacity(probabilities.len() + 1);
    distribution.push(1.0);
    probabilities.iter().for_each(|&p| add_trial(&mut distribution, p));
    distribution
}

/// Adds one more trial to a Poisson-binomial distribution.
pub fn add_trial(distribution: &mut Vec<f64>, p: f64) {
    distribution.push(0.0);
    for j in (0..distribution.len()).rev() {
        distribution[j] = distribution[j] * (1.0 - p) + if j > 0 { distribution[j - 1] * p } else { 0.0 };
    }
}

/// The same for small n, without logarithms, because they are called often.
pub mod quick {
    /// P(Bin(n, q) >= k).
    pub fn at_least(n: u32, q: f64, k: u32) -> f64 {
        match k {
            0 => 1.0,
            _ if k > n => 0.0,
            _ if q > 0.5 => 1.0 - upper(n, 1.0 - q, n - k + 1),
            _ => upper(n, q, k),
        }
    }

    /// P(Bin(n, q) >= k) for q <= 1/2.
    fn upper(n: u32, q: f64, k: u32) -> f64 {
        // The first term: C(n, k) q^k (1 - q)^(n - k).
        let mut term = (0..k).fold(1.0, |term, i| term * q * f64::from(n - i) / f64::from(i + 1));
        (k..n).for_each(|_| term *= 1.0 - q);
        let (odds, mut sum) = (q / (1.0 - q), 0.0);
        for i in k..=n {
            sum += term;
            term *= odds * f64::from(n - i) / f64::from(i + 1);
        }
        sum.min(1.0)
    }

    /// P(Bin(n, q) < k), which is P(Bin(n, 1 - q) > n - k).
    pub fn below(n: u32, q: f64, k: u32) -> f64 {
        match k {
            0 => 0.0,
            _ if k > n => 1.0,
            _ => at_least(n, 1.0 - q, n - k + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_agree_with_the_distribution() {
        for (n, p) in [(1, 0.3), (16, 0.9), (25, 0.0097), (255, 0.5)] {
            let distribution = poisson_binomial(&vec![p; n as usize]);
            for k in 0..=n + 1 {
                let tail: f64 = distribution.iter().skip(k as usize).sum();
                assert!((at_least(n, p, k) - tail).abs() < 1e-9, "{n} {p} {k}");
                assert!((below(n, p, k) - (1.0 - tail)).abs() < 1e-9, "{n} {p} {k}");
            }
        }
        assert_eq!((at_least(5, 0.0, 1), at_least(5, 1.0, 5), at_least(5, 0.3, 0)), (0.0, 1.0, 1.0));
    }

    #[test]
    fn quick_tails_are_the_same() {
        let settings = [
            (1, 0.3),
            (5, 0.02),
            (12, 0.8),
            (64, 0.01),
            (64, 0.999),
            (64, 1.0 - 1e-12),
            (9, 1.0),
            (9, 0.0),
            (252, 0.9),
            (252, 0.999_99),
            (255, 0.5),
        ];
        for (n, q) in settings {
            for k in 0..=n + 1 {
                let (upper, lower) = (at_least(n, q, k), below(n, q, k));
                assert!((quick::at_least(n, q, k) - upper).abs() <= 1e-9 * upper + 1e-12, "{n} {q} {k}");
                assert!((quick::below(n, q, k) - lower).abs() <= 1e-9 * lower + 1e-12, "{n} {q} {k}");
            }
        }
    }
}
