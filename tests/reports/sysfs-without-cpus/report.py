about("A sandbox has /proc, but nothing below /sys/devices/system/cpu",
      ("https://github.com/google/gvisor/issues/91", "https://github.com/TritonDataCenter/illumos-joyent/issues/140"),
      start="wrong: no recording", repaired="CPUs are those of /proc/stat, and the topology is refused")
put("proc/stat", "cpu  200 0 0 2000 0 0 0 0 0 0\ncpu0 100 0 0 1000 0 0 0 0 0 0\ncpu2 100 0 0 1000 0 0 0 0 0 0\nctxt 7\n")
record("--sources=stat")
step({"proc/stat": "cpu  350 0 0 2050 0 0 0 0 0 0\ncpu0 200 0 0 1000 0 0 0 0 0 0\ncpu2 150 0 0 1050 0 0 0 0 0 0\nctxt 9\n"}, .3)
expect("--show=Util%", "util", "cpu 0", 100, "it was busy all the time")
expect("--show=Util%", "util", "cpu 2", 50, "it was busy half of the time")
expect("--show=Util%", "util", "system", 75, "of two CPUs")
info("topology.cpus", 2, "/proc/stat has two")
prints("pmrep info {rec}", r"/sys/devices/system/cpu/online \(topology\)", "the topology is missing with a reason")
