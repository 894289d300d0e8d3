#!/usr/bin/env python3
"""turbostat's manual page, sentence by sentence (turbostat.table): ours beside the real program, live and from a recording."""
import os
import re
import subprocess
import sys

import machines
import rig
import test_dropin as beside

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "turbostat.table")
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def rows():
    for line in open(TABLE, encoding="utf-8"):
        if line.strip() and line[0] != "#":
            number, kind, what = (line.rstrip("\n").split("\t") + [""])[:3]
            yield int(number), kind, what


def told_where(kind, what, tests):
    """Whether what a row refers to is there."""
    if kind == "test":
        return what in tests
    page = open(os.path.join(SOURCE, "record", "pmr-differences.7"), encoding="utf-8").read()
    return re.search(rf"^\.It {re.escape(what)}$", page, re.M)


def of_recording(options):
    """A line that records, then shows the recording."""
    later = re.sub(r"--TCC \d+ ?", "", options)
    tcc = re.findall(r"--TCC \d+", options)
    return f"{beside.PMREC} --root=$ROOT -q -i .1 -n 1 -a -e instructions -o f.pmr && " \
           f"{os.path.join(rig.BIN, 'pmrep')} --all --format=turbostat -q {' '.join(tcc)} {later} f.pmr"


def judge(side, m, kind, what):
    if kind == "same":
        return beside.differences(what, side(what, True), side(what, False), beside.not_theirs)
    line = f"@ -q -n 1 -i .1 {what}"
    they, we = side(line, True), side(line, False)
    later = beside.run(of_recording(what).replace("$ROOT", m.root), "", m.folder)
    found = []
    # Of a recording pmrep says which column it lacks.
    later.stderr = re.sub(r"^pmrep: f\.pmr: '.*\n", "", later.stderr, flags=re.M)
    for when, ours in (("", we), ("a recording: ", later)):
        found += [when + text for text in beside.differences(line, they, ours, beside.not_theirs)]
        if kind == "cells":
            found += [when + text for text in beside.check_numbers(they.stdout, ours.stdout)]
    return found


def main():
    name = sys.argv[1]
    listed = subprocess.run(["ctest", "-N"], cwd=rig.TESTS, capture_output=True, text=True).stdout
    tests = re.findall(r"Test +#\d+: (\S+)", listed)
    rig.need()
    if not beside.TURBOSTAT_PROGRAM:
        rig.skip("no turbostat")
    wrong, judged = [], 0
    with rig.Mounted(machines.build(name)) as m:
        side = beside.turbostat_side(m)

        def one(row):
            number, kind, what = row
            if kind == "prose":
                return []
            if kind in ("test", "differs"):
                return [] if told_where(kind, what, tests) else [f"there is no {what}"]
            return judge(side, m, kind, what)

        table = list(rows())
        for row, found in zip(table, beside.each_found(table, one)):
            judged += row[1] in ("same", "both", "cells")
            wrong += [f"line {row[0]}: {row[1]} {row[2]}: {text}" for text in found]
    if judged < 90:
        wrong.append(f"only {judged} rows were compared")
    for line in wrong:
        print("wrong:", line)
    kinds = [kind for _, kind, _ in table]
    print(f"{len(table)} rows: " + ", ".join(f"{kinds.count(k)} {k}" for k in ("same", "both", "cells", "differs", "test", "prose")))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
