"""What `pmrep dump` says of a recording, beside what reader.py reads in it."""

import json
import math
import subprocess

from reader import shown, values

SCOPES = ("system", "package", "die", "cluster", "cache", "node", "core", "cpu", "pmu", "task", "cgroup", "device")
TYPES = {0: "u64", 1: "s64", 2: "f64", 3: "text", 4: "bytes"}
SEMANTICS = ("cumulative", "delta", "gauge", "peak", "state", "bitfield")
AGGREGATIONS = ("sum", "mean", "max", "min", "first", "none")
EVENTS = {1: "marker", 2: "cpu-online", 4: "lost", 5: "clock-step", 9: "child-start", 10: "child-exit", 15: "note"}
REASONS = {1: "not-counted", 2: "not-supported", 3: "no-permission", 4: "offline", 5: "missed", 6: "gone", 7: "dropped", 8: "suspect",
           9: "format", 10: "not-read", 11: "left-out", 12: "newer"}


def reason_word(reason):
    return "ok" if reason == 0 else REASONS.get(reason) or ("errno-%d" % (reason - 1000) if 1000 < reason < 2000 else "reason-%d" % reason)


def run(*command, code=(0,)):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
    assert done.returncode in code, "%s: exit %d: %s" % (" ".join(map(str, command)), done.returncode, done.stderr.decode()[:2000])
    return done.stdout.decode(errors="surrogateescape"), done.stderr.decode()


def dump(pmrep, path, code=(0,)):
    out, _ = run(pmrep, "dump", "--format=json", path, code=code)
    return [json.loads(line) for line in out.splitlines()]


def equal(a, b):
    if isinstance(b, float) and not math.isfinite(b):
        return a is None or a == b or a != a
    if isinstance(b, float) and isinstance(a, (int, float)):
        return float(a) == b
    return a == b


def expected_value(recording, _, counter, instance, number, reason, times):
    c = recording.counter(counter)
    line = {"is": "value", "counter": c.name, "instance": instance}
    if times:
        line["begin"], line["end"] = times[:2]
    if len(times) > 2:
        line["enabled"], line["running"] = times[2:]
    value, none = (None, reason) if reason else shown(recording, c, number)
    line["status"] = reason_word(none)
    if not none:
        line["value"] = value.hex() if isinstance(value, bytes) else value
    return line


def same(expected, line, what):
    if line.get("status") == "not-finite":    # JSON has no such numbers
        assert isinstance(expected.get("value"), float) and not math.isfinite(expected["value"]), "%s: %s" % (what, expected)
        expected = {**expected, "status": "not-finite"}
    for key, value in expected.items():
        got = line.get(key)
        if value is None and (key not in line or key == "added_ns"):
            continue
        assert key in line and equal(got, value), "%s: %s is %r, not %r\n%s\n%s" % (what, key, got, value, expected, line)


def definitions(recording):
    for i, c in enumerate(recording.counters, 1):
        line = {"is": "counter", "id": i, "name": c.name, "display": c.display, "source": c.source, "unit": c.unit, "width": c.width,
                "type": TYPES.get(c.type, c.type), "semantics": dict(enumerate(SEMANTICS)).get(c.semantics, c.semantics),
                "aggregation": dict(enumerate(AGGREGATIONS)).get(c.aggregation, c.aggregation), "help": c.attributes.get(1)}
        if isinstance(c.scale, str):
            line["scale"] = c.scale
        else:
            line["scale_num"], line["scale_den"] = c.scale
        yield line
    for i, one in recording.all_instances.items():
        yield {"is": "instance", "id": i, "kind": SCOPES[one.kind] if one.kind < 12 else "device", "number": one.number, "cpu": one.cpu,
               "added_ns": one.added, "name": one.attributes.get(1)}
    for i, g in recording.all_groups.items():
        yield {"is": "group", "id": i, "source": g.source, "flags": g.flags & 7, "counters": g.counters, "instances": g.instances}


def agree(reader, lines):
    """Every frame, definition, snapshot and value of the dump is that of the reader, and none is missing."""
    frames = [l for l in lines if l["is"] == "frame" and l["length"]]
    ours = [f for r in reader.recordings for f in r.frames]
    assert len(frames) == len(ours), "%d frames, not %d" % (len(frames), len(ours))
    for f, line in zip(ours, frames):
        same({"offset": f.offset, "length": f.end - f.offset, "sequence": f.sequence, "type": f.type}, line, "frame")
    got = {}
    for l in lines:
        if l["is"] in ("counter", "instance", "group"):
            got.setdefault((l["is"], l["id"]), []).append(l)
    if len(reader.recordings) == 1:
        for line in definitions(reader.recordings[0]):
            assert (line["is"], line["id"]) in got, "the dump lacks %s" % line
            same(line, got[line["is"], line["id"]][0], "definition")
    snapshots = [l for l in lines if l["is"] == "snapshot"]
    rows = [(c.numbers[r], c.ticks[r]) for x in reader.recordings for c in x.chunks for r in range(len(c.ticks))]
    assert [(l["number"], l["tick"]) for l in snapshots] == rows, "snapshots"
    dumped = [l for l in lines if l["is"] == "value"]
    n = 0
    for (recording, c, r, g, counter, instance, number, reason, times), line in zip(values(reader), dumped):
        same(expected_value(recording, g, counter, instance, number, reason, times), line, "value %d" % n)
        n += 1
    total = sum(1 for _ in values(reader))
    assert total == len(dumped), "%d values, not %d" % (len(dumped), total)
    return n


def dump_matches(world, lines):
    """The dump of one random recording beside what it was made of."""
    expected = [(c["ticks"][r], expected_value(world, g, counter, instance, number, reason, times))
                for c, r, g, counter, instance, number, reason, times in world.expected()]
    got, tick = [], None
    for l in lines:
        if l["is"] == "snapshot":
            tick = l["tick"]
        elif l["is"] == "value":
            got.append((tick, l))
    for n, ((at, line), (tick, found)) in enumerate(zip(expected, got)):
        assert at == tick, "value %d: in the row of %d, not of %d" % (n, tick, at)
        same(line, found, "value %d" % n)
    assert len(expected) == len(got), "%d values, not %d" % (len(got), len(expected))
    defined = {}
    for l in lines:
        if l["is"] in ("counter", "instance", "group"):
            defined.setdefault((l["is"], l["id"]), l)
    for line in definitions(world):
        assert (line["is"], line["id"]) in defined, "the dump lacks %s" % line
        same(line, defined[line["is"], line["id"]], "definition")
    events = [(l["event"], l["time_ns"]) for l in lines if l.get("event", "gone") != "gone"]
    assert events == [(EVENTS.get(kind, kind), when) for kind, when in world.events_made], "events: %s" % events
    gone = sorted((l["instance"], l["time_ns"]) for l in lines if l.get("event") == "gone")
    assert gone == sorted((i, one.retired) for i, one in world.all_instances.items() if one.retired), "retirements: %s" % gone
    rows = [(n, t) for c in world.chunks for n, t in zip(c["numbers"], c["ticks"])]
    assert [(l["number"], l["tick"]) for l in lines if l["is"] == "snapshot"] == rows, "snapshots"
