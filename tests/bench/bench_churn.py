#!/usr/bin/python3
"""Tasks and cgroups that come and go: bytes, users' seconds, resident memory and what was read of the file; how much more
twice the members and twice the births cost; and whether anything grows in 24 hours, which are written as fast as that
goes: the writer's memory and what it would repeat at 6, 12, 18 and 24 hours, and the reader's for 6, 12 and 24.

    bench_churn.py PMREP SAMPLE_TOOL [FACTOR [CASE]]     FACTOR: of the times, 1 if absent; CASE: only tasks, day, ...
"""

import os
import resource
import subprocess
import sys
import tempfile

DAY = (200, 1, 100, 86400, 0)
# Live members, counters, replaced a second, seconds, 1: cgroups or 2: tasks of perf; commands.
LAST = "cut --since=-60 --overwrite -o %s.cut"
CASES = [
    ("tasks", (1000, 5, 100, 3600, 0), ["info", "check", "show --total", "show --total --format=csv", "show --since=-60 -S", LAST]),
    ("tasks, static", (1000, 5, 0, 3600, 0), ["info", "check", "show --total", LAST]),
    ("tasks, twice the births", (1000, 5, 200, 3600, 0), ["info", "check", "show --total", "show --total --format=csv", "show --since=-60 -S"]),
    ("tasks, twice as many", (2000, 5, 100, 3600, 0), ["info", "check", "show --total"]),
    ("cgroups", (100, 5, 10, 3600, 1), ["show"]),
    ("cgroups, twice the births", (100, 5, 20, 3600, 1), ["show"]),
    ("births", (2000, 5, 2000, 60, 0), ["show", "html -o /dev/null --overwrite"]),
    ("per thread", (12000, 1, 0, 2, 2), ["stat --per-thread"]),
    ("short", (1000, 5, 100, 240, 0), ["cut --since=-30 --overwrite -o %s.cut"]),
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


def generate(tool, shape, path):
    """What the writer says of itself after each quarter: chunks, bytes, bytes of a copy, instances, groups, KiB."""
    out = subprocess.run([tool, "live=%d,%d,%d,%d,%d" % shape, path], check=True, stdout=subprocess.PIPE, text=True).stdout
    return [[int(word) for word in line.split()] for line in out.splitlines()]


def day(pmrep, tool, path, factor):
    live, counters, births, seconds, kind = DAY
    for part in (4, 2, 1):
        said = generate(tool, (live, counters, births, max(8, int(seconds * factor * part / 4)), kind), path)
        size = os.path.getsize(path)
        print("%.2f h, %d live, %d births/s: %.1f MB" % (said[-1][0] / 3600, live, births, size / 1e6))
        for chunks, size_then, copy, instances, groups, resident in said if part == 4 else []:
            print("    writer after %6.2f h: %8.2f MB, %6d bytes to repeat, %4d instances, %2d groups, %6.2f MiB resident"
                  % (chunks / 3600, size_then / 1e6, copy, instances, groups, resident / 1024))
        for words in ("check", "info", "show --total", "show --since=-60 -S", LAST):
            command, *rest = (words % path if "%s" in words else words).split()
            code, cpu, memory, read = measure([pmrep, command, *rest, path])
            print("    %-28s %8.2f s %8.1f MiB, %5.1f %% read" % (words.split(" -o")[0], cpu, memory, read / size * 100))


def main(pmrep, tool, factor="1", only=""):
    first = {}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "churn.pmr")
        for name, (live, counters, replaced, seconds, cgroups), commands in CASES:
            if not name.startswith(only):
                continue
            seconds = max(2, int(seconds * float(factor)))
            generate(tool, (live, counters, replaced, seconds, cgroups), path)
            base, _, twice = name.partition(", twice")
            cost = {"bytes": os.path.getsize(path)}
            print("%-26s %6d live, %5d births/s, %4d s: %8.2f MB" % (name, live, replaced, seconds, os.path.getsize(path) / 1e6))
            for words in commands:
                command, *rest = (words % path if "%s" in words else words).split()
                code, cpu, memory, read = measure([pmrep, command, *rest, path])
                cost[words] = cpu
                print("    %-28s %8.2f s %8.1f MiB, %5.1f %% read%s" % (words.split(" -o")[0], cpu, memory, read / os.path.getsize(path) * 100,
                                                                      "" if not code else "  exit %d" % code))
            if twice:
                print("    times as much: " + ", ".join("%s %.2f" % (k, v / first[base][k]) for k, v in cost.items() if first[base].get(k)))
            first.setdefault(base, cost)
            if name == "short":
                print("    %-28s %8.2f MB" % ("the cut", os.path.getsize(path + ".cut") / 1e6))
                for half, window in (("1", "--until=120"), ("2", "--since=120")):
                    measure([pmrep, "cut", window, "--overwrite", "-o", path + half, path])
                code, cpu, memory, _ = measure([pmrep, "diff", path + "1", path + "2"])
                print("    %-28s %8.2f s %8.1f MiB, exit %d" % ("diff of its halves", cpu, memory, code))
        if "day".startswith(only):
            day(pmrep, tool, path, float(factor))


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
