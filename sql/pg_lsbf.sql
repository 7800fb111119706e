-- pg_lsbf: type, functions, private functions, aggregates, window functions, casts, operators.
\echo Use "CREATE EXTENSION pg_lsbf" to load this file. \quit

-- type

CREATE TYPE lsbf;

CREATE FUNCTION lsbf_in(cstring) RETURNS lsbf
    AS 'MODULE_PATHNAME', 'lsbf_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION lsbf_out(lsbf) RETURNS cstring
    AS 'MODULE_PATHNAME', 'lsbf_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION lsbf_recv(internal) RETURNS lsbf
    AS 'MODULE_PATHNAME', 'lsbf_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION lsbf_send(lsbf) RETURNS bytea
    AS 'MODULE_PATHNAME', 'lsbf_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE TYPE lsbf (
    INPUT = lsbf_in,
    OUTPUT = lsbf_out,
    RECEIVE = lsbf_recv,
    SEND = lsbf_send,
    STORAGE = external,
    ALIGNMENT = double
);

COMMENT ON TYPE lsbf IS 'locality-sensitive Bloom filter: a compact set of vectors, queried by distance';
COMMENT ON FUNCTION lsbf_in(cstring) IS 'text input: base64';
COMMENT ON FUNCTION lsbf_out(lsbf) IS 'text output: base64';
COMMENT ON FUNCTION lsbf_recv(internal) IS 'binary input';
COMMENT ON FUNCTION lsbf_send(lsbf) IS 'binary output';

-- constructors

CREATE FUNCTION dsbf_new(
    dims integer DEFAULT NULL, capacity bigint DEFAULT NULL, near double precision DEFAULT NULL,
    far double precision DEFAULT NULL, tables integer DEFAULT NULL, seed bigint DEFAULT 0,
    metric text DEFAULT 'hamming', hashes integer DEFAULT NULL, width double precision DEFAULT NULL,
    bits bigint DEFAULT NULL, votes integer DEFAULT NULL, alphabet text DEFAULT 'bits',
    transform text DEFAULT NULL
) RETURNS lsbf
    AS 'MODULE_PATHNAME', 'dsbf_new' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1000;

CREATE FUNCTION lsbf_new(
    dims integer DEFAULT NULL, capacity bigint DEFAULT NULL, near double precision DEFAULT NULL,
    far double precision DEFAULT NULL, tables integer DEFAULT NULL, seed bigint DEFAULT 0,
    metric text DEFAULT 'l2', hashes integer DEFAULT NULL, width double precision DEFAULT NULL,
    bits bigint DEFAULT NULL, verify_bits bigint DEFAULT NULL, bloom_hashes integer DEFAULT NULL,
    overflow integer DEFAULT NULL, robust boolean DEFAULT NULL, alphabet text DEFAULT 'bits',
    transform text DEFAULT NULL, match text DEFAULT 'all', probes integer DEFAULT NULL, votes integer DEFAULT NULL,
    blocks integer DEFAULT NULL
) RETURNS lsbf
    AS 'MODULE_PATHNAME', 'lsbf_new' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1000;

CREATE FUNCTION ilbf_new(
    dims integer DEFAULT NULL, capacity bigint DEFAULT NULL, near double precision DEFAULT NULL,
    far double precision DEFAULT NULL, tables integer DEFAULT NULL, seed bigint DEFAULT 0,
    metric text DEFAULT 'l2', width double precision DEFAULT NULL, blooms bigint DEFAULT NULL,
    slots integer DEFAULT NULL, bloom_hashes integer DEFAULT NULL, votes integer DEFAULT NULL,
    blooms_aligned boolean DEFAULT false, transform text DEFAULT NULL
) RETURNS lsbf
    AS 'MODULE_PATHNAME', 'ilbf_new' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1000;

CREATE FUNCTION lsqf_new(
    dims integer DEFAULT NULL, near double precision DEFAULT NULL, far double precision DEFAULT NULL,
    bits bigint DEFAULT NULL, seed bigint DEFAULT 0, metric text DEFAULT 'l2', fnr double precision DEFAULT NULL,
    max_theta double precision DEFAULT NULL, cells integer DEFAULT NULL, length double precision DEFAULT NULL,
    centre real[] DEFAULT NULL
) RETURNS lsbf
    AS 'MODULE_PATHNAME', 'lsqf_new' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1000;

COMMENT ON FUNCTION dsbf_new(integer, bigint, double precision, double precision, integer, bigint, text, integer, double precision, bigint, integer, text, text)
    IS 'create an empty distance-sensitive Bloom filter';
COMMENT ON FUNCTION lsbf_new(integer, bigint, double precision, double precision, integer, bigint, text, integer, double precision, bigint, bigint, integer, integer, boolean, text, text, text, integer, integer, integer)
    IS 'create an empty locality-sensitive Bloom filter';
COMMENT ON FUNCTION ilbf_new(integer, bigint, double precision, double precision, integer, bigint, text, double precision, bigint, integer, integer, integer, boolean, text)
    IS 'create an empty integer-granularity locality-sensitive Bloom filter';
COMMENT ON FUNCTION lsqf_new(integer, double precision, double precision, bigint, bigint, text, double precision, double precision, integer, double precision, real[])
    IS 'create an empty locality-sensitive quotient filter';

-- design: choosing parameters

CREATE TYPE lsbf_choice AS (
    prototype lsbf, bytes_per_member double precision, fpr double precision, fnr double precision,
    unrelated double precision, cost double precision, kind text, family text, bits bigint, tables integer,
    hashes integer, blocks integer, probes integer, votes integer, near double precision, far double precision,
    capacity bigint
);
COMMENT ON TYPE lsbf_choice IS 'an empty filter proposed by lsbf_design, with its size and predicted rates';

CREATE FUNCTION lsbf_design(
    metric text, near double precision, capacity bigint, dims integer DEFAULT NULL,
    far double precision DEFAULT NULL, fpr double precision DEFAULT NULL, fnr double precision DEFAULT NULL,
    prefer text DEFAULT 'balanced', length double precision DEFAULT NULL, centre real[] DEFAULT NULL,
    alphabet text DEFAULT 'bits', seed bigint DEFAULT 0, max_theta double precision DEFAULT NULL
) RETURNS SETOF lsbf_choice
    AS 'MODULE_PATHNAME', 'lsbf_design' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100000 ROWS 8;

CREATE FUNCTION lsbf_design_for(
    relation regclass, attribute text, near double precision, metric text DEFAULT NULL,
    far double precision DEFAULT NULL, fpr double precision DEFAULT NULL, fnr double precision DEFAULT NULL,
    prefer text DEFAULT 'balanced', capacity bigint DEFAULT NULL, sample integer DEFAULT 20000,
    alphabet text DEFAULT 'bits', seed bigint DEFAULT 0, max_theta double precision DEFAULT NULL
) RETURNS SETOF lsbf_choice
    AS 'MODULE_PATHNAME', 'lsbf_design_for' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 8;

COMMENT ON FUNCTION lsbf_design(text, double precision, bigint, integer, double precision, double precision, double precision, text, double precision, real[], text, bigint, double precision)
    IS 'propose empty filters, best first, with their sizes and predicted rates';
COMMENT ON FUNCTION lsbf_design_for(regclass, text, double precision, text, double precision, double precision, double precision, text, bigint, integer, text, bigint, double precision)
    IS 'propose empty filters for a table column, based on a sample of its rows, best first, with their sizes and predicted rates';

CREATE FUNCTION lsbf_shingles(document text, n integer DEFAULT 5, unit text DEFAULT 'character') RETURNS bigint[]
    AS 'MODULE_PATHNAME', 'lsbf_shingles' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION lsbf_shingles(text, integer, text) IS 'set of hashed shingles (runs of n characters or words) of a document';

-- exact distances

CREATE FUNCTION hamming_distance(a bit varying, b bit varying) RETURNS double precision
    AS 'MODULE_PATHNAME', 'hamming_distance_bit' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
CREATE FUNCTION hamming_distance(a bytea, b bytea) RETURNS double precision
    AS 'MODULE_PATHNAME', 'hamming_distance_bytea' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
CREATE FUNCTION hamming_distance(a integer[], b integer[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'hamming_distance_int' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
CREATE FUNCTION hamming_distance(a text, b text) RETURNS double precision
    AS 'MODULE_PATHNAME', 'hamming_distance_text' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;

CREATE FUNCTION jaccard_distance(a bit varying, b bit varying) RETURNS double precision
    AS 'MODULE_PATHNAME', 'jaccard_distance_bit' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
CREATE FUNCTION jaccard_distance(a bytea, b bytea) RETURNS double precision
    AS 'MODULE_PATHNAME', 'jaccard_distance_bytea' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
CREATE FUNCTION jaccard_distance(a integer[], b integer[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'jaccard_distance_int' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
CREATE FUNCTION jaccard_distance(a bigint[], b bigint[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'jaccard_distance_bigint' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
CREATE FUNCTION jaccard_distance(a text[], b text[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'jaccard_distance_texts' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;

COMMENT ON FUNCTION hamming_distance(bit varying, bit varying) IS 'number of positions that differ';
COMMENT ON FUNCTION hamming_distance(bytea, bytea) IS 'number of positions that differ';
COMMENT ON FUNCTION hamming_distance(integer[], integer[]) IS 'number of positions that differ';
COMMENT ON FUNCTION hamming_distance(text, text) IS 'number of positions that differ';
COMMENT ON FUNCTION jaccard_distance(bit varying, bit varying) IS 'Jaccard distance of two sets: 1 - intersection / union';
COMMENT ON FUNCTION jaccard_distance(bytea, bytea) IS 'Jaccard distance of two sets: 1 - intersection / union';
COMMENT ON FUNCTION jaccard_distance(integer[], integer[]) IS 'Jaccard distance of two sets: 1 - intersection / union';
COMMENT ON FUNCTION jaccard_distance(bigint[], bigint[]) IS 'Jaccard distance of two sets: 1 - intersection / union';
COMMENT ON FUNCTION jaccard_distance(text[], text[]) IS 'Jaccard distance of two sets: 1 - intersection / union';

-- queries

CREATE FUNCTION approx_member_support(internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'approx_member_support' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION approx_member_support(internal) IS 'planner support: selectivity and cost of approx_member';

CREATE FUNCTION approx_member(filter lsbf, vec bit, theta double precision DEFAULT 1) RETURNS boolean
    AS 'MODULE_PATHNAME', 'approx_member_bit' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50 SUPPORT approx_member_support;
CREATE FUNCTION approx_member(filter lsbf, vec bit varying, theta double precision DEFAULT 1) RETURNS boolean
    AS 'MODULE_PATHNAME', 'approx_member_bit' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50 SUPPORT approx_member_support;
CREATE FUNCTION approx_member(filter lsbf, vec bytea, theta double precision DEFAULT 1) RETURNS boolean
    AS 'MODULE_PATHNAME', 'approx_member_bytea' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50 SUPPORT approx_member_support;
CREATE FUNCTION approx_member(filter lsbf, vec real[], theta double precision DEFAULT 1) RETURNS boolean
    AS 'MODULE_PATHNAME', 'approx_member_real' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50 SUPPORT approx_member_support;
CREATE FUNCTION approx_member(filter lsbf, vec double precision[], theta double precision DEFAULT 1) RETURNS boolean
    AS 'MODULE_PATHNAME', 'approx_member_double' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50 SUPPORT approx_member_support;
CREATE FUNCTION approx_member(filter lsbf, vec numeric[], theta double precision DEFAULT 1) RETURNS boolean
    AS 'MODULE_PATHNAME', 'approx_member_numeric' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50 SUPPORT approx_member_support;
CREATE FUNCTION approx_member(filter lsbf, vec integer[], theta double precision DEFAULT 1) RETURNS boolean
    AS 'MODULE_PATHNAME', 'approx_member_int' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50 SUPPORT approx_member_support;
CREATE FUNCTION approx_member(filter lsbf, vec bigint[], theta double precision DEFAULT 1) RETURNS boolean
    AS 'MODULE_PATHNAME', 'approx_member_bigint' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50 SUPPORT approx_member_support;
CREATE FUNCTION approx_member(filter lsbf, vec text[], theta double precision DEFAULT 1) RETURNS boolean
    AS 'MODULE_PATHNAME', 'approx_member_texts' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50 SUPPORT approx_member_support;
CREATE FUNCTION approx_member(filter lsbf, vec text, theta double precision DEFAULT 1) RETURNS boolean
    AS 'MODULE_PATHNAME', 'approx_member_text' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50 SUPPORT approx_member_support;
COMMENT ON FUNCTION approx_member(lsbf, bit, double precision) IS 'is any member of the filter within theta * near of the vector? (approximate)';
COMMENT ON FUNCTION approx_member(lsbf, bit varying, double precision) IS 'is any member of the filter within theta * near of the vector? (approximate)';
COMMENT ON FUNCTION approx_member(lsbf, bytea, double precision) IS 'is any member of the filter within theta * near of the vector? (approximate)';
COMMENT ON FUNCTION approx_member(lsbf, real[], double precision) IS 'is any member of the filter within theta * near of the vector? (approximate)';
COMMENT ON FUNCTION approx_member(lsbf, double precision[], double precision) IS 'is any member of the filter within theta * near of the vector? (approximate)';
COMMENT ON FUNCTION approx_member(lsbf, numeric[], double precision) IS 'is any member of the filter within theta * near of the vector? (approximate)';
COMMENT ON FUNCTION approx_member(lsbf, integer[], double precision) IS 'is any member of the filter within theta * near of the vector? (approximate)';
COMMENT ON FUNCTION approx_member(lsbf, bigint[], double precision) IS 'is any member of the filter within theta * near of the vector? (approximate)';
COMMENT ON FUNCTION approx_member(lsbf, text[], double precision) IS 'is any member of the filter within theta * near of the vector? (approximate)';
COMMENT ON FUNCTION approx_member(lsbf, text, double precision) IS 'is any member of the filter within theta * near of the vector? (approximate)';

CREATE FUNCTION approx_votes(filter lsbf, vec bit, theta double precision DEFAULT 1) RETURNS integer
    AS 'MODULE_PATHNAME', 'approx_votes_bit' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
CREATE FUNCTION approx_votes(filter lsbf, vec bit varying, theta double precision DEFAULT 1) RETURNS integer
    AS 'MODULE_PATHNAME', 'approx_votes_bit' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
CREATE FUNCTION approx_votes(filter lsbf, vec bytea, theta double precision DEFAULT 1) RETURNS integer
    AS 'MODULE_PATHNAME', 'approx_votes_bytea' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
CREATE FUNCTION approx_votes(filter lsbf, vec real[], theta double precision DEFAULT 1) RETURNS integer
    AS 'MODULE_PATHNAME', 'approx_votes_real' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
CREATE FUNCTION approx_votes(filter lsbf, vec double precision[], theta double precision DEFAULT 1) RETURNS integer
    AS 'MODULE_PATHNAME', 'approx_votes_double' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
CREATE FUNCTION approx_votes(filter lsbf, vec numeric[], theta double precision DEFAULT 1) RETURNS integer
    AS 'MODULE_PATHNAME', 'approx_votes_numeric' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
CREATE FUNCTION approx_votes(filter lsbf, vec integer[], theta double precision DEFAULT 1) RETURNS integer
    AS 'MODULE_PATHNAME', 'approx_votes_int' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
CREATE FUNCTION approx_votes(filter lsbf, vec bigint[], theta double precision DEFAULT 1) RETURNS integer
    AS 'MODULE_PATHNAME', 'approx_votes_bigint' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
CREATE FUNCTION approx_votes(filter lsbf, vec text[], theta double precision DEFAULT 1) RETURNS integer
    AS 'MODULE_PATHNAME', 'approx_votes_texts' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
CREATE FUNCTION approx_votes(filter lsbf, vec text, theta double precision DEFAULT 1) RETURNS integer
    AS 'MODULE_PATHNAME', 'approx_votes_text' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION approx_votes(lsbf, bit, double precision) IS 'number of votes that approx_member compares with its threshold; lsqf: number of members that match';
COMMENT ON FUNCTION approx_votes(lsbf, bit varying, double precision) IS 'number of votes that approx_member compares with its threshold; lsqf: number of members that match';
COMMENT ON FUNCTION approx_votes(lsbf, bytea, double precision) IS 'number of votes that approx_member compares with its threshold; lsqf: number of members that match';
COMMENT ON FUNCTION approx_votes(lsbf, real[], double precision) IS 'number of votes that approx_member compares with its threshold; lsqf: number of members that match';
COMMENT ON FUNCTION approx_votes(lsbf, double precision[], double precision) IS 'number of votes that approx_member compares with its threshold; lsqf: number of members that match';
COMMENT ON FUNCTION approx_votes(lsbf, numeric[], double precision) IS 'number of votes that approx_member compares with its threshold; lsqf: number of members that match';
COMMENT ON FUNCTION approx_votes(lsbf, integer[], double precision) IS 'number of votes that approx_member compares with its threshold; lsqf: number of members that match';
COMMENT ON FUNCTION approx_votes(lsbf, bigint[], double precision) IS 'number of votes that approx_member compares with its threshold; lsqf: number of members that match';
COMMENT ON FUNCTION approx_votes(lsbf, text[], double precision) IS 'number of votes that approx_member compares with its threshold; lsqf: number of members that match';
COMMENT ON FUNCTION approx_votes(lsbf, text, double precision) IS 'number of votes that approx_member compares with its threshold; lsqf: number of members that match';

CREATE FUNCTION approx_distance(filter lsbf, vec bit) RETURNS double precision
    AS 'MODULE_PATHNAME', 'approx_distance_bit' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
CREATE FUNCTION approx_distance(filter lsbf, vec bit varying) RETURNS double precision
    AS 'MODULE_PATHNAME', 'approx_distance_bit' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
CREATE FUNCTION approx_distance(filter lsbf, vec bytea) RETURNS double precision
    AS 'MODULE_PATHNAME', 'approx_distance_bytea' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
CREATE FUNCTION approx_distance(filter lsbf, vec real[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'approx_distance_real' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
CREATE FUNCTION approx_distance(filter lsbf, vec double precision[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'approx_distance_double' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
CREATE FUNCTION approx_distance(filter lsbf, vec numeric[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'approx_distance_numeric' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
CREATE FUNCTION approx_distance(filter lsbf, vec integer[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'approx_distance_int' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
CREATE FUNCTION approx_distance(filter lsbf, vec bigint[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'approx_distance_bigint' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
CREATE FUNCTION approx_distance(filter lsbf, vec text[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'approx_distance_texts' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
CREATE FUNCTION approx_distance(filter lsbf, vec text) RETURNS double precision
    AS 'MODULE_PATHNAME', 'approx_distance_text' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION approx_distance(lsbf, bit) IS 'estimated distance to the nearest member (lsqf and ilbf); NULL if no member is near';
COMMENT ON FUNCTION approx_distance(lsbf, bit varying) IS 'estimated distance to the nearest member (lsqf and ilbf); NULL if no member is near';
COMMENT ON FUNCTION approx_distance(lsbf, bytea) IS 'estimated distance to the nearest member (lsqf and ilbf); NULL if no member is near';
COMMENT ON FUNCTION approx_distance(lsbf, real[]) IS 'estimated distance to the nearest member (lsqf and ilbf); NULL if no member is near';
COMMENT ON FUNCTION approx_distance(lsbf, double precision[]) IS 'estimated distance to the nearest member (lsqf and ilbf); NULL if no member is near';
COMMENT ON FUNCTION approx_distance(lsbf, numeric[]) IS 'estimated distance to the nearest member (lsqf and ilbf); NULL if no member is near';
COMMENT ON FUNCTION approx_distance(lsbf, integer[]) IS 'estimated distance to the nearest member (lsqf and ilbf); NULL if no member is near';
COMMENT ON FUNCTION approx_distance(lsbf, bigint[]) IS 'estimated distance to the nearest member (lsqf and ilbf); NULL if no member is near';
COMMENT ON FUNCTION approx_distance(lsbf, text[]) IS 'estimated distance to the nearest member (lsqf and ilbf); NULL if no member is near';
COMMENT ON FUNCTION approx_distance(lsbf, text) IS 'estimated distance to the nearest member (lsqf and ilbf); NULL if no member is near';

-- building and merging

CREATE FUNCTION lsbf_add(filter lsbf, vec bit) RETURNS lsbf
    AS 'MODULE_PATHNAME', 'lsbf_add_bit' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION lsbf_add(filter lsbf, vec bit varying) RETURNS lsbf
    AS 'MODULE_PATHNAME', 'lsbf_add_bit' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION lsbf_add(filter lsbf, vec bytea) RETURNS lsbf
    AS 'MODULE_PATHNAME', 'lsbf_add_bytea' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION lsbf_add(filter lsbf, vec real[]) RETURNS lsbf
    AS 'MODULE_PATHNAME', 'lsbf_add_real' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION lsbf_add(filter lsbf, vec double precision[]) RETURNS lsbf
    AS 'MODULE_PATHNAME', 'lsbf_add_double' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION lsbf_add(filter lsbf, vec numeric[]) RETURNS lsbf
    AS 'MODULE_PATHNAME', 'lsbf_add_numeric' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION lsbf_add(filter lsbf, vec integer[]) RETURNS lsbf
    AS 'MODULE_PATHNAME', 'lsbf_add_int' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION lsbf_add(filter lsbf, vec bigint[]) RETURNS lsbf
    AS 'MODULE_PATHNAME', 'lsbf_add_bigint' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION lsbf_add(filter lsbf, vec text[]) RETURNS lsbf
    AS 'MODULE_PATHNAME', 'lsbf_add_texts' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION lsbf_add(filter lsbf, vec text) RETURNS lsbf
    AS 'MODULE_PATHNAME', 'lsbf_add_text' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION lsbf_add(lsbf, bit) IS 'add a vector to a filter';
COMMENT ON FUNCTION lsbf_add(lsbf, bit varying) IS 'add a vector to a filter';
COMMENT ON FUNCTION lsbf_add(lsbf, bytea) IS 'add a vector to a filter';
COMMENT ON FUNCTION lsbf_add(lsbf, real[]) IS 'add a vector to a filter';
COMMENT ON FUNCTION lsbf_add(lsbf, double precision[]) IS 'add a vector to a filter';
COMMENT ON FUNCTION lsbf_add(lsbf, numeric[]) IS 'add a vector to a filter';
COMMENT ON FUNCTION lsbf_add(lsbf, integer[]) IS 'add a vector to a filter';
COMMENT ON FUNCTION lsbf_add(lsbf, bigint[]) IS 'add a vector to a filter';
COMMENT ON FUNCTION lsbf_add(lsbf, text[]) IS 'add a vector to a filter';
COMMENT ON FUNCTION lsbf_add(lsbf, text) IS 'add a vector to a filter';

CREATE FUNCTION lsbf_remove(filter lsbf, vec bit) RETURNS lsbf
    AS 'MODULE_PATHNAME', 'lsbf_remove_bit' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION lsbf_remove(filter lsbf, vec bit varying) RETURNS lsbf
    AS 'MODULE_PATHNAME', 'lsbf_remove_bit' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION lsbf_remove(filter lsbf, vec bytea) RETURNS lsbf
    AS 'MODULE_PATHNAME', 'lsbf_remove_bytea' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION lsbf_remove(filter lsbf, vec real[]) RETURNS lsbf
    AS 'MODULE_PATHNAME', 'lsbf_remove_real' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION lsbf_remove(filter lsbf, vec double precision[]) RETURNS lsbf
    AS 'MODULE_PATHNAME', 'lsbf_remove_double' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION lsbf_remove(filter lsbf, vec numeric[]) RETURNS lsbf
    AS 'MODULE_PATHNAME', 'lsbf_remove_numeric' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION lsbf_remove(filter lsbf, vec integer[]) RETURNS lsbf
    AS 'MODULE_PATHNAME', 'lsbf_remove_int' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION lsbf_remove(filter lsbf, vec bigint[]) RETURNS lsbf
    AS 'MODULE_PATHNAME', 'lsbf_remove_bigint' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION lsbf_remove(filter lsbf, vec text[]) RETURNS lsbf
    AS 'MODULE_PATHNAME', 'lsbf_remove_texts' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION lsbf_remove(filter lsbf, vec text) RETURNS lsbf
    AS 'MODULE_PATHNAME', 'lsbf_remove_text' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION lsbf_remove(lsbf, bit) IS 'remove a vector from a quotient filter (lsqf); the filter is unchanged if the vector is not a member';
COMMENT ON FUNCTION lsbf_remove(lsbf, bit varying) IS 'remove a vector from a quotient filter (lsqf); the filter is unchanged if the vector is not a member';
COMMENT ON FUNCTION lsbf_remove(lsbf, bytea) IS 'remove a vector from a quotient filter (lsqf); the filter is unchanged if the vector is not a member';
COMMENT ON FUNCTION lsbf_remove(lsbf, real[]) IS 'remove a vector from a quotient filter (lsqf); the filter is unchanged if the vector is not a member';
COMMENT ON FUNCTION lsbf_remove(lsbf, double precision[]) IS 'remove a vector from a quotient filter (lsqf); the filter is unchanged if the vector is not a member';
COMMENT ON FUNCTION lsbf_remove(lsbf, numeric[]) IS 'remove a vector from a quotient filter (lsqf); the filter is unchanged if the vector is not a member';
COMMENT ON FUNCTION lsbf_remove(lsbf, integer[]) IS 'remove a vector from a quotient filter (lsqf); the filter is unchanged if the vector is not a member';
COMMENT ON FUNCTION lsbf_remove(lsbf, bigint[]) IS 'remove a vector from a quotient filter (lsqf); the filter is unchanged if the vector is not a member';
COMMENT ON FUNCTION lsbf_remove(lsbf, text[]) IS 'remove a vector from a quotient filter (lsqf); the filter is unchanged if the vector is not a member';
COMMENT ON FUNCTION lsbf_remove(lsbf, text) IS 'remove a vector from a quotient filter (lsqf); the filter is unchanged if the vector is not a member';

CREATE FUNCTION lsbf_union(lsbf, lsbf) RETURNS lsbf
    AS 'MODULE_PATHNAME', 'lsbf_union' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION lsbf_union(lsbf, lsbf) IS 'union of two filters';

-- inspection

CREATE FUNCTION lsbf_info(
    filter lsbf, OUT kind text, OUT metric text, OUT family text, OUT dims integer, OUT capacity bigint,
    OUT near double precision, OUT far double precision, OUT width double precision, OUT tables integer,
    OUT hashes integer, OUT bits bigint, OUT verify_bits bigint, OUT bloom_hashes integer, OUT overflow integer,
    OUT robust boolean, OUT blooms bigint, OUT slots integer, OUT blooms_aligned boolean, OUT votes integer,
    OUT seed bigint, OUT members bigint, OUT bits_set bigint, OUT fill double precision, OUT bytes bigint,
    OUT fpr double precision, OUT fnr double precision, OUT match text, OUT probes integer, OUT blocks integer,
    OUT length double precision, OUT centred boolean, OUT coordinates integer, OUT cells integer,
    OUT max_theta double precision
) RETURNS record
    AS 'MODULE_PATHNAME', 'lsbf_info' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
CREATE FUNCTION lsbf_kind(lsbf) RETURNS text
    AS 'MODULE_PATHNAME', 'lsbf_kind' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION lsbf_empty(lsbf) RETURNS lsbf
    AS 'MODULE_PATHNAME', 'lsbf_empty' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION lsbf_members(lsbf) RETURNS bigint
    AS 'MODULE_PATHNAME', 'lsbf_members' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION lsbf_fpr(filter lsbf, theta double precision DEFAULT 1) RETURNS double precision
    AS 'MODULE_PATHNAME', 'lsbf_fpr' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
CREATE FUNCTION lsbf_fnr(filter lsbf, distance double precision, theta double precision DEFAULT 1) RETURNS double precision
    AS 'MODULE_PATHNAME', 'lsbf_fnr' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
CREATE FUNCTION lsbf_curve(
    filter lsbf, theta double precision DEFAULT 1, upto double precision DEFAULT NULL, points integer DEFAULT 50,
    OUT distance double precision, OUT passed double precision
) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'lsbf_curve' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10000 ROWS 51;
CREATE FUNCTION lsbf_explain(lsbf) RETURNS text
    AS 'MODULE_PATHNAME', 'lsbf_explain' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
CREATE FUNCTION lsbf_overlap(lsbf, lsbf) RETURNS double precision
    AS 'MODULE_PATHNAME', 'lsbf_overlap' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;

CREATE FUNCTION lsbf_cache(OUT kind text, OUT entries bigint, OUT bytes bigint, OUT loads bigint) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'lsbf_cache' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 2;

COMMENT ON FUNCTION lsbf_cache() IS 'memory used by this session to cache stored filters and hash functions';
COMMENT ON FUNCTION lsbf_info(lsbf) IS 'kind, metric, parameters, members, fill, size and predicted rates of a filter';
COMMENT ON FUNCTION lsbf_kind(lsbf) IS 'kind of a filter: dsbf, lsbf or ilbf';
COMMENT ON FUNCTION lsbf_empty(lsbf) IS 'the filter without its members, as a prototype';
COMMENT ON FUNCTION lsbf_members(lsbf) IS 'estimated number of distinct members (standard error 3.3 %)';
COMMENT ON FUNCTION lsbf_fpr(lsbf, double precision) IS 'predicted false positive rate, at distance theta * far from the nearest member';
COMMENT ON FUNCTION lsbf_fnr(lsbf, double precision, double precision) IS 'predicted false negative rate, at the given distance from a member';
COMMENT ON FUNCTION lsbf_curve(lsbf, double precision, double precision, integer) IS 'predicted share of vectors that pass, by distance to the nearest member';
COMMENT ON FUNCTION lsbf_explain(lsbf) IS 'summary, in plain English, of what a filter can and cannot answer';
COMMENT ON FUNCTION lsbf_overlap(lsbf, lsbf) IS 'estimated share of the members of two filters that are in both';

-- aggregates

CREATE FUNCTION lsbf_agg_step(state lsbf, vec bit, prototype lsbf) RETURNS lsbf
    AS 'MODULE_PATHNAME', 'lsbf_agg_step_bit' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE FUNCTION lsbf_agg_step(state lsbf, vec bit varying, prototype lsbf) RETURNS lsbf
    AS 'MODULE_PATHNAME', 'lsbf_agg_step_bit' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE FUNCTION lsbf_agg_step(state lsbf, vec bytea, prototype lsbf) RETURNS lsbf
    AS 'MODULE_PATHNAME', 'lsbf_agg_step_bytea' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE FUNCTION lsbf_agg_step(state lsbf, vec real[], prototype lsbf) RETURNS lsbf
    AS 'MODULE_PATHNAME', 'lsbf_agg_step_real' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE FUNCTION lsbf_agg_step(state lsbf, vec double precision[], prototype lsbf) RETURNS lsbf
    AS 'MODULE_PATHNAME', 'lsbf_agg_step_double' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE FUNCTION lsbf_agg_step(state lsbf, vec numeric[], prototype lsbf) RETURNS lsbf
    AS 'MODULE_PATHNAME', 'lsbf_agg_step_numeric' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE FUNCTION lsbf_agg_step(state lsbf, vec integer[], prototype lsbf) RETURNS lsbf
    AS 'MODULE_PATHNAME', 'lsbf_agg_step_int' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE FUNCTION lsbf_agg_step(state lsbf, vec bigint[], prototype lsbf) RETURNS lsbf
    AS 'MODULE_PATHNAME', 'lsbf_agg_step_bigint' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE FUNCTION lsbf_agg_step(state lsbf, vec text[], prototype lsbf) RETURNS lsbf
    AS 'MODULE_PATHNAME', 'lsbf_agg_step_texts' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE FUNCTION lsbf_agg_step(state lsbf, vec text, prototype lsbf) RETURNS lsbf
    AS 'MODULE_PATHNAME', 'lsbf_agg_step_text' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
COMMENT ON FUNCTION lsbf_agg_step(lsbf, bit, lsbf) IS 'transition function of lsbf_agg';
COMMENT ON FUNCTION lsbf_agg_step(lsbf, bit varying, lsbf) IS 'transition function of lsbf_agg';
COMMENT ON FUNCTION lsbf_agg_step(lsbf, bytea, lsbf) IS 'transition function of lsbf_agg';
COMMENT ON FUNCTION lsbf_agg_step(lsbf, real[], lsbf) IS 'transition function of lsbf_agg';
COMMENT ON FUNCTION lsbf_agg_step(lsbf, double precision[], lsbf) IS 'transition function of lsbf_agg';
COMMENT ON FUNCTION lsbf_agg_step(lsbf, numeric[], lsbf) IS 'transition function of lsbf_agg';
COMMENT ON FUNCTION lsbf_agg_step(lsbf, integer[], lsbf) IS 'transition function of lsbf_agg';
COMMENT ON FUNCTION lsbf_agg_step(lsbf, bigint[], lsbf) IS 'transition function of lsbf_agg';
COMMENT ON FUNCTION lsbf_agg_step(lsbf, text[], lsbf) IS 'transition function of lsbf_agg';
COMMENT ON FUNCTION lsbf_agg_step(lsbf, text, lsbf) IS 'transition function of lsbf_agg';

CREATE FUNCTION lsbf_agg_final(lsbf) RETURNS lsbf
    AS 'MODULE_PATHNAME', 'lsbf_agg_final' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION lsbf_agg_final(lsbf) IS 'final function of lsbf_agg and lsbf_union_agg';

CREATE AGGREGATE lsbf_agg(vec bit, prototype lsbf) (
    SFUNC = lsbf_agg_step, STYPE = lsbf, SSPACE = 131072, FINALFUNC = lsbf_agg_final, COMBINEFUNC = lsbf_union,
    PARALLEL = SAFE
);
CREATE AGGREGATE lsbf_agg(vec bit varying, prototype lsbf) (
    SFUNC = lsbf_agg_step, STYPE = lsbf, SSPACE = 131072, FINALFUNC = lsbf_agg_final, COMBINEFUNC = lsbf_union,
    PARALLEL = SAFE
);
CREATE AGGREGATE lsbf_agg(vec bytea, prototype lsbf) (
    SFUNC = lsbf_agg_step, STYPE = lsbf, SSPACE = 131072, FINALFUNC = lsbf_agg_final, COMBINEFUNC = lsbf_union,
    PARALLEL = SAFE
);
CREATE AGGREGATE lsbf_agg(vec real[], prototype lsbf) (
    SFUNC = lsbf_agg_step, STYPE = lsbf, SSPACE = 131072, FINALFUNC = lsbf_agg_final, COMBINEFUNC = lsbf_union,
    PARALLEL = SAFE
);
CREATE AGGREGATE lsbf_agg(vec double precision[], prototype lsbf) (
    SFUNC = lsbf_agg_step, STYPE = lsbf, SSPACE = 131072, FINALFUNC = lsbf_agg_final, COMBINEFUNC = lsbf_union,
    PARALLEL = SAFE
);
CREATE AGGREGATE lsbf_agg(vec numeric[], prototype lsbf) (
    SFUNC = lsbf_agg_step, STYPE = lsbf, SSPACE = 131072, FINALFUNC = lsbf_agg_final, COMBINEFUNC = lsbf_union,
    PARALLEL = SAFE
);
CREATE AGGREGATE lsbf_agg(vec integer[], prototype lsbf) (
    SFUNC = lsbf_agg_step, STYPE = lsbf, SSPACE = 131072, FINALFUNC = lsbf_agg_final, COMBINEFUNC = lsbf_union,
    PARALLEL = SAFE
);
CREATE AGGREGATE lsbf_agg(vec bigint[], prototype lsbf) (
    SFUNC = lsbf_agg_step, STYPE = lsbf, SSPACE = 131072, FINALFUNC = lsbf_agg_final, COMBINEFUNC = lsbf_union,
    PARALLEL = SAFE
);
CREATE AGGREGATE lsbf_agg(vec text[], prototype lsbf) (
    SFUNC = lsbf_agg_step, STYPE = lsbf, SSPACE = 131072, FINALFUNC = lsbf_agg_final, COMBINEFUNC = lsbf_union,
    PARALLEL = SAFE
);
CREATE AGGREGATE lsbf_agg(vec text, prototype lsbf) (
    SFUNC = lsbf_agg_step, STYPE = lsbf, SSPACE = 131072, FINALFUNC = lsbf_agg_final, COMBINEFUNC = lsbf_union,
    PARALLEL = SAFE
);
COMMENT ON AGGREGATE lsbf_agg(bit, lsbf) IS 'filter of all input vectors, with the parameters and members of the prototype; that of an lsqf must be empty';
COMMENT ON AGGREGATE lsbf_agg(bit varying, lsbf) IS 'filter of all input vectors, with the parameters and members of the prototype; that of an lsqf must be empty';
COMMENT ON AGGREGATE lsbf_agg(bytea, lsbf) IS 'filter of all input vectors, with the parameters and members of the prototype; that of an lsqf must be empty';
COMMENT ON AGGREGATE lsbf_agg(real[], lsbf) IS 'filter of all input vectors, with the parameters and members of the prototype; that of an lsqf must be empty';
COMMENT ON AGGREGATE lsbf_agg(double precision[], lsbf) IS 'filter of all input vectors, with the parameters and members of the prototype; that of an lsqf must be empty';
COMMENT ON AGGREGATE lsbf_agg(numeric[], lsbf) IS 'filter of all input vectors, with the parameters and members of the prototype; that of an lsqf must be empty';
COMMENT ON AGGREGATE lsbf_agg(integer[], lsbf) IS 'filter of all input vectors, with the parameters and members of the prototype; that of an lsqf must be empty';
COMMENT ON AGGREGATE lsbf_agg(bigint[], lsbf) IS 'filter of all input vectors, with the parameters and members of the prototype; that of an lsqf must be empty';
COMMENT ON AGGREGATE lsbf_agg(text[], lsbf) IS 'filter of all input vectors, with the parameters and members of the prototype; that of an lsqf must be empty';
COMMENT ON AGGREGATE lsbf_agg(text, lsbf) IS 'filter of all input vectors, with the parameters and members of the prototype; that of an lsqf must be empty';

CREATE AGGREGATE lsbf_union_agg(lsbf) (
    SFUNC = lsbf_union, STYPE = lsbf, SSPACE = 131072, FINALFUNC = lsbf_agg_final, COMBINEFUNC = lsbf_union,
    PARALLEL = SAFE
);
COMMENT ON AGGREGATE lsbf_union_agg(lsbf) IS 'union of all input filters';

-- window functions

CREATE FUNCTION lsbf_seen(vec bit, prototype lsbf, theta double precision DEFAULT 1) RETURNS boolean
    AS 'MODULE_PATHNAME', 'lsbf_seen_bit' LANGUAGE C WINDOW IMMUTABLE PARALLEL SAFE COST 150;
CREATE FUNCTION lsbf_seen(vec bit varying, prototype lsbf, theta double precision DEFAULT 1) RETURNS boolean
    AS 'MODULE_PATHNAME', 'lsbf_seen_bit' LANGUAGE C WINDOW IMMUTABLE PARALLEL SAFE COST 150;
CREATE FUNCTION lsbf_seen(vec bytea, prototype lsbf, theta double precision DEFAULT 1) RETURNS boolean
    AS 'MODULE_PATHNAME', 'lsbf_seen_bytea' LANGUAGE C WINDOW IMMUTABLE PARALLEL SAFE COST 150;
CREATE FUNCTION lsbf_seen(vec real[], prototype lsbf, theta double precision DEFAULT 1) RETURNS boolean
    AS 'MODULE_PATHNAME', 'lsbf_seen_real' LANGUAGE C WINDOW IMMUTABLE PARALLEL SAFE COST 150;
CREATE FUNCTION lsbf_seen(vec double precision[], prototype lsbf, theta double precision DEFAULT 1) RETURNS boolean
    AS 'MODULE_PATHNAME', 'lsbf_seen_double' LANGUAGE C WINDOW IMMUTABLE PARALLEL SAFE COST 150;
CREATE FUNCTION lsbf_seen(vec numeric[], prototype lsbf, theta double precision DEFAULT 1) RETURNS boolean
    AS 'MODULE_PATHNAME', 'lsbf_seen_numeric' LANGUAGE C WINDOW IMMUTABLE PARALLEL SAFE COST 150;
CREATE FUNCTION lsbf_seen(vec integer[], prototype lsbf, theta double precision DEFAULT 1) RETURNS boolean
    AS 'MODULE_PATHNAME', 'lsbf_seen_int' LANGUAGE C WINDOW IMMUTABLE PARALLEL SAFE COST 150;
CREATE FUNCTION lsbf_seen(vec bigint[], prototype lsbf, theta double precision DEFAULT 1) RETURNS boolean
    AS 'MODULE_PATHNAME', 'lsbf_seen_bigint' LANGUAGE C WINDOW IMMUTABLE PARALLEL SAFE COST 150;
CREATE FUNCTION lsbf_seen(vec text[], prototype lsbf, theta double precision DEFAULT 1) RETURNS boolean
    AS 'MODULE_PATHNAME', 'lsbf_seen_texts' LANGUAGE C WINDOW IMMUTABLE PARALLEL SAFE COST 150;
CREATE FUNCTION lsbf_seen(vec text, prototype lsbf, theta double precision DEFAULT 1) RETURNS boolean
    AS 'MODULE_PATHNAME', 'lsbf_seen_text' LANGUAGE C WINDOW IMMUTABLE PARALLEL SAFE COST 150;
COMMENT ON FUNCTION lsbf_seen(bit, lsbf, double precision) IS 'is any earlier vector of the partition within theta * near of this one? (approximate)';
COMMENT ON FUNCTION lsbf_seen(bit varying, lsbf, double precision) IS 'is any earlier vector of the partition within theta * near of this one? (approximate)';
COMMENT ON FUNCTION lsbf_seen(bytea, lsbf, double precision) IS 'is any earlier vector of the partition within theta * near of this one? (approximate)';
COMMENT ON FUNCTION lsbf_seen(real[], lsbf, double precision) IS 'is any earlier vector of the partition within theta * near of this one? (approximate)';
COMMENT ON FUNCTION lsbf_seen(double precision[], lsbf, double precision) IS 'is any earlier vector of the partition within theta * near of this one? (approximate)';
COMMENT ON FUNCTION lsbf_seen(numeric[], lsbf, double precision) IS 'is any earlier vector of the partition within theta * near of this one? (approximate)';
COMMENT ON FUNCTION lsbf_seen(integer[], lsbf, double precision) IS 'is any earlier vector of the partition within theta * near of this one? (approximate)';
COMMENT ON FUNCTION lsbf_seen(bigint[], lsbf, double precision) IS 'is any earlier vector of the partition within theta * near of this one? (approximate)';
COMMENT ON FUNCTION lsbf_seen(text[], lsbf, double precision) IS 'is any earlier vector of the partition within theta * near of this one? (approximate)';
COMMENT ON FUNCTION lsbf_seen(text, lsbf, double precision) IS 'is any earlier vector of the partition within theta * near of this one? (approximate)';

CREATE FUNCTION lsbf_first(vec bit, prototype lsbf, theta double precision DEFAULT 1) RETURNS boolean
    AS 'MODULE_PATHNAME', 'lsbf_first_bit' LANGUAGE C WINDOW IMMUTABLE PARALLEL SAFE COST 150;
CREATE FUNCTION lsbf_first(vec bit varying, prototype lsbf, theta double precision DEFAULT 1) RETURNS boolean
    AS 'MODULE_PATHNAME', 'lsbf_first_bit' LANGUAGE C WINDOW IMMUTABLE PARALLEL SAFE COST 150;
CREATE FUNCTION lsbf_first(vec bytea, prototype lsbf, theta double precision DEFAULT 1) RETURNS boolean
    AS 'MODULE_PATHNAME', 'lsbf_first_bytea' LANGUAGE C WINDOW IMMUTABLE PARALLEL SAFE COST 150;
CREATE FUNCTION lsbf_first(vec real[], prototype lsbf, theta double precision DEFAULT 1) RETURNS boolean
    AS 'MODULE_PATHNAME', 'lsbf_first_real' LANGUAGE C WINDOW IMMUTABLE PARALLEL SAFE COST 150;
CREATE FUNCTION lsbf_first(vec double precision[], prototype lsbf, theta double precision DEFAULT 1) RETURNS boolean
    AS 'MODULE_PATHNAME', 'lsbf_first_double' LANGUAGE C WINDOW IMMUTABLE PARALLEL SAFE COST 150;
CREATE FUNCTION lsbf_first(vec numeric[], prototype lsbf, theta double precision DEFAULT 1) RETURNS boolean
    AS 'MODULE_PATHNAME', 'lsbf_first_numeric' LANGUAGE C WINDOW IMMUTABLE PARALLEL SAFE COST 150;
CREATE FUNCTION lsbf_first(vec integer[], prototype lsbf, theta double precision DEFAULT 1) RETURNS boolean
    AS 'MODULE_PATHNAME', 'lsbf_first_int' LANGUAGE C WINDOW IMMUTABLE PARALLEL SAFE COST 150;
CREATE FUNCTION lsbf_first(vec bigint[], prototype lsbf, theta double precision DEFAULT 1) RETURNS boolean
    AS 'MODULE_PATHNAME', 'lsbf_first_bigint' LANGUAGE C WINDOW IMMUTABLE PARALLEL SAFE COST 150;
CREATE FUNCTION lsbf_first(vec text[], prototype lsbf, theta double precision DEFAULT 1) RETURNS boolean
    AS 'MODULE_PATHNAME', 'lsbf_first_texts' LANGUAGE C WINDOW IMMUTABLE PARALLEL SAFE COST 150;
CREATE FUNCTION lsbf_first(vec text, prototype lsbf, theta double precision DEFAULT 1) RETURNS boolean
    AS 'MODULE_PATHNAME', 'lsbf_first_text' LANGUAGE C WINDOW IMMUTABLE PARALLEL SAFE COST 150;
COMMENT ON FUNCTION lsbf_first(bit, lsbf, double precision) IS 'is this vector kept because no vector kept earlier in the partition is within theta * near of it? (approximate)';
COMMENT ON FUNCTION lsbf_first(bit varying, lsbf, double precision) IS 'is this vector kept because no vector kept earlier in the partition is within theta * near of it? (approximate)';
COMMENT ON FUNCTION lsbf_first(bytea, lsbf, double precision) IS 'is this vector kept because no vector kept earlier in the partition is within theta * near of it? (approximate)';
COMMENT ON FUNCTION lsbf_first(real[], lsbf, double precision) IS 'is this vector kept because no vector kept earlier in the partition is within theta * near of it? (approximate)';
COMMENT ON FUNCTION lsbf_first(double precision[], lsbf, double precision) IS 'is this vector kept because no vector kept earlier in the partition is within theta * near of it? (approximate)';
COMMENT ON FUNCTION lsbf_first(numeric[], lsbf, double precision) IS 'is this vector kept because no vector kept earlier in the partition is within theta * near of it? (approximate)';
COMMENT ON FUNCTION lsbf_first(integer[], lsbf, double precision) IS 'is this vector kept because no vector kept earlier in the partition is within theta * near of it? (approximate)';
COMMENT ON FUNCTION lsbf_first(bigint[], lsbf, double precision) IS 'is this vector kept because no vector kept earlier in the partition is within theta * near of it? (approximate)';
COMMENT ON FUNCTION lsbf_first(text[], lsbf, double precision) IS 'is this vector kept because no vector kept earlier in the partition is within theta * near of it? (approximate)';
COMMENT ON FUNCTION lsbf_first(text, lsbf, double precision) IS 'is this vector kept because no vector kept earlier in the partition is within theta * near of it? (approximate)';

-- casts

CREATE FUNCTION lsbf_to_bytea(lsbf) RETURNS bytea
    AS 'MODULE_PATHNAME', 'lsbf_to_bytea' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION lsbf_from_bytea(bytea) RETURNS lsbf
    AS 'MODULE_PATHNAME', 'lsbf_from_bytea' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION lsbf_to_bytea(lsbf) IS 'convert filter to bytea';
COMMENT ON FUNCTION lsbf_from_bytea(bytea) IS 'convert bytea to filter, after validating it';

CREATE CAST (lsbf AS bytea) WITH FUNCTION lsbf_to_bytea(lsbf);
CREATE CAST (bytea AS lsbf) WITH FUNCTION lsbf_from_bytea(bytea);

-- operators

CREATE FUNCTION lsbf_eq(lsbf, lsbf) RETURNS boolean
    AS 'MODULE_PATHNAME', 'lsbf_eq' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION lsbf_ne(lsbf, lsbf) RETURNS boolean
    AS 'MODULE_PATHNAME', 'lsbf_ne' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION lsbf_lt(lsbf, lsbf) RETURNS boolean
    AS 'MODULE_PATHNAME', 'lsbf_lt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION lsbf_le(lsbf, lsbf) RETURNS boolean
    AS 'MODULE_PATHNAME', 'lsbf_le' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION lsbf_gt(lsbf, lsbf) RETURNS boolean
    AS 'MODULE_PATHNAME', 'lsbf_gt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION lsbf_ge(lsbf, lsbf) RETURNS boolean
    AS 'MODULE_PATHNAME', 'lsbf_ge' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION lsbf_cmp(lsbf, lsbf) RETURNS integer
    AS 'MODULE_PATHNAME', 'lsbf_cmp' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION lsbf_hash(lsbf) RETURNS integer
    AS 'MODULE_PATHNAME', 'lsbf_hash' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION lsbf_eq(lsbf, lsbf) IS 'implementation of =';
COMMENT ON FUNCTION lsbf_ne(lsbf, lsbf) IS 'implementation of <>';
COMMENT ON FUNCTION lsbf_lt(lsbf, lsbf) IS 'implementation of <';
COMMENT ON FUNCTION lsbf_le(lsbf, lsbf) IS 'implementation of <=';
COMMENT ON FUNCTION lsbf_gt(lsbf, lsbf) IS 'implementation of >';
COMMENT ON FUNCTION lsbf_ge(lsbf, lsbf) IS 'implementation of >=';
COMMENT ON FUNCTION lsbf_cmp(lsbf, lsbf) IS 'less-equal-greater';
CREATE FUNCTION lsbf_hash_extended(lsbf, bigint) RETURNS bigint
    AS 'MODULE_PATHNAME', 'lsbf_hash_extended' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION lsbf_hash_extended(lsbf, bigint) IS '64-bit hash with a seed';
COMMENT ON FUNCTION lsbf_hash(lsbf) IS 'hash';

CREATE OPERATOR = (
    LEFTARG = lsbf, RIGHTARG = lsbf, FUNCTION = lsbf_eq, COMMUTATOR = =, NEGATOR = <>,
    RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES
);
CREATE OPERATOR <> (
    LEFTARG = lsbf, RIGHTARG = lsbf, FUNCTION = lsbf_ne, COMMUTATOR = <>, NEGATOR = =,
    RESTRICT = neqsel, JOIN = neqjoinsel
);
CREATE OPERATOR < (
    LEFTARG = lsbf, RIGHTARG = lsbf, FUNCTION = lsbf_lt, COMMUTATOR = >, NEGATOR = >=,
    RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
CREATE OPERATOR <= (
    LEFTARG = lsbf, RIGHTARG = lsbf, FUNCTION = lsbf_le, COMMUTATOR = >=, NEGATOR = >,
    RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
CREATE OPERATOR > (
    LEFTARG = lsbf, RIGHTARG = lsbf, FUNCTION = lsbf_gt, COMMUTATOR = <, NEGATOR = <=,
    RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
CREATE OPERATOR >= (
    LEFTARG = lsbf, RIGHTARG = lsbf, FUNCTION = lsbf_ge, COMMUTATOR = <=, NEGATOR = <,
    RESTRICT = scalargesel, JOIN = scalargejoinsel
);
CREATE OPERATOR | (
    LEFTARG = lsbf, RIGHTARG = lsbf, FUNCTION = lsbf_union, COMMUTATOR = |
);
COMMENT ON OPERATOR = (lsbf, lsbf) IS 'equal: same parameters, same bits';
COMMENT ON OPERATOR <> (lsbf, lsbf) IS 'not equal';
COMMENT ON OPERATOR < (lsbf, lsbf) IS 'less than, in byte order';
COMMENT ON OPERATOR <= (lsbf, lsbf) IS 'less than or equal, in byte order';
COMMENT ON OPERATOR > (lsbf, lsbf) IS 'greater than, in byte order';
COMMENT ON OPERATOR >= (lsbf, lsbf) IS 'greater than or equal, in byte order';
COMMENT ON OPERATOR | (lsbf, lsbf) IS 'union';

CREATE OPERATOR CLASS lsbf_hash_ops DEFAULT FOR TYPE lsbf USING hash AS
    OPERATOR 1 =,
    FUNCTION 1 lsbf_hash(lsbf),
    FUNCTION 2 lsbf_hash_extended(lsbf, bigint);
COMMENT ON OPERATOR CLASS lsbf_hash_ops USING hash IS 'equality of filters';

CREATE OPERATOR CLASS lsbf_ops DEFAULT FOR TYPE lsbf USING btree AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 lsbf_cmp(lsbf, lsbf);
COMMENT ON OPERATOR CLASS lsbf_ops USING btree IS 'byte order of filters, for sorting and DISTINCT';
