"""Counting by BPF programs in the guests: while other programs run, and through events that all share.

Kernels of Debian let anybody with the rights attach to programs; others do not.
"""


def totals(recording):
    """{counter: (what all its places counted, time it ran there)} from the first snapshot to the last."""
    sums = {}
    for (name, _), rows in recording.series.items():
        if name in recording.perf_counters():
            value, running = sums.get(name, (0, 0))
            sums[name] = value + rows[-1].value - rows[0].value, running + rows[-1].running - rows[0].running
    return sums


def by_program(recording):
    """{(event, "work" or "other" by the order of ids): total}"""
    ids = sorted({int(c["perf_bpf"].split()[1]) for c in recording.counters.values() if "perf_bpf" in c})
    found = {}
    for name, (value, _) in totals(recording).items():
        counter = recording.counters[name]
        found[counter["perf_event"], ids.index(int(counter["perf_bpf"].split()[1]))] = value
    return found


def programs(t, guest):
    events = totals(guest.recording("bpf.work"))
    runs, busy_ns = map(int, guest.text("bpf.work").split())
    t.check("the program ran 2000 times", runs == 2000, runs)
    t.check("its tracepoint was counted each time", events["bpf_trace:bpf_trace_printk"][0] == runs, events)
    inside, running = events["cpu-clock"]
    t.check("it is not counted for less than it took by its own clock", inside >= busy_ns, (inside, busy_ns))
    t.check("nor for much more", inside < 4 * busy_ns + runs * 50000, (inside, busy_ns))
    if "r11" in events:
        cycles, running = events["r11"]
        t.check("cycles within the program", .8 * inside < cycles < 1.25 * inside, (cycles, inside))
        t.check("the counter ran within the program alone", running < 4 * inside, (running, inside))


def two_programs(t, guest):
    recording = guest.recording("bpf.two")
    found = by_program(recording)
    printed = sorted(found["bpf_trace:bpf_trace_printk", i] for i in range(2))
    t.check("each program for itself", printed == [300, 500], found)
    told = [line.split(",") for line in guest.stat("bpf.two", "-x,")]
    t.check("stat adds them up", told[0][0] == "800" and len(told) == 2, told)
    told = [line.split(",") for line in guest.stat("bpf.two", "-x,", "--no-merge")]
    t.check("or does not", sorted(line[0] for line in told if "printk" in line[2]) == ["300", "500"], told)
    t.check("and names them", all(" busy_work]" in line[2] for line in told), told)
    ids = guest.text("bpf.two").split()
    for number, runs in zip(ids[:2], ("300", "500")):
        told = [line.split(",") for line in guest.stat("bpf.two", "-x,", "-b", number)]
        t.check(f"-b {number}", told[0][0] == runs, told)
    head = guest.stat("bpf.two")[0]
    t.check("the head names the programs", f"'BPF program(s) {ids[0]},{ids[1]}'" in head, head)


def refusals(t, guest):
    told = guest.text("bpf.plain", "err")
    t.check("a program without BTF", "without BTF" in told and told.count("\n") == 1, told)
    told = guest.text("bpf.none", "err")
    t.check("no program", "there is no such BPF program" in told, told)
    told = guest.text("bpf.doctor")
    t.check("doctor", "--bpf-counters works here\n" in told and "no -b" not in told, told)


def shared(t, guest):
    inner, outer = totals(guest.recording("bpf.inner")), totals(guest.recording("bpf.outer"))
    for name, (value, running) in inner.items():
        t.check(f"{name}: inside not more than outside", value <= outer[name][0] * 1.01, (value, outer[name]))
        if name == "r11":
            t.near("cycles of the command", value / running, 1)
    for recording in "bpf.inner", "bpf.outer":
        kinds = {c.get("perf_bpf") for c in guest.recording(recording).counters.values() if c["source"] == "perf"}
        t.check(f"{recording} is of shared events", kinds == {"shared"}, kinds)


def hotplug(t, guest):
    """A CPU that was away goes on from where it was."""
    recording = guest.recording("bpf.hotplug")
    for cpu in range(8):
        rows = [r for r in recording.series["cpu-clock", cpu] if r.status == "ok"]
        steps = [(b.value - a.value, b.begin - a.begin) for a, b in zip(rows, rows[1:])]
        good = all(0 <= step <= 1.5 * time + 3e8 for step, time in steps)
        t.check(f"CPU {cpu} never goes back, nor ahead of the time", good, steps)
    away = [r for r in recording.series["cpu-clock", 3] if r.status != "ok"]
    t.check("CPU 3 was away", bool(away))
    t.check("and has come back", recording.series["cpu-clock", 3][-1].status == "ok")
    rows = recording.series["cpu-clock", 3][-5:]
    t.check("and counts", rows[-1].value - rows[0].value > .7 * (rows[-1].begin - rows[0].begin), rows)


SECTIONS = (programs, two_programs, refusals, shared, hotplug)
