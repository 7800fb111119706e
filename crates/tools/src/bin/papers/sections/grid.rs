//! Compares predicted with measured rates.

use crate::report::{Report, cell, rate};
use lsbf::params::Family;
use lsbf_tools::experiments::grid::{Rates, Setting, measure, settings};
use lsbf_tools::experiments::parallel;

pub fn write(report: &mut Report) {
    report.add("## Predicted and measured rates for every kind and metric");
    report.add(
        "The rates that `lsbf_fpr` and `lsbf_fnr` predict from the fill of a filter, and the measured ones: 20000 \
         queries at theta x far and 20000 at the distance shown, over 80 filters (800 for l1), each with its own seed \
         and members. n / c is members / capacity, a ratio is predicted / measured. Members are unrelated; \
         docs/theory.md describes data for which predictions are less accurate.",
    );
    let settings = settings();
    let rates = parallel(settings.len(), &report.progress("predicted rates"), |i| measure_one(&settings[i]));
    let rows: Vec<_> = settings.iter().zip(&rates).map(|(setting, rates)| row(setting, rates)).collect();
    report.table(
        &[
            "kind", "family", "L x M", "n / c", "theta", "far", "FPR", "measured", "ratio", "distance", "FNR",
            "measured", "ratio",
        ],
        &rows,
    );
}

/// Rates with Cauchy projections vary most between seeds: many filters, with few queries each.
fn measure_one(setting: &Setting) -> Rates {
    match setting.params.family {
        Family::Cauchy => measure(setting, 800, 25),
        _ => measure(setting, 80, 250),
    }
}

fn row(setting: &Setting, rates: &Rates) -> Vec<String> {
    let params = &setting.params;
    let mut row = vec![
        cell(params.kind.name()),
        cell(params.family.name()),
        format!("{} x {}", params.tables, params.hashes),
        format!("{:.1}", setting.members as f64 / params.capacity as f64),
        cell(setting.theta),
        cell(params.far),
    ];
    for (predicted, count) in
        [(rates.predicted_positives, rates.positives), (rates.predicted_negatives, rates.negatives)]
    {
        row.extend([rate(predicted), rate(count.rate()), format!("{:.2}", predicted / count.rate())]);
    }
    row.insert(9, format!("{:.3}", setting.distance).trim_end_matches('0').trim_end_matches('.').to_string());
    row
}
