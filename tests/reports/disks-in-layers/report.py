about("An encrypted volume on a RAID of two disks: each layer has a line in /proc/diskstats, and counts the same reads",
      ("https://github.com/Atoptool/atop/pull/157", "https://github.com/scottchiefbaker/dool/issues/32",
       "https://github.com/gokrazy/stat/issues/2"), start="wrong: the system has read 3 times what its disks have, `ok`",
      repaired="a recording says which devices stand on others; the system has those below")
cpus("1")
for disk in ("sda", "sdb"):
    put(f"sys/block/{disk}/size", 1000)
put("sys/block/md0/slaves/sda", "")
put("sys/block/md0/slaves/sdb", "")
put("sys/block/dm-0/slaves/md0", "")


def disks(k):
    return "".join(f"{line} {10 + n * k} 0 {80 + 8 * n * k} 0 0 0 0 0 0 0 0\n" for line, n in
                   (("8 0 sda", 100), ("8 16 sdb", 100), ("9 0 md0", 200), ("253 0 dm-0", 200)))


put("proc/diskstats", disks(0))
record("--sources=diskstats")
step({"proc/diskstats": disks(1)})
expect("--show=diskstats.reads", "diskstats.reads", "device md0", 200, "its own line")
expect("--show=diskstats.reads", "diskstats.reads", "system", 200, "what the disks have read")
