about("AMD with several dies a package: each die has a zone of powercap, and all show the one counter of the socket",
      ("https://github.com/mlco2/codecarbon/issues/1379", "https://github.com/mlco2/codecarbon/issues/1392",
       "https://github.com/mlco2/codecarbon/issues/1274"), start="wrong: 20 J of two dies for 10 J of the socket",
      repaired="Count AMD's energy of a package once, not for each die")
cpus("4", dies=[0, 0, 1, 1])
files("""
== proc/cpuinfo
processor	: 0
vendor_id	: AuthenticAMD
cpu family	: 23
model		: 1
model name	: AMD Ryzen Threadripper 1950X 16-Core Processor
""")
for die in 0, 1:
    zone(f"intel-rapl:{die}", f"package-0-die-{die}", 777_000_000)
record("--sources=powercap")
step({f"sys/class/powercap/intel-rapl:{die}/energy_uj": 787_000_000 + 15 * die for die in (0, 1)}, .2)
expect("--Joules", "pkg_j", "package 0", Value(10, off=1e-4), "one counter of the socket, seen twice, a moment apart")
expect("--Joules", "pkg_j", "system", Value(10, off=1e-4), "one socket")
