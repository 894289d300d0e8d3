about("POWER8 with SMT off: CPUs 0, 8, 16 and 24 are online, those between are not; memory of GPUs are nodes without CPUs",
      ("https://github.com/prometheus/procfs/issues/84", "https://github.com/Atoptool/atop/issues/261",
       "https://github.com/sysstat/sysstat/pull/7", "https://github.com/sched-ext/scx/pull/2325"), start="right")
cpus("0,1,2,3,4,5,6,7 8,9,10,11,12,13,14,15 | 16,17,18,19,20,21,22,23 24,25,26,27,28,29,30,31", packages=(0, 8),
     core_ids=(0, 8, 16, 24), offline=[c for c in range(32) if c % 8])
for node, list_ in (("0", "0,8"), ("8", "16,24"), ("252", ""), ("253", "")):
    put(f"sys/devices/system/node/node{node}/cpulist", list_)
put("sys/devices/system/node/online", "0,8,252-253")


def stat(k):
    return "cpu 0 0 0 0 0 0 0 0 0 0\n" + "".join(f"cpu{c} {100 + c * k} 0 100 {1000 + (100 - c) * k} 0 0 0 0 0 0\n"
                                                 for c in (0, 8, 16, 24)) + "ctxt 5\nprocs_running 1\n"


put("proc/stat", stat(0))
record("--sources=stat")
step({"proc/stat": stat(1)})
expect("--show=Util% --per-cpu", "util", "cpu 24", 24, "24 of 100 ticks")
expect("--show=Util% --per-core", "util", "core package 8 core 16", 16, "its one thread online")
expect("--show=Util% --per-package", "util", "package 8", 20, "16 and 24 of 200")
expect("--show=Util% --per-node", "util", "node 8", 20, "16 and 24 of 200")
expect("--show=Util% --per-node", "util", "node 252", None, "it has no CPU")
expect("--show=Util%", "util", "system", Value(12, 1e-9), "0 + 8 + 16 + 24 of 400")
info("topology.cpus", 4, "those online")
info("topology.cores", 4, "one thread of each is online")
