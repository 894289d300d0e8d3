#!/usr/bin/python3
"""Planted incidents are found, first of all, by their time, metric and CPU; nothing is found where nothing happens.

usage: test_incidents.py PMREP planted|stories
"""
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile

import stories
import worlds

NUMBER, COUNT, TEXT, NONE = (int, float), int, str, type(None)
KEYS = {"rank": COUNT, "from": TEXT, "to": TEXT, "from_s": NUMBER, "to_s": NUMBER, "score": NUMBER, "text": TEXT, "series": list,
        "tasks": list}
SERIES = {"metric": TEXT, "scope": TEXT, "package": (int, NONE), "cpu": (int, NONE), "device": (str, NONE), "usual": NUMBER,
          "value": NUMBER}
TASKS = {"name": TEXT, "pid": (int, NONE), "ended": COUNT, "cpu_s": NUMBER, "bytes": NUMBER,
         "rss": NUMBER}
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$")
# Not near the limit: how much is found there is measured by tests/bench/bench_incidents.py.
CASES = [(kind, 2 if kind != "slow_core" else 16, 120) for kind in worlds.KINDS] + [("hog", 128, 60), ("steal", 2, 1200)]


def incidents(pmrep, path, *more, status=0):
    out = subprocess.run([pmrep, "incidents", "--format=json", *more, path], stdout=subprocess.PIPE, text=True)
    assert out.returncode == status, out
    return [json.loads(line) for line in out.stdout.splitlines()]


def check_types(found, seconds):
    for k, i in enumerate(found):
        for one, types in ((i, KEYS), *((s, SERIES) for s in i["series"]), *((t, TASKS) for t in i["tasks"])):
            assert list(one) == list(types) and all(isinstance(one[key], types[key]) for key in types), one
        assert i["rank"] == k + 1 and i["text"] and TIME.match(i["from"]) and TIME.match(i["to"]), i
        assert 0 <= i["from_s"] <= i["to_s"] <= seconds and i["from"] <= i["to"], i
        assert not re.search(r"e\+|for 0(\.0+)? s|\bnr_|\bpg[a-z]|\d,\d+ B\b", i["text"]), i
        # One series is named once.
        named = [json.dumps([s[key] for key in list(SERIES)[:5]]) for s in i["series"]]
        assert len(set(named)) == len(named), i
    assert [i["score"] for i in found] == sorted((i["score"] for i in found), reverse=True)


def trouble(pmrep, path):
    """What the recording itself suffered; and what never changes, which is nothing."""
    worlds.write(path, None, 0, 2, 300, "constant", 1)
    assert not incidents(pmrep, path), incidents(pmrep, path)
    # As pmrec writes it: when it began, and how many.
    lost = {1: 4, 2: 100 * worlds.S, 3: {1: 7, 2: worlds.encode.START + 100 * worlds.S}}
    slept = {1: 6, 2: 200 * worlds.S}
    worlds.write(path, None, 0, 2, 300, "constant", 1, [lost, slept])
    found = incidents(pmrep, path)
    check_types(found, 300)
    assert sorted(i["text"] for i in found) == ["+100 s for 7 s: 7 ticks lost while recording", "+200 s: the machine slept"], found
    # A short one in its own length; what goes on is said once.
    lost = {1: 4, 2: int(100.43 * worlds.S), 3: {1: 4, 2: worlds.encode.START + 100 * worlds.S}}
    offline = [{1: 3, 2: s * worlds.S, 3: {3: 1}} for s in (200, 210, 230)]
    worlds.write(path, None, 0, 2, 300, "constant", 1, [lost, *offline])
    found = incidents(pmrep, path)
    check_types(found, 300)
    assert sorted(i["text"] for i in found) == ["+100.0 s for 0.4 s: 4 ticks lost while recording",
                                                "+200 s for 30 s: CPU 1 went offline, 3 times"], found
    # Bytes as people write them, and what the kernel calls nr_file_pages by what it is.
    levels = [3602688 if 60 < k <= 70 else 1200000 + 4096 * (k * 7 % 5) for k in range(121)]
    r = worlds.machine([{1: 0}], [("meminfo.cached", "meminfo", "By", {7: 2}), ("vmstat.nr_file_pages", "vmstat", "1", {7: 2})],
                       [(1, 2, 3, 1)])
    worlds.save(r, path, 120, [[levels], [[v // 4096 for v in levels]]])
    found = incidents(pmrep, path)
    check_types(found, 120)
    assert [i["text"] for i in found] == ["+60 s for 10 s: page cache 3.6 MB (usually 1.21 MB)"], found
    # What recurs is usual, however often it does.
    faults = list(itertools.accumulate(25 + k * 7 % 5 if k % 10 == 5 else 0 for k in range(9001)))
    r = worlds.machine([], [("throttle.core", "throttle", "1", {})], [(1, 1, 1, 2)])
    worlds.save(r, path, 9000, [[faults, faults]])
    assert not incidents(pmrep, path), incidents(pmrep, path)
    # Of two recordings in one file the second is at its own time of day.
    data = b""
    for k in range(2):
        stories.write(path, stories.within((60, 75, stories.hog(3))) if k else None, seconds=120)
        with open(path, "rb") as f:
            data += f.read()
        worlds.encode.REALTIME += 3600 * worlds.S
    worlds.encode.REALTIME -= 7200 * worlds.S
    with open(path, "wb") as f:
        f.write(data)
    found = incidents(pmrep, path)
    assert [(i["from_s"], i["from"][11:19]) for i in found[:1]] == [(3660, "16:07:40")], found[:1]
    worlds.write(path, None, 0, 2, 300, "constant", 1)
    with open(path, "rb") as f:
        data = bytearray(f.read())
    data[len(data) * 6 // 10] ^= 0x55
    with open(path, "wb") as f:
        f.write(data)
    found = incidents(pmrep, path, status=3)
    assert len(found) == 1 and found[0]["text"].endswith(": the recording is damaged"), found
    assert 120 < found[0]["from_s"] < found[0]["to_s"] < 270, found


def planted(pmrep, path):
    for seed, (kind, cpus, seconds) in enumerate(CASES):
        truth = worlds.write(path, kind, 30, cpus, seconds, "quiet", seed)
        found = incidents(pmrep, path)
        assert truth.in_first(found, 1), (kind, cpus, seconds, seed, truth.from_s, truth.to_s, found[:3])
        check_types(found, seconds)
        if kind == "hog":
            assert truth.cpu in [s["cpu"] for s in found[0]["series"]], (truth.cpu, found[0])
    # As many as are asked for; the other forms say the same.
    assert len(incidents(pmrep, path, "--top=1")) == 1
    table, markdown = (subprocess.run([pmrep, "incidents", "--format=" + f, path], check=True, stdout=subprocess.PIPE,
                                      text=True).stdout for f in ("table", "markdown"))
    assert markdown.splitlines()[2].startswith("| +"), markdown
    assert "stat.steal 0" in table and "stat.steal 0" in markdown, (table, markdown)
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
    # In the second of two recordings of a file, too.
    with open(path, "rb") as f:
        first = f.read()
    worlds.encode.REALTIME += 3600 * worlds.S
    worlds.write_tasks(path, begin=30, length=10)
    worlds.encode.REALTIME -= 3600 * worlds.S
    with open(path, "rb") as f:
        first += f.read()
    with open(path, "wb") as f:
        f.write(first)
    found = incidents(pmrep, path)
    assert [(i["from_s"], [t["pid"] for t in i["tasks"]]) for i in found] == [(3630, [4711]), (60, [4711])], found
    assert 6 < found[0]["tasks"][0]["cpu_s"] < 7.5 and 3.5 < found[1]["tasks"][0]["cpu_s"] < 4.5, found
    # Who took the memory, of several of that name, comes before who computed; of a leak nobody else.
    for leak, begin, time, pids in ((False, 200, r"\+20[0-3] s for (30|2[789]) s", [4712, 12]), (True, 200, "throughout", [4712]),
                                    (False, 6, r"\+[6-9] s for (30|2[789]) s", [4712, 12])):
        worlds.write_memory(path, leak, begin)
        found = incidents(pmrep, path)
        check_types(found, 600)
        assert [t["pid"] for t in found[0]["tasks"]] == pids, found
        assert re.match(time + r": available memory .*; python3 \(pid 4712\) \+2\.0 GB( and spinner \(pid 12\))?$",
                        found[0]["text"]), found[0]
        assert 1.9e9 < found[0]["tasks"][0]["rss"] < 2.1e9, found[0]
    worlds.write_storm(path)
    found = incidents(pmrep, path)
    check_types(found, 120)
    # What somebody did comes before what comes of it.
    assert re.match(r"\+60 s for 5 s: forks 1,835/s \(usually [\d.]+/s\), and 1 more metric; "
                    r"sh \(pid 4711\) and 9,120 short-lived children$", found[0]["text"]), found[0]
    trouble(pmrep, path)
    for background, cpus, seconds in (("bursty", 16, 300), ("periodic", 2, 600), ("quiet", 16, 120), ("quiet", 2, 600)):
        worlds.write(path, None, 0, cpus, seconds, background, 1)
        found = incidents(pmrep, path)
        assert not found, (background, cpus, seconds, found)
    out = subprocess.run([pmrep, "incidents", path], check=True, stdout=subprocess.PIPE, text=True).stdout
    assert out.startswith("Nothing stands out"), out
    # What comes again and again at the same distance is usual.
    worlds.write(path, None, 0, 2, 600, "beats", 1)
    assert not incidents(pmrep, path)


def told(pmrep, path):
    for name, (story, how, expected, more) in stories.STORIES.items():
        stories.write(path, story, **how)
        found = incidents(pmrep, path)
        assert not stories.misses(found, expected, more), (name, stories.misses(found, expected, more), [i["text"] for i in found])
        # The exact time, in more than two hours, too.
        if name == "a node, in a long recording":
            assert (found[0]["from_s"], found[0]["to_s"]) == (4801, 4850), found[0]


def main():
    with tempfile.TemporaryDirectory() as folder:
        {"planted": planted, "stories": told}[sys.argv[2]](sys.argv[1], os.path.join(folder, "world.pmr"))


if __name__ == "__main__":
    main()
