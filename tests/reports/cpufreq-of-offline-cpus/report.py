about("Every second CPU is offline: its cpufreq folder is gone, and numbers do not follow from counting lines",
      ("https://github.com/giampaolo/psutil/issues/2628", "https://github.com/giampaolo/psutil/issues/2254",
       "https://github.com/htop-dev/htop/issues/648"), start="right")
cpus("4", offline=(1, 3))
for c, khz in ((0, 2000000), (2, 3000000)):
    put(f"{CPU}/cpu{c}/cpufreq/scaling_cur_freq", khz)
record("--sources=cpufreq")
step({f"{CPU}/cpu2/cpufreq/scaling_cur_freq": 1000000})
step({})
expect("--show=cpufreq.cur", "cpufreq.cur", "cpu 2", [1e9, 1e9], "its own file, not that of the second line")
expect("--show=cpufreq.cur", "cpufreq.cur", "cpu 1", None, "it is offline")
expect("--show=cpufreq.cur", "cpufreq.cur", "system", [1.5e9, 1.5e9], "the mean of those online, not half of it")
