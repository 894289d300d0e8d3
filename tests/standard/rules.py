#!/usr/bin/python3
"""Frames that each break one rule of format/SPEC.md: `pmrep check` names the rule. Every rule that the reader knows names a section
of SPEC.md, and has a case here.

    rules.py PMREP
"""
import os
import random
import re
import subprocess
import sys
import tempfile

from codec import Raw, compress, crc32c, encode
from writer import Writer

HERE = os.path.dirname(os.path.abspath(__file__))
FORMAT = os.path.join(HERE, "../../format")
HEADER, TOPOLOGY, SCHEMA, INSTANCES, PMUS, PROBES, CONFIG, CHUNK, EVENT = range(1, 10)
COUNTER = {1: "a", 3: "test", 4: "1"}
GROUP = {1: "test", 3: [1, 1, 0], 4: [1, 1, 0]}
GOOD = {HEADER: {1: "test"}, INSTANCES: {2: 1, 3: [{1: 0}]}, SCHEMA: {1: 1, 2: [COUNTER], 3: 1, 4: [GROUP]}}


def group(**more):
    return {3: 2, 4: [{**GROUP, **{int(k[1:]): v for k, v in more.items()}}]}


def counter(key, value):
    return {1: 2, 2: [{**COUNTER, 1: "b", key: value}]}


# Rule: (type, body), what changes in a chunk, or a function of the writer; or a list of these.
CASES = {
    "KIND": (INSTANCES, {2: 2, 3: [{1: "x"}]}),
    "KEYS": [(INSTANCES, Raw(bytes.fromhex(x))) for x in ("a2 02 02 02 02", "a1 20 01", "a1 61 61 01", "a1 19 0200 01")],
    "ORDER": (INSTANCES, Raw(bytes.fromhex("a2 03 80 02 02"))),
    "PAIRS": (SCHEMA, {7: [1]}),
    "REQUIRED": (SCHEMA, {1: 2, 2: [{1: "b", 3: "test"}]}),
    "TEXT": [(SCHEMA, counter(1, "b\0c")), (SCHEMA, counter(1, Raw(b"\x61\xff"))), (INSTANCES, {3: [], 99: Raw(b"\x61\xff")})],
    "RANGE": [(SCHEMA, counter(8, 65)), {9: 2**63}],
    "TIME": (EVENT, {1: 2**63 - 1, 2: [{1: 1, 2: 1}]}),
    "BODY": lambda w: w.frame(CONFIG, compress(encode({1: []}), False), {2: 1, 3: 77}),
    "FIRST": [(SCHEMA, {2: [COUNTER]}), (INSTANCES, {2: 0, 3: [{1: 0}]}), (INSTANCES, {3: [{1: 0}]})],
    "LISTED": [(INSTANCES, {2: ids, 3: [{1: 0}]}) for ids in ([2, 2], [2, 0], [0, 1])],
    "SAME": (SCHEMA, {1: 1, 2: [{**COUNTER, 4: "s"}]}),
    "CPUS": (TOPOLOGY, {2: [1, 0]}),
    "SCALE": (SCHEMA, counter(5, [1, 0])),
    "WIDTH": (SCHEMA, counter(8, 0)),
    "VALUES": (SCHEMA, {5: 1, 6: [Raw(b"\xc1\x00")]}),
    "LIMIT": [(SCHEMA, {5: 1, 6: ["x" * (1 << 20) + "x"]}), (CONFIG, {1: [{1: "a", 2: 1, 3: 0, 50: Raw(b"\x81" * 20 + b"\0")}]})],
    "STRING": (SCHEMA, {5: 1, 6: [7]}),
    "RUNS": (SCHEMA, group(_3=[1, 0, 0])),
    "GROUP": [(SCHEMA, group(_4=[1, 2, 0])), (SCHEMA, group(_3=[9, 1, 0])), (SCHEMA, counter(1, ""))],
    "CONTINUE": (SCHEMA, {3: 2, 4: [{5: 1, 2: 1}]}),
    "RETIRED": (INSTANCES, {4: [0, 1]}),
    "CONFIG": (CONFIG, {1: [{1: "a", 2: 1, 3: 0}]}),
    "NUMBERS": (CONFIG, {1: [{1: "a", 2: 1, 3: 7, 4: [3, 1, 2, 1], 50: 1}]}),
    "EVENT": (EVENT, {2: [{2: 1}]}),
    "ROWS": {10: [0, 0, 0]},
    "FLAGS": {13: [1, 1, 0, 1], 7: 2},
    "NAMED": {16: [1, 0]},
    "CLOCKS": {14: [1, 2, 3]},
    "CHUNK": {8: None},
    "DEPENDENT": {15: "crc", 5: 2, 8: None, 16: None},
    "ASCEND": {9: 1},
    "BLOCKS": {17: "short"},
    "BLOCK": {17: "large"},
    "STATUS": {"status": [1, 0, 4]},
    "PLAIN": {"tag": b"\xd8\x4f"},
    "PACKED": {"matrix": b"\x40"},
}


def chunk(w, first, change):
    """One row of group 1, of three columns in three bands, plain."""
    matrix = change.get("matrix", [Raw(change.get("tag", b"\xd8\x47") + encode(first.to_bytes(8, "little"))) for _ in range(3)])
    size = encode(0) if "matrix" in change else b""
    block = size + encode(matrix) + encode(change.get("status", []))
    meta = {2: 0 if "matrix" in change else 1, 7: 1, 8: 10**9, 9: first, 14: [first, 0, 0, 0], 16: [1, 1], 17: [len(block), 0, 0, crc32c(block), 1]}
    meta.update({k: v for k, v in change.items() if isinstance(k, int)})
    if meta.get(15) == "crc":
        meta[15], meta[2] = w.last, 0
    if meta[17] == "short":
        meta[17] = [len(block) - 1, 0, 0, crc32c(block[:-1]), 1]
    elif meta[17] == "large":
        meta[17] = [len(block), 0, 40001 * len(block), crc32c(block), 1]
    w.last = w.frame(CHUNK, block, {k: v for k, v in meta.items() if v is not None})


def recording(case):
    w = Writer(random.Random(1), b"\x11" * 8, strict=True)
    for kind, body in GOOD.items():
        w.body(kind, body, codec=0)
    chunk(w, 10**12, {})
    at = len(w.out)
    if isinstance(case, dict):
        chunk(w, 10**12 + 10**9, case)
    elif callable(case):
        case(w)
    else:
        kind, body = case
        w.frame(kind, encode(body) if isinstance(body, Raw) else w.ascending(body))
    return bytes(w.out), at


def main():
    pmrep, failures = sys.argv[1], []
    with open(os.path.join(FORMAT, "cbor.h")) as f:
        rules = {name: (section, text) for name, section, text in re.findall(r'X\((\w+), "(.*?)", "(.*?)"\)', f.read())}
    with open(os.path.join(FORMAT, "SPEC.md")) as f:
        sections = set(re.findall(r"(?m)^#+ (.*)$", f.read()))
    failures += ["%s: SPEC.md has no section \"%s\"" % (k, v[0]) for k, v in rules.items() if v[0] not in sections]
    if set(CASES) != set(rules):
        failures.append("rules without a case, and cases without a rule: %s" % sorted(set(CASES) ^ set(rules)))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.pmr")
        for name, case in ((n, x) for n, cases in CASES.items() for x in (cases if isinstance(cases, list) else [cases])):
            data, at = recording(case)
            with open(path, "wb") as f:
                f.write(data)
            p = subprocess.run([pmrep, "check", path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
            expected = "%s: %s" % rules.get(name, ("", ""))
            lines = [x for x in p.stdout.splitlines() if expected in x]
            if p.returncode != 1 or len(lines) != 1 or str(at) not in lines[0]:
                failures.append("%s at %d: expected \"%s\", status 1; got %d:\n%s" % (name, at, expected, p.returncode, p.stdout))
    print("\n".join(failures) or "%d rules" % len(rules))
    sys.exit(1 if failures else 0)


main()
