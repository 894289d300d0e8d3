about("physical_package_id and core_id are -1: the kernel knows of no package, but of each core's threads",
      ("https://github.com/pytorch/cpuinfo/pull/421", "https://github.com/avafinger/bpi-m64-firmware/issues/5",
       "https://github.com/llvm/llvm-project/issues/111809", "https://github.com/uutils/util-linux/issues/495"),
      start="wrong: no cores at all", repaired="Tell cores, dies and packages apart by the kernel's lists of CPUs")
cpus("4", core_ids=[-1] * 4, packages=[-1])


def stat(k):
    return "cpu 0 0 0 0 0 0 0 0 0 0\n" + "".join(f"cpu{c} {100 + 10 * c * k} 0 100 {1000 + (100 - 10 * c) * k} 0 0 0\n"
                                                 for c in range(4)) + "ctxt 5\nprocs_running 1\n"


put("proc/stat", stat(0))
record("--sources=stat")
step({"proc/stat": stat(1)})
info("topology.cpus", 4, "/sys/devices/system/cpu/online")
info("topology.cores", 4, "thread_siblings_list")
info("topology.threads_per_core", 1, "thread_siblings_list")
expect("--show=stat.user", "stat.user", "cpu 3", .3, "30 ticks, of a line with 7 numbers")
expect("--show=stat.user", "stat.user", "system", .6, "0 + 10 + 20 + 30 ticks")
