about("Memory of its own node beside each node of CPUs (HBM in flat mode): nodes 2 and 3 have no CPU",
      "https://github.com/open-mpi/hwloc/issues/541", start="right")
cpus("0 1 | 2 3")
put("sys/devices/system/node/online", "0-3")
for node, cpus_of in enumerate(("0-1", "2-3", "", "")):
    put(f"sys/devices/system/node/node{node}/cpulist", cpus_of)
stat = lambda step: "cpu 0 0 0 0 0 0 0 0 0 0\n" + "".join(f"cpu{c} {step * 10 * (c + 1)} 0 0 {step * (90 - 10 * c)} 0 0 0 0 0 0\n" for c in range(4))
put("proc/stat", stat(1))
record("--sources=stat")
step({"proc/stat": stat(2)})
info("topology.nodes", 2, "as all of topology: nodes with CPUs that are online")
expect("--per-node --show=Util%", "util", "node 0", 15, "30 of 200 ticks")
expect("--per-node --show=Util%", "util", "node 2", None, "a node without CPUs has no utilisation")
