about("/proc/vmstat counts reclaimed pages twice, by who reclaimed and by kind, and renames keys between kernels",
      ("https://github.com/Atoptool/atop/pull/245", "https://github.com/sysstat/sysstat/issues/415",
       "https://github.com/collectd/collectd/issues/1307"), start="right")
cpus("1")


def vmstat(k):
    return (f"nr_free_pages {5000 - 100 * k}\nnr_written {70 + k}\nworkingset_nodes {90 - k}\npgsteal_kswapd {1000 + 40 * k}\n"
            f"pgsteal_direct {100 + 2 * k}\npgsteal_anon {300 + 30 * k}\npgsteal_file {800 + 12 * k}\npgpgin {10 + 4 * k}\n")


put("proc/vmstat", vmstat(0))
record("--sources=vmstat")
step({"proc/vmstat": vmstat(1)})
step({"proc/vmstat": vmstat(2).replace("pgsteal_direct", "pgsteal_direct_throttle")})
expect("--show=vmstat.*", "vmstat.pgsteal_kswapd", "system", [40, 40], "1,000 to 1,040 to 1,080")
expect("--show=vmstat.*", "vmstat.pgsteal_anon", "system", [30, 30], "each key alone: 42 were reclaimed, not 84")
expect("--show=vmstat.*", "vmstat.pgsteal_direct", "system", [2, "gone"], "its key has gone")
expect("--show=vmstat.*", "vmstat.nr_free_pages", "system", [4900, 4800], "a level")
expect("--show=vmstat.*", "vmstat.nr_written", "system", [1, 1], "a count, though it is called nr_")
expect("--show=vmstat.*", "vmstat.workingset_nodes", "system", [89, 88], "a level, though it is not called nr_")
expect("--show=vmstat.*", "vmstat.pgpgin", "system", [4096, 4096], "4 kB, not 4 pages")
