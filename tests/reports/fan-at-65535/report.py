about("A fan that stands still, or has no power, reads as 65,535 per minute",
      ("https://github.com/lm-sensors/lm-sensors/issues/310", "https://github.com/openbmc/openbmc/issues/1456"),
      start="wrong: 65,535 `ok`", repaired="no fan turns as fast: `suspect`")
cpus("2")
fan = "sys/class/hwmon/hwmon0/fan1_input"
hwmon(0, "amdgpu", fan1_input=65535, fan2_input=900)
record("--sources=hwmon")
step({fan: 1200}, 1.05)
step({fan: 65535}, 1.05)
step({fan: 0, "sys/class/hwmon/hwmon0/fan2_input": 4294967295}, 1.05)
expect("--per-device --show=hwmon.fan", "hwmon.fan", "device amdgpu/fan1", [1200, "suspect", 0], "no fan turns as fast")
expect("--per-device --show=hwmon.fan", "hwmon.fan", "device amdgpu/fan2", [900, 900, "suspect"], "no fan turns as fast")
