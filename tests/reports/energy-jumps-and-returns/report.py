about("A counter of energy jumps up by 696 J in one reading, and back in the next",
      "https://github.com/ColinIanKing/powerstat/issues/16", start="wrong: 696 J `ok` on the way up",
      repaired="energy is bounded by what the zone can draw")
cpus("4")
zone("intel-rapl:0", "package-0", 5_000_000_000, max_uw=15_000_000)
record("--sources=powercap")
energy = "sys/class/powercap/intel-rapl:0/energy_uj"
for uj in 5_001_000_000, 5_698_000_000, 5_003_000_000, 5_004_000_000:
    step({energy: uj}, .2)
expect("--Joules", "pkg_j", "package 0", [1, "reset|wrap-ambiguous|jump|implausible", "reset|wrap-ambiguous|jump|implausible", 1],
       "697 J in 0.2 s are 3.5 kW of a package of 15 W; neither way is known")
