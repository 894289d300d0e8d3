#!/usr/bin/python3
"""The system's numbers of tasks that come and go, of which most have ended, against the second evaluator.

    ended.py PMREP SAMPLE_TOOL

Exits with 77 if a Python module is missing that this needs."""

import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
try:
    import compare
except ImportError as e:
    print("skipped: %s" % e)
    sys.exit(77)

# Live tasks, counters, replaced a second, seconds, tasks of perf.
SHAPES = ["50,2,20,22,0", "12,2,5,16,2"]
FORMULAS = {"pace": "rate(churn.c0) + 2 * rate(churn.c1)", "many": "aggr_nr(churn.c1)", "share": "churn.c0 / elapsed(churn.c0)"}


def main(pmrep, tool):
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        for shape in SHAPES:
            path = os.path.join(folder, "churn.pmr")
            subprocess.run([tool, "live=" + shape, path], check=True, stdout=subprocess.DEVNULL)
            for formulas in (FORMULAS, {}):
                c = compare.Comparison(pmrep, path, formulas)
                c.all(levels=("system",), every=(7,) if formulas else ())
                failures += ["%s: %s" % (shape, f) for f in c.failures]
                if not c.values:
                    failures.append("%s: nothing was compared" % shape)
    for f in failures[:40]:
        print("FAILED: " + f)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
