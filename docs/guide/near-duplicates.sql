-- Near-duplicates within one table: which tickets were sent twice, in slightly other words?
-- Run it in an empty database: psql -f near-duplicates.sql

CREATE EXTENSION pg_lsbf;

-- 3,000 tickets. Every 30th repeats an earlier one with another ending.
CREATE TABLE tickets AS
  SELECT id, format('Since update %s the machine in hall %s stops at step %s with the message %s, and then %s.', md5(o::text),
    o % 17, o * 7919 % 1000, md5((o * 31)::text), CASE WHEN id = o THEN 'starts again' ELSE 'it starts all over' END) AS body
  FROM generate_series(1, 3000) id, LATERAL (SELECT CASE WHEN id % 30 = 0 THEN id / 2 + 2 ELSE id END AS o) s;
SELECT id, body FROM tickets WHERE id IN (17, 30);

-- A text becomes a set: every run of five characters. The distance between two texts is 1 - intersection / union of their sets.
ALTER TABLE tickets ADD shingles bigint[];
UPDATE tickets SET shingles = lsbf_shingles(body);
SELECT round(jaccard_distance(a.shingles, b.shingles)::numeric, 2) AS a_copy, round(jaccard_distance(a.shingles, c.shingles)::numeric, 2) AS unrelated
FROM tickets a, tickets b, tickets c WHERE a.id = 17 AND b.id = 30 AND c.id = 18;

-- Say how close is close (near); the rest is learned from the table. A prototype is an empty filter: it says how to hash.
CREATE TABLE prototypes AS
  SELECT prototype FROM lsbf_design_for('tickets', 'shingles', near => 0.2, metric => 'jaccard') LIMIT 1;

-- One pass forwards tells the rows that have something near before them, one backwards those that have it behind them.
CREATE TABLE flagged AS
  SELECT id, shingles,
    lsbf_seen(shingles, (SELECT prototype FROM prototypes)) OVER (ORDER BY id) AS has_earlier,
    lsbf_seen(shingles, (SELECT prototype FROM prototypes)) OVER (ORDER BY id DESC) AS has_later
  FROM tickets;
SELECT count(*) AS tickets, count(*) FILTER (WHERE has_earlier) AS has_earlier, count(*) FILTER (WHERE has_later) AS has_later FROM flagged;

-- A flagged row is a candidate. Compare it exactly: a few hundred rows with a few hundred, instead of 3,000 with 3,000.
CREATE TABLE pairs AS
  SELECT a.id AS original, b.id AS copy, jaccard_distance(a.shingles, b.shingles) AS distance
  FROM flagged a JOIN flagged b ON a.has_later AND b.has_earlier AND a.id < b.id WHERE jaccard_distance(a.shingles, b.shingles) <= 0.2;
SELECT count(*) AS pairs, round(max(distance)::numeric, 2) AS farthest, count(*) FILTER (WHERE copy % 30 = 0) AS planted FROM pairs;

-- Close the copies: each points to the ticket that stays.
ALTER TABLE tickets ADD same_as int;
UPDATE tickets SET same_as = original FROM (SELECT copy, min(original) AS original FROM pairs GROUP BY copy) p WHERE id = copy;
SELECT count(*) FILTER (WHERE same_as IS NULL) AS open, count(same_as) AS closed FROM tickets;

-- If a few errors do no harm, one pass is enough: keep a row if no row near it was kept before.
SELECT count(*) FILTER (WHERE first) AS kept FROM (
  SELECT lsbf_first(shingles, (SELECT prototype FROM prototypes)) OVER (ORDER BY id) AS first FROM tickets) t;
