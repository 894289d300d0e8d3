about("Lines of /proc/diskstats with 11 numbers (before Linux 4.18), 15 (before 5.5), 17, and 19 of a kernel to come",
      ("https://github.com/prometheus/node_exporter/issues/1721", "https://github.com/xrmx/bootchart/issues/87",
       "https://github.com/giampaolo/psutil/pull/1665"), start="right")
cpus("1")
put("sys/block/sda/size", 1000)
old, new = "8 0 sda 10 1 80 5 20 2 160 6 0 9 11", "8 0 sda 13 1 104 6 24 2 192 8 1 12 14"
put("proc/diskstats", f"{old} 3 0 24 1 4 2 77 88\n8 1 sda1 10 1 80 5 20 2 160 6 0 9 11 3 0 24 1 4 2 77 88")
record("--sources=diskstats")
step({"proc/diskstats": f"{new} 5 0 40 4 7 9 78 89\n8 1 sda1 13 1 104 6 24 2 192 8 1 12 14 5 0 40 4 7 9 78 89"})
step({"proc/diskstats": new})
expect("--show=diskstats.*", "diskstats.reads", "system", [3, 0], "10 to 13; the partition's are the disk's")
expect("--show=diskstats.*", "diskstats.flushes", "device sda", [3, "gone"], "4 to 7; then the line ends before them")
expect("--show=diskstats.*", "diskstats.flush_time", "device sda", [.007, "gone"], "2 to 9 ms")
expect("--show=diskstats.*", "diskstats.write_bytes", "device sda", [16384, 0], "32 sectors")
