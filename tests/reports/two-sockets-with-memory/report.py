about("Two sockets, each with a zone for its memory inside its own",
      ("https://github.com/hubblo-org/scaphandre/issues/85", "https://github.com/sustainable-computing-io/kepler/pull/156"), start="right")
cpus("0,4 1,5 | 2,6 3,7")
record("--sources=powercap")
joules = {"intel-rapl:0": 12, "intel-rapl:0:0": 3, "intel-rapl:1": 16, "intel-rapl:1:0": 5}
for k in 0, 1:
    zone(f"intel-rapl:{k}", f"package-{k}", 10**9)
    zone(f"intel-rapl:{k}:0", "dram", 10**9)
step({f"sys/class/powercap/{z}/energy_uj": 10**9 + j * 10**6 for z, j in joules.items()}, .2)
for package, j, ram in (0, 12, 3), (1, 16, 5):
    expect("--Joules", "pkg_j", f"package {package}", j, "memory is not in the package's number")
    expect("--Joules", "ram_j", f"package {package}", ram, "the memory of that socket")
expect("--Joules", "pkg_j", "system", 28, "12 + 16 J")
expect("--Joules", "ram_j", "system", 8, "3 + 5 J")
