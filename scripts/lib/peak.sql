-- Peak memory of this backend in kB, without shared buffers.
CREATE FUNCTION peak() RETURNS bigint LANGUAGE sql AS $$
  SELECT (regexp_match(s, 'VmHWM:\s+(\d+)'))[1]::bigint - (regexp_match(s, 'RssShmem:\s+(\d+)'))[1]::bigint
  FROM pg_read_file('/proc/self/status') AS s
$$;
