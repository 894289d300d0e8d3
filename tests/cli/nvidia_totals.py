#!/usr/bin/env python3
"""nvidia_totals.py show|stat: JSON lines of pmrep on stdin, beside what make_stat nvidia says it programmed."""
import json
import sys

# pmu: socket, requests, outstanding, bytes and cycles a second (tests/unit/lib/stat_worlds.c)
PMUS = [
    (0, 1e6, 200e6, 1e9, 1.0e9),
    (0, 2e6, 1000e6, 2e9, 1.25e9),
    (0, 0, 0, 0, 2.0e9),
    (1, 4e6, 600e6, 4e9, 1.5e9),
    (1, 8e6, 800e6, 8e9, 0.5e9),
]


def truth(sockets):
    rows = [p for p in PMUS if p[0] in sockets]
    req = sum(p[1] for p in rows)
    busy = sum(p[2] / p[4] for p in rows)  # seconds that requests were on their way, each by the clock of its PMU
    return {
        "rd_bw": sum(p[3] for p in rows) / 1e9,
        "rd_rate": req / sum(p[4] for p in rows),
        "frequency": sum(p[4] for p in rows) / len(rows) / 1e9,
        "rd_latency_cycles": sum(p[2] for p in rows) / req,
        "rd_latency": busy / req * 1e9,
        "rd_outstanding": busy,
        "rd_bytes_per_request": sum(p[3] for p in rows) / req,
    }


HEADS = {"PCIErdGB/s": "rd_bw", "PCIErd/cyc": "rd_rate", "PCIEGHz": "frequency", "PCIErdLatCyc": "rd_latency_cycles",
         "PCIErdLatNs": "rd_latency", "PCIErdOuts": "rd_outstanding",
         "PCIErdBy/req": "rd_bytes_per_request"}


def of_stat(line):
    head = line.get("metric-unit", "").split()
    if not head:
        return None
    value = None if line["metric-value"] is None else float(line["metric-value"])
    return line.get("socket", ""), HEADS.get(head[-1], head[-1]), value


def of_show(line):
    socket = "" if line["scope"] == "system" else "S%d" % line["package"]
    assert (line["value"] is None) == (line["status"] != "ok"), line
    return socket, line["metric"].removeprefix("nvidia_pcie."), line["value"]


def main():
    seen = set()
    wanted = {"": truth({0, 1}), "S0": truth({0}), "S1": truth({1})}
    for text in sys.stdin:
        got = (of_stat if sys.argv[1] == "stat" else of_show)(json.loads(text))
        if not got:
            continue
        socket, name, value = got
        assert (socket, name) not in seen, (socket, name)
        if "DLINK" in name or "nvdlink" in name:
            assert value is None, (socket, name, value)  # its clock stands still
            continue
        expected = wanted[socket][name]
        assert abs(value - expected) < 1e-4 * expected + 1e-6, (socket, name, value, expected)
        seen.add((socket, name))
    print(len(seen))


main()
