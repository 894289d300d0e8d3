#!/usr/bin/python3
"""Frames that break a rule of format/SPEC.md, and frames that only look so: malformed.py PMREP

Each stands in a recording that is good without it: check names its frame, decode.py refuses it, and the values before it are
there.
"""

import json
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
try:
    import decode
    from encode import CONFIG, EVENT, HEADER, INSTANCES, PMUS, PROBES, SCHEMA, START, TOPOLOGY, Recording, times
except ImportError as e:
    print("skipped: %s" % e)
    sys.exit(77)

TICKS = [START, START + 10**9]
BANDS = times(TICKS, 1, 0) + [("u64", [[5, 9]])]
C = {1: "n", 3: "s", 4: "1"}
G = {1: "s", 2: 2, 3: [1, 1, 0], 4: [1, 1, 0]}
LONG = "x" * 513


def counter(**more):
    return {1: 2, 2: [{**C, **{int(k[1:]): v for k, v in more.items()}}]}


def group(**more):
    return {3: 2, 4: [{**G, **{int(k[1:]): v for k, v in more.items()}}]}


CASES = [(SCHEMA, body) for body in (
    {1: 3, 2: [C]}, {1: 0, 2: [C]}, {1: 1, 2: [C]}, {1: 2, 2: [{3: "s", 4: "1"}]}, {1: 2, 2: [{1: "n", 4: "1"}]}, {1: 2, 2: [{1: "n", 3: "s"}]},
    counter(_1=LONG), counter(_1=5), counter(_1="first"), counter(_5=[0, 1]), counter(_5=[1, 0]), counter(_5=[1]), counter(_5=[1, 2, 3]), counter(_5="0"),
    counter(_5="1e999"), counter(_5="x"), counter(_5=7), counter(_8=0), counter(_8=65), counter(_8="a"), counter(_10=[]), {2: {}}, [], 5,
    group(_3=[1, 1]), group(_3=[2, 1, 0]), group(_3=[0, 1, 0]), group(_4=[9, 1, 0]), group(_4=[1]), group(_2=1, _3=[1, 1, 0], _4=[1, 2, 1]), group(_5=9),
    group(_5=1, _2=2), {3: 2, 4: [{5: 1, 6: [5, 1]}]}, {3: 2, 4: [{5: 1, 6: [1]}]}, {3: 2, 4: [{1: "s", 4: [1, 1, 0]}]}, {3: 2, 4: [{3: [1, 1, 0], 4: [1, 1, 0]}]},
    {3: 0, 4: [G]}, {3: [2], 4: [G]}, {3: 1, 4: [{**G, 2: 4}]}, {7: [1]}, {7: 3}, {5: 9, 6: ["x"]}, {5: 1, 6: [5]})]
CASES += [(INSTANCES, body) for body in (
    {2: 3, 3: [{2: 1}]}, {2: 3, 3: [{1: 7, 2: "a"}]}, {2: 0, 3: [{1: 7}]}, {2: [3], 3: [{1: 7}]}, {2: 1, 3: [{1: 0, 2: 5}]},
    {1: START, 4: [1]}, {1: START, 4: [0, 0]}, {3: 5}, {2: 3, 3: [{1: 7, 6: []}]}, [])]
CASES += [(TOPOLOGY, body) for body in (
    {1: START, 2: [0, 1], 3: [0]}, {1: START, 2: [1, 0], 3: [0, 0]}, {1: START, 2: [0, 0]}, {1: START, 2: [-1]}, {1: START, 2: [0], 3: ["a"]},
    {1: START, 2: 0}, {1: START, 2: [0], 16: [1]}, {1: START, 2: [2**32]}, [])]
CASES += [(CONFIG, body) for body in (
    {1: [{2: START, 3: 0, 50: 1}]}, {1: [{1: "a", 2: START, 3: 0}]},
    {1: [{1: "a", 2: START, 3: 0, 5: 3, 50: 1}]}, {1: [{1: "a", 2: START, 3: 0, 50: 1, 150: 2}]}, {1: [{1: "a", 2: START, 3: 7, 4: [0], 50: 1}]},
    {1: [{1: "a", 2: START, 3: 7, 4: [3, 1, 1, 1], 50: 1}]}, {1: [{1: "a", 2: START, 3: 7, 4: [0, 2**32], 50: 1}]}, {1: {}}, [])]
CASES += [(PMUS, {1: 0, 2: {}}), (PMUS, {1: 0, 2: [5]}), (PROBES, {1: 0, 2: [{1: "s", 2: [1, "w"], 4: "x"}]}), (EVENT, {1: START, 2: [{2: 5}]}), (EVENT, {1: START, 2: {}}),
          (EVENT, {1: START, 2: [{1: 1, 2: 5, 3: []}]}), (EVENT, {1: START, 2: [{1: 1, 2: "a"}]}), (EVENT, []), (HEADER, [])]


CASES += [(SCHEMA, body) for body in (
    counter(_6=256), counter(_7=256), counter(_9=256), counter(_1="a\0b"), counter(_5="1e"), counter(_5="+"), {2: [C], 1: 2}, {7: [2, 1], 3: 2, 4: [G]},
    group(_2=1 << 32), {3: [2, 2], 4: [G]}, {3: [2, 1, 3], 4: [G]}, {3: [3, 1, 2, 1], 4: [G, G]}, {3: [2, 1, 2, 1], 4: [G, G]}, {3: [2, 0, 3, 1], 4: [G]},
    group(_4=[1, 1, 0, 1, 1, 0]), group(_3=[1, 2, 0]), group(_2=1, _3=[1, 2, 0], _4=[1, 2, 0]))]
CASES += [(INSTANCES, body) for body in (
    {2: 3, 3: [{1: 256}]}, {2: 3, 3: [{1: 7}], 1: 5}, {1: 5, 2: 3, 3: [{1: 7, 4: -6}]}, {1: 1 << 63, 4: [1, 0]}, {1: 5, 4: [1, -6]}, {2: [4, 1, 3, 1], 3: [{1: 7}, {1: 7}]})]
CASES += [(CONFIG, {1: [body]}) for body in (
    {1: "a", 3: 0, 50: 1}, {1: "a", 2: START, 50: 1}, {1: "a", 2: START, 3: 0, 50: None}, {1: "a", 2: START, 3: 0, 50: [None]}, {1: "a", 2: START, 3: 0, 450: 1},
    {1: "a", 2: 1 << 63, 3: 0, 50: 1}, {1: "a", 2: START, 3: 256, 50: 1})]
CASES += [(PROBES, {2: [{1: "s", 2: [1, "w"], 4: 3}]}), (PROBES, {1: 0, 2: [{2: [1, "w"], 4: 3}]}), (PROBES, {1: 0, 2: [{1: "s", 4: 3}]}), (PROBES, {1: 0, 2: [{1: "s", 2: "w", 4: 3}]}), (PROBES, {1: 0, 2: [{1: "s", 2: [], 4: 3}]}),
          (PROBES, {1: 0, 2: [{1: "s", 2: ["w"], 4: 3}]}), (PROBES, {1: 0, 2: [{1: "s", 2: [1, "w"], 3: "h", 4: 3}]}), (PROBES, {1: 0, 2: [{1: "s", 2: [1, "w"]}]}),
          (PROBES, {2: [{1: "s", 2: [1, "w"], 4: 3}], 1: 0}), (PMUS, {2: [{1: "p"}]}), (EVENT, {1: START, 2: [{1: 0, 2: 5}]}), (EVENT, {1: START, 2: [{1: 1 << 31, 2: 5}]}),
          (EVENT, {2: [{1: 1, 2: 5}], 1: START}), (EVENT, {1: 5, 2: [{1: 1, 2: -6}]}), (HEADER, {13: 5, 1: "a"}), (TOPOLOGY, {2: [0], 1: START}),
          (TOPOLOGY, {1: START, 3: [0]})]
# Ids of what has gone that are none, and what an array of pairs may not be.
CASES += [(INSTANCES, {1: START, 4: body}) for body in (
    [-1, 0], [-(1 << 32), 0], [-(1 << 63), 0], [1, 0, -1, 0], [2, 0, -3, 0], 5, [1, "a"], ["a", 0])]
CASES += [(SCHEMA, body) for body in (
    {7: [1, "a"]}, {7: [-1, 1]}, {3: 2, 4: [{5: 1, 6: [0, 2]}]}, {3: 2, 4: [{5: 1, 6: [1, 1]}]}, {3: 2, 4: [{5: 2}]},
    {3: 2, 4: [{5: 1, 2: 1}]}, {3: 2, 4: [{5: 1, 3: [1, 1, 0]}]}, {3: 2, 4: [{5: 1, 6: [1 << 32, 0]}]}, {3: 2, 4: [{5: 1, 6: 7}]}, {3: 2, 4: [{1: 5}]},
    group(_4=[1, 1]), group(_3=5), counter(_4=5))]
# Keys of the head of a chunk, which is otherwise good; of one that depends, if 15 is among them.
CHUNKS = [{7: 0}, {7: 129}, {10: []}, {10: [0, 0]}, {12: []}, {13: [2, 1]}, {13: [0, 1, 0, 1]}, {13: [1, 1, 0, 1]}, {13: [0, 256]}, {13: [0]}, {14: [1, 2, 3]}, {14: "x"},
          {16: [1, 1, 1, 1]}, {20: [1, 1]}, {16: [1]}, {16: [0, 1]}, {16: []}, {17: []}, {17: [1, 0, 0, 0, 1]}, {17: [1, 2, 0, 0, 1]}, {2: 0}, {15: 0, 5: 2}, {15: 0, 6: 1}, {15: 0, 14: [0, 1, 0, 0]},
          {15: 0, 14: [0, 0, 1, 0]}, {15: 0, 300: 0}, {15: 0, 2: 1}]
# Groups of a chunk.
GROUPS = [[(1, BANDS[:2] + [("s64", [[5, 9]])], [])], [(1, BANDS[:2], [])], [(1, BANDS + BANDS[:1], [])], [(1, BANDS, [1, 1])], [(1, BANDS, [1, 2, 3])],
          [(1, BANDS, [1, 0, 3])], [(1, BANDS, [1, 1, 0])], [(1, BANDS, [0, 1, 1 << 16])], [(1, BANDS, []), (1, BANDS, [])]]
# What looks odd and is right, or is for readers to overlook: nothing is damaged by it.
RIGHT = [(SCHEMA, body) for body in (
    counter(_6=2, _8=32), counter(_6=3, _8=8), counter(_5="1."), counter(_5=".5E+3"), counter(_10={1: 5, 2: "x", 6: "a", 10: 7, 100: []}),
    counter(_10={1: [None, {"a": 1}], 90: 1, 7: -(1 << 64)}), counter(_450=None), {7: [99, 1 << 31]}, {7: [1, 1, 1, 1]}, {5: 1, 6: ["x", "x", "a\0b"]}, {1: 2}, {1: 2, 2: []},
    {3: [1 << 31, 1], 4: [G]}, group(_3=[1, 1, 77]), {}, {99: 1, 399: "x"})]
RIGHT += [(INSTANCES, body) for body in (
    {1: START, 4: [99, 0]}, {1: START, 4: [1, 0, 0, 5]}, {2: 9}, {2: [1 << 31, 1, (1 << 32) - 1, 1], 3: [{1: 7}, {1: 11, 6: {1: 5, 200: "x", 202: [1]}}]},
    {1: START, 2: 3, 3: [{1: 7, 4: 9, 5: 3}]})]
RIGHT += [(INSTANCES, {1: START, 4: body}) for body in ([], [5, 0, -4, 0], [(1 << 32) - 1, 0, -5, 0], [1, 0, 1, 0, -1, 0], [1, 7])]
RIGHT += [(SCHEMA, body) for body in ({7: []}, {7: [1, 0]}, {7: [(1 << 32) - 1, 5]}, {7: [1, 2]}, {3: 2, 4: [{5: 1}]}, {3: 2, 4: [{5: 1, 6: []}]}, {3: 2, 4: [{5: 1, 1: "t"}]},
                                      {3: 2, 4: [{5: 1, 4: [2, 1, 1]}]}, {3: 2, 4: [{5: 1, 6: [0, 1], 4: [2, 1, 1]}]}, {3: 2, 4: [{5: 1, 6: [1, 0]}]})]
RIGHT += [(CONFIG, {1: [{1: "a", 2: START, 3: 0, 5: 0, 50: {511: [1.5, -5, b"x", True]}}]}), (CONFIG, {1: [{1: "a", 2: START, 3: 0, 50: 1}] * 2}),
          (PROBES, {1: 5, 2: [{1: "s", 2: [1, "w"], 4: 3}]}), (PMUS, {1: 5, 2: [{}]}), (EVENT, {1: START, 2: [{1: 1}]}), (EVENT, {2: [{1: (1 << 31) - 1, 2: 0}]}),
          (EVENT, {}), (TOPOLOGY, {1: START}), (TOPOLOGY, {1: START, 2: [0, 9], 3: [1 << 40, -2], 13: [7, 0], 15: [5, 1], 16: ["x"]}),
          (HEADER, {1: 5, 13: "x", 20: 1, 21: "s", 22: [1], 28: 7, 31: [5, [1]], 100: [], 203: [1, [2]], 450: None}), (12345, {}), (64, {}), (32, {})]


def build(case, right=()):
    """The same recording, with one thing wrong; and the place of the frame that has it."""
    r = Recording()
    r.body(HEADER, {1: "pmrec 1", 13: 10**9, 28: True})
    r.body(INSTANCES, {2: 1, 3: [{1: 0}, {1: 7, 2: 0, 3: 0}]})
    r.body(SCHEMA, {1: 1, 2: [{1: "first", 3: "s", 4: "1"}], 3: 1, 4: [G]})
    r.chunk([(1, BANDS, [])], TICKS, clocks=[START, 0, 0, 5])
    at, crc = len(r.data), decode.Frame(r.data, len(r.data) - r.last).head_crc
    later = [t + 2 * 10**9 for t in TICKS]
    if isinstance(case, dict):
        more = {15: crc, 9: 0, 8: None, 14: [0, 0, 0, 0], 300: 0, 2: 0} if 15 in case else {}
        more.update({k: v for k, v in case.items() if k != 15})
        if case == {15: 0, 300: 0}:
            more[300] = None
        r.chunk([(1, BANDS, [])], later, clocks=[START, 0, 0, 5], more=more)
    elif isinstance(case, list):
        r.chunk(case, later)
    elif case:
        r.body(case[0], case[1], canonical=False)
    r.end()
    return r, at


def look(pmrep, path, case):
    """(whether pmrep names that frame, whether decode.py refuses something)"""
    r, at = build(case)
    r.save(path)
    done = subprocess.run([pmrep, "check", "--format=json", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    said = json.loads(done.stdout)
    assert done.returncode == (0 if said["good"] else 1), (case, done)
    out = subprocess.run([pmrep, "dump", "--format=json", "--no-definitions", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False).stdout
    values = [json.loads(line)["value"] for line in out.splitlines() if b'"is":"value"' in line]
    assert values == [5, 9], (case, values)
    if decode.Recording(r.data).damage:
        return any(d["offset"] == at for d in said["damage"]), True
    return bool(said["damage"]), False


def main(pmrep):
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/r.pmr"
        for case in [*CASES, *CHUNKS, *GROUPS]:
            if look(pmrep, path, case) != (True, True):
                wrong.append(("taken", case, look(pmrep, path, case)))
        for case in [None, *RIGHT]:
            if look(pmrep, path, case) != (False, False):
                wrong.append(("refused", case, look(pmrep, path, case)))
    print("%d broken rules, %d that are none" % (len(CASES) + len(CHUNKS) + len(GROUPS), len(RIGHT)))
    for how, case, by in wrong:
        print("%s: %.100r (pmrep, decode.py refuse it: %s)" % (how, case, by))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) if len(sys.argv) == 2 else __doc__)
