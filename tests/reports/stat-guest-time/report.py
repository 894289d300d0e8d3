about("A host of virtual machines: user and nice include the time of guests, which has columns of its own",
      ("https://github.com/shirou/gopsutil/issues/777", "https://github.com/netdata/netdata/issues/729",
       "https://github.com/prometheus/node_exporter/issues/737", "https://github.com/aristocratos/btop/pull/1609"), start="right")
cpus("2")


def stat(user, nice, idle, guest, guest_nice, other):
    return (f"cpu 0 0 0 0 0 0 0 0 0 0\ncpu0 {user} {nice} 60 {idle} 0 0 0 0 {guest} {guest_nice}\n"
            f"cpu1 1000 0 50 {other} 0 0 0 0 0 0\nctxt 5\nprocs_running 1\n")


put("proc/stat", stat(1000, 100, 5000, 900, 50, 5000))
record("--sources=stat")
step({"proc/stat": stat(1070, 110, 5020, 950, 55, 5100)})
expect("--show=Util%", "util", "cpu 0", 80, "70 + 10 of 100 ticks: the 55 of guests are among them")
expect("--show=Guest%", "util.guest", "cpu 0", Value(55, 1e-9), "50 + 5 of 100 ticks")
expect("--show=Nice%", "util.nice", "cpu 0", 10, "10 of 100 ticks")
expect("--show=Util%", "util", "system", 40, "80 of 200 ticks")
