#!/usr/bin/python3
"""pmrep beside `perf stat report` on recordings of the same size, and what pmrep needs for large ones.

1. 5 million values (2 CPUs x 8 events at 1 ms): `pmrep --per-package --format=csv` beside `perf stat -x, report
   --per-socket` on a perf.data file of perf's own, its rounds repeated to the same number of values. CPU time a
   value, median of the rounds.
2. Peak resident memory of pmrep on that file, on 100,000 columns, and on an hour of 1,024 CPUs x 40 counters.
3. `pmrep stat -x,` beside `perf stat -x, report` on the same files, with -A and --per-socket, and on groups that are
   multiplexed.
4. `pmrep --since` the last minute of that hour, `info` and `cut` of the last minute of a day: which part of the file is
   read (counted by strace).

usage: bench_report.py [--rounds N] [--values N] [--bin DIR] [--tests DIR]
"""
import argparse
import os
import re
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile

EVENTS = "task-clock,cpu-clock,context-switches,cpu-migrations,page-faults,minor-faults,major-faults,msr/tsc/"


def run(argv):
    """(CPU seconds, peak resident KiB, status) of argv, its output thrown away."""
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss, process.returncode


def perf_file(perf, path, values):
    """Records 4 s with perf and repeats its STAT and STAT_ROUND records until there are that many values. Returns their number."""
    small = path + ".small"
    subprocess.run([perf, "stat", "record", "--quiet", "-a", "-A", "-I", "1", "-e", EVENTS, "-o", small, "--", "sleep", "4"],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    data = open(small, "rb").read()
    offset, size = struct.unpack_from("<QQ", data, 40)
    first = last = None
    position, end, count, last_time = offset, offset + size, 0, 0
    rounds = []
    while position + 8 <= end:
        kind, _, length = struct.unpack_from("<IHH", data, position)
        if kind in (76, 77):
            first = position if first is None else first
            last = position + length
            count += kind == 76
            if kind == 77:
                rounds.append(position - first)
                last_time = struct.unpack_from("<Q", data, position + 16)[0]
        position += length
    block = bytearray(data[first:last])
    repeats = max(1, round(values / count))
    with open(path, "wb") as out:
        extra = len(block) * (repeats - 1)
        head = bytearray(data[:first])
        struct.pack_into("<Q", head, 48, size + extra)
        out.write(head)
        for _ in range(repeats):
            out.write(block)
            for place in rounds:
                struct.pack_into("<Q", block, place + 16, struct.unpack_from("<Q", block, place + 16)[0] + last_time)
        rest = bytearray(data[last:])
        # The feature sections come after the data: a table of (offset, size), of which the offsets move.
        table = end - last
        lowest = min((struct.unpack_from("<Q", rest, table + 16 * i)[0] for i in range(1)), default=0)
        position = table
        while position + 16 <= len(rest) and position + last < lowest:
            old, length = struct.unpack_from("<QQ", rest, position)
            struct.pack_into("<QQ", rest, position, old + extra, length)
            position += 16
        out.write(rest)
    os.unlink(small)
    return count * repeats


def bytes_read(argv, path):
    trace = subprocess.run(["strace", "-f", "-y", "-e", "trace=read,pread64,readv", *argv], stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace").stderr
    name = re.escape(os.path.realpath(path))
    return sum(int(m[1]) for m in re.finditer(r"^.*read(?:64|v)?\(\d+<" + name + r">.* = (\d+)$", trace, re.M))


def stat(args, pmrep, genrec, folder, ours, theirs, theirs_values):
    """pmrep stat -x, beside perf's, for every interval: all CPUs apart, and summed up. perf needs minutes for -A, so it runs once."""
    grouped = os.path.join(folder, "groups.pmr")
    subprocess.run([genrec, "groups", str(args.values), grouped], check=True, stdout=subprocess.DEVNULL)
    print(f"pmrep stat -x, of {args.values} values, every interval, {args.rounds} rounds, medians; perf once")
    for way in ("-A", "--per-socket"):
        other = None
        if theirs:
            cpu, _, status = run([args.perf, "stat", "-x,", "report", way, "-i", theirs])
            if status:
                sys.exit(f"perf stat report failed with {status}")
            other = cpu / theirs_values * 1e9
            print(f"  {way:12} perf stat report          {other:8.1f} ns/value")
        for kind, path in (("one group", ours), ("groups that share", grouped)):
            mine = []
            for _ in range(args.rounds):
                cpu, _, status = run([pmrep, "stat", "-x,", "--all", way, path])
                if status:
                    sys.exit(f"pmrep stat failed with {status}")
                mine.append(cpu / args.values * 1e9)
            ratio = f"   ratio {other / statistics.median(mine):.1f}   limit: at least 20" if other else ""
            print(f"  {way:12} pmrep, {kind:18} {statistics.median(mine):8.1f} ns/value{ratio}")
    os.unlink(grouped)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--values", type=int, default=5_000_000)
    parser.add_argument("--bin", default="build/bin")
    parser.add_argument("--tests", default="build/tests")
    parser.add_argument("--perf", default=shutil.which("perf"))
    args = parser.parse_args()
    pmrep, genrec = args.bin + "/pmrep", args.tests + "/genrec"
    with tempfile.TemporaryDirectory() as folder:
        ours = os.path.join(folder, "five.pmr")
        subprocess.run([genrec, "perf", str(args.values), ours], check=True, stdout=subprocess.DEVNULL)
        theirs_values = 0
        if args.perf:
            theirs = os.path.join(folder, "five.perf")
            theirs_values = perf_file(args.perf, theirs, args.values)
        mine, other, rss, other_rss = [], [], 0, 0
        for _ in range(args.rounds):
            cpu, rss, status = run([pmrep, "--per-package", "--format=csv", ours])
            if status:
                sys.exit(f"pmrep failed with {status}")
            mine.append(cpu / args.values * 1e9)
            if args.perf:
                cpu, other_rss, status = run([args.perf, "stat", "-x,", "report", "--per-socket", "-i", theirs])
                if status:
                    sys.exit(f"perf stat report failed with {status}")
                other.append(cpu / theirs_values * 1e9)
        print(f"report of {args.values} values, per package, csv, {args.rounds} rounds, medians")
        print(f"  pmrep            {statistics.median(mine):8.1f} ns/value   {rss / 1024:6.1f} MiB resident")
        if args.perf:
            ratio = statistics.median(b / a for a, b in zip(mine, other))
            print(f"  perf stat report {statistics.median(other):8.1f} ns/value   {other_rss / 1024:6.1f} MiB resident")
            print(f"  ratio {ratio:.1f}   limit: at least 20")
        else:
            print("  no perf on this machine: comparison skipped")
        small = os.path.join(folder, "stat.perf")
        small_values = perf_file(args.perf, small, 100_000) if args.perf else 0
        stat(args, pmrep, genrec, folder, ours, small if args.perf else None, small_values)
        os.unlink(ours)

        wide = os.path.join(folder, "wide.pmr")
        subprocess.run([genrec, "wide", "100000", wide], check=True, stdout=subprocess.DEVNULL)
        _, rss, status = run([pmrep, "--show=all", "--format=csv", wide])
        print(f"100,000 columns: {rss / 1024:.1f} MiB resident (status {status})   limit: 64")
        os.unlink(wide)

        hour = os.path.join(folder, "hour.pmr")
        subprocess.run([genrec, "hour", hour], check=True, stdout=subprocess.DEVNULL)
        size = os.path.getsize(hour)
        _, rss, status = run([pmrep, "--per-package", "--format=csv", hour])
        print(f"an hour of 1,024 CPUs x 40 counters ({size / 1e6:.0f} MB): {rss / 1024:.1f} MiB resident (status {status})   limit: 64")
        since = [pmrep, "--per-package", "--format=csv", "--since=-60s", hour]
        if shutil.which("strace"):
            part = bytes_read(since, hour)
            cpu, _, status = run(since)
            print(f"--since=-60s: {part / size * 100:.2f} % of the file read, {cpu * 1000:.0f} ms (status {status})   limit: 3 %")
            os.unlink(hour)
            day = os.path.join(folder, "day.pmr")
            subprocess.run([genrec, "day", day], check=True, stdout=subprocess.DEVNULL)
            for argv in ([pmrep, "info", day], [pmrep, "cut", "--since=-60s", "-o", day + ".cut", day]):
                part, size = bytes_read(argv, day), os.path.getsize(day)
                print(f"{argv[1]} of a day ({size / 1e6:.0f} MB): {part / size * 100:.2f} % of the file read   limit: 3 %")
        else:
            print("no strace on this machine: the part that --since reads is not measured: skipped")
    return 0


if __name__ == "__main__":
    sys.exit(main())
