#!/usr/bin/python3
"""Planted incidents are found, first of all, by their time, metric and CPU; nothing is found where nothing happens.

usage: test_incidents.py PMREP
"""
import json
import os
import subprocess
import sys
import tempfile

import worlds

KEYS = ["rank", "from", "to", "from_s", "to_s", "score", "text", "series", "tasks"]
SERIES = ["metric", "scope", "package", "cpu", "device", "usual", "value"]
# Not near the limit: how much is found there is measured by tests/bench/bench_incidents.py.
CASES = [(kind, 2 if kind != "slow_core" else 16, 120) for kind in worlds.KINDS] + [("hog", 128, 60), ("steal", 2, 1200)]


def incidents(pmrep, path, *more):
    out = subprocess.run([pmrep, "incidents", "--format=json", *more, path], check=True, stdout=subprocess.PIPE, text=True)
    return [json.loads(line) for line in out.stdout.splitlines()]


def main():
    pmrep = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "world.pmr")
        for seed, (kind, cpus, seconds) in enumerate(CASES):
            truth = worlds.write(path, kind, 30, cpus, seconds, "quiet", seed)
            found = incidents(pmrep, path)
            assert truth.in_first(found, 1), (kind, cpus, seconds, seed, truth.from_s, truth.to_s, found[:3])
            for k, i in enumerate(found):
                assert list(i) == KEYS and i["rank"] == k + 1 and i["text"], i
                assert all(list(s) == SERIES for s in i["series"]), i
                assert 0 <= i["from_s"] <= i["to_s"] <= seconds, i
            assert [i["score"] for i in found] == sorted((i["score"] for i in found), reverse=True)
            if kind == "hog":
                assert truth.cpu in [s["cpu"] for s in found[0]["series"]], (truth.cpu, found[0])
        # As many as are asked for; the other forms say the same.
        assert len(incidents(pmrep, path, "--top=1")) == 1
        table, markdown = (subprocess.run([pmrep, "incidents", "--format=" + f, path], check=True, stdout=subprocess.PIPE,
                                          text=True).stdout for f in ("table", "markdown"))
        assert markdown.splitlines()[2].startswith("| 1 | +"), markdown
        assert "stat.steal x" in table and "stat.steal x" in markdown, (table, markdown)
        # From a pipe, and nothing of what lies outside the window.
        with open(path, "rb") as source:
            piped = subprocess.run([pmrep, "incidents", "--format=json", "-"], check=True, stdin=source, stdout=subprocess.PIPE)
        assert [json.loads(line) for line in piped.stdout.splitlines()] == found
        assert not truth.in_first(incidents(pmrep, path, "--until=%d" % truth.from_s))
        # Who did it; and not who does the same all the time.
        worlds.write_tasks(path)
        found = incidents(pmrep, path)
        assert [(t["pid"], t["name"]) for t in found[0]["tasks"]] == [(4711, "hog (pid 4711)")], found
        assert 3.5 < found[0]["tasks"][0]["cpu_s"] < 4.5 and found[0]["text"].endswith("; hog (pid 4711)"), found[0]
        for background, cpus, seconds in (("bursty", 16, 300), ("periodic", 2, 600), ("quiet", 16, 120), ("quiet", 2, 600)):
            worlds.write(path, None, 0, cpus, seconds, background, 1)
            found = incidents(pmrep, path)
            assert not found, (background, cpus, seconds, found)
        out = subprocess.run([pmrep, "incidents", path], check=True, stdout=subprocess.PIPE, text=True).stdout
        assert out.startswith("Nothing stands out"), out
        # What comes again and again is one incident, with its distance.
        worlds.write(path, None, 0, 2, 600, "beats", 1)
        found = incidents(pmrep, path)
        assert len(found) == 1 and found[0]["text"].startswith("every 40 s: "), found
    print("%d incidents" % len(CASES))


if __name__ == "__main__":
    main()
