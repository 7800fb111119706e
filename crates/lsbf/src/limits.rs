//! All limits.

/// Size of a filter in bytes. Its text form (base64) and its binary form must stay below PostgreSQL's limit of 1 GB.
pub const MAX_BYTES: u64 = 512 << 20;
/// Dimensions of a vector, bits of a bit string, characters of a string.
pub const MAX_DIMS: u32 = 1 << 20;
/// Capacity of a filter: the number of members it is designed for.
pub const MAX_CAPACITY: u64 = 1_000_000_000_000;
/// Tables (DSBF, LSBF) or projections (ILBF).
pub const MAX_TABLES: u32 = 255;
/// Locality-sensitive hashes per table.
pub const MAX_HASHES: u32 = 64;
/// Random numbers of 4 bytes that a filter's seed is expanded to: dims x tables x hashes, or fewer with fast
/// transforms. Each backend keeps one copy.
pub const MAX_EXPANDED: u64 = 1 << 24;
/// Dimensions up to which fast transforms are chosen by default: the limit of pgvector's dense vectors.
pub const MAX_FAST_DIMS: u32 = 16_000;
/// Bits that a key sets in a Bloom filter.
pub const MAX_BLOOM_HASHES: u32 = 32;
/// Bits of one of the small Bloom filters of an ILBF.
pub const MAX_SLOTS: u32 = 4096;
/// Buckets to either side that the active overflow of an LSBF may try.
pub const MAX_OVERFLOW: u32 = 16;
/// Keys per table that a query may try with `match => 'any'`, at any theta.
pub const MAX_PROBES: u32 = 4096;
/// Bits that a key sets in its cache line with `match => 'any'`.
pub const MAX_LINE_HASHES: u32 = 14;
/// Elements of a set.
pub const MAX_SET: usize = 1 << 20;
/// Elements of a set times tables times hashes, so that hashing takes a fraction of a second.
pub const MAX_SET_WORK: usize = 1 << 26;
/// Bytes of a vector or set written as text.
pub const MAX_TEXT: usize = 32 << 20;
/// theta: the distance of a query as a multiple of `near`.
pub const MAX_THETA: f64 = 1e4;
/// Bits set of a filter that is stored as a list of them (16 kB); part of the format. Lists cost more to change and search
/// than words, but keep small groups at kilobytes instead of megabytes.
pub const MAX_LISTED: u64 = 1 << 12;
/// Bits of the code of a member of a quotient filter.
pub const MIN_CODE_BITS: u64 = 8;
/// Bits of the code of a member of a quotient filter.
pub const MAX_CODE_BITS: u64 = 256;
/// The largest theta that a quotient filter can be created for.
pub const MAX_QUOTIENT_THETA: f64 = 16.0;
/// The fraction of near vectors that queries of a quotient filter may miss: minimum and maximum.
pub const QUOTIENT_FNR: (f64, f64) = (0.001, 0.1);
/// near of a quotient filter: minimum and maximum.
pub const QUOTIENT_NEAR: (f64, f64) = (1e-30, 1e30);
