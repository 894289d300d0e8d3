about("Residency of the machine is no sum over its cores", "https://github.com/intel/pcm/issues/23", start="right")
cpus("0,2 1,3")
processor("intel", 6, 0x9E)
start, tsc = 10**12, 2 * 10**9
for register in 0x10, 0xE7, 0xE8, 0x3FD, 0x3FE, 0x60D, 0x3FA:
    msr(register, start)
record("--sources=msr")
step({0x10: start + tsc, 0xE7: start + tsc // 20, 0xE8: start + tsc // 20,
      **{(0x3FE, c): start + int(tsc * (.95, .45)[c % 2]) for c in range(4)}, 0x3FA: start + tsc * 3 // 10}, .5)
expect("--show=CPU%c7", "cpu.c7", "core core 0", Value(95, off=.15), "its register by the TSC")
expect("--show=CPU%c7", "cpu.c7", "core core 1", Value(45, off=.15), "its register by the TSC")
expect("--show=CPU%c7", "cpu.c7", "system", Value(70, off=.15), "the mean of two cores")
