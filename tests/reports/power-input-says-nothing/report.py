about("A graphics card has power1_input, which says nothing, beside power1_average; others have one of the two",
      ("https://github.com/flightlessmango/MangoHud/issues/1620", "https://github.com/flightlessmango/MangoHud/issues/1202"),
      start="wrong: no power at all", repaired="the average is taken where the other cannot be read")
cpus("2")
hwmon(0, "amdgpu", power1_input="N/A", power1_average=21_000_000)
hwmon(1, "radeon", power1_input=35_000_000, power1_average=36_000_000)
hwmon(2, "nouveau", power1_average=9_000_000)
record("--sources=hwmon")
step({"sys/class/hwmon/hwmon0/power1_average": 22_000_000}, 1.05)
for chip, watts in (("amdgpu", 22), ("radeon", 35), ("nouveau", 9)):
    expect("--per-device --show=hwmon.power", "hwmon.power", f"device {chip}/power1", watts, "one of the two, and once")
