#!/usr/bin/env python3
"""Lines of hardware events as `perf stat` has them, beside pmrec in its place, on emulated processors: words, units, and where
events share counters the columns."""
import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import machine
import rig
import test_dropin

ENV = test_dropin.ENV
MANY = "cycles,instructions,branches,branch-misses,cache-references,cache-misses,r1,r2,r3,r4,bus-cycles"
LINES = """
@ -d true
@ -a -x, sleep .05
@ -a -A -j -e cycles,instructions sleep .05
@ -r 2 -x, -e cycles,instructions true
@ -e cycles,instructions,cache-references,cache-misses,task-clock true
@ -e cycles,instructions,cache-references,cache-misses,task-clock -x, true
@ -j -e task-clock,cycles,instructions,cache-references,cache-misses,branches,branch-misses true
@ -j -e branch-misses true
@ -j -e instructions -e cache-misses true
@ -j -e cycles true
@ -j -e stalled-cycles-frontend,instructions,cycles true
@ -e cycles:u,instructions:k true
@ -x, -e cycles,instructions:u true
@ -x, -e branches:u,branch-misses:u true
@ -x, -e task-clock:u,cycles:u,instructions:u true
@ -x, -e cycles,cycles,instructions true
@ -x, -e cycles:u,cycles:k,instructions:u,instructions:k true
@ -e task-clock,cycles,cycles:u,cycles:k,instructions,instructions:u,instructions:k true
@ -a -A -x, -e cycles:u,instructions:u,cycles:k,instructions:k sleep .05
@ -e cache-references:u,cache-misses:u,cache-references:k,cache-misses:k true
@ -r 2 -e '{cycles:u,instructions:u},{cycles:k,instructions:k}' true
@ -a -I 50 --interval-count 2 -e cycles:u,instructions:u,cycles:k,instructions:k
@ -e cycles:u,instructions:u,cycles:k,instructions:k,stalled-cycles-frontend:u,stalled-cycles-frontend:k true
@ --all-user -e cycles,instructions,cycles:k,instructions:k true
@ -x, -e L1-dcache-loads:u,LLC-loads:k,branches:k true
@ -e task-clock,cpu/instructions/,cpu/cpu-cycles/ true
"""
# Of two kinds of cores: perf has no ratio of an event that it opens for one kind.
HYBRID = """
@ -d true
@ -x, true
@ -a -A -e cycles,instructions sleep .05
@ -e cycles,instructions,branches,branch-misses,cache-references,cache-misses true
@ -j -e cycles,instructions true
@ -e task-clock,cpu_core/cycles/,cpu_core/instructions/,cpu_atom/instructions/ true
@ -x, -e task-clock,cpu_core/cpu-cycles/,cpu_core/event=0xc0/,r3c true
@ -a -x, --per-core sleep .05
"""
# One CPU, so that no more than a moment decides which events had a counter: in a command as short as this one some never do.
SHARED = f"""
@ -e {MANY} true
@ -x, -e {MANY} true
@ -j -e {MANY} true
@ -a -C 0 -e {MANY} sleep .02
"""

def shares(text):
    """Of each event that waited all the time: how it says so, and in which column; whether any was counted for some of it."""
    found = set()
    for line in text.split("\n"):
        share = re.search(r"\((\d+\.\d\d)%\)$", line)
        missing = "<not counted>" in line
        if share:
            found.add((missing, share.start()))
        elif missing:
            found.add((True, re.sub(r'"event" : "[\w-]+"|,,[\w-]+,', "", line)))
    return found


def in_order(text):
    """perf has the kinds of cores as their folder lists them, which on the kernel's own file system is as we do."""
    name = lambda line: (re.search(r"cpu_(?:core|atom)/([^/]*)/", line) or [None, None])[1]
    return "\n".join(line for _, run in itertools.groupby(text.split("\n"), name) for line in sorted(run, key=lambda line: "cpu_atom" in line))


def check(machine_name, lines, judge):
    """What judge(line, run) finds of programs that run on that machine."""
    m = machine.Machine(machine_name)
    with tempfile.TemporaryDirectory(prefix="pm-lines-") as folder:
        m.write(folder)
        env = dict(ENV, FAKE_PMU=folder, LD_PRELOAD=os.path.join(rig.TESTS, "libfakepmu.so"), PERF_CPUID=m.table.CPUID)
        if subprocess.run(["perf", "stat", "-e", "cycles", "true"], env=env, capture_output=True).returncode:
            rig.skip("no perf that counts on an emulated processor here")
        test_dropin.ENV = env
        side = test_dropin.perf_side(folder)

        def alone(line, theirs):
            open(os.path.join(folder, "state"), "w").close()    # what was open is closed with its process
            return side(line, theirs)

        found = {line: judge(line, alone) for line in lines.split("\n") if line}
        return [f"$ {machine_name}: {line}: {w}" for line, wrong in found.items() for w in wrong]


def alike(line, run):
    return test_dropin.differences(line, run(line, True), run(line, False), in_order)


def shared_alike(line, run):
    theirs = ours = set()
    for _ in range(40):
        theirs, ours = theirs | shares(run(line, True).stderr), ours | shares(run(line, False).stderr)
        if theirs == ours and theirs:
            break
    # On a busy machine one of them may have no event that waited all the time, or none that did for a part of it.
    both = {missing for missing, _ in theirs} & {missing for missing, _ in ours}
    same = all({x for x in theirs if x[0] == missing} == {x for x in ours if x[0] == missing} for missing in both)
    return [] if both and same else [f"{sorted(map(str, theirs))} and {sorted(map(str, ours))}"]


def main():
    if not shutil.which("perf"):
        rig.skip("no perf here")
    wrong = check("skylakex", LINES, alike) + check("alderlake", HYBRID, alike) + check("skylakex", SHARED, shared_alike)
    for line in wrong:
        print("wrong:", line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
