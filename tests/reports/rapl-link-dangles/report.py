about("A power zone of the processor's registers is a link to nothing; memory-mapped I/O has the same package",
      "https://github.com/home-assistant/operating-system/issues/4931", start="wrong: no energy at all",
      repaired="a zone of intel-rapl-mmio is taken where intel-rapl has none of its name")
cpus("4")
put("sys/class/powercap/intel-rapl:0/name", "package-0")
zone("intel-rapl-mmio:0", "package-0", 1000)
record("--sources=powercap")
step({"sys/class/powercap/intel-rapl-mmio:0/energy_uj": 6_001_000}, .2)
expect("--Joules --show=Pkg_J", "pkg_j", "system", 6, "what memory-mapped I/O shows")
