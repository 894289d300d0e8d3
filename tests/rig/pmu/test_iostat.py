#!/usr/bin/python3
"""test_iostat.py: perf stat --iostat beside ours on an emulated server whose IIO PMUs name their ports: the same lines, statuses and
streams but for numbers, and numbers in the proportions that were programmed; refused where no PMU names a port. Events of several PMUs have
the name that was typed."""
import os
import re
import shlex
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import machine  # noqa: E402
import test_dropin  # noqa: E402
import test_pmu  # noqa: E402

FORMAT = {"event": "config:0-7", "umask": "config:8-15", "ch_mask": "config:36-43", "fc_mask": "config:44-46"}
EVENTS = [f"event={event},umask={umask},ch_mask=0xf,fc_mask=0x7" for event in ("0x83", "0xc0") for umask in ("0x04", "0x01")]
STACKS = 3
OURS = os.path.join(test_pmu.BIN, "pmrec") + " perfstat"

LINES = ["--iostat=list", "--iostat=list true", "--iostat sleep .1", "--iostat -x, sleep .1", "--iostat -x';' sleep .1",
         "--iostat=0000:17,0:80 -a sleep .1", "-C 0,2 --iostat sleep .1", "--iostat -a -A sleep .1", "--iostat -r 2 -a sleep .05",
         "--iostat -I 100 --interval-count 2 sleep 5", "--iostat -I 100 -x, --interval-count 2", "--iostat --timeout 100 -a",
         "-a -x, -e uncore_imc/event=0x04,umask=0x03/,uncore_imc/event=0x5/ sleep .05"]
REFUSED = ["--iostat=foo sleep .1", "--iostat=0:ff sleep .1", "--iostat=0:ff,0:17 -x, sleep .1", "--iostat -e cs -x, sleep .1",
           "--iostat=zz:1", "--iostat --per-socket sleep .1"]
NOWHERE = ["--iostat", "--iostat=list", "--iostat -a sleep .1", "--iostat=0:17 true"]


def emulated():
    m = machine.Machine("skylakex")
    for i in range(STACKS):
        rates = {EVENTS[0]: 1e9 * (i + 1), EVENTS[1]: 2e9, EVENTS[2]: 3e9, EVENTS[3]: 5e8}
        m.table.PMUS[f"uncore_iio_{i}"] = {"type": 300 + i, "kind": "uncore", "general": 4, "format": FORMAT, "rates": rates}
    return m


def write_ports(folder, m):
    for i in range(STACKS):
        for die in m.packages:
            machine.text(folder, f"{machine.DEVICES}/uncore_iio_{i}/die{die}", f"0000:{die * 0x80 + i * 0x17:02x}")
        # Where perf 6.1 looks for it.
        os.symlink(f"../bus/event_source/devices/uncore_iio_{i}", os.path.join(folder, f"sys/devices/uncore_iio_{i}"))


def without_command(text):
    """perf says, too, how long the command ran."""
    return re.sub(r"\n +[\d.]+ seconds user\n +[\d.]+ seconds sys\n\n", "", text)


def check_rates(m, text):
    """Cells of a port by that of outbound reads, which is 3e9 everywhere but for the factor of the package."""
    wrong, rows = [], re.findall(r"^(0000:[0-9a-f]+) +(\d+) +(\d+) +(\d+) +(\d+)", text, re.M)
    for port, *cells in rows:
        die, stack = divmod(int(port[5:], 16), 0x80)
        rates = [m.rate_at(f"uncore_iio_{stack // 0x17}", e, m.cpus.index(die)) for e in EVENTS]
        for cell, rate in zip(cells, rates):
            expected = int(cells[2]) * rate / rates[2]
            if abs(int(cell) - expected) > 1.1:
                wrong.append(f"port {port}: {cells}, which are as {rates}")
    return wrong if len(rows) == 2 * STACKS else [f"{len(rows)} ports: {text}"]


def main():
    m, wrong = emulated(), []
    with tempfile.TemporaryDirectory(prefix="pm-pmu-") as folder:
        m.write(folder)
        runner = test_pmu.Runner(folder, m)
        if runner.run("true").returncode or runner.run("perf", "stat", "-e", "dummy", "true").returncode:
            test_pmu.skip("libfakepmu.so cannot be loaded, or there is no perf")
        run = lambda line, program: runner.run(*program.split(), *shlex.split(line))

        def beside(line, shape):
            theirs, ours = run(line, "perf stat"), run(line, OURS)
            if shape:
                theirs.stderr = without_command(theirs.stderr)
                return test_dropin.differences(line, theirs, ours)
            they, we = ((bool(done.returncode), bool(done.stderr)) for done in (theirs, ours))
            return [] if they == we else [f"{they} and {we}"]

        for lines, shape in ((NOWHERE, False), (LINES, True), (REFUSED, False)):
            if lines is LINES:
                write_ports(folder, m)
            for line in lines:
                wrong += [f"{line}: {text}" for text in beside(line, shape)]
        wrong += check_rates(m, run("--iostat sleep .3", OURS).stderr)
    for line in wrong:
        print("wrong:", line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
