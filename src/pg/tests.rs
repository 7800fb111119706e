//! Tests inside a server, run by `cargo pgrx test`. What users do is tested in tests/.

#[pgrx::pg_schema]
mod tests {
    use pgrx::prelude::*;

    #[pg_test]
    fn added_vector_is_always_found() {
        let found = Spi::get_one::<bool>(
            "SELECT approx_member(lsbf_add(dsbf_new(capacity => 10, near => 0.05), B'0101010101'), B'0101010101')",
        );
        assert_eq!(found, Ok(Some(true)));
    }
}
