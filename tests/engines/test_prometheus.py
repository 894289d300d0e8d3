#!/usr/bin/python3
"""pmrep --format=openmetrics in Debian's Prometheus: history through promtool, live through node_exporter's textfile
collector. Prometheus is asked for the numbers that pmrep prints.

usage: test_prometheus.py BIN SAMPLES OUT
"""
import glob
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

binaries, samples, out = sys.argv[1:]
pmrep, pmrec = os.path.join(binaries, "pmrep"), os.path.join(binaries, "pmrec")
PLACE = "scope package die cluster cache node core cpu device task cgroup".split()


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def programs():
    """Those that are installed, or else packages unpacked for the test alone."""
    names = ["prometheus", "promtool", "prometheus-node-exporter"]
    if all(map(shutil.which, names)):
        return [shutil.which(n) for n in names]
    deb = os.path.join(out, "deb")
    there = [os.path.join(deb, "root/usr/bin", n) for n in names]
    if not all(map(os.path.exists, there)):
        os.makedirs(deb, exist_ok=True)
        try:
            subprocess.run(["apt-get", "download", "prometheus", "prometheus-node-exporter"], cwd=deb, check=True, timeout=200,
                           capture_output=True)
            for package in glob.glob(os.path.join(deb, "*.deb")):
                subprocess.run(["dpkg", "-x", package, os.path.join(deb, "root")], check=True)
        except (OSError, subprocess.SubprocessError):
            skip("no prometheus, and apt-get cannot get it")
    return there


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def call(*words):
    done = subprocess.run(words, capture_output=True)
    assert done.returncode in (0, 3), (words, done.stderr.decode())
    return done.stdout.decode()


def ask(port, query, at=None):
    words = urllib.parse.urlencode({"query": query, **({"time": "%.3f" % at} if at else {})})
    with urllib.request.urlopen("http://127.0.0.1:%d/api/v1/query?%s" % (port, words), timeout=10) as answer:
        return json.load(answer)["data"]["result"]


def await_true(what, function, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            found = function()
            if found:
                return found
        except (urllib.error.URLError, ConnectionError):
            pass
        time.sleep(0.2)
    raise AssertionError("never: " + what)


def by_place(rows):
    """(metric, place) -> {ms: value}"""
    found = {}
    for r in rows:
        if r["value"] is not None:
            key = (r["metric"], tuple(str(r[p]) if r[p] is not None else None for p in PLACE))
            found.setdefault(key, {})[r["time"] // 10**6] = r["value"]
    return found


def series(results):
    found = {}
    for r in results:
        m = r["metric"]
        key = (m.get("metric", m["__name__"][6:]), tuple(m.get(p) for p in PLACE))
        assert key not in found, key
        found[key] = {round(float(t) * 1000): float(v) for t, v in r["values"]}
    return found


def history(prometheus, promtool, folder):
    for sample in ("loaded.pmr", "tegra410.pmr"):
        path, text, data = os.path.join(samples, sample), os.path.join(folder, sample + ".om"), os.path.join(folder, sample + ".db")
        words = ["--all", "--show=all", "--hide=topology", path]
        call(pmrep, "--format=openmetrics", "-o", text, *words)
        assert open(text).read().endswith("# EOF\n")
        call(promtool, "tsdb", "create-blocks-from", "openmetrics", text, data)
        rows = [json.loads(line) for level in ([], ["--per-package"])
                for line in call(pmrep, "--format=json", "--time=epoch-ns", *level, *words).splitlines()]
        # By default the levels that Prometheus can bear: the system, packages, devices.
        rows = [r for r in rows if r["scope"] in ("system", "package", "device")]
        expected = by_place(rows)
        config, port = os.path.join(folder, "empty.yml"), free_port()
        open(config, "w").write("scrape_configs: []\n")
        server = subprocess.Popen([prometheus, "--config.file=" + config, "--storage.tsdb.path=" + data, "--web.listen-address=127.0.0.1:%d" % port,
                                   "--storage.tsdb.retention.time=100y"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            last = max(r["time"] for r in rows) / 1e9
            got = series(await_true("answers", lambda: ask(port, '{__name__=~"pmrep_.+"}[1h]', last + 1)))
        finally:
            server.terminate()
            server.wait()
        missing = {k for k in expected if k not in got}
        assert not missing, (sample, sorted(missing)[:5])
        for key, values in got.items():
            assert values == expected[key], (sample, key)
        print("%s: %d series, %d values" % (sample, len(got), sum(map(len, got.values()))))


def live(prometheus, exporter, folder):
    path, text, config = (os.path.join(folder, n) for n in ("live.pmr", "text", "live.yml"))
    os.mkdir(text)
    port, asked = free_port(), free_port()
    open(config, "w").write("global: {scrape_interval: 500ms, scrape_timeout: 500ms}\nscrape_configs:\n- job_name: node\n"
                            "  static_configs: [{targets: ['127.0.0.1:%d']}]\n" % port)
    started = []

    def start(*words):
        started.append(subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        return started[-1]

    try:
        recorder = start(pmrec, "-i", "0.5", "--sources=stat,vmstat", "--label", "rack=r\"1\n", "-o", path)
        await_true("a recording", lambda: os.path.exists(path) and os.path.getsize(path))
        file = os.path.join(text, "pmrep.prom")
        follower = start(pmrep, "--follow", "--all", "--format=openmetrics", "-o", file, path)
        start(exporter, "--collector.disable-defaults", "--collector.textfile", "--collector.textfile.directory=" + text,
              "--web.listen-address=127.0.0.1:%d" % port)
        start(prometheus, "--config.file=" + config, "--storage.tsdb.path=" + os.path.join(folder, "live.db"),
              "--web.listen-address=127.0.0.1:%d" % asked)
        seen = await_true("three intervals in Prometheus", lambda: next(
            (r["values"] for r in ask(asked, 'pmrep_util{scope="system"}[5m]')
             if len(r["values"]) > 3 and r["metric"]["label_rack"] == 'r"1\n'), None))
        # Every question of the dashboard is one that Prometheus understands.
        dashboard = json.load(open(os.path.join(samples, "fleet", "grafana.json")))
        for target in (t for p in dashboard["panels"] for t in p["targets"]):
            ask(asked, target["expr"].replace("$host", ".*"))
        assert ask(asked, dashboard["panels"][0]["targets"][0]["expr"].replace("$host", ".*"))
        assert ask(asked, 'node_textfile_scrape_error')[0]["value"][1] == "0"
        assert os.listdir(text) == ["pmrep.prom"] or len(os.listdir(text)) == 2
        recorder.terminate()
        recorder.wait()
        assert follower.wait(60) == 0
        assert not os.path.exists(file), "what is not measured any longer is still offered"
    finally:
        for p in started:
            if p.poll() is None:
                p.terminate()
            p.wait()
    rows = [json.loads(line) for line in call(pmrep, "--format=json", "--all", "--show=util", "-S", path).splitlines()]
    values = {r["value"] for r in rows}
    assert {float(v) for _, v in seen} <= values, (seen, values)
    print("live: %d values of Prometheus are pmrep's" % len(seen))


def main():
    prometheus, promtool, exporter = programs()
    with tempfile.TemporaryDirectory() as folder:
        history(prometheus, promtool, folder)
        live(prometheus, exporter, folder)


main()
