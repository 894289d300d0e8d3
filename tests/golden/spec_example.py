#!/usr/bin/python3
"""The annotated bytes of SPEC.md are a recording, for the second reader and for pmrep; its dictionary is the one that it
names, and its lines are as long as a line may be.

    spec_example.py PMREP SPEC.md
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
try:
    import decode
except ImportError as e:
    print("skipped: %s" % e)
    sys.exit(77)

# What the words beside the bytes say.
COUNTER, TICK, REALTIME = "stat.ctxt", 5_000_000_000, 1_700_000_000_000_000_000


def example(path):
    with open(path, encoding="utf-8") as f:
        text = f.read().split("<!-- example -->")[1].split("<!-- end of example -->")[0]
    out, offsets = b"", []
    for line in text.splitlines():
        head = re.fullmatch(r"\w+ \(offset (\d+)\):", line)
        if head:
            offsets.append((int(head.group(1)), len(out)))
        elif line.startswith("    "):
            out += bytes.fromhex(re.match(r"((?:[0-9a-f]{2} ?)+)(?:  |$)", line[4:] + "  ").group(1))
    return out, offsets


def check_page(path):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    size, digest = re.search(r"`dictionary.bin` beside this page, ([0-9,]+) bytes.*?SHA-256 `([0-9a-f]{64})`", text, re.S).groups()
    with open(os.path.join(os.path.dirname(path), "dictionary.bin"), "rb") as f:
        data = f.read()
    assert len(data) == int(size.replace(",", "")) and hashlib.sha256(data).hexdigest() == digest, "dictionary.bin"
    long = [n for n, line in enumerate(text.splitlines(), 1) if len(line) > 118]
    assert not long, long


def main(argv):
    pmrep, spec = argv[1:]
    check_page(spec)
    data, offsets = example(spec)
    assert offsets and all(said == is_at for said, is_at in offsets), offsets
    r = decode.Recording(data)
    assert not r.damage and r.ended, r.damage
    assert [f.offset for f in r.frames] == [o for o, _ in offsets]
    (chunk, _, values), = r.snapshots()
    assert chunk.ticks == [TICK] and chunk.clocks.realtime == REALTIME
    (value,) = values
    assert value.counter.name == COUNTER and not value.reason
    assert TICK <= value.begin <= value.end < TICK + 10**6, value
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "example.pmr")
        with open(path, "wb") as f:
            f.write(data)
        subprocess.run([pmrep, "check", path], check=True)
        out = subprocess.run([pmrep, "dump", "--format=json", path], check=True, stdout=subprocess.PIPE, text=True)
    lines = out.stdout.splitlines()
    assert json.loads([x for x in lines if '"is":"value"' in x][0]) == decode.as_json(value)
    print("%d bytes, %d frames: %s is %d, read from %d to %d" % (
        len(data), len(r.frames), value.counter.name, value.value, value.begin, value.end))


if __name__ == "__main__":
    main(sys.argv)
