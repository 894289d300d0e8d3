about("A CPU goes offline and comes back, and its idle time starts again",
      ("https://github.com/performancecopilot/pcp/issues/1507", "https://github.com/sysstat/sysstat/pull/433"), start="right")
cpus("2")


def stat(step, other):
    return (f"cpu 0 0 0 0 0 0 0 0 0 0\ncpu0 {100 + 50 * step} 0 100 {1000 + 50 * step} 0 0 0 0 0 0\n"
            + (f"cpu1 {other[0]} 0 100 {other[1]} 0 0 0 0 0 0\n" if other else "") + "ctxt 5\nprocs_running 1\n")


put("proc/stat", stat(0, (5000, 118089)))
record("--sources=stat")
for n, other in enumerate(((5100, 118089), None, (5100, 140), (5160, 180)), 1):
    step({"proc/stat": stat(n, other)})
expect("--show=Util%", "util", "cpu 0", 50, "50 of 100 ticks")
expect("--show=Util%", "util", "cpu 1", [100, "offline", "offline", 60], "nothing can be said of the interval of its return")
expect("--show=Util%", "util", "system", [75, 50, 50, 55], "of the ticks of the CPUs that are there")
