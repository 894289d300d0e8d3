about("/proc/interrupts of POWER9 has two rows LOC: timer events of the decrementer, and those for others",
      "linuxppc-dev, 2025-07-23", start="wrong: 25,751 interrupts in each interval, `ok`, where nothing counts",
      repaired="rows of one label are told apart by their order")
cpus("1")


def interrupts(event, others):
    return (f"           CPU0\nLOC: {event:10}   Local timer interrupts for timer event device\n"
            f"BCT:          0   Broadcast timer interrupts for timer event device\n"
            f"LOC: {others:10}   Local timer interrupts for others\n")


put("proc/interrupts", interrupts(25755, 4))
record("--sources=interrupts")
step({"proc/interrupts": interrupts(25755, 4)})
step({"proc/interrupts": interrupts(25855, 7)})
expect("--show=IRQ", "irq*", "cpu 0", [0, 103], "nothing, then 100 of the one and 3 of the other")
expect("--show=IRQ", "irq*", "system", [0, 103], "the one CPU's")
