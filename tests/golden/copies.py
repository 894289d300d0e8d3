#!/usr/bin/python3
"""What pmrep cut, merge, repair and redact take over, against what the second reader finds before and after.

    copies.py PMREP FILE...     beside the FILEs recordings of its own, with a key of every kind

A copy has the definitions of its original in their order, whatever their numbers; each value of its time; and the events
of its time. What two parts of a recording have is, merged, what the whole has.
"""

import csv
import gzip
import io
import os
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
try:
    import cbor2
    import decode
    import encode
    import facts
    import redacted
except ImportError as e:
    print("skipped: %s" % e)
    sys.exit(77)

failures = []


def check(where, ours, theirs):
    if ours != theirs:
        if isinstance(ours, list) and isinstance(theirs, list):
            n = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b), min(len(ours), len(theirs)))
            ours, theirs, where = ours[n:n + 1], theirs[n:n + 1], "%s, %d and %d, first at %d" % (where, len(ours), len(theirs), n)
        failures.append("%s: %.400r, and not %.400r" % (where, theirs, ours))


def fact(m):
    return sorted((k, repr(v)) for k, v in m.items())


def instance(i):
    return i.kind, i.number, i.cpu, i.added, tuple(fact(i.attrs))


def counter(c):
    return c._replace(id=0, attrs=fact(c.attrs))


HISTORY = next(k for k, n in facts.KEYS["header"].items() if n == "history")


def definitions(r, header=True):
    return {"counters": [counter(c) for c in r.counters.values()], "instances": [instance(i) for i in r.instances.values()],
            "pmus": [fact(p) for p in r.pmus.values()], "probes": [p._replace(attrs=fact(p.attrs)) for p in r.probes.values()],
            "configs": [c for c in facts.merged(r.configs) if not c.name.startswith("pmrec.cost.")],
            "topology": (r.topology_time, r.topology, r.type_names),
            "header": fact({k: v for k, v in r.header.items() if k != HISTORY}) if header else None}


def groups(r):
    """Of each the instances that it ever had, with its counters."""
    return [(g.source, g.flags, [r.counters[k].name for k in g.counters], [instance(r.instances[k]) for k in g.instances]) for g in r.groups.values()]


def rows(r, from_ns=0, to_ns=1 << 64):
    """(tick, flags, clocks, values) of each snapshot of a time."""
    out = []
    for chunk, row, values in r.snapshots():
        tick = chunk.ticks[row]
        if from_ns <= tick <= to_ns:
            out.append((tick, chunk.flags[row], sorted((v.counter.name, instance(v.instance), v.begin, v.end, v.enabled, v.running, repr(v.value), v.reason)
                                                       for v in values)))
    return out


def events(r, from_ns=0, to_ns=1 << 64):
    return sorted((e.time, e.type, fact({k: v for k, v in e.attrs.items() if k != 7})) for e in r.events if from_ns <= e.time <= to_ns)


def relation(r):
    """How wall time lies to CLOCK_MONOTONIC at each tick's chunk."""
    return {t: (c.clocks.realtime - c.clocks.monotonic, c.run) for c in r.chunks for t in c.ticks}


class Copies:
    def __init__(self, pmrep, folder):
        self.pmrep, self.folder, self.n = pmrep, folder, 0

    def make(self, *words):
        self.n += 1
        path = "%s/copy%d.pmr" % (self.folder, self.n)
        done = subprocess.run([self.pmrep, words[0], "-o", path, *words[1:]], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        if not os.path.exists(path):
            failures.append("%s: nothing made: %s" % (" ".join(words), done.stderr))
            return None
        return path

    def show(self, metrics, path):
        """{metric: [(value, status) of each interval]}"""
        out = subprocess.run([self.pmrep, "show", "--all", "-s", metrics, "--format=csv", path], stdout=subprocess.PIPE, text=True, check=False).stdout
        series = {}
        for line in csv.DictReader(io.StringIO(out)):
            series.setdefault(line["metric"], []).append((line["value"], line["status"]))
        return series

    def compare(self, path):
        r = decode.load(path)
        name, ticks = os.path.basename(path), [t for c in r.chunks for t in c.ticks]
        whole = self.make("cut", "--since=0", path) if not r.damage else self.make("repair", path)
        if whole:
            c = decode.load(whole)
            check(name + ": a copy's end", (True, []), (c.ended, c.damage))
            for k, v in definitions(r).items():
                check("%s: %s" % (name, k), v, definitions(c)[k])
            check(name + ": groups", groups(r), groups(c))
            check(name + ": values", rows(r), rows(c))
            check(name + ": events", events(r), [e for e in events(c) if e[1] != "note" or e in events(r)])
            check(name + ": clocks", relation(r), relation(c))
            said = c.header.get(HISTORY, [])
            check(name + ": history", (r.header.get(HISTORY, []), True), (said[:-1], said[-1].startswith(("cut --since=0", "repair"))))
        if not r.damage:
            self.bundle(path, r)
        if r.damage or len(ticks) < 4:
            return
        # Between two ticks: whole seconds would depend on how a tick at the border is seen.
        middle = (ticks[len(ticks) // 2 - 1] + ticks[len(ticks) // 2]) // 2
        at = "%.9f" % ((middle - ticks[0]) / 1e9)
        first, second = self.make("cut", "--until=" + at, path), self.make("cut", "--since=" + at, path)
        if not first or not second:
            return
        a, b = decode.load(first), decode.load(second)
        check(name + ": values before", rows(r, to_ns=middle), rows(a))
        check(name + ": events before", [e for e in events(r, to_ns=middle) if e[1] != "gone"], [e for e in events(a) if e[1] not in ("gone", "note")])
        check(name + ": values behind", rows(r, from_ns=middle)[-len(rows(b)):], rows(b))
        check(name + ": snapshots behind", [t for t in ticks if t >= middle], [t for t, *_ in rows(b)][-sum(t >= middle for t in ticks):])
        for k, v in definitions(r).items():
            # What was known of the machine then; instances and counters come when something is read of them.
            if k in ("pmus", "probes", "header") or (k == "topology" and r.topology_time <= middle):
                check("%s: %s of the first part" % (name, k), v[:len(definitions(a)[k])], definitions(a)[k])

    def bundle(self, path, r):
        """A whole one is the recording in gzip; a small one keeps first and last, in even steps, or fewer counters."""
        whole = self.make("bundle", "--no-redact", path)
        with gzip.open(whole) as f:
            c = decode.Recording(f.read())
        check(path + ": bundled values", rows(r), rows(c))
        check(path + ": bundled history", "bundled", c.header[HISTORY][-1])
        most = os.path.getsize(whole) * 95 // 100
        small = self.make("bundle", "--no-redact", "--max-size=%d" % most, path) if len(rows(r)) > 15 else None
        check(path + ": fits", True, small is None or os.path.getsize(small) <= most)
        if small:
            with gzip.open(small) as f:
                c = decode.Recording(f.read())
            ticks, kept = [t for t, *_ in rows(r)], [t for t, *_ in rows(c)]
            check(path + ": of its own snapshots", [], [t for t in kept if t not in ticks])
            check(path + ": first and last", (ticks[0], ticks[-1]), (kept[0], kept[-1]))


SECOND = 10**9


def two_groups(path, n=6):
    """Counters "one" and "two" of groups and blocks of their own, 50 and 100 a second, in chunks of two snapshots that
    do not depend on one another; returns where the block of "two" ends in each."""
    r, ends = encode.Recording(), []
    r.body(encode.HEADER, {1: "pmrec 1", 13: SECOND, 28: True})
    r.body(encode.INSTANCES, {2: 1, 3: [{1: 0}]})
    r.body(encode.SCHEMA, {1: 1, 2: [{1: "one", 3: "msr", 4: "1"}, {1: "two", 3: "msr", 4: "1"}], 3: 1,
                           4: [{1: "a", 2: 2, 3: [1, 1, 0], 4: [1, 1, 0]}, {1: "b", 2: 2, 3: [2, 1, 0], 4: [1, 1, 0]}]})
    for k in range(n):
        ticks, blocks = [encode.START + (2 * k + row) * SECOND for row in (0, 1)], []
        for rate in (50, 100):
            bands = encode.times(ticks, 1, 0) + [("u64", [[rate * 2 * k, rate * (2 * k + 1)]])]
            arrays = [cbor2.CBORTag(71, struct.pack("<2Q", *columns[0])) for _, columns in bands]
            blocks.append(cbor2.dumps(arrays) + cbor2.dumps([]))
        r.frame(encode.CHUNK, b"".join(blocks),
                {2: 1, 7: 2, 8: SECOND, 9: ticks[0], 11: 2 * k, 14: [ticks[0], ticks[0] + 5, ticks[0] + 7, 0], 16: [1, 2],
                 17: [x for b in blocks for x in (len(b), 0, 0, decode.crc32c(b), 1)], 300: encode.REALTIME + ticks[0] - encode.START})
        ends.append(len(r.data) - 5)
    r.end()
    r.save(path)
    return ends


def lost_groups(copies):
    """What is beside a block that damage took loses nothing by a copy, and no difference of the rest spans it."""
    path = copies.folder + "/two.pmr"
    ends = two_groups(path)
    for hit in ((3,), (0,), (5,), (1, 2, 4), range(6)):
        with open(path, "rb") as f:
            data = bytearray(f.read())
        for k in hit:
            data[ends[k] - 2] ^= 1
        os.makedirs(copies.folder + "/bad", exist_ok=True)
        bad = copies.folder + "/bad/two.pmr"
        with open(bad, "wb") as f:
            f.write(data)
        if len(hit) == 6:
            said = subprocess.run([copies.pmrep, "show", "-s", "one,two", copies.make("repair", bad)], stderr=subprocess.PIPE,
                                  stdout=subprocess.DEVNULL, text=True, check=False).stderr
            check("what is said of it", True, ": two of the system: never read" in said)
        for words in (("repair",), ("cut", "--since=0"), ("merge",), ("redact",)):
            name = "%s with chunks %s torn" % (" ".join(words), hit)
            copy = copies.make(*words, bad)
            if not copy:
                continue
            c = decode.load(copy)
            check(name + ": damage, segments", ([], [0] * 6), (c.damage, [chunk.segment for chunk in c.chunks]))
            check(name + ": lost", [[2] if k in hit else [] for k in range(6)], [chunk.lost for chunk in c.chunks])
            lost = {row for k in hit for row in (2 * k, 2 * k + 1, 2 * k + 2)}
            shown = copies.show("one,two", copy)
            check(name + ": one", [("50", "ok")] * 11, shown["one"])
            check(name + ": two", [("", None) if row in lost else ("100", "ok") for row in range(1, 12)],
                  [(v, s if v else None) for v, s in shown["two"]])
            again = copies.make("repair", copy)
            check(name + ": again", [c.lost for c in c.chunks], [c.lost for c in decode.load(again).chunks])


def main(pmrep, *paths):
    with tempfile.TemporaryDirectory() as folder:
        facts.machine(folder + "/machine.pmr")
        data, _ = redacted.build(redacted.Canaries())
        with open(folder + "/canaries.pmr", "wb") as f:
            f.write(data)
        copies = Copies(pmrep, folder)
        lost_groups(copies)
        for path in [folder + "/machine.pmr", folder + "/canaries.pmr", *paths]:
            copies.compare(path)
        print("%d copies" % copies.n)
    for f in failures[:40]:
        print(f)
    return bool(failures)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
