#!/usr/bin/python3
"""Memory that is refused: allocations.py LIBRARY BIN SAMPLES [--runs N] [--seed S]

Every command, and the recorder, is run with one allocation failing: the first of each place in the program (the calls
that lead to it) where none of an earlier command has failed, or N of these, evenly spread, from the S-th on (N = 0: all).
Each run ends by itself with an error that somebody can read, or with the same output as ever, and leaves no file half
written.
"""
import argparse
import concurrent.futures
import os
import shutil
import subprocess
import sys
import tempfile

COMMANDS = [
    "pmrep show {s}/loaded.pmr", "pmrep show --total --per-cpu --all {s}/idle.pmr", "pmrep show --format=csv {s}/guest.pmr",
    "pmrep show --format=json {s}/idle.pmr", "pmrep show --format=turbostat {s}/plain.pmr",
    "pmrep stat {s}/command.pmr", "pmrep stat -x, -A {s}/plain.pmr", "pmrep stat -j -M nvidia_cmem_latency.rd_latency {s}/tegra410.pmr",
    "pmrep info {s}/tegra410.pmr", "pmrep info --format=json {s}/idle.pmr", "pmrep list metrics {s}/idle.pmr",
    "pmrep list instances {s}/offline.pmr", "pmrep list events --format=json {s}/offline.pmr", "pmrep show --per-package --format=csv --layout=wide {s}/offline.pmr",
    "pmrep dump {s}/killed.pmr", "pmrep dump --format=json {s}/guest.pmr", "pmrep check {s}/idle.pmr", "pmrep check --format=json {s}/idle.pmr", "pmrep plot util {s}/loaded.pmr",
    "pmrep diff --base {s}/idle.pmr --new {s}/loaded.pmr", "pmrep diff --format=json --base {s}/idle.pmr --new {s}/loaded.pmr", "pmrep eval a+b a=1 b=2",
    "pmrep cut -o {o} --since=0 {s}/idle.pmr", "pmrep merge -o {o} {s}/loaded.pmr", "pmrep repair -o {o} {s}/killed.pmr",
    "pmrep redact -o {o} {s}/command.pmr", "pmrep bundle -o {o} {s}/loaded.pmr", "pmrep html -o {o} {s}/offline.pmr",
    "pmrep incidents {s}/offline.pmr", "pmrep show --format=perfetto -o {o} {s}/loaded.pmr", "pmrep show --format=openmetrics {s}/idle.pmr",
    "pmrep show --format=parquet -o {o} {s}/idle.pmr", "pmrep show --total {s}/idle.pmr {s}/loaded.pmr",
    "pmrec -q -n 1 -i 0.02 --sources=stat,softirqs,vmstat -o {o}", "pmrec -q -o {o} -e task-clock,faults true",
    "pmrec list sources", "pmrec doctor",
]
# What these print is never twice the same.
CHANGES = ("pmrec", "pmrep redact", "pmrep bundle", "pmrep cut", "pmrep merge", "pmrep repair", "pmrep html")
SIZES_DIFFER = ("pmrec", "pmrep redact", "pmrep bundle")


class Tried:
    def __init__(self, args, command):
        self.args, self.command = args, command

    def run(self, at):
        """(status, output, complaint, size of the file that was written or None, {allocation: place}, of the first in each)"""
        with tempfile.TemporaryDirectory() as folder:
            out = f"{folder}/out.pmr"
            ours, theirs = os.pipe()
            words = self.command.format(s=self.args.samples, o=out).split()
            environment = dict(os.environ, LD_PRELOAD=self.args.library, FAIL_AT=str(at), TZ="UTC", COLUMNS="120",
                               TMPDIR=folder)
            if not at:
                environment["FAIL_COUNT"] = str(theirs)
            done = subprocess.run([f"{self.args.bin}/{words[0]}"] + words[1:], capture_output=True, env=environment,
                                  timeout=60, check=False, stdin=subprocess.DEVNULL, cwd=folder,
                                  pass_fds=[theirs])
            os.close(theirs)
            with os.fdopen(ours) as counts:
                n = {int(at): place for at, place in map(str.split, counts)}
            size = os.path.getsize(out) if os.path.exists(out) else None
            left = sorted(set(os.listdir(folder)) - {"out.pmr"})
            return done.returncode, done.stdout, done.stderr.decode(errors="replace"), size, n, left

    def wrong(self, at, good):
        status, output, complaint, size, _, left = self.run(at)
        if status < 0 or status >= 128:
            return f"ended by signal {-status if status < 0 else status - 128}: {complaint[-200:]}"
        if left:
            return f"left {left}"
        recorder = self.command.startswith("pmrec")
        if status == good[0]:
            if not self.command.startswith(CHANGES) and output != good[1]:
                return f"exit status {status}, and another output: {complaint[-200:]}"
            if not self.command.startswith(SIZES_DIFFER) and size != good[3]:
                return f"exit status {status}, and a file of {size} bytes instead of {good[3]}: {complaint[-200:]}"
            return None
        if not complaint.strip():
            return f"exit status {status} without a word"
        # A recording that could not be finished stays, as after kill -9; what pmrep makes is whole or not there.
        if size is not None and not recorder:
            return f"exit status {status}, and a file of {size} bytes"
        return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("bin")
    parser.add_argument("samples")
    parser.add_argument("--runs", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    args.bin, args.samples, args.library = map(os.path.abspath, (args.bin, args.samples, args.library))
    print(f"seed {args.seed}")
    failures, known = 0, set()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for command in COMMANDS:
            if args.only not in command:
                continue
            tried, words = Tried(args, command), command.split()[0]
            good = tried.run(0)
            if good[0] not in (0, 3, 4) or not good[4]:
                print(f"{command}: does not run here: {good[0]} {good[2][-300:]}")
                failures += 1
                continue
            fresh = sorted(at for at, place in good[4].items() if (words, place) not in known)
            known |= {(words, place) for place in good[4].values()}
            every = -(-len(fresh) // args.runs) if args.runs else 1
            places = fresh[args.seed % max(every, 1)::max(every, 1)]
            bad = 0
            for at, wrong in zip(places, pool.map(lambda at: tried.wrong(at, good), places)):
                if wrong:
                    bad += 1
                    if bad <= 3:
                        print(f"{command}: allocation {at}: {wrong}")
            failures += bad
            print(f"{command}: {len(fresh)} new of {len(good[4])} places, {len(places)} tried, {bad} wrong")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
