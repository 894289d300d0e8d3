"""What the files of pmrec --rotate hold, raw, beside what pmrep merge and pmrep show make of them.

rotate.py PMREP MERGED FILE...   the files in the order in which they were written
"""
import csv
import io
import json
import subprocess
import sys


def rows(pmrep, path):
    """{tick: {(counter, scope, number): (value, ...)}}, and the widths of the cumulative counters."""
    text = subprocess.run([pmrep, "dump", "--format=json", path], check=True, capture_output=True, text=True).stdout
    ticks, counts, row = {}, {}, None
    for line in text.splitlines():
        o = json.loads(line)
        if o["is"] == "counter" and o["semantics"] == "cumulative" and o["unit"] == "1":
            counts[o["name"]] = o["width"]
        elif o["is"] == "snapshot":
            assert o["tick"] not in ticks, (path, o["tick"])
            row = ticks.setdefault(o["tick"], {})
            row["flags"] = o.get("flags", "")
        elif o["is"] == "value" and "counter" in o:
            row[o["counter"], o["scope"], o.get("number")] = (o.get("value"), o["status"], o["begin"], o["end"])
    return ticks, counts


def strip(row):
    return {k: v for k, v in row.items() if k != "flags"}


def main(pmrep, merged, files):
    whole, counts = rows(pmrep, merged)
    union, before = {}, None
    for path in files:
        part, _ = rows(pmrep, path)
        ticks = list(part)
        assert ticks == sorted(ticks) and len(ticks) >= 2, (path, len(ticks))
        if before:
            assert ticks[0] == before[0], (path, "does not begin where the one before ended")
            assert strip(part[ticks[0]]) == strip(before[1]), (path, "begins with other values")
            assert "last" not in before[1]["flags"], path
        before = ticks[-1], part[ticks[-1]]
        union.update(part)
    assert "last" in before[1]["flags"]
    assert list(whole) == list(union), "snapshots differ"
    for tick in whole:
        assert strip(whole[tick]) == strip(union[tick]), tick
    flags = [row["flags"] for row in whole.values()]
    assert not any("first" in f for f in flags[1:]), "a segment ends at a seam"

    # No interval is missing, and the sum over all is what the first and the last reading say.
    ticks = list(whole)
    show = [pmrep, "show", "--debug", "--per-cpu", "--format=csv", "--time=epoch-ns"]
    text = subprocess.run(show + ["--all", merged], check=True, capture_output=True, text=True).stdout
    durations = {r["time"]: int(r["duration_ns"]) for r in csv.DictReader(io.StringIO(text))}
    assert len(durations) == len(ticks) - 1, (len(durations), len(ticks))
    assert sum(durations.values()) == ticks[-1] - ticks[0]
    text = subprocess.run(show + ["--total", merged], check=True, capture_output=True, text=True).stdout
    compared = 0
    for r in csv.DictReader(io.StringIO(text)):
        key = r["metric"], "cpu", int(r["cpu"] or -1)
        if r["metric"] not in counts or key not in whole[ticks[0]] or r["status"] != "ok":
            continue
        first, last = whole[ticks[0]][key], whole[ticks[-1]][key]
        if first[1] == last[1] == "ok":
            assert int(r["value"]) == (last[0] - first[0]) % 2 ** counts[r["metric"]], (r, first, last)
            compared += 1
    assert compared >= 10, compared
    print(len(files), "files", len(ticks), "snapshots", compared, "sums")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
