about("Two chips of one name, with sensors of one name: a coretemp for each package, radios of one device",
      ("https://github.com/prometheus/node_exporter/issues/333", "https://github.com/prometheus/node_exporter/issues/3673",
       "https://github.com/prometheus/node_exporter/issues/406"), start="right")
cpus("0 1 | 2 3")
for k, (name, label, temp) in enumerate((("coretemp", "Package id 0", 40000), ("coretemp", "Package id 0", 60000),
                                         ("mt7996_phy0", None, 55000), ("mt7996_phy0", None, 57000))):
    put(f"sys/class/hwmon/hwmon{k}/name", name)
    put(f"sys/class/hwmon/hwmon{k}/temp1_input", temp)
    if label:
        put(f"sys/class/hwmon/hwmon{k}/temp1_label", label)
record("--sources=hwmon")
step({})
expect("--show=hwmon.temp", "hwmon.temp", "device coretemp/Package id 0", 40, "the first of that name")
expect("--show=hwmon.temp", "hwmon.temp", "device coretemp/Package id 0.2", 60, "the second, told apart")
expect("--show=hwmon.temp", "hwmon.temp", "device mt7996_phy0/temp1.2", 57, "without labels, too")
expect("--show=SensTemp", "temp.sensor", "system", 60, "the highest of all four")
