about("A container of one CPU whose /proc/stat has lines of two (lxcfs 4.0.3)", "https://github.com/lxc/lxcfs/issues/406", start="right")
cpus("1")


def stat(a, b):
    return (f"cpu 0 0 0 0 0 0 0 0 0 0\ncpu0 {100 + a} 0 100 {1100 - a} 0 0 0 0 0 0\n"
            f"cpu1 {100 + b} 0 100 {1100 - b} 0 0 0 0 0 0\nctxt 5\nprocs_running 1\n")


put("proc/stat", stat(0, 0).replace("1100", "1000"))
record("--sources=stat")
step({"proc/stat": stat(30, 100)})
expect("--show=Util%", "util", "system", 30, "30 of 100 ticks of the one CPU that is online")
expect("--show=Util%", "util", "cpu 1", None, "it is not this machine's")
info("topology.cpus", 1, "/sys/devices/system/cpu/online")
