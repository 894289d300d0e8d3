about("AMD without the msr driver: the zone `core` below the package is the register of one core",
      "https://github.com/flightlessmango/MangoHud/issues/1765", start="wrong: Cor_J 3.5 for four cores that took 20 J", repaired="Show the energy of a package for all of its dies, and by die")
cpus("4")
files("""
== proc/cpuinfo
processor	: 0
vendor_id	: AuthenticAMD
cpu family	: 25
model		: 97
model name	: AMD Ryzen 7 7700X 8-Core Processor
""")
zone("intel-rapl:0", "package-0", 10**9, range_uj=65_532_610_987)
zone("intel-rapl:0:0", "core", 10**9, range_uj=65_532_610_987)
record("--sources=powercap")
step({"sys/class/powercap/intel-rapl:0/energy_uj": 1_025_000_000, "sys/class/powercap/intel-rapl:0:0/energy_uj": 1_003_500_000}, .2)
expect("--Joules", "pkg_j", "system", 25, "the package's zone is the package's")
expect("--Joules --show=Cor_J,Pkg_J", "cor_j", "system", None, "one core of four is known: their sum is not")
