about("Two threads of a core count different numbers of throttlings", ("https://github.com/prometheus/node_exporter/issues/1472",
      "https://github.com/prometheus/node_exporter/pull/1479"), start="wrong: the first thread's number alone, 0 of 15",
      repaired="Count a core's throttling on each of its threads")
cpus("0,2 1,3")
count = lambda *n: {f"{CPU}/cpu{c}/thermal_throttle/core_throttle_count": k for c, k in enumerate(n)}
for path, n in {**count(7343, 432, 15732, 100)}.items():
    put(path, n)
record("--sources=throttle")
step(count(7343, 434, 15747, 100))
expect("--per-core", "throttled.core", "core core 0", 15, "its second thread saw fifteen: the core was throttled that often at least")
expect("--per-core", "throttled.core", "core core 1", 2, "its first thread saw two")
expect("", "throttled.core", "system", 15, "of several the most")
