"""Metrics of uncore PMUs from raw values: what tests/rig/guest/formulas.py defines, over readings of a recording."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../rig/guest"))
import formulas  # pylint: disable=wrong-import-position

CLASSES = {**formulas.TEGRA410, **formulas.GRACE}
# What the PMUs of a class are called.
NAMES = {kind: re.sub(r"(?<=_pmu_)0|(?<=_rc_)0", r"\\d+", pmus(0)[0]) for kind, (_, pmus) in CLASSES.items()}
# One counter for every event: what is counted together does not matter.
FIXED = {"nvidia_cmem_latency", "nvidia_nvlink_c2c", "nvidia_nvclink", "nvidia_nvdlink"}
CLOCKED = {"latency", "outstanding"}
# Names that all machines have: the sums of others, of which a machine has one.
COMMON = {"mem.read_bw": [["nvidia_ucf.mem_rd_bw"], ["nvidia_scf.cmem_rd_bw"]],
          "mem.write_bw": [["nvidia_ucf.mem_wr_bw"], ["nvidia_scf.cmem_wr_bw"]],
          "mem.bw": [["nvidia_ucf.mem_rd_bw", "nvidia_ucf.mem_wr_bw"], ["nvidia_scf.cmem_rd_bw", "nvidia_scf.cmem_wr_bw"]],
          "llc.hit_share": [["nvidia_ucf.slc_rd_hit_ratio"]],
          "pcie.in_bw": [["nvidia_pcie.wr_bw"]],
          "pcie.out_bw": [["nvidia_pcie.rd_bw"]]}


def base(name):
    """Without the number of an event that is in several groups."""
    return name.partition("#")[0]


def definition(name):
    kind, _, metric = name.partition(".")
    return CLASSES[kind][0].get(metric) if kind in CLASSES else None


class Index:
    """Which counters of a recording are the inputs of which formula."""

    def __init__(self, series, groups):
        self.names = sorted((n for n in series if base(n).endswith("/")), key=lambda n: series[n][0].counter.id)
        self.series, self.chosen = series, {}
        self.group = {counter: g.id for g in groups.values() for counter in g.counters}

    def inputs(self, kind, events):
        """[{event: series}] of each PMU of the class: the first of its groups that has all of the events."""
        key = kind, tuple(events)
        if key not in self.chosen:
            self.chosen[key] = list(self.choose(kind, events).values())
        return self.chosen[key]

    def choose(self, kind, events):
        chosen = {}
        names = [n for n in self.names if re.fullmatch(NAMES[kind], n.partition("/")[0])]
        group_of = lambda name: self.group[self.series[name][0].counter.id]
        for name in names:
            pmu = name.partition("/")[0]
            here = {}
            for other in names:
                if other.partition("/")[0] == pmu and (kind in FIXED or group_of(other) == group_of(name)):
                    here.setdefault(base(other).partition("/")[2].rstrip("/"), self.series[other][0])
            if pmu not in chosen and all(event in here for event in events):
                chosen[pmu] = {event: here[event] for event in here if event in events or event == "cycles"}
        return chosen


def compute(name, missing, ratio):
    """A function of a place, or None if there is no such metric."""
    if name in COMMON:
        def common(place):
            here = lambda p: any(re.fullmatch(NAMES[p.partition(".")[0]], n.partition("/")[0]) for n in place.index.names)
            return next(sum(compute(p, missing, ratio)(place) for p in parts) for parts in COMMON[name] if here(parts[0]))
        return common
    formula = definition(name)
    if not formula:
        return None
    kind, *events = formula
    needed = events + ["cycles"] * (kind in CLOCKED)

    def value(place):
        pmus = [p for p in place.index.inputs(name.partition(".")[0], needed) if place.wanted(p[needed[0]].instance)]
        if not pmus:
            raise missing({"no-input"})
        # A PMU whose clock stood still has counted nothing.
        difference = lambda pmu, event: pmu[event].difference(place.interval)
        running = [p for p in pmus if "cycles" not in p or difference(p, "cycles")]
        if not running:
            raise missing({"not-counted"})
        total = lambda i: sum(difference(p, events[i]) for p in running)
        seconds = sum(p[events[0]].counted(place.interval) for p in running)
        rate = lambda: sum(difference(p, events[0]) / p[events[0]].counted(place.interval) for p in running)
        waited = lambda: sum(difference(p, events[0]) * p["cycles"].counted(place.interval) / difference(p, "cycles")
                             for p in running)
        return {
            "bandwidth": lambda: rate() / 10**9,
            "beats": lambda: 32 * rate() / 10**9,
            "ratio": lambda: ratio(total(0), total(1)),
            "percent": lambda: 100 * ratio(total(0), total(1)),
            "frequency": lambda: total(0) / seconds / 10**9,
            "latency": lambda: 10**9 * ratio(waited(), total(1)),
            "outstanding": lambda: waited() * len(running) / seconds,
        }[kind]()
    return value
