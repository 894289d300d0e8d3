#!/usr/bin/env python3
"""What the source of tasks costs: CPU time of a recorder with it and without, in pairs, beside N idle processes and, for
--tasks=threads, two that use CPU time and have M threads each.

bench_tasks.py [PMREC] [N] [SECONDS] [M]: prints percent of one CPU, the median of three pairs. What starting costs is taken
out: it is the difference between a run of so many seconds more and a short one.
"""
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time


THREADS = """
import sys, threading, time
threading.stack_size(65536)
for _ in range(int(sys.argv[1])):
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
while True:
    sum(range(30000))
    time.sleep(0.02)
"""


def cpu(pmrec, sources, seconds, *more):
    return 100 * (used(pmrec, sources, seconds + 1, *more) - used(pmrec, sources, 1, *more)) / seconds


def used(pmrec, sources, seconds, *more):
    with tempfile.TemporaryDirectory() as where:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([pmrec, "--quiet", "-n", str(seconds), "--sources=" + sources, *more, "-o", where + "/x.pmr"], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    pmrec = sys.argv[1] if len(sys.argv) > 1 else "build/bin/pmrec"
    n = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    seconds = int(sys.argv[3]) if len(sys.argv) > 3 else 8
    threads = int(sys.argv[4]) if len(sys.argv) > 4 else 2000
    others = [subprocess.Popen(["sleep", "600"]) for _ in range(n)]
    others += [subprocess.Popen([sys.executable, "-c", THREADS, str(threads)]) for _ in range(2)]
    time.sleep(2)
    try:
        pairs, whole = [], []
        for _ in range(3):
            without = cpu(pmrec, "stat", seconds)
            pairs.append(cpu(pmrec, "stat,tasks", seconds) - without)
            whole.append(cpu(pmrec, "stat,tasks", seconds, "--tasks=threads") - without)
    finally:
        for p in others:
            p.kill()
            p.wait()
    there = len([d for d in os.listdir("/proc") if d.isdigit()])
    for what, costs in ("tasks", pairs), (f"tasks with threads, {threads} in each of two busy processes,", whole):
        print(f"{n} idle processes beside {there} others: {what} cost {statistics.median(costs):.2f} % of a CPU "
              f"({', '.join(f'{c:.2f}' for c in costs)}); limit 1 %")


main()
