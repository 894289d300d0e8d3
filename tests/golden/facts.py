#!/usr/bin/python3
"""What pmrep dump and pmrep info say of a recording, against what the second reader found in it.

    facts.py PMREP FILE...     beside the FILEs, recordings of its own: with a key of every kind, and of a machine of 16 CPUs

(a) dump: each definition, frame and event has all its fields, with the names of format/SPEC.md, in both forms;
(b) info --format=json: each number follows from the frames, and each list holds what was defined.
"""

import collections
import json
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
try:
    import decode
    import encode
    import redacted
except ImportError as e:
    print("skipped: %s" % e)
    sys.exit(77)
from encode import CHUNK, CONFIG, EVENT, HEADER, INSTANCES, PMUS, PROBES, SCHEMA, START, TOPOLOGY

SECOND = 10**9
PARTS = {1: "header", 2: "topology", 3: "schema", 4: "instances", 5: "pmus", 6: "probes", 7: "config"}
CLASSES = {1: "machine", 2: "person", 3: "time"}
PLACES = ("package", "die", "cluster", "core", "node", "thread", "l1d", "l1i", "l2", "l3")
failures = []


def check(where, ours, theirs):
    if ours != theirs:
        failures.append("%s: %.300r, the second reader has %.300r" % (where, theirs, ours))


def names_of_keys():
    """{section: {key: name}} of the specification's tables of keys with names."""
    tables, heading = {}, ""
    with open(os.path.join(os.path.dirname(__file__), "../../format/SPEC.md")) as f:
        for line in f:
            row = re.match(r"\| (\d+) \| ([a-z0-9_]+) \| (?:u64|s64|f64|text|bytes|bool|array|map)\b", line)
            if row:
                tables.setdefault(heading, {})[int(row[1])] = row[2]
            elif not line.startswith("|") and line.strip():
                heading = re.sub(r" \(type.*", "", line.strip("#: \n").lower()) if line.startswith(("#", "Attributes")) else heading
    return tables


KEYS = names_of_keys()


def keys(heading, m):
    known = KEYS[heading]
    return {known.get(k, "key-%d" % k): plain(v) for k, v in m.items()}


def plain(v):
    if isinstance(v, bytes):
        return v.hex()
    if isinstance(v, (list, tuple)):
        return [plain(x) for x in v]
    if isinstance(v, dict):
        return {"key-%d" % k: plain(x) for k, x in v.items()}
    return v


def with_present(m, **more):
    m.update((k, v) for k, v in more.items() if v is not None)
    return m


def span(numbers):
    """As cpulist prints them."""
    out, runs = [], []
    for n in sorted(numbers):
        if runs and runs[-1][1] == n - 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    for a, b in runs:
        out += ["%d-%d" % (a, b)] if b > a + 1 else ["%d" % n for n in range(a, b + 1)]
    return ",".join(out)


def merged(configs):
    """Those that differ in their instances only are one."""
    out = {}
    for c in configs:
        same = repr(c._replace(instances=None))
        out[same] = c._replace(instances=sorted(set(c.instances) | set(out[same].instances if same in out else [])))
    return list(out.values())


# ---- (a) dump ----

def scale_of(c):
    """Numerator, denominator and text: by the specification a text, or two numbers."""
    return (None, None, c.scale) if isinstance(c.scale, str) else (*c.scale, None)


def counter_line(c):
    num, den, text = scale_of(c)
    out = {"is": "counter", "id": c.id, "name": c.name, "display": c.display, "source": c.source, "unit": c.unit, "type": c.type,
           "semantics": c.semantics, "aggregation": c.aggregation, "width": c.width, "scale_num": num or 1, "scale_den": den or 1}
    return {**with_present(out, scale=text), **keys("attributes of counters", c.attrs)}


def instance_line(i):
    out = with_present({"is": "instance", "id": i.id, "kind": i.kind}, number=i.number, cpu=i.cpu)
    return {**out, "added_ns": i.added, **keys("attributes of instances", i.attrs)}


def config_line(c):
    out = {"is": "config", "name": c.name, "kind": c.kind, "instances": span(c.instances), "time_ns": c.time,
           "status": decode.reason_name(c.reason)}
    return with_present(out, reveals=CLASSES.get(c.privacy), value=plain(c.value))


def cpu_line(c, types):
    out = {"is": "cpu", "cpu": c["cpu"], "online": c.get("online", 1)}
    with_present(out, **{k: c.get(k) for k in PLACES})
    return with_present(out, type=types[c["type"]] if "type" in c else None, capacity=c.get("capacity"))


def lines_of(r):
    """{what: its lines}, as dump has them."""
    return {"counter": [counter_line(c) for c in r.counters.values()],
            "instance": [instance_line(i) for i in r.instances.values()],
            "group": [{"is": "group", "id": g.id, "source": g.source, "flags": g.flags, "counters": g.counters, "instances": g.instances}
                      for g in r.groups.values()],
            "string": [{"is": "string", "id": n, "value": plain(s)} for n, s in r.strings.items()],
            "pmu": [{"is": "pmu", **keys("pmus", p)} for p in r.pmus.values()],
            "probe": [{**with_present({"is": "probe", "source": p.source, "what": p.what, "reason": decode.reason_name(p.reason)}, hint=p.hint),
                       **plain(p.attrs)} for p in r.probes.values()],
            "config": [config_line(c) for c in r.configs],
            "header": [{"is": "header", **keys("header", r.header)}],
            "cpu": [cpu_line(c, r.type_names) for c in r.topology]}


def frame_line(f, r):
    out = {"is": "frame", "offset": f.offset, "length": f.length, "sequence": f.sequence, "type": f.type}
    if f.type in PARTS:
        return {**out, "kind": "definition", "parts": PARTS[f.type] + (",repeated" if f.meta.get(4) else "")}
    kind = decode.FRAMES.get(f.type, "other")
    if kind != "chunk":
        return {**out, "kind": kind}
    c = next(c for c in r.chunks if c.offset == f.offset)
    names = ("monotonic", "monotonic_raw", "boottime", "counter", "realtime")
    clocks = dict(zip(names, c.clocks))
    return {**out, "kind": kind, "key": "yes" if c.key else "no", "run": c.run, "segment": c.segment, "snapshots": len(c.ticks),
            "from_ns": c.ticks[0], "to_ns": c.ticks[-1], **{k: clocks[k] for k in ("monotonic", "monotonic_raw", "realtime", "boottime", "counter")}}


def shown(v):
    """A value in text: pairs of lists as A=B, other lists in brackets."""
    if isinstance(v, bool):
        return "yes" if v else "no"
    if isinstance(v, list):
        return ", ".join("%s=%s" % tuple(map(shown, x)) if isinstance(x, list) and len(x) == 2 else
                         "[%s]" % shown(x) if isinstance(x, list) else shown(x) for x in v)
    if isinstance(v, dict):
        return ", ".join("%s=%s" % (k, shown(x)) for k, x in v.items())
    return str(v)


def as_text(line):
    """The text of a line of JSON."""
    out = line["is"]
    for k, v in line.items():
        if k == "is":
            continue
        text = ",".join(map(str, v)) if k in ("counters", "instances") and isinstance(v, list) else shown(v)
        quote = '"' if not text or " " in text or '"' in text else ""
        out += " %s=%s%s%s" % (k, quote, text, quote)
    return out


def run(pmrep, *words):
    return subprocess.run([pmrep, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False).stdout.decode()


def check_dump(pmrep, path, r):
    out = [json.loads(line, parse_float=float) for line in run(pmrep, "dump", "--format=json", path).splitlines()]
    by = collections.defaultdict(list)
    for line in out:
        by[line["is"]].append(line)
    for what, mine in lines_of(r).items():
        theirs = by[what][-len(mine):] if what in ("header", "cpu") else by[what]
        check("%s: number of lines %s" % (path, what), len(mine), len(theirs))
        for a, b in zip(mine, theirs):
            check("%s: %s" % (path, what), a, {k: v for k, v in b.items() if k != "retired_ns"})
    frames = [f for f in by["frame"] if f["kind"] != "event"]
    offsets = {f["offset"] for f in frames}
    mine = [frame_line(f, r) for f in r.frames if f.type != 9 and (f.offset in offsets or f.type != 4)]
    check("%s: frames" % path, mine, frames)
    mine = [e for e in r.events if e.type != "gone"]
    theirs = [f for f in by["frame"] if f["kind"] == "event" and f["event"] != "gone"]
    check("%s: events" % path, [(e.type, e.time, keys("attributes of events", e.attrs)) for e in mine],
          [(f["event"], f["time_ns"], {k: v for k, v in f.items() if k not in ("is", "offset", "length", "sequence", "type", "kind", "event", "time_ns")})
           for f in theirs])
    check("%s: retired" % path, sorted((e.attrs[7], e.time) for e in r.events if e.type == "gone"),
          sorted((f["instance"], f["time_ns"]) for f in by["frame"] if f["kind"] == "event" and f["event"] == "gone"))
    flags = [(c.numbers[i], ",".join(n for b, n in ((1, "forced"), (2, "first"), (4, "last"), (8, "between")) if c.flags[i] & b) or None)
             for c in r.chunks for i in range(len(c.ticks))]
    check("%s: flags" % path, flags, [(s["number"], s.get("flags")) for s in by["snapshot"]])
    text = run(pmrep, "dump", path).splitlines()
    if all(ord(c) < 127 for line in out for c in json.dumps(line, ensure_ascii=False)):
        for a, b in zip(out, text):
            if not any(isinstance(v, (float, dict)) for v in a.values()):
                check("%s: text" % path, as_text(a), b)
    check("%s: lines of text" % path, len(out), len(text))
    only = [line for line in run(pmrep, "dump", "--format=json", path, "--no-definitions").splitlines()]
    check("%s: without definitions" % path, sum(len(by[w]) for w in ("frame", "snapshot", "value", "damage", "recording")), len(only))


def check_choice(pmrep, path):
    """Some counters only, and two recordings in a file."""
    def counters(*words):
        return {json.loads(line)["counter"] for line in run(pmrep, "dump", "--format=json", path, *words).splitlines() if '"is":"value"' in line}
    check("no choice", {"a.one", "b.two", "c.three", "t.text", "p"}, counters())
    check("one of two globs", {"a.one", "p"}, counters("--counter=a.*", "--counter=p"))
    check("a glob", {"t.text"}, counters("--counter=?.text"))
    with open(path, "rb") as f, open(path + ".two", "wb") as two:
        two.write(f.read() * 2)
    said = run(pmrep, "info", path + ".two").splitlines()
    check("two recordings", True, any(" ".join(x.split()) ==
                                  "recordings 2 in this file; counts and duration are of all, other facts of the last" for x in said))
    one, two = (json.loads(run(pmrep, "info", "--format=json", name)) for name in (path, path + ".two"))
    for what, times in (("duration_ns", 2), ("snapshots", 2), ("start", 1), ("clocks", 1)):
        check("%s of two recordings" % what, one[what] * times if times > 1 else one[what], two[what])


# ---- (b) info ----

def median(v):
    """The upper one of two."""
    return sorted(v)[len(v) // 2]


def samples(v):
    return {"median": median(v), "max": max(v)} if v else None


def distinct(cpus, *names):
    """How many, and the most CPUs of one; None where the last is not known of any."""
    found = collections.Counter(tuple(c.get(n) for n in names) for c in cpus if names[-1] in c)
    return (len(found), max(found.values())) if found else (None, None)


def topology_of(r):
    cpus = [c for c in r.topology if c.get("online", 1)]
    cores, threads = distinct(cpus, "package", "die", "core")
    out = {"cpus": len(cpus), "cores": cores, "clusters": distinct(cpus, "package", "die", "cluster")[0], "dies": distinct(cpus, "package", "die")[0],
           "packages": distinct(cpus, "package")[0], "nodes": distinct(cpus, "node")[0], "threads_per_core": threads,
           "offline_cpus": len(r.topology) - len(cpus), "cpu_types": r.type_names}
    return {**out, **{n + "_caches": distinct(cpus, n)[0] for n in ("l1d", "l1i", "l2", "l3")}}


def times_of(r):
    """Intervals between first readings, their lateness, and the spread of each source."""
    intervals, late, skews, before, segment = [], [], collections.defaultdict(list), 0, None
    for c in r.chunks:
        before = before if segment == c.segment else 0
        segment = c.segment
        for row, tick in enumerate(c.ticks):
            begins = []
            for g, v in c.groups:
                times = 1 if g.flags & 3 else len(g.instances)
                own = [v[t][row] for t in range(times)]
                begins += [b for b in own if b >= tick]
                read = [b for b in own if b]
                if times > 1 and read and max(read) > min(read):
                    skews[g.source].append(max(read) - min(read))
            if not begins:
                before = 0
                continue
            if before and min(begins) > before:
                intervals.append(min(begins) - before)
            late.append(min(begins) - tick)
            before = min(begins)
    return intervals, late, skews


def reveals_of(r):
    found = {"machine": [], "person": [], "time": []}

    def take(group, names):
        for key, name in names:
            if CLASSES.get(key // 100):
                name = group + name
                if name not in found[CLASSES[key // 100]]:
                    found[CLASSES[key // 100]].append(name)

    def named(heading, m):
        return zip(m, keys(heading, m))
    take("", named("header", r.header))
    for group, heading, all_of in (("counters: ", "attributes of counters", r.counters), ("instances: ", "attributes of instances", r.instances)):
        for x in all_of.values():
            take(group, named(heading, x.attrs))
    for p in r.pmus.values():
        take("PMUs: ", named("pmus", p))
    for c in r.configs:
        take("config: ", [(100 * c.privacy, c.name)])
    for e in r.events:
        take("events: ", named("attributes of events", e.attrs))
    clocks = r.chunks[0].clocks if r.chunks else None
    take("", [(300, n) for n, v in (("wall clock", clocks.realtime), ("time since boot", clocks.boottime)) if v] if clocks else [])
    return found


def check_info(pmrep, path, r):
    said = json.loads(run(pmrep, "info", "--format=json", path))
    intervals, late, skews = times_of(r)
    snapshots, first, last = sum(len(c.ticks) for c in r.chunks), r.chunks[0], r.chunks[-1]
    live = [g for g in r.groups.values() if g.id not in r.retired_groups]

    def columns(g):
        return len(g.counters) if g.flags & 1 else len(g.counters) * len(g.instances)
    order = list(dict.fromkeys([g.source for g in r.groups.values()] + [c.source for c in r.counters.values()]))
    want = {
        "file": path, "format": "1.%d" % r.header.get(2, 0), "snapshots": snapshots, "lost_ticks": sum(e.attrs.get(1, 0) for e in r.events if e.type == "lost"),
        "duration_ns": last.ticks[-1] - first.ticks[0], "interval_ns": r.header.get(13) or None, "achieved_interval_ns": samples(intervals),
        "late_ns": samples(late), "bytes": len(r.data), "bytes_per_snapshot": len(r.data) / snapshots, "sampled_snapshots": snapshots,
        "values": sum(columns(g) * len(c.ticks) for c in r.chunks for g, _ in c.groups), "chunks": len(r.chunks),
        "runs": max(c.run for c in r.chunks), "segments": 1 + sum(a.segment != b.segment for a, b in zip(r.chunks, r.chunks[1:])), "recordings": 1,
        "ended": r.ended, "being_written": False, "host": keys("header", r.header), "labels": {k: v for k, v in r.header.get(203, [])},
        "topology": topology_of(r),
        "clocks": {"monotonic": first.clocks.monotonic, "monotonic_raw": first.clocks.raw, "realtime": first.clocks.realtime or None,
                   "boottime": first.clocks.boottime or None, "counter": first.clocks.counter or None},
        "groups": [{"id": g.id, "source": g.source, "counters": len(g.counters), "instances": len(g.instances), "columns": columns(g),
                    "shape": "list" if g.flags & 1 else "matrix", "shared_time": bool(g.flags & 3) or len(g.instances) == 1, "perf_times": bool(g.flags & 4)}
                   for g in r.groups.values()],
        "pmus": [keys("pmus", p) for p in r.pmus.values()],
        "more_events": 0,
    }
    for k, v in want.items():
        check("%s: info's %s" % (path, k), v, said[k])
    counters = []
    for c in r.counters.values():
        num, den, text = scale_of(c)
        one = {k: getattr(c, k) for k in ("name", "display", "source", "unit", "type", "semantics", "aggregation", "width")}
        one.update({"scale": text} if text else {"scale_num": num, "scale_den": den} if (num, den) != (1, 1) else {})
        counters.append({**one, "attrs": keys("attributes of counters", c.attrs)})
    check("%s: info's counters" % path, counters, said["counters"])
    check("%s: info's probes" % path, [(p.source, p.what, decode.reason_name(p.reason), p.hint) for p in r.probes.values()],
          [(p["source"], p["what"], p["reason"], p["hint"]) for p in said["probes"]])
    check("%s: info's config" % path, [(c.name, c.kind, span(c.instances), plain(c.value), decode.reason_name(c.reason), CLASSES.get(c.privacy))
                                       for c in r.configs],
          [(c["name"], c["scope"], c["instances"], c["value"], c["status"], c["reveals"]) for c in said["config"]])
    check("%s: info's events" % path, [(e.type, e.time, keys("attributes of events", e.attrs)) for e in r.events if e.type != "gone"],
          [(e["event"], e["monotonic_ns"], e["attrs"]) for e in said["events"] if e["event"] != "gone"])
    check("%s: info's sources" % path, sorted((n, sum(g.source == n for g in live), sum(c.source == n for c in r.counters.values()),
                                               sum(columns(g) for g in live if g.source == n)) for n in order),
          sorted((s["name"], s["groups"], s["counters"], s["columns"]) for s in said["sources"]))
    for s in said["sources"]:
        check("%s: skew of %s" % (path, s["name"]), samples(skews[s["name"]]), s["skew_ns"])
    if not any("pseudonym" in x for v in said["reveals"].values() for x in v):
        check("%s: reveals" % path, {k: sorted(v) for k, v in reveals_of(r).items()}, {k: sorted(v) for k, v in said["reveals"].items()})
    return said


def duration(ns):
    for unit, name in ((SECOND, "s"), (10**6, "ms"), (1000, "us")):
        if ns >= unit or (ns and round(ns / unit, 3) >= 1):
            return "%.3f %s" % (ns / unit, name)
    return "%d ns" % ns


def spread(s):
    return "median %s, at most %s" % (duration(s["median"]), duration(s["max"])) if s else "-"


def plural(n, what):
    return "%d %s%s" % (n, what, "" if n == 1 else "s")


def check_text(pmrep, path, r, said):
    """The page has what the object has, in words."""
    page = {" ".join(line.split()) for line in run(pmrep, "info", "--all", path).splitlines()}

    def has(*words):
        line = " ".join(" ".join(words).split())
        if line not in page:
            near = [x for x in page if x.startswith(words[0] + " ")][:3]
            failures.append("%s: the page lacks %r and has %s" % (path, line, near))

    sampled = said["snapshots"] - said["sampled_snapshots"]
    want = {"format": said["format"], "snapshots": "%d" % said["snapshots"], "lost ticks": "%d" % said["lost_ticks"], "duration": duration(said["duration_ns"]),
            "reader threads": "%d" % said["readers"] if said["readers"] else None,
            "interval": "%s; achieved: %s" % (duration(said["interval_ns"]) if said["interval_ns"] else "-", spread(said["achieved_interval_ns"])),
            "behind the tick": spread(said["late_ns"]), "state": "partly newer than this program; see pmrep check" if said["newer"] else "complete" if said["ended"] else "cut: its end is missing; see pmrep check",
            "size": "%s in %s, %s" % (plural(said["bytes"], "byte"), plural(len(r.frames), "frame"), plural(said["chunks"], "chunk")),
            "bytes per snapshot": "%.1f for %d values" % (said["bytes_per_snapshot"], said["values"] // said["snapshots"]),
            "sampled": "%d snapshots, for intervals, lateness and skew" % said["sampled_snapshots"] if sampled else None,
            "runs, segments": "%d, %d" % (said["runs"], said["segments"]) if (said["runs"], said["segments"]) != (1, 1) else None,
            "recordings": None, "monotonic at start": "%d ns" % said["clocks"]["monotonic"],
            "start": said["start"] + "  [time]" if said["start"] else None}
    for k, v in want.items():
        if v:
            has(k, v)
        elif any(x.startswith(k + " ") and "[" not in x for x in page) and k != "sampled":
            failures.append("%s: the page has %s" % (path, k))
    for s in said["sources"]:
        has(s["name"], "%d %d %d" % (s["counters"], s["columns"], s["groups"]), spread(s["skew_ns"]))
    for e in said["events"]:
        when = "%+.3f s %s" % ((e["monotonic_ns"] - r.chunks[0].ticks[0]) / 1e9, e["event"])
        if not any(x == when or x.startswith(when + " ") for x in page):
            failures.append("%s: the page lacks %r" % (path, when))
    for p in said["probes"]:
        has(p["source"], p["what"] + (": " + p["text"] if p["reason"] != "ok" else "") + ("; try: " + p["hint"] if p["hint"] else ""))
    for k, v in said["host"].items():
        if isinstance(v, str) and not any(line.startswith(" ".join((k + " " + v).split())) for line in page):
            failures.append("%s: the page lacks %s %r" % (path, k, v))
    for p in said["pmus"]:
        parts = ["type %d" % p.get("type", 0)] + ["identifier " + p.get("identifier", "")] * ("identifier" in p)
        parts += ["CPUs " + p[k] for k in ("cpumask", "cpus") if k in p][:1] + ["%d counters found" % p.get("counters", 0)] * ("counters" in p)
        parts += [plural(len(p.get("events", [])), "named event")] * ("events" in p)
        has(p["name"], ", ".join(parts))
    for c in said["config"]:
        value = "- (" if c["status"] != "ok" else shown(c["value"])
        where = " (%s %s)" % (c["scope"], c["instances"]) if c["scope"] != "system" and c["instances"] else ""
        mark = " [%s]" % c["reveals"] if c["reveals"] else ""
        line = " ".join((c["name"] + " " + value).split())
        if not any(x.startswith(line) and x.endswith(" ".join((where + mark).split())) for x in page):
            failures.append("%s: the page lacks %s %s%s" % (path, line, where, mark))
    for t in said["topology"]["cpu_types"]:
        has("CPU type", t)
    cost = {c["name"][11:]: c["value"] for c in said["config"] if c["name"].startswith("pmrec.cost.")}
    if cost.get("cpu_ns") and said["duration_ns"]:
        s, get = (cost.get("elapsed_ns") or said["duration_ns"]) / 1e9, lambda k: cost.get(k, 0)
        line = "%.2f %% of a CPU, %.0f wake-ups per second, %.1f MB" % (get("cpu_ns") / 1e7 / s, get("wakeups") / s, get("memory_kib") / 1024)
        line += "; the output stalled %s, %.1f s" % (plural(get("stalls"), "time"), get("stalled_ns") / 1e9) if get("stalls") else ""
        has("cost", line + ("; %d dropped" % get("dropped") if get("dropped") else ""))
        if get("missed") > said["lost_ticks"]:
            has("missed readings", "%d by one reader; its groups lack those ticks" % get("missed"))
        check("%s: missed readings" % path, get("missed") > said["lost_ticks"], any(x.startswith("missed readings ") for x in page))
        lost = max(said["lost_ticks"] - get("dropped"), get("missed"))
        # What explains at least half of the time that was lost otherwise than by the output.
        least = lost * (said["interval_ns"] or 0)
        why = None
        if lost and get("late_ns") >= get("overrun_ns") and 2 * get("late_ns") >= least:
            why = "readers were late by %s: they waited for a CPU, or pmrec was stopped; try a longer interval, or fewer events" % duration(get("late_ns"))
        elif lost and 2 * get("overrun_ns") >= least:
            why = "reading took longer than an interval; try a longer one, or fewer sources"
        if get("dropped"):
            why = ("%s; %d: " % (why, get("dropped")) if why else "") + "the output was too slow; try --buffer, or a longer interval"
        if why:
            has("ticks were lost", why)
        check("%s: why ticks were lost" % path, bool(why), any(x.startswith("ticks were lost ") for x in page))
    sampled = {c["name"]: c["value"] for c in said["config"] if c["name"].startswith("pmrec.sampl")}
    n = sampled.get("pmrec.sampled")
    line = "%d groups of perf events, each on a CPU" % n if n else ""
    stood_in = cost.get("stood_in")
    line += "; %s did not come and were read" % plural(stood_in, "sample") if n and stood_in else ""
    if line:
        has("sampled by the kernel", line)
    check("%s: the page says what was sampled" % path, bool(line), any(x.startswith("sampled by the kernel") for x in page))
    a, b = r.chunks[0].clocks, r.chunks[-1].clocks
    if a.counter and b.counter > a.counter:
        has("counter", "%s at %.3f MHz" % (r.header.get(14, "of the CPU"), (b.counter - a.counter) * 1e3 / (b.monotonic - a.monotonic)))
    else:
        check("%s: no rate of the counter" % path, [], [x for x in page if x.startswith("counter ") and x.endswith(" MHz")])
    few = run(pmrep, "info", path)
    for e in said["events"]:
        for k, name in (("user_ns", "user"), ("system_ns", "system"), ("elapsed_ns", "elapsed")):
            if k in e["attrs"] and " %s=%s" % (name, duration(e["attrs"][k])) not in few:
                failures.append("%s: the page lacks %s of %s" % (path, name, e))
    check("%s: what getrusage() counted is for --all" % path, (False, any("rusage" in e["attrs"] for e in said["events"])),
          (" rusage=" in few, any(" rusage=" in x for x in page)))
    online = [c for c in r.topology if c.get("online", 1) and "core" in c]
    threads = sorted(collections.Counter((c.get("package"), c.get("die"), c["core"]) for c in online).values())
    for k, v in said["topology"].items():
        if k == "threads_per_core" and v and threads[0] < v:
            v = "%d to %d" % (threads[0], v)
        name = {"cpus": "CPUs", "threads_per_core": "threads per core", "offline_cpus": "offline CPUs"}.get(k, k)
        if k in ("cpus", "packages", "dies", "clusters", "nodes", "cores", "threads_per_core", "offline_cpus"):
            has(name, "-" if v is None else str(v))
    for k, v in said["reveals"].items():
        line = next(x for x in page if x.startswith(k + " "))
        names = {x.split(" (")[0] for x in line[len(k) + 1:].split(", ")}
        check("%s: the page's %s" % (path, k), {x.split(" (")[0] for x in v} or {"nothing"}, names)


# ---- recordings of our own ----

def check_long(pmrep, folder):
    """Of a long recording with an index most is passed over; what is counted is the same."""
    r = encode.Recording()
    r.body(HEADER, {1: "pmrec 9", 13: SECOND, 18: "system", 28: True})
    r.body(INSTANCES, {2: 1, 3: [{1: 0}]})
    r.body(SCHEMA, {1: 1, 2: [{1: "a", 3: "a", 4: "1"}], 3: 1, 4: [{1: "a", 2: 2, 3: [1, 1, 0], 4: [1, 1, 0]}]})
    for i in range(1300):
        ticks = [START + (2 * i + k) * SECOND for k in range(1 + i % 2)]
        r.chunk([(1, encode.times(ticks, 1, 0) + [("u64", [[i + k for k in range(len(ticks))]])], [])], ticks, more={6: 1 + i // 300, 11: 2 * i})
    r.end()
    r.save(folder + "/without.pmr")
    path = folder + "/long.pmr"
    run(pmrep, "cut", "--since=0", "-o", path, folder + "/without.pmr")
    r = decode.load(path)
    said = json.loads(run(pmrep, "info", "--format=json", path))
    snapshots = sum(len(c.ticks) for c in r.chunks)
    check("long: counts", {"snapshots": 1950, "chunks": 1300, "segments": 5, "recordings": 1, "ended": True, "values": None,
                           "duration_ns": r.chunks[-1].ticks[-1] - r.chunks[0].ticks[0], "bytes": len(r.data)},
          {k: said[k] for k in ("snapshots", "chunks", "segments", "recordings", "ended", "values", "duration_ns", "bytes")})
    check("long: the second reader's", (1950, 1300), (snapshots, len(r.chunks)))
    check("long: some were looked at", True, 20 < said["sampled_snapshots"] < snapshots // 2)
    size = "size %d bytes in %d frames, 1300 chunks" % (len(r.data), len(r.frames))
    check("long: its size", True, size in {" ".join(line.split()) for line in run(pmrep, "info", path).splitlines()})


def machine(path, costs=None, cycles=(0, 0, 0)):
    """16 CPUs in 2 packages of 2 dies, some off, of two types; groups of each shape; runs, segments, flags, losses."""
    r = encode.Recording()
    r.body(HEADER, {1: "pmrec 9", 5: "aarch64", 13: SECOND, 16: 100, 18: "system", 28: True, 203: [["color", "red"], ["n", "5"]]})
    cpus = range(16)
    r.body(TOPOLOGY, {1: START, 2: list(cpus), 3: [c // 8 for c in cpus], 4: [c // 4 % 2 for c in cpus], 5: [c // 2 % 2 for c in cpus],
                      6: [c // 2 % 2 if c < 12 else c for c in cpus], 7: [c // 4 for c in cpus], 8: [c % 2 for c in cpus],
                      9: [c // 2 if c != 5 else -1 for c in cpus], 10: [c // 2 for c in cpus], 11: [c // 4 for c in cpus], 12: [c // 8 for c in cpus],
                      13: [c % 2 for c in cpus], 14: [1024 - c % 2 for c in cpus], 15: [int(c not in (3, 9)) for c in cpus], 16: ["big", "small one"]})
    r.body(INSTANCES, {2: 1, 3: [{1: 7, 2: c, 3: c} for c in cpus] + [{1: 9, 2: k, 4: START - 5, 6: {1: "task-%d" % k, 200: 70 + k}} for k in range(2)]})
    counters = [{1: "a.one", 2: "One, of all", 3: "a", 4: "s", 5: [3, 7], 10: {1: "help me", 2: True, 100: "eth0"}}, {1: "b.two", 3: "b", 4: "1", 5: "0.25", 7: 2, 8: 32, 9: 1},
                {1: "c.three", 3: "c", 4: "1", 6: 1}, {1: "t.text", 3: "t", 4: "1", 6: 3, 7: 4, 9: 4}, {1: "p", 3: "perf", 4: "1", 10: {11: "cpu", 23: "p"}}]
    groups = [{1: "a", 2: 0, 3: [1, 1, 1], 4: [1, 3, 1]}, {1: "b", 2: 2, 3: [2, 2, 1], 4: [4, 2, 1]}, {1: "t", 2: 3, 3: [4, 1, 1, 1, 1, 1], 4: [17, 2, 1]},
              {1: "perf", 2: 4, 3: [5, 1, 1], 4: [1, 2, 1]}]
    r.body(SCHEMA, {1: 1, 2: counters, 3: 1, 4: groups, 5: 1, 6: ["one two", b"\x00\xff", ""]})
    r.body(PMUS, {1: 0, 2: [{1: "cpu", 2: 4, 7: [["event", "config:0-7"]], 8: [["p", "event=1", "", "", 0]], 10: [["x", "y z"]]}]})
    r.body(PROBES, {1: 0, 2: [{1: "msr", 2: [2, "0x1a2"], 3: [226], 4: 1005}, {1: "x", 2: [1, "y"], 4: 3}, {1: "x", 2: [4711, "two words", 5], 4: 250}]})
    r.body(CONFIG, {1: [{1: "k.%d" % i, 2: START + i, 3: 7, 4: [0, 2, 5, 1, 7, 3], (50 + 100 * (i % 4)): v} for i, v in
                        enumerate([1, -5, "text of it", b"\xab", [1, 2], [["k", "v"], ["l", 2]], [[1, 2, 3]], True, False])] +
                    [{1: "gone", 2: START, 3: 1, 4: [1, 1], 5: 4}]})

    def chunk(ticks, late, cycle, more=None):
        n = len(ticks)

        def column(first):
            return [first + 7 * i for i in range(n)]

        def begins(k, each):
            return [("u64", [[t + late + each * c + o for t in ticks] for c in range(k)]) for o in (100, 350)]
        perf = [("u64", [[10 * (i + c) for i in range(n)] for c in range(2)]) for _ in range(2)]
        r.chunk([(1, begins(3, 11) + [("u64", [column(c) for c in range(3)])], []), (2, begins(1, 0) + [("u64", [column(50 + c) for c in range(2)]),
                                                                                                       ("s64", [[-3 - i for i in range(n)] for _ in range(2)])], [2, 1, 5]),
                 (3, begins(1, 0) + [("u64", [[1 + i % 3 for i in range(n)], column(9)])], []),
                 (4, begins(2, 900) + perf + [("u64", [column(4), column(8)])], [0, 1, 1005])], ticks, [ticks[0], ticks[0] + 5, ticks[0] + 7, cycle], more)
    chunk([START + i * SECOND for i in range(4)], 1000, cycles[0], {13: [0, 3, 3, 4], 5: 1, 6: 1})
    r.body(EVENT, {1: START + 5, 2: [{1: 4, 2: 7, 3: {1: 3}}, {1: 4, 2: 9, 3: {1: 2}}, {1: 1, 2: 10, 3: {200: "mark \"this\""}},
                                     {1: 11, 2: 11, 3: {5: "a", 6: 1013}}, {1: 10, 2: 12, 3: {9: 3, 11: 1500000, 12: 2500, 13: 2048, 14: [1, 2, 3, 4, 5, 6], 16: 3 * SECOND}}]})
    chunk([START + (4 + i) * SECOND + i for i in range(3)], 5000, cycles[1], {11: 4, 13: [1, 1], 5: 1, 6: 1})
    chunk([START + (20 + i) * SECOND for i in range(2)], 700, cycles[2], {11: 20, 5: 2, 6: 2})
    r.body(INSTANCES, {1: START + 22 * SECOND, 4: [17, 1, 1, 5]})
    if costs:
        r.body(CONFIG, {1: [{1: "pmrec." + (k if k.startswith(("sampl", "readers")) else "cost." + k), 2: START, 3: 0, 50: v} for k, v in costs.items()]})
    r.frame(63, b"\x00")
    r.end()
    r.save(path)


def main(pmrep, *paths):
    with tempfile.TemporaryDirectory() as folder:
        machine(folder + "/machine.pmr")
        data, _ = redacted.build(redacted.Canaries())
        with open(folder + "/canaries.pmr", "wb") as f:
            f.write(data)
        busy = {"cpu_ns": 3 * 10**9, "wakeups": 700, "memory_kib": 5000, "stood_in": 5}
        # Of 21 s, 5 ticks of 1 s are lost: half of that is the least that explains them.
        least = 5 * SECOND // 2
        machine(folder + "/late.pmr", {**busy, "late_ns": least, "stalls": 1, "stalled_ns": 10**9, "sampled": 4},
                (10**6, 2 * 10**6, 10**6 + 4 * 10**10))
        machine(folder + "/dropped.pmr", {**busy, "stalls": 2, "stalled_ns": 10**9, "dropped": 3}, (0, 10**6, 10**7))
        machine(folder + "/both.pmr", {**busy, "late_ns": least, "overrun_ns": least, "readers": 8})
        machine(folder + "/overrun.pmr", {**busy, "late_ns": least, "overrun_ns": least + 1, "dropped": 3})
        machine(folder + "/unknown.pmr", {**busy, "late_ns": least - 1, "overrun_ns": least - 1})
        machine(folder + "/missed.pmr", {**busy, "late_ns": 11 * SECOND, "missed": 22})
        machine(folder + "/missed_more.pmr", {**busy, "late_ns": 11 * SECOND - 1, "missed": 22, "dropped": 3, "elapsed_ns": 40 * SECOND})
        own = [folder + "/%s.pmr" % name for name in
               ("missed", "missed_more", "machine", "canaries", "late", "dropped", "both", "overrun", "unknown")]
        check_choice(pmrep, own[0])
        check_long(pmrep, folder)
        for path in own + list(paths):
            r = decode.load(path)
            r.configs = merged(r.configs)
            check_dump(pmrep, path, r)
            if not r.damage and r.chunks:
                check_text(pmrep, path, r, check_info(pmrep, path, r))
            print("%s: %d frames, %d definitions" % (os.path.basename(path), len(r.frames), sum(map(len, lines_of(r).values()))))
    for f in failures[:40]:
        print(f)
    return bool(failures)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
