"""What a vendor's metrics must be on an emulated machine: perf's JSON files and the table of rates, put together from scratch."""
import csv
import glob
import json
import os
import re
import sys

import machine

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "unit", "tools"))
from expr_diff import NAN, Parser, Refused, evaluate  # noqa: E402

PMUS = {"CBO": "uncore_cbox", "QPI LL": "uncore_qpi", "UPI LL": "uncore_upi", "SBO": "uncore_sbox", "iMPH-U": "uncore_arb",
        "NCU": "uncore_clock", "L3PMC": "amd_l3", "DFPMC": "amd_df", "UMCPMC": "amd_umc", "cpu_core": "cpu_core",
        "cpu_atom": "cpu_atom", "cpu_lowpower": "cpu_lowpower", "arm_cmn": "arm_cmn"}
# Counters with a place of their own: the codes in the files are not what the kernel takes.
FIXED = {"inst_retired.any": "event=0xc0", "inst_retired.any_p": "event=0xc0", "cpu_clk_unhalted.ref": "event=0x0,umask=0x03",
         "cpu_clk_unhalted.thread": "event=0x3c", "cpu_clk_unhalted.core": "event=0x3c",
         "cpu_clk_unhalted.thread_any": "event=0x3c,any=1"}
TERMS = {"AnyThread": "any", "CounterMask": "cmask", "EdgeDetect": "edge", "Invert": "inv", "PortMask": "ch_mask",
         "FCMask": "fc_mask", "ThreadMask": "threadmask", "EnAllCores": "enallcores", "EnAllSlices": "enallslices",
         "SliceId": "sliceid", "NodeType": "type", "RdWrMask": "rdwrmask"}
HARDWARE = ["cycles", "instructions", "cache-references", "cache-misses", "branches", "branch-misses", "bus-cycles",
            "stalled-cycles-frontend", "stalled-cycles-backend", "ref-cycles"]


def folder_of(arch, cpuid):
    for line in csv.reader(open(os.path.join(arch, "mapfile.csv"))):
        pattern = line[0].replace("[[:xdigit:]]", "[0-9a-fA-F]") if len(line) > 2 else ""
        if pattern and any(re.fullmatch(pattern, c) for c in (cpuid, cpuid.rpartition("-")[0])):
            return os.path.join(arch, line[2])
    return None


def number(text):
    return int(str(text).split(",")[0].strip() or "0", 0)


def code(o):
    if "ConfigCode" in o:
        terms = [f"config={number(o['ConfigCode']):#x}"]
    elif "EventidCode" in o:
        terms = [f"eventid={number(o['EventidCode']):#x}"]
    else:
        terms = [f"event={number(o.get('EventCode', 0)) | number(o.get('ExtSel', 0)) << 8:#x}"]
    mask = number(o.get("UMask", 0)) | number(o.get("UMaskExt", 0)) << 8
    terms += [f"umask={mask:#x}"] if mask else []
    return ",".join(terms + [f"{t}={number(o[k]):#x}" for k, t in TERMS.items() if number(o.get(k, 0))] + filters(o))


def filters(o):
    """config1 of a slice of the cache is two registers of 32 bits, and what files call config1 is the second: perf sets the first."""
    text = o.get("Filter", "")
    if o.get("Unit") == "CHA" and text.startswith("config1=") and int(text[8:], 0) < 1 << 32:
        text = f"config1={int(text[8:], 0) << 32:#x}"
    return [text] if "=" in text else []


class Formulas:
    def __init__(self, m, folder):
        self.machine, self.metrics, self.events = m, {}, {}
        standards = [o for up in ("..", "../..") for f in sorted(glob.glob(os.path.join(folder, up, "*.json")))
                     for o in self.objects(f)]
        standard = {o.get("EventName", o.get("MetricName", "")).lower(): o for o in standards}
        boards = glob.glob(os.path.join(folder, "../../**/sys/*.json"), recursive=True) if "-" not in m.table.CPUID else []
        for path in sorted(glob.glob(os.path.join(folder, "*.json"))) + sorted(boards):
            for o in filter(self.is_there, self.objects(path)):
                o = {**standard.get(o.get("ArchStdEvent", "").lower(), {}), **o}
                if "MetricName" in o and "MetricExpr" in o:
                    self.metrics.setdefault((o["MetricName"], o.get("Unit")), o)
                if "EventName" in o:
                    self.events.setdefault(o["EventName"].lower(), []).append(o)

    @staticmethod
    def objects(path):
        found = json.load(open(path))
        return [o for o in found if isinstance(o, dict)] if isinstance(found, list) else []

    def is_there(self, o):
        """What is for boards names what their PMUs call themselves."""
        return "Compat" not in o or any(re.match(o["Compat"], self.machine.table.PMUS[p].get("identifier", "")) for p in self.pmus(o["Unit"].replace(",", ".*")))

    def pmus(self, pattern):
        """PMUs of the machine that a Unit or the text before a slash means."""
        if pattern in (None, "core", "default_core"):
            return [n for n, p in self.machine.table.PMUS.items() if p["kind"] == "core"]
        return [n for n in self.machine.table.PMUS if re.fullmatch(rf"(uncore_)?{re.escape(pattern.removeprefix('uncore_'))}(_?\d+)?", n)]

    def rate(self, pmu, terms):
        form, words = self.machine.table.PMUS[pmu]["format"], {}
        for term in terms.split(","):
            key, _, value = term.partition("=")
            if key in form:
                words[key] = value or "1"
            elif key in machine.SHIFT and self.machine.table.PMUS[pmu]["kind"] == "uncore":
                words[key] = value
            elif key != "config":
                raise Refused(term)
        core = self.machine.table.PMUS[pmu]["kind"] != "uncore"
        kept = ",".join(f"{k}={v}" for k, v in words.items() if not core or form[k].startswith("config:"))
        return self.machine.rate(pmu, kept)

    def terms_on(self, pmu, name):
        """The terms that an event's name stands for there, or None."""
        p = self.machine.table.PMUS[pmu]
        for o in self.events.get(name.lower(), []):
            unit = o.get("Unit")
            if pmu in self.pmus(PMUS.get(unit, f"uncore_{unit.lower()}") if unit not in (None, "core") else None):
                return FIXED.get(name.lower()) or code(o)
        return {k.lower(): v for k, v in p.get("events", {}).items()}.get(name.lower(), (None,))[0]

    def count(self, text, unit=None):
        """Counts a second of everything that the text means in a metric of that kind of cores."""
        # The latency of a sample.
        if text.endswith((":R", "/R")):
            raise KeyError(text)
        if unit and unit.startswith("cpu_") and "/" not in text:
            text = f"{unit}/{text}/"
        if "/" in text:
            pattern, _, rest = text.partition("/")
            terms = [t.strip() for t in rest.rpartition("/")[0].split(",")]
            pmus = self.pmus(pattern)
        else:
            # A metric means the cores' event where they have one.
            having = [n for n in self.machine.table.PMUS if self.terms_on(n, text) is not None]
            cores = [n for n in having if self.machine.table.PMUS[n]["kind"] == "core"]
            pmus, terms = cores or list(self.machine.table.PMUS), [text]
        found, total = False, 0.0
        for pmu in pmus:
            known = self.terms_on(pmu, terms[0])
            if known is None and text in HARDWARE and self.machine.table.PMUS[pmu]["kind"] == "core":
                config = self.machine.table.HARDWARE[HARDWARE.index(text)]
                known = f"event={config & 0xff:#x},umask={config >> 8:#x}" if config is not None else None
            if known is None and ("/" not in text or "=" not in terms[0]):
                continue
            if any(t.partition("=")[0] not in self.machine.table.PMUS[pmu]["format"] for t in terms[bool(known):]):
                continue
            try:
                total += self.rate(pmu, ",".join([known, *terms[1:]] if known else terms))
            except Refused:
                continue
            found = True
        if not found:
            raise KeyError(text)
        return total

    def literal(self, name):
        m = self.machine
        # That of the machine that runs the test, whose clock a recording gives away.
        if name.lower() == "system_tsc_freq":
            raise KeyError(name)
        known = {"smt_on": 0, "has_pmem": 0, "num_packages": len(m.packages), "num_dies": len(m.packages), "num_cores": len(m.cpus),
                 "num_cpus": len(m.cpus), "num_cpus_online": len(m.cpus), "core_wide": 1, "target_cpu": 1, "slots": int(next(iter(m.table.PMUS.values())).get("caps", {}).get("slots", "0"), 0) or NAN}
        return float(known[name.lower()]) if name.lower() in known else NAN

    def value(self, key, seconds, text=None, seen=()):
        """KeyError names what the machine lacks; NaN: the formula has no value."""
        o = self.metrics[key]
        if key in seen:
            raise KeyError(f"{key} refers to itself")
        tree = Parser(text or o["MetricExpr"]).whole()
        result = evaluate(tree, self.inputs(tree, key, seconds, (*seen, key)))
        scale = re.match(r"[0-9.]+(e-?[0-9]+)?", o.get("ScaleUnit", "")) if not seen else None
        return result * float(scale[0]) if scale else result

    def names(self, key):
        """What its formula names."""
        def walk(t):
            return ([t[1]] if t[0] == "input" else []) + [n for sub in t[1:] if isinstance(sub, tuple) for n in walk(sub)]
        return walk(Parser(self.metrics[key]["MetricExpr"]).whole())

    def inputs(self, tree, key, seconds, seen):
        found = {}

        def walk(t):
            if t[0] == "input" and t[1] not in found:
                name = t[1]
                other = next((k for k in ((name, key[1]), (name, None)) if k in self.metrics), None)
                call = re.fullmatch(r"(\w+)\((.*)\)", name)
                if name.startswith("#"):
                    found[name] = self.literal(name[1:])
                elif name == "duration_time":
                    found[name] = seconds
                elif other:
                    found[name] = self.value(other, seconds, seen=seen)
                elif call and call[1] == "has_event":
                    found[name] = self.has(call[2])
                elif call and call[1] == "source_count":
                    found[name] = float(sum(self.terms_on(pmu, call[2]) is not None for pmu in self.machine.table.PMUS))
                elif call and call[1] == "strcmp_cpuid_str":
                    found[name] = float(self.is_cpu(int(call[2], 16)))
                elif call:
                    found[name] = NAN
                else:
                    found[name] = self.count(name, key[1])
            for sub in t[1:]:
                if isinstance(sub, tuple):
                    walk(sub)
        walk(tree)
        return found

    def is_cpu(self, wanted):
        """The same implementer and part, of that variant and revision or a later one (Linux, tools/perf/arch/arm64)."""
        own = int(self.machine.table.CPUID, 16)
        version = lambda midr: (midr >> 20 & 15, midr & 15)
        return (own ^ wanted) & ~0xf0000f == 0 and version(own) >= version(wanted)

    def has(self, text):
        try:
            return float(self.count(text) >= 0)
        except KeyError:
            return 0.0
