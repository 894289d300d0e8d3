about("Cores whose core_id repeats within a package: an early Threadripper, or Opteron 61xx to 63xx",
      ("https://github.com/OpenHFT/Java-Thread-Affinity/issues/28", "https://github.com/seanmonstar/num_cpus/issues/85"),
      start="wrong: 2 cores of 2 threads; of the other two cores no energy",
      repaired="Tell cores, dies and packages apart by the kernel's lists of CPUs")
cpus("4", core_ids=[0, 1, 0, 1])
processor("amd", 0x17, 0x08)
msr(0x10, 1000, rate="1.0t")
msr(0xC0010299, 0xA1003)
for cpu in range(4):
    msr(0xC001029A, 0, cpu, width=32)
msr(0xC001029B, 0, width=32)
record("--sources=msr")
# 2^-16 J: 0.5, 1, 1.5 and 2 J of the cores.
step({(0xC001029A, cpu): 32768 * (cpu + 1) for cpu in range(4)}, .1)
info("topology.cores", 4, "thread_siblings_list has one CPU in each")
info("topology.threads_per_core", 1, "thread_siblings_list has one CPU in each")
expect("--Joules", "cor_j", "system", 5, "0.5 + 1 + 1.5 + 2 J of four cores")
