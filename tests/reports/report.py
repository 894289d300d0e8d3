"""One report: the words of report.py files. A machine that misled a tool, the steps of its counters, and the true values.

A path, and all that a step changes, is relative to the root of the emulated machine."""
import csv
import fnmatch
import io
import json
import math
import os
import re

CPU = "sys/devices/system/cpu"
INTEL, AMD = b"GenuineIntel", b"AuthenticAMD"
PLACES = ("recording", "package", "die", "cluster", "cache", "node", "core", "cpu", "device", "task", "cgroup")


def span(cpus):
    """[0, 1, 2, 5] as the kernel writes it: 0-2,5."""
    runs = []
    for c in sorted(cpus):
        if runs and c == runs[-1][1] + 1:
            runs[-1][1] = c
        else:
            runs.append([c, c])
    return ",".join(f"{a}-{b}" if a != b else f"{a}" for a, b in runs)


class Value:
    """What a cell has to be. With `per` the value times the duration of its row, in s, is compared: a rate as a count. A
    machine that reads slowly says `doubtful` of what would be `ok`."""

    def __init__(self, number, off=1e-6, status="ok", per=False):
        self.number, self.off, self.status, self.per = number, off, status, per

    def fits(self, row):
        return row["value"] != "" and row["status"] in (self.status, "doubtful" if self.status == "ok" else self.status)

    def right(self, row):
        if not self.fits(row):
            return False
        got = float(row["value"]) * (int(row["duration_ns"]) / 1e9 if self.per else 1)
        return math.isclose(got, self.number, rel_tol=self.off, abs_tol=1e-9)

    def spoilt(self):
        return Value(self.number * (1 + 2 * self.off) + .001, self.off, self.status, self.per)

    def __repr__(self):
        return f"{self.number:g}{' in all' if self.per else ''} {self.status}"


class Between(Value):
    """A number from `low` to `high`: where time or a clock decides."""

    def __init__(self, low, high, status="ok"):
        self.low, self.high, self.status = low, high, status

    def right(self, row):
        return self.fits(row) and self.low <= float(row["value"]) <= self.high

    def spoilt(self):
        return Between(self.high + 1e9, self.high + 2e9)

    def __repr__(self):
        return f"{self.low:g} to {self.high:g} {self.status}"


class Missing(Value):
    """No value, for a reason: one, or several with | between them."""

    def __init__(self, reason):
        self.reasons = reason.split("|")

    def right(self, row):
        return row["value"] == "" and row["status"] in self.reasons

    def spoilt(self):
        return Missing("spoilt")

    def __repr__(self):
        return f"missing: {'|'.join(self.reasons)}"


class Cells:
    """Cells of a metric at a place, one for each row in time; or one value for all rows. None: there is no such row."""

    def __init__(self, options, metric, place, values, why):
        self.command, self.metric, self.place, self.why = f"pmrep {options} --format=csv {{rec}}", metric, place, why
        value = lambda v: Missing(v) if isinstance(v, str) else v if isinstance(v, Value) else Value(v)
        self.values = None if values is None else [value(v) for v in values] if isinstance(values, list) else value(values)

    def wrong(self, code, out, err):
        if code not in (0, 3):
            return f"exit status {code}: {err.strip()}"
        scope, *number = self.place.split()
        pairs = len(number) > 1 and scope not in ("device", "task", "cgroup")  # whose names may have blanks
        want = dict(zip(number[::2], number[1::2])) if pairs else {scope: " ".join(number)} if number else {}
        rows = [r for r in csv.DictReader(io.StringIO(out)) if fnmatch.fnmatchcase(r["metric"], self.metric) and
                r["scope"] == scope and all(r[k] == v for k, v in want.items())]
        got = ", ".join(f"{r['value'] or '-'} {r['status']}" for r in rows) or "no row"
        values = self.values
        if values is None:
            good = not rows
        else:
            values = values if isinstance(values, list) else [values] * max(1, len(rows))
            good = len(values) == len(rows) and all(v.right(r) for v, r in zip(values, rows))
        return None if good else f"{self.metric} of {self.place}: {got}; right: {values}"

    def spoilt(self):
        v, other = self.values, Cells("", self.metric, self.place, 1.0, "")
        other.values = Value(1.0) if v is None else [w.spoilt() for w in v] if isinstance(v, list) else v.spoilt()
        return other


class Said:
    """What a command prints, stdout and stderr: a pattern that is there (or `lacks`, one that is not), and its exit status."""

    def __init__(self, command, pattern, why, lacks=None, code=0):
        self.command, self.pattern, self.why, self.lacks, self.code = command, pattern, why, lacks, code

    def wrong(self, code, out, err):
        text = out + err
        if code != self.code:
            return f"exit status {code}: {err.strip()[:200]}"
        if self.pattern and not re.search(self.pattern, text, re.M):
            return f"/{self.pattern}/ is not in: {text.strip()[:600]}"
        found = self.lacks and re.search(self.lacks, text, re.M)
        return f"/{self.lacks}/ is in: {found[0]!r}" if found else None

    def spoilt(self):
        return Said("", r"\Aspoilt\Z", "", code=self.code)


class Info:
    """A fact of `pmrep info`: "topology.cores" is 4."""
    command = "pmrep info --format=json {rec}"

    def __init__(self, path, value, why):
        self.path, self.value, self.why = path, value, why

    def wrong(self, code, out, err):
        got = json.loads(out or "{}")
        for key in self.path.split("."):
            got = got.get(key) if isinstance(got, dict) else None
        return None if got == self.value else f"{self.path} is {got}; right: {self.value}"

    def spoilt(self):
        return Info(self.path, "spoilt", "")


class Report:
    def __init__(self, folder):
        self.name = os.path.basename(folder)
        self.tree, self.lines, self.changes, self.truths = {}, [], [], []
        self.options, self.n_cpus, self.open, self.repaired = "", 0, None, ""
        words = {k: getattr(self, k) for k in ("about", "put", "files", "cpus", "zone", "idle", "hwmon", "msr", "cpuid", "processor",
                                               "step", "record", "expect", "prints", "recording_says", "info", "profile")}
        words |= {"Between": Between, "Value": Value, "joules": lambda j, off=.05: Value(j, off, per=True), "span": span,
                  "CPU": CPU}
        with open(os.path.join(folder, "report.py")) as f:
            exec(compile(f.read(), f.name, "exec"), words)

    # ---- what it is ----

    def about(self, machine, address, start, repaired="", open=None):
        """What the machine does, in a sentence; the address (or several) of the public report; what came out at the start of this corpus,
        "right" or what was wrong; what repaired that; and, as long as it is wrong, why."""
        self.machine, self.address, self.start, self.repaired, self.open = machine, address, start, repaired, open

    # ---- the machine ----

    def put(self, path, text):
        self.tree[path] = f"{text}\n"

    def files(self, text):
        """Several files: "== path", and behind it the content."""
        for part in re.split(r"^== ", text, flags=re.M)[1:]:
            path, _, content = part.partition("\n")
            self.tree[path.strip()] = content

    def cpus(self, text, core_ids=None, dies=None, packages=None, offline=()):
        """A topology: "0,4 1,5 | 2,6 3,7" has two packages of two cores of two threads; "4" has four cores in one package.
        core_ids, dies (of cores) and packages override the numbers that follow from the order."""
        if text.isdigit():
            text = " ".join(map(str, range(int(text))))
        all_cpus, core = [], 0
        for package, part in enumerate(text.split("|")):
            members = [int(c) for c in re.split(r"[ ,]+", part.strip())]
            all_cpus += members
            number = packages[package] if packages else package
            for k, threads in enumerate(part.split()):
                threads = [int(c) for c in threads.split(",")]
                online = [c for c in threads if c not in offline]
                for c in online:
                    at = f"{CPU}/cpu{c}/topology"
                    self.put(f"{at}/physical_package_id", number)
                    self.put(f"{at}/core_id", core_ids[core] if core_ids else k)
                    if dies:
                        self.put(f"{at}/die_id", dies[core])
                    for name in ("thread_siblings_list", "core_cpus_list"):
                        self.put(f"{at}/{name}", span(online))
                    for name in ("core_siblings_list", "package_cpus_list"):
                        self.put(f"{at}/{name}", span(set(members) - set(offline)))
                core += 1
        self.n_cpus = max(all_cpus) + 1
        self.put(f"{CPU}/present", span(all_cpus))
        self.put(f"{CPU}/possible", span(all_cpus))
        self.put(f"{CPU}/online", span(set(all_cpus) - set(offline)))

    def zone(self, zone, name, uj, range_uj=262143328850, max_uw=None):
        """A zone of powercap: zone("intel-rapl:0", "package-0", 10**9)."""
        at = f"sys/class/powercap/{zone}"
        for file, text in (("name", name), ("energy_uj", uj), ("max_energy_range_uj", range_uj), ("enabled", 1)):
            self.put(f"{at}/{file}", text)
        if max_uw is not None:
            for file, text in (("name", "long_term"), ("max_power_uw", max_uw), ("power_limit_uw", max_uw)):
                self.put(f"{at}/constraint_0_{file}", text)

    def idle(self, cpu, *states):
        """States of cpuidle: idle(0, ("WFI", usage, time_us), ...)."""
        for k, (name, usage, time_us) in enumerate(states):
            for file, text in (("name", name), ("desc", name), ("usage", usage), ("time", time_us)):
                self.put(f"{CPU}/cpu{cpu}/cpuidle/state{k}/{file}", text)

    def hwmon(self, number, chip, **files):
        """A chip with sensors: hwmon(0, "coretemp", temp1_input=52000, temp1_label="Package id 0")."""
        for name, text in dict(files, name=chip).items():
            self.put(f"sys/class/hwmon/hwmon{number}/{name}", text)

    def msr(self, address, value, cpus="*", rate=0, width=64):
        """A register; it makes this a report for the rig. rate: per second, or "0.25t" of the time stamp counter."""
        self.lines.append(f"msr {address:#x} {cpus} {value:#x} {rate} {width}")

    def cpuid(self, leaf, subleaf, eax, ebx, ecx, edx, cpus="*"):
        self.lines.append(f"cpuid {leaf:#x} {subleaf} {cpus} {eax:#x} {ebx:#x} {ecx:#x} {edx:#x}")

    def profile(self, *lines):
        """Lines for tests/rig/fakemsr, as its profile.h describes them."""
        self.lines += lines

    def processor(self, vendor, family, model, stepping=1, hypervisor=None):
        """CPUID of a processor with APERF, MPERF and an invariant time stamp counter. Call it behind cpus()."""
        word = lambda b: [int.from_bytes(b[i:i + 4], "little") for i in (0, 4, 8)]
        name = AMD if vendor == "amd" else INTEL
        b, d, c = word(name)
        self.cpuid(0, "*", 0x10 if vendor == "amd" else 0x16, b, c, d)
        base = min(family, 15)
        for n in range(self.n_cpus):
            self.cpuid(1, "*", (family - base) << 20 | model >> 4 << 16 | base << 8 | (model & 15) << 4 | stepping,
                       n << 24 | 0x100800, 1 << 31 | 9 if hypervisor else 9, 0x3FF0A031, n)
        self.cpuid(6, "*", 0 if vendor == "amd" else 0x77, 2, 1, 0)
        if hypervisor:
            self.cpuid(0x40000000, "*", 0x40000001, *word(hypervisor.ljust(12, "\0").encode()))
        self.cpuid(0x80000000, "*", 0x80000008, 0, 0, 0)
        self.cpuid(0x80000007, "*", 0, 0, 0, 0x4380 if vendor == "amd" else 0x100)

    # ---- what is done ----

    def record(self, options):
        """Options of pmrec. -i, if not given, is 1,000 s: snapshots are taken by step()."""
        self.options = options

    def step(self, changes, seconds=0):
        """What changes before the next snapshot: {path: text} and {register: value}, (register, CPUs) for some CPUs, {"fail 0xe7 1":
        errno} for one that cannot be read (0: can again). None removes a file or a folder. The snapshot is taken `seconds` later than the one before, or more on a busy machine: it bounds
        power from above."""
        self.changes.append((changes, seconds))

    # ---- what is true ----

    def expect(self, options, metric, place, values, why):
        """Cells: expect("--show=PkgWatt", "pkgwatt", "package 0", [joules(15), "reset"], "because ..."). The place is a scope and its number,
        or a scope and pairs: "core package 0 core 1". Numbers are exact to 1e-6; Value() and Between() say otherwise."""
        self.truths.append(Cells(options, metric, place, values, why))

    def prints(self, command, pattern, why, lacks=None, code=0):
        """Text: prints("pmrep stat {rec}", "regular expression", "because ..."); {root} is the machine."""
        self.truths.append(Said(command, pattern, why, lacks, code))

    def recording_says(self, pattern, why, lacks=None):
        self.truths.append(Said("record", pattern, why, lacks))

    def info(self, path, value, why):
        self.truths.append(Info(path, value, why))
