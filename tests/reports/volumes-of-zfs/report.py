about("Volumes of ZFS and DRBD: nothing in /sys says on which disks they stand, and their reads are in the lines of those, too",
      "https://github.com/scottchiefbaker/dool/issues/32", start="wrong: the system has read 3 times what its disk has, `ok`",
      repaired="they are known by their names")
cpus("1")
for disk in ("sda", "zd0", "zd16", "drbd1000"):
    put(f"sys/block/{disk}/size", 1000)


def disks(k):
    return "".join(f"{line} {10 + n * k} 0 {80 + 8 * n * k} 0 0 0 0 0 0 0 0\n" for line, n in (
        ("8 0 sda", 100), ("8 1 sda1", 100), ("230 0 zd0", 60), ("230 1 zd0p1", 60), ("230 16 zd16", 40), ("147 1000 drbd1000", 100)))


put("proc/diskstats", disks(0))
record("--sources=diskstats")
step({"proc/diskstats": disks(1)})
expect("--show=diskstats.reads", "diskstats.reads", "device zd16", 40, "its own line")
expect("--show=diskstats.reads", "diskstats.reads", "system", 100, "what the disk has read")
