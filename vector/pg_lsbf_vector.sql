-- pg_lsbf_vector: the functions of pg_lsbf for pgvector's types, which are read without conversion to arrays.
\echo Use "CREATE EXTENSION pg_lsbf_vector" to load this file. \quit

-- pgvector has halfvec and sparsevec since version 0.7.
DO $do$
BEGIN
    PERFORM FROM pg_catalog.pg_extension
      WHERE extname OPERATOR(pg_catalog.=) 'vector'
        AND pg_catalog.regexp_match(extversion, '^(\d+)\.(\d+)')::pg_catalog.int4[] OPERATOR(pg_catalog.>=) '{0,7}'::pg_catalog.int4[];
    IF NOT FOUND THEN
        RAISE EXCEPTION 'pg_lsbf_vector needs pgvector 0.7 or later'
            USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Update it with ALTER EXTENSION vector UPDATE.';
    END IF;
END
$do$;

-- This script runs as a superuser in a database where other users may have created objects, so it never relies on search_path:
-- every name is qualified with the schema of pg_lsbf (%1$I below), pgvector (%2$I) or this extension (%3$I). PostgreSQL's own
-- @extschema:name@ exists only since version 16, and rejects schema names with quotes, backslashes or dollar signs.
DO $do$
DECLARE
    script pg_catalog.text := $script$
-- queries

CREATE FUNCTION %3$I.approx_member(filter %1$I.lsbf, vec %2$I.vector, theta pg_catalog.float8 DEFAULT 1) RETURNS pg_catalog.bool
    AS 'MODULE_PATHNAME', 'approx_member_vector' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50 SUPPORT %1$I.approx_member_support;
CREATE FUNCTION %3$I.approx_member(filter %1$I.lsbf, vec %2$I.halfvec, theta pg_catalog.float8 DEFAULT 1) RETURNS pg_catalog.bool
    AS 'MODULE_PATHNAME', 'approx_member_halfvec' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50 SUPPORT %1$I.approx_member_support;
CREATE FUNCTION %3$I.approx_member(filter %1$I.lsbf, vec %2$I.sparsevec, theta pg_catalog.float8 DEFAULT 1) RETURNS pg_catalog.bool
    AS 'MODULE_PATHNAME', 'approx_member_sparsevec' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50 SUPPORT %1$I.approx_member_support;
COMMENT ON FUNCTION %3$I.approx_member(%1$I.lsbf, %2$I.vector, pg_catalog.float8) IS 'is any member of the filter within theta * near of the vector? (approximate)';
COMMENT ON FUNCTION %3$I.approx_member(%1$I.lsbf, %2$I.halfvec, pg_catalog.float8) IS 'is any member of the filter within theta * near of the vector? (approximate)';
COMMENT ON FUNCTION %3$I.approx_member(%1$I.lsbf, %2$I.sparsevec, pg_catalog.float8) IS 'is any member of the filter within theta * near of the vector? (approximate)';

CREATE FUNCTION %3$I.approx_votes(filter %1$I.lsbf, vec %2$I.vector, theta pg_catalog.float8 DEFAULT 1) RETURNS pg_catalog.int4
    AS 'MODULE_PATHNAME', 'approx_votes_vector' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
CREATE FUNCTION %3$I.approx_votes(filter %1$I.lsbf, vec %2$I.halfvec, theta pg_catalog.float8 DEFAULT 1) RETURNS pg_catalog.int4
    AS 'MODULE_PATHNAME', 'approx_votes_halfvec' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
CREATE FUNCTION %3$I.approx_votes(filter %1$I.lsbf, vec %2$I.sparsevec, theta pg_catalog.float8 DEFAULT 1) RETURNS pg_catalog.int4
    AS 'MODULE_PATHNAME', 'approx_votes_sparsevec' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION %3$I.approx_votes(%1$I.lsbf, %2$I.vector, pg_catalog.float8) IS 'number of votes that approx_member compares with its threshold; lsqf: number of members that match';
COMMENT ON FUNCTION %3$I.approx_votes(%1$I.lsbf, %2$I.halfvec, pg_catalog.float8) IS 'number of votes that approx_member compares with its threshold; lsqf: number of members that match';
COMMENT ON FUNCTION %3$I.approx_votes(%1$I.lsbf, %2$I.sparsevec, pg_catalog.float8) IS 'number of votes that approx_member compares with its threshold; lsqf: number of members that match';

CREATE FUNCTION %3$I.approx_distance(filter %1$I.lsbf, vec %2$I.vector) RETURNS pg_catalog.float8
    AS 'MODULE_PATHNAME', 'approx_distance_vector' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
CREATE FUNCTION %3$I.approx_distance(filter %1$I.lsbf, vec %2$I.halfvec) RETURNS pg_catalog.float8
    AS 'MODULE_PATHNAME', 'approx_distance_halfvec' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
CREATE FUNCTION %3$I.approx_distance(filter %1$I.lsbf, vec %2$I.sparsevec) RETURNS pg_catalog.float8
    AS 'MODULE_PATHNAME', 'approx_distance_sparsevec' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION %3$I.approx_distance(%1$I.lsbf, %2$I.vector) IS 'estimated distance to the nearest member (lsqf and ilbf); NULL if no member is near';
COMMENT ON FUNCTION %3$I.approx_distance(%1$I.lsbf, %2$I.halfvec) IS 'estimated distance to the nearest member (lsqf and ilbf); NULL if no member is near';
COMMENT ON FUNCTION %3$I.approx_distance(%1$I.lsbf, %2$I.sparsevec) IS 'estimated distance to the nearest member (lsqf and ilbf); NULL if no member is near';

-- building

CREATE FUNCTION %3$I.lsbf_add(filter %1$I.lsbf, vec %2$I.vector) RETURNS %1$I.lsbf
    AS 'MODULE_PATHNAME', 'lsbf_add_vector' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION %3$I.lsbf_add(filter %1$I.lsbf, vec %2$I.halfvec) RETURNS %1$I.lsbf
    AS 'MODULE_PATHNAME', 'lsbf_add_halfvec' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION %3$I.lsbf_add(filter %1$I.lsbf, vec %2$I.sparsevec) RETURNS %1$I.lsbf
    AS 'MODULE_PATHNAME', 'lsbf_add_sparsevec' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION %3$I.lsbf_add(%1$I.lsbf, %2$I.vector) IS 'add a vector to a filter';
COMMENT ON FUNCTION %3$I.lsbf_add(%1$I.lsbf, %2$I.halfvec) IS 'add a vector to a filter';
COMMENT ON FUNCTION %3$I.lsbf_add(%1$I.lsbf, %2$I.sparsevec) IS 'add a vector to a filter';

CREATE FUNCTION %3$I.lsbf_remove(filter %1$I.lsbf, vec %2$I.vector) RETURNS %1$I.lsbf
    AS 'MODULE_PATHNAME', 'lsbf_remove_vector' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION %3$I.lsbf_remove(filter %1$I.lsbf, vec %2$I.halfvec) RETURNS %1$I.lsbf
    AS 'MODULE_PATHNAME', 'lsbf_remove_halfvec' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION %3$I.lsbf_remove(filter %1$I.lsbf, vec %2$I.sparsevec) RETURNS %1$I.lsbf
    AS 'MODULE_PATHNAME', 'lsbf_remove_sparsevec' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION %3$I.lsbf_remove(%1$I.lsbf, %2$I.vector) IS 'remove a vector from a quotient filter (lsqf); the filter is unchanged if the vector is not a member';
COMMENT ON FUNCTION %3$I.lsbf_remove(%1$I.lsbf, %2$I.halfvec) IS 'remove a vector from a quotient filter (lsqf); the filter is unchanged if the vector is not a member';
COMMENT ON FUNCTION %3$I.lsbf_remove(%1$I.lsbf, %2$I.sparsevec) IS 'remove a vector from a quotient filter (lsqf); the filter is unchanged if the vector is not a member';

-- aggregates

CREATE FUNCTION %3$I.lsbf_agg_step(state %1$I.lsbf, vec %2$I.vector, prototype %1$I.lsbf) RETURNS %1$I.lsbf
    AS 'MODULE_PATHNAME', 'lsbf_agg_step_vector' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE FUNCTION %3$I.lsbf_agg_step(state %1$I.lsbf, vec %2$I.halfvec, prototype %1$I.lsbf) RETURNS %1$I.lsbf
    AS 'MODULE_PATHNAME', 'lsbf_agg_step_halfvec' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE FUNCTION %3$I.lsbf_agg_step(state %1$I.lsbf, vec %2$I.sparsevec, prototype %1$I.lsbf) RETURNS %1$I.lsbf
    AS 'MODULE_PATHNAME', 'lsbf_agg_step_sparsevec' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
COMMENT ON FUNCTION %3$I.lsbf_agg_step(%1$I.lsbf, %2$I.vector, %1$I.lsbf) IS 'transition function of lsbf_agg';
COMMENT ON FUNCTION %3$I.lsbf_agg_step(%1$I.lsbf, %2$I.halfvec, %1$I.lsbf) IS 'transition function of lsbf_agg';
COMMENT ON FUNCTION %3$I.lsbf_agg_step(%1$I.lsbf, %2$I.sparsevec, %1$I.lsbf) IS 'transition function of lsbf_agg';

CREATE AGGREGATE %3$I.lsbf_agg(vec %2$I.vector, prototype %1$I.lsbf) (
    SFUNC = %3$I.lsbf_agg_step, STYPE = %1$I.lsbf, SSPACE = 131072, FINALFUNC = %1$I.lsbf_agg_final,
    COMBINEFUNC = %1$I.lsbf_union, PARALLEL = SAFE
);
CREATE AGGREGATE %3$I.lsbf_agg(vec %2$I.halfvec, prototype %1$I.lsbf) (
    SFUNC = %3$I.lsbf_agg_step, STYPE = %1$I.lsbf, SSPACE = 131072, FINALFUNC = %1$I.lsbf_agg_final,
    COMBINEFUNC = %1$I.lsbf_union, PARALLEL = SAFE
);
CREATE AGGREGATE %3$I.lsbf_agg(vec %2$I.sparsevec, prototype %1$I.lsbf) (
    SFUNC = %3$I.lsbf_agg_step, STYPE = %1$I.lsbf, SSPACE = 131072, FINALFUNC = %1$I.lsbf_agg_final,
    COMBINEFUNC = %1$I.lsbf_union, PARALLEL = SAFE
);
COMMENT ON AGGREGATE %3$I.lsbf_agg(%2$I.vector, %1$I.lsbf) IS 'filter of all input vectors, with the parameters and members of the prototype; that of an lsqf must be empty';
COMMENT ON AGGREGATE %3$I.lsbf_agg(%2$I.halfvec, %1$I.lsbf) IS 'filter of all input vectors, with the parameters and members of the prototype; that of an lsqf must be empty';
COMMENT ON AGGREGATE %3$I.lsbf_agg(%2$I.sparsevec, %1$I.lsbf) IS 'filter of all input vectors, with the parameters and members of the prototype; that of an lsqf must be empty';

-- window functions

CREATE FUNCTION %3$I.lsbf_seen(vec %2$I.vector, prototype %1$I.lsbf, theta pg_catalog.float8 DEFAULT 1) RETURNS pg_catalog.bool
    AS 'MODULE_PATHNAME', 'lsbf_seen_vector' LANGUAGE C WINDOW IMMUTABLE PARALLEL SAFE COST 150;
CREATE FUNCTION %3$I.lsbf_seen(vec %2$I.halfvec, prototype %1$I.lsbf, theta pg_catalog.float8 DEFAULT 1) RETURNS pg_catalog.bool
    AS 'MODULE_PATHNAME', 'lsbf_seen_halfvec' LANGUAGE C WINDOW IMMUTABLE PARALLEL SAFE COST 150;
CREATE FUNCTION %3$I.lsbf_seen(vec %2$I.sparsevec, prototype %1$I.lsbf, theta pg_catalog.float8 DEFAULT 1) RETURNS pg_catalog.bool
    AS 'MODULE_PATHNAME', 'lsbf_seen_sparsevec' LANGUAGE C WINDOW IMMUTABLE PARALLEL SAFE COST 150;
COMMENT ON FUNCTION %3$I.lsbf_seen(%2$I.vector, %1$I.lsbf, pg_catalog.float8) IS 'is any earlier vector of the partition within theta * near of this one? (approximate)';
COMMENT ON FUNCTION %3$I.lsbf_seen(%2$I.halfvec, %1$I.lsbf, pg_catalog.float8) IS 'is any earlier vector of the partition within theta * near of this one? (approximate)';
COMMENT ON FUNCTION %3$I.lsbf_seen(%2$I.sparsevec, %1$I.lsbf, pg_catalog.float8) IS 'is any earlier vector of the partition within theta * near of this one? (approximate)';

CREATE FUNCTION %3$I.lsbf_first(vec %2$I.vector, prototype %1$I.lsbf, theta pg_catalog.float8 DEFAULT 1) RETURNS pg_catalog.bool
    AS 'MODULE_PATHNAME', 'lsbf_first_vector' LANGUAGE C WINDOW IMMUTABLE PARALLEL SAFE COST 150;
CREATE FUNCTION %3$I.lsbf_first(vec %2$I.halfvec, prototype %1$I.lsbf, theta pg_catalog.float8 DEFAULT 1) RETURNS pg_catalog.bool
    AS 'MODULE_PATHNAME', 'lsbf_first_halfvec' LANGUAGE C WINDOW IMMUTABLE PARALLEL SAFE COST 150;
CREATE FUNCTION %3$I.lsbf_first(vec %2$I.sparsevec, prototype %1$I.lsbf, theta pg_catalog.float8 DEFAULT 1) RETURNS pg_catalog.bool
    AS 'MODULE_PATHNAME', 'lsbf_first_sparsevec' LANGUAGE C WINDOW IMMUTABLE PARALLEL SAFE COST 150;
COMMENT ON FUNCTION %3$I.lsbf_first(%2$I.vector, %1$I.lsbf, pg_catalog.float8) IS 'is this vector kept because no vector kept earlier in the partition is within theta * near of it? (approximate)';
COMMENT ON FUNCTION %3$I.lsbf_first(%2$I.halfvec, %1$I.lsbf, pg_catalog.float8) IS 'is this vector kept because no vector kept earlier in the partition is within theta * near of it? (approximate)';
COMMENT ON FUNCTION %3$I.lsbf_first(%2$I.sparsevec, %1$I.lsbf, pg_catalog.float8) IS 'is this vector kept because no vector kept earlier in the partition is within theta * near of it? (approximate)';
$script$;
BEGIN
    SELECT pg_catalog.format(script, b.nspname, v.nspname, h.nspname) INTO script
      FROM pg_catalog.pg_extension e
        JOIN pg_catalog.pg_namespace h ON h.oid OPERATOR(pg_catalog.=) e.extnamespace,
        pg_catalog.pg_extension be
        JOIN pg_catalog.pg_namespace b ON b.oid OPERATOR(pg_catalog.=) be.extnamespace,
        pg_catalog.pg_extension ve
        JOIN pg_catalog.pg_namespace v ON v.oid OPERATOR(pg_catalog.=) ve.extnamespace
      WHERE e.extname OPERATOR(pg_catalog.=) 'pg_lsbf_vector'
        AND be.extname OPERATOR(pg_catalog.=) 'pg_lsbf'
        AND ve.extname OPERATOR(pg_catalog.=) 'vector';
    EXECUTE script;
END
$do$;

-- The owner of an extension can move it or add objects to it, even while this script runs. So check what the new functions
-- refer to by a property that cannot be forged: only superusers can create base types and functions in C.
DO $do$
DECLARE
    wrong pg_catalog.text;
BEGIN
    WITH functions AS (
        SELECT p.* FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_proc p ON p.oid OPERATOR(pg_catalog.=) d.objid
          WHERE d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_proc'::pg_catalog.regclass
            AND d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_extension'::pg_catalog.regclass
            AND d.refobjid OPERATOR(pg_catalog.=) (SELECT e.oid FROM pg_catalog.pg_extension e WHERE e.extname OPERATOR(pg_catalog.=) 'pg_lsbf_vector')
            AND d.deptype OPERATOR(pg_catalog.=) 'e'
    ), c AS (
        SELECT p.oid, p.probin OPERATOR(pg_catalog.||) ':' OPERATOR(pg_catalog.||) p.prosrc AS code FROM pg_catalog.pg_proc p
          WHERE p.prolang OPERATOR(pg_catalog.=) (SELECT l.oid FROM pg_catalog.pg_language l WHERE l.lanname OPERATOR(pg_catalog.=) 'c')
    ), used AS (
        SELECT t.typname::pg_catalog.text AS name, c.code FROM pg_catalog.pg_type t LEFT JOIN c
            ON c.oid OPERATOR(pg_catalog.=) t.typinput AND t.typtype OPERATOR(pg_catalog.=) 'b'
          WHERE t.typnamespace OPERATOR(pg_catalog.<>) 'pg_catalog'::pg_catalog.regnamespace
            AND t.oid IN (SELECT pg_catalog.unnest(f.proargtypes::pg_catalog.oid[]) FROM functions f UNION ALL SELECT f.prorettype FROM functions f)
        UNION ALL
        SELECT f.prosupport::pg_catalog.text, c.code FROM functions f LEFT JOIN c ON c.oid OPERATOR(pg_catalog.=) f.prosupport::pg_catalog.oid
          WHERE f.prosupport OPERATOR(pg_catalog.<>) 0::pg_catalog.oid
        UNION ALL
        SELECT u.oid::pg_catalog.regproc::pg_catalog.text, c.code
          FROM functions f JOIN pg_catalog.pg_aggregate a ON a.aggfnoid OPERATOR(pg_catalog.=) f.oid
            CROSS JOIN LATERAL (VALUES (a.aggtransfn::pg_catalog.oid), (a.aggcombinefn::pg_catalog.oid), (a.aggfinalfn::pg_catalog.oid)) AS u (oid)
            LEFT JOIN c ON c.oid OPERATOR(pg_catalog.=) u.oid
          WHERE u.oid OPERATOR(pg_catalog.<>) 0::pg_catalog.oid
    )
    SELECT u.name INTO wrong FROM used u
      WHERE u.code IS NULL
        OR u.code OPERATOR(pg_catalog.!~) '^\$libdir/(pg_lsbf:(lsbf_in|lsbf_union|lsbf_agg_final|approx_member_support|lsbf_agg_step_(vector|halfvec|sparsevec))|vector:(vector|halfvec|sparsevec)_in)$';
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION '"%" does not belong to pg_lsbf or pgvector', wrong
            USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Objects of these extensions were replaced, or moved to another schema.';
    END IF;
END
$do$;
