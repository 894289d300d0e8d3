#!/usr/bin/python3
"""From the download of the static pmrec to the first page: seconds of each step.

The program comes from a web server on this machine, records in a root that has nothing but it and the kernel's file
systems, and pmrep makes a page of the recording. The link's speed is left out: divide the size by yours.

usage: bench_first_page.py --static build-static/bin/pmrec [--bin DIR] [--seconds S]
"""
import argparse
import functools
import http.server
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


def serve(folder):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/"


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--static", required=True)
    args.add_argument("--bin", default="build/bin")
    args.add_argument("--seconds", type=int, default=10)
    args = args.parse_args()
    if os.geteuid() or not shutil.which("unshare"):
        print("skipped: needs root and unshare")
        return 77
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as root:
        for name in ("proc", "sys", "dev"):
            os.mkdir(os.path.join(root, name))
        program = os.path.join(root, "pmrec")
        with urllib.request.urlopen(serve(os.path.dirname(os.path.abspath(args.static))) + "pmrec") as page, \
                open(program, "wb") as file:
            shutil.copyfileobj(page, file)
        os.chmod(program, 0o755)
        fetched = time.monotonic()
        mounts = "".join(f"mount --rbind /{name} {root}/{name} && " for name in ("proc", "sys", "dev"))
        subprocess.run(["unshare", "-m", "--propagation", "private", "sh", "-c",
                        f"{mounts} exec chroot {root} /pmrec --quiet -n {args.seconds} -o /x.pmr"], env={}, check=True)
        recorded = time.monotonic()
        page = os.path.join(root, "page.html")
        subprocess.run([os.path.join(args.bin, "pmrep"), "html", "-o", page, os.path.join(root, "x.pmr")], check=True)
        made = time.monotonic()
        with open(page, encoding="utf-8") as file:
            assert "<svg" in file.read() or os.path.getsize(page) > 50000, "the page has no pictures"
        print(f"pmrec {os.path.getsize(program) / 1e6:.2f} MB, fetched and made executable in {fetched - began:.2f} s")
        print(f"recorded {args.seconds} intervals of a second in {recorded - fetched:.2f} s")
        print(f"page of {os.path.getsize(page) / 1e3:.0f} kB in {made - recorded:.2f} s")
        print(f"in all {made - began:.2f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
