#!/usr/bin/python3
"""Recordings of tasks that come and go: what pmrep dumps is what decode.py reads, value by value and event by event.

    churn.py PMREP SAMPLE_TOOL

Exits with 77 if a Python module is missing that this needs.
"""

import itertools
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
try:
    import decode
    import encode
    from encode import HEADER, INSTANCES, SCHEMA, START, Recording, times
except ImportError as e:
    print("skipped: %s" % e)
    sys.exit(77)

SEEDS = range(1, 25)


def ended_before(pmrep, folder):
    """Tasks that have ended before the group that has their last readings is defined: none is forgotten before that."""
    second, n, runs = 10**9, 70, 3
    r = Recording()
    r.body(HEADER, {1: "pmrec 9", 13: second, 28: True})
    r.body(INSTANCES, {2: 1, 3: [{1: 7, 2: 0, 3: 0}]})
    r.body(SCHEMA, {1: 1, 2: [{1: "cs", 3: "perf", 4: "1"}], 3: 1, 4: [{1: "perf", 3: [1, 1, 1], 4: [1, 1, 0]}]})
    for i in range(runs):
        ticks, first = [START + (2 * i + k) * second for k in range(2)], 2 + i * n
        r.body(INSTANCES, {1: ticks[0], 2: first, 3: [{1: 9, 4: 2, 5: 3} for _ in range(n)]})
        r.body(SCHEMA, {3: 2 + i, 4: [{1: "perf", 3: [1, 1, 1], 4: [first, n, 1]}]})
        r.chunk([(1, times(ticks, 1, 0) + [("u64", [[i, i]])], []), (2 + i, times(ticks, n, 0) + [("u64", [[5, 12]] * n)], [])],
                ticks, more={11: 2 * i})
        r.body(SCHEMA, {7: [2 + i, 1]})
    r.end()
    path, copy = folder + "/ended.pmr", folder + "/copy.pmr"
    r.save(path)
    for words in (["cut", "--since=0"], ["merge"], ["redact"], ["repair"]):
        subprocess.run([pmrep, *words, "-o", copy, path], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for one in (path, copy):
            assert subprocess.run([pmrep, "check", "-q", one]).returncode == 0, (words, one)
            out = subprocess.run([pmrep, "dump", "--format=json", "--counter=cs", one], check=True, stdout=subprocess.PIPE, text=True)
            values = [json.loads(line)["value"] for line in out.stdout.splitlines() if '"is":"value"' in line]
            assert values.count(12) == values.count(5) == n * runs, (words, one, len(values))
        os.unlink(copy)
    for words in (["show", "--show=cs", "--all"], ["show", "--show=cs", "--since=2", "--format=csv"], ["stat"], ["info", "--all"]):
        subprocess.run([pmrep, *words, path], check=True, stdout=subprocess.DEVNULL)


def lost_retirement(pmrep, folder):
    """The frames in which a task retires are damaged: it is lost until a copy of all definitions lacks it, and then gone."""
    second, r, task = 10**9, Recording(), {1: 9}
    counter = {1: "cs", 3: "perf", 4: "1"}

    def chunks(group, tasks, first, last):
        for k in range(first, last):
            tick = [START + k * second]
            r.chunk([(group, times(tick, tasks, 0) + [("u64", [[10 * k]] * tasks)], [])], tick, more={11: k})

    r.body(HEADER, {1: "pmrec 9", 13: second, 28: True})
    r.body(INSTANCES, {2: 1, 3: [{1: 7, 2: 0, 3: 0}] + [task] * 4})
    r.body(SCHEMA, {1: 1, 2: [counter], 3: 1, 4: [{1: "perf", 3: [1, 1, 1], 4: [2, 4, 1]}]})
    chunks(1, 4, 0, 4)
    damaged = len(r.data)
    r.body(INSTANCES, {4: [2, START + 4 * second]})
    r.body(SCHEMA, {3: 2, 4: [{5: 1, 6: [0, 1]}]})
    damaged = damaged, len(r.data)
    chunks(2, 3, 4, 8)
    for kind, body in ((HEADER, {1: "pmrec 9", 13: second, 28: True}),
                       (INSTANCES, {2: [1, 1, 3, 3], 3: [{1: 7, 2: 0, 3: 0}] + [task] * 3}),
                       (SCHEMA, {1: 1, 2: [counter], 3: 2, 4: [{1: "perf", 3: [1, 1, 1], 4: [3, 3, 1]}]})):
        r.frame(kind, encode.cbor2.dumps(body, canonical=True), {4: True})
    chunks(2, 3, 8, 12)
    r.end()
    r.data = r.data[:damaged[0]] + bytes(damaged[1] - damaged[0]) + r.data[damaged[1]:]
    path = folder + "/lost.pmr"
    r.save(path)
    assert subprocess.run([pmrep, "check", "-q", path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 1
    for feed in (path, "-"):
        for words, mark, wanted in ((["dump", "--format=json"], '"event":"gone"', '"time_ns":%d,"instance":2}' % (START + 7 * second)),
                                    (["show", "--all", "--show=cs", "--per-system", "--format=csv"], ",cs,",
                                     "40,1,ok,1 " * 3 + ",1,not-read, " * 4 + "30,1,ok,1 " * 4)):
            with open(path) as file:
                out = subprocess.run([pmrep, *words, feed], stdin=file, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            got = " ".join(line.partition(mark)[2] for line in out.stdout.splitlines() if mark in line)
            assert got.strip(", ") == wanted.strip(), (feed, words, got)


def cut_without_index(pmrep, tool, folder):
    """The last 20 s of what a killed recorder leaves: with their values, and with none of the 5,000 who ended before."""
    path, copy = folder + "/killed.pmr", folder + "/last.pmr"
    subprocess.run([tool, "live=200,2,20,300,0", path], check=True, stdout=subprocess.DEVNULL)
    os.truncate(path, os.path.getsize(path) * 9 // 10)
    cut = subprocess.run([pmrep, "cut", "--since=-20", "-o", copy, path], stderr=subprocess.PIPE, text=True)
    assert cut.returncode == 3 and "damaged or cut; what is readable was copied" in cut.stderr, cut
    values = [[(v.counter.name, v.instance.attrs[200], v.value, v.reason, v.begin) for _, _, all_of in decode.load(one).snapshots()
               for v in all_of] for one in (path, copy)]
    assert len(values[1]) == 21 * 400 and sorted(values[1]) == sorted(values[0][-len(values[1]):])
    cut = decode.load(copy)
    seen = {v.instance.id for _, _, all_of in cut.snapshots() for v in all_of}
    dead = [one for one in cut.instances.values() if one.retired and one.id not in seen]
    assert not dead, (len(dead), dead[:3])


def two_groups(pmrep, folder):
    """One column in two groups, which may have times of perf and rates of their own: each is a series by itself, and one is shown."""
    second, path = 10**9, folder + "/two.pmr"
    for flags, every, semantics in itertools.product(itertools.product((0, 4), repeat=2), ((1, 1), (1, 2), (2, 1)), (0, 2)):
        if semantics and flags != (0, 4):
            continue
        r = Recording()
        r.body(HEADER, {1: "pmrec 9", 13: second, 28: True})
        r.body(INSTANCES, {2: 1, 3: [{1: 0}]})
        r.body(SCHEMA, {1: 1, 2: [{1: "c", 3: "t", 4: "1", 7: semantics}], 3: 1, 4: [{1: "t", 2: f, 3: [1, 1, 0], 4: [1, 1, 0]} for f in flags]})
        for k in range(5):
            tick = [START + k * second]
            r.chunk([(i + 1, times(tick, 1, 0) + [("u64", [[k * 10]])] * (flags[i] // 2) + [("u64", [[(k + 1) * (1000, 7000)[i]]])], [])
                     for i in (0, 1) if k % every[i] == every[i] - 1], tick, more={11: k})
        r.end()
        r.save(path)
        step = 1000 if every[0] == 1 else 7000
        for words, wanted in (([], [step] * 4 if semantics == 0 else [step * k for k in (2, 3, 4, 5)]),
                              (["--total"], [step * (4 if semantics == 0 else 3.5)])):
            out = subprocess.run([pmrep, "show", "--all", "--show=c", "--format=csv", *words, path], check=True, stdout=subprocess.PIPE, text=True)
            got = [line.split(",c,")[1].split(",")[0::2] for line in out.stdout.splitlines()[1:]]
            assert got == [["%g" % x, "ok"] for x in wanted], (flags, every, semantics, got, wanted)
        others = (["stat", "-e", "c"], ["plot", "c"], ["incidents"], ["html", "--overwrite", "-o", path + ".html"])
        for words in others if every == (1, 2) and flags[0] != flags[1] else ():
            code = subprocess.run([pmrep, *words, path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
            assert code in (0, 2), (words, code)


def main(pmrep, tool):
    with tempfile.TemporaryDirectory() as folder:
        two_groups(pmrep, folder)
        ended_before(pmrep, folder)
        lost_retirement(pmrep, folder)
        cut_without_index(pmrep, tool, folder)
        for seed in SEEDS:
            path = os.path.join(folder, "churn.pmr")
            subprocess.run([tool, "churn%d" % seed, path], check=True)
            recording = decode.load(path)
            assert not recording.damage and recording.ended, seed
            out = subprocess.run([pmrep, "dump", "--format=json", path], check=True, stdout=subprocess.PIPE, text=True)
            got = [json.loads(line) for line in out.stdout.splitlines()]
            values = [x for x in got if x["is"] == "value"]
            mine = [decode.as_json(v) for chunk, row, all_of in recording.snapshots() for v in all_of]
            assert len(mine) == len(values) and mine, (seed, len(mine), len(values))
            for a, b in zip(mine, values):
                b.pop("pid", None)
                assert all(b.get(k) == v for k, v in a.items()), "seed %d: pmrep reads %s, there is %s" % (seed, b, a)
            gone = sum(x.get("event") == "gone" for x in got)
            assert gone == len(recording.events) > 0, (seed, gone, len(recording.events))
            assert subprocess.run([pmrep, "check", path], stdout=subprocess.PIPE).returncode == 0, seed


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
