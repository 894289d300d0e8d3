about("A device-mapper disk is removed and made again between two readings: some counters are lower now, some higher",
      "https://github.com/sysstat/sysstat/issues/355",
      start="wrong: 840 reads `ok`, the difference between two disks",
      open="each counter is judged alone, by readings of its own, and the rest of its row need not be among what is asked for; "
           "nor does it say enough: drivers restart some numbers of a row, and what is new may be above what is gone in all. "
           "The kernel's number of the disk, diskseq, says it, and is not recorded")
cpus("1")
put("sys/block/dm-3/size", 1000)
put("proc/diskstats", "252 3 dm-3 50 0 400 5 1000 0 64000 5000 0 900 5005")
record("--sources=diskstats")
for line in ("60 0 480 6 1100 0 70400 5500 0 990 5506", "900 0 7200 90 20 0 160 10 0 50 100",
             "910 0 7280 91 30 0 240 15 0 55 106"):
    step({"proc/diskstats": f"252 3 dm-3 {line}"})
expect("--show=diskstats.*", "diskstats.writes", "device dm-3", [100, "reset", 10], "1,100 to 20 is another disk")
expect("--show=diskstats.*", "diskstats.reads", "device dm-3", [10, "reset", 10], "60 to 900 are reads of two disks")
