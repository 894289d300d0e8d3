#!/usr/bin/env python3
"""What many CPUs cost a recorder, on emulated machines (--root) of 16 to 4,096 CPUs with four idle states each, and the files of
/proc that have a line or a column a CPU.

bench_cpus.py [--bin DIR] [--cpus N,N,...] [--rounds N] [--sources LIST]: start-up (CPU and wall time of a
recording of two snapshots), how far apart the CPUs of one snapshot are read (as `pmrep info` has it: median and worst), CPU time of a
snapshot beyond start-up, and memory. Medians of the rounds. The trees lie in /dev/shm where there is one, and are removed.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import tempfile

STATES = "POLL", "C1", "C1E", "C6"
A_PACKAGE = 64
TICKS = 24


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(f"{text}\n")


def machine(root, n):
    top = root + "/sys/devices/system/cpu"
    for name in "online", "present", "possible":
        write(f"{top}/{name}", f"0-{n - 1}")
    columns = lambda k: " ".join(str(1000 * k + i) for i in range(n))
    head = " ".join(f"CPU{i}" for i in range(n))
    write(root + "/proc/stat", "\n".join([f"cpu{i} {i} 0 {i} 99 0 0 0 0 0 0" for i in range(n)] + ["ctxt 1", "processes 1"]))
    write(root + "/proc/softirqs", "\n".join([head] + [f"{kind}: {columns(1)}" for kind in ("HI", "TIMER", "NET_RX", "SCHED", "RCU")]))
    write(root + "/proc/interrupts", "\n".join(
        [head] + [f"{k}: {columns(k)} PCI-MSI {k}-edge eth0-{k}" if k % 10 else f"I{k}: {columns(k)} Local interrupts" for k in range(40)]))
    for i in range(n):
        at, core, package = f"{top}/cpu{i}", i // 2, i // A_PACKAGE
        pair, all_ = f"{2 * core}-{2 * core + 1}", f"{package * A_PACKAGE}-{min(n, (package + 1) * A_PACKAGE) - 1}"
        for name, text in (("physical_package_id", package), ("die_id", 0), ("core_id", core), ("cluster_id", core),
                           ("core_cpus_list", pair), ("package_cpus_list", all_)):
            write(f"{at}/topology/{name}", text)
        for k, (level, kind, number, cpus) in enumerate(((1, "Data", core, pair), (1, "Instruction", core, pair),
                                                         (2, "Unified", core, pair), (3, "Unified", package, all_))):
            for name, text in ("id", number), ("level", level), ("type", kind), ("shared_cpu_list", cpus):
                write(f"{at}/cache/index{k}/{name}", text)
        for k, name in enumerate(STATES):
            for file, text in (("name", name), ("desc", f"MWAIT {k}"), ("latency", 10 * k), ("residency", 20 * k),
                               ("disable", 0), ("usage", 1000 * i + k), ("time", 99999 * i + k), ("above", i),
                               ("below", k)):
                write(f"{at}/cpuidle/state{k}/{file}", text)
        for name, text in (("scaling_cur_freq", 2000000 + i), ("scaling_governor", "powersave"),
                           ("scaling_driver", "intel_pstate"), ("cpuinfo_max_freq", 3500000)):
            write(f"{at}/cpufreq/{name}", text)
        for name in "core_throttle_count", "package_throttle_count":
            write(f"{at}/thermal_throttle/{name}", 0)


def used(argv):
    """CPU and wall seconds, and MiB."""
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    before = os.times().elapsed
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if status:
        raise SystemExit(f"{' '.join(argv)}: status {process.returncode}")
    return usage.ru_utime + usage.ru_stime, os.times().elapsed - before, usage.ru_maxrss / 1024


def once(args, root, path):
    common = [args.bin + "/pmrec", "--quiet", "--overwrite", "--root=" + root, "--sources=" + args.sources, "-o", path]
    start = used(common + ["-n", "1", "-i", "0.01"])
    whole = used(common + ["-n", str(TICKS), "-i", "0.2"])
    subprocess.check_call([args.bin + "/pmrep", "check", path], stdout=subprocess.DEVNULL)
    info = json.loads(subprocess.check_output([args.bin + "/pmrep", "info", "--format=json", path]))
    skew = next((s["skew_ns"] for s in info["sources"] if s["name"] == "cpuidle"), None) or {"median": 0, "max": 0}
    return (start[0] * 1e3, start[1] * 1e3, skew["median"] / 1e6, skew["max"] / 1e6, (whole[0] - start[0]) * 1e3 / (TICKS - 1),
            whole[2])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", default="build/bin")
    parser.add_argument("--cpus", default="16,64,256,1024,4096")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sources", default="cpuidle")
    args = parser.parse_args()
    print(f"{'CPUs':>5} {'start CPU ms':>12} {'wall ms':>8} {'skew ms':>8} {'worst':>7} {'ms a snapshot':>13} {'MiB':>6}")
    for n in map(int, args.cpus.split(",")):
        root = tempfile.mkdtemp(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
        try:
            machine(root, n)
            rounds = [once(args, root, root + "/x.pmr") for _ in range(args.rounds)]
        finally:
            shutil.rmtree(root)
        print("{:5} {:12.1f} {:8.1f} {:8.2f} {:7.2f} {:13.2f} {:6.1f}".format(
            n, *(statistics.median(r[k] for r in rounds) for k in range(6))))


main()
