#!/usr/bin/python3
"""Holds what pmrec recorded in the arm64 guest, as pmrep shows it, against the programmed rates of the PMUs."""
import os
import re

import bpf
import core_pmu
import formulas
import rates
from guest import Checks, Guest, pmrep


# The example output of nvidia-tegra410-pmu.rst.
with open(os.path.join(os.path.dirname(__file__), "../../golden/tegra410_root_ports.txt")) as table:
    ROOT_PORTS = table.read()
# What the refusals have to speak of.
RULES = {"wrong.rp_bdf": "not both", "wrong.two_bdf": "one function filter",
         "wrong.mixed": "one function or all", "wrong.other_rc": "below root complex 1 of socket 0",
         "wrong.bdf": "not a PCI function", "wrong.range": "multiple", "wrong.gpu": "gpu_mask=0x4",
         "wrong.task": "cannot follow a process", "wrong.group": "must be of one PMU"}


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
            t.check(name, not rate, rate)
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
    # The document writes 01:01.0 as 0x0180, but by its formula that is 01:10.0.
    told = guest.text("example.8", "err")
    t.check("the BDF of example 8 is told", "01:10.0" in told, told)


def filters(t, guest):
    raw = guest.recording("raw")
    near_programmed(t, raw)
    t.check("a raw event has no unit", raw.counters["nvidia_ucf_pmu_0/event=0x777/"]["unit"] in ("", "1"),
            raw.counters["nvidia_ucf_pmu_0/event=0x777/"]["unit"])
    near_programmed(t, guest.recording("filters"))
    # A metric of filtered events has the filters behind its name.
    found = guest.recording("filters").metrics("--show=nvidia")
    for pmu, name, event, filters in (
            ("nvidia_ucf_pmu_1", "nvidia_ucf.slc_rd_bw", "slc_bytes_rd", "src_rem=0x1"),
            ("nvidia_ucf_pmu_1", "nvidia_ucf.slc_rd_bw", "slc_bytes_rd", "dst_loc_gmem=0x1,dst_rem=0x1"),
            ("nvidia_pcie_pmu_1_rc_5", "nvidia_pcie.rd_bw", "rd_bytes", "dst_rem=0x1,src_rp_mask=0xf0"),
            ("nvidia_pcie_tgt_pmu_1_rc_4", "nvidia_pcie_tgt.wr_bw", "wr_bytes", "dst_rp_mask=0x81")):
        for where in (("pmu", "1", pmu), ("system", "", "")):
            t.near(f"{name} of {where[0]} with {filters}", found.get((*where, f"{name}/{filters}/"), (None,))[0],
                   rates.per_ns(f"{pmu}/{event},{filters}/"))
    addresses = guest.recording("addresses")
    names = [name for name in addresses.perf_counters() if name.startswith("nvidia_")]
    found = sorted(addresses.rate(name)[0] for name in names)
    # 000d:41:00.1: bus 0x41, function 1, below root complex 4 of socket 1; 0002:a0:00.0: port 2 of root complex 1.
    meant = sorted(rates.per_ns(e) for e in (
        "nvidia_pcie_pmu_1_rc_4/rd_bytes,src_bdf=0x4101,src_bdf_en=1/",
        "nvidia_pcie_pmu_0_rc_1/wr_bytes,src_rp_mask=0x4/",
        "nvidia_pcie_tgt_pmu_0_rc_2/rd_bytes,dst_addr_base=0x50000,dst_addr_mask=0xffffffffffff0000,dst_addr_en=1/"))
    t.check("as many events as were asked for", len(found) == len(meant), names)
    for a, b in zip(found, meant):
        t.near("what an address selects", a, b)
    # A filter does not touch the clock, and the ratio of what it selects stays.
    filtered = guest.recording("filtered")
    near_programmed(t, filtered)
    found = filtered.metrics("--show=nvidia")
    t.near("latency of one function",
           found["pmu", "0", "nvidia_pcie_pmu_0_rc_4", "nvidia_pcie.rd_latency/src_bdf=0005:01:00.1/"][0],
           formulas.expected(formulas.TEGRA410)["pmu", "0", "nvidia_pcie_pmu_0_rc_4", "nvidia_pcie.rd_latency"])


def root_ports(t, guest):
    t.check("the table of the kernel's document", pmrep("info", "--pci", guest.path("default")) == ROOT_PORTS,
            pmrep("info", "--pci", guest.path("default")))
    user = guest.path("user")
    t.check("without privileges", "root" in pmrep("info", "--pci", user, status=1, both=True),
            pmrep("info", "--pci", user, status=1, both=True))
    near_programmed(t, guest.recording("user"), least_running=.1)


def defaults(t, guest):
    """A plain pmrec records events of all 34 PMUs, each at its rate, and lets `cycles` be the processor's."""
    names = near_programmed(t, guest.recording("default"), least_running=.1)
    pmus = {name.split("/")[0] for name in names}
    t.check("34 PMUs", len(pmus) == 34, pmus)
    found = guest.recording("default").metrics()
    for kind in formulas.TEGRA410:
        t.check(f"{kind} has metrics", any(where[3].startswith(f"{kind}.") for where in found), sorted(found)[:5])
    # Equal PMUs share a line: "first/event/ to last/event/".
    listed = guest.text("list")
    alike = {re.sub(r"\d+", "#", first) for first, last in re.findall(r"(\S+?)/\S*/ to (\S+?)/", listed)}
    for pmu in sorted(pmus):
        t.check(f"{pmu} is listed", f"{pmu}/" in listed or re.sub(r"\d+", "#", pmu) in alike)


def rules(t, guest):
    for name, rule in RULES.items():
        t.check(f"{name} says why", rule in guest.text(name, "err"), guest.text(name, "err"))
    unknown = guest.recording("unknown")
    counted = [name for name in near_programmed(t, unknown, least_running=0) if unknown.rate(name)[0]]
    t.check("the other PMU counts alone", counted == ["nvidia_ucf_pmu_1/cycles/"], counted)
    told = " ".join(p["what"] for p in unknown.probes)
    t.check("it is told what is not counted", "nvidia_cmem_latency_pmu_0/event=0x3/" in told, told)


def all_pmus(t, guest):
    pmus = {name.split("/")[0] for name, _ in guest.recording("events").series}
    t.check("all PMUs are read", len(pmus) == 34, sorted(pmus))


def multiplexing(t, guest):
    recording = guest.recording("multiplexed")
    names = near_programmed(t, recording, least_running=.3)
    shares = [recording.rate(n)[1] for n in names if "cycles" not in n]
    t.check("events take turns", max(shares) < .95, shares)


def near_formulas(t, recording, expected, idle="nothing", complete=True):
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
        if complete and "/" not in where[3]:
            t.check(f"{where} is one that was expected", where in expected)


def metrics(t, guest):
    near_formulas(t, guest.recording("metrics"), formulas.expected(formulas.TEGRA410))


def hotplug(t, guest):
    recording = guest.recording("hotplug")
    near_programmed(t, recording)
    t.check("the PMU moved to another CPU", guest.text("hotplug").strip() == "1", guest.text("hotplug"))
    # An emulated CPU may itself run too late for a tick: the recorder has measured by how much (ticks of 100 ms).
    late = sum(row["value"] for row in recording.config["pmrec.cost.late_ns"]) // 100_000_000
    for (name, _), rows in recording.series.items():
        lost = [row.status for row in rows if row.status != "ok"]
        t.check(f"{name} is there all the time", len(lost) <= late and set(lost) <= {"missed"}, f"{lost} of {len(rows)}")
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
            ended = good.lstrip("+").strip("-") == "" and good.count("-") > 5
            t.check("the columns of a PMU that went end", ended, good)
        else:
            t.check("the columns of another PMU go on", set(good) == {"+"}, good)


def other_names(t, guest):
    """Kernels before and beside the mainline one call the same PMUs otherwise."""
    for name, kinds in (("chiplet", ("nvidia_pcie", "nvidia_pcie_tgt")), ("generic", ("nvidia_ucf", "nvidia_pcie"))):
        machine = {kind: formulas.TEGRA410[kind] for kind in kinds}
        expected = {w: v for w, v in formulas.expected(machine).items() if w[0] != "pmu"}
        near_formulas(t, guest.recording(name), expected, complete=False)


def other_machines(t, guest):
    near_formulas(t, guest.recording("cpu.metrics"), formulas.expected(formulas.CPU_PEER, "cpu"), "nvdlink")
    near_formulas(t, guest.recording("grace.metrics"), formulas.expected(formulas.GRACE))


def main():
    guest, t = Guest("arm64"), Checks()
    for section in (statuses, defaults, events, metrics, examples, filters, root_ports, multiplexing, hotplug,
                    disappearing, rules, other_machines, other_names, all_pmus):
        t.run(section.__name__, section, guest)
    for section in core_pmu.SECTIONS:
        t.run(f"core PMU: {section.__name__}", section, guest)
    for section in bpf.SECTIONS:
        t.run(f"BPF: {section.__name__}", section, guest)
    t.end()


if __name__ == "__main__":
    main()
