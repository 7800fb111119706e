//! The numbers of the papers, and the rates that the theory predicts. `make papers` runs the same experiments at full
//! size.
//!
//! Seeds are fixed. Tolerances in standard errors are 4, which chance exceeds once in 16000 times.

use ::lsbf::params::{Family, Kind};
use lsbf_tools::experiments::grid::{Rates, Setting};
use lsbf_tools::experiments::ilbf::{Draw, Query};
use lsbf_tools::experiments::lsbf::Scheme;
use lsbf_tools::experiments::{Count, Mean, Progress, dsbf, grid, ilbf, lecture, lsbf, parallel};

const SILENT: Progress = &|_, _| {};
const MAX_ERRORS: f64 = 4.0;

#[track_caller]
fn assert_close(what: &str, found: Count, expected: f64) {
    let deviation = found.deviation(expected);
    assert!(deviation.abs() < MAX_ERRORS, "{what}: {} is {deviation:.1} standard errors from {expected}", found.rate());
}

/// For both settings and both conventions, measured rates agree with the theory; for redrawn bits, so do those of the
/// paper.
#[test]
fn dsbf_reproduces_all_cells_of_table_1() {
    for setting in &dsbf::SETTINGS {
        let outcome = dsbf::run(setting, 10, 20_000, dsbf::Masks::Pool(200), SILENT);
        for convention in dsbf::Convention::ALL {
            for k in 1..=dsbf::MAX_TABLES {
                let what = |rate| format!("({}) k = {k} {convention:?} {rate}", setting.name);
                let (positives, negatives) = setting.theory(k, convention);
                assert_close(&what("false positives"), outcome.positives(convention, k), positives);
                assert_close(&what("false negatives"), outcome.negatives(convention, k), negatives);
            }
        }
        for (k, positives, negatives) in setting.table {
            let theory = setting.theory(k, dsbf::Convention::Redrawn);
            for (paper, theory) in [(positives, theory.0), (negatives, theory.1)] {
                let events = (paper * 500_000.0_f64).round() as u64;
                assert_close(&format!("paper ({}) k = {k}", setting.name), Count { events, trials: 500_000 }, theory);
            }
        }
    }
}

#[test]
fn dsbf_with_flipped_bits_has_other_rates_than_table_1() {
    // k, false positives, false negatives.
    let expected = [
        [(5, 0.0025, 0.559), (10, 0.0050, 0.312), (15, 0.0074, 0.175), (20, 0.00005, 0.338), (25, 0.00007, 0.223)],
        [(5, 0.0030, 0.177), (10, 0.00002, 0.161), (15, 0.0, 0.140), (20, 0.0, 0.041), (25, 0.0, 0.039)],
    ];
    for (setting, rows) in dsbf::SETTINGS.iter().zip(expected) {
        for (k, positives, negatives) in rows {
            let (fpr, fnr) = setting.theory(k, dsbf::Convention::Flipped);
            assert!((fpr - positives).abs() <= 0.00005 && (fnr - negatives).abs() <= 0.0005, "{k}: {fpr} {fnr}");
        }
    }
}

/// Compares the mean of a rate over draws with the mean and standard deviation of an independent simulation of 50
/// draws.
#[track_caller]
fn assert_mean(what: &str, found: Mean, (mean, sd): (f64, f64)) {
    let error = (found.error().powi(2) + sd * sd / 50.0).sqrt();
    let deviation = (found.mean - mean) / error;
    assert!(deviation.abs() < MAX_ERRORS, "{what}: {found:?} is {deviation:.1} standard errors from {mean}");
}

#[test]
fn ilbf_reproduces_table_1_on_average() {
    let rows = ilbf::rows(true, 0.0, &[4.0, 10.0], ilbf::table_queries, 200, 400, SILENT);
    let expected = [(12, (0.0043, 0.0109), (0.0054, 0.0019)), (15, (0.1090, 0.0596), (0.0322, 0.0059))];
    for (row, (v, positives, negatives)) in rows.iter().zip(expected) {
        let far: Vec<f64> = row.far.iter().map(|votes| votes.at_least(v).rate()).collect();
        let near: Vec<f64> = row.near.iter().map(|votes| votes.below(v).rate()).collect();
        assert_mean(&format!("theta {} FPR", row.theta), Mean::of(&far), positives);
        assert_mean(&format!("theta {} FNR", row.theta), Mean::of(&near), negatives);
    }
}

/// FPR and FNR with the votes that a filter with centred windows chooses itself.
fn own_votes((near, far): (Query, Query), theta: f64) -> (Count, Count) {
    let parts = parallel(60, SILENT, |i| {
        let mut draw = Draw::new(ilbf::params(false, 0, 500 + i as u64), ilbf::MEMBERS, 0.0);
        (draw.accepted(far, theta, 1_000), draw.accepted(near, theta, 1_000))
    });
    let near: Count = parts.iter().map(|part| part.1).sum();
    (parts.iter().map(|part| part.0).sum(), Count { events: near.trials - near.events, trials: near.trials })
}

#[test]
fn ilbf_with_centred_windows_has_low_error_rates() {
    for queries in [ilbf::table_queries(1.0), ilbf::range_queries()] {
        let (positives, negatives) = own_votes(queries, 1.0);
        assert!(positives.rate() < 0.002 && negatives.rate() < 0.002, "{queries:?}: {positives:?} {negatives:?}");
    }
}

#[test]
fn ilbf_collisions_follow_theorem_1() {
    for distance in [0.25, 1.0, 5.0, 20.0] {
        let found = ilbf::collisions(distance, 64, 40, 25);
        assert_close(&format!("distance {distance}"), found, ilbf::theorem_1(distance, 64));
    }
}

#[test]
fn lsbf_schemes_have_the_expected_acceptance() {
    let distances = [1.0, 8.0, 16.0];
    // Basic, verified, literal overflow, robust overflow, at each distance.
    let expected: [&[[f64; 4]]; 2] = [
        &[[0.649, 0.571, 0.822, 0.894], [0.037, 0.010, 0.049, 0.061], [0.002, 0.0001, 0.0010, 0.0014]],
        &[[0.608, 0.522, 0.792, 0.869]],
    ];
    for (shape, rows) in lsbf::SHAPES.into_iter().zip(expected) {
        for (i, scheme) in Scheme::ALL.into_iter().enumerate() {
            let found = lsbf::acceptance(shape, scheme, &distances[..rows.len()], 6, 3_000, SILENT);
            for (accepted, row) in found.iter().zip(rows) {
                let what = format!("{shape:?} {scheme:?} at {}", accepted.distance);
                assert!((accepted.count.rate() - row[i]).abs() < 0.03, "{what}: {accepted:?} is not {}", row[i]);
                assert_close(&what, accepted.count, accepted.predicted);
            }
        }
    }
}

#[test]
fn lsbf_needs_far_to_be_many_times_near() {
    // The ratios that the search finds. Filters of that shape may have 1.5 times the 5 % and 1 % errors searched for.
    for (scheme, ratio) in [(Scheme::Verified, 80.0), (Scheme::Literal, 30.0), (Scheme::Robust, 17.0)] {
        let (shape, far) = lsbf::smallest_ratio(scheme);
        assert!((0.8 * ratio..1.2 * ratio).contains(&far), "{scheme:?}: {shape:?} {far}");
        let found = lsbf::acceptance(shape, scheme, &[1.0, far], 6, 3_000, SILENT);
        assert!(1.0 - found[0].count.rate() < 0.075 && found[1].count.rate() < 0.015, "{scheme:?}: {found:?}");
    }
}

#[test]
fn amplification_agrees_with_the_lecture() {
    for (p, and_or, or_and) in lecture::FIGURE {
        let (first, second) = lecture::amplified(p, 20_000, SILENT);
        assert_close(&format!("AND-OR of {p}"), first, lecture::and_or(p));
        assert_close(&format!("OR-AND of {p}"), second, lecture::or_and(p));
        assert!((lecture::and_or(p) - and_or).abs() < 5e-5 && (lecture::or_and(p) - or_and).abs() < 5e-5, "{p}");
    }
}

/// The maximum factor between a predicted and a measured rate: 1.5, and 2 in two cases whose data violate an assumption
/// (see docs/theory.md).
fn tolerance(setting: &Setting) -> f64 {
    let params = &setting.params;
    match (params.kind, params.family) {
        // With M = 2, sets from one vocabulary have few distinct tuples, and there is no verification filter.
        (Kind::Lsbf, Family::MinHash) if params.verify_bits == 0 => 2.0,
        // In a filter over capacity, unrelated members set all k' slots and all steps of theta at once, or none of
        // them.
        (Kind::Ilbf, _) if setting.members as u64 > params.capacity => 2.0,
        _ => 1.5,
    }
}

fn assert_predicted(setting: &Setting, what: &str, predicted: f64, found: Count) {
    let label = || format!("{what} of {setting:?}: {} predicted, {} measured", predicted, found.rate());
    let expected = predicted * found.trials as f64;
    assert!(expected > 50.0, "too few events: {}", label());
    let (ratio, max) = (predicted / found.rate(), tolerance(setting));
    assert!(ratio < max && ratio > 1.0 / max, "{}", label());
}

#[test]
fn predicted_rates_are_within_a_factor_of_measured_ones() {
    let settings = grid::settings();
    let rates = parallel(settings.len(), SILENT, |i| {
        let setting = &settings[i];
        // Rates vary between seeds, most with Cauchy projections.
        match setting.params.family {
            Family::Cauchy => grid::measure(setting, 250, 48),
            _ => grid::measure(setting, 24, 500),
        }
    });
    for (setting, rates) in settings.iter().zip(rates) {
        let Rates { positives, predicted_positives, negatives, predicted_negatives } = rates;
        assert_predicted(setting, "FPR", predicted_positives, positives);
        assert_predicted(setting, "FNR", predicted_negatives, negatives);
    }
    for kind in Kind::OF_PAPERS {
        let families = settings.iter().filter(|s| s.params.kind == kind).map(|s| s.params.family.name());
        let mut families: Vec<&str> = families.collect();
        assert!(families.len() >= 5 * families.iter().collect::<std::collections::HashSet<_>>().len());
        families.dedup();
        assert_eq!(families.len(), if kind == Kind::Ilbf { 2 } else { 6 });
    }
}
