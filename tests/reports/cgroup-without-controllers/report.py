about("A cgroup whose CPU and memory controllers are off, or of version 1 (hybrid): CPU time alone is there",
      ("https://github.com/VictoriaMetrics/metrics/pull/112", "https://github.com/google/cadvisor/issues/3062",
       "https://github.com/netdata/netdata/issues/12595"), start="right")
cpus("1")
put("proc/self/mountinfo", "31 20 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw")
put("proc/self/mounts", "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0")
put("proc/mounts", "tmpfs /sys/fs/cgroup tmpfs rw 0 0\ncgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw 0 0\n"
    "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0")
root = "sys/fs/cgroup/unified"
put(f"{root}/cpu.stat", "usage_usec 100\nuser_usec 60\nsystem_usec 40")
put(f"{root}/a.slice/cgroup.events", "populated 1")


def use(n):
    return {f"{root}/a.slice/cpu.stat": f"usage_usec {n}500000\nuser_usec {n}400000\nsystem_usec {n}100000"}


for name, text in use(1).items():
    put(name, text)
record("--sources=cgroups")
for n in (2, 3):
    step(use(n))
expect("--show=cgroups.*", "cgroups.user", "cgroup /a.slice", 1, "a million us")
expect("--show=cgroups.*", "cgroups.throttled", "cgroup /a.slice", "not-supported", "not 0: nobody counts it")
expect("--show=cgroups.*", "cgroups.memory", "cgroup /a.slice", "not-supported", "not 0: nobody counts it")
