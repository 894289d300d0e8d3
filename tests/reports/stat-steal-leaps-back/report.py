about("A guest whose steal time falls by 8e8 ticks a second after it was moved to another host",
      ("https://github.com/prometheus/node_exporter/issues/742", "https://github.com/influxdata/telegraf/issues/2871"), start="right")
cpus("1")


def stat(step, steal):
    return f"cpu 0 0 0 0 0 0 0 0 0 0\ncpu0 {100 + 40 * step} 0 100 {1000 + 60 * step} 0 0 0 {steal} 0 0\nctxt 5\nprocs_running 1\n"


put("proc/stat", stat(0, 18446744073000000000))
record("--sources=stat")
for n in (1, 2, 3):
    step({"proc/stat": stat(n, 18446744073000000000 - 800000000 * n)})
expect("--show=stat.*", "stat.steal", "system", ["reset", "reset", "reset"], "time does not fall by 93 days in a second")
expect("--show=stat.*", "stat.user", "system", [.4, .4, .4], "its own column tells the truth")
expect("--show=Steal%", "util.steal", "system", ["reset", "reset", "reset"], "unknown, not 100 %")
