//! Tests inside a server, run by `cargo pgrx test`. Tests of the SQL interface are in tests/.

#[pgrx::pg_schema]
mod tests {
    use pgrx::prelude::*;

    fn holds(sql: &str) {
        assert_eq!(Spi::get_one::<bool>(sql), Ok(Some(true)), "{sql}");
    }

    /// A table of 500 rows with a column for every kind of input.
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
    fn text_form_binary_form_and_unions_preserve_the_filter() {
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
    fn aggregate_over_no_rows_or_only_nulls_is_null() {
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
    fn near_greater_than_far_is_an_error() {
        Spi::run("SELECT dsbf_new(8, 10, 0.3, 0.2)").unwrap();
    }

    /// Runs the transition function of an aggregate as a distributed executor may do: looked up anew for every row,
    /// with every new state copied, unless it is an expanded object.
    struct Transition {
        function: pg_sys::Oid,
        aggregate: *mut pg_sys::Node,
        state: Option<pg_sys::Datum>,
    }

    impl Transition {
        fn new(signature: &str) -> Self {
            let function = Spi::get_one(&format!("SELECT '{signature}'::regprocedure::oid")).unwrap().unwrap();
            // SAFETY: only the tag of the node and the memory context of the aggregate are read.
            let aggregate = unsafe {
                let context = pg_sys::palloc0(size_of::<pg_sys::ExprContext>()).cast::<pg_sys::ExprContext>();
                (*context).ecxt_per_tuple_memory = pg_sys::CurrentMemoryContext;
                let node = pg_sys::palloc0(size_of::<pg_sys::AggState>()).cast::<pg_sys::AggState>();
                (*node).curaggcontext = context;
                (*node).ss.ps.type_ = pg_sys::NodeTag::T_AggState;
                node.cast()
            };
            Self { function, aggregate, state: None }
        }

        fn step(&mut self, arguments: &[Option<pg_sys::Datum>]) {
            // SAFETY: the call has room for all arguments, and the function takes that many.
            unsafe {
                let mut lookup = pg_sys::FmgrInfo::default();
                pg_sys::fmgr_info(self.function, &mut lookup);
                let count = arguments.len() + 1;
                let size = size_of::<pg_sys::FunctionCallInfoBaseData>() + count * size_of::<pg_sys::NullableDatum>();
                let call = pg_sys::palloc0(size).cast::<pg_sys::FunctionCallInfoBaseData>();
                (*call).flinfo = &mut lookup;
                (*call).context = self.aggregate;
                (*call).nargs = count as i16;
                let slots = (*call).args.as_mut_slice(count);
                for (slot, value) in slots.iter_mut().zip(std::iter::once(&self.state).chain(arguments)) {
                    slot.isnull = value.is_none();
                    slot.value = value.unwrap_or(pg_sys::Datum::null());
                }
                let result = lookup.fn_addr.unwrap()(call);
                let result = (!(*call).isnull).then_some(result);
                if result.map(|r| r.value()) != self.state.map(|s| s.value()) {
                    self.state = result.map(|r| if is_expanded(r) { r } else { copied(r) });
                }
                pg_sys::pfree(call.cast());
            }
        }
    }

    /// # Safety
    /// The datum must be a value of variable length.
    unsafe fn is_expanded(datum: pg_sys::Datum) -> bool {
        let value = datum.cast_mut_ptr::<pg_sys::varattrib_1b_e>();
        // SAFETY: the tag is read only if the first byte marks an external value.
        unsafe {
            pgrx::varlena::varatt_is_1b_e(value.cast())
                && u32::from((*value).va_tag) == pg_sys::vartag_external::VARTAG_EXPANDED_RW
        }
    }

    /// # Safety
    /// The datum must be a value of variable length that is not toasted.
    unsafe fn copied(datum: pg_sys::Datum) -> pg_sys::Datum {
        // SAFETY: guaranteed by the caller; the copy has the size of the value.
        unsafe {
            let from = datum.cast_mut_ptr::<pg_sys::varlena>();
            let size = pgrx::varlena::varsize_any(from);
            let to = pg_sys::palloc(size);
            std::ptr::copy_nonoverlapping(from.cast::<u8>(), to.cast(), size);
            pg_sys::Datum::from(to)
        }
    }

    /// A filter from its text form.
    fn filter(text: &str) -> pg_sys::Datum {
        let input = Spi::get_one("SELECT 'lsbf_in(cstring)'::regprocedure::oid").unwrap().unwrap();
        let text = std::ffi::CString::new(text).unwrap();
        // SAFETY: the input function takes a C string, which is valid during the call.
        unsafe { pg_sys::OidFunctionCall1Coll(input, pg_sys::InvalidOid, pg_sys::Datum::from(text.as_ptr())) }
    }

    fn text_of(filter: pg_sys::Datum) -> String {
        let output = Spi::get_one("SELECT 'lsbf_out(lsbf)'::regprocedure::oid").unwrap().unwrap();
        // SAFETY: the output function returns a C string.
        unsafe { std::ffi::CStr::from_ptr(pg_sys::OidOutputFunctionCall(output, filter)).to_str().unwrap().into() }
    }

    fn vectors() -> Vec<Vec<f32>> {
        (1..=300).map(|i| (1..=256).map(|j| (100.0 * (f64::from(i * j)).sin()) as f32).collect()).collect()
    }

    /// Its seed is used by no other test, so that its hash functions have not been expanded yet.
    const WIDE: &str = "lsbf_new(dims => 256, capacity => 300, near => 1, transform => 'dense', tables => 10, hashes => 10, seed => 77001)";

    #[pg_test]
    fn transition_looked_up_for_every_row_expands_functions_once_and_builds_the_same_filter() {
        let prototype = filter(&Spi::get_one::<String>(&format!("SELECT {WIDE}::text")).unwrap().unwrap());
        let mut transition = Transition::new("lsbf_agg_step(lsbf, real[], lsbf)");
        let rows: Vec<_> = vectors().into_iter().map(IntoDatum::into_datum).collect();
        transition.step(&[None, Some(prototype)]);
        assert!(transition.state.is_none(), "a NULL vector changed the state");
        let created = crate::cache::engines::usage().loads;
        let (few, many) = rows.split_at(150);
        few.iter().for_each(|row| transition.step(&[*row, Some(prototype)]));
        // A filter with few members is a list, which is replaced when it grows.
        let state = transition.state;
        many.iter().for_each(|row| transition.step(&[*row, Some(prototype)]));
        assert_eq!(crate::cache::engines::usage().loads, created + 1, "functions were expanded more than once");
        assert_eq!(transition.state.map(|s| s.value()), state.map(|s| s.value()), "the state was not changed in place");
        let built = Spi::get_one_with_args::<String>(
            &format!(
                "SELECT lsbf_agg(ARRAY(SELECT (100 * sin(i * j))::real FROM generate_series(1, 256) j), {WIDE})::text FROM generate_series(1, $1) i"
            ),
            &[300.into()],
        );
        assert_eq!(built.unwrap().unwrap(), text_of(transition.state.unwrap()));
    }

    #[pg_test]
    fn union_looked_up_for_every_row_merges_in_place() {
        let half = |rest: i32| {
            let sql = format!(
                "SELECT lsbf_agg(ARRAY[i, i + 1, i + 2], lsbf_new(dims => 3, capacity => 100, near => 1))::text
                FROM generate_series(1, 100) i WHERE i % 2 = {rest}"
            );
            Spi::get_one::<String>(&sql).unwrap().unwrap()
        };
        let halves = [0, 1].map(half);
        let mut transition = Transition::new("lsbf_union(lsbf, lsbf)");
        // The state of a strict transition function starts as a copy of the first value.
        transition.state = Some(filter(&halves[0]));
        let state = transition.state;
        transition.step(&[Some(filter(&halves[1]))]);
        assert_eq!(transition.state.map(|s| s.value()), state.map(|s| s.value()), "the state was not changed in place");
        let both = Spi::get_one::<String>(&format!("SELECT ('{}'::lsbf | '{}'::lsbf)::text", halves[0], halves[1]));
        assert_eq!(both.unwrap().unwrap(), text_of(transition.state.unwrap()));
    }
}
