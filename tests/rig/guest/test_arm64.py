#!/usr/bin/python3
"""Holds what pmrec recorded in the arm64 guest, as pmrep shows it, against the rates of the module that emulates the PMUs."""
import formulas
import rates
from guest import Checks, Guest


def near_programmed(t, recording, peer="gpu", least_running=.99):
    """Every uncore event that was recorded counts at its rate, per time in which it ran."""
    names = [n for n in recording.perf_counters() if n.startswith("nvidia_")]
    t.check("uncore events were recorded", bool(names))
    for name in names:
        rate, share = recording.rate(name)
        expected = rates.per_ns(name, peer)
        if expected:
            t.near(name, rate, expected)
        else:
            t.check(name, rate == 0, rate)
        t.check(f"{name} runs", share >= least_running, share)
    return names


def statuses(t, guest):
    for what, good, found in guest.check_statuses():
        t.check(what, good, found)


def events(t, guest):
    names = near_programmed(t, guest.recording("events"))
    t.check("3 events of 34 PMUs", len(names) == 102, len(names))


def examples(t, guest):
    for i in range(1, 21):
        near_programmed(t, guest.recording(f"example.{i}"))


def filters(t, guest):
    near_programmed(t, guest.recording("raw"))
    near_programmed(t, guest.recording("filters"))


def multiplexing(t, guest):
    recording = guest.recording("multiplexed")
    names = near_programmed(t, recording, least_running=.3)
    shares = [recording.rate(n)[1] for n in names if "cycles" not in n]
    t.check("events take turns", max(shares) < .95, shares)


def near_formulas(t, recording, expected, idle="nothing"):
    """Every metric, of each PMU, each package and the system; those of idle PMUs have no value, and a reason."""
    found = {**recording.metrics("--show=nvidia"), **recording.metrics("--show=nvidia", "--per-package")}
    for where, value in expected.items():
        what = " ".join(filter(None, where))
        if where not in found:
            t.check(what, False, "there is no such row")
        elif idle in where[3]:
            t.check(f"{what} is missing", found[where][0] is None and found[where][2] == "not-counted", found[where])
        else:
            t.near(what, found[where][0], value)
    for where in found:
        if "/" not in where[3]:
            t.check(f"{where} is one that was expected", where in expected)


def metrics(t, guest):
    near_formulas(t, guest.recording("metrics"), formulas.expected(formulas.TEGRA410))


def hotplug(t, guest):
    recording = guest.recording("hotplug")
    near_programmed(t, recording)
    t.check("the PMU moved to another CPU", guest.text("hotplug").strip() == "1", guest.text("hotplug"))
    for (name, _), rows in recording.series.items():
        lost = sum(row.status != "ok" for row in rows)
        t.check(f"{name} is there all the time", not lost, f"{lost} of {len(rows)}")
    found = recording.metrics("--show=nvidia")
    t.near("bandwidth across a migration", found["pmu", "0", "nvidia_ucf_pmu_0", "nvidia_ucf.slc_rd_bw"][0],
           rates.per_ns("nvidia_ucf_pmu_0/slc_bytes_rd/"))


def disappearing(t, guest):
    t.check("a module in use stays", "fakeuncore" in guest.text("rmmod", "err"), guest.text("rmmod", "err"))
    near_programmed(t, guest.recording("rmmod"))
    recording = guest.recording("revoked")
    near_programmed(t, recording)
    for (name, _), rows in recording.series.items():
        good = "".join("+" if row.status == "ok" else "-" for row in rows)
        if name == "nvidia_nvdlink_pmu_1/cycles/":
            t.check("the columns of a PMU that went end", good.lstrip("+").strip("-") == "" and good.count("-") > 5, good)
        else:
            t.check("the columns of another PMU go on", set(good) == {"+"}, good)


def other_machines(t, guest):
    near_formulas(t, guest.recording("cpu.metrics"), formulas.expected(formulas.CPU_PEER, "cpu"), "nvdlink")
    near_formulas(t, guest.recording("grace.metrics"), formulas.expected(formulas.GRACE))


def main():
    guest, t = Guest("arm64"), Checks()
    for section in (statuses, events, metrics, examples, filters, multiplexing, hotplug, disappearing, other_machines):
        t.run(section.__name__, section, guest)
    t.end()


if __name__ == "__main__":
    main()
