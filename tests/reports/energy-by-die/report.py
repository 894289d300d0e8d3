about("A package of two dies with a zone of powercap each", "https://github.com/powercap/raplcap/issues/9",
      start="wrong: the sum of both in the row of die 0, nothing in that of die 1",
      repaired="Take no restart of an energy counter for a wrap")
cpus("2", dies=[0, 1])
zone("intel-rapl:0", "package-0-die-0", 50_000_000)
zone("intel-rapl:1", "package-0-die-1", 20_000_000)
record("--sources=powercap")
step({"sys/class/powercap/intel-rapl:0/energy_uj": 60_000_000, "sys/class/powercap/intel-rapl:1/energy_uj": 24_000_000}, .2)
expect("--Joules --per-die", "pkg_j", "die 0", 10, "its own zone")
expect("--Joules --per-die", "pkg_j", "die 1", 4, "its own zone")
expect("--Joules --per-package", "pkg_j", "package 0", 14, "both of its dies")
