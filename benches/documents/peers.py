"""Measures datasketch's MinHashLSH and MinHashLSHBloom on the texts of texts.py and prints JSON.

Signatures are computed from shingles that are already hashed, as approx_member does with the sets of lsbf_shingles; the time of the
usual way, which hashes the texts, is measured as well.
"""

import json
import os
import pickle
import sys
import tempfile
import time
import tracemalloc
import warnings

import datasketch
from datasketch import MinHash, MinHashLSH
from datasketch.hashfunc import sha1_hash32

from texts import shingles

PERMUTATIONS = 128
THRESHOLD = 0.7
# The false positive rate of each band's Bloom filter.
FP = 0.001
warnings.simplefilter("ignore")


def rows(path):
    with open(path, encoding="utf-8") as file:
        return [line.rstrip("\n").replace("\\\\", "\\").split("\t") for line in file]


def best(repeats, work):
    """Seconds of the fastest of several runs, after one to warm up, and the result."""
    times = []
    for _ in range(repeats + 1):
        started = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - started)
    return min(times[1:]), result


def timed(work):
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def insert_keys(index, signatures):
    for key, signature in enumerate(signatures):
        index.insert(key, signature)


def insert(index, signatures):
    for signature in signatures:
        index.insert(signature)


def memory_of(make):
    tracemalloc.start()
    kept = make()
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    del kept
    return size


def measure_lsh(members, queries, repeats):
    def made():
        index = MinHashLSH(threshold=THRESHOLD, num_perm=PERMUTATIONS)
        insert_keys(index, members)
        return index

    index = MinHashLSH(threshold=THRESHOLD, num_perm=PERMUTATIONS)
    insert_seconds = timed(lambda: insert_keys(index, members))
    seconds, passed = best(repeats, lambda: [bool(index.query(signature)) for signature in queries])
    return {
        "name": "MinHashLSH",
        "bands": index.b,
        "rows": index.r,
        "bytes": len(pickle.dumps(index, protocol=5)),
        "memory": memory_of(made),
        "insert_seconds": insert_seconds,
        "query_seconds": seconds,
        "passed": passed,
    }


def measure_bloom(members, queries, repeats, weights=(0.5, 0.5)):
    """Weights of false positives and false negatives; the default is equal weights."""
    from datasketch import MinHashLSHBloom

    with tempfile.TemporaryDirectory() as directory:
        index = MinHashLSHBloom(
            threshold=THRESHOLD, num_perm=PERMUTATIONS, n=len(members), fp=FP, weights=weights, save_dir=directory
        )
        insert_seconds = timed(lambda: insert(index, members))
        seconds, passed = best(repeats, lambda: [index.query(signature) for signature in queries])
        index.sync()
        size = sum(os.path.getsize(os.path.join(directory, name)) for name in os.listdir(directory))
    return {
        "name": "MinHashLSHBloom" + (f", weights {weights[0]} and {weights[1]}" if weights[0] != weights[1] else ""),
        "bands": index.b,
        "rows": index.r,
        "bytes": size,
        "memory": None,
        "insert_seconds": insert_seconds,
        "query_seconds": seconds,
        "passed": [bool(answer) for answer in passed],
    }


def measure_careful_bloom(members, queries, repeats):
    return measure_bloom(members, queries, repeats, (0.1, 0.9))


def main():
    directory, repeats = sys.argv[1], int(sys.argv[2])
    members = [text for _, text in rows(f"{directory}/members.tsv")]
    queries = [text for *_, text in rows(f"{directory}/queries.tsv")]

    def say(what):
        print(f"    datasketch {datasketch.__version__}: {what}", file=sys.stderr)

    say("sets and signatures")
    set_seconds, sets = best(repeats, lambda: [[run.encode() for run in shingles(text)] for text in queries])
    usual_seconds, _ = best(1, lambda: MinHash.bulk(sets, num_perm=PERMUTATIONS))
    hashed = [[sha1_hash32(run) for run in own] for own in sets]
    seconds, query_signatures = best(
        repeats, lambda: MinHash.bulk(hashed, num_perm=PERMUTATIONS, hashfunc=int)
    )
    member_sets = [[sha1_hash32(run.encode()) for run in shingles(text)] for text in members]
    member_signatures = MinHash.bulk(member_sets, num_perm=PERMUTATIONS, hashfunc=int)

    ways = []
    for measure in (measure_lsh, measure_bloom, measure_careful_bloom):
        try:
            ways.append(measure(member_signatures, query_signatures, repeats))
            say(ways[-1]["name"])
        except ImportError as error:
            print(f"    skipped: {error}", file=sys.stderr)
    json.dump(
        {
            "version": datasketch.__version__,
            "permutations": PERMUTATIONS,
            "threshold": THRESHOLD,
            "fp": FP,
            "members": len(members),
            "queries": len(queries),
            "elements": sum(map(len, sets)),
            "set_seconds": set_seconds,
            "signature_seconds": seconds,
            "signature_from_texts_seconds": usual_seconds,
            "ways": ways,
        },
        sys.stdout,
    )


if __name__ == "__main__":
    main()
