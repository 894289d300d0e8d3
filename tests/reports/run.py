#!/usr/bin/env python3
"""run.py tree|rig [NAME...]: rebuilds the machines of public reports, records on them, and compares what pmrep says with
the truth. `rig` has those with registers, `tree` the others and the table of README.md. Each expectation is also tried
with another value, and has to fail then.

run.py table: writes the table of README.md anew. run.py start [NAME...]: whether "right from the start" is true of the
programs in $PM_BIN."""
import concurrent.futures
import glob
import os
import re
import resource
import select
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "rig")]
import rig
from report import Report

README = os.path.join(HERE, "README.md")
ENVIRONMENT = dict(os.environ, LC_ALL="C", TZ="UTC", PATH=f"{rig.BIN}:{os.environ['PATH']}")


class Tree:
    """with Tree(report) as t: its machine as a folder; rig.Mounted has the same root, folder and path()."""

    def __init__(self, report):
        self.report = report

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="pm-report-")
        self.root = os.path.join(self.folder, "root")
        self.change(self.report.tree)
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder)

    def path(self):
        return os.path.join(self.folder, "x.pmr")

    def change(self, files):
        for name, text in files.items():
            path = os.path.join(self.root, name)
            if text is None:
                shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
                continue
            os.makedirs(os.path.dirname(path), exist_ok=True)
            # In place: pmrec keeps files open.
            with open(path, "r+" if os.path.exists(path) else "w") as f:
                f.write(text)
                f.truncate()


class Machine(rig.Mounted):
    """The same with registers."""

    def __init__(self, report):
        self.profile = "\n".join(["epoch 1000", "tsc 2599998000", f"cpus {report.n_cpus}", "unknown error", *report.lines,
                                  *(self.line(k, v) for k, v in report.tree.items())]) + "\n"
        super().__init__(self)

    @staticmethod
    def line(key, value):
        if isinstance(key, str) and key.startswith("fail "):
            return f"{key} {value}"
        if isinstance(key, str):
            return f"file {key} {value}".replace("\n", "\\n").replace("\t", "\\t")
        address, cpus = key if isinstance(key, tuple) else (key, "*")
        return f"msr {address:#x} {cpus} {value:#x} 0 64"

    def change(self, changes):
        self.control(*(self.line(k, v) for k, v in changes.items()))


class Recorder:
    """pmrec, obeying: say() returns when that has been done."""

    def __init__(self, at, options):
        pipes = [os.path.join(at.folder, name) for name in ("tell", "told")]
        for pipe in pipes:
            os.mkfifo(pipe)
        self.tell, self.told = (os.open(pipe, os.O_RDWR) for pipe in pipes)
        self.process = subprocess.Popen(["pmrec", "-i", "1000", "--control=fifo:" + ",".join(pipes), "--root", at.root,
                                         "-o", at.path(), *shlex.split(options)], env=ENVIRONMENT, text=True,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.say("ping")

    def say(self, word):
        os.write(self.tell, f"{word}\n".encode())
        end = time.monotonic() + 30
        answer = b""
        while b"\n" not in answer and self.process.poll() is None and time.monotonic() < end:
            if select.select([self.told], [], [], .05)[0]:
                answer += os.read(self.told, 100)

    def end(self):
        """(exit status, stdout, stderr) after the last snapshot."""
        self.say("stop")
        out, err = self.process.communicate(timeout=60)
        os.close(self.tell)
        os.close(self.told)
        return self.process.returncode, out, err


def outputs(report):
    """{command: (exit status, stdout, stderr)} of all that is expected, after a recording."""
    with (Machine if report.lines else Tree)(report) as at:
        recorder = Recorder(at, report.options)
        for k, (changes, seconds) in enumerate(report.changes):
            text = {key: v if v is None or not isinstance(key, str) or str(v).endswith("\n") or key.startswith("fail ") else f"{v}\n"
                    for key, v in changes.items()}
            time.sleep(seconds)
            at.change(text)
            if k + 1 < len(report.changes):
                recorder.say("snapshot")
        done = {"record": recorder.end()}
        for command in {truth.command for truth in report.truths} - {"record"}:
            words = [w.replace("{rec}", at.path()).replace("{root}", at.root) for w in shlex.split(command)]
            ended = subprocess.run(words, env=ENVIRONMENT, capture_output=True, text=True, timeout=60)
            done[command] = ended.returncode, ended.stdout, ended.stderr
        return done


def faults(report):
    done = outputs(report)
    code, _, err = done["record"]
    if code:
        return [f"pmrec ended with {code}: {err.strip()}"]
    found = [f"{wrong} ({truth.why})" for truth in report.truths if (wrong := truth.wrong(*done[truth.command]))]
    blind = [f"the expectation cannot fail: {truth.why}" for truth in report.truths
             if not truth.spoilt().wrong(*done[truth.command])]
    return found + blind if report.truths else ["nothing is expected"]


def table(reports):
    lines = ["| report | the machine | from the start | repaired by, or open |", "|---|---|---|---|"]
    for r in sorted(reports, key=lambda r: r.name):
        links = ", ".join(f"[{k}]({a})" if a.startswith("http") else a for k, a in enumerate(
            [r.address] if isinstance(r.address, str) else r.address, 1))
        lines.append(f"| `{r.name}` | {r.machine} ({links}) | {r.start} | {f'**open**: {r.open}' if r.open else r.repaired} |")
    return "\n".join(lines) + "\n"


def main():
    kind, names = sys.argv[1], sys.argv[2:]
    reports = [Report(os.path.dirname(p)) for p in sorted(glob.glob(os.path.join(HERE, "*/report.py")))]
    with open(README) as f:
        page = f.read()
    head, old = re.split(r"^(?=\| report)", page, maxsplit=1, flags=re.M)
    if kind == "table":
        with open(README, "w") as f:
            f.write(head + table(reports))
        return 0
    wrong = 0
    if kind == "tree" and not names and old != table(reports):
        print("README.md: the table is not that of the folders; tests/reports/run.py table writes it")
        wrong = 1
    if names:
        reports = [r for r in reports if r.name in names]
    elif kind != "start":
        reports = [r for r in reports if bool(r.lines) == (kind == "rig")]
    if any(r.lines for r in reports):
        rig.need()
    width = max(len(r.name) for r in reports)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        results = list(pool.map(faults, reports))
    for r, found in zip(reports, results):
        # What a busy machine does between two steps, such as to notice a change of CPUs before the next snapshot, is told.
        for attempt in range(1 if r.open else 3):
            bad = bool(found) == (r.start == "right") if kind == "start" else bool(found) != bool(r.open)
            if not bad or attempt == 2:
                break
            found = faults(r)
        what = "ok" if not found else "open" if r.open and kind != "start" else "wrong"
        print(f"{r.name:{width}} {what}{' unexpectedly' if bad and (r.open or kind == 'start') else ''}"
              f"{f', attempt {attempt + 1}' if attempt else ''}")
        for line in found if bad or names else []:
            print(f"    {line}")
        wrong += bad
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{len(reports)} reports, {wrong} not as expected, {spent.ru_utime + spent.ru_stime:.1f} s of CPU time")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
