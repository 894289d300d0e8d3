#!/usr/bin/python3
"""What a default recording of this machine costs: every second, all sources. Bytes a snapshot are the chunk frames
alone (heads included), without the definitions that stand at the start once; they are counted from the file, not by
pmrep.

usage: bench_default.py [--seconds S] [--rounds N] [--bin DIR] [--tests DIR]
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

import cbor2

CHUNK = 8  # frame type (format/SPEC.md, "Frames")


def frames(path):
    """(type, length in bytes) of every frame."""
    with open(path, "rb") as file:
        size = os.path.getsize(path)
        while file.tell() < size:
            start = file.tell()
            frame = cbor2.load(file)
            frame = frame.value if isinstance(frame, cbor2.CBORTag) else frame
            yield frame[1], file.tell() - start


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--bin", default="build/bin")
    parser.add_argument("--tests", help="unused; every benchmark takes it")
    args = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "default.pmr")
        for _ in range(args.rounds):
            process = subprocess.Popen([args.bin + "/pmrec", "--quiet", "--overwrite", "-n", str(args.seconds), "-o", path],
                                       stdin=subprocess.DEVNULL)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if status:
                sys.exit("pmrec failed")
            info = json.loads(subprocess.check_output([args.bin + "/pmrep", "info", "--format=json", path]))
            chunks = [length for kind, length in frames(path) if kind == CHUNK]
            rows.append({"columns": info["values"] / info["snapshots"],
                         "bytes": sum(chunks) / info["snapshots"], "file": os.path.getsize(path),
                         "definitions": sum(length for kind, length in frames(path) if kind != CHUNK),
                         "cpu": (usage.ru_utime + usage.ru_stime) / args.seconds})
    middle = {key: statistics.median(row[key] for row in rows) for key in rows[0]}
    print(f"default recording, {args.seconds} snapshots of 1 s, {args.rounds} rounds, medians")
    print(f"  {middle['columns']:.0f} values a snapshot, {middle['bytes']:.0f} bytes a snapshot, "
          f"{middle['bytes'] / middle['columns'] * 800:.0f} bytes for 800 values   limit: 350")
    print(f"  {middle['definitions']:.0f} bytes of definitions, whole file {middle['file']:.0f} bytes, "
          f"CPU {middle['cpu'] * 1e3:.1f} ms a second")
    return 0


if __name__ == "__main__":
    sys.exit(main())
