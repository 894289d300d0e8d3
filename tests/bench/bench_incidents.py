#!/usr/bin/python3
"""pmrep incidents on recordings with one incident in them (tests/incidents/worlds.py): how many are among the first three of the
list, by size beside the noise, CPUs, length, background and kind; how many are reported where nothing happened; and time
beside `pmrep check`, and memory.

usage: bench_incidents.py [--runs N] [--bin DIR] [--long] [--wide] [--verbose]
       bench_incidents.py --cost [--bin DIR] [--tests DIR]: of large recordings alone
"""
import argparse
import collections
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "incidents"))
import stories
import worlds


# Arguments of genrec, and what it then makes.
LARGE = [
    (["page"], "256 CPUs x 40 counters, 1 h at 1 s"),
    (["hour"], "1,024 CPUs x 40 counters, 1 h at 1 s"),
    (["large"], "1,024 CPUs x 80 counters, 1 h at 1 s"),
    (["longwide"], "1,024 CPUs x 40 counters, 24 h at 10 s"),
    (["wide", "100000"], "100,000 counters of one machine, 2 min at 1 s"),
]


def run(argv):
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return out, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def cost(pmrep, genrec):
    """Prints what incidents take beside check: three times each, in turn."""
    print("recording                                     check s  incidents s  ratio    MiB   limits 2, 64")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "large.pmr")
        for shape, text in LARGE:
            subprocess.run([genrec, *shape, path], check=True, stdout=subprocess.DEVNULL)
            check, incidents, memory = [], [], 0
            for _ in range(3):
                check.append(run([pmrep, "check", path])[1])
                _, seconds, mib = run([pmrep, "incidents", "--format=json", "--top=0", path])
                incidents.append(seconds)
                memory = max(memory, mib)
            before, after = statistics.median(check), statistics.median(incidents)
            print(f"{text:45} {before:7.2f} {after:12.2f} {after / before:6.2f} {memory:6.1f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--bin", default="build/bin")
    parser.add_argument("--tests", default="build/tests")
    parser.add_argument("--cost", action="store_true", help="of large recordings, nothing else")
    parser.add_argument("--long", action="store_true", help="24 hours, too: minutes")
    parser.add_argument("--wide", action="store_true", help="1,024 CPUs, too")
    parser.add_argument("--only", type=int, nargs="*", help="of the shapes")
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    if args.cost:
        return cost(os.path.join(args.bin, "pmrep"), os.path.join(args.tests, "genrec"))
    shapes = [(2, 60), (2, 600), (16, 300), (128, 60)]
    shapes = [shapes[i] for i in args.only] if args.only else shapes
    shapes += [(2, 3600), (1024, 60)] if args.wide else []
    shapes += [(2, 86400)] if args.long else []
    found = collections.defaultdict(list)
    unseen = collections.Counter()
    alarms, hours, ratio, memory = collections.Counter(), collections.Counter(), [], 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "world.pmr")
        for cpus, seconds in shapes:
            for background in worlds.BACKGROUNDS:
                for kind in [None, *(k for k in worlds.KINDS if k != "slow_core" or cpus > 3)]:
                    for size in (0,) if kind is None else (2, 5, 20, 100):
                        for n in range(args.runs):
                            seed = hash((args.seed, n, cpus, seconds, len(background), len(kind or ""), size))
                            truth = worlds.write(path, kind, size, cpus, seconds, background, seed)
                            if not truth:
                                continue
                            stories.packed(path, args.bin + "/pmrep")
                            out, cpu, mib = run([args.bin + "/pmrep", "incidents", "--format=json", "--top=0", path])
                            incidents = [json.loads(line) for line in out.splitlines()]
                            memory = max(memory, mib)
                            if n == 0 and cpus * seconds > 5000:
                                ratio.append(cpu / run([args.bin + "/pmrep", "check", path])[1])
                            if kind is None:
                                alarms[background] += len(incidents)
                                hours[background] += seconds / 3600
                                if args.verbose and incidents:
                                    print(f"  false: {background} {cpus} CPUs {seconds} s: {[i['text'][:90] for i in incidents]}")
                                continue
                            hit = truth.in_first(incidents)
                            if args.verbose and size >= 5 and not hit:
                                print(f"  missed: {kind} x{size} {background} {cpus} CPUs {seconds} s seed {seed}, at {truth.from_s} "
                                      f"to {truth.to_s}: {[(i['from_s'], i['to_s'], i['text'][:60]) for i in incidents[:3]]}")
                            found["size", size].append(hit)
                            if size >= 5:
                                if not hit:
                                    unseen[background, truth.visible > 1] += 1
                                found["background", background].append(hit)
                                found["CPUs x seconds", f"{cpus} x {seconds}"].append(hit)
                                found["kind", kind].append(hit)
    print("among the first three (by kind, CPUs and background: of those at least five times the noise)")
    for (what, value), hits in sorted(found.items(), key=str):
        print(f"  {what:15} {value!s:16} {sum(hits):5} of {len(hits):5}   {100 * sum(hits) / len(hits):5.1f} %")
    for background in worlds.BACKGROUNDS:
        print(f"  missed, {background:9} {unseen[background, True]:4}, and {unseen[background, False]:4} where the same series are as "
              "large at other times")
    for background in worlds.BACKGROUNDS:
        print(f"  nothing happens, {background:9} {alarms[background]:4} incidents in {hours[background]:.2f} hours")
    if ratio:
        print(f"CPU time beside check: median {statistics.median(ratio):.2f}, at most {max(ratio):.2f}; limit 2")
    print(f"memory: at most {memory:.1f} MiB; limit 64")


if __name__ == "__main__":
    main()
