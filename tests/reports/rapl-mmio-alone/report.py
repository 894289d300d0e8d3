about("The package is shown by memory-mapped I/O alone: intel-rapl-mmio:0, and no intel-rapl:0",
      ("https://github.com/powercap/powercap/issues/2", "https://github.com/mlco2/codecarbon/pull/950"),
      start="wrong: no energy at all", repaired="a zone of intel-rapl-mmio is taken where intel-rapl has none of its name")
cpus("4")
mmio = "sys/class/powercap/intel-rapl-mmio:0"
zone("intel-rapl-mmio:0", "package-0", 0)
# One that both show, below the other control type.
zone("intel-rapl:0", "psys", 0)
zone("intel-rapl-mmio:1", "psys", 0)
record("--sources=powercap")
step({f"{mmio}/energy_uj": 3_930_000, "sys/class/powercap/intel-rapl:0/energy_uj": 5_000_000,
      "sys/class/powercap/intel-rapl-mmio:1/energy_uj": 5_000_000}, .2)
for place in ("package 0", "system"):
    expect("--Joules --show=Pkg_J", "pkg_j", place, 3.93, "what memory-mapped I/O shows is that package's energy")
expect("--Joules --show=Sys_J", "sys_j", "system", 5, "one platform, counted once")
