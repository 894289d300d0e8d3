about("Half of the CPU numbers do not exist: 0-1, 4-5, 8-9, 12-13",
      "https://github.com/sysstat/sysstat/pull/7", start="right")
cpus("0,1 4,5 | 8,9 12,13")
there = (0, 1, 4, 5, 8, 9, 12, 13)
stat = lambda step: "cpu 0 0 0 0 0 0 0 0 0 0\n" + "".join(f"cpu{c} {step * c} 0 0 {step * (20 - c)} 0 0 0 0 0 0\n" for c in there)
rows = lambda step: "      " + "".join(f"      CPU{c}" for c in there) + "\nLOC: " + " ".join(f"{step * (c + 1):9}" for c in there) + "   Local timer interrupts\n"
put("proc/stat", stat(1))
put("proc/interrupts", rows(1))
record("--sources=stat,interrupts")
step({"proc/stat": stat(2), "proc/interrupts": rows(2)})
for c in there:
    expect("--show=Util%,IRQ", "util", f"cpu cpu {c}", 5 * c, "c of 20 ticks of CPU c: the number is the kernel's, not the place in the list")
    expect("--show=Util%,IRQ", "irq.count", f"cpu cpu {c}", c + 1, "the column of that CPU")
expect("--show=Util%", "util", "system", 32.5, "52 of 160 ticks")
info("topology.cpus", 8, "there are eight")
