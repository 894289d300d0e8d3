about("The memory's counter of energy has a quarter of the package's range, and wraps alone",
      "https://github.com/joular/powerjoular/issues/87", start="right")
cpus("2")
zone("intel-rapl:0", "package-0", 65_712_000_000, max_uw=205_000_000)
zone("intel-rapl:0:0", "dram", 65_712_000_000, range_uj=65_712_999_613, max_uw=122_000_000)
record("--sources=powercap")
package, dram = "sys/class/powercap/intel-rapl:0/energy_uj", "sys/class/powercap/intel-rapl:0:0/energy_uj"
step({package: 65_720_000_000, dram: 2_000_387}, .2)
expect("--Joules", "pkg_j", "package 0", 8, "65,720 - 65,712 J: it has not wrapped")
# The kernel's counter begins again at 0 behind its greatest value.
expect("--Joules", "ram_j", "package 0", Value(3, off=1e-3), "0.999613 J up to its own range, and 2.000387 J behind it")
