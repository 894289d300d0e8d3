#!/usr/bin/python3
"""pmrep --format=perfetto read by a decoder that knows the field numbers and nothing else: every packet, every value.

usage: test_perfetto.py PMREP SAMPLES
"""
import json
import os
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "golden"))
try:
    import encode
except ImportError as e:
    print("skipped: %s" % e)
    sys.exit(77)

pmrep, samples = sys.argv[1:]
# Of the messages that may occur: field -> (name, kind); a dictionary is a message, a list one that is repeated.
CLOCK = {1: ("clock_id", int), 2: ("timestamp", int), 3: ("is_incremental", int)}
TRACK = {1: ("uuid", int), 2: ("name", str), 5: ("parent_uuid", int), 8: ("counter", {6: ("unit_name", str)})}
EVENT = {9: ("type", int), 11: ("track_uuid", int), 23: ("name", str), 30: ("counter_value", int), 44: ("double_counter_value", float)}
PACKET = {6: ("clock_snapshot", {1: ("clocks", [CLOCK])}), 8: ("timestamp", int), 10: ("trusted_packet_sequence_id", int),
          11: ("track_event", EVENT), 13: ("sequence_flags", int), 58: ("timestamp_clock_id", int),
          59: ("trace_packet_defaults", {58: ("timestamp_clock_id", int)}), 60: ("track_descriptor", TRACK)}
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            assert value < 1 << 64
            return value, at


def message(data, fields):
    at, out = 0, {}
    while at < len(data):
        tag, at = varint(data, at)
        name, kind = fields[tag >> 3]
        many = isinstance(kind, list)
        if tag & 7 == 0:
            assert kind is int, name
            value, at = varint(data, at)
        elif tag & 7 == 1:
            assert kind is float, name
            value, at = struct.unpack_from("<d", data, at)[0], at + 8
        else:
            assert tag & 7 == 2 and kind not in (int, float), name
            size, at = varint(data, at)
            part = data[at:at + size]
            assert len(part) == size
            at += size
            value = part.decode() if kind is str else message(part, kind[0] if many else kind)
        if many:
            out.setdefault(name, []).append(value)
        else:
            assert name not in out, name
            out[name] = value
    return out


def packets(data):
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        assert tag == 1 << 3 | 2
        size, at = varint(data, at)
        yield message(data[at:at + size], PACKET)
        at += size


class Trace:
    """tracks: uuid -> descriptor; counters: uuid -> [(ns, value)]; slices: [(track, name, begin, end)]."""

    def __init__(self, data):
        self.tracks, self.counters, self.slices, self.instants, open_slices = {}, {}, [], [], {}
        clocks, defaults = {}, {}
        for p in packets(data):
            sequence = p["trusted_packet_sequence_id"]
            if "track_descriptor" in p:
                t = p["track_descriptor"]
                assert t["uuid"] and t["uuid"] not in self.tracks
                assert t.get("parent_uuid") is None or t["parent_uuid"] in self.tracks
                self.tracks[t["uuid"]] = t
            elif "clock_snapshot" in p:
                for c in p["clock_snapshot"]["clocks"]:
                    clocks[sequence, c["clock_id"]] = c["timestamp"], c.get("is_incremental", 0)
                assert p["sequence_flags"] == 1
                defaults[sequence] = p["trace_packet_defaults"]["timestamp_clock_id"]
                assert clocks[sequence, 6][0] == clocks[sequence, defaults[sequence]][0]
            else:
                self.event(p, sequence, clocks, defaults, open_slices)
        assert not any(open_slices.values()), open_slices

    def event(self, p, sequence, clocks, defaults, open_slices):
        e, at = p["track_event"], p["timestamp"]
        clock = p.get("timestamp_clock_id", defaults.get(sequence, 6))
        if clock != 6:
            before, incremental = clocks[sequence, clock]
            assert incremental
            at += before
            clocks[sequence, clock] = at, incremental
        track = e["track_uuid"]
        assert (e["type"] == COUNTER) == ("counter" in self.tracks[track])
        if e["type"] == COUNTER:
            assert ("counter_value" in e) != ("double_counter_value" in e)
            value = e.get("counter_value", e.get("double_counter_value"))
            series = self.counters.setdefault(track, [])
            assert not series or series[-1][0] < at
            series.append((at, value))
        elif e["type"] == BEGIN:
            open_slices.setdefault(track, []).append((e["name"], at))
        elif e["type"] == END:
            name, begin = open_slices[track].pop()
            assert at >= begin
            self.slices.append((track, name, begin, at))
        else:
            assert e["type"] == INSTANT
            self.instants.append((track, e["name"], at))

    def path(self, uuid):
        names = []
        while uuid:
            names.insert(0, self.tracks[uuid]["name"])
            uuid = self.tracks[uuid].get("parent_uuid")
        return tuple(names)


def call(*words):
    done = subprocess.run([pmrep, *words], capture_output=True)
    assert done.returncode in (0, 3), (words, done.stderr.decode())
    return done.stdout


WORDS = {"package": "Package", "die": "Die", "cluster": "Cluster", "cache": "Cache", "node": "Node", "core": "Core", "cpu": "CPU"}


def where(place):
    """The tracks above that of a metric: of the system none, of a CPU its package and itself; "?" for what has a name."""
    scope, of = place[0], dict(zip(WORDS, place[1:]))
    above = ["Package %s" % of["package"]] if of["package"] is not None and scope not in ("system", "package") else []
    return tuple(above + ["%s %s" % (WORDS[scope], of[scope])] if scope in WORDS else [] if scope == "system" else above + ["?"])


def main():
    heaviest = 0
    for name in sorted(n for n in os.listdir(samples) if n.endswith(".pmr")):
        words = ["--show=all", "--hide=topology", "--all", "--num_iterations=30", os.path.join(samples, name)]
        data = call("--format=perfetto", *words)
        trace = Trace(data)
        rows = [json.loads(line) for line in call("--format=json", "--columns=duration_ns,elapsed_ns,run,scope,package,die,cluster,cache,"
                                                  "node,core,cpu,device,task,cgroup,metric,value,status", *words).splitlines()]
        heaviest = max(heaviest, len(data) / len(rows))
        # Each metric of each place has a track of its own; steps of its line are where the values differ.
        expected = {}
        for r in rows:
            place = tuple(r[k] for k in "scope package die cluster cache node core cpu device task cgroup metric".split())
            expected.setdefault(place, []).append(r["value"])
        lines = []
        for place, values in expected.items():
            there = [v for v in values if v is not None]
            if there:
                lines.append((where(place), [v for i, v in enumerate(there) if not i or v != there[i - 1]]))
        drawn = []
        for uuid, series in trace.counters.items():
            above = [w if w.split(" ")[0] in WORDS.values() else "?" for w in trace.path(uuid)[1:-1]]
            drawn.append((tuple(above), [v for _, v in series]))
        assert sorted(lines) == sorted(drawn), name
        missing = sum(any(v is None for v in values) for values in expected.values())
        tracks = {t for t, *_ in trace.slices if trace.tracks[t]["name"].endswith(": no value")}
        assert len(tracks) == missing, (name, len(tracks), missing)
        levels = {p[1].split(" ")[0] for p in map(trace.path, trace.counters) if len(p) == 3}
        wanted = {"Package" for r in rows if r["package"] is not None and r["scope"] == "package" and r["value"] is not None}
        assert wanted <= levels, (name, levels)
        assert any(trace.path(t)[1] == "Runs" for t, *_ in trace.slices), name
        if name == "command.pmr":
            assert any(trace.path(t)[1] == "Events" and n == "child-start" for t, n, *_ in trace.instants)
    assert heaviest <= 20, heaviest

    # A line of the boot clock: 30 s of sleep before, snapshots at 1 s and 2 s, a marker, lost ticks, names of all kinds.
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "boot.pmr")
        r, start, slept, text = encode.Recording(), encode.START, 30 * 10**9, "m" + encode.HOSTILE
        r.body(encode.HEADER, {13: 10**9, 100: encode.HOSTILE})
        r.body(encode.INSTANCES, {2: 1, 3: [{1: 0}]})
        r.body(encode.SCHEMA, {1: 1, 2: [{1: "level", 3: "test", 4: "W", 7: 2, 10: {2: True}}],
                               3: 1, 4: [{1: "test", 3: [1, 1, 1], 4: [1, 1, 1]}]})
        ticks = [start + s * 10**9 for s in (0, 1, 2, 5)]
        clocks = [start, start + 5, start + slept, 0]
        r.chunk([(1, encode.times(ticks, 1, 0) + [("u64", [[7, 7, 9, 11]])], [])], ticks, clocks)
        r.body(encode.EVENT, {1: start, 2: [{1: 1, 2: 1500 * 10**6, 3: {200: text}},
                                            {1: 4, 2: 5 * 10**9, 3: {1: 2, 2: start + 2 * 10**9}}]})
        r.end()
        r.save(path)
        trace = Trace(call("--format=perfetto", "--all", path))
        (uuid, series), = trace.counters.items()
        assert [t for t, _ in series] == sorted(t for t, _ in series) and series[0][0] == start + slept, series
        assert trace.tracks[uuid]["counter"]["unit_name"] == "W"
        assert trace.path(uuid)[0] == encode.HOSTILE + " boot.pmr"
        (track, name, at), = trace.instants
        assert trace.path(track)[1] == "Events", (trace.path(track), trace.tracks)
        assert (name[-len(text):], at - start) == (text, 1500 * 10**6 + slept)
        lost = [s for s in trace.slices if trace.path(s[0])[1] == "No data"]
        assert [(b, e) for _, n, b, e in lost if "lost" in n] == [(start + 2 * 10**9 + slept, start + 5 * 10**9 + slept)], lost
    print("perfetto: all packets and values; at most %.1f bytes a value" % heaviest)


main()
