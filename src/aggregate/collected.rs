//! The state of an aggregate over a quotient filter with more than a few members.
//!
//! It is an expanded object, PostgreSQL's form of a value that is changed many times, as array_append uses it: its type is
//! still `lsbf`, it is in the memory of the aggregate, and whoever reads it as a value gets a flat filter. New members are
//! appended to a list, which is sorted when it is read.

use crate::boundary::call::Call;
use crate::boundary::context;
use crate::boundary::guard::{callback, check_for_interrupts};
use lsbf::error::{Error, Result};
use lsbf::filter::change::check_alike;
use lsbf::filter::format::{self, Header, View};
use lsbf::filter::list::Front;
use lsbf::filter::lsqf::body::Parts;
use lsbf::filter::lsqf::change::{layout, members, too_large, write_records};
use lsbf::filter::lsqf::fingerprint::{Fingerprint, sort_records};
use lsbf::limits::MAX_BYTES;
use lsbf::params::Layout;
use pgrx::pg_sys::{self, Datum, ExpandedObjectHeader, ExpandedObjectMethods, vartag_external};
use pgrx::varlena::{set_varsize_4b, varatt_is_1b_e};
use std::ffi::c_void;

/// The number of members up to which a state is a flat filter, which needs less memory.
pub const FEW: u64 = 64;
/// Words cleared between checks for interrupts.
const STEP: usize = 1 << 19;

static METHODS: ExpandedObjectMethods =
    ExpandedObjectMethods { get_flat_size: Some(flat_size), flatten_into: Some(flatten_into) };

/// The members of a state, in memory that belongs to its context.
#[repr(C)]
pub struct Collected {
    /// PostgreSQL's part, which comes first.
    object: ExpandedObjectHeader,
    /// The words of a filter without members.
    front: *const u64,
    front_words: usize,
    layout: Layout,
    /// The members as records of this many bytes.
    records: *mut u8,
    record_bytes: usize,
    count: usize,
    capacity: usize,
    is_sorted: bool,
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
        let layout = layout(&params, filter.header.dims)?;
        let header = Header { has_body: false, ones: 0, ..filter.header };
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
            let record_bytes = Fingerprint::record_bytes(&layout);
            let capacity = 4 * FEW as usize;
            let records = pg_sys::MemoryContextAlloc(own, capacity * record_bytes).cast::<u8>();
            object.write(Collected {
                object: ExpandedObjectHeader::default(),
                front,
                front_words: count,
                layout,
                records,
                record_bytes,
                count: 0,
                capacity,
                is_sorted: true,
            });
            pg_sys::EOH_init_header(&raw mut (*object).object, &METHODS, own);
            &mut *object
        };
        collected.append(filter)?;
        Ok(collected)
    }

    /// The state of the aggregate that stands for this object.
    pub fn datum(&self) -> Datum {
        Datum::from(self.object.eoh_rw_ptr.as_ptr())
    }

    /// The filter without its members.
    pub fn front(&self) -> View<'_> {
        // SAFETY: `new` wrote this many words.
        View::valid(unsafe { std::slice::from_raw_parts(self.front, self.front_words) })
    }

    /// Adds a member.
    #[inline]
    pub fn push(&mut self, member: &Fingerprint) -> Result<()> {
        if self.count == self.capacity {
            self.reserve(1)?;
        }
        let record = member.record();
        // SAFETY: there is room for one more record, which is not longer than the array.
        unsafe {
            let end = self.records.add(self.count * self.record_bytes);
            end.copy_from_nonoverlapping(record.as_ptr(), self.record_bytes);
        }
        self.count += 1;
        self.is_sorted = false;
        Ok(())
    }

    /// Adds all members of a filter with the same parameters.
    pub fn append(&mut self, filter: &View) -> Result<()> {
        let params = format::decode_params(filter.stored())?;
        check_alike(&self.front(), filter)?;
        filter.check(&params)?;
        let layout = self.layout;
        self.reserve(filter.header.ones as usize)?;
        members(&layout, filter).try_for_each(|member| self.push(&member))
    }

    /// Allocates memory for more members.
    fn reserve(&mut self, more: usize) -> Result<()> {
        let count = self.count.saturating_add(more);
        let bytes = Parts::new(&self.layout, count as u64).words().saturating_mul(8);
        if bytes > MAX_BYTES {
            return Err(too_large(bytes));
        }
        if count > self.capacity {
            let capacity = count.max(self.capacity + (self.capacity / 8).max(FEW as usize));
            // SAFETY: the records were allocated by `new` or here; growing keeps their context.
            self.records = unsafe { pg_sys::repalloc_huge(self.records.cast(), capacity * self.record_bytes) }.cast();
            self.capacity = capacity;
        }
        Ok(())
    }

    /// The members as records in order.
    fn sorted(&mut self) -> &[u8] {
        // SAFETY: this many records were written, and there is no other reference.
        let records = unsafe { std::slice::from_raw_parts_mut(self.records, self.count * self.record_bytes) };
        if !self.is_sorted {
            sort_records(records, self.record_bytes);
            self.is_sorted = true;
        }
        records
    }

    /// Bytes of the flat filter.
    fn size(&self) -> Result<usize> {
        let params = format::decode_params(self.front().stored())?;
        let front = self.front().header;
        Ok(Header { has_body: self.count > 0, ones: self.count as u64, ..front }.image_words(&params) * 8)
    }

    /// Writes the flat filter.
    fn write(&mut self, image: &mut [u64]) -> Result<()> {
        for part in image.chunks_mut(STEP) {
            check_for_interrupts();
            part.fill(0);
        }
        let front = self.front();
        let (params, stored, centre) =
            (format::decode_params(front.stored())?, front.stored().to_vec(), front.centre()?);
        let front = Front { stored: &stored, dims: front.header.dims, centre: &centre };
        write_records(&params, front, self.sorted(), |_| image)?;
        Ok(())
    }
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
    // SAFETY: PostgreSQL calls the methods of an object with that object.
    callback(|| unsafe { &*object.cast::<Collected>() }.size())
}

unsafe extern "C-unwind" fn flatten_into(object: *mut ExpandedObjectHeader, result: *mut c_void, size: usize) {
    callback(|| {
        // SAFETY: as above. The result has the size that `flat_size` returned, and the alignment of the type.
        unsafe {
            let image = std::slice::from_raw_parts_mut(result.cast::<u64>(), size / 8);
            (*object.cast::<Collected>()).write(image)?;
            set_varsize_4b(result.cast(), size as i32);
        }
        Ok(())
    })
}
