#!/usr/bin/python3
"""A disk that fails, and power that goes: bad_writes.py LIBRARY BIN"""

import itertools
import os
import random
import re
import statistics
import struct
import subprocess
import sys
import tempfile

LIBRARY, BIN = sys.argv[1:]
SECOND = 10**9


def record(path, *words, **env):
    return subprocess.run([BIN + "/pmrec", "-q", "--sources=stat", "-i", "20ms", "-o", path, *words], timeout=60, text=True,
                          stderr=subprocess.PIPE, env={**os.environ, "LD_PRELOAD": LIBRARY, **env})


def ticks(path):
    said = subprocess.run([BIN + "/pmrep", "dump", path], timeout=60, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    return [int(t) for t in re.findall(r"^snapshot .*?tick=(\d+)", said, re.M)]


def a_disk_that_fails_for_a_second():
    done = record("eio.pmr", "--", "sh", "-c", "sleep 2.5; exit 7", BAD_FROM="600", BAD_FOR="1000")
    assert done.returncode == 7, done
    assert done.stderr.count("\n") == 1 and "Input/output error; sampling continues" in done.stderr, done.stderr
    check = subprocess.run([BIN + "/pmrep", "check", "eio.pmr"], timeout=60)
    assert check.returncode == 0
    t = ticks("eio.pmr")
    # What was sampled while nothing could be written is there.
    assert t[-1] - t[0] > 2 * SECOND and len(t) > 0.5 * (t[-1] - t[0]) / (SECOND // 50), t


def read_log(path):
    """Writes as (offset, data), how many of them each barrier has behind it, and when that was."""
    with open(path, "rb") as f:
        log = f.read()
    writes, barriers, at, end = [], [], 0, 0
    while at < len(log):
        time, kind, n = struct.unpack_from("<QQQ", log, at)
        if kind == 1:
            writes.append((end, log[at + 24:at + 24 + n]))
            end += n
        else:
            barriers.append((len(writes), time))
        at += 24 + n
    return writes, barriers


def leave(writes, path):
    """What a disk has after these writes: nothing where one is missing before another."""
    with open(path, "wb") as f:
        for offset, data in writes:
            f.seek(offset)
            f.write(data)


def power_that_goes():
    assert record("whole.pmr", "--sync=1", "-n", "250", WRITE_LOG="log").returncode == 0
    writes, barriers = read_log("log")
    choose, lost, start = random.Random(1), [], ticks("whole.pmr")[0]
    assert len(barriers) >= 5, barriers
    for (n, _), (later, time) in zip(barriers, barriers[1:]):
        leave(writes[:n], "part.pmr")
        kept = ticks("part.pmr")
        lost.append(time - (kept[-1] if kept else start))
        subsets = [s for r in range(later - n) for s in itertools.combinations(writes[n:later], r)]
        for some in choose.sample(subsets, min(8, len(subsets))):
            leave(writes[:n] + list(some), "part.pmr")
            assert ticks("part.pmr")[:len(kept)] == kept, "a write that came later costs what was made to last"
    # A busy machine may be late once.
    assert statistics.median(lost) < 1.1 * SECOND, lost
    assert ticks("whole.pmr")[-1] >= kept[-1]


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    a_disk_that_fails_for_a_second()
    power_that_goes()
