#!/usr/bin/python3
"""Counts of this machine beside perf's, the kernel's and sar's in one run, while a SCHED_FIFO hog keeps the recorder
from its ticks.

    beside.py PMREC PMREP

A worker waits until all who count it are there, works, and waits again, so that all see the same. What counts the whole
machine is held between a peer that began later and ended earlier, and one that did the reverse. No time is asserted."""

import csv
import io
import json
import mmap
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time

EVENTS = "task-clock,page-faults,context-switches"
SYSTEM = "cpu-clock,page-faults,context-switches"
failures, skipped = [], []


def check(what, got, low, high):
    good = got is not None and low <= got <= high
    print("%-6s %-44s %s in [%.6g, %.6g]" % ("good" if good else "FAILED", what, got, low, high))
    if not good:
        failures.append(what)


def within(what, got, want, part=0.01):
    check(what, got, want * (1 - part), want * (1 + part))


def await_that(what, true, seconds=60):
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            sys.exit("FAILED: waited in vain until " + what)
        time.sleep(0.01)


def has_events(pid):
    """Whether a process, or a child of it, has opened perf events."""
    try:
        pids = [pid] + [int(p) for t in os.listdir("/proc/%d/task" % pid)
                        for p in open("/proc/%d/task/%s/children" % (pid, t), encoding="ascii").read().split()]
        for p in pids:
            for fd in os.listdir("/proc/%d/fd" % p):
                if "perf_event" in os.readlink("/proc/%d/fd/%s" % (p, fd)):
                    return True
    except OSError:
        pass
    return False


def taken():
    """ms that interrupts and the host of a virtual machine took from all CPUs."""
    with open("/proc/stat", encoding="ascii") as f:
        return sum(map(int, f.readline().split()[6:9])) * 1000 / os.sysconf("SC_CLK_TCK")


def worker():
    """Waits for a line, works, says what the kernel charged for it, and waits for the next."""
    print("ready", flush=True)
    sys.stdin.readline()
    before, taken_before = resource.getrusage(resource.RUSAGE_SELF), taken()
    end = before.ru_utime + before.ru_stime + 1.5
    while True:
        pages = mmap.mmap(-1, 1 << 20)
        pages.madvise(mmap.MADV_NOHUGEPAGE)
        for i in range(0, len(pages), mmap.PAGESIZE):
            pages[i] = 1
        pages.close()
        time.sleep(0.0005)
        now = resource.getrusage(resource.RUSAGE_SELF)
        if now.ru_utime + now.ru_stime > end:
            break
    print(json.dumps({"task-clock": 1000 * (now.ru_utime + now.ru_stime - before.ru_utime - before.ru_stime),
                      "page-faults": now.ru_minflt + now.ru_majflt - before.ru_minflt - before.ru_majflt,
                      "context-switches": now.ru_nvcsw + now.ru_nivcsw - before.ru_nvcsw - before.ru_nivcsw,
                      "taken": taken() - taken_before}), flush=True)
    sys.stdin.readline()


def hog(cpu, seconds):
    """Keeps others from a CPU, as far as the kernel lets it. None: it may not."""
    ready, begin = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.sched_setaffinity(0, {cpu})
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
        except OSError:
            os.write(begin, b"n")
            os._exit(1)
        os.write(begin, b"y")
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            pass
        os._exit(0)
    may = os.read(ready, 1) == b"y"
    os.close(ready)
    os.close(begin)
    if not may:
        os.waitpid(pid, 0)
    return pid if may else None


def perf_counts(path):
    """perf stat -x, -o: event to count; task-clock in ms."""
    with open(path, encoding="utf-8") as f:
        rows = [r for r in csv.reader(f) if len(r) > 2]
    return {r[2].split(":")[0]: float(r[0]) for r in rows if r[0].replace(".", "").isdigit()}


def run(*args):
    done = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    return done.stdout


def table(pmrep, path, *args):
    out = run(pmrep, "show", "--show=*", "--format=csv", *args, path)
    rows = list(csv.DictReader(io.StringIO(out)))
    tasks = {r["metric"] for r in rows if r["scope"] == "task"}
    return [r for r in rows if r["scope"] == ("task" if r["metric"] in tasks else "system")]


def total(pmrep, path):
    return {r["metric"]: r for r in table(pmrep, path, "--total")}


def stop(process):
    process.send_signal(signal.SIGINT)
    process.wait()


def consistent(pmrep, path, what, names):
    """Nothing is lost between the intervals, in show and in stat."""
    every = table(pmrep, path, "--all")
    whole = total(pmrep, path)
    missing = sum(r["value"] == "" for r in every if r["metric"] in names)
    info = json.loads(run(pmrep, "info", "--format=json", path))
    print("       %s: %d snapshots, %s lost ticks, %d cells without a value" % (what, info["snapshots"], info["lost_ticks"], missing))
    if not missing and not info["lost_ticks"]:
        skipped.append("missed ticks: the hog did not provoke any (%s)" % what)
    for name in names:
        row = whole.get(name)
        if row is None or row["value"] == "":
            check("%s, %s is there" % (what, name), None, 0, 0)
            continue
        if row["scope"] == "task" or not missing:
            rows = sum(float(r["value"]) for r in every if r["metric"] == name and r["value"] != "")
            within("%s, rows of %s" % (what, name), rows, float(row["value"]), 1e-6)
        lines = list(csv.reader(io.StringIO(run(pmrep, "stat", "-e", name, "-x,", "-I", "50", path))))
        stat = sum(float(r[1]) for r in lines if len(r) > 3 and r[1].replace(".", "").isdigit() and r[3] == name)
        within("%s, stat -I 50 of %s" % (what, name), stat, float(row["value"]), 0.002)
    return whole


def of_a_task(pmrec, pmrep, folder, perf):
    path, other = os.path.join(folder, "task.pmr"), os.path.join(folder, "perf.txt")
    work = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--work"], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True)
    pid = str(work.pid)
    work.stdout.readline()
    pipes = [os.path.join(folder, name) for name in ("tell", "told")]
    for pipe in pipes:
        os.mkfifo(pipe)
    tell, told = (os.open(pipe, os.O_RDWR | os.O_CLOEXEC) for pipe in pipes)
    record = subprocess.Popen([pmrec, "-q", "-i", "0.005", "--sources=perf", "-e", EVENTS, "-p", pid, "-o", path,
                               "--control=fifo:" + ",".join(pipes)], preexec_fn=lambda: os.sched_setaffinity(0, {0}))
    peer = subprocess.Popen([perf, "stat", "-x,", "-o", other, "-e", EVENTS, "-p", pid]) if perf else None
    # The recorder answers when it counts: open events alone have no first reading yet.
    os.write(tell, b"ping\n")
    os.read(told, 16)
    await_that("perf counts", lambda: not peer or has_events(peer.pid))
    tyrant = hog(0, 1.5)
    if tyrant is None:
        skipped.append("missed ticks: no right to SCHED_FIFO")
    work.stdin.write("go\n")
    work.stdin.flush()
    usage = json.loads(work.stdout.readline())
    if tyrant:
        os.waitpid(tyrant, 0)
    stop(record)
    if peer:
        stop(peer)
    work.stdin.write("end\n")
    work.stdin.close()
    work.wait()
    whole = consistent(pmrep, path, "task", EVENTS.split(","))
    for name, row in whole.items():
        if name not in usage or row["value"] == "":
            continue
        got = float(row["value"])
        # A tick of the kernel's accounts, and the few switches that do not stand in an rusage yet.
        slack = {"task-clock": 20, "context-switches": 20, "page-faults": 50}[name]
        # The kernel charges a task for the switch to it; events count once they are installed, which takes microseconds more.
        late = usage["context-switches"] * 0.03 if name == "task-clock" else 0
        # What interrupts and the host took may be none of the task's time, and is counted by its clock.
        taken_ms = usage["taken"] if name == "task-clock" else 0
        check("task, %s beside getrusage()" % name, got, usage[name] * 0.99 - slack - late, usage[name] * 1.01 + slack + taken_ms)
        if peer:
            within("task, %s beside perf" % name, got, perf_counts(other)[name])


def proc_stat():
    with open("/proc/stat", encoding="ascii") as f:
        lines = dict(x.split(None, 1) for x in f)
    return {"stat.ctxt": int(lines["ctxt"]), "stat.processes": int(lines["processes"])}


def of_the_machine(pmrec, pmrep, folder, perf, sar):
    path = os.path.join(folder, "all.pmr")
    outer_text, inner_text = os.path.join(folder, "outer"), os.path.join(folder, "inner")

    def count(to):
        p = subprocess.Popen([perf, "stat", "-a", "-x,", "-o", to, "-e", SYSTEM])
        await_that("perf counts", lambda: has_events(p.pid))
        return p
    outer = count(outer_text) if perf else None
    proc = [proc_stat()]
    record = subprocess.Popen([pmrec, "-q", "-a", "-i", "0.01", "--sources=perf,stat", "-e", SYSTEM, "-o", path])
    await_that("the recording grows", lambda: os.path.exists(path) and os.path.getsize(path) > 4096)
    inner = count(inner_text) if perf else None
    proc.append(proc_stat())
    beside = subprocess.Popen([sar, "-w", "1", "3"], stdout=subprocess.PIPE, text=True, env={**os.environ, "LC_ALL": "C"}) if sar else None
    sar_begin = time.time()
    tyrant = hog(0, 2)
    end = time.process_time() + 1
    while time.process_time() < end:
        bytearray(1 << 20)
    if tyrant:
        os.waitpid(tyrant, 0)
    switches = beside.communicate()[0] if beside else ""
    sar_end = time.time()
    proc.append(proc_stat())
    if inner:
        stop(inner)
    stop(record)
    proc.append(proc_stat())
    if outer:
        stop(outer)
    whole = consistent(pmrep, path, "machine", SYSTEM.split(","))
    for name in proc[0]:
        row = whole.get(name)
        check("machine, %s beside /proc/stat" % name, float(row["value"]) if row and row["value"] else None,
              proc[2][name] - proc[1][name], proc[3][name] - proc[0][name])
    if perf:
        low, high = perf_counts(inner_text), perf_counts(outer_text)
        for name in SYSTEM.split(","):
            row = whole.get(name)
            check("machine, %s beside perf" % name, float(row["value"]) if row and row["value"] else None,
                  low[name] * 0.99, high[name] * 1.01)
    row = whole.get("cpu-clock")
    if row and row["value"]:
        cpus = json.loads(run(pmrep, "info", "--format=json", path))["topology"]["cpus"]
        within("machine, cpu-clock a second and CPU", float(row["value"]) / 1e3 / cpus / (int(row["duration_ns"]) / 1e9), 1)
    average = [x.split() for x in switches.splitlines() if x.startswith("Average:") and "cswch" not in x]
    if average:
        # sar's three seconds lie between these two times.
        part = run(pmrep, "show", "--show=stat.ctxt", "--format=csv", "--total", "-S", "--since=@%.3f" % (sar_begin - 0.02),
                   "--until=@%.3f" % (sar_end + 0.02), path)
        rows = list(csv.DictReader(io.StringIO(part)))
        if rows and rows[0]["value"]:
            check("machine, switches beside sar", float(rows[0]["value"]), 3 * 0.99 * float(average[0][-1]),
                  float(whole["stat.ctxt"]["value"]))


def which(name):
    path = next((p for d in os.environ["PATH"].split(":") for p in [os.path.join(d, name)] if os.access(p, os.X_OK)), None)
    if not path:
        skipped.append("no " + name)
    return path


def main(argv):
    if argv[1:] == ["--work"]:
        return worker()
    pmrec, pmrep = argv[1:]
    perf, sar = which("perf"), which("sar")
    with tempfile.TemporaryDirectory() as folder:
        if subprocess.run([pmrec, "-q", "-a", "--sources=perf", "-e", "cpu-clock", "--timeout=50", "-o", folder + "/may.pmr"],
                          stderr=subprocess.DEVNULL, check=False).returncode:
            print("skipped: no right to count the machine")
            return 77
        of_a_task(pmrec, pmrep, folder, perf)
        of_the_machine(pmrec, pmrep, folder, perf, sar)
    for s in skipped:
        print("skipped: " + s)
    print("%d failed" % len(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
