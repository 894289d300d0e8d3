#!/usr/bin/python3
"""test_taken.py: what another user's pinned events keep from a recording: counters, a filter, a whole PMU; taken before it begins or while
it goes on, and let go again. The first has to be said when it happens, counts have to be those of the time in which there were any, and
coverage has to say that there were none in the rest."""
import concurrent.futures
import csv
import io
import os
import signal
import subprocess
import sys
import tempfile
import time

import machine
import test_pmu

PATIENCE = 20  # s, for what has to happen within two
WHY = ", because others hold counters or the PMU has too few"
# Opens pinned events, given as "type,config,cpu", when it is told to, says so, and closes them when its input ends.
HOLDER = """
import ctypes, os, struct, sys
libc, open_event = ctypes.CDLL(None), {"x86_64": 298, "aarch64": 241}[os.uname().machine]
fds = []
print("ready", flush=True)
sys.stdin.readline()
for word in sys.argv[1:]:
    type_, config, cpu = map(int, word.split(","))
    attr = ctypes.create_string_buffer(struct.pack("IIQQQQQ", type_, 128, config, 0, 0, 0, 1 << 2), 128)
    fds.append(libc.syscall(ctypes.c_long(open_event), attr, ctypes.c_long(-1), ctypes.c_long(cpu), ctypes.c_long(-1), ctypes.c_long(0)))
print(min(fds), flush=True)
sys.stdin.read()
for fd in fds:
    os.close(fd)
"""


class Other:
    """Another user: TERMS of PMU, pinned on each of CPUS."""
    def __init__(self, runner, pmu, terms, cpus):
        p = runner.machine.table.PMUS[pmu]
        events = [f"{p['type']},{machine.config(p, t)},{cpu}" for cpu in cpus for t in terms]
        self.process = subprocess.Popen([sys.executable, "-c", HOLDER, *events], env=runner.env, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"

    def takes(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        assert int(self.process.stdout.readline()) >= 0

    def lets_go(self):
        self.process.stdin.close()
        self.process.wait(timeout=PATIENCE)


def await_(what):
    end = time.monotonic() + PATIENCE
    while not what() and time.monotonic() < end:
        time.sleep(.02)


# What is recorded, and how; whose counters are taken, before it or while it goes on; whether they are let go; and what is to be said.
CASES = {
    "group": (["{cpu/event=0x40/,cpu/event=0x41/}", "cpu/event=0x42/"], [], ("cpu", ["event=0x50"] * 3, [0, 1]), "meanwhile", True,
              ["and the others of its group: hardly counted" + WHY]),
    "one CPU": (["{cpu/event=0x40/,cpu/event=0x41/}", "cpu/event=0x42/"], [], ("cpu", ["event=0x50"] * 3, [1]), "meanwhile", True,
                ["hardly counted on CPU 1" + WHY]),
    "sampled": (["{cpu/event=0x40/,cpu/event=0x41/,cpu/event=0x42/}"], ["--sampling=kernel", "-i", "0.1"], ("cpu", ["event=0x50"] * 3, [0, 1]),
                "meanwhile", True, ["and the others of its group: hardly counted" + WHY]),
    "whole": (["cpu/event=0x40/"], [], ("cpu", ["event=0x50"] * 4, [0, 1]), "meanwhile", True, ["0x40/: hardly counted" + WHY]),
    "filter": (["acme_link/event=0x40,port=1/"], [], ("acme_link", ["event=0x50,port=2"], [0]), "before", True,
               ["not counted" + WHY]),
    "filter stays": (["acme_link/event=0x40,port=1/", "acme_link/event=0x40,port=2/"], [], ("acme_link", ["event=0x50,port=2"], [0]), "before",
                     False, ["port=0x1/: not counted" + WHY]),
    "PMU": (["acme_trace/event=0x40/", "cpu/event=0x42/"], [], ("acme_trace", ["event=0x50"], [0]), "before", True,
            ["not recorded: perf: acme_trace/event=0x40/ (", "stop what else holds the counter"]),
    "pinned": (["cpu/event=0x40/D"], [], ("cpu", ["event=0x50"] * 4, [0, 1]), "before", True, ["not counted" + WHY]),
}


def record(runner, path, asked, how, taken, when, freed, words):
    """What it said."""
    log, other = os.path.join(runner.folder, "said"), Other(runner, *taken)

    def said():
        with open(log, encoding="utf-8") as f:
            return f.read()
    if when == "before":
        other.takes()
    with open(log, "w", encoding="utf-8") as f:
        recorder = subprocess.Popen([os.path.join(test_pmu.BIN, "pmrec"), "--overwrite", "--sources=perf", "-a", "-i", "0.5", *how, "-o", path,
                                     "-e", ",".join(asked)], env=runner.env, stderr=f)
    await_(lambda: os.path.exists(path) and os.path.getsize(path))
    time.sleep(1.2)
    if when != "before":
        other.takes()
    await_(lambda: all(w in said() for w in words))
    time.sleep(.5)
    if freed:
        other.lets_go()
        time.sleep(1.5)
    recorder.send_signal(signal.SIGINT)
    recorder.wait(timeout=PATIENCE)
    if not freed:
        other.lets_go()
    return said()


def look(runner, name):
    asked, how, taken, when, freed, words = CASES[name]
    m, path, wrong = runner.machine, os.path.join(runner.folder, "x.pmr"), []
    said = record(runner, path, asked, how, taken, when, freed, words)
    info = runner.run(os.path.join(test_pmu.BIN, "pmrep"), "info", path, preload=False).stdout
    for word in words:
        if word not in said or word.split(": ")[-1].split(" (")[0] not in info:
            wrong.append(f"{name}: \"{word}\" was not said: {said}")
    events = [e for text in asked for e in text.strip("{}").split(",cpu") if e]
    shown = runner.run(os.path.join(test_pmu.BIN, "pmrep"), "stat", "-x;", "--no-scale", path, preload=False).stdout
    rows = list(runner.rows(shown))
    for text, (value, ran, percent, _) in zip(events, rows):
        pmu, terms = (text if "/" != text[0] else "cpu" + text).split("/")[:2]
        expected = m.rate(pmu, terms) * ran / test_pmu.places(m, pmu) / 1e9
        # What the kernel refused or gave up is not tried again.
        missing = name == "pinned" or (name == "PMU" and pmu != "cpu") or (name == "filter stays" and terms.endswith("port=1"))
        if missing:
            wrong += [f"{name}: {text} is {value}"] if value is not None else []
        elif value is None or abs(value - expected) > test_pmu.SUM * expected or not 10 < percent < 101:
            wrong.append(f"{name}: {text} is {value} in {ran} ns, {percent} %, not {expected}")
    if len(rows) != len(events):
        wrong.append(f"{name}: {events}: {shown}")
    return wrong + look_at_coverage(m, name, path, asked, runner)


def look_at_coverage(m, name, path, asked, runner):
    """What is said of the whole recording speaks for the time in which there was a counter."""
    text = runner.run(os.path.join(test_pmu.BIN, "pmrep"), "show", "--total", "--per-system", "--show=*0x40*", "--format=csv", path,
                      preload=False).stdout
    row = next(csv.DictReader(io.StringIO(text)), None)
    if not row or name in ("PMU", "pinned", "filter stays"):
        return [] if (not row if name == "PMU" else row and row["status"] == "not-counted") else [f"{name}: {text}"]
    pmu, terms = asked[0].strip("{").split("/")[:2]
    truth = m.rate(pmu, terms) * float(row["coverage"]) * int(row["duration_ns"]) / 1e9
    good = abs(float(row["value"]) - truth) < test_pmu.SUM * truth and (row["status"] == "partial" or name == "sampled")
    return [] if good else [f"{name}: {row}, and not {truth}"]


def one(name):
    with tempfile.TemporaryDirectory(prefix="pm-pmu-") as folder:
        m = machine.Machine("taken")
        m.write(folder)
        return look(test_pmu.Runner(folder, m), name)


def main():
    m = machine.Machine("taken")
    with tempfile.TemporaryDirectory(prefix="pm-pmu-") as folder:
        m.write(folder)
        if test_pmu.Runner(folder, m).run("true").returncode:
            test_pmu.skip("libfakepmu.so cannot be loaded")
    names = sys.argv[1:] or list(CASES)
    with concurrent.futures.ThreadPoolExecutor(len(names)) as pool:
        wrong = [line for lines in pool.map(one, names) for line in lines]
    for line in wrong:
        print("wrong:", line)
    print(f"{len(names)} cases: {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
