#!/usr/bin/python3
"""cut, redact, bundle and merge beside decoding alone (`pmrep check`), in the same run: CPU and wall time, peak
resident memory.

A recording of 256 CPUs x 40 counters at 1 s for an hour (genrec page). Limits: at most three times the time of
decoding, 64 MiB. Most of the work is packing the numbers anew. Wall time means little on a machine that does other
things, too.

usage: bench_rewrite.py [--rounds N] [--bin DIR] [--tests DIR]
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time


def run(argv):
    """(CPU seconds, wall seconds, peak resident MiB, status) of argv, its output thrown away."""
    begin = time.monotonic()
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.monotonic() - begin
    return usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024, process.returncode


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--bin", default="build/bin")
    parser.add_argument("--tests", default="build/tests")
    args = parser.parse_args()
    pmrep = args.bin + "/pmrep"
    with tempfile.TemporaryDirectory() as folder:
        whole, out = os.path.join(folder, "whole.pmr"), os.path.join(folder, "out.pmr")
        subprocess.run([args.tests + "/genrec", "page", whole], check=True, stdout=subprocess.DEVNULL)
        size = os.path.getsize(whole)
        halves = [os.path.join(folder, "half%d.pmr" % i) for i in (1, 2)]
        for half, option in zip(halves, ("--until=1800", "--since=1800")):
            subprocess.run([pmrep, "cut", option, "-o", half, whole], check=True, stderr=subprocess.DEVNULL)
        ways = [("check (decoding alone)", ["check", whole]),
                ("cut", ["cut", whole]),
                ("cut --since --until", ["cut", "--since=60", "--until=3000", whole]),
                ("cut --cpu=0-127", ["cut", "--cpu=0-127", whole]),
                ("cut --every=10", ["cut", "--every=10", whole]),
                ("redact", ["redact", whole]),
                ("redact --shift-time", ["redact", "--shift-time", whole]),
                ("merge of two halves", ["merge", *halves]),
                ("bundle that fits", ["bundle", "--max-size=%d" % (size * 2), whole]),
                *((f"bundle, 1/{part} of it", ["bundle", "--max-size=%d" % (size // part), whole])
                  for part in (1, 2, 3, 10, 100, 10000))]
        base = None
        print(f"{size / 1e6:.0f} MB, {args.rounds} rounds, medians   limits: 3 times, 64 MiB")
        for name, argv in ways:
            if argv[0] != "check":
                argv = [argv[0], "--overwrite", "-o", out, *argv[1:]]
            times, walls, most = [], [], 0
            for _ in range(args.rounds):
                cpu, wall, rss, status = run([pmrep, *argv])
                if status:
                    sys.exit(f"{name} failed with {status}")
                times.append(cpu)
                walls.append(wall)
                most = max(most, rss)
            cpu, wall = statistics.median(times), statistics.median(walls)
            base = base or (cpu, wall)
            print(f"  {name:24} {cpu:6.2f} s CPU {cpu / base[0]:5.1f} times   {wall:6.2f} s wall {wall / base[1]:5.1f} "
                  f"times   {most:6.1f} MiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
