//! Predicted against measured rates.

use crate::report::{Report, cell, rate};
use lsbf::params::Family;
use lsbf_tools::experiments::grid::{Rates, Setting, measure, settings};
use lsbf_tools::experiments::parallel;

pub fn write(report: &mut Report) {
    report.say("## Predicted against measured, for every kind and metric");
    report.say(
        "What `lsbf_fpr` and `lsbf_fnr` predict from a filter's own fill, and what was measured: 20000 queries at \
         theta x far and 20000 at the distance shown, over 80 filters (800 for l1), each with a seed and members of its \
         own. n / c is members / capacity. Members are unrelated; docs/theory.md says where data are different and the \
         prediction is weaker.",
    );
    let settings = settings();
    let rates = parallel(settings.len(), &report.progress("predicted rates"), |i| measure_one(&settings[i]));
    let rows: Vec<_> = settings.iter().zip(&rates).map(|(setting, rates)| row(setting, rates)).collect();
    report.table(
        &[
            "kind", "family", "L x M", "n / c", "theta", "far", "FPR", "ours", "ratio", "distance", "FNR", "ours",
            "ratio",
        ],
        &rows,
    );
}

/// Cauchy projections differ most from seed to seed: many filters, few queries each.
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
