#!/usr/bin/python3
"""pmrep diff on real recordings of this machine, and on large ones.

1. The same work (awk fills an array) recorded in two sets of 5, runs of both sides alternating in time: how often a
   gated metric is REGRESSED (limit: never in 20 trials), and how often 10 % more work is. What is gated: elapsed and
   user time of the command, the time that the scheduler counted for it, and its page faults; by each of them, too,
   because on a busy machine times vary more than 10 %.
2. Two sets of 10 recordings of 256 CPUs x 40 counters at 100 ms: peak memory (limit: 64 MiB), CPU time beside that of
   decoding and verifying every block (pmrep check). The length is that of --snapshots; an hour is 36,000.

usage: bench_diff.py [--trials N] [--work N] [--snapshots N] [--only real|large] [--bin DIR] [--tests DIR]
"""
import argparse
import csv
import io
import os
import subprocess
import sys
import tempfile
import time

GATE = "elapsed,command.user,task-clock,page-faults"


def run(argv):
    """(CPU seconds, wall seconds, peak resident KiB, status), the output thrown away."""
    begin = time.monotonic()
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime, time.monotonic() - begin, usage.ru_maxrss, process.returncode


def record(pmrec, path, work):
    subprocess.run([pmrec, "-q", "--overwrite", "-e", "task-clock,page-faults", "-o", path, "--", "awk",
                    f"BEGIN {{ for (i = 0; i < {work}; i++) a[i % 10 ? i % 5000 : i] = i }}"], check=True, stdout=subprocess.DEVNULL)


def compare(pmrep, sides):
    """(exit code, {metric: verdict}, {metric: ratio})"""
    done = subprocess.run([pmrep, "diff", "--gate", GATE, "--format=csv", "--base", *sides[0], "--new", *sides[1]],
                          capture_output=True, text=True, check=False)
    rows = [r for r in csv.DictReader(io.StringIO(done.stdout)) if r["scope"] == "system"]
    if done.returncode not in (0, 1, 4) or len(rows) != 4:
        sys.exit(f"pmrep diff failed with {done.returncode}: {done.stderr}")
    return done.returncode, {r["metric"]: r["verdict"] for r in rows}, {r["metric"]: float(r["ratio"]) for r in rows}


def real(args, pmrec, pmrep, folder):
    """Sides a and b do the same, c does 10 % more; runs of all three alternate, and change places from round to round."""
    wrong, found, conclusive = 0, 0, 0
    verdicts = {"same": {}, "more": {}}
    for trial in range(args.trials):
        sides = {"a": [], "b": [], "c": []}
        for k in range(5):
            order = "abc"[(k + trial) % 3:] + "abc"[:(k + trial) % 3]
            for side in order:
                path = os.path.join(folder, f"{side}{k}.pmr")
                record(pmrec, path, args.work * 11 // 10 if side == "c" else args.work)
                sides[side].append(path)
        status, kinds, _ = compare(pmrep, (sides["a"], sides["b"]))
        more, more_kinds, ratios = compare(pmrep, (sides["a"], sides["c"]))
        wrong += status == 1
        conclusive += status != 4
        found += more == 1
        for name, one in (("same", kinds), ("more", more_kinds)):
            for metric, verdict in one.items():
                key = (metric, verdict)
                verdicts[name][key] = verdicts[name].get(key, 0) + 1
        print(f"  trial {trial + 1:2}: the same {status}, 10 % more {more}   ratios of that " +
              " ".join(f"{metric} {ratio:.3f}" for metric, ratio in ratios.items()), flush=True)
    print(f"the same work, 5 against 5, gated: REGRESSED in {wrong} of {args.trials} trials (limit: 0); settled in {conclusive}")
    print(f"10 % more work: REGRESSED in {found} of {args.trials} trials")
    for name, of in (("same", "the same"), ("more", "10 % more")):
        for (metric, verdict), n in sorted(verdicts[name].items()):
            print(f"  {of:10} {metric:16} {verdict:12} {n}")


def large(args, pmrep, genrec, folder):
    sides = [[], []]
    for i in range(20):
        path = os.path.join(folder, f"g{i}.pmr")
        subprocess.run([genrec, "diff", str(args.snapshots), str(i), path], check=True, stdout=subprocess.DEVNULL)
        sides[i // 10].append(path)
    files = sides[0] + sides[1]
    values = 20 * 256 * 40 * args.snapshots
    size = sum(os.path.getsize(f) for f in files)
    print(f"2 x 10 recordings of 256 CPUs x 40 counters, {args.snapshots} snapshots: {values} values, {size >> 20} MiB")
    check, check_wall, _, status = run([pmrep, "check", *files])
    if status:
        sys.exit(f"pmrep check failed with {status}")
    cpu, wall, rss, status = run([pmrep, "diff", "--base", *sides[0], "--new", *sides[1]])
    if status not in (0, 4):
        sys.exit(f"pmrep diff failed with {status}")
    print(f"  {cpu:6.2f} s CPU, {cpu / values * 1e9:5.1f} ns/value, {cpu / check:4.1f} x decoding and verifying; "
          f"{wall:6.2f} s ({wall / check_wall:.1f} x check); {rss / 1024:5.1f} MiB (limit: 64)")
    print(f"  an hour each, at that pace: {cpu * 36000 / args.snapshots:.0f} s CPU, {wall * 36000 / args.snapshots:.0f} s")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--work", type=int, default=1_500_000)
    parser.add_argument("--snapshots", type=int, default=1200)
    parser.add_argument("--only", choices=("real", "large"))
    parser.add_argument("--bin", default="build/bin")
    parser.add_argument("--tests", default="build/tests")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if args.only != "large":
            real(args, args.bin + "/pmrec", args.bin + "/pmrep", folder)
        if args.only != "real":
            large(args, args.bin + "/pmrep", args.tests + "/genrec", folder)


main()
