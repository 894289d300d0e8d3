about("A graphics card's energy counter starts again, and its driver takes that for a turn; another falls below 0",
      ("https://github.com/flightlessmango/MangoHud/issues/1793", "https://github.com/intel/xpumanager/issues/130",
       "https://github.com/amanusk/s-tui/issues/42"),
      start="wrong: 262 kJ, and 18 TJ, `ok`", repaired="sensors of energy have the bound of the platform")
cpus("2")
card, other = (f"sys/class/hwmon/hwmon{k}/energy1_input" for k in (0, 1))
hwmon(0, "xe", energy1_input=900_000_000, energy1_label="card")
hwmon(1, "occ", energy1_input=4_000_000, energy1_label="system")
record("--sources=hwmon")
# 2^32 counts of 2^-14 J too many.
step({card: 900_000_000 + 262_144_000_000, other: 45_000_000}, 1.05)
step({card: 900_000_000 + 262_144_200_000_000 // 1000, other: -1_000_000}, 1.05)
step({card: 900_000_000 + 262_144_400_000_000 // 1000, other: 3_000_000}, 1.05)
expect("--per-device --show=sensor.energy", "sensor.energy", "device xe/card", ["reset", joules(.2, off=.05), joules(.2, off=.05)],
       "262 kJ in a second are more than a machine can take")
expect("--per-device --show=sensor.energy", "sensor.energy", "device occ/system", [joules(41, off=.05), "reset", joules(4, off=.05)],
       "energy does not fall")
