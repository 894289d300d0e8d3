#!/usr/bin/python3
"""Runs tests on machines that this one is not: what the kernel says about the host is laid over /sys and /proc in a mount
namespace. Needs root; to be run by hand, for what takes the host as an input:

    tests/hosts.py [--build=DIR] [--host=NAME] [--logs=DIR] [REGEX]     tests of ctest whose names match, or what is in LIVE
    tests/hosts.py [--host=NAME] --run=COMMAND                          a command of the shell there

Counters of idle states, energy and CPUs go on counting. Nothing of this reaches the machine itself, and no CPU goes offline."""
import argparse
import concurrent.futures
import ctypes
import itertools
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time

CPUS, PMUS = "/sys/devices/system/cpu", "/sys/bus/event_source/devices"
SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Folders of the build, and the interpreter of who configured it, are not open to everybody.
NOT_A_USERS = r"^cli\.texts$|_diff$"
USER, PATH = 65533, "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# What does more than read samples.
LIVE = (r"^cli\.(bpf|bundle|cgroups|check|compare|cut|elsewhere|events|filesystems|hotplug|html|info|metrics|nvidia|options|output|"
        r"perf_counts|plot|privileges|record|redact|ring|rotate|sampling|sandbox|service|show|stat|targets|tasks|texts|topologies|"
        r"turbostat|vendor)$|^numbers\.beside$|^unit\.(?!damage|show_stress)|^reports\.")
X86 = "processor\t: {cpu}\nvendor_id\t: %s\ncpu family\t: %d\nmodel\t\t: %d\nmodel name\t: %s\nstepping\t: %d\ncpu MHz\t\t: %.3f\n\n"
ARM = ("processor\t: {cpu}\nBogoMIPS\t: 50.00\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\n"
       "CPU revision\t: 1\n\n")
SENSOR = {"name": "coretemp", "temp1_input": "41000", "temp1_label": "Package id 0", "temp2_input": "39000", "temp2_label": "Core 0"}
# Name: states of idling (None: no cpuidle), its driver, what /proc/cpuinfo repeats, version of cgroups, files below /sys, what else
# is different: time zone, words before a command, folders that are empty, socket and core of a CPU.
HOSTS = {
    "intel": (["POLL", "C1", "C1E", "C6"], "intel_idle", X86 % ("GenuineIntel", 6, 85, "Intel(R) Xeon(R) Gold 6148", 4, 2400), 2,
              {f"class/hwmon/hwmon3/{f}": v for f, v in SENSOR.items()} |
              {"class/thermal/thermal_zone0/type": "x86_pkg_temp", "class/thermal/thermal_zone0/temp": "41000",
               "class/powercap/intel-rapl:0/name": "package-0", "class/powercap/intel-rapl:0/energy_uj": "100000000000",
               "class/powercap/intel-rapl:0/max_energy_range_uj": "262143328850"}, "America/New_York", [], [],
              lambda c: (c % 2, c // 2)),
    "amd": (["POLL", "C1", "C2"], "acpi_idle", X86 % ("AuthenticAMD", 25, 1, "AMD EPYC 7763", 1, 2599.998), 1,
            {"class/hwmon/hwmon0/name": "k10temp", "class/hwmon/hwmon0/temp1_input": "52250",
             "class/hwmon/hwmon0/temp1_label": "Tctl"}, "Europe/Berlin", [], ["/sys/class/thermal"],
            lambda c: (0, c // 2)),
    "arm64": (["WFI", "cpu-sleep-0-0"], "psci_idle", ARM, 2, {"class/thermal/thermal_zone0/type": "soc-thermal",
              "class/thermal/thermal_zone0/temp": "60500"}, "Asia/Kolkata", ["setarch", "--uname-2.6"],
              ["/dev/cpu", "/sys/class/powercap"]),
    "guest": (["POLL", "haltpoll idle"], "haltpoll", X86 % ("GenuineIntel", 6, 106, "Intel Xeon Processor (Icelake)", 0, 2600.001), 0,
              {}, "UTC", ["taskset", "-c", "0"], ["/dev/cpu", "/sys/class/thermal", "/sys/class/hwmon", "/proc/pressure"]),
    "container": (None, None, X86 % ("GenuineIntel", 6, 143, "Intel(R) Xeon(R) Platinum 8481C", 8, 2600.001), 0, {}, "Pacific/Auckland",
                  ["unshare", "--net", sys.executable, __file__, "--no-perf"],
                  ["/dev/cpu", "/sys/class/thermal", "/sys/class/hwmon", "/sys/kernel/tracing", "/sys/block"]),
    "user": (["POLL", "C1", "C6"], "intel_idle", X86 % ("GenuineIntel", 6, 154, "12th Gen Intel(R) Core(TM) i7-1260P", 3, 2496), 2, {},
             "UTC", ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"], []),
}


def run(*words):
    subprocess.run(words, check=True)


def put(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="ascii") as f:
        f.write(text + "\n")


def copy(source, to):
    """A folder of sysfs as plain files; links stay links, and what cannot be read or written to any purpose is left out."""
    for folder, folders, files in os.walk(source):
        here = os.path.join(to, os.path.relpath(folder, source))
        os.makedirs(here, exist_ok=True)
        for name in folders + files:
            path = os.path.join(folder, name)
            if os.path.islink(path):
                os.symlink(os.readlink(path), os.path.join(here, name))
            elif name in files and not re.search(r"/cpu\d+/online$", path):
                try:
                    shutil.copyfile(path, os.path.join(here, name))
                except OSError:
                    pass


def lay(work, states, driver, cpuinfo, cgroup, files, empty, place=None):
    """Makes the machine in a mount namespace of this process."""
    outside = os.readlink("/proc/self/ns/mnt")
    if ctypes.CDLL(None).unshare(0x20000) or os.readlink("/proc/self/ns/mnt") == outside:
        print("skipped: no mount namespace")
        sys.exit(77)
    run("mount", "--make-rprivate", "/")
    run("mount", "-t", "tmpfs", "none", work)
    for name in "cpu", "class", "empty":
        os.mkdir(f"{work}/{name}")
    cpus = [c for c in os.listdir(CPUS) if re.fullmatch(r"cpu\d+", c)]
    copy(CPUS, f"{work}/cpu")
    copy("/sys/class", f"{work}/class")
    copy(PMUS, f"{work}/pmus")
    if cpuinfo == ARM and os.path.exists(f"{work}/pmus/msr"):
        os.unlink(f"{work}/pmus/msr")
    counting = []
    for folder in [f"{work}/cpu/cpuidle"] + [f"{work}/cpu/{c}/cpuidle" for c in cpus]:
        shutil.rmtree(folder, ignore_errors=True)
    if driver:
        put(f"{work}/cpu/cpuidle/current_driver", driver)
        put(f"{work}/cpu/cpuidle/current_governor_ro", "menu")
    for cpu in cpus:
        for at, name in enumerate(states or []):
            state = f"{work}/cpu/{cpu}/cpuidle/state{at}"
            for file, text in {"name": name, "desc": name, "latency": 10 * at, "residency": 20 * at, "disable": 0, "above": 0, "below": 0,
                               "rejected": 0, "power": 0}.items():
                put(f"{state}/{file}", str(text))
            for file in "time", "usage":
                counting.append((f"{state}/{file}", (at + 1) * 90000 if file == "time" else (at + 1) * 10))
                put(counting[-1][0], "100000000000")
    if place:
        places(work, cpus, place)
    for path, text in files.items():
        put(f"{work}/{path}", text)
        if path.endswith("energy_uj"):
            counting.append((f"{work}/{path}", 15000000))
    run("mount", "--bind", f"{work}/cpu", CPUS)
    run("mount", "--bind", f"{work}/class", "/sys/class")
    run("mount", "--bind", f"{work}/pmus", PMUS)
    put(f"{work}/cpuinfo", "".join(cpuinfo.format(cpu=c) for c in range(len(cpus))).rstrip("\n"))
    run("mount", "--bind", f"{work}/cpuinfo", "/proc/cpuinfo")
    for folder in empty:
        if os.path.isdir(folder):
            run("mount", "--bind", f"{work}/empty", folder)
    subprocess.run(["umount", "-R", "--lazy", "/sys/fs/cgroup"], check=False)
    if cgroup == 2:
        run("mount", "-t", "cgroup2", "none", "/sys/fs/cgroup")
    elif cgroup == 1:
        run("mount", "-t", "tmpfs", "none", "/sys/fs/cgroup")
        os.mkdir("/sys/fs/cgroup/cpu")
        run("mount", "-t", "cgroup", "-o", "cpu", "none", "/sys/fs/cgroup/cpu")
    return counting


def places(work, cpus, place):
    """Puts CPUs into sockets and cores: place(CPU) is both."""
    of = {int(c[3:]): place(int(c[3:])) for c in cpus}
    for cpu, (socket, core) in of.items():
        at = f"{work}/cpu/cpu{cpu}/topology"
        put(f"{at}/physical_package_id", str(socket))
        put(f"{at}/core_id", str(core))
        for names, members in ((("thread_siblings", "core_cpus"), [c for c in of if of[c] == of[cpu]]),
                               (("core_siblings", "package_cpus", "die_cpus", "cluster_cpus"), [c for c in of if of[c][0] == socket])):
            for name in names:
                put(f"{at}/{name}", "%x" % sum(1 << c for c in members))
                put(f"{at}/{name}_list", ",".join(map(str, members)))


def without_perf(command):
    """Runs a command for which perf_event_open() is no system call that it may make, as containers do."""
    number = {"x86_64": 298, "aarch64": 241}[os.uname().machine]
    code = struct.pack("HBBI" * 4, 0x20, 0, 0, 0, 0x15, 0, 1, number, 6, 0, 0, 0x50001, 6, 0, 0, 0x7fff0000)
    room = ctypes.create_string_buffer(code)
    if ctypes.CDLL(None).prctl(22, 2, struct.pack("HxxxxxxQ", 4, ctypes.addressof(room))):
        sys.exit("no system call filter")
    sys.exit(subprocess.run(command, check=False).returncode)


def count(counting):
    """Keeps counters going: (file, counts a second). Numbers of a fixed width are never read half."""
    files = [(os.open(path, os.O_WRONLY), rate) for path, rate in counting]
    while True:
        for file, rate in files:
            os.pwrite(file, b"%d\n" % (10 ** 11 + rate * time.monotonic()), 0)
        time.sleep(0.05)


def test(entry, before, zone, folder):
    properties = {p["name"]: p["value"] for p in entry["properties"]}
    words = dict(v.split("=", 1) for v in properties.get("ENVIRONMENT", []))
    began = time.monotonic()
    with open(os.path.join(folder, entry["name"] + ".log"), "w+", encoding="utf-8", errors="replace") as log:
        status = subprocess.run(before + entry["command"], env={**os.environ, "PATH": PATH, **words, "TZ": zone}, stdout=log, stderr=log,
                                cwd=properties["WORKING_DIRECTORY"], check=False).returncode
        log.seek(0)
        text = log.read()
    return entry["name"], status, text, time.monotonic() - began


def run_tests(name, args, before, zone, logs):
    shown = subprocess.run(["ctest", "--test-dir", args.build, "--show-only=json-v1"], check=True, stdout=subprocess.PIPE).stdout
    tests = [t for t in json.loads(shown)["tests"] if re.search(args.regex, t["name"])
             and (name != "user" or not re.search(NOT_A_USERS, t["name"]))]
    alone = [t for t in tests if any(p["name"] == "RUN_SERIAL" for p in t["properties"])]
    failed = 0
    os.makedirs(logs, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        side = pool.map(lambda e: test(e, before, zone, logs), [t for t in tests if t not in alone])
        for entry, status, text, seconds in itertools.chain(side, (test(e, before, zone, logs) for e in alone)):
            bad = [line for line in text.splitlines() if line.startswith("not ok")] or [text] if status not in (0, 77) else []
            failed += bool(bad)
            skips = sum(bool(re.match(r"ok .* # skip", line)) for line in text.splitlines())
            print(f"{name}: {entry} {'FAILED' if bad else 'skipped' if status == 77 else 'passed'}, {skips} skips, {seconds:.0f} s",
                  *bad, sep="\n    ", flush=True)
    return failed or not tests


def host(name, args):
    states, driver, cpuinfo, cgroup, files, zone, before, empty, *place = HOSTS[name]
    work = tempfile.mkdtemp(prefix="host.")
    counting = lay(work, states, driver, cpuinfo, cgroup, files, empty, *place)
    threading.Thread(target=count, args=(counting,), daemon=True).start()
    if subprocess.run([*before, "test", "-x", f"{args.build}/bin/pmrec"], check=False).returncode:
        print(f"{name}: skipped: the build folder is not open to this user")
        failed = 0
    elif args.run:
        failed = subprocess.run([*before, "sh", "-c", args.run], env={**os.environ, "PATH": PATH, "TZ": zone}, check=False).returncode
    else:
        failed = run_tests(name, args, before, zone, os.path.join(args.logs or work, name))
    run("umount", "--lazy", work)
    os.rmdir(work)
    return failed


def main():
    if sys.argv[1:2] == ["--no-perf"]:
        without_perf(sys.argv[2:])
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=f"{SOURCE}/build")
    parser.add_argument("--host", choices=HOSTS)
    parser.add_argument("--logs")
    parser.add_argument("--run", metavar="COMMAND")
    parser.add_argument("-j", "--jobs", type=int, default=3)
    parser.add_argument("regex", nargs="?", default=LIVE)
    args = parser.parse_args()
    if os.geteuid() != 0:
        print("skipped: not root")
        return 77
    if args.host:
        return 1 if host(args.host, args) else 0
    ends = [subprocess.run([sys.executable, __file__, *sys.argv[1:], f"--host={name}"], check=False).returncode for name in HOSTS]
    return next((e for e in ends if e not in (0, 77)), max(ends))


if __name__ == "__main__":
    sys.exit(main())
