"""What newer kernels show of registers besides: the energy of each core (AMD) and the residency of modules (Intel), one module a package;
a CPU is offline."""
import intel
import zen

CPUS = [0, 0, 1, 1]
OFFLINE = [3]
CPUID = "AuthenticAMD-26-2-1"
CPUINFO = zen.cpuinfo(26, 2, len(CPUS))
HARDWARE = zen.HARDWARE
HIDDEN = intel.hidden(300)
JOULES = ("2.3283064365386962890625e-10", "Joules")
PMUS = {"cpu": zen.CORE, "msr": HIDDEN["msr"],
        "power": dict(HIDDEN["power"], events={"energy-pkg": ("event=0x2", *JOULES)}),
        "power_core": dict(HIDDEN["power"], type=310, kind="cores", events={"energy-core": ("event=0x1", *JOULES)}, rates={"event=0x1": 2e10}),
        "cstate_module": dict(HIDDEN["cstate_pkg"], type=311, events={"c6-residency": ("event=0x0",)}, rates={"event=0x0": 2.5e8})}
MEAN = lambda m, p, pmu, event: m.sum(pmu, event, p) / len([c for c in m.places(pmu) if p in (None, m.cpus[c])])
METRICS = {"mem.bw": None}
COLUMNS = {"corwatt": lambda m, p: m.sum("power_core", "energy-core", p) / 2**32,
           "pkgwatt": lambda m, p: m.rate_at("power", "energy-pkg", 0) * (1 if p == 0 else 1.1 if p else 2.1) / 2**32,
           "module.c6": lambda m, p: 100 * MEAN(m, p, "cstate_module", "c6-residency") / MEAN(m, p, "msr", "tsc")}
