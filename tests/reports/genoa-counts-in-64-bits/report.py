about("Genoa: the package's register of energy has 64 bits", "https://github.com/amd/amd_energy/issues/12",
      start="wrong: `wrap-ambiguous`, although the register cannot wrap",
      repaired="Take no restart of an energy counter for a wrap")
cpus("2")
processor("amd", 0x19, 0x11)
msr(0x10, 1000, rate="1.0t")
# A unit of 2^-31 J, so that 2 J are 2^32 of them.
msr(0xC0010299, 0xA1F03)
msr(0xC001029A, 0)
msr(0xC001029B, 1000)
record("--sources=msr")
step({0xC001029B: 1000 + 5 * 2**30}, .3)
expect("--Joules", "pkg_j", "system", 2.5, "5 x 2^30 units: the whole register counts")
