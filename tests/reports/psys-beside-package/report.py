about("A laptop whose zone psys (the platform) stands beside package-0, and contains it",
      ("https://github.com/powercap/powercap/issues/3", "https://github.com/ColinIanKing/powerstat/issues/4",
       "https://github.com/mlco2/codecarbon/pull/950"), start="right")
cpus("0,4 1,5 2,6 3,7")
zones = (("intel-rapl:0", "package-0", 3.5), ("intel-rapl:0:0", "core", 2), ("intel-rapl:0:1", "uncore", .5),
         ("intel-rapl:0:2", "dram", .75), ("intel-rapl:1", "psys", 7))
for at, name, joules in zones:
    zone(at, name, 10**9)
record("--sources=powercap")
step({f"sys/class/powercap/{at}/energy_uj": 10**9 + int(joules * 10**6) for at, name, joules in zones}, .2)
for metric, joules in (("pkg_j", 3.5), ("cor_j", 2), ("gfx_j", .5), ("ram_j", .75), ("sys_j", 7)):
    expect("--Joules", metric, "system", joules, "each zone is one number: the platform is no second package, memory no part of the package")
