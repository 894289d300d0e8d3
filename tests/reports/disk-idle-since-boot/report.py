about("A disk that has done nothing since the boot begins to work while it is watched",
      ("https://github.com/netdata/netdata/issues/947", "https://github.com/nicolargo/glances/pull/3721"),
      start="wrong: what it did in its first ten seconds is in no sum, and these are `ok`",
      repaired="idle disks and interfaces are watched, and begin with their last reading, 0")
cpus("1")
for name in ("sda", "sdb"):
    put(f"sys/block/{name}/size", 1000)


def disks(a, b):
    return f"8 0 sda {a} 0 {8 * a} 0 0 0 0 0 0 0 0\n8 16 sdb {b} 0 {8 * b} 0 0 0 0 0 0 0 0\n"


put("proc/diskstats", disks(100, 0))
record("--sources=diskstats")
for a, b in ((110, 1000), (120, 1500), (130, 2000), (140, 2500), (150, 3000)):
    step({"proc/diskstats": disks(a, b)}, .2)
expect("--show=diskstats.reads --total", "diskstats.reads", "device sda", 50, "100 to 150")
expect("--show=diskstats.reads --total", "diskstats.reads", "device sdb", Value(3000, status="partial"),
       "it was seen with 0, so all 3,000 are of this recording; when it began is not known")
expect("--show=diskstats.reads --total", "diskstats.reads", "system", Value(3050, status="partial"), "both disks")
