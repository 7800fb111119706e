//! Runs the papers' experiments again at full size and writes docs/papers.md with its pictures: `make papers`.

mod report;
mod sections;

use report::Report;
use std::path::Path;

fn main() -> std::io::Result<()> {
    let mut report = Report::new();
    report.say("# The papers' experiments, run again");
    report.say(
        "Written by `make papers`; do not edit. Everything here comes from the filters as they are built and asked in \
         a database, from fixed seeds: a second run writes the same page. docs/theory.md explains the laws and the \
         letters.",
    );
    report.say(
        "A deviation is (ours - law) / standard error, where law says what the theory expects and the standard error is \
         that of the number of queries. Up to about 3 is what chance does to that many comparisons.",
    );
    report.say("SUMMARY");
    sections::dsbf::write(&mut report);
    sections::ilbf::write(&mut report);
    sections::lsbf::write(&mut report);
    sections::lecture::write(&mut report);
    sections::grid::write(&mut report);
    report.save(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs"))
}
