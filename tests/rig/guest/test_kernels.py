#!/usr/bin/python3
"""Boots a kernel of kernels.txt and holds what pmrec does there against what that kernel has: test_kernels.py NAME.

Brings the kernel from its suite of Debian, unpacks the little of it that a guest needs, and keeps that for the next run. What
the kernel lacks is printed, and has to be its line of the table in docs/building.md.
"""
import csv
import glob
import io
import os
import re
import shutil
import subprocess
import sys

from boot import MACHINES, boot
from guest import FOLDER, HERE, SKIPPED, Checks, Guest, pmrep
import newer

MANUAL = os.path.join(HERE, "../../../docs/building.md")
CPUS = 2
SMALL = ["-smp", str(CPUS), "-m", "512"]
# Debian's architecture: the machine of boot.py, and what people call it.
MACHINE = {"amd64": ("x86_64", "x86-64"), "arm64": ("arm64", "arm64")}


def rows_of_kernels():
    with open(f"{HERE}/kernels.txt") as f:
        return [line.split() for line in f if not line.startswith("#")]


class Row:
    """A line of kernels.txt."""

    def __init__(self, name):
        self.name, self.arch, self.suite, *self.append = next(row for row in rows_of_kernels() if row[0] == name)
        self.folder = f"{FOLDER}/kernels/{name}"
        self.lockdown = next((word.split("=")[1] for word in self.append if word.startswith("lockdown=")), "")
        self.old = name.startswith("5.")
        self.psi = "psi=0" not in self.append

    def levels(self):
        """How far the kernel is locked down, and what the lines of the batch that ran then have at the end of their names."""
        further = ["", "integrity", "confidentiality"]
        return [(level, f".{level}" if level != self.lockdown else "") for level in further[further.index(self.lockdown):]]

    def program(self, path):
        """The file that the guest has at this path."""
        with open(f"{FOLDER}/programs.{self.arch}") as f:
            return dict(line.split("=", 1) for line in f.read().split())[path]

    def unpack(self):
        """The newest kernel of the suite. Since 7.0 the package of that name holds nothing, and two others hold it all."""
        for name in ("state/lists/partial", "cache/archives/partial"):
            os.makedirs(f"{self.folder}/{name}", exist_ok=True)
        newer.apt(self.folder, self.arch, "update", suite=self.suite)
        with open(glob.glob(f"{self.folder}/state/lists/*_Packages")[0]) as f:
            names = set(re.findall(r"^Package: (linux-(?:image|binary|modules)-\d\S*)", f.read(), re.M))
        images = [re.fullmatch(rf"linux-image-([\d.+deb~-]+)-{self.arch}", name) for name in names]
        version = max((m[1] for m in images if m), key=lambda v: [int(n) for n in re.findall(r"\d+", v)])
        wanted = {f"linux-{part}-{version}-{self.arch}" for part in ("image", "binary", "modules")} & names
        newer.apt(self.folder, self.arch, "download", *sorted(wanted), suite=self.suite)
        root = f"{self.folder}/root-{self.arch}"
        shutil.rmtree(root, ignore_errors=True)
        os.mkdir(root)
        for package in glob.glob(f"{self.folder}/*.deb"):
            # tar calls it an error that not every package has all of these.
            subprocess.run(f"dpkg-deb --fsys-tarfile {package} | tar -x -C {root} --wildcards '*/vmlinuz*' '*/virtio*.ko*' "
                           "'*/msr.ko*' 2>/dev/null", shell=True, check=False)
            os.remove(package)
        shutil.rmtree(f"{self.folder}/state")

    def kernel(self):
        root = f"{self.folder}/root-{self.arch}"
        return (glob.glob(f"{root}/boot/vmlinuz*") + glob.glob(f"{root}/usr/lib/modules/*/vmlinuz") + [None])[0]

    def boot(self):
        try:
            if not self.kernel():
                self.unpack()
        except (OSError, subprocess.SubprocessError, ValueError, IndexError) as why:
            print(f"skipped: the kernel of Debian {self.suite} for {self.arch} cannot be had: {why}")
            sys.exit(SKIPPED)
        image = f"{self.folder}/image"
        with open(f"{FOLDER}/programs.{self.arch}") as f:
            subprocess.run([f"{HERE}/image.py", self.arch, self.folder, f"{HERE}/batch.kernels", image, *f.read().split()],
                           check=True)
        boot(MACHINE[self.arch][0], SMALL, self.kernel(), image, " ".join(self.append), f"{FOLDER}/out.kernel.{self.name}")


def last(guest, name):
    """The status that a line has printed at its end."""
    return int(guest.text(name).split()[-1])


def doctor(text):
    """{source: (state, all that is said of it)}, and the sentences below the table."""
    sources, source, rest = {}, None, []
    for line in text.splitlines():
        found = re.match(r"(\w+) +(ok|partly|denied|absent) (.*)", line)
        if found:
            source = found[1]
            sources[source] = found[2], found[3]
        elif source and line.startswith(" "):
            sources[source] = sources[source][0], sources[source][1] + line
        else:
            rest.append(line)
    return sources, "\n".join(rest)


def stat_value(guest, name, event):
    """What `pmrep stat` says that was counted."""
    rows = [line.split(",") for line in guest.stat(name, "-x,")]
    return sum(float(row[0]) for row in rows if row[2] == event)


def sources_of(guest, name):
    return {c["source"] for c in guest.recording(name).counters.values()}


def statuses(t, guest, row):
    for what, good, found in guest.check_statuses():
        t.check(what, good, found)


def defaults(t, guest, row):
    """All that a small virtual machine has is recorded; what is not there has a reason that is true."""
    there, below = doctor(guest.text("doctor"))
    sources = sources_of(guest, "default")
    have = {"perf", "interrupts", "softirqs", "stat", "schedstat", "vmstat", "meminfo", "diskstats", "tcp", "tasks"}
    have |= {"msr"} if row.arch == "amd64" else set()
    have |= {"pressure"} if row.psi else set()
    for name in sorted(have):
        t.check(f"{name} is recorded", name in sources, sources)
        t.check(f"doctor finds {name}", there[name][0] in ("ok", "partly"), there[name])
    if not row.psi:
        t.check("doctor names psi=1", there["pressure"][0] == "absent" and "psi=1" in there["pressure"][1], there["pressure"])
        t.check("pressure is not recorded", "pressure" not in sources)
    t.check("all rights are given up", "no capabilities, no new privileges, system calls filtered" in below, below)
    clocks(t, guest, "default")


def static(t, guest, row):
    """What runs here is one file: no other has to fit to the kernel, or to be there."""
    told = subprocess.run(["readelf", "-l", "-d", row.program("/bin/pmrec")], capture_output=True, text=True, check=True).stdout
    t.check("pmrec is static", "LOAD" in told and "INTERP" not in told and "NEEDED" not in told, told)


def registers(t, guest, row, level, suffix):
    *lines, written = guest.text(f"registers{suffix}").splitlines()
    # The kernel lets nobody write registers when it is locked down, and arm64 has none.
    t.check("writing is refused under lockdown", written == f"written {int(bool(level) or row.arch == 'arm64')}", written)
    if row.arch != "amd64":
        return
    recording = guest.recording(f"default{suffix}")
    for line in lines:
        cpu, register, value = line.split()
        name = {"0x8b": "msr.ucode_rev", "0x1a0": "msr.misc_enable"}[register]
        values = {o.get("value") for o in recording.config[name]}
        t.check(f"{name} of CPU {cpu}", value and values == {int(value, 16)}, (values, value))


def events(t, guest, row):
    """Of a command, against what wait4(2) says of it; of all counters of the PMU at once."""
    text = pmrep("stat", guest.path("command"))
    used = sum(float(n) for n in re.findall(r"([\d.]+) seconds (?:user|sys)", text))
    t.near("task-clock of a command", stat_value(guest, "command", "task-clock") / 1e3, used, .2)
    t.check("page faults of a command", stat_value(guest, "command", "page-faults") > 10)
    if row.arch == "arm64":
        # QEMU's PMU: seven counters of cycles at 1 GHz. A watchdog that is said to hold one holds none here.
        recording = guest.recording("counters")
        for name in recording.perf_counters():
            rate, share = recording.rate(name)
            t.near(f"{name} counts", rate, 1, .01)
            t.check(f"{name} runs all the time", share > .999, share)
    else:
        t.check("no PMU", last(guest, "counters") == 125 and "a PMU for the virtual machine" in guest.text("counters", "err"))


def lockdown(t, guest, row):
    """What it takes away, and what not; that nothing else has gone."""
    for level, suffix in row.levels():
        registers(t, guest, row, level, suffix)
        lost = sources_of(guest, "default") - sources_of(guest, f"default{suffix}")
        t.check(f"all is recorded{suffix}", not lost, lost)
        # Tracepoints of a kernel that is locked down later stay as they are.
        if row.lockdown == level == "confidentiality":
            told = guest.text(f"tracepoint{suffix}", "err")
            t.check("lockdown refuses tracepoints", last(guest, f"tracepoint{suffix}") == 125 and
                    "permission was refused" in told and "lockdown=confidentiality" in told, told)
        else:
            t.check("tracepoints", stat_value(guest, f"tracepoint{suffix}", "sched:sched_switch") > 1)
        bpf(t, guest, row, level, suffix)
        all_rights(t, guest, row, suffix)


def bpf(t, guest, row, level, suffix):
    told = doctor(guest.text("doctor"))[1]
    t.check(f"--bpf-counters{suffix}", last(guest, f"shared{suffix}") == 0 and "--bpf-counters works here" in told, told)
    t.check("and they count", stat_value(guest, f"shared{suffix}", "cpu-clock") > 0)
    if row.old and row.arch == "arm64":
        said = guest.text(f"attached{suffix}", "err")
        t.check("-b is refused with the reason", last(guest, f"attached{suffix}") == 125 and "Linux 6.0" in said, said)
    else:
        t.check(f"-b{suffix}", last(guest, f"attached{suffix}") == 0, guest.text(f"attached{suffix}", "err"))
        if row.lockdown != "confidentiality":
            t.check("each run of the program", stat_value(guest, f"attached{suffix}", "bpf_trace:bpf_trace_printk") == 100)


def without_bpf(t, guest, row):
    """All else is recorded; what needs BPF is refused, and the reason is the one that there is."""
    for name, reason in (("bpf.absent", "CONFIG_BPF_SYSCALL"), ("bpf.filtered", "run pmrec outside the container")):
        there, below = doctor(guest.text(name))
        t.check(f"{name}: doctor", "no --bpf-counters, no -b: " in below and reason in below, below)
        t.check(f"{name}: events are there", there["perf"][0] in ("ok", "partly"), there["perf"])
        t.check(f"{name}: both are refused", guest.text(name).splitlines()[-2:] == ["125", "125"], guest.text(name))
        t.check(f"{name}: with the reason", guest.text(name, "err").count(reason) == 2, guest.text(name, "err"))
        t.check(f"{name}: the default is recorded", {"perf", "stat", "vmstat"} <= sources_of(guest, name))


def rights(t, guest, row):
    """Of a user, and of one who has the capabilities of pmr-rights(7): what is named as the cure is one."""
    there, below = doctor(guest.text("user"))
    t.check("a user has no events", there["perf"][0] == "denied" and "setcap cap_perfmon=ep" in there["perf"][1], there["perf"])
    t.check("the capability alone is no cure", "and sysctl kernel.perf_event_paranoid=2" in there["perf"][1], there["perf"])
    t.check("nor lockdown the cause without BPF", "needs CAP_BPF and CAP_PERFMON" in below, below)
    t.check("a user records the rest", {"stat", "vmstat"} <= sources_of(guest, "user"))
    there, _ = doctor(guest.text("setcap"))
    t.check("with the capability the sysctl is named", there["perf"][0] == "denied" and
            "sysctl kernel.perf_event_paranoid=2 (it is 3" in there["perf"][1], there["perf"])
    t.check("and no container", "container" not in there["perf"][1], there["perf"])
    if row.arch == "amd64":
        t.check("lockdown is named where registers are refused", ("locked down" in there["msr"][1]) == bool(row.lockdown),
                there["msr"])
        t.check("and the capability", "cap_sys_rawio" in there["msr"][1], there["msr"])
    there, below = doctor(guest.text("setcap.bpf"))
    if row.old:
        told = guest.text("setcap.bpf", "err")
        t.check("a limit of locked memory is named", last(guest, "setcap.bpf") == 125 and "ulimit -l" in told and
                "ulimit -l" in below, told + below)
    else:
        t.check("memory of BPF is not locked", last(guest, "setcap.bpf") == 0 and "--bpf-counters works here" in below, below)
    there, _ = doctor(guest.text("setcap.2"))
    t.check("and with the sysctl it counts", there["perf"][0] in ("ok", "partly"), there["perf"])
    clocks(t, guest, "setcap.2")


def all_rights(t, guest, row, suffix):
    """Of a user who has all capabilities that doctor names but root's own."""
    there, below = doctor(guest.text(f"setcap.all{suffix}"))
    t.check("a user counts with BPF", "--bpf-counters works here" in below and
            stat_value(guest, f"setcap.all{suffix}", "cpu-clock") > 0, below)
    if row.arch == "amd64":
        t.check("a user reads registers", there["msr"][0] == "ok", there["msr"])
        t.check("and records them", "msr" in sources_of(guest, f"setcap.all{suffix}"))


def clocks(t, guest, name):
    """Each CPU's clock of all that runs on it advances as fast as time does."""
    recording = guest.recording(name)
    for cpu in range(CPUS):
        rows = recording.series["cpu-clock", cpu]
        t.near(f"{name}: cpu-clock of CPU {cpu}", rows[-1].value - rows[0].value, rows[-1].enabled - rows[0].enabled, .02)


def cgroups(t, guest, row):
    """A busy process in a cgroup: perf, /proc and the cgroup say the same of it."""
    clock = stat_value(guest, "cgroup.2", "cpu-clock")
    rows = csv.DictReader(io.StringIO(pmrep("--total", "--per-cgroup", "--show=cgroups,pressure", "--format=csv",
                                            guest.path("cgroup.2"))))
    found = {r["metric"]: r for r in rows if r["cgroup"] == "/work"}
    used = float(found["cgroups.user"]["value"]) + float(found["cgroups.system"]["value"])
    t.near("CPU time of a cgroup", used, clock / 1e3, .15)
    total = int(re.search(r"usage_usec (\d+)", guest.text("cgroup.2"))[1]) / 1e6
    t.check("no more than it has had at the end", 0 < used <= total, (used, total))
    waited = {name: r for name, r in found.items() if "waited" in name or "stalled" in name}
    t.check("its pressure, where the kernel has it", bool(waited) and
            all((r["value"] != "") == row.psi for r in waited.values()), waited)
    rows = csv.DictReader(io.StringIO(pmrep("--total", "--per-task", "--format=csv", guest.path("cgroup.2"))))
    share = sum(float(r["value"]) for r in rows if r["task"].startswith("spin") and r["metric"] == "task.cpu")
    t.near("CPU time of its task", share / 100, clock / 2e3, .1)
    t.check("events of a cgroup of version 1", stat_value(guest, "cgroup.1", "cpu-clock") > 0)
    for name in ("cgroup.1", "cgroup.both"):
        there, _ = doctor(guest.text(name))
        t.check(f"{name}: doctor names the version", there["cgroups"][0] == "absent" and "version 1" in there["cgroups"][1],
                there["cgroups"])


def steps(t, guest, name):
    """A recording's steps of time of a kind, in seconds; that no rate of it is one that cannot be."""
    recording = guest.recording(name)
    # An emulated CPU's own clock can be some milliseconds behind, which it makes up for. A sleep takes thousands.
    late = 100
    for cpu in range(CPUS):
        rows = recording.series["cpu-clock", cpu]
        for a, b in zip(rows, rows[1:]):
            if a.status == b.status == "ok" and b.value >= a.value:
                t.check(f"{name}: cpu-clock advances as time does", b.value - a.value <= b.end - a.begin + late * 1e6, (a, b))
    for r in csv.DictReader(io.StringIO(pmrep("--per-cpu", "--show=Util%,cpu-clock", "--format=csv", guest.path(name)))):
        most = {"%": 100.5, "ms": (int(r["duration_ns"]) / 1e6 + late) * (CPUS if r["scope"] == "system" else 1)}[r["unit"]]
        t.check(f"{name}: {r['metric']} can be", not r["value"] or 0 <= float(r["value"]) <= most, r)
    return recording.events


def gaps(t, guest, row):
    """The machine sleeps, and its clock is set: both are events, and neither is time in which something was counted."""
    # When it went and came: CLOCK_BOOTTIME in seconds, then "now at NS nsecs" of CLOCK_MONOTONIC.
    lines = [float(line.removeprefix("now at ").split()[0]) for line in guest.text("suspend").splitlines()]
    t.check("the machine can sleep", bool(lines) == (row.arch == "amd64"))
    if lines:
        monotonic, boot_time = (lines[3] - lines[1]) / 1e9, lines[2] - lines[0]
        found = [e for e in steps(t, guest, "suspend") if e["event"] == "suspend"]
        t.check("it has slept once", len(found) == 1 and boot_time - monotonic > 1, (found, lines))
        t.near("for so long", found[0]["step"] / 1e9, boot_time - monotonic, .1)
    found = [e["step"] / 1e9 for e in steps(t, guest, "clock") if e["event"] == "clock-step"]
    t.check("the clock was set twice", len(found) == 2, found)
    t.near("to tomorrow", found[0], 86400, 2e-5)
    t.near("to yesterday", found[1], -172800, 1e-5)


def lacks(guest):
    """What this kernel does not have of all that pmrec and pmrep would use."""
    counters, status = guest.recording("default").counters, guest.text("doctor").splitlines()
    have = {"pressure": any(name.startswith("pressure.") for name in counters),
            "CPU pressure `full`": "pressure.cpu.full" in counters or "pressure.cpu.some" not in counters,
            "tracepoints": last(guest, "tracepoint") == 0,
            "`--bpf-counters`": last(guest, "shared") == 0,
            "`--bpf-counters` where `ulimit -l` is low": last(guest, "setcap.bpf") == 0,
            "`-b`": last(guest, "attached") == 0,
            "Landlock": "landlock" in status[0].split(",")}
    return ", ".join(name for name, there in have.items() if not there) or "nothing"


def table(t, guest, row):
    version = re.match(r"\d+\.\d+", guest.text("doctor").splitlines()[1])[0]
    line = f"| {version} | {MACHINE[row.arch][1]} | {row.suite} | {' '.join(row.append) or '-'} | {lacks(guest)} |"
    print(line)
    lines = [found for found in open(MANUAL).read().splitlines() if re.match(r"\| \d+\.\d+ \|", found)]
    t.check("docs/building.md has this line", line in lines, line)
    t.check("and one for each kernel", len(lines) == len(rows_of_kernels()), lines)


def main():
    if os.path.exists(f"{FOLDER}/skipped"):
        print(open(f"{FOLDER}/skipped").read(), end="")
        sys.exit(SKIPPED)
    row, t = Row(sys.argv[1]), Checks()
    row.boot()
    guest = Guest(f"kernel.{row.name}")
    for section in (statuses, static, defaults, events, lockdown, without_bpf, rights, cgroups, gaps, table):
        t.run(section.__name__, section, guest, row)
    t.end()


if __name__ == "__main__":
    main()
