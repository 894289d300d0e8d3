about("A board's chip has inputs with nothing on them: 127, -263, and 3,892,314 degrees",
      ("https://github.com/lm-sensors/lm-sensors/issues/461", "https://github.com/netdata/netdata/issues/23673",
       "https://github.com/UshakovVasilii/gnome-shell-extension-freon/pull/181", "https://github.com/frankcrawford/it87/issues/59"),
      start="wrong: SensTemp 3,892,314 of a machine at 48 degrees",
      repaired="what no sensor can measure is kept, and wins no maximum")
cpus("2")
hwmon(0, "coretemp", temp1_input=48000, temp1_label="Package id 0")
hwmon(1, "nct6793", temp1_input=34000, temp2_input=127000, temp3_input=-263000, temp15_input=3892313987)
record("--sources=hwmon")
step({}, 1.05)
expect("--show=SensTemp", "temp.sensor", "system", 48, "the hottest that can be one")
