about("Haswell-EP counts the memory's energy in 15.3 uJ, whatever the register of units says",
      ("https://github.com/RRZE-HPC/likwid/issues/39", "https://github.com/TACC/HPCPerfStats/issues/9",
       "https://github.com/geopm/geopm/pull/497"), start="right")
cpus("2")
processor("intel", 6, 0x3F)
msr(0x10, 1000, rate="1.0t")
# Bits 12:8: energy in units of 2^-14 J.
msr(0x606, 0xA0E03)
for register in 0x611, 0x619:
    msr(register, 0, width=32)
record("--sources=msr")
step({0x611: 5 * 2**14, 0x619: 100_000}, .3)
expect("--Joules", "pkg_j", "package 0", 5, "5 x 2^14 units of 2^-14 J")
expect("--Joules", "ram_j", "package 0", 1.53, "100,000 x 15.3 uJ; by the register of units it were 6.1 J")
