#!/usr/bin/env python3
"""Counts of pmrec beside those of perf, on the same work in the same run.

Workers wait at a gate. The outer program is enabled, then the inner one; the gate opens, all workers do a known
amount of work and wait again; the inner program is disabled, then the outer one. So all that the workers do lies in
both windows: where only they are counted the numbers are equal, and where the whole system is counted

    known work <= inner <= outer,    and for clocks    outer - inner <= time that only the outer one was enabled.

usage: perf_counts.py MODE pmrec|perf       (which one is inside); 77: cannot be done here
modes: process thread cgroup system cpu core socket node
"""
import csv
import io
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

BIN = os.environ.get("PM_BIN", "build/bin")
PAGES = 300
SLEEPS = 15

WORKER = f"""
import ctypes, mmap, os, sys, threading, time
gate, done, threads, cpu = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
if cpu >= 0:
    os.sched_setaffinity(0, [cpu])
never, _ = os.pipe()
madvise = ctypes.CDLL(None, use_errno=True).madvise
def work(pages):
    os.read(gate, 1)
    m = mmap.mmap(-1, pages * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    at = ctypes.c_char.from_buffer(m)
    madvise(ctypes.c_void_p(ctypes.addressof(at)), ctypes.c_size_t(len(m)), 15)  # no huge pages
    for i in range(pages):
        m[i * mmap.PAGESIZE] = 1
    for i in range({SLEEPS}):
        time.sleep(0.001)
    os.write(done, b"d")
    os.read(never, 1)
ts = [threading.Thread(target=work, args=({PAGES} * (k + 1),)) for k in range(threads)]
[t.start() for t in ts]
os.write(done, b"r")
[t.join() for t in ts]
"""


def skip(why):
    print("skipped:", why)
    sys.exit(77)


class Workers:
    """Processes of some threads each. Thread k touches PAGES * (k + 1) pages."""

    def __init__(self, processes, threads, cpus=None, prepare=None):
        self.gate_read, self.gate = os.pipe()
        self.done, done_write = os.pipe()
        self.n = processes * threads
        self.process = []
        for i in range(processes):
            cpu = cpus[i % len(cpus)] if cpus else -1
            p = subprocess.Popen([sys.executable, "-c", WORKER, str(self.gate_read), str(done_write), str(threads), str(cpu)],
                                 pass_fds=(self.gate_read, done_write),
                                 preexec_fn=(lambda i=i: prepare(i)) if prepare else None)
            self.process.append(p)
        self.wait(processes)
        time.sleep(0.2)  # until all of them block at the gate

    def wait(self, n):
        for _ in range(n):
            assert os.read(self.done, 1)

    def work(self):
        os.write(self.gate, b"g" * self.n)
        self.wait(self.n)
        time.sleep(0.1)  # back to the gate

    def end(self):
        for p in self.process:
            p.kill()
            p.wait()
        for fd in (self.gate_read, self.gate, self.done):
            os.close(fd)

    def pids(self):
        return ",".join(str(p.pid) for p in self.process)


class Program:
    """perf or pmrec, started disabled. `earliest` and `latest` bound the time that it was enabled."""

    def __init__(self, argv, stop):
        ctl_read, self.ctl = os.pipe()
        self.ack, ack_write = os.pipe()
        self.stop = stop
        self.process = subprocess.Popen([*argv, "-D", "-1", f"--control=fd:{ctl_read},{ack_write}"],
                                        pass_fds=(ctl_read, ack_write), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        os.close(ctl_read)
        os.close(ack_write)

    def say(self, word):
        os.write(self.ctl, word.encode() + b"\n")
        answer = os.read(self.ack, 64)
        # perf ends the line with a byte 0
        assert answer.startswith(b"ack"), (word, answer, self.process.stderr.read())

    def enable(self):
        self.before = time.monotonic_ns()
        self.say("enable")
        self.on = time.monotonic_ns()

    def disable(self):
        self.off = time.monotonic_ns()
        self.say("disable")
        self.after = time.monotonic_ns()

    def end(self):
        if self.stop:
            os.write(self.ctl, b"stop\n")
        else:
            self.process.send_signal(signal.SIGINT)
        _, err = self.process.communicate(timeout=60)
        os.close(self.ctl)
        os.close(self.ack)
        return err

    def least(self):
        return self.off - self.on

    def most(self):
        return self.after - self.before


def pmrep(path, *args):
    out = subprocess.run([BIN + "/pmrep", "show", "--format=csv", "--total", *args, path], check=True,
                         capture_output=True, text=True).stdout
    return list(csv.DictReader(io.StringIO(out)))


def names_of_tasks(path):
    """task-3 -> thread id, from the definitions of the instances."""
    names = {}
    for line in subprocess.run([BIN + "/pmrep", "dump", "--no-values", path], check=True, capture_output=True,
                               text=True).stdout.splitlines():
        word = dict(w.split("=", 1) for w in line.split() if "=" in w)
        if line.startswith("instance ") and word.get("kind") == "task":
            names[word["name"]] = word.get("tid", "")
    return names


def pmrec_counts(path, mode):
    per = {"process": "--per-system", "system": "--per-system", "thread": "--per-task", "cgroup": "--per-cgroup",
           "cpu": "--per-cpu", "core": "--per-core", "socket": "--per-package", "node": "--per-node"}[mode]
    names = names_of_tasks(path) if mode == "thread" else {}
    counts = {}
    for row in pmrep(path, per):
        key = {"process": "", "system": "", "thread": names.get(row["task"], row["task"].rpartition("(")[2].rstrip(")")), "cgroup": row["cgroup"],
               "cpu": row["cpu"], "core": row["package"] + "." + row["core"], "socket": row["package"],
               "node": row["node"]}[mode]
        assert row["status"] == "ok", row
        counts[key, row["metric"]] = float(row["value"])
    return counts


def perf_counts(path, mode):
    counts = {}
    lines = [line for line in open(path) if line.strip() and not line.startswith("#")]
    for f in csv.reader(lines):
        key, cgroup = "", ""
        if mode == "thread":
            key, f = f[0].rsplit("-", 1)[1], f[1:]
        elif mode == "cpu":
            key, f = f[0][3:], f[1:]
        elif mode == "core":
            part = f[0].split("-")
            key, f = part[0][1:] + "." + part[-1][1:], f[2:]
        elif mode == "socket" or mode == "node":
            key, f = f[0][1:], f[2:]
        elif mode == "cgroup":
            key = f[3].lstrip("/")
        if f[0] in ("<not counted>", "<not supported>"):
            continue
        counts[key, f[2]] = counts.get((key, f[2]), 0) + float(f[0])
    return counts


EXACT = ("minor-faults", "page-faults", "context-switches")
CLOCKS = {"cpu-clock": 1e6, "task-clock": 1e6}  # in ms


def compare(inner, outer, in_program, out_program, exact, cpus):
    assert inner
    n = 0
    for key, value in inner.items():
        # perf leaves out what has not run.
        most = outer.get(key, 0)
        n += 1
        name = key[1]
        if name in EXACT and exact:
            assert value == most, (key, value, most)
        elif name in CLOCKS:
            # Two events of one clock start and stop microseconds apart; each switch is such a start.
            doubt = 5.0 * cpus if exact else 1e-3
            apart = (out_program.most() - in_program.least()) / CLOCKS[name] * cpus if not exact else most * 0.05
            assert value <= most + doubt, (key, value, most)
            assert most - value <= apart + doubt, (key, value, most, apart)
        elif name == "msr/tsc/":
            ghz = value / in_program.least()  # of all CPUs together
            assert value <= most, (key, value, most)
            assert most - value <= (out_program.most() - in_program.least()) * ghz * 1.02 + 1e6, (key, value, most)
        else:
            assert value <= most, (key, value, most)
    return n


def siblings(cpu):
    """Threads of its core."""
    with open(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list") as f:
        spans = [[int(n) for n in part.split("-")] for part in f.read().split(",")]
    return sum(span[-1] - span[0] + 1 for span in spans)


def main():
    mode, inside = sys.argv[1:]
    perf = shutil.which("perf")
    if not perf:
        skip("there is no perf")
    if os.geteuid():
        skip("not root")
    events = ["task-clock", "context-switches", "minor-faults", "page-faults"]
    cpus = sorted(os.sched_getaffinity(0))
    exact = mode in ("process", "thread", "cgroup")
    groups = []
    hierarchy = None
    if not exact:
        events = ["cpu-clock", "context-switches", "minor-faults", "cpu-migrations"]
        if os.path.exists("/sys/bus/event_source/devices/msr/events/tsc"):
            events.append("msr/tsc/")
        if os.path.exists("/sys/kernel/tracing/events/sched/sched_switch/id"):
            events += ["sched:sched_switch", "sched:sched_wakeup"]
    prepare = None
    if mode == "cgroup":
        events.remove("task-clock")
        events.insert(0, "cpu-clock")
        hierarchy = next((m.split()[1] for m in open("/proc/mounts") if m.split()[2] == "cgroup2"), None)
        if not hierarchy:
            skip("no cgroup2 is mounted")
        groups = [f"pm-counts-{os.getpid()}-{c}" for c in "ab"]
        try:
            for g in groups:
                os.mkdir(f"{hierarchy}/{g}")
        except OSError as e:
            skip(f"no cgroup can be made: {e}")

        def prepare(i):
            with open(f"{hierarchy}/{groups[i % 2]}/cgroup.procs", "w") as f:
                f.write(str(os.getpid()))
    # More processes and threads than CPUs.
    workers = Workers(6 if mode != "thread" else 3, 5, cpus if not exact else None, prepare)
    with tempfile.TemporaryDirectory() as folder:
        pmr, text = folder + "/x.pmr", folder + "/perf.csv"
        ours = [BIN + "/pmrec", "-q", "--sources=perf", "-i", "0.1", "--privacy=full", "-o", pmr, "-e", ",".join(events)]
        theirs = [perf, "stat", "-x,", "-o", text, "-e", ",".join(events)]
        if exact and mode != "cgroup":
            ours += ["-p", workers.pids()]
            theirs += ["-p", workers.pids()]
        else:
            ours += ["-a"]
            theirs += ["-a"]
        if mode == "cgroup":
            ours += ["--for-each-cgroup", ",".join(groups)]
            theirs += ["--for-each-cgroup", ",".join(groups)]
        if mode == "thread":
            ours += ["--per-thread"]
        theirs += {"thread": ["--per-thread"], "cpu": ["-A"], "core": ["--per-core"], "socket": ["--per-socket"],
                   "node": ["--per-node"]}.get(mode, [])
        try:
            pair = {"pmrec": lambda: Program(ours, True), "perf": lambda: Program(theirs, False)}
            outside = "perf" if inside == "pmrec" else "pmrec"
            outer = pair[outside]()
            outer.enable()
            inner = pair[inside]()
            inner.enable()
            workers.work()
            inner.disable()
            outer.disable()
            for p in (inner, outer):
                p.end()
        finally:
            workers.end()
            for g in groups:
                for _ in range(50):
                    try:
                        os.rmdir(f"{hierarchy}/{g}")
                        break
                    except OSError:
                        time.sleep(0.05)
        counts = {"pmrec": pmrec_counts(pmr, mode), "perf": perf_counts(text, mode)}
        # Reports may add what they compute.
        counts = {k: {key: v for key, v in c.items() if key[1] in events} for k, c in counts.items()}
    known = sum(PAGES * (k + 1) for k in range(5)) * len(workers.process)
    total = sum(v for (_, name), v in counts[inside].items() if name == "minor-faults")
    assert total >= known, (total, known)
    # CPUs of a row, at most: those of the machine, though this may run on few of them.
    width = {"cpu": 1, "core": max(map(siblings, cpus))}.get(mode, len(cpus) if exact else os.cpu_count())
    n = compare(counts[inside], counts[outside], inner, outer, exact, width)
    print(f"{mode}, {inside} inside: {n} counts")


if __name__ == "__main__":
    main()
