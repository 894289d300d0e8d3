about("An ACPI power meter that answers 0xffffffff mW for unknown, which the kernel passes on as 4.29 MW",
      "https://github.com/lm-sensors/lm-sensors/issues/460", start="wrong: 4,294,967 W `ok`",
      repaired="that number of a power sensor is `suspect`")
cpus("1")
meter = "sys/class/hwmon/hwmon1"
put(f"{meter}/name", "power_meter")
put(f"{meter}/power1_average", 4294967295000)
record("--sources=hwmon")
step({f"{meter}/power1_average": 4294967295000}, 1.1)
step({f"{meter}/power1_average": 212000000}, 1.1)
expect("--show=hwmon.power", "hwmon.power", "device power_meter/power1", ["suspect", 212], "ACPI's word for unknown; then 212 W")
