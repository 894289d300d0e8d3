#!/usr/bin/python3
"""pmrec beside turbostat on the same emulated machine with two packages, at the same interval, in the same run.

CPU time a snapshot is what the kernel counted for all threads of a program between two moments in its steady state,
over the snapshots that the machine's own log of reads shows for that time. "bare" is a loop that does no more than
the reads of that side, as the log counts them: the emulated registers and files cost the same whoever reads them, so
both sides are compared without. Each figure is the least of its rounds: a busy neighbour only adds. The sources are
those that feed turbostat's columns; the line "all" is a recording without options, which has more in it than
turbostat shows.

usage: bench_turbostat.py [--seconds S] [--rounds N] [--interval MS] [--machine NAME] [--bin DIR] [--tests DIR]
"""
import argparse
import collections
import os
import shutil
import subprocess
import sys
import time

RIG = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../rig")
SOURCES = "msr,cpuidle,interrupts,throttle,uncorefreq"
LIMIT = .5
WARM_UP_S = 1.5
ONCE_A_SNAPSHOT = 0x3FD  # core C6 of CPU 0: turbostat may read MPERF and APERF again and again


def cpu_ns(pid):
    """Of all threads, in the kernel and outside."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat") as f:
            total += int(f.read().split()[0])
    return total


def steady(mounted, argv, seconds, **more):
    """(CPU ns, snapshots, reads of registers, reads of files) of a program while it does nothing but sample."""
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, **more)
    time.sleep(WARM_UP_S)
    before, used = mounted.log(), cpu_ns(process.pid)
    time.sleep(seconds)
    after, used = mounted.log(), cpu_ns(process.pid) - used
    process.terminate()
    process.wait(timeout=60)
    registers = (after[0] - before[0]) + (after[1] - before[1])
    return used, registers[ONCE_A_SNAPSHOT, 0], registers, after[2] - before[2]


def bare(args, mounted, registers, files, snapshots):
    """CPU ns a snapshot of the same reads and nothing else."""
    lines = [f"{address} 8 {round(n / snapshots)} {mounted.root}/dev/cpu/{cpu}/msr"
             for (address, cpu), n in registers.items()]
    lines += [f"0 16384 {round(n / snapshots)} {mounted.root}/{path}" for path, n in files.items()]
    process = subprocess.Popen([os.path.join(args.tests, "barereads"), str(args.interval * 1000000), "1000000000"],
                               stdin=subprocess.PIPE, text=True)
    process.stdin.write("\n".join(lines) + "\n")
    process.stdin.close()
    time.sleep(.5)
    before, used = mounted.log()[0], cpu_ns(process.pid)
    time.sleep(args.seconds)
    after, used = mounted.log()[0], cpu_ns(process.pid) - used
    process.kill()
    process.wait()
    return used / ((after - before)[ONCE_A_SNAPSHOT, 0] or 1)


def measure(args, mounted, argv, **more):
    used, snapshots, registers, files = steady(mounted, argv, args.seconds, **more)
    if snapshots < 10:
        sys.exit(f"{argv[0]} took {snapshots} snapshots")
    gross = used / snapshots / 1000
    floor = bare(args, mounted, registers, files, snapshots) / 1000
    return {"gross": gross, "bare": floor, "registers": sum(registers.values()) / snapshots,
            "files": sum(files.values()) / snapshots, "by": registers, "snapshots": snapshots}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=6)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--interval", type=int, default=50, help="ms")
    parser.add_argument("--machine", default="skylakex")
    parser.add_argument("--bin", default="build/bin")
    parser.add_argument("--tests", default="build/tests")
    args = parser.parse_args()
    os.environ.update(PM_BIN=os.path.abspath(args.bin), PM_TESTS=os.path.abspath(args.tests))
    sys.path.insert(0, RIG)
    sys.dont_write_bytecode = True
    import machines
    import patch_cpuid
    import rig
    rig.need()
    original = shutil.which("turbostat", path=os.environ.get("PATH", "") + ":/usr/sbin")
    if not original or not shutil.which("objdump"):
        rig.skip("no turbostat (package linux-cpupower) or no objdump")
    if subprocess.run(["unshare", "-m", "--propagation", "private", "true"], capture_output=True).returncode:
        rig.skip("no mount namespace of its own can be made here")
    machine, rows = machines.build(args.machine), collections.defaultdict(list)
    interval = f"{args.interval / 1000:g}"
    with rig.Mounted(machine) as m:
        turbostat = os.path.join(m.folder, "turbostat")
        patch_cpuid.patch(original, turbostat)
        theirs = [os.path.join(RIG, "inside"), m.root, os.path.join(m.folder, "profile"),
                  os.path.join(rig.TESTS, "libcpushim.so"), turbostat, "--quiet", "-i", interval]
        sides = {"turbostat": theirs, "pmrec": m.command(f"--sources={SOURCES}", "-i", interval),
                 "all": m.command("-i", interval)}
        for _ in range(args.rounds):
            for name, argv in sides.items():
                with open(os.path.join(m.folder, "text"), "w") as out:
                    rows[name].append(measure(args, m, argv, stdout=out, stderr=subprocess.DEVNULL))
    print(f"{args.machine}: {len(machine.cpus)} CPUs, every {args.interval} ms, {args.rounds} rounds of "
          f"{args.seconds:g} s, CPU us a snapshot")
    print(f"{'':>10} {'gross':>9} {'bare':>9} {'net':>9} {'registers':>10} {'files':>6}")
    least = {}
    for name in sides:
        of = least[name] = {key: min(r[key] for r in rows[name]) for key in ("gross", "bare", "registers", "files")}
        of["net"] = of["gross"] - of["bare"]
        print(f"{name:>10} {of['gross']:>9.1f} {of['bare']:>9.1f} {of['net']:>9.1f} {of['registers']:>10.1f} "
              f"{of['files']:>6.1f}")
    for name in ("pmrec", "all"):
        for key in ("net", "gross"):
            limit = f"   limit: {LIMIT}" if (name, key) == ("pmrec", "net") else ""
            print(f"  {name}/turbostat, {key}: {least[name][key] / least['turbostat'][key]:.3f}{limit}")
    wanted = {(machines.REGISTERS[counter[4:]], cpu) for counter, cpu in machine.truth}
    last = rows["pmrec"][-1]
    extra = [f"{a:#x} of CPU {c}" for a, c in last["by"] if (a, c) not in wanted]
    uneven = [f"{a:#x} of CPU {c}: {last['by'][a, c] / last['snapshots']:.2f}" for a, c in wanted
              if abs(last["by"][a, c] - last["snapshots"]) > max(3, .02 * last["snapshots"])]
    print(f"  counters of the machine, each at one place of its scope: {len(wanted)}; read a snapshot: "
          f"{last['registers']:.1f} by pmrec, {rows['turbostat'][-1]['registers']:.1f} by turbostat")
    for what in extra + uneven:
        print(f"  not once a snapshot: {what}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
