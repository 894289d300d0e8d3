about("A POWER9 partition: core_siblings_list has one core's threads, and a package id for each core",
      "https://github.com/util-linux/util-linux/issues/698", start="right")
cpus("|".join(",".join(str(8 * core + t) for t in range(8)) for core in range(10)), packages=list(range(10)),
     core_ids=[8 * c for c in range(10)])
put("sys/devices/system/node/online", "0")
put("sys/devices/system/node/node0/cpulist", "0-79")
put("proc/stat", "cpu 0 0 0 0 0 0 0 0 0 0\n" + "".join(f"cpu{c} 1 0 1 1 0 0 0 0 0 0\n" for c in range(80)) + "ctxt 5\n")
record("--sources=stat")
step({})
info("topology.cpus", 80, "online")
info("topology.cores", 10, "ten lists of eight threads")
info("topology.threads_per_core", 8, "eight in each list")
info("topology.nodes", 1, "one node")
