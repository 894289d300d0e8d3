#!/usr/bin/python3
"""Every formula of perf's own metric files, beside an evaluator that shares no code with ours.

usage: metric_corpus.py EXPR_TOOL FOLDER

FOLDER keeps what was fetched: tools/perf/pmu-events of Debian's linux-source packages, of 6.1 and of the newest that
the archive offers (thresholds came later than 6.1). They are downloaded by apt-get through a state of its own,
nothing is installed. Exit 77 (skipped) names what could not be had.

Each MetricExpr and MetricThreshold has to be a formula, and has to have the value that the evaluator of
tests/unit/tools/expr_diff.py, written from the grammar, has for random inputs, zeros and missing ones among them. Then each
folder of a processor is loaded as a set, where metrics refer to metrics: the formulas that come out have to have the
value of the formulas as they stand in the files.
"""
import glob
import json
import math
import os
import random
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "unit", "tools"))
from expr_diff import NAN, Parser, Refused, evaluate  # noqa: E402

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
SUITES = ["bookworm", "bookworm-backports", "trixie-backports", "sid"]
ROUNDS = 12
SPECIAL = [0.0, 0.0, NAN, 1.0, 2.0, 1e9, 0.3]


def skip(why):
    print("skipped: %s" % why)
    sys.exit(77)


# ---- the archive ----
def apt(state, *arguments, timeout=300):
    env = dict(os.environ, APT_CONFIG=os.path.join(state, "apt.conf"), LC_ALL="C")
    try:
        return subprocess.run(arguments, env=env, cwd=state, capture_output=True, text=True, timeout=timeout)
    except (OSError, subprocess.TimeoutExpired) as e:
        skip("%s: %s" % (arguments[0], e))


def mirror():
    """Where this machine has its Debian from."""
    try:
        found = subprocess.run(["apt-get", "indextargets", "--format", "$(LABEL) $(REPO_URI)"], capture_output=True,
                               text=True, timeout=60).stdout.splitlines()
    except (OSError, subprocess.TimeoutExpired) as e:
        skip("apt-get: %s" % e)
    found = [line.split(" ", 1)[1] for line in found if line.startswith("Debian http")]
    if not found:
        skip("the sources of apt name no mirror of Debian")
    return found[0]


def prepare(state):
    debian = mirror()
    for d in ["lists/partial", "cache/archives/partial"]:
        os.makedirs(os.path.join(state, d), exist_ok=True)
    with open(os.path.join(state, "sources.list"), "w") as f:
        for suite in SUITES:
            f.write("deb [signed-by=%s] %s %s main\n" % (KEYRING, debian, suite))
    with open(os.path.join(state, "apt.conf"), "w") as f:
        f.write('Dir::State "%s";\nDir::State::lists "%s/lists";\nDir::Cache "%s/cache";\n' % (state, state, state))
        f.write('Dir::State::status "/var/lib/dpkg/status";\nDir::Etc::sourcelist "%s/sources.list";\n' % state)
        f.write('Dir::Etc::sourceparts "-";\nAcquire::Languages "none";\nAPT::Sandbox::User "";\n')
    for tool in ["apt-get", "apt-cache", "dpkg-deb", "tar", "xz"]:
        if not shutil.which(tool):
            skip("there is no %s" % tool)
    if not os.path.exists(KEYRING):
        skip("there is no %s" % KEYRING)
    apt(state, "apt-get", "-q", "update")


def version(name):
    return [int(n) for n in re.findall(r"\d+", name)]


def unpack(state, package, folder):
    """Only the tree that is wanted; the name of the folder appears when it is complete."""
    for old in os.listdir(state):
        if old.endswith(".deb"):
            os.unlink(os.path.join(state, old))
    apt(state, "apt-get", "-q", "download", package)
    debs = [d for d in os.listdir(state) if d.startswith(package + "_") and d.endswith(".deb")]
    if not debs:
        skip("%s cannot be downloaded" % package)
    part = folder + ".part"
    shutil.rmtree(part, ignore_errors=True)
    os.makedirs(part)
    pipe = ("dpkg-deb --fsys-tarfile '%s' | tar -xOf - --wildcards './usr/src/linux-source-*.tar.xz' | xz -T0 -dc | "
            "tar -x -C '%s' --strip-components=1 --wildcards '*/tools/perf/pmu-events/arch/*'")
    run = subprocess.run(["bash", "-o", "pipefail", "-c", pipe % (os.path.join(state, debs[0]), part)])
    os.unlink(os.path.join(state, debs[0]))
    if run.returncode:
        skip("%s does not hold tools/perf/pmu-events" % package)
    os.rename(part, folder)


def trees(work):
    """Label and folder of each tree."""
    state = os.path.join(work, "apt")
    names_file = os.path.join(work, "packages")
    if not os.path.exists(names_file):
        os.makedirs(state, exist_ok=True)
        prepare(state)
        found = re.findall(r"^linux-source-\d+\.\d+\b", apt(state, "apt-cache", "search", "--names-only",
                                                            r"^linux-source-[0-9]+\.[0-9]+$").stdout, re.M)
        if "linux-source-6.1" not in found:
            skip("the archive offers no linux-source-6.1")
        chosen = ["linux-source-6.1", max(found, key=version)]
        for package in dict.fromkeys(chosen):
            folder = os.path.join(work, package)
            if not os.path.isdir(folder):
                unpack(state, package, folder)
        with open(names_file, "w") as f:
            f.write("\n".join(dict.fromkeys(chosen)) + "\n")
    with open(names_file) as f:
        return [(n, os.path.join(work, n, "tools/perf/pmu-events/arch")) for n in f.read().split()]


# ---- formulas ----
def objects_of(path):
    with open(path) as f:
        try:
            data = json.load(f)
        except ValueError as e:
            sys.exit("%s: %s" % (path, e))
    return [o for o in data if isinstance(o, dict)] if isinstance(data, list) else []


def objects_in(folder):
    return [o for f in sorted(os.listdir(folder)) if f.endswith(".json") for o in objects_of(os.path.join(folder, f))]


def folders(tree):
    """Each folder with the metrics of its files, what perf makes one table of; ArchStdEvent comes from above."""
    above = {}
    for base, _, _ in sorted(os.walk(tree)):
        above[base] = {o["MetricName"].lower(): o for o in objects_in(base) if "MetricName" in o and "MetricExpr" in o}
        up = os.path.dirname(base)
        standard = {**above.get(os.path.dirname(up), {}), **above.get(up, {})}
        found = [{**standard.get(o.get("ArchStdEvent", "").lower(), {}), **o} for o in objects_in(base)]
        found = [m for m in found if "MetricName" in m and "MetricExpr" in m]
        if found:
            yield base, found


def inputs_of(node, out):
    if node[0] == "input":
        out.add(node[1])
    elif node[0] != "number":
        for child in node[1:]:
            inputs_of(child, out)
    return out


def random_value(rng):
    r = rng.random()
    return rng.choice(SPECIAL) if r < 0.25 else float(rng.randint(0, 10**12)) if r < 0.7 else rng.uniform(0, 100)


def agree(expected, answer):
    got = answer.split(" ", 1)[0]
    if expected != expected or got in ("nan", "error"):
        return expected != expected and got == "nan"
    x = float(got)
    return x == expected or abs(x - expected) <= 1e-9 * max(abs(x), abs(expected)) or \
        (math.isinf(x) and math.isinf(expected))


def ask(tool, lines):
    run = subprocess.run([tool], input="\n".join(lines) + "\n", capture_output=True, text=True)
    if run.returncode:
        sys.exit("%s: status %d: %s" % (tool, run.returncode, run.stderr))
    answers = run.stdout.splitlines()
    if len(answers) != len(lines):
        sys.exit("%d answers to %d lines" % (len(answers), len(lines)))
    return answers


def line_of(text, values):
    return "\t".join([text] + ["%s=%r" % p for p in values.items() if p[1] == p[1]])


class Tally:
    def __init__(self):
        self.values = self.missing = self.wrong = 0

    def note(self, text, expected, answer):
        self.missing += expected != expected
        self.values += expected == expected
        if not agree(expected, answer):
            self.wrong += 1
            if self.wrong <= 10:
                print("formula   %s\nexpected  %r\ngot       %s\n" % (text[:2000], expected, answer))


def compare(tool, texts, rng, tally):
    cases = []
    for text in texts:
        try:
            tree = Parser(text).whole()
        except Refused as e:
            sys.exit("the evaluator refuses %s: %s" % (text, e))
        names = sorted(inputs_of(tree, set()))
        for k in range(ROUNDS):
            # All zero, all missing, then mixtures.
            values = {n: 0.0 if k == 0 else NAN if k == 1 else random_value(rng) for n in names}
            cases.append((text, evaluate(tree, values), values))
    for (text, expected, _), answer in zip(cases, ask(tool, [line_of(t, v) for t, _, v in cases])):
        tally.note(text, expected, answer)


# ---- sets ----
class Loop(Exception):
    pass


def resolved(node, trees_by_name, values, above):
    """The value of a formula in which the names of metrics mean their formulas."""
    if node[0] == "number":
        return node[1]
    if node[0] == "input":
        if node[1] not in trees_by_name:
            return values.get(node[1], NAN)
        if node[1] in above:
            raise Loop(node[1])
        return resolved(trees_by_name[node[1]], trees_by_name, values, above | {node[1]})
    return evaluate((node[0], *(("number", resolved(c, trees_by_name, values, above)) for c in node[1:])), {})


def leaves(node, trees_by_name, out, above):
    if node[0] == "input" and node[1] in trees_by_name and node[1] not in above:
        leaves(trees_by_name[node[1]], trees_by_name, out, above | {node[1]})
    elif node[0] == "input":
        out.add(node[1])
    elif node[0] != "number":
        for child in node[1:]:
            leaves(child, trees_by_name, out, above)
    return out


def factor(metric):
    m = re.match(r"[0-9.]+(?:[eE][-+]?[0-9]+)?", metric.get("ScaleUnit", ""))
    return float(m[0]) if m else 1.0


def as_written(text, values):
    """A formula of one kind of cores without that kind before the events that its file names alone."""
    kind = re.compile(r"cpu_(?:core|atom)@([^@]*)@(?!\w)")
    return kind.sub(lambda m: m[1].replace("-", "\\-") if m[1] in values else m[0], text)


def compare_sets(tool, tree, rng, tally):
    """The number of metrics, and of those that refer to themselves."""
    count = loops = 0
    for base, metrics in folders(tree):
        # What lies beside the map of processors belongs to each of them.
        if os.path.exists(os.path.join(base, "mapfile.csv")):
            continue
        run = subprocess.run([tool, "--load", base], capture_output=True, text=True)
        if run.returncode:
            sys.exit("%s: status %d: %s" % (base, run.returncode, run.stderr))
        rows = [r.split("\t") for r in run.stdout.splitlines()]
        first, units, cases, kept = {}, {}, [], []
        for m in metrics:
            node = Parser(m["MetricExpr"]).whole()
            first.setdefault(m["MetricName"], node)
            units.setdefault(m.get("Unit"), {}).setdefault(m["MetricName"], node)
        for m in metrics:
            # A kind of cores means its own metrics.
            by_name = {**first, **units[m.get("Unit")]} if m.get("Unit") else first
            node = Parser(m["MetricExpr"]).whole()
            values = {n: random_value(rng) for n in sorted(leaves(node, by_name, set(), set()))}
            try:
                expected = resolved(node, by_name, values, {m["MetricName"]})
            except Loop:
                if "metric %s left out: metrics that refer to themselves" % m["MetricName"] not in run.stderr:
                    sys.exit("%s: %s refers to itself, and that is not said" % (base, m["MetricName"]))
                loops += 1
                continue
            kept.append(m["MetricName"])
            cases.append((rows[len(kept) - 1][1] if len(kept) <= len(rows) else "", expected * factor(m), values))
            if "MetricThreshold" in m:
                node = Parser(m["MetricThreshold"]).whole()
                values = {n: random_value(rng) for n in sorted(leaves(node, by_name, set(), set()))}
                cases.append((rows[len(kept) - 1][2], resolved(node, by_name, values, set()), values))
        # Of what both kinds of cores have, each is named with its kind.
        if len(rows) != len(kept) or not all(r[0] == k or r[0].startswith(k + " ") for r, k in zip(rows, kept)):
            sys.exit("%s: %d metrics were loaded, %d are there: %s" % (base, len(rows), len(kept), run.stderr))
        cases = [(as_written(t, v), expected, v) for t, expected, v in cases]
        for (text, expected, _), answer in zip(cases, ask(tool, [line_of(t, v) for t, _, v in cases])):
            tally.note(text, expected, answer)
        count += len(metrics)
    return count, loops


def borrow(work):
    """What another build beside this one has fetched."""
    for other in sorted(glob.glob(os.path.join(os.path.dirname(os.path.dirname(work)), "build*", "linux-source"))):
        if not os.path.exists(work) and os.path.exists(os.path.join(other, "packages")):
            os.symlink(other, work)


def main():
    tool, work = sys.argv[1], os.path.abspath(sys.argv[2])
    borrow(work)
    os.makedirs(work, exist_ok=True)
    rng = random.Random(1)
    wrong = thresholds = 0
    for label, tree in trees(work):
        formulas, limits = {}, {}
        for _, metrics in folders(tree):
            for m in metrics:
                formulas[m["MetricExpr"]] = True
                if "MetricThreshold" in m:
                    limits[m["MetricThreshold"]] = True
        if len(formulas) < 1000:
            sys.exit("%s: only %d formulas" % (label, len(formulas)))
        alone, sets = Tally(), Tally()
        compare(tool, [*formulas, *limits], rng, alone)
        count, loops = compare_sets(tool, tree, rng, sets)
        print("%s: %d formulas and %d thresholds, %d values and %d missing, %d differ; %d metrics in sets, %d values and "
              "%d missing, %d differ, %d refer to themselves" % (label, len(formulas), len(limits), alone.values, alone.missing, alone.wrong,
                                         count, sets.values, sets.missing, sets.wrong, loops))
        wrong += alone.wrong + sets.wrong
        thresholds += len(limits)
    if wrong or not thresholds:
        sys.exit(1)


if __name__ == "__main__":
    main()
