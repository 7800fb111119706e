//! Tests inside a server, run by `cargo pgrx test`. What users do is tested in tests/.

#[pgrx::pg_schema]
mod tests {
    use pgrx::prelude::*;

    fn holds(sql: &str) {
        assert_eq!(Spi::get_one::<bool>(sql), Ok(Some(true)), "{sql}");
    }

    /// A table of 500 members for every kind of input.
    const MEMBERS: &str = "
        CREATE TABLE members AS SELECT i,
            ('x' || md5(i::text) || md5('b' || i))::bit(256) AS b,
            ARRAY(SELECT (1000 * sin(i * j))::real FROM generate_series(1, 20) j) AS r,
            ARRAY(SELECT i * 1000 + j FROM generate_series(1, 20) j) AS s,
            md5(i::text) AS t
        FROM generate_series(1, 500) i";

    const FILTERS: [(&str, &str); 9] = [
        ("b", "dsbf_new(capacity => 500, near => 0.02)"),
        ("b", "lsbf_new(metric => 'hamming', capacity => 500, near => 0.01)"),
        ("t", "dsbf_new(capacity => 500, near => 0.02, alphabet => 'symbols')"),
        ("r", "dsbf_new(metric => 'l2', capacity => 500, near => 1)"),
        ("r", "lsbf_new(capacity => 500, near => 1)"),
        ("r", "lsbf_new(metric => 'l1', capacity => 500, near => 5)"),
        ("r", "ilbf_new(capacity => 500, near => 1)"),
        ("r", "dsbf_new(metric => 'cosine', capacity => 500, near => 0.001)"),
        ("s", "dsbf_new(metric => 'jaccard', capacity => 500, near => 0.05)"),
    ];

    #[pg_test]
    fn every_member_of_every_kind_is_found() {
        Spi::run(MEMBERS).unwrap();
        for (column, prototype) in FILTERS {
            let filter = format!("(SELECT lsbf_agg({column}, {prototype}) FROM members)");
            holds(&format!("SELECT bool_and(approx_member({filter}, {column})) FROM members"));
            holds(&format!("SELECT bool_and(approx_member({filter}, {column}, 3)) FROM members"));
            holds(&format!("SELECT lsbf_members({filter}) BETWEEN 434 AND 566"));
        }
    }

    #[pg_test]
    fn forms_and_unions_give_the_same_filter_back() {
        Spi::run(MEMBERS).unwrap();
        for (column, prototype) in FILTERS {
            Spi::run(&format!(
                "CREATE TEMP TABLE f ON COMMIT DROP AS SELECT lsbf_agg({column}, {prototype}) AS f,
                    lsbf_agg({column}, {prototype}) FILTER (WHERE i % 2 = 0) AS even,
                    lsbf_agg({column}, {prototype}) FILTER (WHERE i % 2 = 1) AS odd FROM members"
            ))
            .unwrap();
            holds(
                "SELECT f = f::text::lsbf AND f = f::bytea::lsbf AND f = even | odd AND f = odd | even AND f = f | odd FROM f",
            );
            holds("SELECT f <> even AND lsbf_overlap(f, f) > 0.99 AND lsbf_overlap(even, odd) < 0.2 FROM f");
            Spi::run("DROP TABLE f").unwrap();
        }
    }

    #[pg_test]
    fn no_rows_and_only_nulls_give_null() {
        holds("SELECT lsbf_agg(x, dsbf_new(capacity => 5, near => 0.1)) IS NULL FROM (SELECT B'1' WHERE false) t(x)");
        holds(
            "SELECT lsbf_agg(x, dsbf_new(capacity => 5, near => 0.1)) IS NULL FROM (VALUES (NULL::bit(8)), (NULL)) t(x)",
        );
        holds(
            "SELECT lsbf_agg(x, p) = lsbf_add(min(p::text)::lsbf, B'10101010')
             FROM (VALUES (NULL::bit(8)), (B'10101010')) t(x), dsbf_new(capacity => 5, near => 0.1) p",
        );
    }

    #[pg_test(error = "expected 8 bits, not 4")]
    fn wrong_length_is_an_error() {
        Spi::run("SELECT approx_member(dsbf_new(8, 10, 0.1), B'1010')").unwrap();
    }

    #[pg_test(error = "filters differ in seed: 1 and 2")]
    fn filters_that_hash_differently_are_not_merged() {
        Spi::run("SELECT dsbf_new(8, 10, 0.1, seed => 1) | dsbf_new(8, 10, 0.1, seed => 2)").unwrap();
    }

    #[pg_test(error = "near must be less than far, but near is 0.3 and far is 0.2")]
    fn near_beyond_far_is_an_error() {
        Spi::run("SELECT dsbf_new(8, 10, 0.3, 0.2)").unwrap();
    }
}
