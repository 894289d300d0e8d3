about("The idle time of a container is 8e18 ticks and stands still, until it is sane again (lxcfs 3.0.3)",
      "https://github.com/lxc/lxcfs/issues/311", start="right")
cpus("1")


def stat(user, idle):
    return f"cpu 0 0 0 0 0 0 0 0 0 0\ncpu0 {user} 0 100 {idle} 0 0 0 0 0 0\nctxt 5\nprocs_running 1\n"


put("proc/stat", stat(100, 8317131874320235395))
record("--sources=stat")
for values in ((150, 8317131874320235395), (200, 5000), (250, 5050)):
    step({"proc/stat": stat(*values)})
expect("--show=stat.*", "stat.idle", "system", [0, "reset", .5], "8e18 to 5,000 is no time")
expect("--show=stat.*", "stat.user", "system", [.5, .5, .5], "50 ticks each")
expect("--show=Util%", "util", "system", [100, "reset", 50], "without idle time there is no share")
