#!/usr/bin/python3
"""What the flight recorder (--ring) costs beside a plain recording of the same: CPU, memory, bytes on disk. Both run at
once, so that they meet the same machine, and change places from round to round; figures are medians of the rounds, and
the ratio is that of each pair. A ring begins a file after a fifth of its time; what each costs is told as well, and what
that makes of the default ring of ten minutes.

usage: bench_ring.py [--seconds S] [--rounds N] [--bin DIR] [--tests DIR]
"""
import argparse
import glob
import os
import statistics
import subprocess
import sys
import tempfile

RING = 20
FILE = RING / 5
DEFAULT_FILE = 600 / 5
WAYS = {"plain": [], "ring": [f"--ring={RING}s"]}


def start(args, folder, way, interval):
    os.mkdir(f"{folder}/{way}")
    return subprocess.Popen([args.bin + "/pmrec", "--quiet", "-i", interval, f"--timeout={args.seconds * 1000}", *WAYS[way],
                             "-o", f"{folder}/{way}/x.pmr"], stdin=subprocess.DEVNULL)


def one_round(args, interval, order):
    """(CPU ms a second, memory in MiB, bytes) of each way."""
    got = {}
    with tempfile.TemporaryDirectory() as folder:
        running = [(way, start(args, folder, way, interval)) for way in order]
        for way, process in running:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if status:
                sys.exit(f"pmrec, {way}: {process.returncode}")
            got[way] = ((usage.ru_utime + usage.ru_stime) * 1e3 / args.seconds, usage.ru_maxrss / 1024,
                        sum(os.path.getsize(path) for path in glob.glob(f"{folder}/{way}/*")))
    return got


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=25)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--bin", default="build/bin")
    parser.add_argument("--tests", help="unused; every benchmark takes it")
    args = parser.parse_args()
    for interval in ("1s", "10ms"):
        rounds = [one_round(args, interval, sorted(WAYS, reverse=i % 2)) for i in range(args.rounds)]
        print(f"default recording at {interval}, {args.seconds} s, {args.rounds} rounds; the ring keeps {RING} s:")
        for way in WAYS:
            cpu, memory, size = (statistics.median(r[way][k] for r in rounds) for k in range(3))
            print(f"  {way:6} CPU {cpu:7.2f} ms a second, {memory:5.1f} MiB, {size / 1e3:8.1f} kB on disk at the end")
        ratios = sorted(r["ring"][0] / r["plain"][0] for r in rounds)
        print(f"  ring / plain: CPU {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}), "
              f"memory {statistics.median(r['ring'][1] / r['plain'][1] for r in rounds):.2f}")
        begun = (args.seconds - 1) // FILE
        file = statistics.median((r["ring"][0] - r["plain"][0]) * args.seconds / begun for r in rounds)
        plain = statistics.median(r["plain"][0] for r in rounds)
        print(f"  a file: CPU {file:.1f} ms; in a ring of ten minutes that is {file / DEFAULT_FILE / plain * 100:.1f} % more")
    return 0


if __name__ == "__main__":
    sys.exit(main())
