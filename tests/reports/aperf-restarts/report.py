about("After resume APERF and MPERF start again at 0: the ratio of frequencies was 18,446,744,073,027",
      "https://github.com/cyring/CoreFreq/issues/282", start="right")
cpus("2")
processor("intel", 6, 0x9E)
start = 10**12
for register in 0x10, 0xE7, 0xE8:
    msr(register, start)
record("--sources=msr")
tsc = 2 * 10**9
step({0x10: start + tsc, 0xE7: start + tsc // 2, 0xE8: start + tsc}, .2)
step({0x10: start + 2 * tsc, 0xE7: start + tsc, 0xE8: start + 2 * tsc, (0xE7, 0): tsc // 100, (0xE8, 0): tsc // 50}, .2)
step({0x10: start + 3 * tsc, 0xE7: start + 3 * tsc // 2, 0xE8: start + 3 * tsc, (0xE7, 0): tsc // 100 + tsc // 2, (0xE8, 0): tsc // 50 + tsc}, .2)
expect("--show=Busy%", "busy", "cpu cpu 0", [50, "reset", 50], "what it did before it started again is unknown")
expect("--show=Busy%", "busy", "cpu cpu 1", [50, 50, 50], "the other CPU counted on")
expect("--show=Bzy_MHz", "bzy_mhz", "cpu cpu 0", [Between(100, 10**5), "reset", Between(100, 10**5)], "no frequency follows from a restart")
