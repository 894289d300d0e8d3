#!/usr/bin/python3
"""pmrec in place of perf stat and turbostat, beside them: wall time and CPU time of a command that does nothing, and time to the
first line. Ratios are of pairs, run in turn; turbostat runs on an emulated machine.

usage: bench_dropin.py [--rounds N] [--bin DIR] [--tests DIR]
"""
import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import time

parser = argparse.ArgumentParser()
parser.add_argument("--rounds", type=int, default=40)
parser.add_argument("--bin", default="build/bin")
parser.add_argument("--tests", default="build/tests")
args = parser.parse_args()
os.environ["PM_BIN"], os.environ["PM_TESTS"] = os.path.abspath(args.bin), os.path.abspath(args.tests)
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../rig"))
PMREC = os.path.join(os.path.abspath(args.bin), "pmrec")


def whole(command):
    """(wall, CPU) in ms until it has ended."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1e3 * wall, 1e3 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def first_line(command):
    begin = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        process.stdout.readline()
        wall = time.perf_counter() - begin
        process.terminate()
        process.stdout.read()
    return (1e3 * wall,)


def beside(what, measure, theirs, ours, rounds):
    pairs = [(measure(theirs), measure(ours)) for _ in range(rounds)]
    for i, unit in enumerate(("wall", "CPU")[:len(pairs[0][0])]):
        they, we = ([p[side][i] for p in pairs] for side in (0, 1))
        ratio = statistics.median(w / t for t, w in zip(they, we) if t)
        print(f"{what}: {unit} {statistics.median(they):.1f} and {statistics.median(we):.1f} ms, ratio {ratio:.2f}")


def main():
    if not shutil.which("perf") or subprocess.run(["perf", "stat", "-x,", "true"], capture_output=True).returncode:
        print("skipped: perf cannot count here")
        return 77
    perf, ours = ["perf", "stat"], [PMREC, "perfstat"]
    beside("stat -x, true", whole, perf + ["-x,", "true"], ours + ["-x,", "true"], args.rounds)
    beside("stat -a -I 100, first line", first_line, perf + ["-x,", "-a", "-I", "100"], ours + ["-x,", "-a", "-I", "100"],
           args.rounds // 4)
    try:
        import machines
        import patch_cpuid
        import rig
        rig.need()
    except SystemExit:
        return 0
    original = shutil.which("turbostat", path="/usr/sbin:/usr/bin")
    if not original or not shutil.which("objdump"):
        return 0
    with rig.Mounted(machines.build("rocketlake")) as m:
        copy = os.path.join(m.folder, "turbostat")
        patch_cpuid.patch(original, copy)
        inside = [os.path.join(os.path.dirname(rig.__file__), "inside"), m.root, os.path.join(m.folder, "profile"),
                  os.path.join(rig.TESTS, "libcpushim.so"), copy]
        words = ["-q", "-i", ".1", "-n", "1"]
        # The namespace of its own is no part of turbostat.
        bare = statistics.median(whole(inside[:-1] + ["true"])[0] for _ in range(5))
        print(f"a command in the emulated machine: {bare:.1f} ms, which is in turbostat's time")
        beside("turbostat -n 1 -i .1", whole, inside + words, [PMREC, "turbostat", f"--root={m.root}", *words], args.rounds // 4)
    return 0


if __name__ == "__main__":
    sys.exit(main())
