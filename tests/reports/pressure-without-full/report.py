about("Linux 5.10: /proc/pressure/cpu has no line `full`, and /proc/pressure/irq is not there",
      ("https://github.com/prometheus/node_exporter/issues/3051", "https://github.com/jamespwilliams/psitop/issues/2",
       "https://github.com/prometheus/node_exporter/issues/3259"), start="right")
cpus("1")


def some(us):
    return f"some avg10=2.65 avg60=2.78 avg300=2.92 total={us}\n"


def full(us):
    return f"full avg10=0.00 avg60=0.00 avg300=0.00 total={us}\n"


put("proc/pressure/memory", some(5) + full(5))
put("proc/pressure/io", some(1000) + full(900))
put("proc/pressure/cpu", some(111749368752))
record("--sources=pressure")
step({"proc/pressure/cpu": some(111749388752), "proc/pressure/io": some(21000) + full(10900)})
expect("--show=pressure.*", "pressure.cpu.some", "system", .02, "20,000 us")
expect("--show=pressure.*", "pressure.io.full", "system", .01, "10,000 us")
expect("--show=pressure.*", "pressure.cpu.full", "system", None, "the kernel does not count it")
recording_says("1 snapshots|2 snapshots|3 snapshots", "the rest is recorded", lacks="pressure/irq")
