"""What the counters of fakeuncore advance by: its arithmetic a second time, from the same table.

An event is the text that names it in a recording, such as "nvidia_pcie_pmu_0_rc_1/event=0x1,src_rp_mask=0x3/".
"""
import os
import re
from fractions import Fraction

HERE = os.path.dirname(os.path.abspath(__file__))
CYCLE_EVENT = 1 << 32
MODELS = [  # name, table, the id of cycles, filters of config1 that stand for all where they are not given
    (r"nvidia_ucf_pmu_(\d+)", "ucf", CYCLE_EVENT),
    (r"nvidia_pcie_pmu_(\d+)_(?:rc|chiplet)_(\d+)", "pcie", CYCLE_EVENT),
    (r"nvidia_pcie_tgt_pmu_(\d+)_(?:rc|chiplet)_(\d+)", "target", 4),
    (r"nvidia_cmem_latency_pmu_(\d+)", "latency", 0),
    (r"nvidia_nv(?:link_c2c|clink|dlink)_pmu_(\d+)", "link", 0),
    (r"nvidia_scf_pmu_(\d+)", "scf", CYCLE_EVENT),
    (r"nvidia_(?:pcie|nvlink_c2c[01]|cnvlink)_pmu_(\d+)", "mcf", CYCLE_EVENT),
]
# Masks of several bits: how many. The fields of UCF and PCIE that select one place each come below.
MASKS = {"src_rp_mask": 8, "dst_rp_mask": 8, "gpu_mask": 2, "root_port": 10, "port": 2, "rem_socket": 4}
PLACES = {
    "ucf": [["src_loc_noncpu", "src_loc_cpu", "src_rem"],
            ["dst_loc_cmem", "dst_loc_gmem", "dst_loc_other", "dst_rem"]],
    "pcie": [["dst_loc_cmem", "dst_loc_gmem", "dst_loc_pcie_p2p", "dst_loc_pcie_cxl", "dst_rem"]],
}


def read_table():
    """{table: {name or id: (id, counts per ns, how instances differ)}}"""
    events = {}
    for line in open(f"{HERE}/fakeuncore/events.def"):
        found = re.match(r"(?:EVENT\((\w+), (\w+)|UNNAMED\((\w+)), (\w+), (\d+), (\w+)\)", line)
        if found:
            table, number = found[1] or found[3], CYCLE_EVENT if found[4] == "CYCLE_EVENT" else int(found[4], 0)
            row = (number, Fraction(int(found[5]), 1000), found[6])
            events.setdefault(table, {})[number] = row
            if found[2]:
                events[table][found[2]] = row
    return events


EVENTS = read_table()


def split(event):
    """PMU and {term: value}, the event's own name under "event"."""
    # An event that is in several groups has a number behind it from the second on.
    pmu, inner = re.fullmatch(r"(\w+)/(.*)/\w*(?:#\d+)?", event).groups()
    terms = {}
    for term in filter(None, inner.split(",")):
        name, _, value = term.partition("=")
        if name == "src_bdf" and ":" in value:
            bus, device, function = re.fullmatch(r"(?:\w+:)?(\w\w):(\w\w)\.(\d)", value).groups()
            terms[name], terms["src_bdf_en"] = int(bus, 16) << 8 | int(device, 16) << 3 | int(function), 1
        elif value:
            terms[name] = int(value, 0)
        else:
            terms["event" if name in EVENTS[place(pmu)[0]] else name] = name if name in EVENTS[place(pmu)[0]] else 1
    return pmu, terms


def place(pmu):
    """Table, socket, root complex and the id of cycles."""
    for pattern, table, cycles in MODELS:
        found = re.fullmatch(pattern, pmu)
        if found:
            groups = found.groups()
            return table, int(groups[0]), int(groups[1]) if len(groups) > 1 else 0, cycles
    raise ValueError(pmu)


def weight(mask):
    return sum(i + 1 for i in range(64) if mask >> i & 1)


def masked(selected, bits):
    every = (1 << bits) - 1
    return Fraction(weight(selected & every or every), weight(every))


def per_ns(event, peer="gpu"):
    """Counts per nanosecond while the event runs."""
    pmu, terms = split(event)
    table, socket, rc, cycles = place(pmu)
    if terms.get("event", 0) not in EVENTS[table]:
        return Fraction(0)
    number, rate, differs = EVENTS[table][terms.get("event", 0)]
    if differs == "CYCLES":
        rate *= Fraction(8 + socket, 8)
    else:
        rate *= Fraction(16 + 4 * socket + rc, 16)
    if differs == "OUTSTANDING":
        rate *= Fraction(4 + socket + rc, 4)
    if number == cycles:
        return rate
    for half in PLACES.get(table, []):
        rate *= masked(sum(bool(terms.get(name)) << i for i, name in enumerate(half)), len(half))
    if table == "pcie" and terms.get("src_bdf_en"):
        bdf = terms["src_bdf"]
        return rate * Fraction(1 + ((bdf >> 8) + (bdf & 0xff)) % 31, 32)
    if table == "target" and terms.get("dst_addr_en"):
        bits = bin(terms.get("dst_addr_mask", 0)).count("1")
        return rate * Fraction((terms.get("dst_addr_base", 0) >> 16 & 7) + 1, 64 + bits)
    for name, value in terms.items():
        if name in MASKS and not (name == "gpu_mask" and peer == "cpu"):
            rate *= masked(value, MASKS[name])
    return rate
