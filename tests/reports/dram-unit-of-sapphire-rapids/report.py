about("Sapphire Rapids counts the memory's energy in the common unit again",
      ("https://github.com/RRZE-HPC/likwid/issues/642", "https://github.com/RRZE-HPC/likwid/pull/643"), start="right")
cpus("2")
processor("intel", 6, 0x8F)
msr(0x10, 1000, rate="1.0t")
# Bits 12:8: energy in units of 2^-14 J.
msr(0x606, 0xA0E03)
for register in 0x611, 0x619:
    msr(register, 0, width=32)
record("--sources=msr")
step({0x611: 5 * 2**14, 0x619: 100_000}, .3)
expect("--Joules", "ram_j", "package 0", 100_000 / 2**14, "61 uJ: the register of units holds; 15.3 uJ were a quarter")
