//! Locality-sensitive Bloom filters for PostgreSQL: does a set contain anything close to this vector?
//!
//! The filters themselves are implemented in the crate `lsbf`. This crate is the glue: [`boundary`] is where calls and
//! errors cross between PostgreSQL and Rust, [`vector`] reads vector arguments, [`types`] is the type `lsbf` with its
//! functions, [`aggregate`], [`query`], [`window`] and [`design`] contain the SQL functions that they are named after,
//! and [`cache`] is all memory that a backend keeps between calls.

pub mod aggregate;
pub mod boundary;
pub mod cache;
pub mod design;
mod hooks;
pub mod query;
#[cfg(feature = "pg_test")]
mod tests;
pub mod types;
pub mod vector;
pub mod window;

pgrx::pg_module_magic!(name, version);
pgrx::extension_sql_file!("../sql/pg_lsbf.sql", name = "pg_lsbf", bootstrap);

/// Called by PostgreSQL when the library is loaded. Sets up everything that is global.
#[pgrx::pg_guard]
pub extern "C-unwind" fn _PG_init() {
    lsbf::interrupt::set(boundary::guard::check_for_interrupts);
    cache::init();
    hooks::init();
}

/// Required by `cargo pgrx test` at the root of an extension.
#[cfg(all(test, feature = "pg_test"))]
pub mod pg_test {
    pub fn setup(_options: Vec<&str>) {}

    #[must_use]
    pub fn postgresql_conf_options() -> Vec<&'static str> {
        vec![]
    }
}
