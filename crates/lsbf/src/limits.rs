//! Every limit, in one place: code, errors and docs use these names.

/// A filter's size in bytes. Its text form (base64) and its binary form must both stay under PostgreSQL's 1 GB.
pub const MAX_BYTES: u64 = 512 << 20;
/// Dimensions of a vector, bits of a bit string, characters of a string.
pub const MAX_DIMS: u32 = 1 << 20;
/// Members a filter may be designed for.
pub const MAX_CAPACITY: u64 = 1_000_000_000_000;
/// Tables (DSBF, LSBF) or projections (ILBF).
pub const MAX_TABLES: u32 = 255;
/// Locality-sensitive hashes a table.
pub const MAX_HASHES: u32 = 64;
/// Random numbers a filter's seed expands to (dims x tables x hashes, or what fast transforms need), 4 bytes each, kept
/// once a backend.
pub const MAX_EXPANDED: u64 = 1 << 24;
/// Dimensions up to which projections by fast transforms are chosen without being asked for: pgvector's dense vectors.
pub const MAX_FAST_DIMS: u32 = 16_000;
/// Bits a key sets in a Bloom filter.
pub const MAX_BLOOM_HASHES: u32 = 32;
/// Locations of one ILBF Bloom filter.
pub const MAX_SLOTS: u32 = 4096;
/// How far the active overflow may look.
pub const MAX_OVERFLOW: u32 = 16;
/// Keys of a query that a table may try where any table may match, at every theta.
pub const MAX_PROBES: u32 = 4096;
/// Bits a key sets in a cache line of the filter where any table may match.
pub const MAX_LINE_HASHES: u32 = 14;
/// Dimensions of a cross-polytope: as many as a fast transform gives at once.
pub const MAX_POLYTOPE: u32 = 128;
/// Elements of a set.
pub const MAX_SET: usize = 1 << 20;
/// Elements of a set times the hashes each takes: a fraction of a second.
pub const MAX_SET_WORK: usize = 1 << 26;
/// Bytes of a vector or set written as text.
pub const MAX_TEXT: usize = 32 << 20;
/// theta: the distance asked for, as a multiple of the one the filter was built for.
pub const MAX_THETA: f64 = 1e4;
