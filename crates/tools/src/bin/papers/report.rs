//! Collects the text and the plots of docs/papers.md.

use lsbf_tools::plot::Plot;
use std::fmt::Display;
use std::path::Path;
use std::time::Instant;

/// The page, its plots, and the largest deviation of each experiment.
pub struct Report {
    text: String,
    plots: Vec<(&'static str, String)>,
    worst: Vec<(&'static str, usize, f64)>,
    started: Instant,
}

impl Report {
    pub fn new() -> Self {
        Report { text: String::new(), plots: Vec::new(), worst: Vec::new(), started: Instant::now() }
    }

    /// Adds a paragraph or a heading.
    pub fn add(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push_str("\n\n");
    }

    /// Adds a table.
    pub fn table(&mut self, head: &[&str], rows: &[Vec<String>]) {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let head: Vec<String> = head.iter().map(ToString::to_string).collect();
        self.text.push_str(&line(&head));
        self.text.push_str(&format!("|{}\n", "---|".repeat(head.len())));
        rows.iter().for_each(|row| self.text.push_str(&line(row)));
        self.text.push('\n');
    }

    /// Adds a plot.
    pub fn plot(&mut self, name: &'static str, plot: &Plot) {
        self.add(&format!("![{}](papers/{name}.svg)", plot.title));
        self.plots.push((name, plot.svg()));
    }

    /// Records a deviation of an experiment, in standard errors, and returns it as text.
    pub fn deviation(&mut self, experiment: &'static str, errors: f64) -> String {
        match self.worst.iter_mut().find(|(name, ..)| *name == experiment) {
            Some((_, count, worst)) => {
                *count += 1;
                *worst = if errors.abs() > worst.abs() { errors } else { *worst };
            }
            None => self.worst.push((experiment, 1, errors)),
        }
        format!("{errors:+.1}")
    }

    /// The largest deviations as a table.
    pub fn summary(&self) -> String {
        let mut text =
            String::from("| experiment | rates compared | largest deviation in standard errors |\n|---|---|---|\n");
        for (name, count, worst) in &self.worst {
            text.push_str(&format!("| {name} | {count} | {worst:+.1} |\n"));
        }
        text
    }

    /// Shows the progress of an experiment on the terminal.
    pub fn progress(&self, name: &'static str) -> impl Fn(usize, usize) + Sync + use<> {
        let started = self.started;
        move |done, parts| {
            let seconds = started.elapsed().as_secs();
            let end = if done == parts { "\n" } else { "" };
            eprint!("\r{:2}:{:02}  {name}: {done} of {parts}{end}", seconds / 60, seconds % 60);
        }
    }

    /// Writes the page and its plots.
    pub fn save(&self, docs: &Path) -> std::io::Result<()> {
        let plots = docs.join("papers");
        std::fs::create_dir_all(&plots)?;
        for (name, svg) in &self.plots {
            std::fs::write(plots.join(format!("{name}.svg")), svg)?;
        }
        let text = self.text.replace("SUMMARY\n", &self.summary());
        std::fs::write(docs.join("papers.md"), text.trim_end().to_owned() + "\n")
    }
}

/// A rate, with more digits the smaller it is.
pub fn rate(value: f64) -> String {
    match value {
        0.0 => "0".into(),
        v if v < 0.000_95 => format!("{v:.6}"),
        v if v < 0.095 => format!("{v:.5}"),
        v => format!("{v:.4}"),
    }
}

/// A cell of a table.
pub fn cell(value: impl Display) -> String {
    value.to_string()
}
