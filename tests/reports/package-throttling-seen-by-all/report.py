about("Every CPU of a package counts the package's throttlings: a sum counts them once for each CPU",
      "https://github.com/collectd/collectd/pull/2397", start="right")
cpus("0,4 1,5 | 2,6 3,7")
count = lambda a, b: {f"{CPU}/cpu{c}/thermal_throttle/package_throttle_count": (a if c in (0, 1, 4, 5) else b) for c in range(8)}
for path, n in count(8, 30).items():
    put(path, n)
record("--sources=throttle")
step(count(10, 35))
expect("--per-package --show=PkgThr", "throttled.package", "package 0", 2, "8 to 10, once")
expect("--per-package --show=PkgThr", "throttled.package", "package 1", 5, "30 to 35, once")
