-- Every object that users can refer to, as \df, \dT+, \do, \dC and \dx+ show it. A change here is a change of the interface.
CREATE VIEW ours AS
  SELECT p.*, pg_get_function_arguments(p.oid) AS arguments FROM pg_proc p JOIN pg_depend d ON d.objid = p.oid AND d.classid = 'pg_proc'::regclass
  JOIN pg_extension e ON e.oid = d.refobjid AND d.refclassid = 'pg_extension'::regclass WHERE extname = 'pg_lsbf';
CREATE VIEW inputs AS SELECT unnest(ARRAY['bit', 'bit varying', 'bytea', 'real[]', 'double precision[]', 'numeric[]', 'integer[]', 'bigint[]', 'text[]', 'text']) AS t;

-- Functions that take a vector are overloaded for each vector type; '*' stands for all of them.
CREATE VIEW named AS SELECT oid, proname, prokind, procost, regexp_replace(arguments, 'vec [^,]*', 'vec *') AS arguments,
  pg_get_function_result(oid) AS result, substring(arguments FROM 'vec ([^,]*)') AS input FROM ours;
\pset format unaligned
-- Arguments marked with '?' may be omitted and are then derived.
SELECT proname, regexp_replace(arguments, '(double precision|bigint|integer|boolean) DEFAULT NULL::\1', '\1?', 'g') AS arguments, result, count(*) AS versions FROM named
  WHERE proname !~ '_(in|out|send|recv|eq|ne|lt|le|gt|ge|cmp|hash|extended|step|support)$' GROUP BY 1, 2, 3 ORDER BY 1, 2;
\pset format aligned
-- No overload is missing.
SELECT proname, t AS missing FROM (SELECT DISTINCT proname FROM named WHERE input IS NOT NULL) n, inputs
  WHERE NOT EXISTS (SELECT FROM named WHERE named.proname = n.proname AND input = t);
-- All overloads of a function have the same cost and description.
SELECT proname FROM named GROUP BY proname HAVING count(DISTINCT (procost, obj_description(oid, 'pg_proc'))) > 1;
SELECT DISTINCT proname, obj_description(oid, 'pg_proc') AS description, procost AS cost FROM named ORDER BY 1;

-- Descriptions follow PostgreSQL's style: no initial capital, no full stop.
SELECT pg_describe_object(classoid, objoid, objsubid), description FROM pg_description
  WHERE (classoid, objoid) IN (SELECT classid, objid FROM pg_depend WHERE refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pg_lsbf') AND deptype = 'e')
    AND (description ~ '[.]$' OR description ~ '^[A-Z][a-z]');

\dT+ lsbf
\do | lsbf lsbf
\do = lsbf lsbf
SELECT castsource::regtype, casttarget::regtype, castfunc::regproc, castcontext FROM pg_cast
  WHERE 'lsbf'::regtype IN (castsource, casttarget) ORDER BY castsource::regtype::text;
SELECT opcname, amname, opcdefault FROM pg_opclass JOIN pg_am a ON a.oid = opcmethod WHERE opcintype = 'lsbf'::regtype;
