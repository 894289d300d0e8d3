#!/usr/bin/python3
"""Writes recordings by the words of format/SPEC.md, with a CBOR library that is not ours and the plain codec.

    encode.py hostile FILE      strings that would do something to a terminal, wherever a string can stand
    encode.py types PMREP       every type of value, list and matrix, missing values; compared with what pmrep reads
    encode.py major FILE OUT    FILE with the next major version in its first frame, and a checksum that holds
"""

import json
import os
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
try:
    import cbor2
    import decode
except ImportError as e:
    print("skipped: %s" % e)
    sys.exit(77)

HEADER, TOPOLOGY, SCHEMA, INSTANCES, PMUS, PROBES, CONFIG, CHUNK, EVENT, INDEX, END = range(1, 12)
START = 10**12
REALTIME = 1_750_000_000 * 10**9
TAGS = {"u64": (71, "<%dQ"), "s64": (79, "<%dq"), "f64": (86, "<%dd"), "text": (71, "<%dQ"), "bytes": (71, "<%dQ")}


def checksum(data):
    return b"\x44" + decode.crc32c(data).to_bytes(4, "big")


class Recording:
    def __init__(self, recording=b"\x11" * 8, major=1):
        self.data, self.sequence, self.id, self.major = b"", 0, recording, bytes([major])

    def frame(self, kind, payload=b"", meta=None):
        meta = dict(meta or {})
        if payload:
            meta[1] = len(payload)
        head = decode.MAGIC + self.major + cbor2.dumps(kind) + cbor2.dumps(self.sequence)
        head += b"\x48" + self.id + cbor2.dumps(cbor2.dumps(meta, canonical=True))
        frame = head + checksum(head) + cbor2.dumps(payload) + checksum(payload)
        self.data, self.last = self.data + frame, len(frame)
        self.sequence += 1

    def body(self, kind, body, canonical=True):
        self.frame(kind, cbor2.dumps(body, canonical=canonical))

    def chunk(self, groups, ticks, clocks=None, more=None):
        """groups: [(id, bands, statuses)]; a band is (type, [[a number for each row] for each column]). clocks: those
        of the head, in the order of SPEC.md; more: further keys of the head, or None in place of one."""
        block = b""
        for _, bands, statuses in groups:
            arrays = []
            for kind, columns in bands:
                tag, layout = TAGS[kind]
                flat = [v for column in columns for v in column]
                arrays.append(cbor2.CBORTag(tag, struct.pack(layout % len(flat), *flat)))
            block += cbor2.dumps(arrays) + cbor2.dumps(statuses)
        step = 10**9
        meta = {2: 1, 7: len(ticks), 8: step, 9: ticks[0], 14: clocks or [ticks[0], ticks[0] + 5, ticks[0] + 7, 0],
                16: [x for g in groups for x in (g[0], 1)], 17: [len(block), 0, 0, decode.crc32c(block), len(groups)],
                300: REALTIME + ticks[0] - START}
        if any(b - a != step for a, b in zip(ticks, ticks[1:])):
            meta[10] = [b - a - step for a, b in zip(ticks, ticks[1:])]
        meta.update(more or {})
        self.frame(CHUNK, block, {k: v for k, v in meta.items() if v is not None})

    def end(self, index=None):
        """Mostly without an index, which begins so many bytes before: it is a convenience."""
        before = len(self.data), self.sequence
        for pad in range(64):
            self.data, self.sequence = self.data[:before[0]], before[1]
            self.frame(END, b"\0" * pad, {18: before[0], **({19: index} if index else {})})
            if len(self.data) - before[0] == 64:
                return
        raise AssertionError("no end of 64 bytes")

    def save(self, path):
        with open(path, "wb") as f:
            f.write(self.data)


def times(ticks, columns, late):
    """begin and end of each column: a little behind the tick."""
    return [("u64", [[t + late * c + o for t in ticks] for c in range(columns)]) for o in (100, 350)]


# What a spreadsheet would compute; set the title, clear the screen, color, the 8-bit form of the same, an order to print from right to left, a bell.
HOSTILE = "=\x1b]0;owned\x07\x1b[2J\x1b[31m\u009b5m\u202e\U000e0041\x07\r\nnext"


def hostile(path):
    r = Recording()
    header = {key: HOSTILE for key in (1, 5, 6, 7, 8, 9, 10, 11, 12, 14, 18, 19, 27, 29, 100, 101, 102, 103, 200, 202,
                                       204, 99, 199, 299, 399, 511)}
    header.update({13: 10**9, 21: [HOSTILE, HOSTILE], 22: [HOSTILE], 201: [HOSTILE], 203: [["k" + HOSTILE, HOSTILE]],
                   205: [HOSTILE]})
    r.body(HEADER, header)
    r.body(TOPOLOGY, {1: START, 2: [0], 3: [0], 13: [0], 15: [1], 16: [HOSTILE]})
    r.body(INSTANCES, {2: 1, 3: [{1: 7, 2: 0, 3: 0}, {1: 11, 6: {1: HOSTILE, 2: HOSTILE, 100: HOSTILE}},
                                 {1: 9, 6: {1: HOSTILE, 202: HOSTILE}}, {1: 10, 6: {203: HOSTILE}}]})
    counters = [{1: "c" + HOSTILE, 2: HOSTILE, 3: HOSTILE, 4: HOSTILE,
                 10: {1: HOSTILE, 2: True, 3: HOSTILE, 4: HOSTILE, 100: HOSTILE}},
                {1: "state" + HOSTILE, 3: "s", 4: "1", 6: 3, 7: 4, 9: 4, 10: {2: True}},
                {1: "add.raw", 2: HOSTILE[3:], 3: "add", 4: "1", 7: 5, 9: 5, 10: {2: True, 30: "cpu", 31: "raw"}},
                {1: "idle.c1", 2: HOSTILE, 3: "cpuidle", 4: "s", 10: {2: True}}]
    r.body(SCHEMA, {1: 1, 2: counters, 3: 1, 4: [{1: HOSTILE, 2: 2, 3: [1, 4, 1], 4: [1, 4, 1]}],
                    5: 1, 6: [HOSTILE, HOSTILE.encode()]})
    r.body(PMUS, {1: 0, 2: [{1: HOSTILE, 7: [[HOSTILE, HOSTILE]], 8: [[HOSTILE, HOSTILE, HOSTILE, HOSTILE, 0]]}]})
    r.body(PROBES, {1: 0, 2: [{1: HOSTILE, 2: [1, HOSTILE], 3: [227, HOSTILE], 4: 2}, {1: HOSTILE, 2: [4711, HOSTILE, 5], 4: 2}]})
    r.body(CONFIG, {1: [{1: HOSTILE, 2: START, 3: 0, 50: HOSTILE},
                        {1: "b" + HOSTILE, 2: START, 3: 7, 250: [HOSTILE]}]})
    ticks = [START, START + 10**9]
    r.chunk([(1, times(ticks, 1, 0) + [("u64", [[5, 9]] * 4), ("text", [[1, 1]] * 4)] + [("u64", [[5, 9]] * 4)] * 2, [])], ticks)
    r.body(EVENT, {1: START, 2: [{1: 1, 2: 5, 3: {200: HOSTILE, 15: [1, HOSTILE]}},
                                 {1: 11, 2: 6, 3: {5: HOSTILE, 15: [1, HOSTILE], 6: 1005}}]})
    r.body(EVENT, {2: [{1: 15, 2: START + 7, 3: {15: [1, HOSTILE]}}]})
    r.end()
    r.save(path)


def types(pmrep):
    r = Recording()
    # Keys and frame types of later versions, and integers longer than they need be: to be read, and skipped.
    r.frame(HEADER, bytes.fromhex("a3 01 6474657374 0d 1b000000003b9aca00 1863 a1 02 f6"))
    r.frame(77, b"of a later version")
    r.body(TOPOLOGY, {1: START, 2: [0, 1, 4], 3: [0, 0, 1], 6: [0, 1, -1], 15: [1, 1, 0]})
    r.body(INSTANCES, {2: 1, 3: [{1: 0}] + [{1: 7, 2: c, 3: c} for c in (0, 1, 4)]})
    names = ["u64", "s64", "f64", "text", "bytes"]
    counters = [{1: "t." + n, 3: "test", 4: "1", 6: i, 7: 2, 9: 5} for i, n in enumerate(names)]
    counters += [{1: "narrow", 3: "test", 4: "1", 8: 32, 5: [3, 7]},
                 {1: "decimal", 3: "test", 4: "J", 5: "2.3283064365386962890625e-10"}]
    r.body(SCHEMA, {1: 1, 2: counters, 5: 1, 6: ["\u00e9 text", b"\x00\xff", ""]})
    groups = [{1: "test", 3: [1, 7, 1], 4: [2, 3, 1]}, {1: "test", 2: 1, 3: [1, 7, 1], 4: [1, 7, 0]},
              {1: "test", 2: 2 | 4, 3: [6, 2, 1], 4: [4, 1, 0]}]
    r.body(SCHEMA, {3: 1, 4: groups})
    r.body(INSTANCES, {1: START, 4: [4, 10**9]})
    ticks = [START, START + 10**9, START + 3 * 10**9]
    values = {
        "t.u64": [0, (1 << 64) - 1, 1 << 63], "t.s64": [-1, -(1 << 63), (1 << 63) - 1],
        "t.f64": [0.1, -1e300, 5e-324], "t.text": [1, 3, 1], "t.bytes": [2, 2, 2],
        "narrow": [(1 << 32) - 1, 0, 1 << 40], "decimal": [1, 2, 3],
    }
    kinds = dict(zip(values, names + ["u64", "u64"]))
    matrix = times(ticks, 3, 20) + [(kinds[n], [v, v[::-1], v]) for n, v in values.items()]
    # One band for a stretch of equal width and plain type.
    flat = list(values)
    as_list = times(ticks, 1, 0)
    for n in flat:
        kind = kinds[n] if kinds[n] in ("s64", "f64") else "u64"
        width = 32 if n == "narrow" else 64
        if as_list[2:] and (as_list[-1][0], last) == (kind, width):
            as_list[-1] = kind, as_list[-1][1] + [values[n]]
        else:
            as_list.append((kind, [values[n]]))
        last = width
    perf = times(ticks, 1, 0) + [("u64", [[7, 8, 9]]), ("u64", [[6, 7, 8]])]
    perf += [(kinds[n], [values[n]]) for n in flat[5:]]
    r.chunk([(1, matrix, [1, 2, 1005, 4, 1, 4]), (2, as_list, []), (3, perf, [0, 1, 10])], ticks)
    r.end()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "types.pmr")
        r.save(path)
        subprocess.run([pmrep, "check", path], check=True)
        out = subprocess.run([pmrep, "dump", "--format=json", path], check=True, stdout=subprocess.PIPE, text=True)
    got = [x for x in map(json.loads, out.stdout.splitlines()) if x["is"] == "value"]

    strings = {1: "\u00e9 text", 2: "00ff", 3: ""}
    missing = {(1, "t.u64", 0, 1): "errno-5", (1, "t.u64", 0, 2): "errno-5", (1, "t.u64", 2, 1): "offline",
               (3, "narrow", 0, 0): "not-read"}
    want = []
    for row, tick in enumerate(ticks):
        for group, columns, late, which in ((1, 3, 20, flat), (2, 1, 0, flat), (3, 1, 0, flat[5:])):
            for n in which:
                for c in range(columns):
                    v = (values[n][::-1] if c == 1 else values[n])[row]
                    one = {"is": "value", "counter": n, "scope": "system" if group == 2 else "cpu"}
                    if group != 2:
                        one["number"] = 4 if group == 3 else (0, 1, 4)[c]
                    one["instance"] = {1: 2 + c, 2: 1, 3: 4}[group]
                    status = missing.get((group, n, c, row))
                    if not status:
                        one["value"] = strings[v] if kinds[n] in ("text", "bytes") else v
                    one.update(status=status or "ok", begin=tick + late * c + 100, end=tick + late * c + 350)
                    if group == 3:
                        one.update(enabled=7 + row, running=6 + row)
                    want.append(one)
    assert len(got) == len(want), (len(got), len(want))
    for a, b in zip(got, want):
        assert a == b, "pmrep reads %s, written was %s" % (a, b)
    print("%d values of %d types, %d of them missing" % (len(want), len(values), len(missing)))


def major(path, out):
    with open(path, "rb") as f:
        data = bytearray(f.read())
    first = decode.Frame(bytes(data), 0)
    # The payload and its checksum are the frame's last parts; before them stands the head's checksum.
    end = first.length - 5 - len(first.payload) - len(cbor2.dumps(len(first.payload)))
    data[12] += 1
    data[end - 5:end] = checksum(bytes(data[:end - 5]))
    with open(out, "wb") as f:
        f.write(data)


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in ("hostile", "types", "major"):
        sys.exit(__doc__)
    globals()[sys.argv[1]](*sys.argv[2:])
