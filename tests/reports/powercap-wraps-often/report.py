about("A counter of energy that wraps within an interval: at 2 J of range, 6.5 W and 33 W look alike after 0.4 s",
      ("https://github.com/ml-energy/zeus/issues/91", "https://github.com/sustainable-computing-io/kepler/issues/575",
       "https://github.com/RRZE-HPC/likwid/issues/646", "https://github.com/hubblo-org/scaphandre/issues/280"),
      start="wrong: 0.6 J `ok` for 2.6 J or 13.2 J",
      repaired="energy is bounded by what the zone can draw")
cpus("1")
zone("intel-rapl:0", "package-0", 0, range_uj=2_000_000, max_uw=150_000_000)
record("--sources=powercap")
step({"sys/class/powercap/intel-rapl:0/energy_uj": 600_000}, .4)
expect("--Joules --total", "pkg_j", "system", "wrap-ambiguous", "a package of 150 W can go through 2 J thirty times in 0.4 s: nobody knows the wraps")
