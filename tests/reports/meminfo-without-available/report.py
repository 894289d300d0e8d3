about("/proc/meminfo without MemAvailable, which some old kernels and containers lack",
      ("https://github.com/shirou/gopsutil/issues/633", "https://github.com/xenserver/xe-guest-utilities/pull/155",
       "https://github.com/rfjakob/earlyoom/issues/5"), start="right")
cpus("1")


def memory(free):
    return f"MemTotal:        4000000 kB\nMemFree:  {free} kB\nBuffers:  1000 kB\nCached:         500000 kB\nSwapTotal:            0 kB\n"


put("proc/meminfo", memory(1000000))
record("--sources=meminfo")
step({"proc/meminfo": memory(900000)})
step({"proc/meminfo": memory(800000)})
expect("--show=meminfo.*", "meminfo.memfree", "system", [900000 * 1024, 800000 * 1024], "kB of 1,024 bytes")
expect("--show=meminfo.*", "meminfo.memavailable", "system", None, "no guess from free and cached")
prints("pmrep --show=MemUsed% {rec}", "memavailable", "refused, with what is missing", code=2)
