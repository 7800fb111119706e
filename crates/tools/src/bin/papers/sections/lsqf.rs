//! The quotient filter on the settings of the papers.

use crate::report::{Report, rate};
use lsbf_tools::experiments::lsqf::settings;

const DRAWS: usize = 20;
const QUERIES: usize = 5_000;

pub fn write(report: &mut Report) {
    report.add("## Quotient filter: the papers' settings");
    report.add(
        "The locality-sensitive quotient filter beside the papers' filters, on what these were tested with: bytes per \
         member, near queries that are missed, far queries and unrelated vectors that pass; 20 draws of members and hash \
         functions with 5000 queries of each sort. *theory* is what the built filter predicts. Bit strings are vectors of zeros and ones to \
         the quotient filter, whose squared l2 distance is the number of bits that differ; they have 2048 bits instead \
         of 65536, which changes no rate of a DSBF. Near and far are the true distances of Table 1, 0.05 and 0.2. The cube of the LSBF has a side of \
         10^4 R instead of 10^9 R, which single precision does not resolve.",
    );
    let mut rows = Vec::new();
    for setting in settings() {
        for rates in setting.measure(DRAWS, QUERIES, &report.progress(setting.name)) {
            rows.push(vec![
                setting.name.to_string(),
                rates.name,
                format!("{:.1}", rates.bytes),
                format!("{} / {}", rate(rates.predicted[0]), rate(rates.missed.rate())),
                format!("{} / {}", rate(rates.predicted[1]), rate(rates.passed.rate())),
                rate(rates.unrelated.rate()),
            ]);
        }
    }
    let head =
        ["setting", "filter", "bytes", "missed: theory / measured", "passed: theory / measured", "unrelated passed"];
    report.table(&head, &rows);
    report.add(
        "The DSBF paper asks whether Bloom filters are the right paradigm for this problem. A Bloom filter stores bits of \
         *some* hashes of a member, and a query can only ask which of them are set. A quotient filter stores all of one \
         member's hashes together: a query compares a likelihood, and far fewer bits suffice.",
    );
}
