#!/usr/bin/python3
"""pmrep --format=parquet read by a second reader: the rows of --format=json, types, missing values, statistics, labels.

usage: test_parquet.py PMREP GENREC SAMPLES
"""
import csv
import io
import json
import os
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "golden"))
try:
    import encode
    import parquet_read
except ImportError as e:
    print("skipped: %s" % e)
    sys.exit(77)

pmrep, genrec, samples = sys.argv[1:]
TIDY = ("recording run time duration_ns scope package die cluster cache node core cpu device task cgroup metric value unit"
        " status coverage").split()
INTEGERS = "run duration_ns package die cluster cache node core cpu elapsed_ns".split()


def call(*words, status=(0, 3)):
    done = subprocess.run([pmrep, *words], capture_output=True)
    assert done.returncode in status, (words, done.returncode, done.stderr.decode())
    return done


def key(row):
    return tuple((v is not None, v) for v in row)


def check_types(f):
    for name, c in f.schema.items():
        kind = parquet_read.INT64 if name in INTEGERS + ["time"] else parquet_read.DOUBLE if name in ("value", "coverage") else 6
        assert c[1] == kind and c[3] == 1, (name, c)
        assert (10 in c) == (kind == 6 or name == "time"), name
    assert f.schema["time"][10] == {8: {1: True, 2: {2: {}}}}


def check_statistics(f):
    for g in f.groups:
        for name, (values, s) in g.items():
            assert s[3] == values.count(None), name
            known = [v.encode() if isinstance(v, str) else struct.pack("<q", v) for v in values if isinstance(v, (str, int))]
            if name in ("value", "coverage") or not known:
                assert 5 not in s and 6 not in s
                continue
            order = (lambda v: v) if isinstance(values[0] or "", str) and name not in INTEGERS + ["time"] else (
                lambda v: struct.unpack("<q", v))
            if 5 in s or max(map(len, known)) <= 256:
                assert (s[6], s[5]) == (min(known, key=order), max(known, key=order)), name


def compare(words, files, folder):
    out = os.path.join(folder, "out.parquet")
    call(*words, "--format=parquet", "--overwrite", "-o", out, *files)
    f = parquet_read.File(out)
    assert f.columns[:24] == TIDY + ["elapsed_ns", "host", "machine_id", "recording_id"], f.columns
    check_types(f)
    check_statistics(f)
    expected = [json.loads(line) for line in call(*words, "--format=json", "--time=epoch-ns", *files).stdout.splitlines()]
    expected = [tuple(int(r["time"] // 1000) if c == "time" and isinstance(r["time"], int) else
                      None if c == "time" else r[c] for c in TIDY) for r in expected]
    got = [row[:20] for row in f.rows()]
    assert sorted(got, key=key) == sorted(expected, key=key), (words, files)
    return f, got


def main():
    with tempfile.TemporaryDirectory() as folder:
        every = sorted(os.path.join(samples, n) for n in os.listdir(samples) if n.endswith(".pmr"))
        for sample in every[:3] + every[6:9]:
            compare(["--show=all", "--hide=topology", "--all", "--num_iterations=15"], [sample], folder)
        compare(["--total", "--per-package"], every, folder)

        # Names and labels that would do something to a terminal, and labels that only some recordings have.
        hostile, plain = os.path.join(folder, "hostile.pmr"), os.path.join(folder, "plain.pmr")
        encode.hostile(hostile)
        f, rows = compare([], [hostile, every[0], hostile], folder)
        names = [n for n in f.columns[24:]]
        assert "label_k" + encode.HOSTILE in names
        column = f.columns.index("label_k" + encode.HOSTILE)
        host = f.columns.index("host")
        for row in f.rows():
            own = row[0] == "hostile.pmr"
            assert (row[column] == encode.HOSTILE) == own and (row[host] == encode.HOSTILE) == own
        assert {r[0] for r in rows} == {"hostile.pmr", os.path.basename(every[0])}

        # The same from json and csv where these columns are asked for.
        asked = ["--columns=" + ",".join(f.columns), "--time=epoch-ns"]
        lines = call("--format=json", *asked, hostile, every[0]).stdout.splitlines()
        for got, line in zip(sorted(f.rows(), key=key), sorted(
                (tuple(json.loads(line).values()) for line in [*lines, lines[0]]), key=key)):
            assert got[:2] + got[3:] == line[:2] + line[3:], (got, line)
        assert list(json.loads(lines[0])) == f.columns
        asked[0] = "--columns=value,host,label_none,recording_id,scope,metric"
        rows = list(csv.DictReader(io.StringIO(call("--format=csv", *asked, every[0]).stdout.decode())))
        plain_rows = list(csv.DictReader(io.StringIO(call("--format=csv", every[0]).stdout.decode())))
        assert list(rows[0]) == asked[0][10:].split(",") and len(rows) == len(plain_rows)
        for a, b in zip(rows, plain_rows):
            assert (a["value"], a["scope"], a["metric"], a["label_none"]) == (b["value"], b["scope"], b["metric"], "")
        assert {len(r["recording_id"]) for r in rows} == {16} and len({r["recording_id"] for r in rows}) == 1
        for words in ("--columns=hosts", "--format=csv --columns=host --layout=wide", "--columns=host"):
            assert b"--columns" in call(*words.split(), every[0], status=(2,)).stderr

        # Several row groups, each with a few of the metrics, and times that are differences.
        call_out = subprocess.run([genrec, "perf", "300000", plain], stdout=subprocess.DEVNULL, check=True)
        assert not call_out.returncode
        words = ["--per-cpu", "--show=context-switches,cpu-migrations,page-faults,minor-faults,major-faults"]
        out = os.path.join(folder, "large.parquet")
        call(*words, "--format=parquet", "-o", out, plain)
        f = parquet_read.File(out)
        check_statistics(f)
        values = call(*words, "--format=csv", plain).stdout.decode().splitlines()[1:]
        assert sorted(float(v.split(",")[16]) for v in values) == sorted(v for g in f.groups for v in g["value"][0])
        assert len(f.groups) > 1
        assert all(len(set(g["metric"][0])) < 5 for g in f.groups)

        # A file each; and what cannot be.
        call("--format=parquet", "--output-dir=" + folder, *every[:2], status=(0,))
        for sample in every[:2]:
            name = os.path.join(folder, os.path.basename(sample)[:-4] + ".parquet")
            assert {r[0] for r in parquet_read.File(name).rows()} == {os.path.basename(sample)}
        again = call("--format=parquet", "--output-dir=" + folder, every[0], status=(2,))
        assert b"--overwrite" in again.stderr, again.stderr
        twice = call("--format=parquet", "--overwrite", "--output-dir=" + folder, every[0], every[0], status=(2,))
        assert b"both" in twice.stderr, twice.stderr
        both = call("--format=parquet", "--output-dir=" + folder, "-o", os.path.join(folder, "x"), every[0], status=(2,))
        assert b"--output-dir" in both.stderr, both.stderr
    print("parquet: rows as in json")


main()
