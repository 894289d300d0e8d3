about("Skylake desktop (Xeon E3 v5): the memory has the common unit, as opposed to servers of the same time",
      "https://github.com/sosy-lab/cpu-energy-meter/issues/14", start="right")
cpus("2")
processor("intel", 6, 0x5E)
msr(0x10, 1000, rate="1.0t")
# Bits 12:8: energy in units of 2^-14 J.
msr(0x606, 0xA0E03)
for register in 0x611, 0x619:
    msr(register, 0, width=32)
record("--sources=msr")
step({0x611: 2**14, 0x619: 2**13}, .3)
expect("--Joules", "ram_j", "package 0", .5, "2^13 units of 2^-14 J")
