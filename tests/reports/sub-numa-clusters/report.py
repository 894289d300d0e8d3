about("Two sockets in four nodes each (sub-NUMA clustering): a tool took nodes for sockets",
      "https://github.com/cisco-system-traffic-generator/trex-core/issues/1119", start="right")
cpus("0,16 1,17 2,18 3,19 4,20 5,21 6,22 7,23 | 8,24 9,25 10,26 11,27 12,28 13,29 14,30 15,31")
put("sys/devices/system/node/online", "0-7")
for node in range(8):
    put(f"sys/devices/system/node/node{node}/cpulist", span([2 * node, 2 * node + 1, 2 * node + 16, 2 * node + 17]))
stat = lambda step: "cpu 0 0 0 0 0 0 0 0 0 0\n" + "".join(f"cpu{c} {step * c} 0 0 {step * (100 - c)} 0 0 0 0 0 0\n" for c in range(32))
put("proc/stat", stat(1))
record("--sources=stat")
step({"proc/stat": stat(2)})
for fact, n in ("packages", 2), ("nodes", 8), ("cores", 16), ("cpus", 32):
    info(f"topology.{fact}", n, "physical_package_id says the sockets, nodeN/cpulist the nodes")
expect("--per-node --show=Util%", "util", "node 3", 14.5, "CPUs 6, 7, 22 and 23: (6 + 7 + 22 + 23) / 4")
expect("--per-package --show=Util%", "util", "package 1", 19.5, "CPUs 8-15 and 24-31: (11.5 + 27.5) / 2")
