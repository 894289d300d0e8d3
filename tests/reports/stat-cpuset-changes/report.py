about("A container gets other CPUs, and all of its /proc/stat starts again elsewhere (lxcfs)",
      ("https://github.com/lxc/lxcfs/issues/513", "https://github.com/lxc/lxcfs/issues/554"), start="right")
cpus("1")


def stat(user, system, idle):
    return f"cpu 0 0 0 0 0 0 0 0 0 0\ncpu0 {user} 0 {system} {idle} 0 0 0 0 0 0\nctxt 5\nprocs_running 1\n"


put("proc/stat", stat(90000, 40000, 700000))
record("--sources=stat")
for values in ((90030, 40000, 700070), (1200, 500, 9000), (1220, 520, 9060)):
    step({"proc/stat": stat(*values)})
expect("--show=Util%", "util", "system", [30, "reset", 40], "30 of 100 ticks; other CPUs; 40 of 100")
expect("--show=User%", "util.user", "system", [30, "reset", 20], "the same")
