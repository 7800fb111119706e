//! A description of a filter in plain words.

use super::{Acceptance, Facts, false_negatives};
use crate::params::{Kind, Layout, Metric, shown};

/// Describes a filter and its predicted error rates in a few sentences.
pub fn explain(facts: &Facts) -> String {
    let params = &facts.params;
    let (near, far) = (rounded(params.near), rounded(params.far));
    let kind = match params.kind {
        Kind::Lsbf => "lsbf filter (all tables must match)".into(),
        Kind::Probing => format!("lsbf filter ({} of {} tables must match)", params.votes, params.tables),
        kind => format!("{} filter", kind.name()),
    };
    let what = |count: u64| match (params.metric, facts.dims) {
        (Metric::Jaccard, _) => format!("{} (jaccard distance)", counted(count, "set")),
        (metric, 0) => format!("{} ({} distance)", counted(count, "vector"), metric.name()),
        (metric, dims) => {
            let (dims, metric) = (counted(dims.into(), "dimension"), metric.name());
            format!("{} of {dims} ({metric} distance)", counted(count, "vector"))
        }
    };
    let any = || match facts.dims {
        0 => format!("vectors ({} distance)", params.metric.name()),
        dims => format!("vectors of {} ({} distance)", counted(dims.into(), "dimension"), params.metric.name()),
    };
    if facts.ones == 0 {
        return format!(
            "An empty {kind} for {what}, near {near} and far {far}. \
             It has no members yet: add them with lsbf_agg(column, filter) or lsbf_add(filter, vector).",
            what = match params.kind {
                Kind::Lsqf => any(),
                _ => what(params.capacity),
            }
        );
    }
    let each = facts.bytes as f64 / facts.members.max(1) as f64;
    let acceptance = Acceptance::new(facts, 1.0);
    format!(
        "{article} {kind} of {about}{what}, {size}, {each} bytes per member. \
         A row at distance {near} (near) from a member is {missed}. \
         A row whose nearest member is at distance {far} (far) passes {at_far}{unrelated}. \
         {room} \
         Rows that pass are candidates: compare them exactly. {removal}",
        article = if params.kind == Kind::Dsbf { "A" } else { "An" },
        // The number of members of a quotient filter is exact.
        about = if params.kind == Kind::Lsqf { "" } else { "about " },
        what = what(facts.members),
        room = room(facts),
        removal = match params.kind {
            Kind::Lsqf => "Members can be removed with lsbf_remove(filter, vector).",
            _ => "Members cannot be removed.",
        },
        size = size(facts.bytes as u64),
        each = match each {
            ..0.1 => "under 0.1".into(),
            ..10.0 => format!("{each:.1}"),
            _ => grouped(each.round() as u64),
        },
        missed = match false_negatives(facts, 1.0) {
            0.0 => "never missed".into(),
            rate => format!("missed {}", frequency(rate)),
        },
        at_far = frequency(acceptance.at(params.far)),
        unrelated = match params.kind {
            Kind::Lsqf if params.metric == Metric::L2 && params.width == 0.0 => {
                " because of that member; how often others let it pass depends on the data, from which lsbf_design_for predicts it"
                    .into()
            }
            _ => format!(
                ", and a row unrelated to all members passes {}",
                frequency(acceptance.at(params.metric.unrelated()))
            ),
        },
    )
}

/// How many more members a filter has room for, or which theta it can be queried with.
fn room(facts: &Facts) -> String {
    let params = &facts.params;
    if let Some(layout) = Layout::of(params, facts.dims) {
        let theta = rounded(layout.max_theta(params.metric));
        return format!("It grows with its members. Queries can use a theta of up to {theta}.");
    }
    let capacity = counted(params.capacity, "member");
    match facts.members as f64 / params.capacity as f64 {
        // The number of members is an estimate.
        ..=0.9 => format!("It was designed for {capacity} and has room for more."),
        ..=1.1 => {
            format!("It was designed for {capacity} and is about full: more members raise the false positive rate.")
        }
        _ => format!(
            "It was designed for {capacity} and is over capacity: its false positive rate is higher than designed."
        ),
    }
}

/// A distance, rounded to four significant digits.
pub fn rounded(distance: f64) -> String {
    let unit = libm::pow(10.0, 3.0 - libm::floor(libm::log10(distance)));
    shown(if unit.is_finite() { libm::round(distance * unit) / unit } else { distance })
}

/// A rate in words.
fn frequency(rate: f64) -> String {
    match rate {
        ..0.000001 => "less than 1 time in 1,000,000".into(),
        ..0.3 => {
            // A prediction is no more precise than two digits.
            let odds = 1.0 / rate;
            let unit = libm::pow(10.0, libm::floor(libm::log10(odds)) - 1.0).max(1.0);
            format!("1 time in {}", grouped((libm::round(odds / unit) * unit) as u64))
        }
        ..0.995 => format!("{:.0} times in 100", rate * 100.0),
        _ => "more than 99 times in 100".into(),
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{} bytes", grouped(bytes)),
        10_000..10_000_000 => format!("{} kB", grouped(bytes / 1000)),
        _ => format!("{} MB", grouped(bytes / 1_000_000)),
    }
}

/// A number with a noun, in the plural if necessary.
fn counted(count: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// A number with commas between groups of three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::{Options, parameters};
    use crate::filter::{Engine, Owned};
    use crate::hash::rng::Stream;
    use crate::vector::Vector;

    #[test]
    fn rates_and_sizes_are_written_in_words() {
        let words = [0.0, 0.0172, 0.00034, 0.25, 0.41, 0.9999].map(frequency);
        assert_eq!(
            words,
            [
                "less than 1 time in 1,000,000",
                "1 time in 58",
                "1 time in 2,900",
                "1 time in 4",
                "41 times in 100",
                "more than 99 times in 100",
            ]
        );
        assert_eq!([0.2, 0.43588989435406733, 1234.56, 1e-320].map(rounded), ["0.2", "0.4359", "1235", "1e-320"]);
        assert_eq!([999, 1_234_567].map(grouped), ["999", "1,234,567"]);
        assert_eq!([90, 12_345, 12_345_678].map(size), ["90 bytes", "12 kB", "12 MB"]);
    }

    #[test]
    fn every_kind_is_described() {
        for kind in Kind::ALL {
            let options = Options { capacity: Some(500), near: Some(0.1), dims: Some(16), ..Options::default() };
            let metric = if kind == Kind::Probing { Metric::L1 } else { Metric::L2 };
            let params = parameters(kind, metric, &options).unwrap().0;
            let mut engine = Engine::new(params.clone(), 16).unwrap();
            let mut filter = Owned::new(&params, 16);
            assert!(explain(&Facts::of(&filter.image).unwrap()).starts_with("An empty "));
            let mut s = Stream::new(3, 0);
            for _ in 0..1000 {
                let row: Vec<f32> = (0..16).map(|_| s.gaussian() as f32).collect();
                filter.add(&mut engine, &Vector::F32(&row)).unwrap();
            }
            let text = explain(&Facts::of(&filter.image).unwrap());
            let expected = match kind {
                Kind::Lsqf => "An lsqf filter of 1,000 vectors of 16 dimensions (l2 distance)".to_string(),
                _ => format!("vectors of 16 dimensions ({} distance)", metric.name()),
            };
            let room = if kind == Kind::Lsqf { "a theta of up to 1.5" } else { "over capacity" };
            assert!(text.contains(&expected) && text.contains(room), "{text}");
        }
    }
}
