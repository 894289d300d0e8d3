#!/usr/bin/env python3
"""test_faults.py FAULT: a machine on which something goes wrong, from register to report. What cannot be known has no
number, and the status column says why; what can be known is right all the same."""
import collections
import csv
import errno
import io
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import machines
import rig

TOLERANCE = .06    # intervals are short, and a busy machine reads late
PACKAGE_WATTS, MEMORY_WATTS = (35.5, 71.0), (4.0, 8.0)    # of skylakex, as programmed
REFUSED = {"no_module": (2, [], "not-supported", "modprobe msr"),
           "no_permission": (errno.EACCES, [], "no-permission", "cap_sys_rawio"),
           "lockdown": (errno.EPERM, ["file sys/kernel/security/lockdown none [integrity] confidentiality\\n"],
                        "no-permission", "locked down"),
           "container": (2, ["file .dockerenv -", "file sys/module/msr/refcnt 0\\n"], "not-supported",
                         "--device /dev/cpu")}


class Report:
    """cell[metric, scope, number of its CPU or package] = [(value or None, status)], in time."""

    def __init__(self, path, *options):
        self.cell = collections.defaultdict(list)
        text = subprocess.run([os.path.join(rig.BIN, "pmrep"), path, "--quiet", "--format=csv", "--all", *options],
                              capture_output=True, text=True, check=True, timeout=120).stdout
        for r in csv.DictReader(io.StringIO(text)):
            scope = r["scope"]
            place = r["cpu"] if scope == "cpu" else r["package"] if scope == "package" else \
                f"{r['package']}.{r['core']}" if scope == "core" else ""
            self.cell[r["metric"], scope, place].append(
                (float(r["value"]) if r["value"] else None, r["status"]))
        self.wrong = []
        for key, values in self.cell.items():
            if any((v is None) == (s in ("ok", "partial", "doubtful")) for v, s in values):
                self.wrong.append(f"{key}: a number without a value, or a value without one: {values}")

    def expect(self, metric, scope, place, good=None, reasons=(), off=0):
        """Every number is `good`, or nothing is. Each of the reasons is met, and no others are. `off` numbers may be
        anything, or contradict themselves: those of intervals in the middle of which it happened. What a busy machine
        misses, and what it reads so slowly that it says so itself, is no fault."""
        values = self.cell.get((metric, scope, place), [])
        numbers = [v for v, s in values if s in ("ok", "partial")]
        # A build with sanitizers may read all of them slowly.
        if len(numbers) < 3:
            numbers = [v for v, s in values if s in ("ok", "partial", "doubtful")]
        seen = {s for _, s in values} - {"ok", "partial", "missed", "doubtful"}
        torn = sum(s == "unstable" for _, s in values)
        if 0 < torn <= off:
            off -= torn
            seen -= {"unstable"}
        what = f"{metric} of {scope} {place}"
        if len(values) < 3 or (good is not None and len(numbers) < 3):
            self.wrong.append(f"{what} has {len(values)} rows and {len(numbers)} numbers")
        if good is None and numbers:
            self.wrong.append(f"{what} is {numbers}, and should not be known")
        bad = [v for v in numbers if good is not None and abs(v - good) > TOLERANCE * abs(good) + .005]
        if len(bad) > off:
            self.wrong.append(f"{what} is {bad}, not {good}")
        if seen != set(reasons):
            self.wrong.append(f"{what} has the reasons {seen}, not {set(reasons)}")


def record(mounted, *steps, interval="100ms", n=25, sources="msr"):
    """Records while the steps, (seconds from the start, line of a profile...), happen."""
    process = subprocess.Popen(mounted.command(f"--sources={sources}", "-i", interval, "-n", str(n)),
                               stderr=subprocess.PIPE, text=True)
    start = time.monotonic()
    for after, *lines in steps:
        time.sleep(max(0, start + after - time.monotonic()))
        mounted.control(*lines)
    _, errors = process.communicate(timeout=60)
    if process.returncode:
        raise AssertionError(f"pmrec ended with {process.returncode}: {errors}")


def absent(mounted, reason, *columns):
    """Columns without registers: hidden, which is said in one line; there, without a number and with the reason, for those
    who name them."""
    wrong, ids = [], {"PkgWatt": "pkgwatt", "Busy%": "busy", "CPU%c6": "cpu.c6"}
    run = lambda *options: subprocess.run([os.path.join(rig.BIN, "pmrep"), mounted.path(), *options], capture_output=True,
                                          text=True, timeout=60)
    for options in (["--show=" + ",".join(columns)], ["--enable=" + ",".join(columns)], ["--debug"]):
        done = run("--format=csv", "--all", *options)
        rows = [r for r in csv.DictReader(io.StringIO(done.stdout)) if r["metric"] in [ids[c] for c in columns]]
        if {r["metric"] for r in rows} != {ids[c] for c in columns}:
            wrong.append(f"{options} shows {sorted({r['metric'] for r in rows})}: {done.stderr}")
        wrong += [f"{options}: {r}" for r in rows if r["value"] or r["status"] != reason]
    done = run("--quiet", "--all", "--show=" + columns[0])
    cells = [line.split() for line in done.stdout.splitlines() if line.strip()]
    if not cells or cells[0][-1] != columns[0] or len(cells) < 2 or any(c[-1] != "-" for c in cells[1:]):
        wrong.append(f"as a table: {cells}")
    done = run("--all")
    notes = [line for line in done.stderr.splitlines() if "not shown:" in line]
    # The first are named, and the rest is counted.
    named = lambda c: c in notes[0] or re.search(r" and [1-9]\d* more ", notes[0])
    if len(notes) != 1 or not all(map(named, columns)) or any(c in done.stdout.split() for c in columns):
        wrong.append(f"without options: {done.stdout[:300]} {done.stderr}")
    if "not shown" in run("--quiet", "--all").stderr:
        wrong.append("it is said although nobody wants to hear it")
    return wrong


def refused(mounted, fault):
    """The driver's files cannot be opened: the rest is recorded, and the reason and a cure are told."""
    error, lines, reason, cure = REFUSED[fault]
    mounted.control(f"devices {error}", *lines)
    done = subprocess.run(mounted.command("-i", "50ms", "-n", "5"), capture_output=True, text=True, timeout=60)
    if done.returncode:
        return [f"without the msr driver the recording ends: {done.stderr}"]
    recording, wrong = rig.Recording(mounted.path()), []
    probes = [p for p in recording.probes if p["source"] == "msr"]
    if [p["reason"] for p in probes] != [reason] or cure not in (probes[0].get("hint") or ""):
        wrong.append(f"the recording tells of msr: {probes}")
    if any(name.startswith("msr.") for name, _ in recording.series):
        wrong.append("there are registers")
    report = Report(mounted.path())
    report.expect("idle.c6.residency", "cpu", "3", 30)
    wrong += absent(mounted, reason, "PkgWatt", "Busy%", "CPU%c6")
    done = subprocess.run(mounted.command("--sources=msr", "-n", "1"), capture_output=True, text=True, timeout=60)
    if done.returncode != 125 or cure not in done.stderr:
        wrong.append(f"asked for msr alone, pmrec ends with {done.returncode}: {done.stderr}")
    doctor = subprocess.run([os.path.join(rig.BIN, "pmrec"), "doctor", "--root", mounted.root], capture_output=True,
                            text=True, timeout=60).stdout
    if cure.split()[0] not in doctor:
        wrong.append(f"the doctor knows no cure: {doctor}")
    return wrong + report.wrong


def fails(mounted):
    """Registers that fail for a while, one of a CPU and one of a package."""
    record(mounted, (.8, "fail 0xe7 1 5", "fail 0x611 0-3 5"), (1.5, "fail 0xe7 1 0", "fail 0x611 0-3 0"))
    report = Report(mounted.path())
    # MPERF carries its count over the failure, and the TSC beside it is taken over the same time.
    report.expect("busy", "cpu", "1", 20, ["errno-5"])
    report.expect("busy", "cpu", "2", 30)
    report.expect("avg_mhz", "cpu", "1", .2 * 1.05 * mounted.machine.tsc_hz / 1e6)
    report.expect("pkgwatt", "package", "0", PACKAGE_WATTS[0], ["errno-5"])
    report.expect("pkgwatt", "package", "1", PACKAGE_WATTS[1])
    report.expect("ramwatt", "package", "0", MEMORY_WATTS[0])
    for value, status in report.cell["pkgwatt", "system", ""]:
        if status == "ok" and abs(value - sum(PACKAGE_WATTS)) > 8:
            report.wrong.append(f"the machine has {value} W and is ok")
    return report.wrong


def gone_from_start(mounted):
    """A register that one CPU lacks and the others have."""
    mounted.control("fail 0xe8 3 5", "fail 0x3fd 4-5 5")
    record(mounted)
    report = Report(mounted.path())
    report.expect("bzy_mhz", "cpu", "2", mounted.machine.base_ratio * 100 * 1.1)
    report.expect("busy", "cpu", "3", 40)
    report.expect("cpu.c6", "core", "0.0", 5)
    for key in (("bzy_mhz", "cpu", "3"), ("avg_mhz", "cpu", "3"), ("cpu.c6", "core", "1.0")):
        if any(v is not None for v, _ in report.cell.get(key, [])):
            report.wrong.append(f"{key} has numbers: {report.cell[key]}")
    config = [r["status"] for r in rig.Recording(mounted.path()).config["msr.aperf"]]
    if not config or set(config) != {f"errno-{errno.EIO}"}:
        report.wrong.append(f"why CPU 3 has no APERF: {config}")
    return report.wrong


def wraps(mounted):
    """Counters of 32 bits that turn round about a second from the start."""
    record(mounted, n=30)
    recording = rig.Recording(mounted.path())
    turned = [name for (name, cpu), rows in recording.series.items() if recording.counters[name]["width"] == 32
              and any(int(a[0]) > int(b[0]) for a, b in zip(rows, rows[1:]) if a[1] == b[1] == "ok")]
    report = Report(mounted.path())
    report.expect("pkgwatt", "package", "0", 35.5)
    report.expect("ramwatt", "package", "0", 4.0)
    return report.wrong + ([] if "msr.pkg_energy_status" in turned else [f"only {turned} turned round"])


def wrap_ambiguous(mounted):
    """At 4 x 65 + 150 W a counter in units of 2^-28 J turns round within 39 ms."""
    mounted.control("msr 0x606 * 0xa1c03 0")
    record(mounted, interval="100ms", n=10)
    report = Report(mounted.path())
    report.expect("pkgwatt", "package", "0", None, ["wrap-ambiguous"])
    report.expect("pkgwatt", "package", "1", None, ["wrap-ambiguous"])
    report.expect("busy", "cpu", "1", 20)
    record(mounted, interval="10ms", n=100)
    short = Report(mounted.path())
    values = [v / 2**-14 for v, s in short.cell["pkgwatt", "package", "0"] if s in ("ok", "doubtful")]
    if len(values) < 50 or abs(sorted(values)[len(values) // 2] - PACKAGE_WATTS[0]) > .5:
        short.wrong.append(f"at 10 ms there are {len(values)} numbers: {values[:5]}")
    return report.wrong + short.wrong


def aperf_still(mounted):
    record(mounted, (.8, "hold 0xe8 1"))
    report = Report(mounted.path())
    report.expect("avg_mhz", "cpu", "1", .2 * 1.05 * mounted.machine.tsc_hz / 1e6, ["standing-still"], off=1)
    report.expect("bzy_mhz", "cpu", "1", mounted.machine.base_ratio * 100 * 1.05, ["standing-still"], off=1)
    report.expect("busy", "cpu", "1", 20)
    report.expect("avg_mhz", "cpu", "2", .3 * 1.1 * mounted.machine.tsc_hz / 1e6)
    return report.wrong


def tsc_stops(mounted):
    record(mounted, (.8, "hold 0x10 2"))
    report = Report(mounted.path())
    report.expect("busy", "cpu", "2", 30, ["tsc-unstable"], off=1)
    report.expect("tsc_mhz", "cpu", "2", mounted.machine.tsc_hz / 1e6, ["tsc-unstable"], off=1)
    # The other CPU of the core has a TSC as well: what it says is a part.
    report.expect("cpu.c6", "core", "0.1", 10, off=1)
    report.expect("avg_mhz", "cpu", "2", .3 * 1.1 * mounted.machine.tsc_hz / 1e6)
    report.expect("busy", "cpu", "3", 40)
    report.expect("pkgwatt", "package", "0", PACKAGE_WATTS[0])
    return report.wrong


def tsc_off_base(mounted):
    mounted.control("msr 0x10 3 1000 1.08t")
    record(mounted)
    report = Report(mounted.path())
    # Shares of the TSC are ratios of two counters, whatever its rate is.
    report.expect("busy", "cpu", "3", 40 / 1.08)
    report.expect("cpu.c1", "cpu", "3", 58 / 1.08)
    report.expect("avg_mhz", "cpu", "3", .4 * 1.15 * mounted.machine.tsc_hz / 1e6)
    report.expect("busy", "cpu", "2", 30)
    return report.wrong


def goes_back(mounted):
    """A counter of 64 bits that is set back and runs on: a reset, which is no wrap."""
    record(mounted, (.8, "msr 0x3fd 0-1 0x10 0.02t"))
    report = Report(mounted.path())
    values = report.cell["cpu.c6", "core", "0.0"]
    if [s for _, s in values if s not in ("ok", "partial", "missed", "doubtful")] != ["reset"]:
        report.wrong.append(f"C6 of the core whose counter was set back: {values}")
    if any(abs(v - 5) > .4 and abs(v - 2) > .2 for v, s in values if s == "ok"):
        report.wrong.append(f"C6 of the core is {values}")
    report.expect("cpu.c6", "core", "0.1", 10)
    return report.wrong


def cpu_offline(mounted):
    """The last CPU goes, and the one that stands for its package: another one stands for it from then on."""
    gone = [f"fail * {cpu} {errno.ENXIO}" for cpu in (4, 7)]
    record(mounted, (.8, *gone, "file sys/devices/system/cpu/online 0-3,5-6\\n"), n=40)
    report = Report(mounted.path())
    report.expect("busy", "cpu", "7", 80, ["offline"])
    report.expect("busy", "cpu", "6", 70)
    report.expect("busy", "cpu", "1", 20)
    values = [v for v, s in report.cell["pkgwatt", "package", "1"] if s == "ok"]
    if len(values) < 25 or any(abs(v - PACKAGE_WATTS[1]) > 5 for v in values):
        report.wrong.append(f"watts of the package whose first CPU went: {report.cell['pkgwatt', 'package', '1']}")
    return report.wrong


def zero_energy(mounted):
    """The energy of the packages is 0 at first: no reason to give up all energies, and no energy of 0 W."""
    mounted.control("msr 0x611 * 0 0 32")
    record(mounted, (1.2, f"msr 0x611 0-3 5 {PACKAGE_WATTS[0] * 2**14} 32"))
    report = Report(mounted.path())
    report.expect("ramwatt", "package", "0", MEMORY_WATTS[0])
    report.expect("pkgwatt", "package", "1", None, ["suspect"])
    values = report.cell["pkgwatt", "package", "0"]
    numbers = [v for v, s in values if s == "ok"]
    # More than it can have counted since the reading before: where it began is not known.
    seen = {s for _, s in values} - {"doubtful", "reset"}
    if seen != {"suspect", "ok"} or [s for _, s in values].count("reset") > 1 or any(abs(v - PACKAGE_WATTS[0]) > 3 for v in numbers[1:]):
        report.wrong.append(f"watts of the package whose counter began to run late: {values}")
    return report.wrong


def guest_refused(mounted):
    record(mounted, n=10)
    report = Report(mounted.path())
    recording = rig.Recording(mounted.path())
    report.expect("tsc_mhz", "cpu", "1", mounted.machine.tsc_hz / 1e6)
    known = {metric for (metric, _, _), values in report.cell.items() if any(v is not None for v, _ in values)}
    if known != {"tsc_mhz"}:
        report.wrong.append(f"known are {known}")
    for name in ("msr.aperf", "msr.pkg_energy_status", "msr.platform_info"):
        if {r["status"] for r in recording.config[name]} != {f"errno-{errno.EIO}"}:
            report.wrong.append(f"why there is no {name}: {recording.config[name]}")
    return report.wrong + absent(mounted, f"errno-{errno.EIO}", "PkgWatt", "Busy%", "CPU%c6")


def guest_zeros(mounted):
    record(mounted, n=10)
    report = Report(mounted.path(), "--show=Busy%,PkgWatt,TSC_MHz,CPU%c6")
    report.expect("tsc_mhz", "cpu", "1", mounted.machine.tsc_hz / 1e6)
    report.expect("busy", "cpu", "1", None, ["suspect"])
    report.expect("pkgwatt", "package", "0", None, ["suspect"])
    report.expect("cpu.c6", "core", "0.0", None, ["suspect"])
    return report.wrong


def hangs(mounted):
    """Files that do not answer any more: the recording ends in time, and says what it lacks."""
    wrong = []
    # The list of CPUs answers, what belongs to one does not.
    top = "sys/devices/system/cpu"
    os.makedirs(os.path.join(mounted.folder, top))
    for name in os.listdir(os.path.join(mounted.root, top)):
        if name in ("online", "present", "possible"):
            shutil.copy(os.path.join(mounted.root, top, name), os.path.join(mounted.folder, top, name))
        else:
            os.symlink(f"/root/{top}/{name}", os.path.join(mounted.folder, top, name))
    for way in ([], ["--timeout=3000"], ["-n", "30"]):
        errors = os.path.join(mounted.folder, "hangs")
        with open(errors, "w") as err:
            pmrec = subprocess.Popen([os.path.join(rig.BIN, "pmrec"), "--overwrite", "--root=" + mounted.folder, "-o",
                                      mounted.path(), "--sources=cpuidle", "-i", "0.1", *way], stderr=err)
        time.sleep(1.5)
        mounted.process.send_signal(signal.SIGSTOP)
        try:
            time.sleep(.5)
            if not way:
                pmrec.send_signal(signal.SIGTERM)
            # Two seconds on a machine that has time for it, and those that the recording has left. The kernel may keep
            # the process itself until its read is answered.
            until = time.monotonic() + 12
            while "cpuidle stopped delivering" not in open(errors).read() and time.monotonic() < until:
                time.sleep(.02)
            if time.monotonic() >= until:
                wrong.append(f"{way}: does not end, or does not say what is missing: {open(errors).read()}")
                pmrec.kill()
        finally:
            mounted.process.send_signal(signal.SIGCONT)
            status = pmrec.wait()
        if status:
            wrong.append(f"{way}: status {status}: {open(errors).read()}")
        check = subprocess.run([os.path.join(rig.BIN, "pmrep"), "check", mounted.path()], capture_output=True, text=True)
        if check.returncode:
            wrong.append(f"{way}: {check.stdout}{check.stderr}")
    return wrong


FAULTS = {**{name: ("skylakex", refused) for name in REFUSED}, "fails": ("skylakex", fails),
          "gone_from_start": ("skylakex", gone_from_start), "wraps": ("wrap", wraps),
          "wrap_ambiguous": ("skylakex", wrap_ambiguous), "aperf_still": ("skylakex", aperf_still),
          "tsc_stops": ("skylakex", tsc_stops), "tsc_off_base": ("skylakex", tsc_off_base),
          "goes_back": ("skylakex", goes_back), "cpu_offline": ("skylakex", cpu_offline),
          "zero_energy": ("skylakex", zero_energy), "guest_refused": ("guest_refused", guest_refused),
          "guest_zeros": ("guest_zeros", guest_zeros), "hangs": ("zen", hangs)}


def main(fault):
    rig.need()
    name, check = FAULTS[fault]
    # A machine that is busy with something else misses readings: what is wrong must be wrong three times.
    for attempt in range(3):
        with rig.Mounted(machines.build(name)) as mounted:
            wrong = check(mounted, fault) if check is refused else check(mounted)
        for line in wrong:
            print(f"attempt {attempt + 1}: {line}")
        if not wrong:
            break
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
