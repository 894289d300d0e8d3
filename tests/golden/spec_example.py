#!/usr/bin/python3
"""The annotated bytes of SPEC.md are a recording, for the second reader and for pmrep.

    spec_example.py PMREP SPEC.md
"""

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


def main(argv):
    pmrep, spec = argv[1:]
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
    assert decode.json.loads([x for x in lines if '"is":"value"' in x][0]) == decode.as_json(value)
    print("%d bytes, %d frames: %s is %d, read from %d to %d" % (
        len(data), len(r.frames), value.counter.name, value.value, value.begin, value.end))


if __name__ == "__main__":
    main(sys.argv)
