about("Hybrid of fast and slow cores: the fast ones showed 445 % of C0, by the clock of the slow ones",
      "https://github.com/fenrus75/powertop/issues/86", start="right")
cpus("0,1 2 3")
processor("intel", 6, 0x97)
# CPUs 0 and 1 are a fast core, 2 and 3 slow ones.
for cpu, kind in enumerate((0x40, 0x40, 0x20, 0x20)):
    cpuid(0x1A, "*", kind << 24 | 1, 0, 0, 0, cpu)
put("sys/devices/cpu_core/cpus", "0-1")
put("sys/devices/cpu_atom/cpus", "2-3")
# One TSC; APERF of the fast core runs at up to twice MPERF.
start = 10**12
for register in 0x10, 0xE7, 0xE8:
    msr(register, start)
record("--sources=msr")
tsc, shares = 2 * 10**9, ((.9, 1.8), (.2, .4), (.5, .4), (1, .8))
step({0x10: start + tsc, **{(r, c): start + int(tsc * s[k]) for c, s in enumerate(shares) for k, r in enumerate((0xE7, 0xE8))}}, .2)
for cpu, (busy, _) in enumerate(shares):
    expect("--show=Busy%", "busy", f"cpu cpu {cpu}", 100 * busy, "MPERF by the TSC, whatever APERF does: never above 100")
expect("--show=Busy%", "busy", "system", 65, "the mean of the four")
