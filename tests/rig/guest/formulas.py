"""The metrics of the uncore PMUs, a second time: what they come to when the counters advance as programmed.

Bandwidth, rate, frequency and latency are defined in the kernel's nvidia-tegra410-pmu.rst. Over several PMUs, what
happened is added up before it is divided; a latency in nanoseconds takes each PMU's own clock; a frequency is the
mean. A formula is (kind, event...); the golden tests take these tables, too.
"""
import rates


def sums(kind, *events):
    return (kind, *events)


def value(formula, pmus, rate):
    """What a formula comes to over PMUs, where rate(pmu, event) is in counts per nanosecond."""
    kind, *events = formula
    total = lambda i: sum(rate(pmu, events[i]) for pmu in pmus)
    # Cycles of waiting, in nanoseconds of that PMU's clock.
    waited = lambda: sum(rate(pmu, events[0]) / rate(pmu, "cycles") for pmu in pmus)
    return {
        "bandwidth": lambda: total(0),
        "beats": lambda: 32 * total(0),
        "ratio": lambda: total(0) / total(1),
        "percent": lambda: 100 * total(0) / total(1),
        "frequency": lambda: total(0) / len(pmus),
        "latency": lambda: waited() / total(1),
        "outstanding": waited,
    }[kind]()


def latency(name, outs, req):
    return {f"{name}_latency_cycles": sums("ratio", outs, req), f"{name}_latency": sums("latency", outs, req),
            f"{name}_outstanding": sums("outstanding", outs)}


FREQUENCY = {"frequency": sums("frequency", "cycles")}
BYTES = {}
for way in ("rd", "wr"):
    BYTES[f"{way}_bw"] = sums("bandwidth", f"{way}_bytes")
    BYTES[f"{way}_rate"] = sums("ratio", f"{way}_req", "cycles")
    BYTES[f"{way}_bytes_per_request"] = sums("ratio", f"{way}_bytes", f"{way}_req")
UCF = {"slc_rd_hit_ratio": sums("percent", "slc_hit_rd", "slc_access_rd"), **FREQUENCY}
for place in ("slc", "mem"):
    for way in ("rd", "wr"):
        UCF[f"{place}_{way}_bw"] = sums("bandwidth", f"{place}_bytes_{way}")
        UCF[f"{place}_{way}_rate"] = sums("ratio", f"{place}_access_{way}", "cycles")
        UCF[f"{place}_{way}_bytes_per_request"] = sums("ratio", f"{place}_bytes_{way}", f"{place}_access_{way}")
READS = {**FREQUENCY, **latency("in_rd", "in_rd_cum_outs", "in_rd_req"),
         **latency("out_rd", "out_rd_cum_outs", "out_rd_req")}
WRITES = {**latency("in_wr", "in_wr_cum_outs", "in_wr_req"), **latency("out_wr", "out_wr_cum_outs", "out_wr_req")}
MCF = {**FREQUENCY}
for end in ("loc", "rem"):
    for way in ("rd", "wr"):
        MCF[f"{way}_{end}_bw"] = sums("bandwidth", f"{way}_bytes_{end}")
        MCF[f"{way}_{end}_rate"] = sums("ratio", f"{way}_req_{end}", "cycles")
    MCF[f"total_{end}_bw"] = sums("bandwidth", f"total_bytes_{end}")
    MCF.update(latency(f"rd_{end}", f"rd_cum_outs_{end}", f"rd_req_{end}"))
SCF = {**FREQUENCY, "cmem_wr_bw": sums("bandwidth", "cmem_wr_total_bytes"),
       "remote_wr_bw": sums("bandwidth", "remote_socket_wr_total_bytes"),
       "gmem_wr_bw": sums("bandwidth", "gmem_wr_total_bytes")}
for place, event in (("cmem", "cmem"), ("remote", "remote_socket"), ("gmem", "gmem")):
    SCF[f"{place}_rd_bw"] = sums("beats", f"{event}_rd_data")
    SCF.update(latency(f"{place}_rd", f"{event}_rd_outstanding", f"{event}_rd_access"))
    if place != "gmem":
        SCF[f"{place}_rd_rate"] = sums("ratio", f"{event}_rd_access", "cycles")

PCIE = {**BYTES, **FREQUENCY, **latency("rd", "rd_cum_outs", "rd_req")}
CMEM = {**FREQUENCY, **latency("rd", "rd_cum_outs", "rd_req"), "rd_bw_estimate": sums("beats", "rd_req")}
# class: metrics, PMUs of a socket
RCS = range(6)
TEGRA410 = {
    "nvidia_ucf": (UCF, lambda s: [f"nvidia_ucf_pmu_{s}"]),
    "nvidia_pcie": (PCIE, lambda s: [f"nvidia_pcie_pmu_{s}_rc_{rc}" for rc in RCS]),
    "nvidia_pcie_tgt": ({**BYTES, **FREQUENCY}, lambda s: [f"nvidia_pcie_tgt_pmu_{s}_rc_{rc}" for rc in RCS]),
    "nvidia_cmem_latency": (CMEM, lambda s: [f"nvidia_cmem_latency_pmu_{s}"]),
    "nvidia_nvlink_c2c": ({**READS, **WRITES}, lambda s: [f"nvidia_nvlink_c2c_pmu_{s}"]),
    "nvidia_nvclink": (READS, lambda s: [f"nvidia_nvclink_pmu_{s}"]),
    "nvidia_nvdlink": ({**FREQUENCY, **latency("in_rd", "in_rd_cum_outs", "in_rd_req")},
                       lambda s: [f"nvidia_nvdlink_pmu_{s}"]),
}
# Two CPUs side by side: their link knows reads alone, and nothing is behind NV-DLink.
CPU_PEER = {**TEGRA410, "nvidia_nvlink_c2c": (READS, TEGRA410["nvidia_nvlink_c2c"][1])}
GRACE = {
    "nvidia_scf": (SCF, lambda s: [f"nvidia_scf_pmu_{s}"]),
    "nvidia_grace_pcie": (MCF, lambda s: [f"nvidia_pcie_pmu_{s}"]),
    "nvidia_nvlink_c2c0": (MCF, lambda s: [f"nvidia_nvlink_c2c0_pmu_{s}"]),
    "nvidia_nvlink_c2c1": (MCF, lambda s: [f"nvidia_nvlink_c2c1_pmu_{s}"]),
    "nvidia_cnvlink": (MCF, lambda s: [f"nvidia_cnvlink_pmu_{s}"]),
}


def expected(machine, peer="gpu"):
    """{(scope, package, device, metric): value} for a machine, as `pmrep --format=csv` names rows."""
    out = {}
    rate = lambda pmu, event: rates.per_ns(f"{pmu}/{event}/", peer)
    for kind, (formulas, pmus) in machine.items():
        for name, formula in formulas.items():
            out["system", "", "", f"{kind}.{name}"] = value(formula, pmus(0) + pmus(1), rate)
            for socket in (0, 1):
                out["package", str(socket), "", f"{kind}.{name}"] = value(formula, pmus(socket), rate)
                for pmu in pmus(socket):
                    out["pmu", str(socket), pmu, f"{kind}.{name}"] = value(formula, [pmu], rate)
    return out
