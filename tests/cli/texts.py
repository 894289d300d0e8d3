"""The texts of the kernels of many machines: what they count, what their parts are called.

    texts.py BIN DIRECTORY

Every machine is a row: its texts are made here, by the formats of the kernel (arch/*/kernel/irq.c, fs/proc/softirqs.c,
show_cpuinfo()), are recorded with --root, change, and have to come out as the sums that were written into them.
"""
import csv
import io
import os
import shutil
import signal
import subprocess
import sys

BIN, WORK = sys.argv[1:3]
faults = []


def check(what, got, want):
    if got != want:
        faults.append(f"{what}: {got!r}, not {want!r}")


def run(*words):
    return subprocess.run([f"{BIN}/{words[0]}", *words[1:]], capture_output=True, text=True)


def put(root, path, text):
    """Writes in place: the recorder keeps the file open."""
    os.makedirs(os.path.dirname(root + path), exist_ok=True)
    with open(root + path, "w") as f:
        f.write(text)


def cpus(text):
    parts = [part.split("-") for part in text.split(",")]
    return [n for part in parts for n in range(int(part[0]), int(part[-1]) + 1)]


def new_root(name, online="0", possible=None):
    root = f"{WORK}/{name}"
    shutil.rmtree(root, ignore_errors=True)
    for file, value in (("online", online), ("possible", possible or online), ("present", possible or online)):
        put(root, f"/sys/devices/system/cpu/{file}", value + "\n")
    return root


def values(file, *words):
    """{(metric, cpu or ""): value} of a report in csv; None where there is none."""
    text = run("pmrep", "--format=csv", *words, file).stdout
    return {(row["metric"], row["cpu"]): float(row["value"]) if row["value"] else None
            for row in csv.DictReader(io.StringIO(text))}


# ---- /proc/interrupts ----

def per_cpu(label, counts, text=""):
    return f"{label} " + "".join(f"{n:10d} " for n in counts) + text


def head(columns, indent=11):
    return " " * indent + "".join(f"CPU{c:<8d}" for c in columns)


# Rows: how the line begins; the counter, "" if it is not one per CPU, None if it is none; before; difference; text. CPU number k of those
# online has `before` + k and counts `difference` + k more. A row behind "+" belongs to no total: others include it.
X86 = [
    ("   0:", "0", 40, 0, " IO-APIC    2-edge      timer"),
    (" 120:", "120", 7, 100, " PCI-MSIX-0000:01:00.0    0-edge      nvme0q0, a second action"),
    (" 121:", "121", 4294967290, 20, " IR-PCI-MSIX-0000:02:00.0   1-edge      eth0 rx 0"),
    (" NMI:", "nmi", 3, 2, "  Non-maskable interrupts"),
    (" LOC:", "loc", 4294960000, 10000, "  Local timer interrupts"),
    (" CAL:", "cal", 55, 11, "  Function call interrupts"),
    (" ERR:", "", 4, 3, None),
    (" MIS:", "", 0, 0, None),
    (" PIN:", "pin", 1, 1, "  Posted-interrupt notification event"),
]
ARM64 = [
    (" 11:", "11", 900, 250, "    GICv3  27 Level     arch_timer"),
    (" 47:", "47", 5, 1, "ITS-MSI 524288 Edge      nvme0q0"),
    ("IPI0:", "ipi0", 4294967000, 500, "      Rescheduling interrupts"),  # no blank before ten digits
    ("IPI1:", "ipi1", 12, 4, "      Function call interrupts"),
    ("Err:", "", 9, 2, None),
]
RISCV = [
    ("  5:", "5", 100, 77, "RISC-V INTC   5 Edge      riscv-timer"),
    (" 10:", "10", 8, 3, "SiFive PLIC  39 Edge      ttyS0"),
    ("IPI0:", "ipi0", 31, 9, "      Rescheduling interrupts"),
    ("IPI5:", "ipi5", 1, 2, "      Timer broadcast interrupts"),
]
POWER9 = [
    ("  16:", "16", 2, 5, " XIVE-IPI   0 Edge      IPI-0"),
    (" LOC:", "loc", 4000000, 250, "  Local timer interrupts for timer event device"),
    (" BCT:", "bct", 1, 1, "  Broadcast timer interrupts for timer event device"),
    (" LOC:", "loc_2", 600, 13, "  Local timer interrupts for others"),
    (" SPU:", "spu", 2, 0, "  Spurious interrupts"),
    (" DBL:", "dbl", 44, 6, "  Doorbell interrupts"),
]
S390X = [
    ("EXT:", "ext", 5000, 400, ""),
    ("I/O:", "i_o", 300, 30, ""),
    ("AIO:", "aio", 700, 70, ""),
    ("+  3:", "3", 650, 60, "  PCI-MSI  mlx5_async0@pci:0000:00:00.0"),
    ("+CLK:", "clk", 4000, 300, "  [EXT] Clock Comparator"),
    ("+EMS:", "ems", 900, 90, "  [EXT] Emergency Signal"),
    ("+C15:", "c15", 20, 2, "  [I/O] 3215"),
    ("+QAI:", "qai", 50, 5, "  [AIO] QDIO Adapter Interrupt"),
    ("NMI:", "nmi", 1, 1, "  [NMI] Machine Check"),
    ("RST:", "rst", 8, 0, "  [CPU] CPU Restart"),
]
MIPS = [
    ("  7:", "7", 10, 50, "     MIPS   7  timer"),
    ("ERR:", "", 6, 6, None),
]
LOONGARCH = [
    (" 14:", "14", 800, 80, " CPUINTC  12  IPI"),
    ("IPI0:", "ipi0", 40, 12, "  Rescheduling interrupts"),
    ("ERR:", "", 1, 1, None),
]
PARISC = [  # a line without a name here is no counter: how deep stacks are
    ("STK:", None, 900, 64, "  Kernel stack usage"),
    ("IST:", None, 300, 8, "  Interrupt stack usage"),
    ("RES:", "res", 10, 4, "  Rescheduling interrupts"),
    (" 65:", "65", 50, 20, "            PARISC-CPU  IPI"),
]
PLAIN = [("  1:", "1", 5, 5, " chip 1 x"), ("NMI:", "nmi", 1, 3, "  text"), ("ERR:", "", 5, 1, None)]

# name, online, possible, rows
MACHINES = [
    ("x86_64", "0-1,4-5", "0-7", X86),
    ("one-cpu", "0", None, X86),
    ("arm64", "0-3", None, ARM64),
    ("riscv", "1-4", "0-4", RISCV),
    ("power9", "0,4,8,12", "0-15", POWER9),
    ("s390x", "0-2", "0-63", S390X),
    ("mips", "0-1", None, MIPS),
    ("loongarch", "0-3", None, LOONGARCH),
    ("parisc", "0-3", None, PARISC),
    ("parisc-one-cpu", "0", None, PARISC),
    ("wide", "0-699", None, PLAIN),
    ("container", "0,3", None, PLAIN),  # of 8: the text has them all
]


def interrupts(columns, rows, step, order=1):
    """The text at the beginning (step 0) or at the end (1), its rows in order or reversed."""
    lines = []
    for label, name, before, more, text in rows[::order]:
        label = label.lstrip("+")
        counts = [(before + k + step * (more + k)) & 0xffffffff for k in range(len(columns))]
        if name == "":
            lines.append(f"{label} {before + step * more:10d}")
        elif label.startswith("IPI"):
            lines.append(label + per_cpu("", counts, text)[1:])
        else:
            lines.append(per_cpu(label, counts, text))
    return "\n".join([head(columns)] + lines)


def softirqs(columns, step):
    return "\n".join([head(columns, 20)] + [
        f"{name:>12}:" + "".join(f" {base + k + step * (more + k):10d}" for k in range(len(columns)))
        for name, base, more in SOFTIRQS]) + "\n"


SOFTIRQS = [("HI", 1, 2), ("TIMER", 500, 100), ("NET_TX", 0, 3), ("HRTIMER", 0, 0), ("RCU", 4294967000, 7)]


def try_counts():
    recorders = []
    for name, online, possible, rows in MACHINES:
        root = new_root(name, online, possible)
        here, can = cpus(online), cpus(possible or online)
        shown = list(range(8)) if name == "container" else here
        put(root, "/proc/interrupts", interrupts(shown, rows, 0) + "\n")
        put(root, "/proc/softirqs", softirqs(can, 0))
        recorder = subprocess.Popen([f"{BIN}/pmrec", "-q", "--overwrite", "--root", root, "-i", "3600", "-o", root + ".pmr",
                                     "--sources=interrupts,softirqs", "--control=fd:0,1"], text=True,
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        recorder.stdin.write("ping\n")
        recorder.stdin.flush()
        recorders.append((recorder, root, name, here, can, shown, rows))
    for recorder, root, name, here, can, shown, rows in recorders:
        check(f"{name}: ping", recorder.stdout.readline(), "ack\n")
        # A file may come in another order, and without the last line's end; labels that repeat keep theirs.
        order = -1 if len({row[0] for row in rows}) == len(rows) and name != "s390x" else 1
        put(root, "/proc/interrupts", interrupts(shown, rows, 1, order))
        put(root, "/proc/softirqs", softirqs(can, 1))
        recorder.send_signal(signal.SIGINT)
        check(f"{name}: exit status", recorder.wait(), 0)
        check(f"{name}: check", run("pmrep", "check", root + ".pmr").returncode, 0)
        got = values(root + ".pmr", "--total", "--per-cpu", "--show=interrupts.*,softirqs.*")
        whole = values(root + ".pmr", "--total", "-S", "--show=interrupts.*,softirqs.*")
        system = {(("interrupts." + label.strip(" :").lower()), ""): float(more)
                  for label, part, before, more, _ in rows if part == "" and before}
        want, total = {}, dict.fromkeys(here, 0)
        for label, part, before, more, _ in rows:
            for k, cpu in enumerate(shown):
                if part and cpu in here and before + k:
                    want["interrupts." + part, str(cpu)] = float(more + k)
                    total[cpu] += 0 if label[0] == "+" else more + k
        want.update((("interrupts.total", str(cpu)), float(n)) for cpu, n in total.items())
        for part, before, more in SOFTIRQS:
            want.update((("softirqs." + part.lower(), str(cpu)), float(more + k)) for k, cpu in enumerate(can) if cpu in here)
        check(f"{name}: counts by CPU", {at: v for at, v in got.items() if at[1]}, want)
        sums = {}
        for (metric, _), v in want.items():
            sums[metric, ""] = sums.get((metric, ""), 0) + v
        check(f"{name}: sums", whole, {**sums, **system})


# ---- names of idle states ----

STATES = [  # name, column
    ("WFI", "WFI"), ("cpu-sleep-0-0", "cpu-sleep-0-0"), ("cpu-sleep-0-1", "cpu-sleep-0-1"),
    ("cluster-sleep-0", "cluster-sleep-0"), ("C1_ACPI", "C1ACPI"), ("C6-SKX", "C6"), ("C1E-ATM", "C1E"),
    ("haltpoll idle", "haltpoll_idle"), ("ACPI FFH 0x0", "ACPI_FFH_0x0"), ("stop0_lite", "stop0_lite"),
    ("cpu.retention", "cpu.retention"), ("cpu-retention", "cpu-retention_11"), ("LPI-0", "LPI-0"), ("WFI", "WFI_13"),
    ("C6-SKX-1", "C6-SKX-1"), ("", "state15"),
]


def try_states():
    root = new_root("states")
    for k, (name, _) in enumerate(STATES):
        for file, text in (("name", name), ("usage", k), ("time", 1000 * k)):
            put(root, f"/sys/devices/system/cpu/cpu0/cpuidle/state{k}/{file}", f"{text}\n")
    run("pmrec", "-q", "--overwrite", "--root", root, "--sources=cpuidle", "-n", "1", "-i", "0.02", "-o", root + ".pmr")
    columns = [column for _, column in STATES]
    check("states: table", run("pmrep", "-S", "--all", root + ".pmr").stdout.splitlines()[0].split()[1:],
          [column + "%" for column in columns])
    check("states: turbostat", run("pmrep", "-q", "-S", "--format=turbostat", root + ".pmr").stdout.splitlines()[0].split("\t"),
          columns + [column + "%" for column in columns])
    part = [column.lower().translate(str.maketrans("-.", "__")) for column in columns]
    check("states: counters", list(values(root + ".pmr", "-S", "--show=cpuidle.usage.*")),
          [("cpuidle.usage." + name, "") for name in part])
    for column in ("cpu-sleep-0-1", "WFI_13", "cpu.retention"):
        check(f"states: --show={column}%", run("pmrep", "-S", f"--show={column}%", root + ".pmr").stdout.split()[1:2], [column + "%"])


# ---- /proc/cpuinfo: text, what `pmrep info` has to say ----

CPUINFO = {
    "x86": ("processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\nmodel name\t: AMD EPYC 9654\n"
            "stepping\t: 1\ncpu MHz\t\t: 2400.000\n", ["AMD EPYC 9654", "AuthenticAMD-25-11-1", "x86_64"]),
    "arm64": ("processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU architecture: 8\n"
              "CPU variant\t: 0x3\nCPU part\t: 0xd0c\nCPU revision\t: 1\n",
              ["neoverse-n1", "0x00000000413fd0c1", "aarch64"]),
    "arm": ("processor\t: 0\nmodel name\t: ARMv7 Processor rev 3 (v7l)\nFeatures\t: half thumb\nCPU implementer\t: 0x41\n"
            "CPU architecture: 7\nCPU variant\t: 0x0\nCPU part\t: 0xd08\nCPU revision\t: 3\n",
            ["cortex-a72", "0x00000000410fd083", "arm\n"]),
    "apple": ("processor\t: 0\nBogoMIPS\t: 48.00\nCPU implementer\t: 0x61\nCPU architecture: 8\nCPU variant\t: 0x1\n"
              "CPU part\t: 0x023\nCPU revision\t: 1\n", ["firestorm", "0x00000000611f0231", "aarch64"]),
    "kunpeng": ("processor\t: 0\nCPU implementer\t: 0x48\nCPU architecture: 8\nCPU variant\t: 0x1\nCPU part\t: 0xd01\n"
                "CPU revision\t: 0\n", ["tsv110", "0x00000000481fd010"]),
    "power9": ("processor\t: 0\ncpu\t\t: POWER9 (raw), altivec supported\nclock\t\t: 2300.000000MHz\n"
               "revision\t: 2.3 (pvr 004e 1203)\n\ntimebase\t: 512000000\n", ["POWER9 (raw)", "0x004e1203", "ppc64"]),
    "riscv": ("processor\t: 0\nhart\t\t: 1\nisa\t\t: rv64imafdc\nmmu\t\t: sv39\nuarch\t\t: sifive,u74-mc\n"
              "mvendorid\t: 0x489\nmarchid\t\t: 0x8000000000000007\nmimpid\t\t: 0x4210427\n",
              ["sifive,u74-mc", "0x489-0x8000000000000007-0x4210427", "riscv64"]),
    "riscv-qemu": ("processor\t: 0\nhart\t\t: 0\nisa\t\t: rv64imafdch\nmmu\t\t: sv48\n", ["rv64imafdch", "riscv64"]),
    "s390x": ("vendor_id       : IBM/S390\n# processors    : 2\nbogomips per cpu: 3033.00\nfeatures\t: esan3 zarch\n"
              "processor 0: version = 00,  identification = 1A2B3C,  machine = 8561\n", ["IBM z15, type 8561", "s390x"]),
    "s390x-new": ("vendor_id       : IBM/S390\nprocessor 0: version = FF,  identification = 1A2B3C,  machine = A001\n",
                  ["IBM type A001", "s390x"]),
    "loongarch": ("system type\t\t: generic-loongson-machine\n\nprocessor\t\t: 0\nCPU Family\t\t: Loongson-64bit\n"
                  "Model Name\t\t: Loongson-3A5000-HV\nCPU Revision\t\t: 0x11\nCPU MHz\t\t\t: 2500.00\n",
                  ["Loongson-3A5000-HV", "loongarch64"]),
    "mips": ("system type\t\t: lemote-3a\nprocessor\t\t: 0\ncpu model\t\t: Loongson-3 V0.5  FPU V0.1\n",
             ["Loongson-3 V0.5  FPU V0.1"]),
    "sparc64": ("cpu\t\t: UltraSparc T5 (Niagara5)\nfpu\t\t: UltraSparc T5 integrated FPU\ntype\t\t: sun4v\n",
                ["UltraSparc T5 (Niagara5)"]),
}


def try_cpuinfo():
    for name, (text, words) in CPUINFO.items():
        root = new_root("cpuinfo-" + name)
        put(root, "/proc/cpuinfo", text)
        put(root, "/proc/softirqs", softirqs([0], 0))
        run("pmrec", "-q", "--overwrite", "--root", root, "--sources=softirqs", "-n", "1", "-i", "0.01", "-o", root + ".pmr")
        info = run("pmrep", "info", root + ".pmr").stdout
        check(f"{name}: pmrep info", [word for word in words if word not in info], [])
        check(f"{name}: a serial number", "1A2B3C" in info, False)


# ---- numbers below 0, which the kernel prints as unsigned ----

UNSIGNED = [  # file, text, counter, what comes out: a level, or the difference of a count that stands still
    ("/proc/meminfo", "MemTotal: 1000 kB\nMemFree: 18446744073709551612 kB\nDirty: 8 kB\nHugePages_Free: 18446744073709551615\n",
     {"memfree": None, "hugepages_free": None, "dirty": 8192}),
    ("/proc/vmstat", "nr_free_pages 18446744073709551615\nnr_mapped 9223372036854775807\npgfault 18446744073709551615\n"
     "pgmajfault 18446744073709551611\n", {"nr_free_pages": None, "nr_mapped": 2.0 ** 63, "pgfault": None, "pgmajfault": 0}),
    ("/proc/diskstats", "8 0 sda 9 0 8 7 9 0 8 7 4294967295 5 9\n8 16 sdb 9 0 8 7 9 0 8 7 2147483647 5 18446744073709551615\n",
     {"in_flight sda": None, "busy_time sda": 0, "in_flight sdb": 2147483647, "weighted_time sdb": None}),
]


def try_unsigned():
    for file, text, want in UNSIGNED:
        source = os.path.basename(file)
        root = new_root("unsigned-" + source)
        put(root, file, text)
        for disk in "sda", "sdb":
            put(root, f"/sys/block/{disk}/size", "1\n")
        run("pmrec", "-q", "--overwrite", "--root", root, "--sources=" + source, "-n", "1", "-i", "0.01", "-o", root + ".pmr")
        rows = csv.DictReader(io.StringIO(run("pmrep", "--format=csv", "--per-device", f"--show={source}.*", root + ".pmr").stdout))
        got = {(row["metric"].split(".", 1)[1] + " " + row["device"]).strip(): (row["value"], row["status"]) for row in rows}
        for name, value in want.items():
            seen, status = got.get(name, ("", "not there"))
            check(f"unsigned: {source}.{name}", (float(seen) if seen else None, status), (value, "suspect" if value is None else "ok"))


# ---- /proc/stat of kernels and emulations: how many times a CPU's line has ----

STAT = {"2.4": 4, "2.6.0": 7, "2.6.11": 8, "2.6.24": 9, "2.6.33": 10, "to come": 13, "no CPUs": 0}
TICKS = [10, 20, 30, 400, 50, 60, 70, 80, 9, 8, 1000, 1000, 1000]


def try_stat():
    for kernel, n in STAT.items():
        root = new_root("stat-" + kernel.replace(" ", "-"), "0-1")
        text = ["cpu 0 0 0 0 0\n" + "".join(f"cpu{c}" + "".join(f" {900 + step * (c + 1) * t}" for t in TICKS[:n]) + "\n"
                                            for c in (0, 1) if n) + f"intr 7 1 2 3\nctxt {5 + 3 * step}\n" for step in (0, 1)]
        put(root, "/proc/stat", text[0])
        recorder = subprocess.Popen([f"{BIN}/pmrec", "-q", "--overwrite", "--root", root, "-i", "3600", "-o", root + ".pmr",
                                     "--sources=stat", "--control=fd:0,1"], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        recorder.stdin.write("ping\n")
        recorder.stdin.flush()
        check(f"stat, {kernel}: ping", recorder.stdout.readline(), "ack\n")
        put(root, "/proc/stat", text[1])
        recorder.send_signal(signal.SIGINT)
        check(f"stat, {kernel}: exit status", recorder.wait(), 0)
        got = values(root + ".pmr", "--total", "-S", "--show=util,util.system,util.iowait,util.steal,stat.ctxt")
        busy, idle = (sum(TICKS[i] for i in fields if i < n) for fields in ((0, 1, 2, 5, 6, 7), (3, 4)))
        system = sum(TICKS[i] for i in (2, 5, 6) if i < n)
        # Without a field that a sum has, the sum is missing: kernels that old are not supported.
        share = lambda part: round(100 * part / (busy + idle), 9) if n > 7 else None
        want = {"util": share(busy), "util.system": share(system), "util.iowait": share(50), "util.steal": share(80), "stat.ctxt": 3}
        check(f"stat, {kernel}", {k: None if got.get((k, "")) is None else round(got[k, ""], 9) for k in want}, want)


# ---- sensors: the highest that is one ----

SENSORS = {  # temp1 ... in 1/1000 Cel, and those that say they failed; the highest
    "plain": ([45000, 51500], [], 51.5),
    "all-ones": ([45000, 127500, 127000, 255000], [], 45.0),
    "kelvin": ([65261850, -273150, 38850], [], 38.85),
    "negative": ([-128000, 0, 21000], [], 21.0),
    "cold": ([-12000], [], -12.0),
    "hot": ([126000, 99000], [], 126.0),
    "fault": ([90000, 40000], [1], 40.0),
    "none": ([0, 127500], [], None),
}


def try_sensors():
    for name, (temps, failed, want) in SENSORS.items():
        root = new_root("sensors-" + name)
        put(root, "/sys/class/hwmon/hwmon0/name", "nct6798\n")
        for k, t in enumerate(temps, 1):
            put(root, f"/sys/class/hwmon/hwmon0/temp{k}_input", f"{t}\n")
            put(root, f"/sys/class/hwmon/hwmon0/temp{k}_fault", f"{int(k in failed)}\n")
        run("pmrec", "-q", "--overwrite", "--root", root, "--sources=hwmon", "-n", "1", "-i", "0.01", "-o", root + ".pmr")
        got = values(root + ".pmr", "-S", "--show=temp.sensor")
        check(f"sensors, {name}: highest", got.get(("temp.sensor", "")), want)
        dump = run("pmrep", "dump", "--counter=hwmon.*", "--no-definitions", root + ".pmr").stdout
        check(f"sensors, {name}: values kept", {t for t in temps if f" value={t}" not in dump}, set())


# ---- what helps against a refusal follows from its errno ----

def refusals(root, *words, limit=None):
    """{source: (what with the reason, what helps)} of a recording."""
    command = [f"{BIN}/pmrec", "-q", "--overwrite", "--root", root, "-n", "1", "-i", "0.01", "-o", root + ".pmr", *words]
    if limit:
        command = ["bash", "-c", f'ulimit -n {limit}; exec "$@"', "_", *command]
    if subprocess.run(command, capture_output=True).returncode:
        return {}
    text = run("pmrep", "info", root + ".pmr").stdout
    lines = text[text.index("Not recorded\n"):].split("\n\n")[0].splitlines()[1:] if "Not recorded\n" in text else []
    return {line.split()[0]: tuple((line.split(None, 1)[1].split("; try: ") + [""])[:2]) for line in lines}


def try_refusals():
    root = new_root("refusals", "0-3")
    for path, text in {"/proc/stat": "cpu0 1 2 3 4 5 6 7 8 9 10", "/proc/softirqs": "CPU0\nHI: 1", "/proc/vmstat": "pgfault 1",
                       "/proc/meminfo": "AnonPages: 1 kB", "/sys/class/hwmon/hwmon0/temp1_input": 1000,
                       "/sys/class/thermal/thermal_zone0/temp": 1000, "/sys/class/powercap/intel-rapl:0/name": "package-0",
                       "/sys/class/powercap/intel-rapl:0/energy_uj": 1, "/proc/schedstat": "version 15\ncpu0 1 0 3 4 5 6 7 8 9"}.items():
        put(root, path, f"{text}\n")
    absent = refusals(root)
    check("absent: /proc/pressure", absent["pressure"][1], "a kernel with CONFIG_PSI, and psi=1 on its command line")
    check("absent: cpufreq", absent["cpufreq"][1].startswith("load a cpufreq driver"), True)
    here = {"stat", "softirqs", "vmstat", "meminfo", "hwmon", "thermal", "powercap", "schedstat"}
    check("absent: what is there", here & set(absent), set())
    scarce = set()
    for limit in range(10, 30):
        for source, (what, cure) in refusals(root, limit=limit).items():
            if source in here:
                scarce.add(source)
                check(f"ulimit -n {limit}: {source}: {what}", ("Too many open files" in what, "ulimit -Hn" in cure), (True, True))
            elif "Too many" not in what:
                check(f"ulimit -n {limit}: {source}", (what, cure), absent[source])
    check("ulimit -n: something was refused", bool(scarce), True)
    root = new_root("frequencies", "0-5")
    for cpu in cpus("0-5"):
        put(root, f"/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq", "<unknown>\n" if cpu in (2, 4, 5) else "2100000\n")
    check("some frequencies", refusals(root, "--sources=cpufreq").get("cpufreq"),
          ("/sys/devices/system/cpu/cpu{2,4,5}/cpufreq/scaling_cur_freq: the kernel's text was not as expected", ""))


for attempt in (try_counts, try_states, try_cpuinfo, try_unsigned, try_stat, try_sensors, try_refusals):
    attempt()
for fault in faults:
    print(fault[:1500])
sys.exit(bool(faults))
