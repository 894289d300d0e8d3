about("scaling_cur_freq exceeds scaling_max_freq, which excludes turbo",
      "https://github.com/HeinleinSupport/check_mk_extensions/issues/151", start="right")
cpus("4")
mhz = 3392895, 3393756, 1397416, 1396725
for c, khz in enumerate(mhz):
    put(f"{CPU}/cpu{c}/cpufreq/scaling_cur_freq", khz)
    put(f"{CPU}/cpu{c}/cpufreq/scaling_max_freq", 2100000)
record("--sources=cpufreq")
step({})
for c, khz in enumerate(mhz):
    expect("--show=MHz", "mhz", f"cpu cpu {c}", khz / 1000, "what the kernel says it runs at, not cut to the limit")
expect("--show=MHz", "mhz", "system", sum(mhz) / 4000, "the mean of the four")
