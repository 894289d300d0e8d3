#!/usr/bin/python3
"""What exports cost: rows, bytes, CPU and resident memory of pmrep --format=parquet and perfetto, beside its csv.

usage: bench_export.py [--bin DIR] [--tests DIR]
"""
import argparse
import os
import subprocess
import sys
import tempfile


def run(argv):
    """(CPU seconds, peak resident KiB) of argv."""
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{argv[0]} failed with {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--bin", default="build/bin")
    parser.add_argument("--tests", default="build/tests")
    args = parser.parse_args()
    pmrep = os.path.join(args.bin, "pmrep")
    with tempfile.TemporaryDirectory() as folder:
        recording = os.path.join(folder, "r.pmr")
        for what, words in (("256 CPUs x 40 counters, 547 intervals", ["diff", "548", "1"]),
                            ("2 CPUs x 8 perf events at 1 ms", ["perf", "5000000"])):
            subprocess.run([os.path.join(args.tests, "genrec"), *words, recording], check=True, stdout=subprocess.DEVNULL)
            rows = None
            for name in ("csv", "parquet", "perfetto"):
                out = os.path.join(folder, "out")
                options = ["--per-cpu", "--show=all", "--hide=topology", "--overwrite", "-o", out, recording]
                cpu, rss = run([pmrep, "--format=" + name, *options])
                size = os.path.getsize(out)
                if rows is None:
                    with open(out, "rb") as text:
                        rows = sum(part.count(b"\n") for part in iter(lambda: text.read(1 << 20), b"")) - 1
                    print(f"{what}: {rows} rows")
                print(f"  {name:9} {cpu:6.2f} s CPU  {size / 1e6:8.1f} MB  {size / rows:6.2f} bytes a row  {rss / 1024:5.1f} MiB resident")
    print("limits of parquet for 5.6 million rows: 1 s, 16 MB, 64 MiB; of perfetto 20 bytes a value")


if __name__ == "__main__":
    main()
