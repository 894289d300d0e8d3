about("CPUs 1 and 2 of four are offline: /proc/interrupts has columns CPU0 and CPU3",
      "https://github.com/opendcdiag/opendcdiag/pull/441", start="right")
cpus("4", offline=(1, 2))


def text(head, *rows):
    return f"           {head}\n" + "".join(f"{a}: {b} {c}\n" for a, b, c in rows)


put("proc/interrupts", text("CPU0 CPU3", (30, "10 20", "PCI-MSI 1-edge eth0"), ("LOC", "500 600", "Local timer interrupts")))
record("--sources=interrupts")
step({"proc/interrupts": text("CPU0 CPU3", (30, "11 24", "PCI-MSI 1-edge eth0"), ("LOC", "600 800", "Local timer interrupts"))})
step({f"{CPU}/online": "0,2-3", "proc/interrupts": text("CPU0 CPU2 CPU3", (30, "12 0 28", "PCI-MSI 1-edge eth0"),
                                                        ("LOC", "700 0 1000", "Local timer interrupts"))})
expect("--show=interrupts.30", "interrupts.30", "cpu 3", [4, 4], "the column that says CPU3, first the second, then the third")
expect("--show=interrupts.loc", "interrupts.loc", "cpu 0", [100, 100], "500 to 600 to 700")
expect("--show=interrupts.loc", "interrupts.loc", "system", [300, 300], "of both")
