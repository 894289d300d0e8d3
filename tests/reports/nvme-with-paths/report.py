about("NVMe disks that could have several paths: each path has a line beside that of the disk, which counts the same since Linux 6.4, "
      "and nothing before",
      ("https://github.com/Atoptool/atop/pull/157", "https://github.com/netdata/netdata/issues/5744",
       "https://github.com/sysstat/sysstat/issues/341"), start="wrong: the system has read twice what its disks have, `ok`",
      repaired="a disk with paths stands on them")
cpus("1")
for disk in ("nvme0n1", "nvme0c0n1", "nvme0c1n1", "nvme1n1", "nvme1c33n1", "nvme2n1", "nvme10c2n1"):
    put(f"sys/block/{disk}/size", 1000)


def disks(k):
    return "".join(f"{line} {10 * bool(n) + n * k} 0 {80 + 8 * n * k} 0 0 0 0 0 0 0 0\n" for line, n in (
        ("0 0 nvme0c0n1", 100), ("0 0 nvme0c1n1", 50), ("259 1 nvme0n1", 150),
        ("0 0 nvme1c33n1", 7), ("259 2 nvme1n1", 0), ("259 3 nvme2n1", 20), ("259 4 nvme2n1p1", 20), ("0 0 nvme10c2n1", 3)))


put("proc/diskstats", disks(0))
record("--sources=diskstats")
step({"proc/diskstats": disks(1)})
expect("--show=diskstats.reads", "diskstats.reads", "device nvme0n1", 150, "its own line")
expect("--show=diskstats.reads", "diskstats.reads", "device nvme0c1n1", 50, "the second path")
expect("--show=diskstats.reads", "diskstats.reads", "system", 180, "100 and 50 by the paths of the first, 7, 20 and 3 of the others")
