about("Processes whose names have blanks and parentheses: `Plex New Transc`, `sleep (2) .sh`, `a) R 1 1`",
      ("https://github.com/sysstat/sysstat/issues/28", "https://github.com/shirou/gopsutil/pull/1056",
       "https://github.com/uutils/procps/issues/214", "https://github.com/dstat-real/dstat/issues/120"), start="right")
cpus("1")
put("proc/stat", "cpu 0 0 0 0 0 0 0 0 0 0\ncpu0 1 0 1 1 0 0 0 0 0 0\nctxt 5")
NAMES = {100: "Plex New Transc", 101: "sleep (2) .sh", 102: "a) R 1 1 (b"}


def stat(k):
    return {f"proc/{pid}/stat": f"{pid} ({name}) S 1 {pid} {pid} 0 -1 4194304 100 0 {3 + k} 0 {500 + 20 * k} {100 + 10 * k} 0 0 20 0 1 0 "
            f"{1000 + pid} 10608640 {2000 + pid} 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0" for pid, name in NAMES.items()}


for file, text in stat(0).items():
    put(file, text)
record("--sources=tasks")
for k in (1, 2, 3):
    step(stat(k), .1)
for pid, name in NAMES.items():
    expect("--show=tasks.* --per-task", "tasks.user", f"task {name} ({pid})", .2, "20 ticks of 10 ms, in the 14th field")
    expect("--show=tasks.* --per-task", "tasks.faults", f"task {name} ({pid})", 1, "the 12th field")
