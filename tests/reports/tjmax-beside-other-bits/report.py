about("MSR_TEMPERATURE_TARGET 0x83640000: a lock bit and an offset beside Tjmax; a tool read a target of -31 degrees",
      "https://github.com/georgewhewell/undervolt/issues/25", start="right")
cpus("2")
processor("intel", 6, 0x9E)
msr(0x10, 1000, rate="1.0t")
msr(0x1A2, 0x83640000)
# Bit 31: valid; bits 22:16: degrees below Tjmax.
msr(0x19C, 1 << 31 | 45 << 16)
msr(0x1B1, 1 << 31 | 40 << 16)
record("--sources=msr")
step({(0x19C, 1): 1 << 31 | 30 << 16}, .1)
expect("--show=CoreTmp", "core.temp", "core core 0", 55, "bits 23:16 are 100; 100 - 45")
expect("--show=CoreTmp", "core.temp", "core core 1", 70, "100 - 30")
expect("--show=PkgTmp", "package.temp", "system", 60, "100 - 40")
