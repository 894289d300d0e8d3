about("Sensors that read well at first, and then now and then 255, 511, 127, 0 or -269 degrees",
      ("https://github.com/andreafabrizi/G4FanControl/issues/5", "https://github.com/lm-sensors/lm-sensors/issues/289",
       "https://github.com/lm-sensors/lm-sensors/issues/2", "https://github.com/lm-sensors/lm-sensors/issues/246",
       "https://github.com/system76/ec/issues/529"),
      start="wrong: SensTemp 511 of a machine at 48 degrees", repaired="what no sensor can measure is `suspect`, whenever it is read")
cpus("2")
chip = "sys/class/hwmon/hwmon0"
zone0 = "sys/class/thermal/thermal_zone0"
hwmon(0, "radeon", temp1_input=48000, temp2_input=41000, temp3_input=-20000)
put(f"{zone0}/type", "acpitz")
put(f"{zone0}/temp", 30000)
record("--sources=hwmon,thermal")
step({f"{chip}/temp1_input": 511000, f"{chip}/temp2_input": 42000, f"{zone0}/temp": 255000}, 1.05)
step({f"{chip}/temp1_input": 49000, f"{chip}/temp2_input": 0, f"{zone0}/temp": -1000}, 1.05)
step({f"{chip}/temp1_input": 127000, f"{chip}/temp2_input": 43000, f"{zone0}/temp": 31000}, 1.05)
step({f"{chip}/temp1_input": -269000, f"{chip}/temp2_input": 40000, f"{zone0}/temp": 126000}, 1.05)
of = "--per-device --show=hwmon.temp"
expect(of, "hwmon.temp", "device radeon/temp1", ["suspect", 49, "suspect", "suspect"], "no sensor measures 511, 127 or -269")
expect(of, "hwmon.temp", "device radeon/temp2", [42, "suspect", 43, 40], "0 is what a chip says that does not answer")
expect(of, "hwmon.temp", "device radeon/temp3", [-20] * 4, "frost is possible")
expect("--per-device --show=thermal.temp", "thermal.temp", "device acpitz", ["suspect", -1, 31, 126], "no sensor measures 255")
expect("--show=SensTemp", "temp.sensor", "system", [Value(42, status="partial"), Value(49, status="partial"), Value(43, status="partial"), Value(40, status="partial")],
       "the hottest that can be one")
