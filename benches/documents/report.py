"""Puts what was measured of ours and of datasketch into one table: on the screen, as Markdown and as JSON."""

import datetime
import json
import os
import sys


def counted(asked, passed):
    """The counts that json.sql takes of ours, for the answers of a peer."""
    groups = {
        "near": lambda batch, similarity: similarity >= 0.7,
        "planted": lambda batch, similarity: batch == "planted 0.7",
        "closer": lambda batch, similarity: batch == "planted 0.85",
        "between": lambda batch, similarity: 0.5 <= similarity < 0.7,
        "far": lambda batch, similarity: similarity < 0.5,
    }
    rates = {}
    for name, belongs in groups.items():
        answers = [answer for (batch, similarity), answer in zip(asked, passed) if belongs(batch, similarity)]
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
            answer_us=times[f"ask {f['name']}"],
            build_us=times[f"build {f['name']}"],
        )


def peer_rows(peers, asked):
    per_asked, per_member = 1e6 / peers["asked"], 1e6 / peers["members"]
    signature = peers["signature_seconds"] * per_asked
    for way in peers["ways"]:
        yield row(
            f"datasketch, {way['name']}",
            f"{way['bands']} x {way['rows']}",
            counted(asked, way["passed"]),
            bytes=way["bytes"] / peers["members"],
            memory=way["memory"] and way["memory"] / peers["members"],
            set_us=peers["set_seconds"] * per_asked,
            signature_us=signature,
            query_us=way["query_seconds"] * per_asked,
            answer_us=signature + way["query_seconds"] * per_asked,
            build_us=signature + way["insert_seconds"] * per_member,
        )


def percent(value):
    return "" if value is None else f"{100 * value:.2f} %" if value < 0.1 else f"{100 * value:.1f} %"


def number(value):
    return "" if value is None else f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


# The filter of the bands that datasketch takes at threshold 0.7: times are compared with its.
BASE = "14 x 9"

COLUMNS = [
    ("way", lambda r: r["name"]),
    ("bands x rows", lambda r: r["shape"]),
    ("found, 0.7 and more", lambda r: percent(r["near_share"])),
    ("predicted", lambda r: percent(r.get("predicted_near"))),
    ("found, planted at 0.7", lambda r: percent(r["planted_share"])),
    ("at 0.85", lambda r: percent(r["closer_share"])),
    ("pass, below 0.5", lambda r: percent(r["far_share"])),
    ("predicted", lambda r: percent(r.get("predicted_far"))),
    ("pass, between", lambda r: percent(r["between_share"])),
    ("bytes a member", lambda r: number(r["bytes"])),
    ("text to set, us", lambda r: number(r["set_us"])),
    ("set to answer, us", lambda r: number(r["answer_us"])),
    ("build, us a member", lambda r: number(r["build_us"])),
    (f"time : {BASE}", lambda r: number(r["ratio"])),
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
    with open(f"{data}/asked.tsv", encoding="utf-8") as file:
        asked = [(batch, float(similarity)) for _, batch, similarity, _ in (line.split("\t") for line in file)]
    rows, peers = list(our_rows(ours)), None
    if os.path.exists(f"{data}/peers.json"):
        with open(f"{data}/peers.json", encoding="utf-8") as file:
            peers = json.load(file)
        assert peers["elements"] == ours["elements"], "the sets of Python are not those of lsbf_shingles"
        rows += peer_rows(peers, asked)
    base = ours["times"][f"ask {BASE}"]
    for r in rows:
        r["ratio"] = r["answer_us"] / base

    version = ours["server"].split()[1]
    beside = f"datasketch {peers['version']}" if peers else "datasketch could not be installed"
    counts = rows[0]["counts"]
    said = (
        f"{processor}; PostgreSQL {version}; {beside}; {datetime.date.today()}. {ours['members']:,} members and "
        f"{ours['asked']:,} asked texts ({source}) of {ours['elements'] / ours['asked']:.0f} shingles each: "
        f"{counts['near_count']:,} asked have a member of similarity 0.7 or more, {counts['between_count']:,} one between "
        f"0.5 and 0.7, {counts['far_count']:,} none of 0.5."
    )
    cells = table(rows)
    notes = []
    if peers:
        lsh = next(r for r in rows if r["name"].endswith("MinHashLSH"))
        notes.append(
            f"datasketch: {peers['permutations']} permutations, threshold {peers['threshold']}, fp {peers['fp']} a band. "
            f"A signature takes {number(lsh['signature_us'])} us from hashed shingles, which is counted, and "
            f"{number(1e6 * peers['signature_from_texts_seconds'] / peers['asked'])} us with its own hash function. "
            f"Bytes are those of the stored form; in memory MinHashLSH takes {number(lsh['memory'])} a member."
        )
    print()
    print("  " + said)
    print()
    printed(cells)
    for note in notes:
        print()
        print("  " + note)
    with open(f"{out}/documents.md", "w", encoding="utf-8") as file:
        file.write("\n\n".join([said, markdown(cells), *notes]) + "\n")
    for way in peers["ways"] if peers else []:
        del way["passed"]
    everything = {"processor": processor, "texts": source, "rows": rows, "ours": ours, "datasketch": peers}
    with open(f"{out}/documents.json", "w", encoding="utf-8") as file:
        json.dump(everything, file, indent=2)
        file.write("\n")


if __name__ == "__main__":
    main()
