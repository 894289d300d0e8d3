#!/usr/bin/python3
"""Cgroups counted by BPF (--bpf-counters) beside an event for each of them: 32 events in 50 cgroups, ten times a second.

Two costs: the CPU time of pmrec itself, and what the machine pays at each switch of tasks. For that, two tasks of
different cgroups hand a byte to and fro on one CPU; what a turn takes longer than without a recorder is the cost of
its two switches. Rounds alternate; figures are medians over them. Ends with 77 without root, BPF or cgroups of
version 2.

usage: bench_bpf.py [--seconds S] [--rounds N] [--bin DIR] [--tests DIR]
"""
import argparse
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
CGROUPS = 50
EVENTS = ",".join(["cpu-clock", "task-clock", "context-switches", "page-faults", "minor-faults", "major-faults",
                   "cpu-migrations", "cgroup-switches"] * 4)
WAYS = {"no recorder": None, "an event a cgroup": [], "BPF": ["--bpf-counters"]}


def hierarchy():
    mounts = [line.split() for line in open("/proc/mounts")]
    if any(m[2] == "cgroup" and "perf_event" in m[3] for m in mounts):
        return None
    return next((m[1] for m in mounts if m[2] == "cgroup2"), None)


def partner(cgroup, read, write):
    """A task in the cgroup, on CPU 0, that gives back every byte."""
    pid = os.fork()
    if pid:
        return pid
    with open(f"{cgroup}/cgroup.procs", "w") as file:
        file.write("0")
    os.sched_setaffinity(0, {0})
    while True:
        os.write(write, os.read(read, 1))


def turns_a_second(cgroup, seconds):
    there, back = os.pipe(), os.pipe()
    other = partner(cgroup, there[0], back[1])
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {0})
    turns, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        for _ in range(100):
            os.write(there[1], b"x")
            os.read(back[0], 1)
        turns += 100
    os.sched_setaffinity(0, before)
    os.kill(other, signal.SIGKILL)
    os.waitpid(other, 0)
    for fd in there + back:
        os.close(fd)
    return turns / seconds


def one(args, names, root, options, path):
    """(CPU seconds of pmrec a second, turns a second of the two tasks)"""
    if options is None:
        return 0, turns_a_second(f"{root}/{names[0]}", args.seconds)
    command = [args.bin + "/pmrec", "--quiet", "--overwrite", "--sources=perf", "-i", "0.1", "-o", path, "-e", EVENTS,
               "--for-each-cgroup", ",".join(names), *options]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    time.sleep(1)
    turns = turns_a_second(f"{root}/{names[0]}", args.seconds)
    process.send_signal(signal.SIGTERM)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if status:
        sys.exit(f"pmrec failed: {' '.join(options)}")
    return (usage.ru_utime + usage.ru_stime) / (args.seconds + 1), turns


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--bin", default="build/bin")
    parser.add_argument("--tests", help="unused; every benchmark takes it")
    args = parser.parse_args()
    root = hierarchy()
    told = subprocess.run([args.bin + "/pmrec", "doctor"], capture_output=True, text=True, check=False).stdout
    if os.geteuid() or not root or "--bpf-counters works here\n" not in told:
        print("skipped: it takes root, BPF and cgroups of version 2 for perf events")
        return SKIPPED
    names = [f"pm-bench-{os.getpid()}-{i}" for i in range(CGROUPS)]
    rows = {way: [] for way in WAYS}
    try:
        for name in names:
            os.mkdir(f"{root}/{name}")
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(args.rounds):
                for way, options in WAYS.items():
                    rows[way].append(one(args, names, root, options, folder + "/bpf.pmr"))
    finally:
        time.sleep(.2)
        for name in names:
            if os.path.isdir(f"{root}/{name}"):
                os.rmdir(f"{root}/{name}")
    cpu = {way: statistics.median(r[0] for r in rows[way]) for way in WAYS}
    turn = {way: 1e9 / statistics.median(r[1] for r in rows[way]) for way in WAYS}
    print(f"32 events in {CGROUPS} cgroups every 100 ms, {args.rounds} rounds, medians")
    for way in list(WAYS)[1:]:
        print(f"  {way:18} pmrec {cpu[way] * 1e3:6.1f} ms of CPU a second, "
              f"a switch of cgroups {(turn[way] - turn['no recorder']) / 2:7.0f} ns more")
    print(f"  BPF / events: CPU of pmrec {cpu['BPF'] / cpu['an event a cgroup']:.2f}, a turn of two tasks "
          f"{turn['BPF'] / turn['an event a cgroup']:.2f} (without a recorder {turn['no recorder']:.0f} ns)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
