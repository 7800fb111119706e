//! Line plots as SVG, with two axes and a legend.

use std::fmt::Write;

const WIDTH: f64 = 820.0;
const HEIGHT: f64 = 430.0;
const LEFT: f64 = 74.0;
const RIGHT: f64 = 580.0;
const TOP: f64 = 46.0;
const BOTTOM: f64 = 376.0;
/// Colours that colour-blind readers can tell apart (Okabe and Ito).
const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555"];

/// The scale of an axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scale {
    Linear,
    Log,
}

/// An axis with its range.
#[derive(Debug, Clone)]
pub struct Axis {
    pub label: &'static str,
    pub scale: Scale,
    pub low: f64,
    pub high: f64,
}

impl Axis {
    pub fn linear(label: &'static str, low: f64, high: f64) -> Axis {
        Axis { label, scale: Scale::Linear, low, high }
    }

    pub fn log(label: &'static str, low: f64, high: f64) -> Axis {
        Axis { label, scale: Scale::Log, low, high }
    }

    /// The position of a value on the axis: 0 at the low end, 1 at the high end.
    fn place(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log => (value.max(1e-300) / self.low).ln() / (self.high / self.low).ln(),
        }
    }

    fn ticks(&self) -> Vec<f64> {
        match self.scale {
            Scale::Linear => {
                let span = self.high - self.low;
                let power = 10f64.powf((span / 5.0).log10().floor());
                let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|s| span / s <= 9.0);
                let step = step.unwrap_or(span);
                let first = (self.low / step).ceil() as i64;
                (first..).map(|i| i as f64 * step).take_while(|t| *t <= self.high + 1e-9 * span).collect()
            }
            Scale::Log => {
                let decades =
                    (self.low.log10().ceil() as i32..=self.high.log10().floor() as i32).map(|e| 10f64.powi(e));
                let decades: Vec<f64> = decades.collect();
                if decades.len() > 3 {
                    return decades;
                }
                let within = |t: &f64| (self.low..=self.high).contains(t);
                let first = self.low.log10().floor() as i32;
                (first..first + 4).flat_map(|e| [1.0, 2.0, 5.0].map(|m| m * 10f64.powi(e))).filter(within).collect()
            }
        }
    }
}

/// How a series is drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Mark {
    Line,
    Dashed,
    /// A line with dots on it.
    Marked,
    Dots,
    Rings,
}

impl Mark {
    fn has_line(self) -> bool {
        matches!(self, Mark::Line | Mark::Dashed | Mark::Marked)
    }
}

/// A named series of points.
#[derive(Debug, Clone)]
pub struct Series {
    pub name: String,
    pub colour: usize,
    pub mark: Mark,
    pub points: Vec<(f64, f64)>,
}

impl Series {
    pub fn new(name: impl Into<String>, colour: usize, mark: Mark, points: Vec<(f64, f64)>) -> Series {
        Series { name: name.into(), colour, mark, points }
    }
}

/// A plot.
#[derive(Debug, Clone)]
pub struct Plot {
    pub title: &'static str,
    pub x: Axis,
    pub y: Axis,
    pub series: Vec<Series>,
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A tick label.
fn number(value: f64) -> String {
    if value != 0.0 && !(1e-3..1e5).contains(&value.abs()) {
        return format!("1e{}", value.abs().log10().round());
    }
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

impl Plot {
    /// The position of a point, from 0 to 1 on each axis.
    fn place(&self, (x, y): (f64, f64)) -> (f64, f64) {
        (self.x.place(x), self.y.place(y))
    }

    /// The plot as SVG.
    pub fn svg(&self) -> String {
        let mut out = String::new();
        self.write(&mut out).expect("writing to a string cannot fail");
        out
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        writeln!(
            out,
            r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" font-family="Helvetica, Arial, DejaVu Sans, sans-serif" font-size="13" fill="#222222">"##
        )?;
        writeln!(out, r##"<rect width="100%" height="100%" fill="#ffffff"/>"##)?;
        writeln!(out, r#"<text x="{LEFT}" y="26" font-size="15" font-weight="bold">{}</text>"#, escape(self.title))?;
        self.axes(out)?;
        for series in &self.series {
            self.draw(out, series)?;
        }
        self.legend(out)?;
        writeln!(out, "</svg>")
    }

    fn axes(&self, out: &mut String) -> std::fmt::Result {
        for tick in self.x.ticks() {
            let (x, _) = on_page((self.x.place(tick), 0.0));
            writeln!(out, r##"<path d="M{x:.1} {TOP}V{BOTTOM}" stroke="#e4e4e4"/>"##)?;
            let y = BOTTOM + 19.0;
            writeln!(out, r#"<text x="{x:.1}" y="{y}" text-anchor="middle">{}</text>"#, number(tick))?;
        }
        for tick in self.y.ticks() {
            let (_, y) = on_page((0.0, self.y.place(tick)));
            writeln!(out, r##"<path d="M{LEFT} {y:.1}H{RIGHT}" stroke="#e4e4e4"/>"##)?;
            let (x, y) = (LEFT - 8.0, y + 4.5);
            writeln!(out, r#"<text x="{x}" y="{y:.1}" text-anchor="end">{}</text>"#, number(tick))?;
        }
        writeln!(out, r##"<path d="M{LEFT} {TOP}V{BOTTOM}H{RIGHT}" stroke="#222222" fill="none"/>"##)?;
        let (middle, below) = ((LEFT + RIGHT) / 2.0, BOTTOM + 42.0);
        writeln!(out, r#"<text x="{middle}" y="{below}" text-anchor="middle">{}</text>"#, escape(self.x.label))?;
        let middle = (TOP + BOTTOM) / 2.0;
        writeln!(
            out,
            r#"<text transform="translate(20 {middle}) rotate(-90)" text-anchor="middle">{}</text>"#,
            escape(self.y.label)
        )
    }

    fn draw(&self, out: &mut String, series: &Series) -> std::fmt::Result {
        let places: Vec<(f64, f64)> = series.points.iter().map(|&point| self.place(point)).collect();
        if series.mark.has_line() {
            let mut path = String::new();
            for pair in places.windows(2) {
                let Some((from, to)) = clipped(pair[0], pair[1]) else { continue };
                let ((x, y), (to_x, to_y)) = (on_page(from), on_page(to));
                write!(path, "M{x:.1} {y:.1}L{to_x:.1} {to_y:.1}")?;
            }
            let (colour, dashes) = (COLOURS[series.colour], dashes(series.mark));
            writeln!(
                out,
                r#"<path d="{path}" stroke="{colour}" stroke-width="1.8" stroke-linecap="round" fill="none"{dashes}/>"#
            )?;
        }
        if matches!(series.mark, Mark::Line | Mark::Dashed) {
            return Ok(());
        }
        let inside = |place: &f64| (-1e-9..=1.0 + 1e-9).contains(place);
        let shown = places.into_iter().filter(|(x, y)| inside(x) && inside(y));
        shown.map(on_page).try_for_each(|place| mark(out, series, place))
    }

    fn legend(&self, out: &mut String) -> std::fmt::Result {
        for (i, series) in self.series.iter().enumerate() {
            let (x, y) = (RIGHT + 18.0, TOP + 12.0 + 21.0 * i as f64);
            if series.mark.has_line() {
                let (colour, dashes) = (COLOURS[series.colour], dashes(series.mark));
                writeln!(out, r#"<path d="M{x} {y}h24" stroke="{colour}" stroke-width="1.8"{dashes}/>"#)?;
            }
            if !matches!(series.mark, Mark::Line | Mark::Dashed) {
                mark(out, series, (x + 12.0, y))?;
            }
            writeln!(out, r#"<text x="{}" y="{}">{}</text>"#, x + 32.0, y + 4.5, escape(&series.name))?;
        }
        Ok(())
    }
}

/// Converts positions on the axes to coordinates of the image.
fn on_page((x, y): (f64, f64)) -> (f64, f64) {
    (LEFT + x * (RIGHT - LEFT), BOTTOM - y * (BOTTOM - TOP))
}

/// The part of a line between the lower and the upper end of the vertical axis.
fn clipped(from: (f64, f64), to: (f64, f64)) -> Option<((f64, f64), (f64, f64))> {
    let cut = |inner: (f64, f64), outer: (f64, f64)| {
        let end = outer.1.clamp(0.0, 1.0);
        let share = (end - inner.1) / (outer.1 - inner.1);
        (inner.0 + share * (outer.0 - inner.0), end)
    };
    let is_inside = |place: (f64, f64)| (0.0..=1.0).contains(&place.1);
    match (is_inside(from), is_inside(to)) {
        (true, true) => Some((from, to)),
        (true, false) => Some((from, cut(from, to))),
        (false, true) => Some((cut(to, from), to)),
        (false, false) => None,
    }
}

fn dashes(mark: Mark) -> &'static str {
    if mark == Mark::Dashed { r#" stroke-dasharray="6 4""# } else { "" }
}

fn mark(out: &mut String, series: &Series, (x, y): (f64, f64)) -> std::fmt::Result {
    let colour = COLOURS[series.colour];
    match series.mark {
        Mark::Rings => {
            writeln!(
                out,
                r##"<circle cx="{x:.1}" cy="{y:.1}" r="4.2" fill="#ffffff" stroke="{colour}" stroke-width="1.5"/>"##
            )
        }
        _ => writeln!(out, r#"<circle cx="{x:.1}" cy="{y:.1}" r="3.2" fill="{colour}"/>"#),
    }
}
