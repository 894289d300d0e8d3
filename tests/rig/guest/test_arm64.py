#!/usr/bin/python3
"""Holds what pmrec recorded in the arm64 guest, as pmrep shows it, against the rates of the module that emulates the PMUs."""
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


def hotplug(t, guest):
    recording = guest.recording("hotplug")
    near_programmed(t, recording)


def other_machines(t, guest):
    near_programmed(t, guest.recording("grace.events"))


def main():
    guest, t = Guest("arm64"), Checks()
    for section in (statuses, events, examples, filters, multiplexing, hotplug, other_machines):
        t.run(section.__name__, section, guest)
    t.end()


if __name__ == "__main__":
    main()
