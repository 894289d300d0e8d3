#!/usr/bin/python3
"""Recordings of tasks that come and go: what pmrep dumps is what decode.py reads, value by value and event by event.

    churn.py PMREP SAMPLE_TOOL

Exits with 77 if a Python module is missing that this needs.
"""

import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
try:
    import decode
except ImportError as e:
    print("skipped: %s" % e)
    sys.exit(77)
if decode.zstandard is None:
    print("skipped: no python3-zstandard")
    sys.exit(77)

SEEDS = range(1, 25)


def main(pmrep, tool):
    with tempfile.TemporaryDirectory() as folder:
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
