#!/usr/bin/python3
"""Definitions that break a rule of format/SPEC.md: malformed.py PMREP

Each stands in a recording that is good without it: check names its frame, and the values before it are there.
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
CASES += [(PMUS, {1: 0, 2: {}}), (PMUS, {1: 0, 2: [5]}), (PROBES, {1: 0, 2: [{1: "s", 2: "w", 4: "x"}]}), (EVENT, {1: START, 2: [{2: 5}]}), (EVENT, {1: START, 2: {}}),
          (EVENT, {1: START, 2: [{1: 1, 2: 5, 3: []}]}), (EVENT, {1: START, 2: [{1: 1, 2: "a"}]}), (EVENT, []), (HEADER, [])]


def build(case):
    r = Recording()
    r.body(HEADER, {1: "pmrec 1", 13: 10**9, 28: True})
    r.body(INSTANCES, {2: 1, 3: [{1: 0}, {1: 7, 2: 0, 3: 0}]})
    r.body(SCHEMA, {1: 1, 2: [{1: "first", 3: "s", 4: "1"}], 3: 1, 4: [G]})
    ticks = [START, START + 10**9]
    r.chunk([(1, times(ticks, 1, 0) + [("u64", [[5, 9]])], [])], ticks)
    at = len(r.data)
    if case:
        r.body(case[0], case[1], canonical=False)
    r.end()
    return r, at


def main(pmrep):
    taken = []
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/r.pmr"
        for case in [None, *CASES]:
            r, at = build(case)
            r.save(path)
            done = subprocess.run([pmrep, "check", "--format=json", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
            said = json.loads(done.stdout)
            assert done.returncode == (0 if said["good"] else 1), (case, done)
            if not case:
                assert said["good"], said
            elif said["good"] or not any(d["offset"] == at for d in said["damage"]):
                taken.append(case)
            out = subprocess.run([pmrep, "dump", "--format=json", "--no-definitions", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False).stdout
            values = [json.loads(line)["value"] for line in out.splitlines() if b'"is":"value"' in line]
            assert values == [5, 9], (case, values)
    print("%d broken rules, %d not noticed" % (len(CASES), len(taken)))
    for case in taken:
        print("taken: %s: %.100r" % (decode.FRAMES[case[0]], case[1]))
    return bool(taken)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) if len(sys.argv) == 2 else __doc__)
