#!/usr/bin/python3
"""Tasks and cgroups that come and go: bytes, users' seconds, resident memory and what was read of the file, for once and
twice the members and births.

    bench_churn.py PMREP SAMPLE_TOOL [FACTOR]     FACTOR: of an hour, 1 if absent
"""

import os
import resource
import subprocess
import sys
import tempfile

# Live members, counters, replaced a second, seconds, 1: cgroups or 2: tasks of perf; commands.
LAST = "cut --since=-60 --overwrite -o %s.cut"
CASES = [
    ("tasks", (1000, 5, 100, 3600, 0), ["info", "check", "show --total", "show --since=-60 -S", LAST]),
    ("tasks, static", (1000, 5, 0, 3600, 0), ["info", "check", "show --total", LAST]),
    ("tasks, twice the births", (1000, 5, 200, 3600, 0), ["info", "check", "show --total", "show --since=-60 -S"]),
    ("tasks, twice as many", (2000, 5, 100, 3600, 0), ["info", "check", "show --total"]),
    ("cgroups", (100, 5, 10, 3600, 1), ["show"]),
    ("cgroups, twice the births", (100, 5, 20, 3600, 1), ["show"]),
    ("births", (2000, 5, 2000, 60, 0), ["show", "html -o /dev/null --overwrite"]),
    ("per thread", (12000, 1, 0, 2, 2), ["stat --per-thread"]),
    ("short", (200, 5, 20, 120, 0), ["cut --since=-30 --overwrite -o %s.cut"]),
]


def measure(command):
    pid = os.fork()
    if not pid:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        os.execv(command[0], command)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    with open("/proc/%d/io" % pid) as io:
        read = int(io.readline().split()[1])
    _, status, usage = os.wait4(pid, 0)
    return os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, read


def main(pmrep, tool, factor="1"):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "churn.pmr")
        for name, (live, counters, replaced, seconds, cgroups), commands in CASES:
            seconds = max(2, int(seconds * float(factor)))
            subprocess.run([tool, "live=%d,%d,%d,%d,%d" % (live, counters, replaced, seconds, cgroups), path], check=True)
            print("%-26s %6d live, %5d births/s, %4d s: %8.2f MB" % (name, live, replaced, seconds, os.path.getsize(path) / 1e6))
            for words in commands:
                command, *rest = (words % path if "%s" in words else words).split()
                code, cpu, memory, read = measure([pmrep, command, *rest, path])
                print("    %-28s %8.2f s %8.1f MiB, %5.1f %% read%s" % (words.split(" -o")[0], cpu, memory, read / os.path.getsize(path) * 100,
                                                                      "" if not code else "  exit %d" % code))
            if name == "short":
                print("    %-28s %8.2f MB" % ("the cut", os.path.getsize(path + ".cut") / 1e6))
                os.replace(path + ".cut", path + "2")
                code, cpu, memory, _ = measure([pmrep, "diff", path, path])
                print("    %-28s %8.2f s %8.1f MiB" % ("diff with itself", cpu, memory))


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
