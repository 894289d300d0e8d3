about("A 15 W laptop resumes, and its energy counter starts again at 0 from the upper part of its range",
      ("https://github.com/amanusk/s-tui/issues/42", "https://github.com/flightlessmango/MangoHud/pull/507",
       "https://github.com/mlco2/codecarbon/issues/1321"),
      start="wrong: 62,188 J `ok` in the interval of the restart",
      repaired="energy is bounded by what the zone can draw")
cpus("1")
zone("intel-rapl:0", "package-0", 200_000_000_000, max_uw=15_000_000)
record("--sources=powercap")
energy = "sys/class/powercap/intel-rapl:0/energy_uj"
# 1.5 J in 0.2 s or more: at most 7.5 W.
step({energy: 200_001_500_000}, .2)
step({energy: 1_500_000}, .2)
step({energy: 3_000_000}, .2)
for place in ("package 0", "system"):
    expect("--Joules", "pkg_j", place, [1.5, "reset", 1.5], "62 kJ in 0.2 s are more than a zone of 15 W can take; what came before the restart is unknown")
expect("--Joules --total", "pkg_j", "system", Value(3, status="partial"), "two of the three intervals are known")
