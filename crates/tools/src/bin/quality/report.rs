//! Writes the page and its plots from the measurements, and prints the page.

use crate::figures::{Chosen, Count, DataSet, Figures, Point};
use lsbf_tools::plot::{Axis, Mark, Plot, Series};
use std::fmt::Write;
use std::io::Result;
use std::path::Path;

const SENTENCES: &str = "sentences_l2";
const PREFERS: [&str; 4] = ["small", "balanced", "fast", "sharp"];
/// Ranges of the distance of the nearest member: their names in the measurements and on the page.
const BANDS: [(&str, &str); 7] = [
    ("half", "found, R/2"),
    ("near", "R"),
    ("natural", "natural"),
    ("1-2", "passed, R-2R"),
    ("2-3", "2R-3R"),
    ("3-4", "3R-4R"),
    ("4-", "over 4R"),
];

/// The title of a data set, and a description.
fn title(set: &str) -> (&'static str, &'static str) {
    match set {
        SENTENCES => ("Sentence embeddings, l2", "384 dimensions, unit length."),
        "sentences_cosine" => (
            "Sentence embeddings, cosine",
            "The same rows and the same R: the cosine distance is R²/2, and bands are multiples of R.",
        ),
        "fingerprints_hamming" => (
            "Fingerprints of molecules, hamming",
            "1,024 bits, few of them set. At `near` 4 bits differ, which is hardly more than one substructure. Bits \
             flipped at random are mostly zeros, so that planted rows have more bits set than rows of the data.",
        ),
        "fingerprints_jaccard" => (
            "Fingerprints of molecules, jaccard",
            "The same rows as sets of the bits that are set. At `near`, sets of 43 elements differ in 4 or 5.",
        ),
        "cube_l2" => ("Generated vectors of few dimensions, l2", "10 dimensions, uniform in a cube."),
        "clusters_l2" => (
            "Generated clusters, l2",
            "64 dimensions, 200 clusters of different widths, members at least about 1.3 near apart.",
        ),
        "unit_l2" => {
            ("Generated unit vectors, l2", "128 dimensions, a common component, one in four a near-duplicate.")
        }
        "lengths_l2" => (
            "Generated vectors of varying length, l2",
            "96 dimensions, a median length of 8, two in three within a factor of 2 of it, one in four a \
             near-duplicate.",
        ),
        _ => ("Rows", ""),
    }
}

/// The description of a data set with its numbers.
fn description(set: &DataSet) -> String {
    let far = set.far.map_or(String::new(), |far| format!(", far {}", (far * 1e4).round() / 1e4));
    format!(
        "{} members, {} other rows as queries. {} near {}{far}; {:.2} % of the queries have a member within near, and \
         the median distance of the nearest member is {:.3}.",
        grouped(set.members),
        grouped(set.queries),
        title(&set.name).1,
        set.near,
        100.0 * set.within,
        set.median
    )
}

/// A table with aligned columns, readable on a terminal and valid Markdown.
struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    fn new(head: &[&str]) -> Table {
        Table { rows: vec![head.iter().map(|cell| cell.to_string()).collect()] }
    }

    fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    fn text(&self) -> String {
        let columns = self.rows[0].len();
        let width = |at: usize| self.rows.iter().map(|row| row.get(at).map_or(0, |c| c.chars().count())).max();
        let widths: Vec<usize> = (0..columns).map(|at| width(at).unwrap_or(0)).collect();
        let mut out = String::new();
        for (number, row) in self.rows.iter().enumerate() {
            let cells = widths.iter().enumerate().map(|(at, width)| {
                let cell = row.get(at).map_or("", String::as_str);
                format!("{cell}{}", " ".repeat(width - cell.chars().count()))
            });
            writeln!(out, "| {} |", cells.collect::<Vec<_>>().join(" | ")).expect("writing to a string cannot fail");
            if number == 0 {
                let lines = widths.iter().map(|width| "-".repeat(width + 2));
                writeln!(out, "|{}|", lines.collect::<Vec<_>>().join("|")).expect("writing to a string cannot fail");
            }
        }
        out
    }
}

/// A rate, with more digits the smaller it is.
fn rate(rate: f64) -> String {
    match rate {
        0.0 => "0".into(),
        1.0 => "1".into(),
        r if r >= 0.1 => format!("{r:.3}"),
        r if r >= 0.001 => format!("{r:.4}"),
        r if r >= 0.00001 => format!("{r:.5}"),
        r => format!("{r:.0e}"),
    }
}

fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(",")
}

fn share(count: Option<Count>) -> String {
    count.map_or("-".into(), |count| rate(count.share()))
}

/// A predicted and a measured rate.
struct Pair {
    predicted: f64,
    measured: f64,
    rows: f64,
}

impl Pair {
    fn ratio(&self) -> f64 {
        if self.measured == self.predicted { 1.0 } else { self.measured / self.predicted }
    }

    fn cells(&self) -> [String; 3] {
        [rate(self.predicted), rate(self.measured), format!("{:.2}", self.ratio())]
    }

    fn within(&self, factor: f64) -> bool {
        (1.0 / factor..=factor).contains(&self.ratio())
    }

    /// Whether a number as far off as the counted one is not unlikely even if the prediction is right within a factor.
    fn may_be_chance(&self, factor: f64) -> bool {
        const UNLIKELY: f64 = 0.025;
        let (counted, predicted) = ((self.measured * self.rows).round() as u32, self.predicted * self.rows);
        // The probability of fewer than a number, if so many are expected.
        let fewer = |expected: f64, than: u32| -> f64 {
            let mut term = (-expected).exp();
            (0..than).fold(0.0, |sum, n| {
                let next = sum + term;
                term *= expected / f64::from(n + 1);
                next
            })
        };
        let probability = match self.ratio() > 1.0 {
            true => 1.0 - fewer(predicted * factor, counted),
            false => fewer(predicted / factor, counted + 1),
        };
        probability >= UNLIKELY
    }
}

/// The rates of rows at near that are missed, of rows at far that pass, of rows at far with unchanged length that pass,
/// and of rows without a member within far that pass.
fn pairs(figures: &Figures, set: &str, prefer: &str, chosen: &Chosen) -> [Option<Pair>; 4] {
    let pair = |band: &str, predicted: f64, missed: bool| {
        let count = figures.band(set, prefer, band)?;
        let measured = if missed { 1.0 - count.share() } else { count.share() };
        Some(Pair { predicted, measured, rows: count.rows })
    };
    [
        pair("near", chosen.fnr, true),
        pair("far", chosen.fpr, false),
        pair("far, same length", chosen.fpr, false),
        pair("unrelated", chosen.unrelated, false),
    ]
}

struct Page {
    text: String,
    folder: std::path::PathBuf,
}

impl Page {
    /// Adds a paragraph or a heading.
    fn add(&mut self, text: &str) {
        writeln!(self.text, "{text}\n").expect("writing to a string cannot fail");
    }

    fn table(&mut self, table: &Table) {
        self.add(table.text().trim_end());
    }

    fn plot(&mut self, name: &str, plot: &Plot) -> Result<()> {
        std::fs::write(self.folder.join(format!("quality/{name}.svg")), plot.svg())?;
        self.add(&format!("![{}](quality/{name}.svg)", plot.title));
        Ok(())
    }
}

pub fn write(from: &Path, out: &Path) -> Result<()> {
    let figures = Figures::read(from)?;
    std::fs::create_dir_all(out.join("quality"))?;
    let mut page = Page { text: String::new(), folder: out.to_path_buf() };
    opening(&mut page, &figures);
    sentences(&mut page, &figures)?;
    others(&mut page, &figures)?;
    predictions(&mut page, &figures);
    choices(&mut page, &figures);
    println!("{}", page.text);
    std::fs::write(out.join("quality.md"), format!("{}\n", page.text.trim_end()))
}

fn opening(page: &mut Page, figures: &Figures) {
    page.add("# Quality of the chosen filters");
    page.add(
        "```sh\nmake quality               # takes some minutes; prints this page, writes target/quality\n\
         make quality N=3000        # a tenth of the rows\n\
         make quality UPDATE=1      # generates this page\n```",
    );
    page.add(
        "A user calls `lsbf_design_for` with a table, `near` and a preference, builds a filter from the first choice, \
         and queries it. Here every query is also compared with all members, so that the distance of its nearest \
         member is known:",
    );
    page.add(
        "- **found**: the fraction that passes, of rows planted in a random direction at R/2 and at exactly R = `near` \
         from a member, and of rows of the data that happen to have a member within R (*natural*). Ideally 1.\n\
         - **passed**: the fraction that passes, of rows of the data whose nearest member is at R to 2R, at 2R to 3R, \
         and so on. Ideally 0 from `far` on, which `lsbf_design_for` also chooses.\n\
         - **bytes**: the size of the stored filter per member. **scan**: the time of `approx_member` per row of the \
         data that is not a member, relative to one exact comparison, `<->` or `bit_count(v # x)`; the best of several \
         alternating runs.",
    );
    page.add(
        "Filters for l2 and cosine follow from a model of normal differences ([theory](theory.md)). The bounds of their \
         cells were measured with generated vectors; the width of a bucket, and the rates that `small`, `balanced` and \
         `sharp` stand for, were chosen with the sentences in sight, so that their table is not an independent test. \
         The weights of the choice for bit strings were tuned on the sentences, too.",
    );
    let origin = |what: &str| match figures.about(what) {
        "real" => format!("{what} are real"),
        _ => format!("{what} are **generated**, as no file of real ones was available"),
    };
    page.add(&format!(
        "{}; PostgreSQL {}; {}, {}; {}.",
        figures.about("processor"),
        figures.about("server"),
        origin("sentences"),
        origin("fingerprints"),
        figures.about("date")
    ));
}

/// The table of the filters of a data set.
fn filters(page: &mut Page, figures: &Figures, set: &DataSet) {
    let mut table = Table::new(&[&["prefer", "bytes"], &BANDS.map(|(_, name)| name)[..], &["scan"]].concat());
    for filter in figures.of(&set.name) {
        let mut cells = vec![filter.prefer.clone()];
        match &filter.chosen {
            None => cells.push("no filter found".into()),
            Some(chosen) => {
                cells.push(format!("{:.1}", chosen.bytes));
                cells.extend(BANDS.map(|(band, _)| share(figures.band(&set.name, &filter.prefer, band))));
                cells.push(format!("{:.1}", chosen.us / set.comparison_us));
            }
        }
        table.row(cells);
    }
    let counted = figures.of(&set.name).find(|filter| filter.chosen.is_some());
    if let Some(filter) = counted {
        let mut cells = vec!["rows".to_string(), grouped(set.members)];
        let rows = |band: &str| figures.band(&set.name, &filter.prefer, band).map_or("0".into(), |c| grouped(c.rows));
        cells.extend(BANDS.map(|(band, _)| rows(band)));
        cells.push(format!("{:.2} us", set.comparison_us));
        table.row(cells);
    }
    page.table(&table);
    let mut notices: Vec<(&str, Vec<&str>)> = Vec::new();
    for filter in figures.of(&set.name).filter(|filter| !filter.notices.is_empty()) {
        match notices.iter_mut().find(|(text, _)| *text == filter.notices) {
            Some((_, prefers)) => prefers.push(&filter.prefer),
            None => notices.push((&filter.notices, vec![&filter.prefer])),
        }
    }
    for (text, prefers) in notices {
        page.add(&format!("NOTICE for {}: {text}.", prefers.join(", ")));
    }
}

fn sentences(page: &mut Page, figures: &Figures) -> Result<()> {
    let Some(set) = figures.sets.iter().find(|set| set.name == SENTENCES) else { return Ok(()) };
    page.add("## Sentences");
    page.add(&description(set));
    filters(page, figures, set);
    page.plot("sentences_l2", &acceptance(figures, SENTENCES))?;
    page.add(
        "Lines: `1 - lsbf_fnr(filter, distance)`, the prediction for a row with one member at that distance. Rings: \
         rows planted at that distance with unchanged length. Dots: rows of the data, which pass more often if several \
         members are about as near as the nearest one.",
    );
    page.add("### Comparison with other methods");
    page.add(
        "Is a member within R? HNSW (m 16, ef_construction 64, ef_search 40) and IVFFlat (100 lists, 5 probes) answer \
         by the nearest row that they return, LSH keys (7 keys of 10 projections with width 10 R, precomputed for the \
         queries) by comparing the members that share a key. The rows that these methods find are exact; rows that \
         pass a filter still have to be compared.",
    );
    let mut table = Table::new(&["", "bytes per row", "found, R", "natural", "rows/s", "relative to HNSW"]);
    let hnsw = figures.alternatives.iter().find(|other| other.name == "HNSW").map_or(f64::NAN, |hnsw| hnsw.us);
    let mut line = |name: &str, bytes: f64, near: String, natural: String, us: f64| {
        let times = format!("{:.1}", hnsw / us);
        table.row(vec![name.into(), format!("{bytes:.1}"), near, natural, grouped(1e6 / us), times]);
    };
    for prefer in PREFERS {
        if figures.of(SENTENCES).all(|filter| filter.prefer != prefer) {
            continue;
        }
        let Some(chosen) = figures.chosen(SENTENCES, prefer) else { continue };
        let found = |band: &str| share(figures.band(SENTENCES, prefer, band));
        line(&format!("filter, {prefer}"), chosen.bytes, found("near"), found("natural"), chosen.us);
    }
    for other in &figures.alternatives {
        let natural = other.natural.map_or("-".into(), rate);
        line(&other.name, other.bytes, rate(other.at_near), natural, other.us);
    }
    page.table(&table);
    page.add("### Targets");
    targets(page, figures, set, hnsw);
    Ok(())
}

/// The targets of a data set and a preference.
struct Target {
    set: &'static str,
    prefer: &'static str,
    /// Bytes per member.
    bytes: f64,
    /// The smallest fractions found, and the largest ones passed, by range of distances.
    found: &'static [(&'static str, f64)],
    passed: &'static [(&'static str, f64)],
}

const TARGETS: [Target; 4] = [
    Target {
        set: SENTENCES,
        prefer: "small",
        bytes: 8.0,
        found: &[("near", 0.983), ("half", 0.999), ("natural", 0.99)],
        passed: &[("2-3", 0.02), ("3-4", 0.002), ("4-", 0.002)],
    },
    Target {
        set: SENTENCES,
        prefer: "sharp",
        bytes: 13.0,
        found: &[("near", 0.985), ("half", 0.999), ("natural", 0.99)],
        passed: &[("2-3", 0.002), ("3-4", 0.0005), ("4-", 0.0005)],
    },
    Target { set: "lengths_l2", prefer: "small", bytes: 9.0, found: &[("near", 0.98)], passed: &[("2-3", 0.02)] },
    Target { set: "cube_l2", prefer: "small", bytes: 7.0, found: &[("near", 0.98)], passed: &[] },
];
/// Minimum rows per second, relative to HNSW.
const MIN_SPEED: f64 = 300.0;
/// Maximum time of a query, relative to one exact comparison, by instruction set.
const MAX_SCAN: [(&str, f64); 3] = [("avx512", 3.0), ("avx2", 4.0), ("plain", 10.0)];
/// Maximum factor between measured and predicted rates, and the number of events below which it is too rough.
const MAX_FACTOR: f64 = 1.5;
const MIN_EVENTS: f64 = 10.0;

fn verdict(met: bool) -> String {
    if met { "met" } else { "NOT MET" }.to_string()
}

/// A band by its name in the measurements.
fn band_name(band: &str) -> &str {
    BANDS.iter().find(|(name, _)| *name == band).map_or(band, |(_, title)| title)
}

fn targets(page: &mut Page, figures: &Figures, comparison: &DataSet, hnsw: f64) {
    let mut table = Table::new(&["data", "prefer", "what", "target", "measured", "rows", ""]);
    for target in &TARGETS {
        let Target { set, prefer, .. } = *target;
        if figures.of(set).all(|filter| filter.prefer != prefer) {
            continue;
        }
        let data = set.replace('_', ", ");
        let mut put = |what: &str, target: String, measured: String, rows: String, verdict: String| {
            table.row(vec![data.clone(), prefer.into(), what.into(), target, measured, rows, verdict]);
        };
        let Some(chosen) = figures.chosen(set, prefer) else {
            put("a filter", String::new(), "none".into(), String::new(), verdict(false));
            continue;
        };
        let (size, bytes) = (chosen.bytes, target.bytes);
        put("bytes per member", format!("<= {bytes}"), format!("{size:.2}"), String::new(), verdict(size <= bytes));
        let counts = |count: Count| format!("{} of {}", grouped(count.passed), grouped(count.rows));
        for (limits, are_found) in [(target.found, true), (target.passed, false)] {
            for &(band, limit) in limits {
                let Some(count) = figures.band(set, prefer, band) else { continue };
                let (share, sign) = (count.share(), if are_found { ">=" } else { "<=" });
                let is_met = if are_found { share >= limit } else { share <= limit };
                put(band_name(band), format!("{sign} {limit}"), rate(share), counts(count), verdict(is_met));
            }
        }
        if set == SENTENCES {
            let speed = hnsw / chosen.us;
            let is_met = verdict(speed >= MIN_SPEED);
            put("rows/s relative to HNSW", format!(">= {MIN_SPEED}"), format!("{speed:.0}"), String::new(), is_met);
            let here = chosen.us / comparison.comparison_us;
            let first = (MAX_SCAN[0].0, here);
            let others = figures.scans.iter().filter(|scan| scan.prefer == prefer);
            for (path, ratio) in others.map(|scan| (scan.path.as_str(), scan.ratio)).chain([first]) {
                let Some((_, limit)) = MAX_SCAN.into_iter().find(|(name, _)| *name == path) else { continue };
                let what = format!("scan relative to one <->, {path}");
                put(&what, format!("<= {limit}"), format!("{ratio:.1}"), String::new(), verdict(ratio <= limit));
            }
        }
    }
    for filter in figures.filters.iter().filter(|filter| filter.set.ends_with("_l2")) {
        let Some(chosen) = &filter.chosen else { continue };
        let what = ["missed at R", "passed at far", "passed at far, same length", "unrelated passed"];
        for (what, pair) in what.iter().zip(pairs(figures, &filter.set, &filter.prefer, chosen)) {
            let Some(pair) = pair else { continue };
            let events = format!("{:.0} of {}", pair.measured * pair.rows, grouped(pair.rows));
            let is_rough = pair.measured.max(pair.predicted) * pair.rows < MIN_EVENTS;
            let is_within = pair.within(MAX_FACTOR);
            let verdict = match (is_rough || !is_within) && pair.may_be_chance(MAX_FACTOR) {
                true => "few".into(),
                false => verdict(is_within),
            };
            table.row(vec![
                filter.set.replace('_', ", "),
                filter.prefer.clone(),
                format!("{what} / predicted"),
                format!("1/{MAX_FACTOR} to {MAX_FACTOR}"),
                format!("{:.2}", pair.ratio()),
                events,
                verdict,
            ]);
        }
    }
    page.table(&table);
    page.add(
        "*few*: too few rows to tell. Fewer than ten were expected and counted, or the ratio is outside of the limits \
         but may be chance: with a probability of at least 2.5 %, so many or so few are counted if the prediction is \
         right within the factor.",
    );
}

/// The fraction that passes by distance, for the preferences small and sharp.
fn acceptance(figures: &Figures, set: &str) -> Plot {
    let mut series = Vec::new();
    for (colour, prefer) in [(0, "small"), (1, "sharp")] {
        for (kind, mark) in [("predicted", Mark::Line), ("planted", Mark::Rings), ("natural", Mark::Dots)] {
            // Fractions of few rows are too rough.
            let shown = |point: &&Point| {
                point.set == set
                    && point.prefer == prefer
                    && point.kind == kind
                    && (kind != "natural" || point.rows >= 20.0)
            };
            let points = figures.points.iter().filter(shown).map(|point| (point.times, point.share)).collect();
            series.push(Series::new(format!("{prefer}, {kind}"), colour, mark, points));
        }
    }
    Plot {
        title: "Fraction of rows that pass, by distance of the nearest member",
        x: Axis::linear("distance, in units of R", 0.0, 5.0),
        y: Axis::log("fraction that passes", 1e-4, 1.0),
        series,
    }
}

fn others(page: &mut Page, figures: &Figures) -> Result<()> {
    page.add("## Other data");
    for set in figures.sets.iter().filter(|set| set.name != SENTENCES) {
        page.add(&format!("### {}", title(&set.name).0));
        page.add(&description(set));
        filters(page, figures, set);
        if set.far.is_some() {
            let plot = acceptance(figures, &set.name);
            std::fs::write(page.folder.join(format!("quality/{}.svg", set.name)), plot.svg())?;
            page.add(&format!("[Fraction of rows that pass, by distance](quality/{}.svg)", set.name));
        }
    }
    Ok(())
}

fn predictions(page: &mut Page, figures: &Figures) {
    page.add("## Predicted and measured");
    page.add(
        "Rates as predicted by `lsbf_design_for` and as measured, and the ratio measured / predicted. *Missed at R*: \
         rows planted at R. *Passed at far*: rows planted at exactly `far`, by a step from a member in a random \
         direction; this makes a unit vector longer, so that its angle to the member is smaller than that of a unit \
         vector at `far`. *Same length*: rows planted at `far` with unchanged length, as all rows of such data have. \
         *Unrelated*: rows of the data without a member within `far`. Each rate is that of 1,500 planted rows or of \
         all unrelated rows; ratios of few events are rough.",
    );
    let head = ["data", "prefer", "missed at R", "", "ratio", "passed at far", "", "ratio", "same length", "ratio"];
    let mut table = Table::new(&[&head[..], &["unrelated", "", "ratio"]].concat());
    for filter in &figures.filters {
        let Some(chosen) = &filter.chosen else { continue };
        let mut cells = vec![filter.set.replace('_', ", "), filter.prefer.clone()];
        for (at, pair) in pairs(figures, &filter.set, &filter.prefer, chosen).into_iter().enumerate() {
            let [predicted, measured, ratio] = pair.map_or(["", "", ""].map(String::from), |pair| pair.cells());
            // The prediction for rows at far is in the table already.
            cells.extend((at != 2).then_some(predicted));
            cells.extend([measured, ratio]);
        }
        table.row(cells);
    }
    page.table(&table);
}

fn choices(page: &mut Page, figures: &Figures) {
    page.add("## Chosen filters");
    page.add("With the rates predicted from the built filter: `lsbf_fnr(f, near)` and `lsbf_fpr(f)`.");
    let mut table = Table::new(&[
        "data", "prefer", "kind", "family", "bits", "tables", "hashes", "blocks", "probes", "votes", "lsbf_fnr",
        "lsbf_fpr",
    ]);
    for filter in &figures.filters {
        let Some(chosen) = &filter.chosen else { continue };
        let mut cells = vec![filter.set.replace('_', ", "), filter.prefer.clone()];
        cells.extend(chosen.shape.iter().cloned());
        cells.extend(chosen.of_filter.map(rate));
        table.row(cells);
    }
    page.table(&table);
}
