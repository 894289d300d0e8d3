"""What Intel's server processors since Ice Lake have in common (the kernel's arch/x86/events/intel: core.c, uncore_snbep.c)."""

FORMAT = {"event": "config:0-7", "umask": "config:8-15", "edge": "config:18", "pc": "config:19", "inv": "config:23",
          "cmask": "config:24-31", "in_tx": "config:32", "in_tx_cp": "config:33", "offcore_rsp": "config1:0-63",
          "ldlat": "config1:0-15", "frontend": "config1:0-23"}
SLOTS = 16e9
SHARES = {"topdown-retiring": (0x80, .40), "topdown-bad-spec": (0x81, .10), "topdown-fe-bound": (0x82, .20),
          "topdown-be-bound": (0x83, .30)}
MORE_SHARES = {"topdown-heavy-ops": (0x84, .05), "topdown-br-mispredict": (0x85, .08), "topdown-fetch-lat": (0x86, .12),
               "topdown-mem-bound": (0x87, .18)}
# cycles, instructions, cache-references, cache-misses, branches, branch-misses, -, -, -, ref-cycles
HARDWARE = [0x3c, 0xc0, 0x4f2e, 0x412e, 0xc4, 0xc5, None, None, None, 0x300]


def cpuinfo(model, n):
    return "\n".join(f"processor\t: {i}\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: {model}\nstepping\t: 6\n"
                     for i in range(n))


def core(name, shares):
    """Four fixed counters (instructions, cycles, reference cycles, slots) and eight general ones."""
    rates = {"event=0x3c": 3.0e9, "event=0xc0": 4.5e9, "event=0x00,umask=0x03": 2.0e9, "event=0x00,umask=0x04": SLOTS,
             "event=0xc4": 9e8, "event=0xc5": 9e6, "event=0x2e,umask=0x4f": 8e6, "event=0x2e,umask=0x41": 3e6}
    metric = []
    for number, share in shares.values():
        metric.append(f"event=0x00,umask={number:#x}")
        rates[metric[-1]] = SLOTS * share
    events = {"cpu-cycles": ("event=0x3c",), "instructions": ("event=0xc0",), "branch-instructions": ("event=0xc4",),
              "branch-misses": ("event=0xc5",), "cache-references": ("event=0x2e,umask=0x4f",),
              "cache-misses": ("event=0x2e,umask=0x41",), "ref-cycles": ("event=0x00,umask=0x03",),
              "slots": ("event=0x00,umask=0x4",)}
    events.update({k: (f"event=0x00,umask={n:#x}",) for k, (n, _) in shares.items()})
    return dict(type=4, kind="core", general=8, format=FORMAT, rates=rates, events=events, metric=metric,
                fixed={"event=0xc0": 0, "event=0x00,umask=0x01": 0, "event=0x3c": 1, "event=0x00,umask=0x03": 2,
                       "event=0x00,umask=0x04": 3},
                only_fixed=["event=0x00,umask=0x04", "event=0x00,umask=0x03"],
                caps={"pmu_name": name, "max_precise": 3, "branches": 32})


def hidden(first_type, pkg=2):
    """What perf shows of the registers: TSC, APERF, MPERF, SMI; residencies of cores and packages; energy."""
    def pmu(at, kind, rates, *sides):
        return dict(type=first_type + at, kind=kind, by_metrics=True, general=16, format={"event": "config:0-63"},
                    events={k: (f"event={code:#x}", *sides) for k, (code, _) in rates.items()},
                    rates={f"event={code:#x}": rate for code, rate in rates.values()})
    return {"msr": pmu(0, "cpu", {"tsc": (0, 2e9), "aperf": (1, 1.5e9), "mperf": (2, 1e9), "smi": (4, 10)}),
            "cstate_core": pmu(1, "cores", {"c1-residency": (0, 2e8), "c6-residency": (2, 4e8)}),
            "cstate_pkg": pmu(2, "uncore", {"c2-residency": (0, 1e8), "c6-residency": (2, 3e8)}),
            "power": pmu(3, "uncore", {"energy-cores": (1, 1e11), "energy-pkg": (2, 4e11), "energy-ram": (3, 6e10)},
                         "2.3283064365386962890625e-10", "Joules")}


MIB4 = ("3.814697266e-6", "MiB")  # four bytes


def memory(terms=("cas_count_read", "cas_count_write"), pmus="uncore_imc_"):
    """GB/s of memory: reads, writes and both."""
    read, write = (lambda m, p, t=t: sum(m.sum(pmus, one, p) for one in t.split("+")) * 64 / 1e9 for t in terms)
    return {"mem.read_bw": read, "mem.write_bw": write, "mem.bw": lambda m, p: read(m, p) + write(m, p)}


def uncore(chas=0, upis=0, iios=0, ports=8, out=0x30, ext=",32-55"):
    """Slices of the cache, links and PCIe stacks; the kernel names the events of the last alone."""
    form = {"event": "config:0-7", "umask": "config:8-15" + ext, "edge": "config:18", "inv": "config:23", "thresh": "config:24-31"}
    ways = [(f"bw_{way}_port{i}", f"event=0xff,umask={first + i:#x}") for way, first in (("in", 0x20), ("out", out)) for i in range(ports)]
    return {**{f"uncore_cha_{i}": dict(type=100 + i, kind="uncore", by_metrics=True, general=4, format=form, rates={LOOKUPS[ext][0]: 3e8, LOOKUPS[ext][1]: 6e7 + 1e6 * i} if ext else {})
               for i in range(chas)},
            **{f"uncore_upi_{i}": dict(type=150 + i, kind="uncore", by_metrics=True, general=4, format=form, rates={UPI[0]: 9e8, UPI[1]: 1.8e9 + 9e6 * i})
               for i in range(upis)},
            **{f"uncore_iio_free_running_{i}":
               dict(type=200 + i, kind="uncore", by_metrics=True, general=17, format={"event": "config:0-7", "umask": "config:8-15"},
                    events={k: (v, *MIB4) for k, v in ways}, rates={v: 1e7 * (i + k + 1) for k, (_, v) in enumerate(ways)})
               for i in range(iios)}}


# Reads that look a slice up, and those that miss: all reads on Ice Lake, data since then. The masks' width tells them apart.
ICELAKE = ",32-57"
CHA = ("event=0x34,umask=0x1fc1ff", "event=0x34,umask=0x1fc101")
LOOKUPS = {",32-55": CHA, ",32-63": CHA, ICELAKE: ("event=0x34,umask=0x1bd9ff", "event=0x34,umask=0x1bd901")}
UPI = ("event=0x02,umask=0x0f", "event=0x03,umask=0x0f")


def cha_metrics(all_, missed):
    return {"llc.hit_share": lambda m, p: 100 * (1 - m.sum("uncore_cha_", missed, p) / m.sum("uncore_cha_", all_, p))}


CHA_METRICS = cha_metrics(*CHA)
UPI_METRICS = {"link.out_bw": lambda m, p: m.sum("uncore_upi_", UPI[0], p) * 64 / 9e9,
               "link.in_bw": lambda m, p: m.sum("uncore_upi_", UPI[1], p) * 64 / 9e9}


def iio_metrics(ports=8):
    return {f"pcie.{way}_bw": lambda m, p, way=way: sum(m.sum("uncore_iio_", f"bw_{way}_port{i}", p) for i in range(ports)) * 4 / 1e9
            for way in ("in", "out")}


def imcs(n, first_type, read, write, ticks):
    """Memory controllers: four counters each; a cache line of 64 bytes an event, in MiB."""
    form = {"event": "config:0-7", "umask": "config:8-15", "edge": "config:18", "inv": "config:23", "thresh": "config:24-31"}
    mib = ("6.103515625e-5", "MiB")
    return {f"uncore_imc_{i}": dict(type=first_type + i, kind="uncore", general=4, format=form,
                                    events={"cas_count_read": (read, *mib), "cas_count_write": (write, *mib),
                                            "clockticks": (ticks,)},
                                    rates={read: 4e8 + 1e7 * i, write: 1e8 + 5e6 * i, ticks: 2.4e9})
            for i in range(n)}
