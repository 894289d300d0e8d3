#!/usr/bin/python3
"""pmrec beside `perf stat record` on the same events, in the same run.

For 10 ms and 1 ms: the eight events of one group on all CPUs; for 10 ms also 32 events in four groups. Rounds
alternate (pmrec, perf, pmrec ...); every figure is the median over the rounds. "net" subtracts an empty loop with
that side's number of threads and wake-ups, measured in the same round. "missed" are the readings that never happened,
of one CPU or of all.

usage: bench_record.py [--seconds S] [--rounds N] [--bin DIR] [--tests DIR]
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

EVENTS = ["task-clock", "cpu-clock", "context-switches", "cpu-migrations", "page-faults", "minor-faults", "major-faults",
          "msr/tsc/"]

TRACEPOINTS = ["sched:sched_switch", "sched:sched_wakeup", "sched:sched_waking", "sched:sched_migrate_task",
               "timer:timer_start", "timer:timer_expire_entry", "timer:hrtimer_start", "timer:hrtimer_expire_entry",
               "irq:softirq_entry", "irq:softirq_exit", "irq:irq_handler_entry", "irq:irq_handler_exit",
               "sched:sched_process_fork", "sched:sched_process_exec", "sched:sched_process_exit", "sched:sched_wakeup_new"]


def many():
    """32 events in four groups: software events, the time stamp counter, and the tracepoints that can be seen here."""
    seen = [t for t in TRACEPOINTS if os.path.exists("/sys/kernel/tracing/events/" + t.replace(":", "/") + "/id")]
    pool = EVENTS + seen
    while len(pool) < 32:
        pool = pool + ["cpu-clock", "page-faults", "context-switches", "msr/tsc/"][:32 - len(pool)]
    return ["{" + ",".join(pool[i:i + 8]) + "}" for i in range(0, 32, 8)], len(seen)


def run(argv, **more):
    """Runs argv and returns (CPU seconds of it and its threads, status)."""
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, **more)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime, process.returncode


def pmrec_round(args, folder, interval_ns, events, count):
    path = os.path.join(folder, "bench.pmr")
    cpu, status = run([args.bin + "/pmrec", "--quiet", "--overwrite", "--sources=perf", "-a", "-e", ",".join(events),
                       "-i", f"{interval_ns / 1e9:.9g}", f"--timeout={args.seconds * 1000}", "-o", path])
    if status:
        sys.exit(f"pmrec failed with {status}")
    info = json.loads(subprocess.check_output([args.bin + "/pmrep", "info", "--format=json", path]))
    cpus = info["topology"]["cpus"]
    # A tick may be missed by all readers, or by the reader of one CPU: then the cells of that CPU say so.
    dump = subprocess.run([args.bin + "/pmrep", "dump", "--format=json", "--counter=context-switches", path],
                          check=True, capture_output=True, text=True).stdout
    cells = [json.loads(line)["status"] for line in dump.splitlines() if '"is":"value"' in line]
    valid = cells.count("ok")
    skew = info["sources"][0]["skew_ns"] or {}
    return {"cpu": cpu, "values": valid * count, "bytes": os.path.getsize(path), "ticks": info["snapshots"],
            "missed": ((info["lost_ticks"] + info["snapshots"]) * cpus - valid) / cpus, "skew": skew.get("median"),
            "due": info["lost_ticks"] + info["snapshots"], "threads": info.get("readers", info["topology"]["cpus"]),
            "seconds": info["duration_ns"] / 1e9}


def perf_round(args, folder, interval_ns, list_, count):
    path = os.path.join(folder, "bench.perf")
    events = ",".join(list_)
    cpu, status = run([args.perf, "stat", "record", "--quiet", "-a", "-A", "-I", str(interval_ns // 1000000), "-e", events,
                       "-o", path, "--", "sleep", str(args.seconds)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if status:
        sys.exit(f"perf failed with {status}")
    rounds = perf_rounds(path)
    cpus = os.cpu_count()
    return {"cpu": cpu, "values": rounds * count * cpus, "bytes": os.path.getsize(path), "ticks": rounds,
            "missed": max(0, round(args.seconds * 1e9 / interval_ns) - rounds), "threads": 1, "seconds": float(args.seconds)}


def perf_rounds(path):
    """Counts PERF_RECORD_STAT_ROUND records in the data section of a perf.data file."""
    import struct
    data = open(path, "rb").read()
    offset, size = struct.unpack_from("<QQ", data, 40)
    end, rounds = offset + size, 0
    while offset + 8 <= end:
        kind, _, length = struct.unpack_from("<IHH", data, offset)
        if length < 8:
            break
        rounds += kind == 77
        offset += length
    return rounds


def empty_round(args, threads, ticks):
    period_ns = round(args.seconds * 1e9 / max(ticks, 1))
    cpu, _ = run([args.tests + "/wakeups", str(threads), str(period_ns), str(ticks)])
    return cpu


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--bin", default="build/bin")
    parser.add_argument("--tests", default="build/tests")
    parser.add_argument("--perf", default=shutil.which("perf"))
    args = parser.parse_args()
    if not args.perf:
        print("bench_record: no perf on this machine: skipped")
        return 77
    print(f"8 events on {os.cpu_count()} CPUs, {args.rounds} rounds of {args.seconds} s a side, medians")
    print(f"{'interval':>9} {'':>6} {'bytes/value':>12} {'CPU us/value':>13} {'net us/value':>13} {'missed':>8} {'skew us':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for interval_ns, events, count in ((10_000_000, EVENTS, 8), (1_000_000, EVENTS, 8), (10_000_000, many()[0], 32)):
            if count == 32:
                print(f"32 events in four groups, {many()[1]} of them tracepoints")
            rows = {"pmrec": [], "perf": []}
            for _ in range(args.rounds):
                for name, function in (("pmrec", pmrec_round), ("perf", perf_round)):
                    row = function(args, folder, interval_ns, events, count)
                    row["net"] = row["cpu"] - empty_round(args, row["threads"], row["ticks"])
                    rows[name].append(row)
            middle = {}
            for name, list_ in rows.items():
                def median(f):
                    return statistics.median(f(r) for r in list_)
                m = middle[name] = {
                    "bytes": median(lambda r: r["bytes"] / r["values"]),
                    "cpu": median(lambda r: r["cpu"] / r["values"] * 1e6),
                    "net": median(lambda r: r["net"] / r["values"] * 1e6),
                    "missed": median(lambda r: r["missed"] / (r.get("due") or r["missed"] + r["ticks"])),
                }
                skew = [r["skew"] for r in list_ if r.get("skew") is not None]
                print(f"{interval_ns / 1e6:>6g} ms {name:>6} {m['bytes']:>12.2f} {m['cpu']:>13.2f} {m['net']:>13.2f} "
                      f"{m['missed'] * 100:>7.2f}% {statistics.median(skew) / 1e3 if skew else float('nan'):>8.1f}")
            ratio = {k: statistics.median(a[k] / a["values"] / (b[k] / b["values"]) for a, b in zip(rows["pmrec"], rows["perf"]))
                     for k in ("cpu", "net", "bytes")}
            print(f"{'':>9} {'ratio':>6} {ratio['bytes']:>12.3f} {ratio['cpu']:>13.2f} {ratio['net']:>13.2f}"
                  f"   limits: 2 bytes/value, CPU "
                  f"{0.5 if count == 32 else 0.8}, net 0.5, missed 2 % at 1 ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
