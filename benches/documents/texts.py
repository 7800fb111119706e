"""Generates the texts of the benchmark and, for every query, its exact similarity to the nearest member.

Reads texts from stdin, one per line; if there are too few, all are generated. Writes members.tsv (id, text) and queries.tsv
(id, batch, nearest similarity, text) for COPY into the given directory.
"""

import itertools
import random
import sys
import time

import numpy as np

SIZE = 5
SEED = 20
TARGETS = {"planted 0.7": 0.7, "planted 0.85": 0.85}
# Allowed difference between the similarity of a planted text and its target: one letter of a short text changes it by 0.1.
TOLERANCE = 0.02
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def shingles(text):
    """The set that lsbf_shingles(text, 5) hashes."""
    if len(text) < SIZE:
        return {text}
    return {text[i : i + SIZE] for i in range(len(text) - SIZE + 1)}


def jaccard(a, b):
    both = len(a & b)
    return both / (len(a) + len(b) - both)


def generated(count, chance):
    """Texts of 6 to 14 words; the frequency of the r-th word of the vocabulary is proportional to 1 / r."""
    vocabulary = ["".join(chance.choices(LETTERS, k=chance.randint(2, 10))) for _ in range(20000)]
    weights = list(itertools.accumulate(1 / rank for rank in range(1, len(vocabulary) + 1)))
    texts = set()
    while len(texts) < count:
        texts.add(" ".join(chance.choices(vocabulary, cum_weights=weights, k=chance.randint(6, 14))))
    return sorted(texts)


def changed(text, target, chance):
    """The text with some letters replaced, so that its similarity to the original is the target; None if that fails."""
    old = shingles(text)
    # Replacing c letters that are far apart keeps n - 5c of n shingles and adds 5c.
    letters = max(1, round(len(old) * (1 - target) / (1 + target) / SIZE))
    for attempt in range(20):
        new = list(text)
        for at in chance.sample(range(len(new)), min(len(new), letters + attempt % 2)):
            new[at] = chance.choice(LETTERS)
        new = " ".join("".join(new).split())
        if abs(jaccard(old, shingles(new)) - target) <= TOLERANCE:
            return new
    return None


def planted(members, target, count, chance):
    found = []
    for text in chance.sample(members, len(members)):
        new = changed(text, target, chance)
        if new:
            found.append(new)
            if len(found) == count:
                break
    return found


def nearest(members, queries):
    """The greatest Jaccard similarity of each query to a member, computed with an inverted index."""
    numbers = {}
    sizes, which, owners = [], [], []
    for owner, text in enumerate(members):
        own = shingles(text)
        sizes.append(len(own))
        which.extend(numbers.setdefault(run, len(numbers)) for run in own)
        owners.extend([owner] * len(own))
    which, owners, sizes = np.array(which), np.array(owners, dtype=np.int32), np.array(sizes)
    owners = owners[np.argsort(which, kind="stable")]
    starts = np.concatenate([[0], np.cumsum(np.bincount(which, minlength=len(numbers)))])
    found = []
    reported = time.time()
    for done, text in enumerate(queries):
        own = shingles(text)
        known = [numbers[run] for run in own if run in numbers]
        best = 0.0
        if known:
            both = np.bincount(np.concatenate([owners[starts[k] : starts[k + 1]] for k in known]), minlength=len(sizes))
            best = float((both / (sizes + len(own) - both)).max())
        found.append(best)
        if time.time() - reported > 5:
            reported = time.time()
            print(f"    exact similarities: {done + 1:,} of {len(queries):,}", file=sys.stderr)
    return found


def write(path, rows):
    with open(path, "w", encoding="utf-8") as file:
        for row in rows:
            file.write("\t".join(str(field).replace("\\", "\\\\") for field in row) + "\n")


def main():
    directory, count = sys.argv[1], int(sys.argv[2])
    chance = random.Random(SEED)
    lines = sys.stdin.buffer.read().decode("utf-8", "replace").splitlines()
    texts = sorted({" ".join(line.split()) for line in lines} - {""})
    source = "Debian's packages, name and short description"
    if len(texts) < count:
        source, texts = "generated", generated(count, chance)
    texts = chance.sample(texts, count)
    members, others = texts[: count * 4 // 5], texts[count * 4 // 5 :]
    queries = [("other", text) for text in others]
    for batch, target in TARGETS.items():
        number = min(len(members), max(100, count // 50))
        queries += [(batch, text) for text in planted(members, target, number, chance)]
    similarities = nearest(members, [text for _, text in queries])
    write(f"{directory}/members.tsv", enumerate(members))
    write(
        f"{directory}/queries.tsv",
        ((i, batch, f"{similarity:.6f}", text) for i, ((batch, text), similarity) in enumerate(zip(queries, similarities))),
    )
    print(source)


if __name__ == "__main__":
    main()
