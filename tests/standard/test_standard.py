#!/usr/bin/python3
"""An independent writer and reader of format/SPEC.md, both ways against pmrep.

    test_standard.py PMREP [COUNT [FIRST]]   COUNT random recordings, from seed FIRST on
    test_standard.py PMREP FILE...           recordings of other writers
    test_standard.py --write SEED FILE       one random recording

Of each random recording: check finds nothing, dump and the reader find every definition, row and value that was written, and
so they do in what repair, cut and redact make of it. One recording in four is of a later version, and what that adds is named
newer. Of a second one, show has the differences, sums, means and maxima. Nothing here shares code with the programs.
"""

import collections
import json
import os
import random
import sys
import tempfile

sys.dont_write_bytecode = True
try:
    from codec import Band, Row, unpack
    from dumped import agree, dump, dump_matches, run
    from reader import Reader, broken_duties, shown, values
    from sums import check, sums
    from worlds import World
except ImportError as e:
    print("skipped: %s" % e)
    sys.exit(77)

COPIES = ("repair", "cut", "redact")


def examples():
    """Those of "Packed columns"."""
    bands = [Band(0, 1, ref="tick"), Band(1, 1, ref=0), Band(2, 6)]
    one = unpack(bytes.fromhex("000103000003000000"), b"\x0a", 1, bands, [1000000], Row(990000, [990041, 990050, 5, 70, 6, 300, 0, 12], [0] * 8))
    assert [x for x, in one] == [1000040, 1000052, 5, 70, 9, 300, 0, 12]
    two, = unpack(bytes.fromhex("008105"), bytes.fromhex("4405"), 8, [Band(0, 1)], [0] * 8, None)
    assert two == [10, 20, 31, 41, 52, 62, 73, 83]


def make(seed):
    world = World(random.Random(seed), exotic=seed % 10 != 0, future=seed % 4 == 1)
    world.live(20)
    return world


def facts(reader, redacted):
    """All values, without what a copy may change: the order inside a row, and the names, texts and clocks of a redacted one."""
    found = collections.Counter()
    for recording, c, row, g, counter, instance, number, reason, times in values(reader):
        k = recording.counter(counter)
        value, none = (None, reason) if reason else shown(recording, k, number)
        if redacted:
            found[None if value is None or isinstance(value, (str, bytes)) else repr(value)] += 1
        else:
            found[c.ticks[row], k.name, repr(value), none, tuple(times) if none != 12 else ()] += 1
    return found


def one(pmrep, seed, folder):
    world = make(seed)
    path, copy = os.path.join(folder, "a.pmr"), os.path.join(folder, "b.pmr")
    with open(path, "wb") as f:
        f.write(world.out)
    out, _ = run(pmrep, "check", "--format=json", path, code=(0, 1))
    said = json.loads(out)
    damage = [d for d in said["damage"] if d["kind"] != "no-end"]
    assert not damage, "check: %s" % damage[:3]
    assert said["newer"] or not world.newer, "check is silent about what is newer"
    dump_matches(world, dump(pmrep, path, (0, 3)))
    reader = Reader(world.out)
    assert not reader.damage, "the reader: %s" % reader.damage[:3]
    expected = [(c["ticks"][r], g.id, counter, instance, number, reason, times)
                for c, r, g, counter, instance, number, reason, times in world.expected()]
    found = [(c.ticks[r], g.id, counter, instance, number, reason, times)
             for _, c, r, g, counter, instance, number, reason, times in values(reader)]
    assert expected == found, "the reader finds other values"
    if not found:
        return 0
    command = COPIES[seed % len(COPIES)]
    _, text = run(pmrep, command, "--overwrite", "-o", copy, path, code=(0,) if reader.recordings[0].ended else (0, 3))
    assert "newer than this program" in text or not world.newer, "%s is silent about what is newer: %s" % (command, text)
    with open(copy, "rb") as f:
        after = Reader(f.read())
    assert not after.damage, "%s: %s" % (command, after.damage[:3])
    assert not list(broken_duties(after)), "%s: %s" % (command, list(broken_duties(after))[:3])
    before, now = (facts(r, command == "redact") for r in (reader, after))
    assert before == now, "%s changes values: %s become %s" % (command, list(before - now)[:3], list(now - before)[:3])
    if command != "redact":
        before, now = ({i.retired for x in r.recordings for i in x.all_instances.values() if i.retired} for r in (reader, after))
        assert now <= before, "%s invents retirements: %s" % (command, list(now - before)[:3])
    counted = sums(random.Random(seed))
    with open(path, "wb") as f:
        f.write(counted.out)
    return len(found) + check(pmrep, counted, path)


def main(pmrep, *arguments):
    examples()
    failures = n = 0
    if arguments and not arguments[0].isdigit():
        for path in arguments:
            with open(path, "rb") as f:
                reader = Reader(f.read())
            try:
                assert not reader.damage, reader.damage[:3]
                assert not list(broken_duties(reader)), list(broken_duties(reader))[:3]
                n += agree(reader, dump(pmrep, path, (0, 3)))
            except AssertionError as e:
                failures += 1
                print("%s: %s" % (path, e))
        print("%d files, %d values, %d failures" % (len(arguments), n, failures))
        return failures > 0
    count, first = (int(x) for x in (arguments + ("200", "1")[len(arguments):]))
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            try:
                n += one(pmrep, seed, folder)
            except Exception as e:    # of any kind: the seed leads back to it
                failures += 1
                print("seed %d: %s: %s" % (seed, type(e).__name__, str(e)[:1500]))
                if failures == 10:
                    break
    print("seeds %d to %d: %d values, %d failures" % (first, first + count - 1, n, failures))
    return failures > 0


if __name__ == "__main__":
    if sys.argv[1] == "--write":
        with open(sys.argv[3], "wb") as f:
            f.write(make(int(sys.argv[2])).out)
        sys.exit(0)
    sys.exit(main(*sys.argv[1:]))
