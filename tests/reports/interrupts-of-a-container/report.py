about("A container whose /sys has one CPU, while /proc/interrupts and /proc/softirqs are the host's",
      ("https://github.com/lxc/lxcfs/issues/731", "https://github.com/lxc/lxcfs/issues/88", "https://github.com/lxc/lxcfs/issues/600"),
      start="wrong: neither is recorded, `text not as expected`", repaired="there is room for the columns of the text")
cpus("1")


def text(k):
    return {"proc/interrupts": f"           CPU0       CPU1       CPU2\n  1: {5 + k} 100 {200 * k} IO-APIC 1-edge i8042\n"
                               f"LOC: {10 + 2 * k} 7 8 Local timer interrupts\n",
            "proc/softirqs": f"            CPU0       CPU1       CPU2\n      HI:     0     1     2\n   TIMER: {1000 + k} 5 6\n"}


for name, content in text(0).items():
    put(name, content)
record("--sources=interrupts,softirqs")
step(text(10))
expect("--show=interrupts.1", "interrupts.1", "cpu 0", 10, "the first column")
expect("--show=interrupts.1", "interrupts.1", "cpu 2", None, "not a CPU of this machine")
expect("--show=IRQ", "irq*", "system", 30, "10 and 20 of CPU 0")
expect("--show=softirqs.timer", "softirqs.timer", "cpu 0", 10, "1,000 to 1,010")
