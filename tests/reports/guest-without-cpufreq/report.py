about("A virtual machine without cpufreq and without a frequency in CPUID; a tool showed a wrong one",
      ("https://github.com/Dr-Noob/cpufetch/issues/4", "https://github.com/lpereira/hardinfo/issues/78"), start="right")
cpus("2")
stat = lambda user, idle: "cpu 0 0 0 0 0 0 0 0 0 0\n" + "".join(f"cpu{c} {user} 0 0 {idle} 0 0 0 0 0 0\n" for c in range(2))
put("proc/stat", stat(1, 1))
record("--sources=-perf,-tasks,-filesystems")
step({"proc/stat": stat(11, 31)})
expect("--show=MHz,Util%", "mhz", "system", None, "unknown, which is not 0 MHz")
prints("pmrep --show=MHz,Util% {rec}", r"MHz.*this recording does not have", "who asks for it is told")
