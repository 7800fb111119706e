//! The measurements that scripts/quality.sh writes: files with tab-separated fields.

use std::io::{Error, Result};
use std::path::Path;

/// A data set.
pub struct DataSet {
    pub name: String,
    pub members: f64,
    pub near: f64,
    /// `None` if no filter was chosen.
    pub far: Option<f64>,
    /// Microseconds of one exact comparison.
    pub comparison_us: f64,
    /// The number of queries that are rows of the data, not planted.
    pub queries: f64,
    /// The fraction of these that has a member within near.
    pub within: f64,
    /// The median distance of their nearest member.
    pub median: f64,
}

/// The filter for a data set and a preference.
pub struct Filter {
    pub set: String,
    pub prefer: String,
    /// The notices of lsbf_design_for.
    pub notices: String,
    /// `None` if lsbf_design_for returned no filter.
    pub chosen: Option<Chosen>,
}

/// A chosen filter, the rates that lsbf_design_for predicts, and the time of a query in microseconds.
pub struct Chosen {
    /// Kind, hash family, bits of a code, tables, hashes, blocks, probes, votes.
    pub shape: [String; 8],
    pub bytes: f64,
    pub fnr: f64,
    pub fpr: f64,
    pub unrelated: f64,
    pub us: f64,
    /// The rates predicted from the built filter: lsbf_fnr(f, near) and lsbf_fpr(f).
    pub of_filter: [f64; 2],
}

/// The time of a scan on an instruction set, relative to one exact comparison per row.
pub struct Scan {
    pub path: String,
    pub prefer: String,
    pub ratio: f64,
}

/// The number of rows, and of those that passed a filter.
#[derive(Clone, Copy)]
pub struct Count {
    pub rows: f64,
    pub passed: f64,
}

impl Count {
    pub fn share(self) -> f64 {
        self.passed / self.rows
    }
}

/// Rows in a range of distances of the nearest member.
pub struct Band {
    pub set: String,
    pub prefer: String,
    pub name: String,
    pub count: Count,
}

/// A point of an acceptance curve.
pub struct Point {
    pub set: String,
    pub prefer: String,
    pub kind: String,
    /// The distance in units of R.
    pub times: f64,
    pub share: f64,
    pub rows: f64,
}

/// Another method to find near members.
pub struct Alternative {
    pub name: String,
    pub bytes: f64,
    /// The fraction found of rows planted at near.
    pub at_near: f64,
    /// The fraction found of rows of the data that have a member within near; `None` if there are none.
    pub natural: Option<f64>,
    pub us: f64,
}

pub struct Figures {
    pub about: Vec<(String, String)>,
    pub sets: Vec<DataSet>,
    pub filters: Vec<Filter>,
    pub bands: Vec<Band>,
    pub points: Vec<Point>,
    pub scans: Vec<Scan>,
    pub alternatives: Vec<Alternative>,
}

struct Line {
    file: String,
    fields: Vec<String>,
}

impl Line {
    fn text(&self, n: usize) -> String {
        self.fields.get(n).cloned().unwrap_or_default()
    }

    fn maybe(&self, n: usize) -> Option<f64> {
        self.text(n).parse().ok()
    }

    fn number(&self, n: usize) -> Result<f64> {
        self.maybe(n)
            .ok_or_else(|| Error::other(format!("{}: field {n} of {:?} is not a number", self.file, self.fields)))
    }
}

fn lines(folder: &Path, name: &str) -> Result<Vec<Line>> {
    let path = folder.join(format!("{name}.tsv"));
    let text = std::fs::read_to_string(&path).map_err(|e| Error::other(format!("{}: {e}", path.display())))?;
    let line = |line: &str| Line { file: name.into(), fields: line.split('\t').map(String::from).collect() };
    Ok(text.lines().map(line).collect())
}

fn each<T>(folder: &Path, name: &str, read: impl Fn(&Line) -> Result<T>) -> Result<Vec<T>> {
    lines(folder, name)?.iter().map(read).collect()
}

fn chosen(line: &Line) -> Result<Option<Chosen>> {
    if line.text(2).is_empty() {
        return Ok(None);
    }
    Ok(Some(Chosen {
        shape: [2, 3, 4, 5, 6, 7, 8, 9].map(|n| line.text(n)),
        bytes: line.number(11)?,
        fnr: line.number(12)?,
        fpr: line.number(13)?,
        unrelated: line.number(14)?,
        us: line.number(15)?,
        of_filter: [line.number(18)?, line.number(19)?],
    }))
}

impl Figures {
    pub fn read(folder: &Path) -> Result<Figures> {
        Ok(Figures {
            about: each(folder, "about", |line| Ok((line.text(0), line.text(1))))?,
            sets: each(folder, "sets", |line| {
                Ok(DataSet {
                    name: line.text(0),
                    members: line.number(1)?,
                    near: line.number(2)?,
                    far: line.maybe(3),
                    comparison_us: line.number(4)?,
                    queries: line.number(5)?,
                    within: line.number(6)?,
                    median: line.number(7)?,
                })
            })?,
            filters: each(folder, "filters", |line| {
                Ok(Filter { set: line.text(0), prefer: line.text(1), notices: line.text(17), chosen: chosen(line)? })
            })?,
            bands: each(folder, "bands", |line| {
                let count = Count { rows: line.number(3)?, passed: line.number(4)? };
                Ok(Band { set: line.text(0), prefer: line.text(1), name: line.text(2), count })
            })?,
            points: each(folder, "curves", |line| {
                Ok(Point {
                    set: line.text(0),
                    prefer: line.text(1),
                    kind: line.text(2),
                    times: line.number(3)?,
                    share: line.number(4)?,
                    rows: line.number(5)?,
                })
            })?,
            scans: each(folder, "paths", |line| {
                Ok(Scan { path: line.text(0), prefer: line.text(1), ratio: line.number(2)? })
            })?,
            alternatives: each(folder, "peers", |line| {
                Ok(Alternative {
                    name: line.text(0),
                    bytes: line.number(1)?,
                    at_near: line.number(2)?,
                    natural: line.maybe(3),
                    us: line.number(4)?,
                })
            })?,
        })
    }

    pub fn about(&self, name: &str) -> &str {
        self.about.iter().find(|(key, _)| key == name).map_or("?", |(_, value)| value)
    }

    pub fn of(&self, set: &str) -> impl Iterator<Item = &Filter> {
        self.filters.iter().filter(move |filter| filter.set == set)
    }

    pub fn chosen(&self, set: &str, prefer: &str) -> Option<&Chosen> {
        self.of(set).find(|filter| filter.prefer == prefer)?.chosen.as_ref()
    }

    pub fn band(&self, set: &str, prefer: &str, name: &str) -> Option<Count> {
        let is = |band: &&Band| band.set == set && band.prefer == prefer && band.name == name;
        self.bands.iter().find(is).map(|band| band.count)
    }
}
