//! The parameter in which two filters differ.

use super::{Kind, Params, shown};

impl Params {
    /// The name of the first parameter in which two filters differ, and both values. Parameters that users specify come
    /// before those derived from them.
    pub fn difference(&self, other: &Params) -> Option<(&'static str, String, String)> {
        let named = |p: &Params| {
            [
                ("kind", p.kind.name().to_string()),
                ("match", if p.kind == Kind::Probing { "any" } else { "all" }.to_string()),
                ("metric", p.metric.name().to_string()),
                ("alphabet", p.family.alphabet().to_string()),
                ("transform", if p.family.is_fast() { "hadamard" } else { "dense" }.to_string()),
                ("seed", (p.seed as i64).to_string()),
                ("capacity", p.capacity.to_string()),
                ("near", shown(p.near)),
                ("far", shown(p.far)),
                ("blocks", p.blocks().to_string()),
                ("tables", p.tables.to_string()),
                ("hashes", p.hashes.to_string()),
                (if p.family.has_width() { "width" } else { "length" }, shown(p.width)),
                ("overflow", p.overflow.to_string()),
                ("robust", p.robust.to_string()),
                ("blooms", p.blooms.to_string()),
                ("slots", p.slots.to_string()),
                ("blooms_aligned", p.aligned.to_string()),
                ("bits", p.bits.to_string()),
                ("verify_bits", p.verify_bits.to_string()),
                ("bloom_hashes", p.bloom_hashes.to_string()),
                ("votes", p.votes.to_string()),
                ("probes", p.probes().to_string()),
                ("cells", p.quotient.map_or(0, |quotient| quotient.cell_bits).to_string()),
                ("max_theta", shown(p.quotient.map_or(0.0, |quotient| quotient.max_theta))),
                ("fnr", shown(p.quotient.map_or(0.0, |quotient| quotient.fnr))),
                ("centre", format!("{:016x}", p.centre())),
            ]
        };
        let pairs = named(self).into_iter().zip(named(other));
        pairs.into_iter().find(|(x, y)| x != y).map(|((name, x), (_, y))| (name, x, y))
    }
}
