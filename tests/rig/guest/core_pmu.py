"""Checks of the arm64 guest's own PMU, which QEMU emulates: a counter of cycles and six more that can count them, at
1 GHz of the guest's time. What an event that runs all the time counts is thus known; one that takes turns loses the
little that starting and stopping it costs an emulated CPU."""
import csv
import io

from guest import pmrep

COUNTERS = 7
CPUS = 8
TURNS = .15  # what taking turns may cost an emulated CPU, also where the machine below it is busy
EXACT = .005


def stat(guest, name, *args):
    """[value or None, event, running, metric, unit] of each line of `pmrep stat -x,`, in each interval with -I."""
    rows = [row[-7:] for row in csv.reader(io.StringIO(pmrep("stat", "-x,", *args, guest.path(name))))]
    return [(float(r[0]) if not r[0].startswith("<") else None, r[2], int(r[3]), r[5], r[6]) for r in rows]


def counts(guest, name):
    return [row[0] for row in stat(guest, name)]


def scaled(first, last):
    """Nothing, where it had no turn."""
    if last.running == first.running:
        return 0
    return (last.value - first.value) * (last.enabled - first.enabled) / (last.running - first.running)


def estimate(recording, counter):
    """What was counted on each CPU in each interval, scaled by its times, and all of that added up; and the time for
    which it was enabled."""
    rows = [[row for row in rows if row.status == "ok"]
            for (name, _), rows in recording.series.items() if name == counter]
    return sum(scaled(*pair) for r in rows for pair in zip(r, r[1:])), sum(r[-1].enabled - r[0].enabled for r in rows)


def intervals(recording, counter):
    """The same of each interval; None where a CPU lacks it, or it had no turn on one."""
    columns = list(zip(*(rows for (name, _), rows in recording.series.items() if name == counter)))
    return [sum(scaled(*pair) for pair in zip(a, b))
            if all(row.status == "ok" for row in a + b) and all(y.running > x.running for x, y in zip(a, b)) else None
            for a, b in zip(columns, columns[1:])]


def same(t, what, values, tolerance=.001):
    for value in values[1:]:
        t.near(what, value, values[0], tolerance)


def groups(t, guest):
    recording = guest.recording("core.groups")
    for name in recording.perf_counters():
        rate, share = recording.rate(name)
        t.check(f"{name} runs", share > .999, share)
        # r0 counts writes to a register that nobody writes to.
        t.near(name, rate, 0 if name == "r0" else 1, EXACT)
    attrs = recording.counters
    t.check("two groups", [attrs[n]["perf_group"] == attrs["cycles"]["perf_group"] for n in recording.perf_counters()]
            == [True, True, True, False, False, False], attrs.keys())
    found = counts(guest, "core.groups")
    same(t, "members of a group speak of the same time", found[:3])
    same(t, "members of a group of 64 bits", found[3:5])


def turns(t, guest):
    """More events than counters: each runs for its part of the time, and what is shown is scaled."""
    for name, runs in (("core.many", COUNTERS), ("core.weak", COUNTERS), ("core.turns", 4)):
        recording = guest.recording(name)
        shown = stat(guest, name)
        shares = []
        for counter, row in zip(recording.perf_counters(), shown):
            rate, share = recording.rate(counter)
            guess, enabled = estimate(recording, counter)
            shares.append(share)
            t.check(f"{name}: {counter} takes turns", .3 < share < .99, share)
            t.near(f"{name}: {counter} while it runs", rate, 1, TURNS)
            t.near(f"{name}: {counter} scaled", guess, enabled, TURNS)
            # Each CPU for itself, and then the sum.
            t.near(f"{name}: pmrep stat scales {counter}", row[0], guess, 1e-6)
        each = stat(guest, name, "-I", "500")
        for i, counter in enumerate(recording.perf_counters()):
            rows = [row for row in each if row[1] == "r11"][i::len(shown)]
            for row, guess in zip(rows, intervals(recording, counter)):
                if guess is not None:
                    t.near(f"{name}: pmrep stat scales {counter} in an interval", row[0], guess, 1e-6)
        t.near(f"{name}: no counter is idle", sum(shares), runs, .04)
    recording = guest.recording("core.turns")
    for group in range(2):
        members = recording.perf_counters()[4 * group:4 * group + 4]
        same(t, "groups take turns as a whole", [recording.rate(n)[1] for n in members], 1e-9)
    task = stat(guest, "core.task")
    for row in task[:-1]:
        # cpu-clock is in ms.
        t.near("a command's cycles are its time", row[0], task[-1][0] * 1e6, TURNS)
        t.check("of a part of the time", row[2] < .9 * task[-1][2], row)


def fitting(t, guest):
    """What cannot be counted together."""
    weak, strong = guest.recording("core.weak"), guest.recording("core.strong")
    apart = {weak.counters[n]["perf_group"] for n in weak.perf_counters()}
    t.check("a weak group is taken apart", len(apart) == 8, apart)
    t.check("and says that it was one", all(weak.counters[n].get("perf_weak") for n in weak.perf_counters()))
    refused = [n for n in strong.perf_counters() if "perf_invalid" in strong.counters[n]]
    t.check("another group keeps what fits", refused == ["r11#8"], refused)
    t.check("which says so", "r11#8" in guest.text("core.strong", "err") and ":W" in guest.text("core.strong", "err"),
            guest.text("core.strong", "err"))
    for name in strong.perf_counters()[:-1]:
        rate, share = strong.rate(name)
        t.check(f"{name} runs", share > .999, share)
        t.near(f"{name} of the group", rate, 1, EXACT)
    t.check("<not supported>", [c is None for c in counts(guest, "core.strong")] == [False] * 7 + [True])
    pinned = guest.recording("core.pinned")
    for i, name in enumerate(pinned.perf_counters()):
        status = {row.status for (counter, _), rows in pinned.series.items() if counter == name for row in rows}
        t.check(f"pinned {name}", status == {"ok" if i < COUNTERS else "not-counted"}, status)
        if i < COUNTERS:
            t.check(f"pinned {name} runs", pinned.rate(name)[1] > .999, pinned.rate(name))
            t.near(f"pinned {name}", pinned.rate(name)[0], 1, EXACT)
    t.check("<not counted>", [c is None for c in counts(guest, "core.pinned")] == [False] * 7 + [True] * 2)
    # Three events and seven counters: only what is exclusive keeps them from running all the time.
    exclusive = guest.recording("core.exclusive")
    alone, other, third = [exclusive.rate(n)[1] for n in exclusive.perf_counters()]
    t.near("an exclusive group", alone, .5, .1)
    t.check("is one", alone == other, (alone, other))
    t.near("leaves the rest of the time", third, 1 - alone, .05)


def rings(t, guest):
    total, user, kernel = counts(guest, "core.rings")
    t.near("user and kernel", user + kernel, total, EXACT)
    t.check("mostly user", user > .5 * total, (user, total))
    total, user, kernel = counts(guest, "core.alluser")
    t.near("--all-user", total, user, EXACT)
    t.check("an event's own modifier wins", 0 < kernel < .5 * user, (kernel, user))
    total, user, kernel = counts(guest, "core.allkernel")
    # The kernel runs for 20 ms, and an emulated CPU is slow to start one event of a group after the other.
    t.near("--all-kernel", total, kernel, max(EXACT, 500e3 / kernel))
    t.check("an event's own modifier wins there", user > 2 * kernel, (kernel, user))
    found = counts(guest, "core.sampling")
    same(t, "what :S, :P and :p say of samples does not concern counts", found, .001)
    caller = stat(guest, "core.caller")
    t.check("without the kernel", [(r[0] is None, r[1]) for r in caller] ==
            [(False, "cycles:u"), (True, "cycles:k"), (True, "cs")], caller)
    for name, limit in (("core.caller", "=1 (it is 2)"), ("core.refused", "=1 (it is 3)")):
        told = guest.text(name, "err")
        t.check(f"{name}: the cure", f"kernel.perf_event_paranoid{limit}" in told and "cap_perfmon" in told, told)


def metrics(t, guest):
    rows = {row[4].split("  ")[-1]: row for row in stat(guest, "core.metrics", "-M", "frequency,Cycle_Accounting")}
    # Per tick of the recorder, which may come late in a busy guest.
    t.near("frequency", float(rows["frequency"][3]), 1, .21)
    t.check("its unit", rows["frequency"][4] == "GHz  frequency", rows)
    for name in ("frontend_stalled_cycles", "backend_stalled_cycles"):
        t.check(name, rows[name][3] == "0.0" and rows[name][4].startswith("percent"), rows)
    recording = guest.recording("core.metrics")
    attrs = [recording.counters[n] for n in recording.perf_counters()]
    t.check("one group for metrics that fit into it, with what they share once",
            len({a["perf_group"] for a in attrs}) == 1 and len(attrs) == len({a["perf_event"] for a in attrs}) == 3, attrs)
    t.check("what the processor lacks is named", "INST_RETIRED" in guest.text("core.lacking", "err"),
            guest.text("core.lacking", "err"))


def hotplug(t, guest):
    recording = guest.recording("core.hotplug")
    for name in ("cycles", "r11"):
        t.near(f"{name} across a CPU's absence", recording.rate(name)[0], 1, EXACT)
        for cpu in range(CPUS):
            rows = recording.series[name, cpu]
            away = [row.status for row in rows].count("offline")
            if cpu != 3:
                t.check(f"{name} of CPU {cpu} goes on", not away, away)
                continue
            t.check(f"{name} of CPU 3 is missing while it is away", away >= 10 and rows[-1].status == "ok", rows)
            stands = [b for a, b in zip(rows, rows[1:]) if a.status == b.status == "ok" and a.enabled == b.enabled]
            t.check(f"{name} of CPU 3 never stands still", not stands, stands)
    t.check("it is told", {(e["event"], e["cpu"]) for e in recording.events if e["event"].startswith("cpu-")} ==
            {("cpu-offline", 3), ("cpu-online", 3)}, recording.events)


SECTIONS = groups, turns, fitting, rings, metrics, hotplug
