about("An energy counter, as 64 bits without a sign, falls a little, and the difference is 1.8e19",
      ("https://github.com/sustainable-computing-io/kepler/pull/53", "https://github.com/sustainable-computing-io/kepler/issues/1344",
       "https://github.com/intel/compute-runtime/issues/938"), start="right")
cpus("2")
zone("intel-rapl:0", "package-0", 900_000_000, max_uw=35_000_000)
zone("intel-rapl:0:0", "core", 600_000_000)
record("--sources=powercap")
p, c = (f"sys/class/powercap/{z}/energy_uj" for z in ("intel-rapl:0", "intel-rapl:0:0"))
step({p: 902_000_000, c: 601_000_000}, .2)
step({p: 904_000_000, c: 600_900_000}, .2)
step({p: 906_000_000, c: 602_000_000}, .2)
expect("--Joules --show=Pkg_J", "pkg_j", "system", [2, 2, 2], "it rises")
expect("--Joules --show=powercap.energy.core", "powercap.energy.core", "system", [1, "reset", 1.1], "energy does not fall, and is not 262 kJ in a moment")
