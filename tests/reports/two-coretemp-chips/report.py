about("Two sockets whose chips have sensors of the same names, for cores 0, 1, 9, 10",
      ("https://github.com/htop-dev/htop/issues/1042", "https://github.com/lm-sensors/lm-sensors/issues/376"), start="right")
cpus("0 1 2 3 | 4 5 6 7", core_ids=[0, 1, 9, 10] * 2)
for chip, first in (0, 30), (1, 50):
    hwmon(chip, "coretemp", **{f"temp{k + 2}_{file}": text for k, core in enumerate((0, 1, 9, 10))
                               for file, text in (("input", 1000 * (first + k)), ("label", f"Core {core}"))})
record("--sources=hwmon")
step({}, 1.05)
prints("pmrep dump {rec}", r"(?s)(coretemp/Core 10\S*).*(coretemp/Core 10\S*)", "each chip has its own Core 10")
expect("--show=SensTemp", "temp.sensor", "system", 53, "the hottest, core 10 of the second socket")
