//! What was measured, as the script writes it: files of lines whose fields are separated by tabs.

use std::io::{Error, Result};
use std::path::Path;

pub struct Of {
    pub name: String,
    pub members: f64,
    pub near: f64,
    /// None where no filter was chosen.
    pub far: Option<f64>,
    /// Microseconds of one exact comparison.
    pub peer_us: f64,
    /// Rows of the data that are asked, the share that has a member within near, the median distance of the nearest.
    pub asked: f64,
    pub within: f64,
    pub median: f64,
}

pub struct Filter {
    pub set: String,
    pub prefer: String,
    pub said: String,
    pub chosen: Option<Chosen>,
}

pub struct Chosen {
    pub family: String,
    /// Tables, hashes, dimensions of polytopes, probes, votes.
    pub shape: [String; 5],
    pub bytes: f64,
    pub fnr: f64,
    pub fpr: f64,
    pub strangers: f64,
    pub us: f64,
    /// What the filter says of itself: missed at near, passed at far.
    pub of_filter: [f64; 2],
}

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

pub struct Band {
    pub set: String,
    pub prefer: String,
    pub name: String,
    pub count: Count,
}

pub struct Point {
    pub set: String,
    pub prefer: String,
    pub kind: String,
    pub times: f64,
    pub share: f64,
    pub rows: f64,
}

pub struct Peer {
    pub name: String,
    pub bytes: f64,
    pub at_near: f64,
    /// None where no row is near without having been planted.
    pub naturally: Option<f64>,
    pub us: f64,
}

pub struct Figures {
    pub about: Vec<(String, String)>,
    pub sets: Vec<Of>,
    pub filters: Vec<Filter>,
    pub bands: Vec<Band>,
    pub points: Vec<Point>,
    pub peers: Vec<Peer>,
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
        self.maybe(n).ok_or_else(|| Error::other(format!("{}: field {n} of {:?} is no number", self.file, self.fields)))
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
        family: line.text(2),
        shape: [3, 4, 5, 6, 7].map(|n| line.text(n)),
        bytes: line.number(9)?,
        fnr: line.number(10)?,
        fpr: line.number(11)?,
        strangers: line.number(12)?,
        us: line.number(13)?,
        of_filter: [line.number(16)?, line.number(17)?],
    }))
}

impl Figures {
    pub fn read(folder: &Path) -> Result<Figures> {
        Ok(Figures {
            about: each(folder, "about", |line| Ok((line.text(0), line.text(1))))?,
            sets: each(folder, "sets", |line| {
                Ok(Of {
                    name: line.text(0),
                    members: line.number(1)?,
                    near: line.number(2)?,
                    far: line.maybe(3),
                    peer_us: line.number(4)?,
                    asked: line.number(5)?,
                    within: line.number(6)?,
                    median: line.number(7)?,
                })
            })?,
            filters: each(folder, "filters", |line| {
                Ok(Filter { set: line.text(0), prefer: line.text(1), said: line.text(15), chosen: chosen(line)? })
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
            peers: each(folder, "peers", |line| {
                Ok(Peer {
                    name: line.text(0),
                    bytes: line.number(1)?,
                    at_near: line.number(2)?,
                    naturally: line.maybe(3),
                    us: line.number(4)?,
                })
            })?,
        })
    }

    pub fn about(&self, name: &str) -> &str {
        self.about.iter().find(|(known, _)| known == name).map_or("?", |(_, value)| value)
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
