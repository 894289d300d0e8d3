about("Threadripper 2950X: Tctl is Tdie with 27 degrees added, for fans",
      ("https://github.com/cyring/CoreFreq/issues/112", "https://github.com/flightlessmango/MangoHud/issues/1228"),
      start="wrong: SensTemp 68 of a die at 41 degrees",
      repaired="Tctl beside a Tdie is kept, and wins no maximum")
cpus("2")
hwmon(0, "k10temp", temp1_input=41000, temp1_label="Tdie", temp2_input=68000, temp2_label="Tctl")
hwmon(1, "nvme", temp1_input=38850, temp1_label="Composite")
record("--sources=hwmon")
step({}, 1.05)
expect("--show=SensTemp", "temp.sensor", "system", 41, "the die's temperature; where both are there, Tctl is a number for the fan")
