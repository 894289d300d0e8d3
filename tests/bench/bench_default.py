#!/usr/bin/python3
"""What a default recording of this machine costs: every second, all sources. Bytes a snapshot are the chunk frames
alone (heads included), without the definitions that stand at the start once; they are counted from the file, not by
pmrep. How much the repetitions of definitions add to the file: at most 10 % of one of 60 s, 25 % of one of 8 s.

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
REPEATED = 4  # meta key


def frames(path):
    """(type, length in bytes, whether it is a repetition) of every frame."""
    with open(path, "rb") as file:
        size = os.path.getsize(path)
        while file.tell() < size:
            start = file.tell()
            frame = cbor2.load(file)
            frame = frame.value if isinstance(frame, cbor2.CBORTag) else frame
            yield frame[1], file.tell() - start, cbor2.loads(frame[4]).get(REPEATED, False)


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
            chunks = [length for kind, length, _ in frames(path) if kind == CHUNK]
            repeated = sum(length for _, length, again in frames(path) if again)
            rows.append({"columns": info["values"] / info["snapshots"],
                         "bytes": sum(chunks) / info["snapshots"], "file": os.path.getsize(path),
                         "definitions": os.path.getsize(path) - sum(chunks) - repeated, "repeated": repeated,
                         "cpu": (usage.ru_utime + usage.ru_stime) / args.seconds})
    middle = {key: statistics.median(row[key] for row in rows) for key in rows[0]}
    print(f"default recording, {args.seconds} snapshots of 1 s, {args.rounds} rounds, medians")
    print(f"  {middle['columns']:.0f} values a snapshot, {middle['bytes']:.0f} bytes a snapshot, "
          f"{middle['bytes'] / middle['columns'] * 800:.0f} bytes for 800 values   limit: 350")
    print(f"  {middle['definitions']:.0f} bytes of definitions, whole file {middle['file']:.0f} bytes, "
          f"CPU {middle['cpu'] * 1e3:.1f} ms a second")
    print(f"  repetitions: {middle['repeated']:.0f} bytes, {middle['repeated'] / (middle['file'] - middle['repeated']) * 100:.1f} % of the "
          f"rest   limit: {10 if args.seconds >= 60 else 25} %")
    return 0


if __name__ == "__main__":
    sys.exit(main())
