#!/usr/bin/python3
"""The rate of the TSC where CPUID and hypervisors say something else, and while the clock is slewed: clocks.py PMREP"""

import csv
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
try:
    import generate as g
    from generate import S
except ImportError as e:
    print("skipped: %s" % e)
    sys.exit(77)
TOLD = 2 * 10**9


def world(path, rate, slew):
    """CPUs that are busy for a quarter of each second of RAW; a million of something a second."""
    w = g.World(2, slew, rate, {14: "tsc", 15: TOLD})
    for name in "msr.mperf", "msr.tsc":
        w.counter(name, source="msr", rule="sum")
    w.group(["msr.mperf", "msr.tsc"], w.each_cpu(), source="msr")
    w.counter("test.n")
    w.group(["test.n"], w.each_cpu())
    pace = {"msr.mperf": rate / 4, "msr.tsc": rate, "test.n": 10**6}
    w.write(path, [k * S // 2 for k in range(30)], lambda c, i, s, t: 10**12 + round(pace[c] * t / (1 + slew) / S))


def main(pmrep):
    with tempfile.TemporaryDirectory() as folder:
        path, metrics = os.path.join(folder, "w.pmr"), os.path.join(folder, "m.json")
        with open(metrics, "w", encoding="utf-8") as f:
            json.dump([{"MetricName": "tsc_hz", "MetricExpr": "#system_tsc_freq", "ScaleUnit": "1"}], f)
        for factor in 0.36, 0.97, 1, 1.0002, 1.5, 2.8:
            for slew in 0, 0.03, -0.03, 0.08, -0.08:
                world(path, round(TOLD * factor), slew)
                done = subprocess.run([pmrep, "show", "--show=busy,tsc_mhz,test.n,tsc_hz", "--all", "--rate", "--per-cpu",
                                       "--format=csv", "--metrics-file=" + metrics, path], capture_output=True, text=True)
                assert done.returncode == 0, done.stderr
                # Rates that differ by less than that are those of the reading of clocks.
                hz = TOLD * (factor if abs(factor - 1) > 1e-3 else 1)
                good = {"busy": 25, "tsc_mhz": TOLD * factor / 1e6, "test.n": 10**6, "tsc_hz": hz}
                seen = 0
                for row in csv.DictReader(done.stdout.splitlines()):
                    where = factor, slew, row
                    assert row["status"] == "ok", where
                    if row["scope"] == "cpu" or row["metric"] == "tsc_hz":
                        # Readings are 20 us long, and slewed ns are rounded.
                        assert abs(float(row["value"]) / good[row["metric"]] - 1) < 1e-4, where
                        seen += 1
                assert seen == 29 * (3 * 2 + 1), seen


main(sys.argv[1])
