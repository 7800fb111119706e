//! What a filter can and cannot answer, in plain words.

use super::{Facts, acceptance, false_positives};
use crate::params::{Kind, Metric, shown};

/// A few sentences about a filter.
pub fn explain(facts: &Facts) -> String {
    let params = &facts.params;
    let (near, far) = (rounded(params.near), rounded(params.far));
    let kind = match params.kind {
        Kind::Lsbf => "lsbf (all tables must match)".into(),
        Kind::Probing => format!("lsbf ({} of {} tables must match)", params.votes, params.tables),
        kind => kind.name().to_string(),
    };
    let what = |count: u64| match (params.metric, facts.dims) {
        (Metric::Jaccard, _) => format!("{} by jaccard distance", counted(count, "set")),
        (metric, 0) => format!("{} by {} distance", counted(count, "vector"), metric.name()),
        (metric, dims) => {
            let (dims, metric) = (counted(dims.into(), "dimension"), metric.name());
            format!("{} of {dims} by {metric} distance", counted(count, "vector"))
        }
    };
    if facts.ones == 0 {
        return format!(
            "An empty {kind} for {what}, near {near} and far {far}. \
             It finds nothing yet: fill it with lsbf_agg(column, filter) or lsbf_add(filter, vector).",
            what = what(params.capacity)
        );
    }
    let capacity = counted(params.capacity, "member");
    let each = facts.bytes as f64 / facts.members.max(1) as f64;
    let room = match facts.members as f64 / params.capacity as f64 {
        // The number of members is an estimate.
        ..=0.9 => format!("Made for {capacity}, it has room for more."),
        ..=1.1 => format!("Made for {capacity}, it is about full: with more, more strangers pass."),
        _ => format!("Made for {capacity}, it is over-full: strangers pass more often than was planned."),
    };
    format!(
        "{article} {kind} of about {what}, {size}, {each} bytes a member. \
         A row at {near} from a member is missed {missed}. \
         A row whose nearest member is at {far} passes {at_far}, one unrelated to all members {unrelated}. \
         {room} \
         What passes is a candidate: compare it exactly. Members cannot be taken out.",
        article = if params.kind == Kind::Dsbf { "A" } else { "An" },
        what = what(facts.members),
        size = size(facts.bytes as u64),
        each = match each {
            ..0.1 => "under 0.1".into(),
            ..10.0 => format!("{each:.1}"),
            _ => grouped(each.round() as u64),
        },
        missed = often(1.0 - acceptance(facts, params.near, 1.0)),
        at_far = often(false_positives(facts, 1.0)),
        unrelated = often(acceptance(facts, params.metric.unrelated(), 1.0)),
    )
}

/// A distance, to four digits.
pub fn rounded(distance: f64) -> String {
    let unit = libm::pow(10.0, 3.0 - libm::floor(libm::log10(distance)));
    shown(if unit.is_finite() { libm::round(distance * unit) / unit } else { distance })
}

/// How often something happens.
fn often(rate: f64) -> String {
    match rate {
        ..0.000001 => "hardly ever".into(),
        ..0.3 => {
            // Two digits are more than a prediction is worth.
            let odds = 1.0 / rate;
            let unit = libm::pow(10.0, libm::floor(libm::log10(odds)) - 1.0).max(1.0);
            format!("1 time in {}", grouped((libm::round(odds / unit) * unit) as u64))
        }
        ..0.995 => format!("{:.0} times in 100", rate * 100.0),
        _ => "nearly always".into(),
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{} bytes", grouped(bytes)),
        10_000..10_000_000 => format!("{} kB", grouped(bytes / 1000)),
        _ => format!("{} MB", grouped(bytes / 1_000_000)),
    }
}

/// So many of something.
fn counted(count: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// A number with commas.
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
    fn rates_and_sizes_are_told_in_words() {
        let told = [0.0, 0.0172, 0.00034, 0.25, 0.41, 0.9999].map(often);
        assert_eq!(
            told,
            ["hardly ever", "1 time in 58", "1 time in 2,900", "1 time in 4", "41 times in 100", "nearly always"]
        );
        assert_eq!([0.2, 0.43588989435406733, 1234.56, 1e-320].map(rounded), ["0.2", "0.4359", "1235", "1e-320"]);
        assert_eq!([999, 1_234_567].map(grouped), ["999", "1,234,567"]);
        assert_eq!([90, 12_345, 12_345_678].map(size), ["90 bytes", "12 kB", "12 MB"]);
    }

    #[test]
    fn every_kind_says_what_it_holds() {
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
            let told = explain(&Facts::of(&filter.image).unwrap());
            assert!(told.contains("vectors of 16 dimensions by l2 distance") && told.contains("over-full"), "{told}");
        }
    }
}
