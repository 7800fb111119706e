//! The valid ranges of all parameters.

use super::{CELL_BITS, Family, Kind, LINE, Metric, Params, Probing, Quotient};
use crate::error::{Error, Result};
use crate::limits;

fn check(holds: bool, message: impl FnOnce() -> String) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::parameter(message())) }
}

/// A number in PostgreSQL's notation, for messages.
pub fn shown(value: f64) -> String {
    match value {
        _ if value.is_infinite() => if value > 0.0 { "Infinity" } else { "-Infinity" }.into(),
        _ if value != 0.0 && !(1e-4..1e15).contains(&value.abs()) => format!("{value:e}"),
        _ => format!("{value}"),
    }
}

/// Checks that an integer parameter is within its bounds.
pub fn in_range(name: &str, value: u64, low: u64, high: u64) -> Result<()> {
    check((low..=high).contains(&value), || format!("{name} must be between {low} and {high}, not {value}"))
}

/// Checks that theta is within its bounds.
#[inline]
pub fn check_theta(theta: f64) -> Result<()> {
    check(theta > 0.0 && theta <= limits::MAX_THETA, || {
        format!("theta must be greater than 0 and at most {}, not {}", limits::MAX_THETA, shown(theta))
    })
}

/// Checks that dims is within its bounds.
pub fn check_dims(dims: u64) -> Result<()> {
    in_range("dims", dims, 1, u64::from(limits::MAX_DIMS))
}

/// Checks that filters with `match => 'any'` support a metric.
pub fn check_any(metric: Metric) -> Result<()> {
    check(!matches!(metric, Metric::L2 | Metric::Cosine), || {
        format!("match => 'any' does not support metric {}", metric.name())
    })
    .map_err(|error| error.with_hint("Use lsqf_new, whose filters are smaller, faster and separate better."))
}

impl Params {
    /// Checks all ranges, and that the parameters do not contradict each other.
    pub fn validate(&self) -> Result<()> {
        let name = self.kind.name();
        check(self.family.serves(self.metric), || {
            format!("hash family {} does not support metric {}", self.family.name(), self.metric.name())
        })?;
        check(
            (self.kind == Kind::Probing || !self.family.has_blocks())
                && (self.kind == Kind::Lsqf) == (self.family == Family::Rotation),
            || format!("hash family {} does not apply to {name}", self.family.name()),
        )?;
        in_range("capacity", self.capacity, 1, limits::MAX_CAPACITY)?;
        in_range("tables", u64::from(self.tables), 1, u64::from(limits::MAX_TABLES))?;
        in_range("hashes", u64::from(self.hashes), 1, u64::from(limits::MAX_HASHES))?;
        check(self.votes <= self.tables, || {
            format!("votes must be at most tables, but votes is {} and tables is {}", self.votes, self.tables)
        })?;
        self.validate_distances()?;
        self.validate_width()?;
        self.validate_size()?;
        check(self.kind == Kind::Probing || self.probing.is_none(), || format!("probes does not apply to {name}"))?;
        check(self.kind == Kind::Lsqf || self.quotient.is_none(), || format!("cells does not apply to {name}"))?;
        match self.kind {
            Kind::Lsqf => Ok(()),
            Kind::Ilbf => self.validate_ilbf(),
            _ => self.validate_tables(),
        }?;
        match self.kind {
            Kind::Lsqf => self.validate_quotient(),
            Kind::Probing => self.validate_probing(),
            Kind::Lsbf => self.validate_lsbf(),
            Kind::Dsbf | Kind::Ilbf => {
                check(self.verify_bits == 0 && self.overflow == 0 && !self.robust, || {
                    format!("verify_bits and overflow do not apply to {name}")
                })?;
                check(self.kind == Kind::Ilbf || self.bloom_hashes == 0, || {
                    format!("bloom_hashes does not apply to {name}")
                })
            }
        }
    }

    /// 0 < near < far, within what the metric allows.
    fn validate_distances(&self) -> Result<()> {
        let (largest, metric) = (self.metric.largest(), self.metric.name());
        let (near, far) = (shown(self.near), shown(self.far));
        check(self.near.is_finite() && self.near > 0.0 && self.near < largest, || match largest.is_finite() {
            true => format!("near must be greater than 0 and less than {largest} for {metric}, not {near}"),
            false => format!("near must be a finite number greater than 0, not {near}"),
        })
        .map_err(|error| match self.metric {
            Metric::Hamming => error.with_hint(
                "It is the fraction of positions that differ: divide the number of differing positions by dims.",
            ),
            _ => error,
        })?;
        check(self.far.is_finite() && self.far <= largest, || match largest.is_finite() {
            true => format!("far must be at most {largest} for {metric}, not {far}"),
            false => format!("far must be finite, not {far}"),
        })?;
        check(self.near < self.far, || format!("near must be less than far, but near is {near} and far is {far}"))
            .map_err(|error| error.with_hint("Omit far to use its default."))
    }

    fn validate_width(&self) -> Result<()> {
        if self.family == Family::Rotation {
            let length = self.width;
            return check(length.is_finite() && length >= 0.0, || {
                format!("length must be a finite number of at least 0, not {}", shown(length))
            });
        }
        if !self.family.has_width() {
            return check(self.width == 0.0, || format!("width does not apply to {}", self.metric.name()));
        }
        check(self.width.is_finite() && self.width > 0.0, || {
            format!("width must be a finite number greater than 0, not {}", shown(self.width))
        })
    }

    fn validate_size(&self) -> Result<()> {
        let words = self.bits.div_ceil(64).saturating_add(self.verify_bits.div_ceil(64));
        if words <= limits::MAX_BYTES / 8 {
            return Ok(());
        }
        let (bytes, max) = (words.saturating_mul(8), limits::MAX_BYTES);
        Err(Error::too_large(format!("filter of {bytes} bytes would exceed the limit of {max} bytes")).with_hint(
            "Lower capacity or tables, or specify bits. Several smaller filters can be queried instead of one.",
        ))
    }

    /// DSBF and both kinds of LSBF: the bits are divided into one partition per table.
    fn validate_tables(&self) -> Result<()> {
        check(self.bits.is_multiple_of(u64::from(self.tables)) && self.bits > 0, || {
            format!("bits must be a multiple of tables, but {} is not a multiple of {}", self.bits, self.tables)
        })?;
        check(self.blooms == 0 && self.slots == 0 && !self.aligned, || {
            format!("blooms and slots do not apply to {}", self.kind.name())
        })
    }

    fn validate_ilbf(&self) -> Result<()> {
        let name = self.kind.name();
        check(self.family.has_width(), || format!("{name} does not support metric {}", self.metric.name()))?;
        check(self.hashes == 1, || format!("hashes must be 1 for {name}, not {}", self.hashes))?;
        in_range("blooms", u64::from(self.blooms), 2, u64::from(u32::MAX))?;
        in_range("slots", u64::from(self.slots), 8, u64::from(limits::MAX_SLOTS))?;
        check(self.slots.is_multiple_of(64) || 64 % self.slots == 0, || {
            format!("slots must divide 64 or be a multiple of 64, not {}", self.slots)
        })?;
        check(self.bits == u64::from(self.blooms) * u64::from(self.slots), || "bits must equal blooms x slots".into())?;
        let max = limits::MAX_BLOOM_HASHES.min(self.slots);
        in_range("bloom_hashes", u64::from(self.bloom_hashes), 1, u64::from(max))
    }

    fn validate_lsbf(&self) -> Result<()> {
        in_range("overflow", u64::from(self.overflow), 0, u64::from(limits::MAX_OVERFLOW))?;
        check(self.votes == 0, || format!("votes does not apply to {}", self.kind.name()))?;
        if self.verify_bits == 0 {
            return check(self.bloom_hashes == 0, || "bloom_hashes requires a verification filter".into());
        }
        check(self.verify_bits >= 64, || format!("verify_bits must be 0 or at least 64, not {}", self.verify_bits))?;
        in_range("bloom_hashes", u64::from(self.bloom_hashes), 1, u64::from(limits::MAX_BLOOM_HASHES))
    }

    fn validate_probing(&self) -> Result<()> {
        check_any(self.metric)?;
        let Some(Probing { probes, blocks }) = self.probing else {
            return Err(Error::parameter("probes must be specified"));
        };
        check(self.verify_bits == 0 && self.overflow == 0 && !self.robust, || {
            "verify_bits, overflow and robust do not apply to match => 'any'".into()
        })?;
        let line = LINE * u64::from(self.tables);
        check(self.bits.is_multiple_of(line), || {
            format!("bits must be a multiple of {LINE} x tables, but {} is not a multiple of {line}", self.bits)
        })?;
        in_range("votes", u64::from(self.votes), 1, u64::from(self.tables))?;
        in_range("bloom_hashes", u64::from(self.bloom_hashes), 1, u64::from(limits::MAX_LINE_HASHES))?;
        in_range("probes", u64::from(probes), 1, u64::from(limits::MAX_PROBES))?;
        check(self.family != Family::MinHash || probes == 1, || {
            format!("probes must be 1 for {}, not {probes}", self.metric.name())
        })?;
        if !self.family.has_blocks() {
            return check(blocks == 0, || format!("blocks does not apply to {} hashes", self.family.name()));
        }
        in_range("blocks", u64::from(blocks), 1, u64::from(limits::MAX_TABLES))?;
        check(self.hashes <= blocks, || {
            format!("hashes must be at most blocks, but hashes is {} and blocks is {blocks}", self.hashes)
        })?;
        check(probes == 1, || format!("probes must be 1 with blocks, not {probes}"))?;
        let choices = self.tables_per_partition();
        check(choices.is_some_and(|choices| self.tables.is_multiple_of(choices)), || {
            let (tables, hashes) = (self.tables, self.hashes);
            match choices {
                Some(choices) => format!(
                    "tables must be a multiple of {choices}, the number of ways to choose {hashes} of {blocks} blocks, not {tables}"
                ),
                None => {
                    format!("there are more than {} ways to choose {hashes} of {blocks} blocks", limits::MAX_TABLES)
                }
            }
        })
    }

    fn validate_quotient(&self) -> Result<()> {
        let name = self.kind.name();
        let unused = self.tables == 1
            && self.hashes == 1
            && self.votes == 0
            && self.capacity == 1
            && self.verify_bits == 0
            && self.bloom_hashes == 0
            && self.overflow == 0
            && !self.robust
            && self.blooms == 0
            && self.slots == 0
            && !self.aligned;
        check(unused, || format!("parameters of other kinds do not apply to {name}"))?;
        let Some(Quotient { cell_bits, max_theta, fnr, .. }) = self.quotient else {
            return check(false, || format!("cells must be specified for {name}"));
        };
        in_range("bits", self.bits, limits::MIN_CODE_BITS, limits::MAX_CODE_BITS)?;
        check(CELL_BITS.contains(&cell_bits), || {
            format!("cells must be {}, {} or {}, not {cell_bits}", CELL_BITS[0], CELL_BITS[1], CELL_BITS[2])
        })?;
        let largest = limits::MAX_QUOTIENT_THETA;
        check((1.0..=largest).contains(&max_theta), || {
            format!("max_theta must be between 1 and {largest} for {name}, not {}", shown(max_theta))
        })?;
        let (low, high) = limits::QUOTIENT_FNR;
        check((low..=high).contains(&fnr), || {
            format!("fnr must be between {low} and {high} for {name}, not {}", shown(fnr))
        })?;
        // Coordinates are single-precision numbers.
        let (low, high) = limits::QUOTIENT_NEAR;
        check((low..=high).contains(&self.near), || {
            format!("near must be between {low:e} and {high:e} for {name}, not {}", shown(self.near))
        })
    }
}
