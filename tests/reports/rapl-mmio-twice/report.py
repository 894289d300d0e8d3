about("The same package by registers and by memory-mapped I/O: intel-rapl:0 and intel-rapl-mmio:0 are both package-0",
      "https://github.com/mlco2/codecarbon/pull/950", start="right")
cpus("4")
zone("intel-rapl:0", "package-0", 0)
zone("intel-rapl-mmio:0", "package-0", 0)
record("--sources=powercap")
step({"sys/class/powercap/intel-rapl:0/energy_uj": 3_930_000, "sys/class/powercap/intel-rapl-mmio:0/energy_uj": 3_780_000}, .2)
expect("--Joules", "pkg_j", "package 0", 3.93, "one package, counted once")
expect("--Joules", "pkg_j", "system", 3.93, "one package, counted once")
