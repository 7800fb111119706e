"""Puts the results of pg_lsbf and datasketch into one table: on the screen, as Markdown and as JSON."""

import datetime
import json
import os
import sys


def counted(queries, passed):
    """The same counts as in json.sql, for the answers of a peer."""
    groups = {
        "near": lambda batch, similarity: similarity >= 0.7,
        "planted": lambda batch, similarity: batch == "planted 0.7",
        "closer": lambda batch, similarity: batch == "planted 0.85",
        "between": lambda batch, similarity: 0.5 <= similarity < 0.7,
        "far": lambda batch, similarity: similarity < 0.5,
    }
    rates = {}
    for name, belongs in groups.items():
        answers = [answer for (batch, similarity), answer in zip(queries, passed) if belongs(batch, similarity)]
        rates[f"{name}_count"] = len(answers)
        rates[f"{name}_passed"] = sum(answers)
    return rates


def share(rates, name):
    return rates[f"{name}_passed"] / rates[f"{name}_count"] if rates[f"{name}_count"] else None


def row(name, shape, rates, **figures):
    shares = {f"{group}_share": share(rates, group) for group in ("near", "planted", "closer", "between", "far")}
    return {"name": name, "shape": shape, **shares, **figures, "counts": rates}


def our_rows(ours):
    times = ours["times"]
    for f in ours["filters"]:
        yield row(
            f"pg_lsbf, {f['name']}" if f["chosen"] else "pg_lsbf",
            f"{f['tables']} x {f['hashes']}" + (f", {f['votes']} votes" if f["votes"] > 1 else ""),
            f["rates"],
            predicted_near=f["predicted_near"],
            predicted_far=f["predicted_far"],
            bytes=f["bytes"] / ours["members"],
            set_us=times["shingles"] - times["scan of texts"],
            answer_us=times[f"query {f['name']}"],
            build_us=times[f"build {f['name']}"],
        )


def peer_rows(peers, queries):
    per_query, per_member = 1e6 / peers["queries"], 1e6 / peers["members"]
    signature = peers["signature_seconds"] * per_query
    for way in peers["ways"]:
        yield row(
            f"datasketch, {way['name']}",
            f"{way['bands']} x {way['rows']}",
            counted(queries, way["passed"]),
            bytes=way["bytes"] / peers["members"],
            memory=way["memory"] and way["memory"] / peers["members"],
            set_us=peers["set_seconds"] * per_query,
            signature_us=signature,
            query_us=way["query_seconds"] * per_query,
            answer_us=signature + way["query_seconds"] * per_query,
            build_us=signature + way["insert_seconds"] * per_member,
        )


def percent(value):
    return "" if value is None else f"{100 * value:.2f} %" if value < 0.1 else f"{100 * value:.1f} %"


def number(value):
    return "" if value is None else f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


# The filter with the bands that datasketch uses at threshold 0.7: times are relative to it.
BASE = "14 x 9"

COLUMNS = [
    ("method", lambda r: r["name"]),
    ("bands x rows", lambda r: r["shape"]),
    ("found, 0.7 or more", lambda r: percent(r["near_share"])),
    ("predicted", lambda r: percent(r.get("predicted_near"))),
    ("found, planted at 0.7", lambda r: percent(r["planted_share"])),
    ("at 0.85", lambda r: percent(r["closer_share"])),
    ("pass, below 0.5", lambda r: percent(r["far_share"])),
    ("predicted", lambda r: percent(r.get("predicted_far"))),
    ("pass, between", lambda r: percent(r["between_share"])),
    ("bytes per member", lambda r: number(r["bytes"])),
    ("text to set, us", lambda r: number(r["set_us"])),
    ("set to answer, us", lambda r: number(r["answer_us"])),
    ("build, us per member", lambda r: number(r["build_us"])),
    (f"time relative to {BASE}", lambda r: number(r["ratio"])),
]


def table(rows):
    return [[title for title, _ in COLUMNS]] + [[show(r) for _, show in COLUMNS] for r in rows]


def printed(cells):
    widths = [max(map(len, column)) for column in zip(*cells)]
    for line in cells:
        print("  " + "  ".join(c.ljust(w) if i < 2 else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths))))


def markdown(cells):
    lines = ["| " + " | ".join(line) + " |" for line in cells]
    return "\n".join([lines[0], "|" + "---|" * len(cells[0]), *lines[1:]])


def main():
    data, out, processor = sys.argv[1:]
    with open(f"{data}/ours.json", encoding="utf-8") as file:
        ours = json.load(file)
    with open(f"{data}/source", encoding="utf-8") as file:
        source = file.read().strip()
    with open(f"{data}/queries.tsv", encoding="utf-8") as file:
        queries = [(batch, float(similarity)) for _, batch, similarity, _ in (line.split("\t") for line in file)]
    rows, peers = list(our_rows(ours)), None
    if os.path.exists(f"{data}/peers.json"):
        with open(f"{data}/peers.json", encoding="utf-8") as file:
            peers = json.load(file)
        assert peers["elements"] == ours["elements"], "the sets of Python differ from those of lsbf_shingles"
        rows += peer_rows(peers, queries)
    base = ours["times"][f"query {BASE}"]
    for r in rows:
        r["ratio"] = r["answer_us"] / base

    version = ours["server"].split()[1]
    peer_version = f"datasketch {peers['version']}" if peers else "datasketch could not be installed"
    counts = rows[0]["counts"]
    summary = (
        f"{processor}; PostgreSQL {version}; {peer_version}; {datetime.date.today()}. {ours['members']:,} members and "
        f"{ours['queries']:,} query texts ({source}) of {ours['elements'] / ours['queries']:.0f} shingles each: "
        f"{counts['near_count']:,} queries have a member of similarity 0.7 or more, {counts['between_count']:,} one between "
        f"0.5 and 0.7, {counts['far_count']:,} none of 0.5 or more."
    )
    cells = table(rows)
    notes = []
    if peers:
        lsh = next(r for r in rows if r["name"].endswith("MinHashLSH"))
        notes.append(
            f"datasketch: {peers['permutations']} permutations, threshold {peers['threshold']}, fp {peers['fp']} per band. "
            f"A signature takes {number(lsh['signature_us'])} us from hashed shingles, which is included in the times, and "
            f"{number(1e6 * peers['signature_from_texts_seconds'] / peers['queries'])} us with its own hash function. "
            f"Bytes are those of the stored form; in memory MinHashLSH takes {number(lsh['memory'])} per member."
        )
    print()
    print("  " + summary)
    print()
    printed(cells)
    for note in notes:
        print()
        print("  " + note)
    with open(f"{out}/documents.md", "w", encoding="utf-8") as file:
        file.write("\n\n".join([summary, markdown(cells), *notes]) + "\n")
    for way in peers["ways"] if peers else []:
        del way["passed"]
    everything = {"processor": processor, "texts": source, "rows": rows, "ours": ours, "datasketch": peers}
    with open(f"{out}/documents.json", "w", encoding="utf-8") as file:
        json.dump(everything, file, indent=2)
        file.write("\n")


if __name__ == "__main__":
    main()
