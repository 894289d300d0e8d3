about("CPU 0 and eight behind a hole of fifteen offline CPUs", "https://github.com/Atoptool/atop/issues/261", start="right")
cpus("24", offline=set(range(1, 16)))
for c in range(24):
    put(f"{CPU}/cpu{c}/online", int(c == 0 or c > 15))
there = [0, *range(16, 24)]
stat = lambda step: "cpu 0 0 0 0 0 0 0 0 0 0\n" + "".join(f"cpu{c} {step * c} 0 0 {step * (50 - c)} 0 0 0 0 0 0\n" for c in there)
put("proc/stat", stat(1))
record("--sources=stat")
step({"proc/stat": stat(2)})
expect("--show=Util%", "util", "cpu cpu 23", 46, "23 of 50 ticks")
expect("--show=Util%", "util", "cpu cpu 7", None, "offline")
expect("--show=Util%", "util", "system", Value(100 * 156 / 450), "16 + ... + 23 of nine times 50 ticks: who is offline has no time")
info("topology.cpus", 9, "nine are online")
info("topology.offline_cpus", 15, "fifteen are not")
