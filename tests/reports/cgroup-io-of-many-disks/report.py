about("io.stat of a host with 150 disks: 15 kB, loops that share a line, a device `(unknown)`, and one without counts yet",
      ("https://github.com/canonical/lxd/issues/10052", "https://github.com/canonical/lxd/issues/18609",
       "https://github.com/green-coding-solutions/green-metrics-tool/pull/1837"),
      start="wrong: no I/O of that cgroup, errno-27", repaired="64 kB are read")
cpus("1")
put("proc/self/mountinfo", "30 20 0:25 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw")
put("proc/self/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0")
put("proc/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0")
put("sys/fs/cgroup/cpu.stat", "usage_usec 100\nuser_usec 60\nsystem_usec 40")
at = "sys/fs/cgroup/store.slice"


def io(read):
    return ("".join(f"8:{16 * k} rbytes={read} wbytes=1984567123968 rios=131007950 wios=125105143 dbytes=0 dios=0\n"
                    for k in range(150)) + f"7:7 7:6 7:5 rbytes={read} wbytes=0 rios=22 wios=0 dbytes=0 dios=0\n"
            f"(unknown) rbytes={read} wbytes=512 rios=1 wios=1 dbytes=0 dios=0\n252:0 ")


def use(n):
    return {f"{at}/cpu.stat": f"usage_usec {n}500000\nuser_usec {n}400000\nsystem_usec {n}100000", f"{at}/io.stat": io(51200 * n)}


for name, text in use(1).items():
    put(name, text)
put(f"{at}/cgroup.events", "populated 1")
record("--sources=cgroups")
for n in (2, 3, 4):
    step(use(n))
expect("--show=cgroups.*", "cgroups.read", "cgroup /store.slice", 152 * 51200, "51,200 bytes in each of 152 lines")
expect("--show=cgroups.*", "cgroups.write", "cgroup /store.slice", 0, "nothing was written")
expect("--show=cgroups.*", "cgroups.user", "cgroup /store.slice", 1, "a million us")
