//! A description of a filter in plain words.

use super::{Facts, acceptance, false_positives};
use crate::params::{Kind, Metric, shown};

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
    if facts.ones == 0 {
        return format!(
            "An empty {kind} for {what}, near {near} and far {far}. \
             It has no members yet: add them with lsbf_agg(column, filter) or lsbf_add(filter, vector).",
            what = what(params.capacity)
        );
    }
    let capacity = counted(params.capacity, "member");
    let each = facts.bytes as f64 / facts.members.max(1) as f64;
    let room = match facts.members as f64 / params.capacity as f64 {
        // The number of members is an estimate.
        ..=0.9 => format!("It was designed for {capacity} and has room for more."),
        ..=1.1 => {
            format!("It was designed for {capacity} and is about full: more members raise the false positive rate.")
        }
        _ => format!(
            "It was designed for {capacity} and is over capacity: its false positive rate is higher than designed."
        ),
    };
    format!(
        "{article} {kind} of about {what}, {size}, {each} bytes per member. \
         A row at distance {near} (near) from a member is missed {missed}. \
         A row whose nearest member is at distance {far} (far) passes {at_far}, \
         and a row unrelated to all members passes {unrelated}. \
         {room} \
         Rows that pass are candidates: compare them exactly. Members cannot be removed.",
        article = if params.kind == Kind::Dsbf { "A" } else { "An" },
        what = what(facts.members),
        size = size(facts.bytes as u64),
        each = match each {
            ..0.1 => "under 0.1".into(),
            ..10.0 => format!("{each:.1}"),
            _ => grouped(each.round() as u64),
        },
        missed = frequency(1.0 - acceptance(facts, params.near, 1.0)),
        at_far = frequency(false_positives(facts, 1.0)),
        unrelated = frequency(acceptance(facts, params.metric.unrelated(), 1.0)),
    )
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
        for kind in [Kind::Dsbf, Kind::Lsbf, Kind::Ilbf, Kind::Probing] {
            let options = Options { capacity: Some(500), near: Some(0.1), dims: Some(16), ..Options::default() };
            let params = parameters(kind, Metric::L2, &options).unwrap().0;
            let mut engine = Engine::new(params.clone(), 16).unwrap();
            let mut filter = Owned::new(&params, 16);
            assert!(explain(&Facts::of(&filter.image).unwrap()).starts_with("An empty "));
            let mut s = Stream::new(3, 0);
            for _ in 0..1000 {
                let row: Vec<f32> = (0..16).map(|_| s.gaussian() as f32).collect();
                filter.add(&mut engine, &Vector::F32(&row)).unwrap();
            }
            let text = explain(&Facts::of(&filter.image).unwrap());
            assert!(
                text.contains("vectors of 16 dimensions (l2 distance)") && text.contains("over capacity"),
                "{text}"
            );
        }
    }
}
