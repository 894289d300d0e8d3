about("WSL 1 says of a machine without swap that some quintillions of bytes less than none are free, and leaves no blank before them",
      ("https://github.com/microsoft/WSL/issues/4829", "https://github.com/microsoft/WSL/issues/296"),
      start="wrong: 18 EB of free swap, `ok`", repaired="a level that would be below 0 with a sign is suspect")
cpus("1")
memory = "MemTotal:        8064416 kB\nMemFree:         2964416 kB\nSwapTotal:             0 kB\nSwapFree:{} kB\nCommitted_AS:     100 kB\n"
put("proc/meminfo", memory.format("              0"))
record("--sources=meminfo")
step({"proc/meminfo": memory.format("18014396678257232")})
step({"proc/meminfo": memory.format("             16")})
expect("--show=meminfo.*", "meminfo.swapfree", "system", ["suspect", 16384], "2^54 kB are 2^64 bytes: minus 1.8 GB")
expect("--show=meminfo.*", "meminfo.memfree", "system", 2964416 * 1024, "the others are right")
