"""What the tests of both guests share: the results of a boot, recordings as pmrep shows them, and lists of checks."""
import collections
import csv
import io
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from dump import Dump  # noqa: E402, pylint: disable=wrong-import-position

SKIPPED = 77
BIN = os.environ.get("PM_BIN", os.path.join(HERE, "../../../build/bin"))
FOLDER = os.environ.get("PM_GUEST", os.path.join(HERE, "../../../build/guest"))


class Guest:
    """Results of one boot: guest.status[name] = (expected, actual), guest.text(name), guest.recording(name)."""

    def __init__(self, name):
        if os.path.exists(f"{FOLDER}/skipped"):
            print(open(f"{FOLDER}/skipped").read(), end="")
            sys.exit(SKIPPED)
        self.folder = f"{FOLDER}/out.{name}"
        self.status, self.seconds = {}, {}
        for line in open(f"{self.folder}/status"):
            line, expected, actual, start, end = line.split()
            self.status[line] = int(expected), int(actual)
            self.seconds[line] = float(end) - float(start)

    def path(self, name):
        return f"{self.folder}/{name}.pmr"

    def text(self, name, kind="out"):
        with open(f"{self.folder}/{name}.{kind}", errors="replace") as f:
            return f.read()

    def recording(self, name):
        return Recording(self.path(name))

    def stat(self, name, *args):
        """What `pmrep stat` says of a recording: its lines."""
        return [line for line in pmrep("stat", *args, self.path(name)).splitlines() if line]

    def check_statuses(self):
        for name, (expected, actual) in self.status.items():
            told = self.text(name, "err").strip()[-600:]
            yield f"{name} ends with {expected}", actual == expected, f"{actual}; {told}"


def pmrep(*args, status=0, both=False):
    done = subprocess.run([f"{BIN}/pmrep", *args], capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != status:
        raise AssertionError(f"pmrep {' '.join(args)} ended with {done.returncode}: {done.stderr}")
    return done.stdout + (done.stderr if both else "")


Value = collections.namedtuple("Value", "value status begin end enabled running")


class Recording(Dump):
    """What `pmrep dump` says: series[counter, CPU of its place] = [Value]."""

    def __init__(self, path):
        self.path = path
        super().__init__(pmrep("dump", "--format=json", path).splitlines())

    def reading(self, row):
        value = int(row["value"]) if row.get("value") is not None else None
        return Value(value, row["status"], row["begin"], row["end"], row.get("enabled"), row.get("running"))

    def perf_counters(self):
        return [name for name, c in self.counters.items() if c["source"] == "perf"]

    def rate(self, counter):
        """Counts per ns in which the counter ran, and the share of time in which it did."""
        total = running = enabled = 0
        for (name, _), rows in self.series.items():
            if name != counter:
                continue
            for a, b in zip(rows, rows[1:]):
                if a.status == b.status == "ok":
                    total += b.value - a.value
                    running += b.running - a.running
                    enabled += b.enabled - a.enabled
        if not running:
            return None, 0
        return total / running, running / enabled

    def metrics(self, *args):
        """{(scope, package, device, metric): (value or None, unit, status)} of the whole time."""
        rows = csv.DictReader(io.StringIO(pmrep("--total", "--format=csv", *args, self.path)))
        return {(r["scope"], r["package"], r["device"], r["metric"]):
                (float(r["value"]) if r["value"] else None, r["unit"], r["status"]) for r in rows}


class Checks:
    """Prints what is checked and how it came out; leaves with 1 at the end if anything failed."""

    def __init__(self):
        self.good, self.bad = 0, []

    def check(self, what, good, found=""):
        if good:
            self.good += 1
        else:
            self.bad.append(what)
            print(f"FAILED {what}: {found}")

    def near(self, what, found, expected, tolerance=.005):
        good = found is not None and abs(found - expected) <= tolerance * abs(expected)
        self.check(what, good, f"{found}, not {float(expected):.6g}" +
                   (f" ({(found / expected - 1) * 100:+.2f} %)" if found is not None and expected else ""))

    def run(self, section, function, *args):
        """One section: a check that cannot even be made fails, and the others go on."""
        before = self.good, len(self.bad)
        try:
            function(self, *args)
        except Exception as e:  # pylint: disable=broad-except
            self.check(section, False, f"{type(e).__name__}: {e}")
        print(f"{section}: {self.good - before[0]} good, {len(self.bad) - before[1]} bad")

    def end(self):
        print(f"{self.good} checks good, {len(self.bad)} bad")
        sys.exit(1 if self.bad or not self.good else 0)
