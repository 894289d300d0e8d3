"""The metrics of the uncore PMUs, a second time: what they come to when the counters advance as programmed.

Bandwidth, rate, frequency and latency are defined in the kernel's nvidia-tegra410-pmu.rst. Over several PMUs, what happened is added up
before it is divided; a latency in nanoseconds takes each PMU's own clock; a frequency is the mean.
"""
import rates


def sums(kind, *events):
    """Of one event over several PMUs: {pmu: rate} becomes a number."""
    bandwidth = lambda p, e: sum(e(x, events[0]) for x in p)
    formulas = {
        "bandwidth": bandwidth,
        "beats": lambda p, e: 32 * bandwidth(p, e),
        "ratio": lambda p, e: sum(e(x, events[0]) for x in p) / sum(e(x, events[1]) for x in p),
        "percent": lambda p, e: 100 * sum(e(x, events[0]) for x in p) / sum(e(x, events[1]) for x in p),
        "frequency": lambda p, e: sum(e(x, "cycles") for x in p) / len(p),
        # Cycles of waiting, in nanoseconds of that PMU's clock, a request.
        "latency": lambda p, e: sum(e(x, events[0]) / e(x, "cycles") for x in p) / sum(e(x, events[1]) for x in p),
        "outstanding": lambda p, e: sum(e(x, events[0]) / e(x, "cycles") for x in p),
    }
    return formulas[kind]


def latency(name, outs, req):
    return {f"{name}_latency_cycles": sums("ratio", outs, req), f"{name}_latency": sums("latency", outs, req),
            f"{name}_outstanding": sums("outstanding", outs)}


FREQUENCY = {"frequency": sums("frequency")}
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
READS = {**FREQUENCY, **latency("in_rd", "in_rd_cum_outs", "in_rd_req"), **latency("out_rd", "out_rd_cum_outs", "out_rd_req")}
WRITES = {**latency("in_wr", "in_wr_cum_outs", "in_wr_req"), **latency("out_wr", "out_wr_cum_outs", "out_wr_req")}
MCF = {**FREQUENCY}
for end in ("loc", "rem"):
    for way in ("rd", "wr"):
        MCF[f"{way}_{end}_bw"] = sums("bandwidth", f"{way}_bytes_{end}")
        MCF[f"{way}_{end}_rate"] = sums("ratio", f"{way}_req_{end}", "cycles")
    MCF[f"total_{end}_bw"] = sums("bandwidth", f"total_bytes_{end}")
    MCF.update(latency(f"rd_{end}", f"rd_cum_outs_{end}", f"rd_req_{end}"))
SCF = {**FREQUENCY, "cmem_wr_bw": sums("bandwidth", "cmem_wr_total_bytes"),
       "remote_wr_bw": sums("bandwidth", "remote_socket_wr_total_bytes"), "gmem_wr_bw": sums("bandwidth", "gmem_wr_total_bytes")}
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
    "nvidia_nvdlink": ({**FREQUENCY, **latency("in_rd", "in_rd_cum_outs", "in_rd_req")}, lambda s: [f"nvidia_nvdlink_pmu_{s}"]),
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
            out["system", "", "", f"{kind}.{name}"] = formula(pmus(0) + pmus(1), rate)
            for socket in (0, 1):
                out["package", str(socket), "", f"{kind}.{name}"] = formula(pmus(socket), rate)
                for pmu in pmus(socket):
                    out["pmu", str(socket), pmu, f"{kind}.{name}"] = formula([pmu], rate)
    return out
