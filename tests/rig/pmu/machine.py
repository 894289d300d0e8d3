"""Machines with PMUs that do not exist: makes of a table what fakepmu.so and the programs under test look at.

A machine is a module of this folder, with
    CPUS      package of each CPU
    NODES     its NUMA node, if that is not its package
    OFFLINE   CPUs of these that are not there now
    PMUS      name: dict(type, kind, general, format, events, rates, fixed, only_fixed, metric, checks, package, cpus, caps), with the
              meaning of table.h, on: the CPUs of its mask if they are not the first ones, bare: it has no mask, by_metrics: test_uncore.py is enough for it; kind: core, cpu
              (counts on CPUs and has no mask), cores (has one) or uncore; events are those that sysfs names, by their terms, with scale and unit;
              an event that has no rate, and a PMU that names none, count at rates of their own;
              filter: the term of a filter that it has once; alone: it opens nothing beside another user's pinned event
    CPUID     for perf's environment, and the MIDR of Arm's; CPUINFO, the text of /proc/cpuinfo; SOC, the name of the chip
    HARDWARE  config of the generic events (cycles, instructions, cache-references, cache-misses, branches, branch-misses)
    METRICS   name of a metric: what it is by the rates, a function of the machine and of a filter of packages (Machine.sum());
              None: nothing counts it
    ASKED     the same of metrics that are recorded where -M asks for them
    COLUMNS   the same of columns of turbostat that perf's events fill
"""
import importlib
import os

DEVICES = "sys/bus/event_source/devices"


def text(folder, path, content):
    path = os.path.join(folder, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(f"{content}\n")


SHIFT = {"config": 0, "config1": 20, "config2": 40}  # the words of an uncore event in one, as fakepmu.c has them


def config(pmu, terms):
    """The number that terms such as event=0x05,umask=0xcf come to, by the PMU's format files."""
    value = 0
    for term in filter(None, terms.split(",")):
        name, _, number = term.partition("=")
        if name in SHIFT and name not in pmu["format"]:
            value ^= int(number, 0) << SHIFT[name]
            continue
        where, _, bits = pmu["format"][name].partition(":")
        assert where == "config" or pmu["kind"] == "uncore", (name, where)
        n = int(number or "1", 0)
        for part in bits.split(","):
            low, _, high = part.partition("-")
            width = int(high or low) - int(low) + 1
            value ^= (n & ((1 << width) - 1)) << int(low) + SHIFT[where]
            n >>= width
    return value & mask(pmu)


def mask(pmu):
    value = 0
    for place in pmu["format"].values():
        where, _, bits = place.partition(":")
        for part in bits.split(",") if where == "config" or pmu["kind"] == "uncore" else []:
            low, _, high = part.partition("-")
            value |= ((1 << (int(high or low) - int(low) + 1)) - 1) << int(low) + SHIFT[where]
    return value % 2**64


def listed(cpus):
    return ",".join(map(str, cpus))


def hashed(number):
    """The rate of an event that the table does not name; the same in table.c."""
    return 1e6 + 1e3 * (number * 2654435761 % 2**64 % 9973)


class Machine:
    def __init__(self, name):
        self.table = importlib.import_module(name)
        self.cpus = self.table.CPUS
        self.packages = sorted(set(self.cpus))
        self.nodes = getattr(self.table, "NODES", self.cpus)
        self.online = [c for c in range(len(self.cpus)) if c not in getattr(self.table, "OFFLINE", ())]

    def first_cpus(self, pmu):
        """The CPUs on which the kernel would open it: one a package that has such a PMU."""
        return pmu.get("on") or [next(c for c in self.online if self.cpus[c] == p) for p in self.packages if pmu.get("package", p) == p]

    def rate_at(self, pmu, terms, cpu):
        """What TERMS, or the name of an event of sysfs, count in a second on PMU of that CPU, or of its package."""
        p = self.table.PMUS[pmu]
        terms = p.get("events", {}).get(terms, (terms,))[0] if terms in p.get("events", {}) else terms
        number = config(p, terms)
        one = {config(p, t): r for t, r in p.get("rates", {}).items()}.get(number, hashed(number))
        return one * (1 + cpu / 100 if p["kind"] != "uncore" else 1 + self.cpus[cpu] / 10)

    def rate(self, pmu, terms):
        """The sum over the machine."""
        return sum(self.rate_at(pmu, terms, cpu) for cpu in self.places(pmu))

    def sum(self, pmus, terms, package=None):
        """Over all PMUs whose names begin so, or those of one package."""
        return sum(self.rate_at(p, terms, cpu) for p in self.table.PMUS if p.startswith(pmus) for cpu in self.places(p)
                   if package in (None, self.cpus[cpu]))

    def places(self, pmu):
        p = self.table.PMUS[pmu]
        return self.cpus_of(p) if p["kind"] != "uncore" else self.first_cpus(p)

    def cpus_of(self, pmu):
        return [c for c in pmu.get("cpus", range(len(self.cpus))) if c in self.online]

    def write(self, folder, paranoid=-1, privileged=True, pinned=None):
        """PINNED: counters that other users hold, by the name of the PMU."""
        lines = [f"cpu {cpu} {package}" for cpu, package in enumerate(self.cpus)]
        lines += [f"offline {cpu}" for cpu in range(len(self.cpus)) if cpu not in self.online]
        lines.append(f"paranoid {paranoid} {int(privileged)}")
        lines += [f"hardware {i} {c:x}" for i, c in enumerate(self.table.HARDWARE) if c is not None]
        for name, pmu in self.table.PMUS.items():
            lines.append(f"pmu {name} {pmu['type']} {'uncore' if pmu['kind'] == 'uncore' else 'core'} {pmu['general']} "
                         f"{(pinned or {}).get(name, 0)} {int(pmu.get('checks', True))} "
                         f"{pmu.get('package', -1)} {sum(1 << c for c in self.cpus_of(pmu)):x} {mask(pmu):x} "
                         f"{mask({**pmu, 'format': {'': pmu['format'][pmu['filter']]}}) if 'filter' in pmu else 0:x} {int(pmu.get('alone', 0))}")
            fixed = {config(pmu, t): n for t, n in pmu.get("fixed", {}).items()}
            only = {config(pmu, t) for t in pmu.get("only_fixed", ())}
            metric = {config(pmu, t) for t in pmu.get("metric", ())}
            rates = {config(pmu, t): r for t, r in pmu.get("rates", {}).items()}
            for number in sorted({*fixed, *only, *metric, *rates}):
                lines.append(f"event {name} {number:x} {rates.get(number, hashed(number))!r} {fixed.get(number, -1)} "
                             f"{int(number in only)} {int(number in metric)}")
            self.write_pmu(folder, name, pmu)
        text(folder, "table", "\n".join(lines))
        self.write_topology(folder)
        text(folder, "proc/cpuinfo", self.table.CPUINFO)
        text(folder, "proc/sys/kernel/perf_event_paranoid", paranoid)
        text(folder, "proc/sys/kernel/nmi_watchdog", 0)
        open(os.path.join(folder, "state"), "w").close()

    def write_pmu(self, folder, name, pmu):
        at = f"{DEVICES}/{name}"
        text(folder, f"{at}/type", pmu["type"])
        for k, v in pmu["format"].items():
            text(folder, f"{at}/format/{k}", v)
        for k, v in pmu.get("caps", {}).items():
            text(folder, f"{at}/caps/{k}", v)
        if pmu["kind"] == "cores" and not pmu.get("bare"):
            text(folder, f"{at}/cpumask", listed(self.online))
        if pmu["kind"] == "uncore" and not pmu.get("bare"):
            text(folder, f"{at}/cpumask", listed(self.first_cpus(pmu)))
        if pmu.get("identifier"):
            text(folder, f"{at}/identifier", pmu["identifier"])
        if pmu["kind"] == "core" and name != "cpu":
            text(folder, f"{at}/cpus", listed(self.cpus_of(pmu)))
        for event, (terms, *sides) in pmu.get("events", {}).items():
            text(folder, f"{at}/events/{event}", terms)
            for side, content in zip(("scale", "unit"), sides):
                text(folder, f"{at}/events/{event}.{side}", content)

    def write_topology(self, folder):
        cpu_dir = "sys/devices/system/cpu"
        for kind in ("online", "possible", "present"):
            text(folder, f"{cpu_dir}/{kind}", listed(self.online if kind == "online" else range(len(self.cpus))))
        text(folder, f"{cpu_dir}/smt/active", 0)
        text(folder, f"{cpu_dir}/smt/control", "off")
        for node in sorted(set(self.nodes)):
            cpus = [c for c in self.online if self.nodes[c] == node]
            text(folder, f"sys/devices/system/node/node{node}/cpulist", listed(cpus))
            text(folder, f"sys/devices/system/node/node{node}/cpumap", f"{sum(1 << c for c in cpus):x}")
            text(folder, f"sys/devices/system/node/node{node}/meminfo", f"Node {node} MemTotal: 1048576 kB\nNode {node} MemFree: 524288 kB")
        if hasattr(self.table, "SOC"):
            text(folder, "sys/devices/soc0/soc_id", self.table.SOC)
        text(folder, "sys/devices/system/node/online", listed(sorted(set(self.nodes))))
        text(folder, "sys/devices/system/node/possible", listed(sorted(set(self.nodes))))
        for cpu, package in enumerate(self.cpus):
            at = f"{cpu_dir}/cpu{cpu}/topology"
            siblings = [c for c in self.online if self.cpus[c] == package]
            # What is not there has no topology.
            if cpu not in self.online:
                text(folder, f"{cpu_dir}/cpu{cpu}/online", 0)
                continue
            same = listed(siblings)
            if "-" not in self.table.CPUID:
                text(folder, f"{cpu_dir}/cpu{cpu}/regs/identification/midr_el1", self.table.CPUID)
            for k, v in dict(physical_package_id=package, core_id=siblings.index(cpu), die_id=0, thread_siblings_list=cpu,
                             core_cpus_list=cpu, package_cpus_list=same, core_siblings_list=same, die_cpus_list=same,
                             thread_siblings=f"{1 << cpu:x}", core_siblings=f"{sum(1 << c for c in siblings):x}").items():
                text(folder, f"{at}/{k}", v)
