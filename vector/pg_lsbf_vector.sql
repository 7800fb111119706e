-- pg_lsbf_vector: the functions of pg_lsbf for the types of pgvector, read in place.
\echo Use "CREATE EXTENSION pg_lsbf_vector" to load this file. \quit

-- Whoever may create objects in this schema could have put other types of these names in the way: the functions below
-- would read their values as vectors.
DO $$
DECLARE
    wrong text;
BEGIN
    SELECT type INTO wrong
      FROM (VALUES ('lsbf', 'pg_lsbf'), ('vector', 'vector'), ('halfvec', 'vector'), ('sparsevec', 'vector')) AS n (type, owner)
      WHERE NOT EXISTS (
        SELECT FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_extension e ON e.oid OPERATOR(pg_catalog.=) d.refobjid
          WHERE d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_type'::regclass
            AND d.objid OPERATOR(pg_catalog.=) pg_catalog.to_regtype(type)
            AND d.deptype OPERATOR(pg_catalog.=) 'e'
            AND e.extname OPERATOR(pg_catalog.=) owner);
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION 'type "%" is missing or does not belong to its extension', wrong
            USING ERRCODE = 'object_not_in_prerequisite_state',
            HINT = 'pg_lsbf_vector needs pgvector 0.7 or later, and a schema without other types of that name.';
    END IF;
END
$$;

-- questions

CREATE FUNCTION approx_member(filter lsbf, vec vector, theta double precision DEFAULT 1) RETURNS boolean
    AS 'MODULE_PATHNAME', 'approx_member_vector' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50 SUPPORT approx_member_support;
CREATE FUNCTION approx_member(filter lsbf, vec halfvec, theta double precision DEFAULT 1) RETURNS boolean
    AS 'MODULE_PATHNAME', 'approx_member_halfvec' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50 SUPPORT approx_member_support;
CREATE FUNCTION approx_member(filter lsbf, vec sparsevec, theta double precision DEFAULT 1) RETURNS boolean
    AS 'MODULE_PATHNAME', 'approx_member_sparsevec' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50 SUPPORT approx_member_support;
COMMENT ON FUNCTION approx_member(lsbf, vector, double precision) IS 'is anything in the filter close to this? theta multiplies the distance the filter was built for';
COMMENT ON FUNCTION approx_member(lsbf, halfvec, double precision) IS 'is anything in the filter close to this? theta multiplies the distance the filter was built for';
COMMENT ON FUNCTION approx_member(lsbf, sparsevec, double precision) IS 'is anything in the filter close to this? theta multiplies the distance the filter was built for';

CREATE FUNCTION approx_votes(filter lsbf, vec vector, theta double precision DEFAULT 1) RETURNS integer
    AS 'MODULE_PATHNAME', 'approx_votes_vector' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
CREATE FUNCTION approx_votes(filter lsbf, vec halfvec, theta double precision DEFAULT 1) RETURNS integer
    AS 'MODULE_PATHNAME', 'approx_votes_halfvec' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
CREATE FUNCTION approx_votes(filter lsbf, vec sparsevec, theta double precision DEFAULT 1) RETURNS integer
    AS 'MODULE_PATHNAME', 'approx_votes_sparsevec' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION approx_votes(lsbf, vector, double precision) IS 'the number that approx_member compares with its threshold';
COMMENT ON FUNCTION approx_votes(lsbf, halfvec, double precision) IS 'the number that approx_member compares with its threshold';
COMMENT ON FUNCTION approx_votes(lsbf, sparsevec, double precision) IS 'the number that approx_member compares with its threshold';

CREATE FUNCTION approx_distance(filter lsbf, vec vector) RETURNS double precision
    AS 'MODULE_PATHNAME', 'approx_distance_vector' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
CREATE FUNCTION approx_distance(filter lsbf, vec halfvec) RETURNS double precision
    AS 'MODULE_PATHNAME', 'approx_distance_halfvec' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
CREATE FUNCTION approx_distance(filter lsbf, vec sparsevec) RETURNS double precision
    AS 'MODULE_PATHNAME', 'approx_distance_sparsevec' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION approx_distance(lsbf, vector) IS 'estimated distance to the nearest member (ilbf); NULL when nothing is near';
COMMENT ON FUNCTION approx_distance(lsbf, halfvec) IS 'estimated distance to the nearest member (ilbf); NULL when nothing is near';
COMMENT ON FUNCTION approx_distance(lsbf, sparsevec) IS 'estimated distance to the nearest member (ilbf); NULL when nothing is near';

-- building

CREATE FUNCTION lsbf_add(filter lsbf, vec vector) RETURNS lsbf
    AS 'MODULE_PATHNAME', 'lsbf_add_vector' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION lsbf_add(filter lsbf, vec halfvec) RETURNS lsbf
    AS 'MODULE_PATHNAME', 'lsbf_add_halfvec' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION lsbf_add(filter lsbf, vec sparsevec) RETURNS lsbf
    AS 'MODULE_PATHNAME', 'lsbf_add_sparsevec' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION lsbf_add(lsbf, vector) IS 'the filter with one more member';
COMMENT ON FUNCTION lsbf_add(lsbf, halfvec) IS 'the filter with one more member';
COMMENT ON FUNCTION lsbf_add(lsbf, sparsevec) IS 'the filter with one more member';

-- aggregates

CREATE FUNCTION lsbf_agg_step(state lsbf, vec vector, prototype lsbf) RETURNS lsbf
    AS 'MODULE_PATHNAME', 'lsbf_agg_step_vector' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE FUNCTION lsbf_agg_step(state lsbf, vec halfvec, prototype lsbf) RETURNS lsbf
    AS 'MODULE_PATHNAME', 'lsbf_agg_step_halfvec' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE FUNCTION lsbf_agg_step(state lsbf, vec sparsevec, prototype lsbf) RETURNS lsbf
    AS 'MODULE_PATHNAME', 'lsbf_agg_step_sparsevec' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
COMMENT ON FUNCTION lsbf_agg_step(lsbf, vector, lsbf) IS 'transition function of lsbf_agg';
COMMENT ON FUNCTION lsbf_agg_step(lsbf, halfvec, lsbf) IS 'transition function of lsbf_agg';
COMMENT ON FUNCTION lsbf_agg_step(lsbf, sparsevec, lsbf) IS 'transition function of lsbf_agg';

CREATE AGGREGATE lsbf_agg(vec vector, prototype lsbf) (
    SFUNC = lsbf_agg_step, STYPE = lsbf, SSPACE = 131072, COMBINEFUNC = lsbf_union, PARALLEL = SAFE
);
CREATE AGGREGATE lsbf_agg(vec halfvec, prototype lsbf) (
    SFUNC = lsbf_agg_step, STYPE = lsbf, SSPACE = 131072, COMBINEFUNC = lsbf_union, PARALLEL = SAFE
);
CREATE AGGREGATE lsbf_agg(vec sparsevec, prototype lsbf) (
    SFUNC = lsbf_agg_step, STYPE = lsbf, SSPACE = 131072, COMBINEFUNC = lsbf_union, PARALLEL = SAFE
);
COMMENT ON AGGREGATE lsbf_agg(vector, lsbf) IS 'a filter of all vectors, built as the prototype says';
COMMENT ON AGGREGATE lsbf_agg(halfvec, lsbf) IS 'a filter of all vectors, built as the prototype says';
COMMENT ON AGGREGATE lsbf_agg(sparsevec, lsbf) IS 'a filter of all vectors, built as the prototype says';

-- window functions

CREATE FUNCTION lsbf_seen(vec vector, prototype lsbf, theta double precision DEFAULT 1) RETURNS boolean
    AS 'MODULE_PATHNAME', 'lsbf_seen_vector' LANGUAGE C WINDOW IMMUTABLE PARALLEL SAFE COST 150;
CREATE FUNCTION lsbf_seen(vec halfvec, prototype lsbf, theta double precision DEFAULT 1) RETURNS boolean
    AS 'MODULE_PATHNAME', 'lsbf_seen_halfvec' LANGUAGE C WINDOW IMMUTABLE PARALLEL SAFE COST 150;
CREATE FUNCTION lsbf_seen(vec sparsevec, prototype lsbf, theta double precision DEFAULT 1) RETURNS boolean
    AS 'MODULE_PATHNAME', 'lsbf_seen_sparsevec' LANGUAGE C WINDOW IMMUTABLE PARALLEL SAFE COST 150;
COMMENT ON FUNCTION lsbf_seen(vector, lsbf, double precision) IS 'does anything close to this come earlier in the partition? theta multiplies the distance the prototype was made for';
COMMENT ON FUNCTION lsbf_seen(halfvec, lsbf, double precision) IS 'does anything close to this come earlier in the partition? theta multiplies the distance the prototype was made for';
COMMENT ON FUNCTION lsbf_seen(sparsevec, lsbf, double precision) IS 'does anything close to this come earlier in the partition? theta multiplies the distance the prototype was made for';

CREATE FUNCTION lsbf_first(vec vector, prototype lsbf, theta double precision DEFAULT 1) RETURNS boolean
    AS 'MODULE_PATHNAME', 'lsbf_first_vector' LANGUAGE C WINDOW IMMUTABLE PARALLEL SAFE COST 150;
CREATE FUNCTION lsbf_first(vec halfvec, prototype lsbf, theta double precision DEFAULT 1) RETURNS boolean
    AS 'MODULE_PATHNAME', 'lsbf_first_halfvec' LANGUAGE C WINDOW IMMUTABLE PARALLEL SAFE COST 150;
CREATE FUNCTION lsbf_first(vec sparsevec, prototype lsbf, theta double precision DEFAULT 1) RETURNS boolean
    AS 'MODULE_PATHNAME', 'lsbf_first_sparsevec' LANGUAGE C WINDOW IMMUTABLE PARALLEL SAFE COST 150;
COMMENT ON FUNCTION lsbf_first(vector, lsbf, double precision) IS 'is this the first of its kind in the partition, with nothing kept earlier close to it? theta multiplies the distance the prototype was made for';
COMMENT ON FUNCTION lsbf_first(halfvec, lsbf, double precision) IS 'is this the first of its kind in the partition, with nothing kept earlier close to it? theta multiplies the distance the prototype was made for';
COMMENT ON FUNCTION lsbf_first(sparsevec, lsbf, double precision) IS 'is this the first of its kind in the partition, with nothing kept earlier close to it? theta multiplies the distance the prototype was made for';
