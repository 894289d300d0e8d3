#!/usr/bin/python3
"""What is left of a damaged recording: survivors.py PMREP WHOLE DAMAGED

Every value that pmrep reads from DAMAGED stands in WHOLE with the same number; of the times that `pmrep check` does
not name as lost none is missing. For a recording that was killed WHOLE is what decode.py reads from it (WHOLE = "-").
Prints: values left, values lost.
"""

import json
import subprocess
import sys

sys.dont_write_bytecode = True
try:
    import decode
except ImportError as e:
    print("skipped: %s" % e)
    sys.exit(77)


def lines(pmrep, path):
    """(tick, line) of every value."""
    out = subprocess.run([pmrep, "dump", "--format=json", "--no-definitions", path], stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, text=True, check=False).stdout
    tick, values = None, []
    for line in map(json.loads, out.splitlines()):
        if line["is"] == "snapshot":
            tick = line["tick"]
        elif line["is"] == "value":
            values.append((tick, line))
    return values


def main(argv):
    pmrep, whole, damaged = argv[1:]
    left = lines(pmrep, damaged)
    if whole == "-":
        recording = decode.load(damaged)
        everything = [(c.ticks[row], decode.as_json(v)) for c, row, values in recording.snapshots() for v in values]
        assert left == everything, "pmrep reads %d values, the second reader %d" % (len(left), len(everything))
        print(len(left), 0)
        return
    everything = lines(pmrep, whole)
    rest = iter(everything)
    for one in left:
        assert one in rest, "not in the whole recording: %s" % (one,)
    check = json.loads(subprocess.run([pmrep, "check", "--format=json", damaged], stdout=subprocess.PIPE, text=True,
                                      check=False).stdout)
    assert not check["good"] and check["damage"], check
    lost = [(d["from_ns"] or 0, d["to_ns"] or 1 << 64) for d in check["damage"]]

    def safe(values):
        return [one for one in values if not any(a < one[0] < b for a, b in lost)]
    assert safe(left) == safe(everything), "values outside of %s are missing" % lost
    print(len(left), len(everything) - len(left))


if __name__ == "__main__":
    main(sys.argv)
