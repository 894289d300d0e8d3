#!/usr/bin/python3
"""pmrec beside other recorders of the same machine in the same minutes: perf stat -I, sadc, pmlogger.

All record the counters that all of them have: CPU time by kind of each CPU, interrupts and context switches of the
machine. perf reads no /proc and counts eight software events; sadc cannot leave out memory, disks, networks and more,
all of whose values are counted, as sadf prints them. Each round measures every recorder and none, in random order,
beside work that computes, then beside two processes that wake each other up, then beside copies of memory. Columns,
each the median over the rounds:

  CPU      ms a second of all processes of the recorder, from the kernel's accounts; pmlogger with its pmcd and agents
  memory   MiB of them together (proportional set size)
  B/value  bytes of its files, less those of a recording a third as long, for each value
  lost     snapshots that are due and not there
  others   CPU time of that work for the same amount of it, over that of the same round without a recorder

usage: bench_rivals.py [--seconds S] [--rounds N] [--intervals MS,...] [--bin DIR]
"""
import argparse
import glob
import json
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

EVENTS = "task-clock,cpu-clock,context-switches,cpu-migrations,page-faults,minor-faults,major-faults,alignment-faults"
METRICS = ["kernel.percpu.cpu." + m for m in ("user", "nice", "sys", "idle", "wait.total", "irq.soft", "irq.hard", "steal")]
METRICS += ["kernel.all.intr", "kernel.all.pswitch"]
CPUS = os.cpu_count()
TICK = os.sysconf("SC_CLK_TCK")
# Pieces of work until the time is over: computing, waking each other up through pipes, copying memory. Says how many,
# and the CPU seconds of all that took part.
WORKS = {
    "computing": """
    x = 0
    for i in range(20000):
        x += i * i
""",
    "waking up": """
    for i in range(50):
        os.write(there[1], b"x")
        os.read(back[0], 1)
""",
    "copying": """
    to[:] = of
    of[:] = to
""",
}
WORK = """
import os, resource, sys, time
there, back = os.pipe(), os.pipe()
of, to = (memoryview(bytearray(b"x" * (64 << 20))) for _ in "ab") if "of" in PIECE else (None, None)
child = os.fork() if "there" in PIECE else 0
if "there" in PIECE and not child:
    os.close(there[1])
    while os.read(there[0], 1):
        os.write(back[1], b"x")
    os._exit(0)
n, until = 0, time.monotonic() + float(sys.argv[1])
start = time.process_time()
while time.monotonic() < until:
    exec(CODE)
    n += 1
    time.sleep(0.002)
cpu = time.process_time() - start
os.close(there[1])
if child:
    os.wait()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu += used.ru_utime + used.ru_stime
print(n, cpu)
"""


def work(kind, seconds):
    code = f"PIECE = {WORKS[kind]!r}\nimport textwrap\nCODE = compile(textwrap.dedent(PIECE), 'work', 'exec')\n" + WORK
    return [sys.executable, "-c", code, str(seconds)]


def processes(roots):
    """These and their descendants."""
    parents = {}
    for stat in glob.glob("/proc/[0-9]*/stat"):
        try:
            text = open(stat).read()
        except OSError:
            continue
        parents[int(text.split()[0])] = int(text.rpartition(")")[2].split()[1])
    found = set(roots)
    while True:
        more = {p for p, parent in parents.items() if parent in found} - found
        if not more:
            return found
        found |= more


def mappings(pid):
    """Its memory map, which processes that share their memory (vfork, CLONE_VM) have in common."""
    try:
        return open(f"/proc/{pid}/maps").read()
    except OSError:
        return ""


def cost(pids):
    """CPU seconds so far, by the scheduler's clock, and MiB, of which shared memory counts once."""
    cpu = memory = 0
    seen = set()
    for pid in sorted(pids):
        try:
            for task in glob.glob(f"/proc/{pid}/task/*/schedstat"):
                cpu += int(open(task).read().split()[0]) / 1e9
            if (text := mappings(pid)) in seen:
                continue
            seen.add(text)
            memory += int(re.search(r"^Pss:\s+(\d+)", open(f"/proc/{pid}/smaps_rollup").read(), re.M)[1]) / 1024
        except (OSError, IndexError, TypeError):
            pass
    return cpu, memory


class Recorder:
    """least_ms: the shortest interval that the recorder takes."""
    least_ms = 1

    def __init__(self, args, folder):
        self.args, self.folder = args, folder

    def there(self):
        return True

    def others(self):
        return []

    def size(self, path):
        return sum(os.path.getsize(p) for p in glob.glob(path + "*"))


class Pmrec(Recorder):
    name = "pmrec"

    def argv(self, path, ms):
        return [self.args.bin + "/pmrec", "-q", "--sources=stat", "-i", f"{ms}ms", "-o", path]

    def snapshots(self, path, ms):
        info = json.loads(subprocess.check_output([self.args.bin + "/pmrep", "info", "--format=json", path]))
        return info["snapshots"], 10 * CPUS + 2


class PmrecPerf(Pmrec):
    name = "pmrec, perf events"

    def argv(self, path, ms):
        return [self.args.bin + "/pmrec", "-q", "--sources=perf", "-a", "-e", "{" + EVENTS + "}", "-i", f"{ms}ms", "-o", path]

    def snapshots(self, path, ms):
        return super().snapshots(path, ms)[0], 8 * CPUS


class Perf(Recorder):
    name = "perf stat -I"

    def there(self):
        return shutil.which("perf")

    def argv(self, path, ms):
        return ["perf", "stat", "-a", "-A", "-x,", "-I", str(ms), "-e", EVENTS, "-o", path]

    def snapshots(self, path, ms):
        return len({line.split(",")[0] for line in open(path) if line[:1] == " "}), 8 * CPUS


class Sadc(Recorder):
    name = "sadc"
    least_ms = 1000

    def there(self):
        return os.path.exists("/usr/lib/sysstat/sadc")

    def argv(self, path, ms):
        return ["/usr/lib/sysstat/sadc", "-S", "INT", str(ms // 1000), path]

    def snapshots(self, path, ms):
        text = subprocess.check_output(["sadf", "-j", path, "--", "-A"], text=True, env={**os.environ, "LC_ALL": "C"})
        rows = json.loads(text)["sysstat"]["hosts"][0]["statistics"]
        # The first is what the others are told from.
        return len(rows) + 1, len(re.findall(r": *-?[0-9.]+", json.dumps(rows[-1]))) if rows else 0


class Pmlogger(Recorder):
    name = "pmlogger, pmcd"

    def there(self):
        self.pmcd = shutil.which("pmcd", path="/usr/lib/pcp/bin:/usr/libexec/pcp/bin")
        if not self.pmcd or not shutil.which("pmlogger"):
            return False
        names = "/var/lib/pcp/pmns"
        if not os.path.exists(names + "/root"):
            # The package leaves this to the start of a service, which a container does not have.
            subprocess.run([names + "/Rebuild"], cwd=names, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        socket = self.folder + "/pmcd.socket"
        self.environment = {**os.environ, "PMCD_SOCKET": socket, "PCP_LOG_DIR": self.folder, "PCP_RUN_DIR": self.folder,
                            "PCP_TMP_DIR": self.folder, "PCP_TMPFILE_DIR": self.folder}
        self.daemon = subprocess.Popen([self.pmcd, "-f", "-A", "-U", "root", "-s", socket, "-i", "127.0.0.1", "-l",
                                        self.folder + "/pmcd.log"], cwd=self.folder, env=self.environment, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
        time.sleep(3)
        self.log = self.folder + "/pmlogger.conf"
        return self.daemon.poll() is None

    def others(self):
        return [self.daemon.pid]

    def argv(self, path, ms):
        with open(self.log, "w") as f:
            f.write(f"log mandatory on {ms} msec {{\n" + "\n".join(METRICS) + "\n}\n")
        return ["env", *(f"{k}={v}" for k, v in self.environment.items() if k.startswith("P")), "pmlogger", "-h",
                "unix:" + self.folder + "/pmcd.socket", "-c", self.log, "-l", path + ".log", path]

    def snapshots(self, path, ms):
        text = subprocess.check_output(["pmdumplog", path, "kernel.all.intr"], text=True)
        return len(re.findall(r"kernel\.all\.intr", text)), 8 * CPUS + 2


def record(recorder, ms, seconds, worked):
    """A round: its figures, and the CPU seconds that a thousand pieces of each kind of work took."""
    path = os.path.join(recorder.folder, f"bench-{random.randrange(1 << 48):x}") if recorder else None
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    run = subprocess.Popen(recorder.argv(path, ms), **quiet) if recorder else None
    time.sleep(1)
    pids = processes([run.pid, *recorder.others()]) if recorder else []
    before, start = cost(pids)[0], time.monotonic()
    result, memory = {}, 0
    for kind in WORKS if worked else [None]:
        if kind:
            out = subprocess.check_output(work(kind, seconds / len(WORKS)), text=True)
            n, cpu = map(float, out.split())
            result[kind] = cpu / n * 1000
        else:
            time.sleep(seconds)
    after, memory = cost(pids)
    elapsed = time.monotonic() - start
    if run:
        due = int((time.monotonic() - start + 1) * 1000 / ms)
        run.send_signal(signal.SIGINT)
        run.wait()
        got, values = recorder.snapshots(path, ms)
        result |= {"cpu": (after - before) / elapsed * 1000, "memory": memory, "bytes": recorder.size(path),
                   "values": got * values, "lost": max(0, 1 - got / due)}
        for p in glob.glob(path + "*"):
            os.remove(p)
    return result


def measure(recorders, ms, args):
    rounds = {r.name if r else "none": [] for r in recorders}
    for _ in range(args.rounds):
        order = recorders[:]
        random.shuffle(order)
        for r in order:
            row = record(r, ms, args.seconds, True)
            if r:
                short = record(r, ms, args.seconds / 3, False)
                row["value"] = (row["bytes"] - short["bytes"]) / max(1, row["values"] - short["values"])
            rounds[r.name if r else "none"].append(row)
    for r in recorders:
        rows = rounds[r.name if r else "none"]
        if not r:
            continue
        m = {k: statistics.median(row[k] for row in rows) for k in ("cpu", "memory", "value", "lost")}
        work = " | ".join(f"{statistics.median(a[k] / b[k] for a, b in zip(rows, rounds['none'])):.3f}" for k in WORKS)
        print(f"| {ms} ms | {r.name} | {m['cpu']:.2f} | {m['memory']:.1f} | {m['value']:.2f} | {100 * m['lost']:.1f} % | "
              f"{work} |", flush=True)
    spread = " | ".join(f"{max(row[k] for row in rounds['none']) / min(row[k] for row in rounds['none']):.3f}" for k in WORKS)
    print(f"| {ms} ms | none: largest over smallest round | | | | | {spread} |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--intervals", default="1000,100,10")
    parser.add_argument("--bin", default="build/bin")
    parser.add_argument("--tests", help="taken as by the other benchmarks, without effect")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        recorders = []
        for kind in (Pmrec, PmrecPerf, Perf, Sadc, Pmlogger):
            r = kind(args, folder)
            if r.there():
                recorders.append(r)
            else:
                print(f"skipped: {r.name} is not here or does not start")
        print(f"{CPUS} CPUs, load {os.getloadavg()[0]:.1f}, {args.rounds} rounds of {args.seconds:g} s, random order, medians")
        print(f"| interval | recorder | CPU ms/s | memory MiB | bytes per value | lost | {' | '.join(WORKS)} |\n" + "|---" * 9 + "|")
        try:
            for ms in map(int, args.intervals.split(",")):
                measure([r for r in recorders if ms >= r.least_ms] + [None], ms, args)
        finally:
            for r in recorders:
                if getattr(r, "daemon", None):
                    r.daemon.terminate()
                    r.daemon.wait()


main()
