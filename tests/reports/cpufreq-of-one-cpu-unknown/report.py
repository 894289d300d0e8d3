about("One CPU's frequency cannot be read: `<unknown>`, or EBUSY under load",
      ("https://github.com/prometheus/node_exporter/issues/1710", "https://github.com/giampaolo/psutil/issues/2261"), start="right")
cpus("4")
for c, khz in enumerate((2000000, 2200000, "<unknown>", 2400000)):
    put(f"{CPU}/cpu{c}/cpufreq/scaling_cur_freq", khz)
record("--sources=cpufreq")
step({f"{CPU}/cpu1/cpufreq/scaling_cur_freq": "<unknown>"})
step({f"{CPU}/cpu1/cpufreq/scaling_cur_freq": 2600000})
expect("--show=cpufreq.cur", "cpufreq.cur", "cpu 1", ["format", 2.6e9], "no number, then one")
expect("--show=cpufreq.cur", "cpufreq.cur", "cpu 3", [2.4e9, 2.4e9], "the others go on")
expect("--show=cpufreq.cur", "cpufreq.cur", "system", [Value(2.2e9, status="partial"), Value(7e9 / 3)],
       "the mean of those known, never with a 0")
prints("pmrep info {rec}", "not as expected", "CPU 2 is missing with a reason")
