#!/usr/bin/python3
"""Files of an imaginary 1.1 and 2.0, of every kind, read by the programs of today: newer.py PMREP

What a reader need not know is shown as the plain number; what it must not compute with is named "newer", is no sum and no
damage; what stands beside it is as it would be without it.
"""

import csv
import json
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import encode
from encode import CHUNK, CONFIG, HEADER, INSTANCES, SCHEMA, START, Recording, cbor2, times

SECOND = 10**9
TICKS = [START + i * SECOND for i in range(3)]
PLAIN = [[100, 110, 120], [200, 220, 240]]  # of CPU 0 and 1
LEVEL = [[7, 8, 9], [70, 80, 90]]


def recording(counter=None, attrs=None, group=None, instance=None, header=None, kind=7, recording_id=b"\x11" * 8, before=(),
              chunk=None, major=1, wide=False, words=False, level=LEVEL):
    """Two CPUs, a counter that everybody knows ("known") and one of a later version ("later") in groups of their own; and
    a third thing of a kind of its own."""
    r = Recording(recording_id, major)
    r.body(HEADER, {1: "pmrec 9", 2: 1, 13: SECOND, 28: True, **(header or {})})
    for frame, payload, meta in before:
        r.frame(frame, payload, meta)
    r.body(INSTANCES, {2: 1, 3: [{1: 7, 2: 0, 3: 0}, {1: 7, 2: 1, 3: 1}, {1: kind, 2: 0, 6: {1: "thing"}, **(instance or {})}]})
    attributes = {2: True, **(attrs or {})}
    r.body(SCHEMA, {1: 1, 2: [{1: "known", 3: "test", 4: "1", 7: 2, 10: {2: True}},
                              {1: "later", 3: "test", 4: "1", 7: 2, 10: attributes, **(counter or {})},
                              {1: "of.thing", 3: "test", 4: "1", 7: 2, 10: {2: True}}],
                    3: 1, 4: [{1: "test", 3: [1, 1, 0], 4: [1, 2, 1]}, {1: "test", 3: [2, 1, 0], 4: [1, 2, 1], **(group or {})},
                              {1: "test", 3: [3, 1, 0], 4: [3, 1, 0]}], 5: 1, 6: ["word"]})
    later = [("u64", [[1] * 3] * 2 if words else level * (2 if wide else 1))]
    groups = [(1, times(TICKS, 2, 0) + [("u64", PLAIN)], []), (2, times(TICKS, 2, 0) + later, []),
              (3, times(TICKS, 1, 0) + [("u64", [[1, 2, 3]])], [])]
    r.chunk(groups, TICKS, more=chunk)
    r.end()
    return r.data


class Reader:
    def __init__(self, pmrep, folder):
        self.pmrep, self.path = pmrep, os.path.join(folder, "newer.pmr")

    def run(self, *args, status=0):
        out = subprocess.run([self.pmrep, *args, self.path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert out.returncode == status, (args, out.returncode, out.stdout, out.stderr)
        return out

    def look(self, data, notes, later, status="ok", total=None, total_status="ok", thing=(1, 2, 3), known=True, shown=90,
             status_of_row=""):
        """What check, dump, show and cut say of it. later: the raw numbers of CPU 1, or None; total: what show makes of both
        CPUs; notes: words of each line that names what is newer."""
        with open(self.path, "wb") as f:
            f.write(data)
        check = json.loads(self.run("check", "--format=json").stdout)
        assert check["good"] and not check["damage"], check
        assert len(check["newer"]) == len(notes), (check["newer"], notes)
        for line, words in zip(check["newer"], notes):
            assert words in line and "newer than this program" in line, (line, words)
        assert ("newer than this program" in self.run("list").stderr) == bool(notes), notes
        assert json.loads(self.run("info", "--format=json").stdout)["newer"] == check["newer"]
        for copied in (False, True):
            dump = [json.loads(x) for x in self.run("dump", "--format=json").stdout.splitlines()]
            values = [x for x in dump if x["is"] == "value"]
            got = [x for x in values if x["counter"] == "later" and x["number"] == 1]
            assert [x.get("value") for x in got] == (later or [None] * 3) and {x["status"] for x in got} == {status}, got
            assert [x.get("value") for x in values if x["counter"] == "of.thing"] == list(thing), values
            assert [x.get("value") for x in values if x["counter"] == "known" and x["number"] == 1] == \
                (PLAIN[1] if known else [None] * 3), values
            out = self.run("show", "--format=csv", "--all")
            rows = {(r["metric"], r["cpu"]): r for r in csv.DictReader(out.stdout.splitlines())}
            for cpu, number, why in (("", total, total_status), ("1", later and shown, status if status_of_row == "" else None)):
                row = rows.get(("later", cpu))
                want = ("" if number is None else str(number), why)
                assert row is None and why is None or row and (row["value"], row["status"]) == want, (row, want, out.stdout)
            if not copied:
                assert all(words in out.stderr for words in notes), (notes, out.stderr)
                self.run("cut", "-o", self.path + ".cut")
                os.replace(self.path + ".cut", self.path)


def every_command(r):
    """No command calls it damage, or adds up what must not be; all that read the file to its end name it."""
    level = [[31337, 31338, 31339], [50021, 50022, 50023]]
    sums = re.compile(r"(?<![0-9])(81358|81360|81362|[0-9.]*e\+0?4)(?![0-9])")
    commands = [["show", "--all"], ["show", "--all", "--total", "-S"]]
    commands += [["show", "--all", "--format=" + x] for x in ("json", "openmetrics")]
    commands += [["show", "--all", "--overwrite", "-o", r.path + ".o", "--format=" + x] for x in ("parquet", "perfetto")]
    commands += [[x, "--overwrite", "-o", r.path + ".o"] for x in ("html", "redact", "repair")]
    commands += [["stat", "-e", "known,later"], ["info", "--all"], ["plot", "known"], ["incidents"], ["dump"]]
    for named, data in ((True, {"counter": {7: 9}}), (True, {"counter": {9: 9}}), (True, {"kind": 20}), (True, {"before": [(12, b"", {})]}),
                        (False, {"counter": {7: 70}}), (False, {"counter": {9: 200}})):
        for words in commands:
            with open(r.path, "wb") as f:
                f.write(recording(level=level, **data))
            out = subprocess.run([r.pmrep, *words, r.path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")
            text = (out.stdout + out.stderr).replace("nothing was damaged", "")
            assert out.returncode == (2 if words[0] == "stat" else 0), (data, words, text)
            assert ("newer than this program" in text) == named, (data, words, text)
            assert "damage" not in text and ("kind" in data or not sums.search(text)), (data, words, text)


def main(pmrep):
    with tempfile.TemporaryDirectory() as folder:
        r = Reader(pmrep, folder)
        every_command(r)
        numbers, words = LEVEL[1], ["word"] * 3
        r.look(recording(), [], numbers, total=99)
        newer = {"later": None, "status": "newer", "total_status": "newer"}
        alone = {"later": numbers, "total_status": None}
        for number in (9, 63, 130):
            # What must not be computed with.
            said = " %d of counter 2, later" % number
            r.look(recording({7: number}), ["semantics" + said], **newer)
            r.look(recording({6: number}), ["type" + said], **newer)
            r.look(recording({9: number}), ["aggregation" + said], numbers, total_status="newer")
            kind = max(number, 12)
            r.look(recording(kind=kind), ["kind %d of instance 3, thing" % kind], numbers, total=99, thing=[None] * 3)
        for number in (64, 79, 200):
            # What need not be known: the number is as it was recorded, and makes no sum.
            r.look(recording({7: number}), [], **alone)
            r.look(recording({6: number}), [], **alone)
            r.look(recording({9: number}), [], **alone)
            r.look(recording(kind=number), [], numbers, total=99)
        for flag in (8, 128, 1 << 16):
            r.look(recording(group={2: flag}), ["flags %d of group 2, test" % flag], **newer)
        for flag in (256, 1 << 31):
            r.look(recording(group={2: flag}), [], numbers, total=99)
        # Keys, by their number; vectors and numbers of 128 bits.
        for key in (80, 189, 285):
            r.look(recording({key: [1]}), ["key %d of counter 2, later" % key], **newer)
            r.look(recording(attrs={key: 1}), ["key %d of counter 2, later" % key], **newer)
            r.look(recording(group={key: 1}), ["key %d of group 2, test" % key], **newer)
            r.look(recording(instance={key: 1}), ["key %d of instance 3" % key], numbers, total=99, thing=[None] * 3)
            r.look(recording(chunk={key: 1}), ["chunks of codec 1, or with keys"], known=False, thing=[None] * 3, **newer)
        for key in (79, 90, 480, 511):
            r.look(recording({key: [1]}, {key: 1}, {key: 1}, {key: 1}, {key: 1}, chunk={key: 1}), [], numbers, total=99)
        r.look(recording({11: 2}, wide=True), ["columns 2 of counter 2, later", "group 2"][:1], **newer)
        # Frames, compressions and codecs.
        for kind in (12, 31, 48, 55):
            r.look(recording(before=[(kind, b"abc", {2: 9})]), ["frames of type %d are newer" % kind], known=False,
                   thing=[None] * 3, **newer)
        for kind in (32, 47, 56, 63, 77):
            r.look(recording(before=[(kind, b"abc", {2: 9})]), ["frames of type %d are newer" % kind], numbers, total=99)
        r.look(recording(before=[(SCHEMA, b"abc", {2: 3})]), ["frames of type 3"], known=False, thing=[None] * 3, **newer)
        r.look(recording(before=[(encode.EVENT, b"abc", {2: 3})]), ["frames of type 9"], numbers, total=99)
        r.look(recording(chunk={2: 2}), ["chunks of codec 2"], known=False, thing=[None] * 3, **newer)
        # A type whose columns are numbers of texts.
        r.look(recording({6: 80}, words=True), [], words, total_status=None, shown=None, status_of_row=None)
        # One recording that cannot be read hides no other.
        one, two = recording(), recording(recording_id=b"\x22" * 8)
        for name, data, words in (
                ("features", recording(header={4: 1 << 5}, recording_id=b"\x33" * 8), "the recording at byte %d uses features"),
                ("a key", recording(header={185: 1}, recording_id=b"\x33" * 8), "the recording at byte %d uses features"),
                ("2.0", recording(recording_id=b"\x33" * 8, major=2), "recordings of major version 2 are newer")):
            for parts in ((one, data, two), (data, one, two), (one, two, data), (one, data, two, data)):
                at = sum(len(x) for x in parts[:parts.index(data)])
                notes = [words % at if "%d" in words else words]
                if parts.count(data) == 2 and "%d" in words:
                    notes += [words % sum(len(x) for x in parts[:3])]
                with open(r.path, "wb") as f:
                    f.write(b"".join(parts))
                check = json.loads(r.run("check", "--format=json").stdout)
                assert check["good"] and check["recordings"] == 2 and len(check["newer"]) == len(notes), (name, check)
                assert all(a in b for a, b in zip(notes, check["newer"])), (notes, check)
                out = r.run("show", "--format=csv", "--all")
                rows = [x["value"] for x in csv.DictReader(out.stdout.splitlines()) if (x["metric"], x["cpu"]) == ("later", "")]
                assert rows == ["88", "99"] * 2 and notes[0] in out.stderr, (rows, out.stderr)
            with open(r.path, "wb") as f:
                f.write(data)
            out = r.run("show", status=2)
            assert ("major version 2" if name == "2.0" else "features newer than this program") in out.stderr, out.stderr
        # A scale is a number.
        for scale, good in (("1e-6", True), (".5", True), ("abc", False), ("nan", False), ("1e400", False), ("-1", False), ("0", False),
                            ("", False), ("0x10", False)):
            with open(r.path, "wb") as f:
                f.write(recording({5: scale}))
            check = json.loads(r.run("check", "--format=json", status=0 if good else 1).stdout)
            assert check["good"] == good, scale
            assert good or "schema" in check["damage"][0]["text"], (scale, check)
        # What a seek passes over counts as well.
        with open(r.path, "wb") as f:
            f.write(recording(before=[(12, b"", {})]))
        out = r.run("show", "--since=-1", "--format=csv", "--all")
        assert {x["status"] for x in csv.DictReader(out.stdout.splitlines())} <= {"newer"}, out.stdout


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
