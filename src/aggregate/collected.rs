//! The state of an aggregate with more than a few members, while it grows: members of a quotient filter, or the bits set of a
//! Bloom filter that is stored as a list.
//!
//! It is an expanded object, PostgreSQL's form of a value that is changed many times, as array_append uses it: its type is
//! still `lsbf`, it is in the memory of the aggregate, and whoever reads it as a value gets a flat filter. What is added is
//! appended to a buffer, which is sorted when it is read or, for bits, when it is full.

use super::buffer::Buffer;
use crate::boundary::call::Call;
use crate::boundary::context;
use crate::boundary::guard::{callback, check_for_interrupts};
use crate::boundary::image;
use lsbf::error::{Error, Result};
use lsbf::filter::change::check_alike;
use lsbf::filter::format::{self, Header, View};
use lsbf::filter::list::{self, Front};
use lsbf::filter::lsqf::body::Parts;
use lsbf::filter::lsqf::change::{layout, members, too_large, write_records};
use lsbf::filter::lsqf::fingerprint::{Fingerprint, sort_records};
use lsbf::filter::{Counters, Engine, sketch};
use lsbf::limits::{MAX_BYTES, MAX_LISTED};
use lsbf::params::{Layout, Params};
use lsbf::vector::Vector;
use pgrx::pg_sys::{self, Datum, ExpandedObjectHeader, ExpandedObjectMethods, vartag_external};
use pgrx::varlena::{set_varsize_4b, varatt_is_1b_e};
use std::ffi::c_void;

/// The number of members of a quotient filter, or of bits set, up to which a state is a flat filter, which needs less memory.
const FEW_MEMBERS: u64 = 64;
const FEW_BITS: u64 = 128;
/// The number of bits set after which duplicates are removed for the first time.
const SORTED_AT: u64 = 16 * FEW_BITS;
/// Words cleared between checks for interrupts.
const STEP: usize = 1 << 19;

static METHODS: ExpandedObjectMethods =
    ExpandedObjectMethods { get_flat_size: Some(flat_size), flatten_into: Some(flatten_into) };

/// Whether a state with this header, after `more` bits or members are added, should be an object.
pub fn is_worthwhile(header: &Header, more: u64) -> bool {
    let few = match (header.is_quotient, header.is_sparse) {
        (true, _) => FEW_MEMBERS,
        (_, true) => FEW_BITS,
        _ => return false,
    };
    header.has_body && header.ones.saturating_add(more) >= few
}

/// The members of a state, in memory that belongs to its context.
#[repr(C)]
pub struct Collected {
    /// PostgreSQL's part, which comes first.
    object: ExpandedObjectHeader,
    /// The words of a filter without members.
    front: *const u64,
    front_words: usize,
    content: Content,
    /// Whether the content is in order, and bits without duplicates.
    is_sorted: bool,
}

enum Content {
    /// The fingerprints of members.
    Members { layout: Layout, records: Buffer<u8> },
    /// The bits set and the registers of the sketch. The filter has too many for a list if `is_outgrown`.
    Bits { positions: Buffer<u32>, registers: Buffer<u16>, is_outgrown: bool },
}

impl Collected {
    /// The object that a state of an aggregate points to, to be changed; `None` if the state is a flat filter.
    pub fn of<'a>(call: &Call, state: Datum) -> Option<&'a mut Collected> {
        let value: *const pg_sys::varattrib_1b_e = state.cast_mut_ptr();
        // SAFETY: a pointer with this tag is one to an object. Objects with these methods were made by `new`. The state of an
        // aggregate has no other reference.
        unsafe {
            if !call.in_aggregate() || expanded_tag(state) != Some(vartag_external::VARTAG_EXPANDED_RW) {
                return None;
            }
            let object = (&raw const (*value).va_data).cast::<*mut ExpandedObjectHeader>().read_unaligned();
            std::ptr::eq((*object).eoh_methods, &METHODS).then(|| &mut *object.cast::<Collected>())
        }
    }

    /// Creates the object for an aggregate whose state so far is a flat filter with members.
    pub fn new<'a>(call: &Call, filter: &View) -> Result<&'a mut Collected> {
        let params = format::decode_params(filter.stored())?;
        filter.check(&params)?;
        let dims = filter.header.dims;
        let layout = if filter.header.is_quotient { Some(layout(&params, dims)?) } else { None };
        let header = Header { has_body: false, is_sparse: false, registers: 0, ones: 0, squares: 0, ..filter.header };
        let (centre, count) = (filter.centre()?, header.image_words(&params));
        let mut parent = std::ptr::null_mut();
        // SAFETY: the object is allocated in its own context, which is that of the aggregate or a child of it, and all of it
        // is written. PostgreSQL frees the context.
        let collected = unsafe {
            if pg_sys::AggCheckCallContext(call.fcinfo, &mut parent) == 0 {
                return Err(Error::data("not called by an aggregate"));
            }
            let own = context::create(parent, c"pg_lsbf aggregate");
            let front = pg_sys::MemoryContextAlloc(own, count * 8).cast::<u64>();
            let words = std::slice::from_raw_parts_mut(front, count);
            words.fill(0);
            format::write_front(words, &header, filter.stored(), &centre);
            let object = pg_sys::MemoryContextAllocZero(own, size_of::<Collected>()).cast::<Collected>();
            let content = match layout {
                Some(layout) => {
                    let records = Buffer::new(own, 4 * FEW_MEMBERS as usize * Fingerprint::record_bytes(&layout));
                    Content::Members { layout, records }
                }
                None => Content::Bits {
                    positions: Buffer::new(own, 4 * FEW_BITS as usize),
                    registers: Buffer::new(own, FEW_BITS as usize),
                    is_outgrown: false,
                },
            };
            object.write(Collected {
                object: ExpandedObjectHeader::default(),
                front,
                front_words: count,
                content,
                is_sorted: true,
            });
            pg_sys::EOH_init_header(&raw mut (*object).object, &METHODS, own);
            &mut *object
        };
        collected.append(filter)?;
        Ok(collected)
    }

    /// The state of the aggregate after a change: this object, or a flat filter if it has become too large for a list of bits.
    pub fn state(&mut self) -> Result<Datum> {
        match self.content {
            Content::Bits { is_outgrown: true, .. } => Ok(image::datum(self.flat()?)),
            _ => Ok(Datum::from(self.object.eoh_rw_ptr.as_ptr())),
        }
    }

    /// The filter without its members.
    pub fn front(&self) -> View<'_> {
        // SAFETY: `new` wrote this many words.
        View::valid(unsafe { std::slice::from_raw_parts(self.front, self.front_words) })
    }

    fn params(&self) -> Result<Params> {
        format::decode_params(self.front().stored())
    }

    /// Adds a member.
    #[inline]
    pub fn add(&mut self, engine: &mut Engine, vector: &Vector) -> Result<()> {
        match self.content {
            Content::Members { .. } => self.push(&engine.fingerprint(vector)?),
            Content::Bits { .. } => {
                let (positions, entry) = engine.positions(vector)?;
                self.push_bits(positions.iter().map(|&position| position as u32), std::iter::once(entry))
            }
        }
    }

    /// Whether the members of a filter can be appended: it must not have more bits set than a list.
    pub fn can_append(&self, filter: &View) -> bool {
        !filter.header.has_body || filter.header.is_quotient || filter.header.is_sparse
    }

    /// Adds all members of a filter with the same parameters.
    pub fn append(&mut self, filter: &View) -> Result<()> {
        check_alike(&self.front(), filter)?;
        filter.check(&self.params()?)?;
        match self.content {
            Content::Members { layout, .. } => {
                self.reserve(filter.header.ones as usize)?;
                members(&layout, filter).try_for_each(|member| self.push(&member))
            }
            Content::Bits { .. } => {
                self.push_bits(filter.list().positions().map(|position| position as u32), filter.registers())
            }
        }
    }

    /// Adds a fingerprint.
    #[inline]
    fn push(&mut self, member: &Fingerprint) -> Result<()> {
        let Content::Members { layout, records } = &mut self.content else { return Ok(()) };
        let size = Fingerprint::record_bytes(layout);
        self.is_sorted = false;
        if !records.append(&member.record()[..size]) {
            self.reserve(1)?;
            return self.push(member);
        }
        Ok(())
    }

    /// Allocates memory for more fingerprints.
    fn reserve(&mut self, more: usize) -> Result<()> {
        let Content::Members { layout, records, .. } = &mut self.content else { return Ok(()) };
        let size = Fingerprint::record_bytes(layout);
        let count = (records.count() / size).saturating_add(more);
        let bytes = Parts::new(layout, count as u64).words().saturating_mul(8);
        if bytes > MAX_BYTES {
            return Err(too_large(bytes));
        }
        if count * size > records.capacity() {
            let capacity = records.capacity() / size;
            records.grow(count.max(capacity + (capacity / 8).max(FEW_MEMBERS as usize)) * size);
        }
        Ok(())
    }

    /// Adds bits set and registers.
    #[inline]
    fn push_bits(&mut self, new: impl Iterator<Item = u32>, entries: impl Iterator<Item = u16>) -> Result<()> {
        for position in new {
            loop {
                let Content::Bits { positions, .. } = &mut self.content else { return Ok(()) };
                if positions.append(&[position]) {
                    break;
                }
                self.make_room()?;
            }
            // Making room may have sorted what was there before.
            self.is_sorted = false;
        }
        for entry in entries {
            let Content::Bits { registers, .. } = &mut self.content else { return Ok(()) };
            if !registers.append(&[entry]) {
                let kept = sketch::merge_entries(registers.all());
                registers.truncate(kept);
                if kept > registers.capacity() / 2 {
                    registers.grow(2 * registers.capacity());
                }
                registers.append(&[entry]);
            }
            self.is_sorted = false;
        }
        Ok(())
    }

    /// Makes room for more bits set, by removing duplicates or by allocating memory: for up to twice as many as the longest
    /// list that the parameters allow has. Duplicates are removed when that is full, and once before, because sorting takes long.
    #[cold]
    fn make_room(&mut self) -> Result<()> {
        let params = self.params()?;
        let Content::Bits { positions, .. } = &mut self.content else { return Ok(()) };
        let (count, capacity) = (positions.count() as u64, positions.capacity() as u64);
        let is_last = capacity >= 2 * MAX_LISTED || !list::is_sparse(&params, 0, count / 2);
        if is_last || capacity == SORTED_AT {
            self.sort();
        }
        let Content::Bits { positions, registers, is_outgrown } = &mut self.content else { return Ok(()) };
        if is_last {
            *is_outgrown = !list::is_sparse(&params, registers.count() as u32, positions.count() as u64);
        }
        if positions.count() > positions.capacity() / 2 {
            positions.grow(2 * positions.capacity());
        }
        Ok(())
    }

    /// Sorts what was added.
    fn sort(&mut self) {
        if std::mem::replace(&mut self.is_sorted, true) {
            return;
        }
        match &mut self.content {
            Content::Members { layout, records } => sort_records(records.all(), Fingerprint::record_bytes(layout)),
            Content::Bits { positions, registers, .. } => {
                let kept = sketch::merge_entries(registers.all());
                registers.truncate(kept);
                positions.all().sort_unstable();
                let kept = without_duplicates(positions.all());
                positions.truncate(kept);
            }
        }
    }

    /// The header of the flat filter.
    fn header(&mut self, params: &Params) -> Result<Header> {
        self.sort();
        let header = self.front().header;
        Ok(match &self.content {
            Content::Members { layout, records, .. } => {
                let count = records.count() / Fingerprint::record_bytes(layout);
                Header { has_body: count > 0, ones: count as u64, ..header }
            }
            Content::Bits { positions, registers, .. } => {
                let (stored, centre) = (self.front().stored(), self.front().centre()?);
                let front = Front { stored, dims: header.dims, centre: &centre };
                let counters = Counters { ones: positions.count() as u64, squares: 0 };
                list::header_of(params, front, registers.count() as u32, counters)
            }
        })
    }

    /// The flat filter, in the current memory context.
    pub fn flat<'a>(&mut self) -> Result<&'a mut [u64]> {
        let params = self.params()?;
        let image = image::allocate(self.header(&params)?.image_words(&params));
        self.write(&params, image)?;
        Ok(image)
    }

    /// Writes the flat filter into zeroed memory.
    fn write(&mut self, params: &Params, image: &mut [u64]) -> Result<()> {
        self.sort();
        let front = self.front();
        let (stored, dims, centre) = (front.stored().to_vec(), front.header.dims, front.centre()?);
        let front = Front { stored: &stored, dims, centre: &centre };
        match &mut self.content {
            Content::Members { records, .. } => write_records(params, front, records.all(), |_| image)?,
            Content::Bits { positions, registers, .. } => {
                list::write_members(params, front, registers.all(), positions.all(), |_| image)?
            }
        };
        Ok(())
    }
}

/// Moves the distinct ones of sorted positions to the front; returns their number.
fn without_duplicates(sorted: &mut [u32]) -> usize {
    let mut kept = 0;
    for at in 0..sorted.len() {
        if kept == 0 || sorted[at] != sorted[kept - 1] {
            sorted[kept] = sorted[at];
            kept += 1;
        }
    }
    kept
}

/// The tag of an expanded object, if a value is one.
///
/// # Safety
/// It must point to a value of a type with a length word.
unsafe fn expanded_tag(value: Datum) -> Option<u32> {
    let value: *const pg_sys::varattrib_1b_e = value.cast_mut_ptr();
    // SAFETY: the tag is read only if the first byte marks an external value.
    unsafe { varatt_is_1b_e(value.cast()).then(|| u32::from((*value).va_tag)) }
        .filter(|tag| matches!(*tag, vartag_external::VARTAG_EXPANDED_RO | vartag_external::VARTAG_EXPANDED_RW))
}

/// The filter that a state stands for: an expanded object is written flat once, not again by every function that reads it.
pub fn flat(state: Datum) -> Datum {
    // SAFETY: a filter is a value with a length word, which is copied if it is an object.
    unsafe {
        match expanded_tag(state) {
            Some(_) => Datum::from(pg_sys::pg_detoast_datum(state.cast_mut_ptr())),
            None => state,
        }
    }
}

unsafe extern "C-unwind" fn flat_size(object: *mut ExpandedObjectHeader) -> usize {
    callback(|| {
        // SAFETY: PostgreSQL calls the methods of an object with that object.
        let collected = unsafe { &mut *object.cast::<Collected>() };
        let params = collected.params()?;
        Ok(collected.header(&params)?.image_words(&params) * 8)
    })
}

unsafe extern "C-unwind" fn flatten_into(object: *mut ExpandedObjectHeader, result: *mut c_void, size: usize) {
    callback(|| {
        // SAFETY: as above. The result has the size that `flat_size` returned, and the alignment of the type.
        unsafe {
            let image = std::slice::from_raw_parts_mut(result.cast::<u64>(), size / 8);
            for part in image.chunks_mut(STEP) {
                check_for_interrupts();
                part.fill(0);
            }
            let collected = &mut *object.cast::<Collected>();
            collected.write(&collected.params()?, image)?;
            set_varsize_4b(result.cast(), size as i32);
        }
        Ok(())
    })
}
