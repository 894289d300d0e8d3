"""Emulated machines for tests: mounts one, records on it, reads the recording and the log of what was read."""
import collections
import os
import shutil
import subprocess
import sys
import tempfile
import time

from dump import Dump

SKIPPED = 77

BIN = os.environ.get("PM_BIN", os.path.join(os.path.dirname(__file__), "../../build/bin"))
TESTS = os.environ.get("PM_TESTS", os.path.join(os.path.dirname(__file__), "../../build/tests"))


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def need():
    """What the rig cannot do without; leaves with the code that ctest takes for "skipped"."""
    if not os.path.exists(os.path.join(TESTS, "fakemsr")):
        skip("fakemsr was not built: libfuse3-dev is missing")
    if not os.access("/dev/fuse", os.R_OK | os.W_OK) or not shutil.which("fusermount3"):
        skip("no FUSE here")
    if os.geteuid():
        skip("not root")


class Mounted:
    """with Mounted(machine) as m: m.root is what --root takes."""

    def __init__(self, machine):
        self.machine = machine

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="pm-rig-")
        self.root = os.path.join(self.folder, "root")
        os.mkdir(self.root)
        profile = os.path.join(self.folder, "profile")
        with open(profile, "w") as f:
            f.write(self.machine.profile)
        self.errors = open(os.path.join(self.folder, "errors"), "w+")
        self.process = subprocess.Popen([os.path.join(TESTS, "fakemsr"), profile, self.root],
                                        stdout=self.errors, stderr=self.errors)
        for _ in range(200):
            if os.path.isdir(os.path.join(self.root, "dev/cpu")) or self.process.poll() is not None:
                break
            time.sleep(.05)
        if not os.path.isdir(os.path.join(self.root, "dev/cpu")):
            self.errors.seek(0)
            text = self.errors.read()
            died = self.process.poll() is not None
            self.__exit__()
            # Containers often have the device and may not mount.
            if died and "not permitted" in text:
                skip("FUSE may not mount here")
            raise RuntimeError(f"the machine did not come up: {text}")
        return self

    def __exit__(self, *_):
        subprocess.run(["fusermount3", "-q", "-u", "-z", self.root], check=False)
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait()
        self.errors.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def control(self, *lines):
        with open(os.path.join(self.root, "control"), "w") as f:
            f.write("\n".join(lines) + "\n")

    def log(self):
        """{(address, cpu): reads}, failed reads apart, and {file: reads}."""
        good, failed, files = collections.Counter(), collections.Counter(), collections.Counter()
        with open(os.path.join(self.root, "access_log")) as f:
            for line in f:
                if line.startswith("file "):
                    _, path, _, reads = line.split()
                    files[path] += int(reads)
                    continue
                kind, address, _, cpu, _, reads = line.split()
                (good if kind == "msr" else failed)[int(address, 16), int(cpu)] += int(reads)
        return good, failed, files

    def command(self, *args):
        return [os.path.join(BIN, "pmrec"), "--quiet", "--overwrite", "--root", self.root, "-o", self.path(), *args]

    def path(self):
        return os.path.join(self.folder, "x.pmr")

    def record(self, *args):
        done = subprocess.run(self.command(*args), capture_output=True, text=True, timeout=120)
        if done.returncode:
            raise AssertionError(f"pmrec ended with {done.returncode}: {done.stderr}")
        return Recording(self.path())


class Recording(Dump):
    """What `pmrep dump` says: series[counter, CPU of its place] = [(value or None, status, begin, end)]."""

    def __init__(self, path):
        dump = subprocess.run([os.path.join(BIN, "pmrep"), "dump", "--format=json", path], capture_output=True,
                              text=True, check=True, timeout=120)
        super().__init__(dump.stdout.splitlines())

    def change(self, counter, cpu, edge=10):
        """(difference, seconds) of a counter from start to end, each where the reading was least disturbed."""
        rows = [(int(v), b, e) for v, status, b, e in self.series[counter, cpu] if status == "ok"]
        if len(rows) < 2 * edge:
            raise AssertionError(f"{counter} of CPU {cpu}: {len(rows)} values")
        width, total = self.counters[counter]["width"], 0
        sums = [0]
        for (a, _, _), (b, _, _) in zip(rows, rows[1:]):
            total += (b - a) % 2**width
            sums.append(total)
        best = lambda part: min(part, key=lambda i: rows[i][2] - rows[i][1])
        first, last = best(range(edge)), best(range(len(rows) - edge, len(rows)))
        middle = lambda i: (rows[i][1] + rows[i][2]) / 2
        return sums[last] - sums[first], (middle(last) - middle(first)) / 1e9
