"""Recordings as the golden tests look at them: what tests/standard/reader.py, written from format/SPEC.md alone, finds in the
first recording of a file, with the words that `pmrep dump` has for types and reasons.
"""

import ast
import collections
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "standard"))
import reader
from codec import Map, Simple, crc32c, decompress
from dumped import AGGREGATIONS, SCOPES as KINDS, SEMANTICS, TYPES, reason_word as reason_name
from reader import MAGIC, Frame

FRAMES = {1: "header", 2: "topology", 3: "schema", 4: "instances", 5: "pmus", 6: "probes", 7: "config", 8: "chunk",
          9: "event", 10: "index", 11: "end"}
EVENTS = {1: "marker", 2: "cpu-online", 3: "cpu-offline", 4: "lost", 5: "clock-step", 6: "suspend", 7: "enable",
          8: "disable", 9: "child-start", 10: "child-exit", 11: "failed", 12: "run-start", 13: "run-end", 14: "gone",
          15: "note"}
PLACES = (None, None, "cpu", "package", "die", "cluster", "core", "node", "thread", "l1d", "l1i", "l2", "l3", "type", "capacity", "online")

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../format/remark.inc")) as table:
    REMARKS = {int(code): ast.literal_eval("(%s)" % text)
               for code, text in re.findall(r'^RE(?:MARK|MEDY)\(\w+, (\d+),\s*((?:"(?:[^"\\]|\\.)*"\s*)+)\)', table.read(), re.M)}


def remark(v):
    """The text of a code with arguments."""
    if not isinstance(v, list) or v[0] not in REMARKS:
        return "remark %d" % v[0] + (": " + ", ".join(map(str, v[1:])) if v[1:] else "") if isinstance(v, list) else v
    arguments = iter(v[1:])
    return re.sub("%(.)", lambda m: (os.strerror if m[1] == "r" else str)(next(arguments, "")), REMARKS[v[0]])


Counter = collections.namedtuple(
    "Counter", "id name display source unit scale type semantics width aggregation attrs")
Instance = collections.namedtuple("Instance", "id kind number cpu added retired attrs")
Group = collections.namedtuple("Group", "id source flags counters instances")
Config = collections.namedtuple("Config", "name time kind instances reason privacy value")
Event = collections.namedtuple("Event", "type time attrs")
Probe = collections.namedtuple("Probe", "source what hint reason attrs")
Clocks = collections.namedtuple("Clocks", "monotonic raw boottime counter realtime")
# counter, instance: as defined; value: None if missing; reason: 0 or why
Value = collections.namedtuple("Value", "row counter instance begin end enabled running value reason")


class Chunk:
    """key, run, segment, ticks, numbers, flags, clocks; groups: [(group, columns)]; lost: ids of groups that were damaged in
    the original."""


def plain(x):
    if isinstance(x, (Map, dict)):
        return {k: plain(v) for k, v in (x.items() if isinstance(x, dict) else x)}
    if isinstance(x, list):
        return [plain(v) for v in x]
    return None if isinstance(x, Simple) else x


class Recording:
    """What can be read of the first recording of a file."""

    def __init__(self, data):
        found = reader.Reader(data)
        self.data, self.damage = data, found.damage
        self.read = r = found.recordings[0] if found.recordings else reader.Recording(b"")
        self.id, self.frames, self.ended = r.id, r.frames, r.ended
        self.header = plain(r.header)
        columns = {PLACES[k]: v for k, v in sorted(r.topology.items()) if 2 <= k <= 15}
        self.topology = [{k: v[i] for k, v in columns.items() if v[i] != -1} for i in range(len(columns.get("cpu", ())))]
        self.topology_time, self.type_names = r.topology.get(1, 0), r.topology.get(16, [])
        self.counters = {i: Counter(i, c.name, c.display, c.source, c.unit, c.scale, TYPES[c.type], SEMANTICS[c.semantics], c.width,
                                    AGGREGATIONS[c.aggregation], plain(c.attributes)) for i, c in enumerate(r.counters, 1)}
        self.strings = dict(enumerate(r.strings, 1))
        self.instances = {i: Instance(i, KINDS[x.kind], x.number, x.cpu, x.added or 0, x.retired or 0, plain(x.attributes))
                          for i, x in r.all_instances.items()}
        self.groups = {i: Group(i, g.source, g.flags, g.counters, g.instances) for i, g in r.all_groups.items()}
        self.retired_groups = {i for i, g in r.all_groups.items() if g.retired}
        self.pmus = {i: plain(p) for i, p in r.pmus.items()}
        self.probes = {i: Probe(p[1], remark(p[2]), remark(p[3]) if 3 in p else None, p[4], plain(p.get(5, {}))) for i, p in r.probes.items()}
        self.configs = [self.config(plain(e)) for e in r.config]
        self.events = [Event(EVENTS.get(kind, "unknown"), time, {k: remark(v) if k == 15 else v for k, v in plain(attrs).items()}) for kind, time, attrs in r.events]
        self.chunks = [self.chunk(c) for c in r.chunks]

    @staticmethod
    def config(e):
        privacy, value = next(((k // 100, e[k]) for k in (50, 150, 250, 350) if k in e), (0, None))
        numbers = [n for first, count in zip(*[iter(e.get(4, []))] * 2) for n in range(first, first + count)]
        return Config(e[1], e[2], KINDS[e[3]], numbers, e.get(5, 0), privacy, value)

    def chunk(self, found):
        c = Chunk()
        c.found, c.offset = found, found.frame.offset
        c.key, c.codec, c.run, c.segment = found.key, found.frame.meta.get(2, 0), found.run, found.segment
        c.ticks, c.numbers, c.flags, c.lost = found.ticks, found.numbers, found.flags, found.lost
        c.clocks = Clocks(*found.clocks, found.realtime or 0)
        c.groups = [(self.groups[i], found.groups[i][0]) for i in found.order if i in found.groups]
        return c

    def snapshots(self):
        """(chunk, row number in it, values) for every snapshot."""
        for chunk in self.chunks:
            for row in range(len(chunk.ticks)):
                yield chunk, row, list(self.values(chunk, row))

    def values(self, chunk, row):
        for _, counter, instance, number, reason, times in reader.values_of(self.read, chunk.found, row):
            value, reason = (None, reason) if reason else reader.shown(self.read, self.read.counter(counter), number)
            begin, end, enabled, running = (*times, None, None, None, None)[:4]
            yield Value(chunk.numbers[row], self.counters[counter], self.instances[instance], begin, end, enabled, running, value, reason)


def as_json(value):
    out = {"is": "value", "counter": value.counter.name, "scope": value.instance.kind}
    if value.instance.number is not None:
        out["number"] = value.instance.number
    out["instance"] = value.instance.id
    if not value.reason:
        v = value.value
        out["value"] = v.hex() if isinstance(v, bytes) else v
    out.update(status=reason_name(value.reason), begin=value.begin, end=value.end)
    if value.enabled is not None:
        out.update(enabled=value.enabled, running=value.running)
    return out


def load(path):
    with open(path, "rb") as f:
        return Recording(f.read())
