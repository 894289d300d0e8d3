about("Times of /proc/diskstats have 32 bits on 64-bit kernels, too: at 1,400 requests waiting, they wrap every 51 minutes",
      ("https://github.com/elastic/beats/issues/30480", "https://github.com/DataDog/datadog-agent/pull/3405"),
      start="wrong: read_time, write_time and weighted_time missing, `reset`", repaired="their width in the catalog")
cpus("1")
put("sys/block/sda/size", 1000)
put("proc/diskstats", "8 0 sda 1000 0 8000 4294967000 2000 0 16000 4294617635 0 5000 4294960000 0 0 0 0 10 20")
record("--sources=diskstats")
step({"proc/diskstats": "8 0 sda 1010 0 8080 104 2010 0 16080 2635 0 5400 1040 0 0 0 0 11 21"})
expect("--show=diskstats.*", "diskstats.read_time", "device sda", .4, "2^32 - 4294967000 + 104 = 400 ms")
expect("--show=diskstats.*", "diskstats.write_time", "device sda", 352.296, "2^32 - 4294617635 + 2635 = 352296 ms")
expect("--show=diskstats.*", "diskstats.weighted_time", "device sda", 8.336, "2^32 - 4294960000 + 1040 = 8336 ms")
expect("--show=diskstats.*", "diskstats.busy_time", "system", .4, "5000 to 5400 ms")
expect("--show=diskstats.*", "diskstats.write_bytes", "system", 40960, "80 sectors")
