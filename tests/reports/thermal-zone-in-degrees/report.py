about("Kernels of some boards show a thermal zone in degrees, not thousandths: 65",
      ("https://github.com/longsleep/build-pine64-image/issues/21", "https://github.com/Renaud11232/OctoPrint-Resource-Monitor/issues/45"),
      start="wrong: 0.065 degrees `ok`", repaired="what is next to 0 is no temperature of a machine, and in no maximum")
cpus("4")
at = "sys/class/thermal/thermal_zone"
put(f"{at}0/type", "aml_thermal")
put(f"{at}0/temp", 65)
put(f"{at}1/type", "board")
put(f"{at}1/temp", 30000)
record("--sources=thermal")
step({f"{at}0/temp": 66}, 1.05)
step({f"{at}1/temp": 48}, 1.05)
expect("--per-device --show=thermal.temp", "thermal.temp", "device aml_thermal", None, "its unit is not known")
expect("--per-device --show=thermal.temp", "thermal.temp", "device board", [30, "suspect"], "30 degrees; 0.048 is none")
expect("--show=Temp", "temp", "system", [30, "suspect"], "what can be one")
