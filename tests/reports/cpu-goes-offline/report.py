about("CPU 2 goes offline: its line leaves /proc/stat, and those behind it move up", ("https://github.com/facebookincubator/below/issues/8190",
      "https://github.com/htop-dev/htop/pull/2064", "https://github.com/aristocratos/btop/issues/413"), start="right")
cpus("4")


def stat(step, online):
    return "cpu 0 0 0 0 0 0 0 0 0 0\n" + "".join(f"cpu{c} {step * 10 * (c + 1)} 0 0 {step * 10 * (9 - c)} 0 0 0 0 0 0\n" for c in online)


for c in range(1, 4):
    put(f"{CPU}/cpu{c}/online", 1)
put("proc/stat", stat(1, (0, 1, 2, 3)))
record("--sources=stat")
step({"proc/stat": stat(2, (0, 1, 2, 3))})
step({"proc/stat": stat(3, (0, 1, 3)), f"{CPU}/online": "0-1,3", f"{CPU}/cpu2/online": 0})
step({"proc/stat": stat(4, (0, 1, 3))})
expect("--show=Util%", "util", "cpu cpu 3", 40, "its own line, wherever that stands")
expect("--show=Util%", "util", "system", [25, Value(100 * 7 / 30), Value(100 * 7 / 30)], "100 of 400 ticks, then 70 of 300: an offline CPU has no time")
