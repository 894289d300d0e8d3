#!/usr/bin/python3
"""Vectors, histograms and numbers of more than 64 bits, as SPEC.md writes them ("Lanes"): lanes.py PMREP

A recording is generated from events whose truth is kept. The second reader puts the lanes together; pmrep, which knows
nothing of them, shows each lane as the plain number that it is, by its name. Once as it was written, and once as pmrep
packed it.
"""

import csv
import json
import math
import os
import random
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import encode
from encode import HEADER, INSTANCES, SCHEMA, START, Recording, decode, times

SECOND, ROWS, CPUS, LATE = 10**9, 40, 2, 25
TICKS = [START + i * SECOND for i in range(ROWS)]
BASE = 2 ** 0.5  # of the buckets' bounds
# From the row LATE on, some are slower than any before.
USUAL, SLOW = range(0, 12), range(20, 23)


def truth(rng):
    """For each CPU and row: three levels, the latencies since the start, and a number of 128 bits."""
    out = []
    for cpu in range(CPUS):
        seen, energy, rows = [], (1 << 127) - 7 * (1 << 61) + cpu, []
        level = [100.0, 20.25, -3.5]
        for row in range(ROWS):
            if row:
                seen = seen + [rng.uniform(1, 50) for _ in range(rng.randrange(30))]
                energy += rng.randrange(1 << 62)
            if row == 7:
                seen = seen + [BASE ** 4, math.nextafter(BASE ** 4, 99)]  # on a bound, and just above it
            if row >= LATE:
                seen = seen + [rng.uniform(BASE ** 20, BASE ** 23)]
            level = [x + rng.randrange(-4, 5) / 4 for x in level]
            rows.append((level, seen, energy & (1 << 128) - 1))
        out.append(rows)
    return out


def bucket(i):
    return {1: "disk.latency.b%d" % i, 2: "up to %.1f us" % BASE ** (i + 1), 3: "disk", 4: "1",
            10: {2: True, 3: "disk.latency", 4: "b%d" % i, 5: i in SLOW, 6: i, 7: BASE ** i, 8: BASE ** (i + 1), 9: "us"}}


def write(path, true):
    counters = [{1: "fan.speed.%d" % i, 2: "fan %d" % i, 3: "fan", 4: "Hz", 6: 2, 7: 2, 9: 1,
                 10: {2: True, 3: "fan.speed", 4: str(i), 6: i}} for i in range(3)]
    counters += [{1: "energy.total", 3: "energy", 4: "1", 8: 63, 10: {2: True, 3: "energy", 4: "low", 6: 0, 33: 0}}]
    counters += [{1: "energy.total." + name, 3: "energy", 4: "1", 7: 4, 8: bits, 9: 5,
                  10: {2: True, 3: "energy", 4: name, 6: k, 33: 63 * k}} for k, name, bits in ((1, "middle", 63), (2, "high", 2))]
    counters += [bucket(i) for i in USUAL]
    many = len(counters)
    r = Recording()
    r.body(HEADER, {1: "pmrec 9", 13: SECOND, 28: True})
    r.body(INSTANCES, {2: 1, 3: [{1: 7, 2: c, 3: c} for c in range(CPUS)]})
    r.body(SCHEMA, {1: 1, 2: counters, 3: 1, 4: [{1: "test", 3: [1, many, 1], 4: [1, CPUS, 1]}]})
    added = False
    for first in range(0, ROWS, 5):
        rows = range(first, first + 5)
        ticks = [TICKS[r] for r in rows]

        def column(of):
            return [[of(*true[cpu][r]) for r in rows] for cpu in range(CPUS)]

        def buckets(which):
            return [("u64", column(lambda _, seen, __: sum(BASE ** i < x <= BASE ** (i + 1) for x in seen))) for i in which]

        bands = [("f64", column(lambda level, _, __: level[i])) for i in range(3)]
        bands += [("u64", column(lambda _, __, energy: energy >> 63 * k & (1 << 63) - 1)) for k in range(3)]
        groups = [(1, times(ticks, CPUS, 0) + bands + buckets(USUAL), [])]
        if first >= LATE and not added:
            added = True
            r.body(SCHEMA, {1: many + 1, 2: [bucket(i) for i in SLOW], 3: 2,
                            4: [{1: "test", 3: [many + 1, len(SLOW), 1], 4: [1, CPUS, 1]}]})
        if added:
            groups.append((2, times(ticks, CPUS, 0) + buckets(SLOW), []))
        r.chunk(groups, ticks)
    r.end()
    r.save(path)


def whole_values(recording):
    """{(cpu, family): value of each row}, put together from the lanes by their attributes alone."""
    out = {}
    for chunk, row, values in recording.snapshots():
        lanes = {}
        for v in values:
            a = v.counter.attrs
            lanes.setdefault((v.instance.number, a[3]), {})[a[6]] = a, v.value
        for (cpu, family), by_lane in lanes.items():
            got = [by_lane[k] for k in sorted(by_lane)]
            if 33 in got[0][0]:
                value = sum(v << a[33] for a, v in got)
            elif 7 in got[0][0]:
                value = {(a[7], a[8]): v for a, v in got if v}
            else:
                value = [v for _, v in got]
            out.setdefault((cpu, family), []).append(value)
    return out


def check(path, pmrep, true, packed):
    recording = decode.load(path)
    assert not recording.damage and recording.ended
    assert {c.codec for c in recording.chunks} == ({0} if packed else {1})
    got = whole_values(recording)
    for cpu in range(CPUS):
        assert got[cpu, "fan.speed"] == [level for level, _, _ in true[cpu]]
        assert got[cpu, "energy"] == [energy for _, _, energy in true[cpu]]
        for (_, seen, _), histogram in zip(true[cpu], got[cpu, "disk.latency"]):
            assert sum(histogram.values()) == len(seen), (histogram, seen)
            for (above, up_to), n in histogram.items():
                assert n == sum(above < x <= up_to for x in seen)
    out = subprocess.run([pmrep, "dump", "--format=json", path], check=True, stdout=subprocess.PIPE, text=True)
    lines = [json.loads(x) for x in out.stdout.splitlines()]
    values = [x for x in lines if x["is"] == "value"]
    mine = [decode.as_json(v) for _, _, all_of in recording.snapshots() for v in all_of]
    assert len(mine) == len(values) and all(a == b for a, b in zip(mine, values))
    (lane,) = [x for x in lines if x["is"] == "counter" and x["name"] == "disk.latency.b3"]
    assert lane["display"] == "up to %.1f us" % BASE ** 4, lane
    want = {"family": "disk.latency", "member": "b3", "lane": 3, "above": BASE ** 3, "up_to": BASE ** 4, "bound_unit": "us"}
    assert lane == {**lane, **want}, lane
    # Each lane by itself: differences of counts and of lane 0, which runs over, and levels.
    out = subprocess.run([pmrep, "show", "--format=csv", "--all", path], check=True, stdout=subprocess.PIPE, text=True)
    shown = {}
    for row in csv.DictReader(out.stdout.splitlines()):
        shown.setdefault((row["metric"], row["cpu"]), []).append(row["value"])
    out = subprocess.run([pmrep, "show", "--format=csv", "--total", path], check=True, stdout=subprocess.PIPE, text=True)
    total = {(row["metric"], row["cpu"]): row["value"] for row in csv.DictReader(out.stdout.splitlines())}
    over = 0
    for cpu in range(CPUS):
        rows = true[cpu]
        for i in USUAL:
            counts = [sum(BASE ** i < x <= BASE ** (i + 1) for x in seen) for _, seen, _ in rows]
            assert [int(x) for x in shown["disk.latency.b%d" % i, str(cpu)]] == [b - a for a, b in zip(counts, counts[1:])]
        for i in SLOW:
            assert int(total["disk.latency.b%d" % i, str(cpu)]) == sum(BASE ** i < x <= BASE ** (i + 1) for x in rows[-1][1])
        steps = [(b[2] - a[2]) % (1 << 128) for a, b in zip(rows, rows[1:])]
        over += sum(a[2] >> 63 != b[2] >> 63 for a, b in zip(rows, rows[1:]))
        assert [float(x) for x in shown["energy.total", str(cpu)]] == [float(s) for s in steps]
        assert [float(x) for x in shown["fan.speed.1", str(cpu)]] == [level[1] for level, _, _ in rows[1:]]
    assert over > 10 and any((row[2] >> 127) == 0 for row in true[0]), "no lane ran over"
    return len(values)


def main(pmrep):
    true = truth(random.Random(13))
    with tempfile.TemporaryDirectory() as folder:
        path, copy = (os.path.join(folder, name) for name in ("lanes.pmr", "packed.pmr"))
        write(path, true)
        subprocess.run([pmrep, "check", path], check=True, stdout=subprocess.PIPE)
        n = check(path, pmrep, true, False)
        subprocess.run([pmrep, "cut", "-o", copy, path], check=True, stderr=subprocess.PIPE)
        assert check(copy, pmrep, true, True) == n
    print("%d values, as written and packed" % n)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
