about("/proc/interrupts of a Raspberry Pi: a row FIQ without numbers, one number in row Err, chips and devices with blanks",
      ("https://github.com/influxdata/telegraf/issues/4470", "https://github.com/collectd/collectd/pull/1189",
       "https://github.com/munin-monitoring/munin/pull/144"), start="right")
cpus("2")


def text(timer, mailbox, errors):
    return (f"           CPU0       CPU1\n 17: {timer:9} {timer + 4:9}  bcm2836-timer   1 Edge      arch_timer\n"
            f" 23: {mailbox:9}         0  ARMCTRL-level   1 Edge      3f00b880.mailbox\n"
            f" 75:         1         0  ARMCTRL\nFIQ:              usb_fiq\nIPI0:        0        5  CPU wakeup interrupts\n"
            f"Err: {errors:9}\n")


put("proc/interrupts", text(1000, 50, 1))
record("--sources=interrupts")
step({"proc/interrupts": text(1100, 57, 3)})
expect("--show=IRQ", "irq*", "cpu 0", 107, "100 of the timer, 7 of the mailbox")
expect("--show=IRQ", "irq*", "cpu 1", 100, "of the timer")
expect("--show=interrupts.err", "interrupts.err", "system", 2, "1 to 3, of no CPU")
