about("Four nodes of CPUs, two of which have no memory, and a node of CXL memory without CPUs",
      ("https://github.com/open-mpi/hwloc/issues/430", "https://github.com/numactl/numactl/issues/165",
       "https://github.com/numactl/numactl/issues/127", "https://github.com/facebookincubator/dispenso/issues/89"), start="right")
cpus("0,4 1,5 2,6 3,7")
for node in range(5):
    put(f"sys/devices/system/node/node{node}/cpulist", f"{node},{node + 4}" if node < 4 else "")
    put(f"sys/devices/system/node/node{node}/meminfo", f"Node {node} MemTotal: {0 if node in (0, 3) else 64000000} kB")
put("sys/devices/system/node/online", "0-4")
put("sys/devices/system/node/has_memory", "1-2,4")


def stat(k):
    return "cpu 0 0 0 0 0 0 0 0 0 0\n" + "".join(f"cpu{c} {100 + 10 * c * k} 0 100 {1000 + (100 - 10 * c) * k} 0 0 0 0 0 0\n"
                                                 for c in range(8)) + "ctxt 5\nprocs_running 1\n"


put("proc/stat", stat(0))
record("--sources=stat")
step({"proc/stat": stat(1)})
expect("--show=Util% --per-node", "util", "node 0", 20, "0 and 40 of 200 ticks, whatever memory it has")
expect("--show=Util% --per-node", "util", "node 3", 50, "30 and 70 of 200")
expect("--show=Util% --per-node", "util", "node 4", None, "it has no CPU")
expect("--show=Util%", "util", "system", 35, "280 of 800")
