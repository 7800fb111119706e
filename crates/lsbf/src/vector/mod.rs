//! The vectors, bit strings, strings and sets that filters accept, as borrowed views.

pub(crate) mod dense;
pub mod exact;
pub mod set;
pub(crate) mod text;

pub use half::f16;

/// A vector, bit string, string or set, borrowed from wherever it is stored.
#[derive(Debug, Clone, Copy)]
pub enum Vector<'a> {
    /// `real[]`.
    F32(&'a [f32]),
    /// `double precision[]`.
    F64(&'a [f64]),
    /// pgvector's `vector`.
    Dense(&'a [f32]),
    /// pgvector's `halfvec`: IEEE half-precision numbers.
    F16(&'a [f16]),
    /// pgvector's `sparsevec`.
    Sparse {
        /// The number of dimensions, including those that are zero.
        dims: usize,
        /// The indices of the nonzero elements, counted from 0, in ascending order.
        indices: &'a [i32],
        /// The nonzero elements.
        values: &'a [f32],
    },
    /// `bit` or `bit varying`.
    Bits {
        /// The bits, the first one in the most significant bit of the first byte.
        bytes: &'a [u8],
        /// The number of bits.
        len: usize,
    },
    /// `bytea`: a bit string, or a string of symbols if the filter's alphabet is symbols.
    Bytes(&'a [u8]),
    /// `text`: a string of symbols, or the text form of one of the other types.
    Text(&'a str),
    /// `integer[]`.
    Ints(&'a [i32]),
    /// `bigint[]`.
    BigInts(&'a [i64]),
    /// `text[]` as a set, given by the hashes of its elements (see [`set::text_element`]).
    Hashed(&'a [u64]),
}

impl Vector<'_> {
    /// The address and size in bytes of the elements, for prefetching; `None` if they were just written or are not
    /// contiguous.
    #[inline]
    pub fn extent(&self) -> Option<(usize, usize)> {
        fn of<T>(x: &[T]) -> Option<(usize, usize)> {
            Some((x.as_ptr().addr(), size_of_val(x)))
        }
        match *self {
            Vector::F32(x) | Vector::Dense(x) => of(x),
            Vector::F64(x) => of(x),
            Vector::F16(x) => of(x),
            Vector::Bits { bytes, .. } | Vector::Bytes(bytes) => of(bytes),
            Vector::Ints(x) => of(x),
            Vector::BigInts(x) => of(x),
            Vector::Sparse { .. } | Vector::Text(_) | Vector::Hashed(_) => None,
        }
    }

    /// The name of the SQL type.
    pub fn type_name(&self) -> &'static str {
        match self {
            Vector::F32(_) => "real[]",
            Vector::F64(_) => "double precision[]",
            Vector::Dense(_) => "vector",
            Vector::F16(_) => "halfvec",
            Vector::Sparse { .. } => "sparsevec",
            Vector::Bits { .. } => "bit",
            Vector::Bytes(_) => "bytea",
            Vector::Text(_) => "text",
            Vector::Ints(_) => "integer[]",
            Vector::BigInts(_) => "bigint[]",
            Vector::Hashed(_) => "text[]",
        }
    }
}

/// Conversions from slices, arrays and vectors of numbers.
macro_rules! from_numbers {
    ($($number:ty => $variant:ident),+) => {$(
        impl<'a> From<&'a [$number]> for Vector<'a> {
            fn from(x: &'a [$number]) -> Self {
                Vector::$variant(x)
            }
        }

        impl<'a, const N: usize> From<&'a [$number; N]> for Vector<'a> {
            fn from(x: &'a [$number; N]) -> Self {
                Vector::$variant(x)
            }
        }

        impl<'a> From<&'a Vec<$number>> for Vector<'a> {
            fn from(x: &'a Vec<$number>) -> Self {
                Vector::$variant(x)
            }
        }
    )+};
}
from_numbers!(f32 => F32, f64 => F64, f16 => F16, i32 => Ints, i64 => BigInts);

impl<'a> From<&'a [u8]> for Vector<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Vector::Bytes(bytes)
    }
}

impl<'a> From<&'a str> for Vector<'a> {
    fn from(text: &'a str) -> Self {
        Vector::Text(text)
    }
}
