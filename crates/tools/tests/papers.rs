//! The papers' numbers, and the rates that the theory predicts: `make papers` writes the same at full size.
//!
//! Seeds are fixed. Where a tolerance is given in standard errors it is 4, which chance exceeds once in 16000 times.

use ::lsbf::params::{Family, Kind};
use lsbf_tools::experiments::grid::{Rates, Setting};
use lsbf_tools::experiments::ilbf::{Draw, Query};
use lsbf_tools::experiments::lsbf::Scheme;
use lsbf_tools::experiments::{Count, Mean, Progress, dsbf, grid, ilbf, lecture, lsbf, parallel};

const SILENT: Progress = &|_, _| {};
const ERRORS: f64 = 4.0;

#[track_caller]
fn assert_close(what: &str, found: Count, expected: f64) {
    let deviation = found.deviation(expected);
    assert!(deviation.abs() < ERRORS, "{what}: {} is {deviation:.1} standard errors from {expected}", found.rate());
}

/// Both settings, both conventions: every rate is the law's, and the law's are the paper's.
#[test]
fn dsbf_table_1_comes_out_in_all_cells() {
    for setting in &dsbf::SETTINGS {
        let outcome = dsbf::run(setting, 10, 20_000, dsbf::Masks::Pool(200), SILENT);
        for convention in dsbf::Convention::ALL {
            for k in 1..=dsbf::MOST {
                let what = |rate| format!("({}) k = {k} {convention:?} {rate}", setting.name);
                let (positives, negatives) = setting.law(k, convention);
                assert_close(&what("false positives"), outcome.positives(convention, k), positives);
                assert_close(&what("false negatives"), outcome.negatives(convention, k), negatives);
            }
        }
        for (k, positives, negatives) in setting.table {
            let law = setting.law(k, dsbf::Convention::Redrawn);
            for (paper, law) in [(positives, law.0), (negatives, law.1)] {
                let events = (paper * 500_000.0_f64).round() as u64;
                assert_close(&format!("paper ({}) k = {k}", setting.name), Count { events, trials: 500_000 }, law);
            }
        }
    }
}

#[test]
fn dsbf_with_flipped_bits_is_another_table() {
    // k, false positives, false negatives of strings whose bits really flip.
    let expected = [
        [(5, 0.0025, 0.559), (10, 0.0050, 0.312), (15, 0.0074, 0.175), (20, 0.00005, 0.338), (25, 0.00007, 0.223)],
        [(5, 0.0030, 0.177), (10, 0.00002, 0.161), (15, 0.0, 0.140), (20, 0.0, 0.041), (25, 0.0, 0.039)],
    ];
    for (setting, rows) in dsbf::SETTINGS.iter().zip(expected) {
        for (k, positives, negatives) in rows {
            let law = setting.law(k, dsbf::Convention::Flipped);
            assert!((law.0 - positives).abs() <= 0.00005 && (law.1 - negatives).abs() <= 0.0005, "{k}: {law:?}");
        }
    }
}

/// Mean and spread of a rate over draws against the mean and spread of an independent simulation of 50 draws.
#[track_caller]
fn assert_mean(what: &str, found: Mean, (mean, sd): (f64, f64)) {
    let error = (found.error().powi(2) + sd * sd / 50.0).sqrt();
    let deviation = (found.mean - mean) / error;
    assert!(deviation.abs() < ERRORS, "{what}: {found:?} is {deviation:.1} standard errors from {mean}");
}

#[test]
fn ilbf_table_1_comes_out_on_average() {
    let rows = ilbf::rows(true, 0.0, &[4.0, 10.0], ilbf::table_queries, 200, 400, SILENT);
    let expected = [(12, (0.0043, 0.0109), (0.0054, 0.0019)), (15, (0.1090, 0.0596), (0.0322, 0.0059))];
    for (row, (v, positives, negatives)) in rows.iter().zip(expected) {
        let far: Vec<f64> = row.far.iter().map(|votes| votes.at_least(v).rate()).collect();
        let near: Vec<f64> = row.near.iter().map(|votes| votes.below(v).rate()).collect();
        assert_mean(&format!("theta {} FPR", row.theta), Mean::of(&far), positives);
        assert_mean(&format!("theta {} FNR", row.theta), Mean::of(&near), negatives);
    }
}

/// FPR and FNR with the votes that a filter with centred windows asks for itself.
fn own_votes((near, far): (Query, Query), theta: f64) -> (Count, Count) {
    let parts = parallel(60, SILENT, |i| {
        let mut draw = Draw::new(ilbf::params(false, 0, 500 + i as u64), ilbf::MEMBERS, 0.0);
        (draw.accepted(far, theta, 1_000), draw.accepted(near, theta, 1_000))
    });
    let near: Count = parts.iter().map(|part| part.1).sum();
    (parts.iter().map(|part| part.0).sum(), Count { events: near.trials - near.events, trials: near.trials })
}

#[test]
fn ilbf_with_centred_windows_hardly_errs() {
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
fn lsbf_schemes_accept_what_they_should() {
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
    // What the search finds, and that filters of that shape do keep 5 % and 1 %: half as much again is allowed for.
    for (scheme, ratio) in [(Scheme::Verified, 80.0), (Scheme::Literal, 30.0), (Scheme::Robust, 17.0)] {
        let (shape, far) = lsbf::smallest_ratio(scheme);
        assert!((0.8 * ratio..1.2 * ratio).contains(&far), "{scheme:?}: {shape:?} {far}");
        let found = lsbf::acceptance(shape, scheme, &[1.0, far], 6, 3_000, SILENT);
        assert!(1.0 - found[0].count.rate() < 0.075 && found[1].count.rate() < 0.015, "{scheme:?}: {found:?}");
    }
}

#[test]
fn lecture_amplification_comes_out() {
    for (p, and_or, or_and) in lecture::FIGURE {
        let (first, second) = lecture::amplified(p, 20_000, SILENT);
        assert_close(&format!("AND-OR of {p}"), first, lecture::and_or(p));
        assert_close(&format!("OR-AND of {p}"), second, lecture::or_and(p));
        assert!((lecture::and_or(p) - and_or).abs() < 5e-5 && (lecture::or_and(p) - or_and).abs() < 5e-5, "{p}");
    }
}

/// How far a prediction may be off: a factor of 1.5, and of 2 in two settings whose data break an assumption
/// (docs/theory.md, "Where the theory is weak").
fn tolerance(setting: &Setting) -> f64 {
    let params = &setting.params;
    match (params.kind, params.family) {
        // Sets from one vocabulary crowd few of the tuples where M is 2, and no verification tells them apart.
        (Kind::Lsbf, Family::MinHash) if params.verify_bits == 0 => 2.0,
        // In an overfull filter strangers help in all k' slots and at all steps of theta at once, or in none.
        (Kind::Ilbf, _) if setting.members as u64 > params.capacity => 2.0,
        _ => 1.5,
    }
}

fn assert_predicted(setting: &Setting, what: &str, predicted: f64, found: Count) {
    let label = || format!("{what} of {setting:?}: {} predicted, {} found", predicted, found.rate());
    let expected = predicted * found.trials as f64;
    assert!(expected > 50.0, "too few events to tell: {}", label());
    let (ratio, most) = (predicted / found.rate(), tolerance(setting));
    assert!(ratio < most && ratio > 1.0 / most, "{}", label());
}

#[test]
fn predicted_rates_are_within_a_factor_of_what_is_measured() {
    let settings = grid::settings();
    let rates = parallel(settings.len(), SILENT, |i| {
        let setting = &settings[i];
        // The rates of one filter differ from seed to seed, most with Cauchy projections.
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
