about("The driver amd_energy counts two sockets and their cores as sensors of one chip",
      ("https://github.com/amd/amd_energy/issues/5", "https://github.com/Nortank12/deepcool-digital-linux/pull/114"), start="right")
cpus("0 1 | 2 3")
names = ("Ecore000", "Ecore001", "Ecore002", "Ecore003", "Esocket0", "Esocket1")
hwmon(0, "amd_energy", **{f"energy{k}_{file}": text for k, name in enumerate(names, 1)
                          for file, text in (("label", name), ("input", 10**9 * k))})
record("--sources=hwmon")
step({f"sys/class/hwmon/hwmon0/energy{k}_input": 10**9 * k + 10**6 * j for k, j in enumerate((1, 2, 3, 4, 12, 20), 1)}, 1.05)
for name, j in zip(names, (1, 2, 3, 4, 12, 20)):
    expect("--per-device --show=sensor.energy", "sensor.energy", f"device amd_energy/{name}", joules(j, off=.05), "its own counter")
