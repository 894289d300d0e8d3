about("One tick less of iowait on one CPU, which proc(5) documents",
      ("https://github.com/sysstat/sysstat/issues/14", "https://github.com/prometheus/node_exporter/issues/1903",
       "https://github.com/giampaolo/psutil/issues/2172"),
      start="wrong: Util%, User%, Sys% and IOwait% missing for that CPU and the system, and no remark",
      repaired="Let counters of /proc/stat, tasks and vmstat step back a little")
cpus("2")
record("--sources=stat")


def stat(step, iowait):
    return ("cpu 0 0 0 0 0 0 0 0 0 0\n"
            f"cpu0 {10 + 10 * step} 0 0 {400 + 90 * step} {iowait} 0 0 0 0 0\n"
            f"cpu1 {20 + 50 * step} 0 0 {300 + 50 * step} 5 0 0 0 0 0\nctxt 5\nprocs_running 1\n")


put("proc/stat", stat(0, 5))
for n, iowait in enumerate((5, 5, 4, 4, 4), 1):
    step({"proc/stat": stat(n, iowait)})
expect("--show=Util%", "util", "cpu 0", 10, "10 of 100 ticks are user's, also where iowait falls")
expect("--show=Util%", "util", "cpu 1", 50, "50 of 100 ticks: nothing happened to this CPU")
expect("--show=Util%", "util", "system", 30, "60 of 200 ticks of both CPUs")
expect("--show=Util% --total", "util", "system", 30, "300 of 1,000 ticks")
expect("--show=IOwait%", "util.iowait", "cpu 0", 0, "a small step back counts 0, for this field alone")
