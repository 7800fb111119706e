-- What the extension installs, and how.
SELECT extrelocatable, extversion = (SELECT default_version FROM pg_available_extensions WHERE name = 'pg_lsbf') AS newest
  FROM pg_extension WHERE extname = 'pg_lsbf';
SELECT typstorage, typalign, typlen FROM pg_type WHERE typname = 'lsbf';

CREATE VIEW ours AS
  SELECT p.* FROM pg_proc p JOIN pg_depend d ON d.objid = p.oid AND d.classid = 'pg_proc'::regclass
  JOIN pg_extension e ON e.oid = d.refobjid AND d.refclassid = 'pg_extension'::regclass WHERE extname = 'pg_lsbf';

-- Everything is immutable and parallel safe, except what reads tables or the state of the session; nothing is SECURITY DEFINER.
SELECT count(*) > 0 AS some, bool_and(provolatile = 'i' OR proname IN ('lsbf_design_for', 'lsbf_cache')) AS immutable,
  bool_and(proparallel = 's' OR proname IN ('lsbf_design_for', 'lsbf_cache')) AS parallel_safe,
  bool_or(prosecdef) AS definer FROM ours;
-- Not strict: functions whose arguments may be omitted, aggregates, transition functions and window functions.
SELECT DISTINCT proname FROM ours WHERE NOT proisstrict ORDER BY 1;
-- Every aggregate can run in parallel: it has a combine function, and its state is not of type internal.
SELECT aggfnoid::regprocedure FROM pg_aggregate
  WHERE aggfnoid IN (SELECT oid FROM ours) AND (aggcombinefn = 0 OR aggtranstype = 'internal'::regtype);
-- Every function, operator and type has a description.
SELECT pg_describe_object(classid, objid, 0) FROM pg_depend d
  WHERE refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pg_lsbf') AND deptype = 'e'
    AND classid <> 'pg_cast'::regclass AND classid <> 'pg_opfamily'::regclass
    AND obj_description(objid, classid::regclass::text) IS NULL
    AND NOT (classid = 'pg_type'::regclass AND objid IN ('lsbf[]'::regtype, 'lsbf_choice[]'::regtype))
  ORDER BY 1;

-- It is trusted: any role with the CREATE privilege on the database can create and drop it. A superuser can move it.
DROP VIEW ours;
DROP EXTENSION pg_lsbf;
CREATE ROLE owner_of_test;
GRANT CREATE ON DATABASE test_extension TO owner_of_test;
CREATE SCHEMA here AUTHORIZATION owner_of_test;
CREATE SCHEMA "There is" AUTHORIZATION owner_of_test;
SET ROLE owner_of_test;
CREATE EXTENSION pg_lsbf SCHEMA here;
SELECT here.approx_member(here.lsbf_agg(B'0101', here.dsbf_new(capacity => 10, near => 0.1, far => 0.5)), B'0101');
SELECT here.lsbf_union_agg(f) OPERATOR(here.=) here.lsbf_union_agg(f OPERATOR(here.|) f)
  FROM (SELECT here.lsbf_add(here.dsbf_new(capacity => 10, near => 0.1, far => 0.5), B'0101') AS f) s;
RESET ROLE;
ALTER EXTENSION pg_lsbf SET SCHEMA "There is";
SET ROLE owner_of_test;
SELECT "There is".approx_member("There is".lsbf_agg(B'0101', "There is".dsbf_new(capacity => 10, near => 0.1, far => 0.5)), B'0101');
DROP EXTENSION pg_lsbf;
RESET ROLE;
REVOKE CREATE ON DATABASE test_extension FROM owner_of_test;
DROP SCHEMA here, "There is";
DROP ROLE owner_of_test;
