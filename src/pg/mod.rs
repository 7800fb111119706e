//! The glue: everything that knows PostgreSQL.

pub mod aggregate;
pub mod cache;
pub mod call;
pub mod compare;
pub mod construct;
pub mod context;
pub mod design;
pub mod encoding;
pub mod engines;
pub mod error;
pub mod guard;
pub mod image;
pub mod input;
pub mod inspect;
pub mod io;
pub mod member;
// Programs that run tests are no servers: they have no errors to raise.
#[cfg(not(feature = "pg_test"))]
mod memory;
pub mod pages;
pub mod pgvector;
pub mod planner;
pub mod rows;
pub mod sampling;
pub mod shingles;
pub mod source;
pub mod stored;
#[cfg(feature = "pg_test")]
mod tests;
pub mod types;
pub mod window;

pgrx::pg_module_magic!(name, version);
pgrx::extension_sql_file!("../../sql/pg_lsbf.sql", name = "pg_lsbf", bootstrap);

/// Called by PostgreSQL when the library is loaded. All that is global is set up here.
#[pgrx::pg_guard]
pub extern "C-unwind" fn _PG_init() {
    crate::pause::set(guard::check_for_interrupts);
    cache::init();
}

/// What `cargo pgrx test` needs of an extension.
#[cfg(all(test, feature = "pg_test"))]
pub mod pg_test {
    pub fn setup(_options: Vec<&str>) {}

    #[must_use]
    pub fn postgresql_conf_options() -> Vec<&'static str> {
        vec![]
    }
}
