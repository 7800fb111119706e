//! Collision probabilities: how likely two vectors at a given distance have the same hash.

use crate::params::{Family, Params};
use std::f64::consts::PI;

/// The standard normal distribution function.
pub(crate) fn cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x / std::f64::consts::SQRT_2)
}

/// The standard normal density.
pub(crate) fn density(x: f64) -> f64 {
    libm::exp(-0.5 * x * x) / libm::sqrt(2.0 * PI)
}

/// The integral of P(c X <= s) over s, up to a constant: G of docs/theory.md.
fn integrated_cdf(family: Family, s: f64, c: f64) -> f64 {
    match family {
        Family::Cauchy => s / 2.0 + (s * libm::atan(s / c) - c / 2.0 * libm::log1p(s * s / (c * c))) / PI,
        _ => s * cdf(s / c) + c * density(s / c),
    }
}

/// P(the buckets of two vectors at distance `c` are `shift` buckets apart), for buckets of `width`.
fn shifted(family: Family, c: f64, width: f64, shift: f64) -> f64 {
    // In units of the width. Outside of these bounds, the differences below would be dominated by rounding errors.
    let c = c / width;
    if c < 1e-9 {
        return f64::from(u8::from(shift == 0.0));
    }
    if c > 1e6 {
        return flat(family, c);
    }
    let g = |s: f64| integrated_cdf(family, s, c);
    (g(shift + 1.0) - 2.0 * g(shift) + g(shift - 1.0)).clamp(0.0, 1.0)
}

/// The density of a projection at 0: P(same bucket) if buckets are narrow.
fn flat(family: Family, c: f64) -> f64 {
    match family {
        Family::Cauchy => 1.0 / (PI * c),
        _ => density(0.0) / c,
    }
}

/// P(two vectors at `distance` have the same hash).
pub fn same(family: Family, distance: f64, width: f64) -> f64 {
    if !distance.is_finite() {
        return if family.is_binary() { same(family, 1.0, width).min(0.5) } else { 0.0 };
    }
    let p = match family.law() {
        Family::Bits | Family::MinHash => 1.0 - distance,
        // Hashed to a bit, different symbols agree half of the time.
        Family::Symbols => 1.0 - distance / 2.0,
        Family::Hyperplane => 1.0 - libm::acos((1.0 - distance).clamp(-1.0, 1.0)) / PI,
        _ => shifted(family, distance, width, 0.0),
    };
    p.clamp(0.0, 1.0)
}

/// P(two vectors at `distance` have hashes that differ by 1 to `steps` buckets).
pub fn adjacent(family: Family, distance: f64, width: f64, steps: u32) -> f64 {
    match family {
        _ if steps == 0 => 0.0,
        Family::MinHash => 0.0,
        _ if family.has_width() && !distance.is_finite() => 0.0,
        _ if family.has_width() => {
            (1..=steps).map(|shift| 2.0 * shifted(family, distance, width, f64::from(shift))).sum()
        }
        binary => 1.0 - same(binary, distance, width),
    }
}

/// P(all hashes of a table agree).
pub fn tuple(params: &Params, distance: f64) -> f64 {
    libm::pow(same(params.family, distance, params.width), f64::from(params.hashes))
}

/// P(the bucket of a vector at distance `c` intersects the window of theta widths centred on the query).
pub fn window(family: Family, c: f64, width: f64, theta: f64) -> f64 {
    let c = c / width;
    if c < 1e-9 {
        return 1.0;
    }
    if c > 1e6 * theta.max(1.0) {
        return ((theta + 1.0) * flat(family, c)).min(1.0);
    }
    // H(s) = integral of P(|c X| <= s); P = 2 CDF - 1, so H = 2 G - s.
    let h = |s: f64| 2.0 * integrated_cdf(family, s, c) - s;
    (h(theta / 2.0 + 1.0) - h(theta / 2.0)).clamp(0.0, 1.0)
}

/// P(same bucket modulo `blooms`), without approximation (ILBF paper, Theorem 1).
pub fn same_modulo(family: Family, c: f64, width: f64, blooms: u32) -> f64 {
    let far = if c.is_finite() { (8.0 * c / (width * f64::from(blooms))).ceil().min(1000.0) as i32 } else { 0 };
    (-far..=far).map(|j| shifted(family, c, width, f64::from(j) * f64::from(blooms))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::rng::Stream;

    #[track_caller]
    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-5, "{found} is not {expected}");
    }

    #[test]
    fn theorem_1_of_the_ilbf_paper() {
        for (c, p) in [(0.25, 0.80053), (0.5, 0.60955), (1.0, 0.36875), (2.0, 0.19542)] {
            close(same(Family::Gaussian, c, 1.0), p);
            close(same_modulo(Family::Gaussian, c, 1.0, 8192), p);
        }
        close(same_modulo(Family::Gaussian, 20.0, 1.0, 64), 0.02018);
    }

    #[test]
    fn centred_windows() {
        for (c, theta, p) in
            [(0.55, 0.5, 0.77096), (0.55, 1.0, 0.89242), (0.55, 2.0, 0.98504), (1.5, 1.0, 0.48724), (5.0, 3.7, 0.36109)]
        {
            close(window(Family::Gaussian, c, 1.0, theta), p);
        }
    }

    #[test]
    fn lsbf_buckets() {
        close(same(Family::Gaussian, 1.0, 100.0), 0.992021);
        close(adjacent(Family::Gaussian, 1.0, 100.0, 1), 0.007979);
    }

    #[test]
    fn simulated_projections_agree_with_the_closed_forms() {
        let n = 200_000;
        for family in [Family::Gaussian, Family::Cauchy] {
            let mut s = Stream::new(5, 0);
            for (c, theta) in [(0.3, 1.0), (1.0, 0.5), (2.5, 3.0)] {
                let (mut equal, mut next, mut inside) = (0, 0, 0);
                for _ in 0..n {
                    let x = if family == Family::Cauchy { s.cauchy() } else { s.gaussian() } * c;
                    let y = s.uniform();
                    let shift = (y + x).floor();
                    equal += u32::from(shift == 0.0);
                    next += u32::from(shift.abs() == 1.0);
                    let own = shift;
                    inside += u32::from((y - theta / 2.0).floor() <= own && own <= (y + theta / 2.0).floor());
                }
                for (count, p) in [
                    (equal, same(family, c, 1.0)),
                    (next, adjacent(family, c, 1.0, 1)),
                    (inside, window(family, c, 1.0, theta)),
                ] {
                    let sd = (p * (1.0 - p) / f64::from(n)).sqrt();
                    let found = f64::from(count) / f64::from(n);
                    assert!((found - p).abs() < 4.0 * sd, "{family:?} {c} {theta}: {found} is not {p}");
                }
            }
        }
    }
}
