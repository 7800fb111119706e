//! Mutations that preserve what validation checks, such as lengths, counters and canonical form: nearly all values that
//! are changed at random are rejected.

use crate::promises::as_image;
use lsbf::filter::format::{self, Bits, Header, RESERVED, View};
use lsbf::filter::list::{self, Content, Front, Growing};
use lsbf::filter::lsqf::change::write;
use lsbf::filter::lsqf::fingerprint::Fingerprint;
use lsbf::filter::sparse::Sparse;
use lsbf::filter::{Counters, count, ilbf, sketch};
use lsbf::hash::rng::Stream;
use lsbf::params::{Family, Kind, Layout, Metric, Params};

/// Boundary values, at which ranges end or numbers overflow.
const NUMBERS: [u64; 16] = [0, 1, 2, 3, 7, 8, 63, 64, 65, 127, 255, 4096, 1 << 20, u32::MAX as u64, 1 << 42, u64::MAX];
const REALS: [f64; 12] =
    [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e-300, 1e300, f64::MIN_POSITIVE, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];

/// A number close to `near`, a boundary value, or a random number.
pub fn number(near: u64, stream: &mut Stream) -> u64 {
    match stream.below(4) {
        0 => NUMBERS[stream.below(NUMBERS.len() as u64) as usize],
        1 => near.wrapping_add(stream.below(5)).wrapping_sub(2),
        2 => near.wrapping_mul(1 + stream.below(4)) >> stream.below(3),
        _ => stream.word() >> stream.below(64),
    }
}

/// The same for reals.
pub fn real(near: f64, stream: &mut Stream) -> f64 {
    match stream.below(3) {
        0 => REALS[stream.below(REALS.len() as u64) as usize],
        1 => near * (0.25 + 4.0 * stream.uniform()),
        _ => f64::from_bits(stream.word()),
    }
}

/// Changes one parameter.
pub fn change(p: &mut Params, stream: &mut Stream) {
    const FAMILIES: [Family; 11] = [
        Family::Bits,
        Family::Symbols,
        Family::Gaussian,
        Family::Cauchy,
        Family::Hyperplane,
        Family::MinHash,
        Family::Hadamard,
        Family::HadamardHyperplane,
        Family::Blocks,
        Family::SymbolBlocks,
        Family::Rotation,
    ];
    let s = stream;
    match s.below(26) {
        0 => p.kind = Kind::ALL[s.below(5) as usize],
        1 => p.metric = Metric::ALL[s.below(5) as usize],
        2 => p.family = FAMILIES[s.below(FAMILIES.len() as u64) as usize],
        3 => p.seed = s.word(),
        4 => p.capacity = number(p.capacity, s),
        5 => p.near = real(p.near, s),
        6 => p.far = real(p.far, s),
        7 => p.width = real(p.width, s),
        8 => {
            // The number of bits must be a multiple of the number of tables.
            let partition = p.bits / u64::from(p.tables.max(1));
            p.tables = number(p.tables.into(), s) as u32;
            p.bits = partition.saturating_mul(p.tables.into());
        }
        9 => p.hashes = number(p.hashes.into(), s) as u32,
        10 => p.bits = number(p.bits, s),
        11 => p.bits = number(p.bits / u64::from(p.tables.max(1)), s).wrapping_mul(p.tables.into()),
        12 => p.verify_bits = number(p.verify_bits, s),
        13 => p.bloom_hashes = number(p.bloom_hashes.into(), s) as u32,
        14 => p.overflow = number(p.overflow.into(), s) as u32,
        15 => p.robust = !p.robust,
        16 => {
            p.blooms = number(p.blooms.into(), s) as u32;
            p.bits = u64::from(p.blooms) * u64::from(p.slots);
        }
        17 => {
            p.slots = number(p.slots.into(), s) as u32;
            p.bits = u64::from(p.blooms) * u64::from(p.slots);
        }
        18 => p.aligned = !p.aligned,
        19 => p.votes = number(p.votes.into(), s) as u32,
        20 => p.probing.iter_mut().for_each(|x| x.probes = number(x.probes.into(), s) as u32),
        21 => p.probing.iter_mut().for_each(|x| x.blocks = number(x.blocks.into(), s) as u32),
        22 => p.quotient.iter_mut().for_each(|x| x.cell_bits = number([14, 18, 22][s.below(3) as usize], s) as u32),
        23 => p.quotient.iter_mut().for_each(|x| x.max_theta = real(x.max_theta, s)),
        24 => p.quotient.iter_mut().for_each(|x| x.fnr = real(x.fnr, s)),
        _ => p.bits = 8 + s.below(250),
    }
}

/// A value with one parameter changed.
pub fn with_changed_parameter(payload: &[u8], stream: &mut Stream) -> Option<Vec<u8>> {
    let bytes = [&[0; RESERVED], payload].concat();
    let header = Header::read(&bytes).ok()?;
    let mut params = format::decode_params(header.params(&bytes).ok()?).ok()?;
    change(&mut params, stream);
    let stored = format::encode_params(&params);
    let mut changed = bytes[..format::FIXED].to_vec();
    changed[12..16].copy_from_slice(&(stored.len() as u32).to_le_bytes());
    changed.extend(stored);
    changed.resize(changed.len().next_multiple_of(8), 0);
    changed.extend(bytes.get(header.words() * 8..).unwrap_or_default());
    Some(changed[RESERVED..].to_vec())
}

/// A value whose length and counters match its content; `None` if it would be larger than `max_size`.
pub fn repaired(payload: &[u8], max_size: usize) -> Option<Vec<u8>> {
    let bytes = [&[0; RESERVED], payload].concat();
    let header = Header::read(&bytes).ok()?;
    let params = format::decode_params(header.params(&bytes).ok()?).ok()?;
    if header.is_sparse {
        return repaired_list(&bytes, &header, &params, max_size);
    }
    if header.is_quotient {
        return repaired_members(&bytes, &header, &params, max_size);
    }
    let words = format::image_words(&params, header.params_len, header.dims, header.has_body);
    if words * 8 - RESERVED > max_size || header.has_centre != (params.centre() != 0) {
        return None;
    }
    let mut image = as_image(payload);
    image.resize(words, 0);
    let Bits::Words(body) = View::new(&image).ok()?.body() else { return None };
    let (ones, squares) = (count::ones(body), ilbf::squares(&params, body));
    format::set_counters(&mut image, ones, squares);
    Some(format::payload(&image).to_vec())
}

/// The same for a list of bits: bits and registers are sorted, without duplicates, and in range.
fn repaired_list(bytes: &[u8], header: &Header, params: &Params, max_size: usize) -> Option<Vec<u8>> {
    let mut ranks = [0u8; sketch::WORDS * 8];
    for entry in bytes.get(header.words() * 8..)?.as_chunks().0.iter().take(header.registers as usize) {
        let entry = u16::from_le_bytes(*entry);
        ranks[usize::from(entry >> 6)] = (entry & 63).clamp(1, 55) as u8;
    }
    let registers: Vec<u64> = ranks.as_chunks().0.iter().map(|ranks| u64::from_ne_bytes(*ranks)).collect();
    let in_range = |at: u64| {
        let array = params.array_words() * 64;
        if at < params.bits { at } else { (array + at % params.verify_bits.max(1)) * u64::from(params.verify_bits > 0) }
    };
    // If the list cannot be read, its bytes stand for any bits.
    let body = bytes.get(header.body_start() * 8..)?;
    let words: Vec<u64> = body.as_chunks().0.iter().map(|word| u64::from_ne_bytes(*word)).collect();
    let list = Sparse::new(&words, header.ones);
    let mut new: Vec<u64> = match list.count() {
        0 => body.as_chunks().0.iter().take(1 << 12).map(|at| in_range(u32::from_le_bytes(*at).into())).collect(),
        _ => list.positions().take(1 << 12).map(in_range).collect(),
    };
    new.sort_unstable();
    new.dedup();
    let mut body = Growing { list: Sparse::EMPTY, new: Vec::new() };
    let mut counters = Counters::default();
    for &at in &new {
        let more = list::set(params, at, &mut body);
        counters = Counters { ones: counters.ones + more.ones, squares: counters.squares + more.squares };
    }
    if header.has_centre
        || new.is_empty()
        || format::image_words(params, header.params_len, header.dims, true) * 8 > max_size
    {
        return None;
    }
    let front = Front { stored: header.params(bytes).ok()?, dims: header.dims, centre: &[] };
    let content = Content { counters, sketch: registers.try_into().ok()?, list: body.list, new: &new };
    Some(format::payload(&content.write(params, front, |words| vec![0; words])).to_vec())
}

/// The same for a quotient filter: its body is read as members, which are sorted and written.
fn repaired_members(bytes: &[u8], header: &Header, params: &Params, max_size: usize) -> Option<Vec<u8>> {
    let layout = Layout::of(params, header.dims)?;
    let size = Fingerprint::record_bytes(&layout);
    let (cell_bits, code_bits) = (layout.cell_bits, layout.code_bits());
    let records = bytes.get(header.body_start() * 8..)?.chunks_exact(size);
    // A record may have bits that no member has.
    let members = records.map(|record| {
        let member = Fingerprint::of_record(record);
        let (cell, mut code) = (member.prefix(cell_bits), member.code(&layout));
        for (at, word) in code.iter_mut().enumerate() {
            *word &= match code_bits.saturating_sub(64 * at as u32) {
                bits @ ..64 => (1 << bits) - 1,
                _ => u64::MAX,
            };
        }
        Fingerprint::new(&layout, cell, &code)
    });
    let mut members: Vec<Fingerprint> = members.take(header.ones.min(1 << 12) as usize).collect();
    members.sort_unstable();
    let centre: Vec<f32> = match header.has_centre {
        true => View::new(&as_image(&bytes[RESERVED..])).ok()?.centre().ok()?,
        false => Vec::new(),
    };
    let front = Front { stored: header.params(bytes).ok()?, dims: header.dims, centre: &centre };
    let image = write(params, front, members.len() as u64, members.iter().copied(), |words| vec![0; words]).ok()?;
    let payload = format::payload(&image);
    (payload.len() <= max_size).then(|| payload.to_vec())
}
