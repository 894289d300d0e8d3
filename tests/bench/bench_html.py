#!/usr/bin/python3
"""A page of a large machine: 256 CPUs x 40 counters (or, with --large, 1,024 x 80) at 1 s for an hour.

1. CPU time of `pmrep html` beside that of `pmrep check`, which decodes every value and does nothing with it, and of
   `pmrep show --per-package`, which makes the rates and sums of packages; median of the rounds, and peak resident
   memory.
2. Size of the page beside its limit.
3. The page in a browser without a screen: time from asking for it to the first picture of charts, and the heap that
   scripts use, once at that point and once after everything was looked at. (The browser's own measure, which need not
   count typed arrays.)

usage: bench_html.py [--rounds N] [--bin DIR] [--tests DIR] [--keep FOLDER] [--large]
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

LIMIT = 10_000_000
BROWSE = """
import path from "node:path";
import { createRequire } from "node:module";
const { chromium } = createRequire(path.join(process.env.PM_MODULES, "x.js"))("playwright-core");
const browser = await chromium.launch({ executablePath: process.env.PM_CHROMIUM,
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--enable-precise-memory-info"] });
const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
await page.goto("about:blank");
const from = Date.now();
await page.goto("file://" + process.argv[2], { waitUntil: "commit" });
await page.waitForSelector(".plot canvas, .plot svg path", { timeout: 60000 });
await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
const first = Date.now() - from;
await page.waitForSelector("html[data-ready]", { timeout: 60000 });
const ready = Date.now() - from;
const heap = () => page.evaluate(() => performance.memory.usedJSHeapSize);
const early = await heap();
await page.evaluate(async () => {
    for (let y = 0; y < document.body.scrollHeight; y += 700) {
        scrollTo({ top: y, behavior: "instant" });
        await new Promise((done) => setTimeout(done, 40));
    }
});
const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint").map((e) => e.startTime)[0]);
console.log(JSON.stringify({ first, ready, paint, early, late: await heap() }));
await browser.close();
"""


def run(argv):
    """(CPU seconds, peak resident KiB) of argv, its output thrown away."""
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{argv}: exit code {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def browse(page, folder):
    here = os.path.dirname(os.path.abspath(__file__))
    browser = os.environ.get("PM_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    modules = [m for m in (os.path.join(here, "../../report/web/node_modules"), "browser/node_modules")
               if os.path.isdir(os.path.join(m, "playwright-core"))]
    if not browser or not shutil.which("node") or not modules:
        print("the page in a browser: skipped, there is no chromium, node or playwright-core")
        return
    script = os.path.join(folder, "browse.mjs")
    with open(script, "w") as out:
        out.write(BROWSE)
    env = dict(os.environ, PM_CHROMIUM=browser, PM_MODULES=os.path.abspath(modules[0]))
    seen = json.loads(subprocess.run(["node", script, os.path.abspath(page)], env=env, check=True, stdout=subprocess.PIPE,
                                     timeout=300).stdout)
    print(f"first picture: {seen['first'] / 1e3:.2f} s after asking for the page (first paint {seen['paint'] / 1e3:.2f} s, all "
          f"built {seen['ready'] / 1e3:.2f} s); limit 2 s: x {seen['first'] / 2e3:.2f}")
    print(f"heap: {seen['early'] / 1e6:.0f} MB, {seen['late'] / 1e6:.0f} MB after all was looked at; limit 200 MB: "
          f"x {seen['late'] / 200e6:.2f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--bin", default="build/bin")
    parser.add_argument("--tests", default="build/tests")
    parser.add_argument("--keep")
    parser.add_argument("--large", action="store_true")
    args = parser.parse_args()
    pmrep, genrec = os.path.join(args.bin, "pmrep"), os.path.join(args.tests, "genrec")
    with tempfile.TemporaryDirectory() as folder:
        recording, page = os.path.join(folder, "page.pmr"), os.path.join(args.keep or folder, "page.html")
        subprocess.run([genrec, "large" if args.large else "page", recording], check=True, stdout=subprocess.DEVNULL)
        work = {
            "check": [pmrep, "check", recording],
            "show": [pmrep, "show", "--per-package", "--rate", "--format=csv", recording],
            "html": [pmrep, "html", "--overwrite", "-o", page, recording],
        }
        times, peak = {name: [] for name in work}, {}
        for _ in range(args.rounds):
            for name, argv in work.items():
                seconds, kib = run(argv)
                times[name].append(seconds)
                peak[name] = max(peak.get(name, 0), kib)
        median = {name: statistics.median(values) for name, values in times.items()}
        for name in work:
            print(f"{name:6} {median[name]:.2f} s of CPU ({min(times[name]):.2f} to {max(times[name]):.2f}), "
                  f"at most {peak[name] / 1024:.0f} MiB resident")
        print(f"html beside check: x {median['html'] / median['check']:.2f} (limit 3); beside show --per-package: "
              f"x {median['html'] / median['show']:.2f}")
        size = os.path.getsize(page)
        print(f"page: {size / 1e6:.2f} MB; limit 10 MB: x {size / LIMIT:.2f}")
        browse(page, folder)


main()
