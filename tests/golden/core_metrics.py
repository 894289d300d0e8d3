#!/usr/bin/python3
"""Metrics of the cores of Tegra410 and Grace: the whole way from perf's own files to what pmrep prints.

usage: core_metrics.py PMREP MAKE_CORES FOLDER

FOLDER is that of metric_corpus.py, which fetches it. A recording with known counts is made of every event that a file
of metrics names, and each metric that pmrep --metrics-file prints of it, by CPU and for the system, has to have the
value that the evaluator of tests/unit/tools/expr_diff.py has. Exit 77 (skipped) names what is not there.
"""
import json
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import metric_corpus as corpus  # noqa: E402

CORES = [("arm64/arm/neoverse-n2-v2", 8), ("arm64/arm/neoverse-n2-v2", 5), ("arm64/nvidia/t410", 10)]


def metrics_of(tree, folder):
    for base, metrics in corpus.folders(tree):
        if os.path.relpath(base, tree) == folder:
            return {m["MetricName"]: m for m in metrics}
    return None


def counts_for(trees):
    """Two counts for every event that the formulas name, and what else they name."""
    events, others = {}, {}
    rng = random.Random(1)
    names = set()
    for tree in trees.values():
        corpus.leaves(tree, trees, names, frozenset())
    for name in sorted(names):
        if name.startswith("#") or "(" in name or name == "duration_time":
            others[name] = None
        else:
            events.setdefault(name.lower(), (rng.randint(10**6, 10**9), rng.randint(10**6, 10**9)))
    return names, events


def values_for(names, events, cpus, slots):
    known = {"#slots": float(slots), "duration_time": 1.0}
    values = {}
    for name in names:
        if name.lower() in known:
            values[name] = known[name.lower()]
        elif name.lower() in events:
            values[name] = float(sum(events[name.lower()][cpu] for cpu in cpus))
        else:
            values[name] = 0.0  # strcmp_cpuid_str() of a processor that was not recorded
    return values


def check(pmrep, make, label, metrics, slots, work):
    trees = {name: corpus.Parser(m["MetricExpr"]).whole() for name, m in metrics.items()}
    names, events = counts_for(trees)
    recording, vendor = os.path.join(work, "cores.pmr"), os.path.join(work, "metrics.json")
    with open(vendor, "w") as f:
        json.dump(list(metrics.values()), f)
    lines = "".join("%s %d %d\n" % (name, *counts) for name, counts in sorted(events.items()))
    subprocess.run([make, "0x%08x" % slots, recording], input=lines, text=True, check=True)
    places = {(None, "system"): [0, 1], (0, "cpu"): [0], (1, "cpu"): [1]}
    seen, wrong = set(), 0
    for per in ["--per-system", "--per-cpu"]:
        out = subprocess.run([pmrep, "show", "--total", per, "--show=" + ",".join(metrics), "--format=json",
                              "--metrics-file=" + vendor, recording], capture_output=True, text=True)
        if out.returncode:
            sys.exit("pmrep: %d: %s" % (out.returncode, out.stderr))
        for line in map(json.loads, out.stdout.splitlines()):
            place = line["cpu"], line["scope"]
            name = next((m for m in metrics if m.lower() == line["metric"].lower()), None)
            if place not in places or name is None:
                continue
            values = values_for(names, events, places[place], slots)
            expected = corpus.resolved(trees[name], trees, values, frozenset([name])) * corpus.factor(metrics[name])
            seen.add((name, place))
            got = float("nan") if line["value"] is None else line["value"]
            if not corpus.agree(expected, repr(got)):
                wrong += 1
                print("%s %s %s: expected %r, got %r (%s)" % (label, name, place, expected, got, line["status"]))
    lost = [(n, p) for n in metrics for p in places if (n, p) not in seen]
    for name, place in lost[:10]:
        print("%s: pmrep does not print %s of %s" % (label, name, place))
    print("%s, %d slots: %d values of %d metrics" % (label, slots, len(seen), len(metrics)))
    return wrong + len(lost)


def main():
    pmrep, make, work = sys.argv[1:]
    bad = done = 0
    for package, tree in corpus.trees(work):
        for folder, slots in CORES:
            metrics = metrics_of(tree, folder)
            if metrics is None:
                print("%s has no %s" % (package, folder))
                continue
            with tempfile.TemporaryDirectory() as temporary:
                bad += check(pmrep, make, "%s %s" % (package, folder), metrics, slots, temporary)
            done += 1
    if not done:
        corpus.skip("no package has metrics of these cores")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
