#!/usr/bin/python3
"""What standard error says of a member that was never read, and which marks tables have: said.py PMREP"""

import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
try:
    import known
except ImportError as e:
    print("skipped: %s" % e)
    sys.exit(77)


def main(pmrep):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "lost.pmr")
        known.CASES["members_lost"](path)

        def show(*options):
            done = subprocess.run([pmrep, "show", "--show=test.n", "-S", *options, path], capture_output=True, text=True)
            return done.returncode, done.stderr.splitlines()
        for mode in "--total", "--all":
            code, said = show(mode)
            assert code == 0 and len(said) == 1, (code, said)
            for word in "test.n", "CPU 2", "errno-24", "ulimit -n":
                assert word in said[0], said
            assert "CPU 1" not in said[0], said
            assert show(mode, "-q") == (0, []), show(mode, "-q")
            assert show(mode, "--strict")[0] == 3 and show(mode, "--strict", "-q") == (3, [])
        known.CASES["missed"](path)
        assert show("--total") == (0, []), show("--total")
        # An interval that is bounded by a reading that took long, and one that lacks a CPU for half of its time.
        for case, options, mark in (("interrupted", ("--all", "--rate"), "?"), ("missed", ("--every=4", "--per-cpu"), "~")):
            known.CASES[case](path)
            done = subprocess.run([pmrep, "show", "--show=test.n", "--format=table", *options, path], capture_output=True, text=True)
            *lines, legend = done.stdout.splitlines()
            marked = [line.split()[-1] for line in lines if mark in line]
            assert marked and all(m[0] == mark for m in marked) and len(marked) < len(lines) - 1, (case, done)
            assert legend.startswith(mark + " ") and "; " not in legend, legend
            # turbostat's text has neither.
            plain = subprocess.run([pmrep, "show", "--show=test.n", "-q", "--format=turbostat", *options, path], capture_output=True, text=True)
            assert len(plain.stdout.splitlines()) > 1 and not set("~?") & set(plain.stdout), plain


main(sys.argv[1])
