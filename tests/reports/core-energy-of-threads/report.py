about("AMD with two threads a core: both threads read the one register of their core",
      ("https://github.com/RRZE-HPC/likwid/issues/533", "https://github.com/RRZE-HPC/likwid/pull/402",
       "https://github.com/cyring/CoreFreq/issues/54"), start="right")
cpus("0,4 1,5 2,6 3,7")
processor("amd", 0x19, 0x21)
msr(0x10, 1000, rate="1.0t")
msr(0xC0010299, 0xA1003)
for cpu in range(8):
    msr(0xC001029A, 0, cpu, width=32)
msr(0xC001029B, 0, width=32)
record("--sources=msr")
step({0xC001029B: 10 * 65536, **{(0xC001029A, cpu): (cpu % 4 + 1) * 32768 for cpu in range(8)}}, .3)
for core in range(4):
    expect("--Joules", "cor_j", f"core core {core}", .5 * (core + 1), "one register of the core, counted once")
expect("--Joules", "cor_j", "system", 5, "0.5 + 1 + 1.5 + 2 J: every core, and none twice")
expect("--Joules", "pkg_j", "system", 10, "the package, which is more than its cores")
