#!/usr/bin/env python3
"""nvidia_stat.py FILE...: metrics of PMU classes in pmrep stat, beside pmrep show, whose values tests/golden
checks."""
import json
import subprocess
import sys


def lines(*arguments):
    return subprocess.run(["pmrep", *arguments], capture_output=True, text=True, check=True).stdout.splitlines()


def compare(path):
    heads, show, stat = {}, {}, {}
    for line in lines("show", "--list", path):
        words = line.split()
        if words and words[0].startswith("nvidia_"):
            heads[words[1]] = words[0]
    for per in ["--per-package", "--per-system"]:
        for j in map(json.loads, lines("show", "--total", per, "--show=nvidia", "--format=json", path)):
            show["S%d" % j["package"] if j["scope"] == "package" else "", j["metric"]] = j["value"]
    for per in [["--per-socket"], []]:
        for j in map(json.loads, lines("stat", "-j", "-M", "nvidia", *per, path)):
            if j.get("metric-unit"):
                key = j.get("socket", ""), heads[j["metric-unit"].split("  ")[-1]]
                assert key not in stat, key
                stat[key] = None if j["metric-value"] is None else float(j["metric-value"])
    for key, value in stat.items():
        assert (value is None) == (show[key] is None), (path, key, value, show[key])
        # stat knows the kernel's time of an event, show that between readings; and json of perf has six decimals.
        assert value is None or abs(value - show[key]) < 5e-4 * abs(show[key]) + 1e-6, (path, key, value, show[key])
    lost = [key for key, value in show.items() if value is not None and key not in stat]
    assert stat and not lost, (path, lost)


for name in sys.argv[1:]:
    compare(name)
