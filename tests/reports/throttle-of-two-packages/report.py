about("Two packages whose cores have the same numbers, and threads whose counts differ: throttling of each core and package",
      ("https://github.com/prometheus/node_exporter/pull/836", "https://github.com/prometheus/node_exporter/pull/871",
       "https://github.com/prometheus/node_exporter/issues/659"), start="right")
cpus("0,4 1,5 | 2,6 3,7")
at = f"{CPU}/cpu%d/thermal_throttle/%s_throttle_count"
for c in range(8):
    put(at % (c, "core"), 100 * c)
    put(at % (c, "package"), 1000)
record("--sources=throttle")
step({at % (c, "core"): 100 * c + (7 if c % 4 == 1 else 5 if c % 4 == 3 else 0) for c in range(8)} |
     {at % (c, "package"): 1000 + (9 if c % 4 > 1 else 8) for c in range(8)})
expect("--show=CoreThr", "throttled.core", "core package 0 core 1", 7, "CPUs 1 and 5")
expect("--show=CoreThr", "throttled.core", "core package 1 core 1", 5, "CPUs 3 and 7, not those of package 0")
expect("--show=CoreThr", "throttled.core", "core package 1 core 0", 0, "CPUs 2 and 6")
expect("--show=PkgThr", "throttled.package", "package 0", 8, "once, not once a thread")
expect("--show=PkgThr", "throttled.package", "package 1", 9, "once, not once a thread")
