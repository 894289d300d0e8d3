about("A guest that knows its TSC's rate from nowhere: CPUID leaves 15h and 16h are 0",
      "https://github.com/asterinas/asterinas/pull/3613", start="right")
cpus("2")
processor("intel", 6, 0x55, hypervisor="KVMKVMKVM")
cpuid(0x15, "*", 0, 0, 0, 0)
cpuid(0x16, "*", 0, 0, 0, 0)
start, tsc = 10**12, 2 * 10**9
for register in 0x10, 0xE7, 0xE8:
    msr(register, start)
record("--sources=msr")
step({0x10: start + tsc, 0xE7: start + tsc // 4, 0xE8: start + tsc // 8}, .2)
expect("--show=Busy%", "busy", "system", 25, "a ratio of two counters needs no rate")
