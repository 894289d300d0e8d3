about("After resume the registers of all CPUs but the first cannot be read for a while",
      "https://github.com/intel/intel-lpmd/issues/99", start="right")
cpus("4")
processor("intel", 6, 0x9A)
start = 10**12
for register in 0x10, 0xE7, 0xE8:
    msr(register, start)
record("--sources=msr")
tsc, at = 2 * 10**9, lambda step: {0x10: start + step * tsc, 0xE7: start + step * tsc // 4, 0xE8: start + step * tsc // 2}
step(at(1), .2)
step({**at(2), "fail 0xe7 1-3": 5, "fail 0xe8 1-3": 5}, .2)
step({**at(3), "fail 0xe7 1-3": 0, "fail 0xe8 1-3": 0}, .2)
expect("--show=Busy%", "busy", "cpu cpu 0", [25, 25, 25], "it answered all the time")
expect("--show=Busy%", "busy", "cpu cpu 2", [25, "errno-5", 25], "the next reading has what was missed")
expect("--show=Busy% --total", "busy", "system", 25, "nothing is lost in the end: the registers count on")
