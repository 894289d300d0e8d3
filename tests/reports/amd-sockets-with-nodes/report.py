about("Two EPYC sockets with four nodes each: a driver read the second socket's energy on a CPU of the first",
      "https://github.com/amd/amd_energy/issues/5", start="right")
cpus("0 1 2 3 | 4 5 6 7")
put("sys/devices/system/node/online", "0-7")
for node in range(8):
    put(f"sys/devices/system/node/node{node}/cpulist", node)
processor("amd", 0x17, 0x31)
msr(0x10, 1000, rate="1.0t")
msr(0xC0010299, 0xA1003)
for cpu in range(8):
    msr(0xC001029A, 0, cpu, width=32)
for cpus_of, start in ("0-3", 1000), ("4-7", 5000):
    msr(0xC001029B, start, cpus_of, width=32)
record("--sources=msr")
# 2^-16 J: 20 and 30 J of the sockets, 1 J of each core.
step({(0xC001029B, "0-3"): 1000 + 20 * 65536, (0xC001029B, "4-7"): 5000 + 30 * 65536, 0xC001029A: 65536}, .3)
expect("--Joules", "pkg_j", "package 0", 20, "the register of a CPU of that socket")
expect("--Joules", "pkg_j", "package 1", 30, "the register of a CPU of that socket")
expect("--Joules", "pkg_j", "system", 50, "both sockets")
expect("--Joules --per-package", "cor_j", "package 1", 4, "its four cores")
