#!/usr/bin/env python3
"""What the source of tasks costs: CPU time of a recorder with it and without, in pairs, beside N idle processes.

bench_tasks.py [PMREC] [N] [SECONDS]: prints percent of one CPU, the median of three pairs. What starting costs is taken
out: it is the difference between a run of so many seconds more and a short one.
"""
import os
import resource
import statistics
import subprocess
import sys
import tempfile


def cpu(pmrec, sources, seconds):
    return 100 * (used(pmrec, sources, seconds + 1) - used(pmrec, sources, 1)) / seconds


def used(pmrec, sources, seconds):
    with tempfile.TemporaryDirectory() as where:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([pmrec, "--quiet", "-n", str(seconds), "--sources=" + sources, "-o", where + "/x.pmr"], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    pmrec = sys.argv[1] if len(sys.argv) > 1 else "build/bin/pmrec"
    n = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    seconds = int(sys.argv[3]) if len(sys.argv) > 3 else 8
    idle = [subprocess.Popen(["sleep", "600"]) for _ in range(n)]
    try:
        pairs = []
        for _ in range(3):
            without = cpu(pmrec, "stat", seconds)
            pairs.append(cpu(pmrec, "stat,tasks", seconds) - without)
    finally:
        for p in idle:
            p.kill()
            p.wait()
    there = len([d for d in os.listdir("/proc") if d.isdigit()])
    print(f"{n} idle processes beside {there} others: tasks cost {statistics.median(pairs):.2f} % of a CPU "
          f"({', '.join(f'{p:.2f}' for p in pairs)}); limit 1 %")


main()
