about("Idle states of the device tree, whose names differ behind the first dash",
      "https://github.com/ARM-software/workload-automation/issues/1051",
      start="wrong: columns WFI%, cpu%, cpu_2%, cluster%",
      repaired="names are cut where Intel's driver appends the processor, nowhere else")
cpus("1")
names = ("WFI", "cpu-sleep-0-0", "cpu-sleep-0-1", "cluster-sleep-0")
idle(0, *((name, 10, 1000) for name in names))
record("--sources=cpuidle")
# A tenth to four tenths of 0.2 s at least.
step({f"{CPU}/cpu0/cpuidle/state{k}/time": 1000 + 20000 * (k + 1) for k in range(4)}, .2)
prints("pmrep -S {rec}", r"WFI%.*cpu-sleep-0-0%.*cpu-sleep-0-1%.*cluster-sleep-0%", "each state under its name")
