about("A thermal zone of a radio that is off has no number (ENODATA); the others have",
      ("https://github.com/prometheus/node_exporter/issues/1703",
       "https://github.com/UshakovVasilii/gnome-shell-extension-freon/issues/66",
       "https://github.com/prometheus/node_exporter/pull/3807"), start="right")
cpus("1")
for k, (name, temp) in enumerate((("iwlwifi_1", ""), ("x86_pkg_temp", 45000), ("acpitz", 27800))):
    put(f"sys/class/thermal/thermal_zone{k}/type", name)
    put(f"sys/class/thermal/thermal_zone{k}/temp", temp)
record("--sources=thermal")
step({"sys/class/thermal/thermal_zone1/temp": 46000}, 1.1)
expect("--show=thermal.temp", "thermal.temp", "device x86_pkg_temp", 46, "46,000 thousandths")
expect("--show=thermal.temp", "thermal.temp", "device acpitz", 27.8, "27,800 thousandths")
expect("--show=thermal.temp", "thermal.temp", "device iwlwifi_1", None, "not 0")
expect("--show=Temp", "temp", "system", 46, "the highest")
recording_says("thermal_zone0/temp|snapshot", "the zone is refused, the others are recorded")
prints("pmrep info {rec}", "thermal_zone0/temp", "what is missing is named")
