#!/usr/bin/python3
"""Machines whose numbers do not tell their cores, dies or packages apart, one row each.

A row says what there is (place: identities that are unique in the machine) and what the kernel shows of it (ids, whether there
are lists). The /sys tree follows from that, and so does what must come out: each CPU counts its number + 1, each core and
package 1000 + the number of the CPU on which it is read.
"""
import collections
import csv
import functools
import io
import json
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile

PMREC, PMREP = (os.path.join(os.environ["PM_BIN"], name) for name in ("pmrec", "pmrep"))
CPU = "sys/devices/system/cpu"
LEVELS = ("package", "die", "cluster", "core")
NEW = {"package": "package_cpus_list", "die": "die_cpus_list", "cluster": "cluster_cpus_list", "core": "core_cpus_list"}
OLD = {"package": "core_siblings_list", "core": "thread_siblings_list"}  # before 5.3
ID = {"package": "physical_package_id", "die": "die_id", "cluster": "cluster_id", "core": "core_id"}

Row = collections.namedtuple("Row", "cpus place ids lists offline present info", defaults=(NEW, (), None, {}))


def at(c, *sizes):
    """The position of CPU c in nested parts of these sizes, outermost first: at(13, 8, 4, 1) is (1, 1, 1)."""
    out = []
    for size in sizes:
        out.append(c // size)
        c %= size
    return out


def opteron_6172(c):
    """2 packages of 2 nodes of 6 cores; cores are numbered in each node."""
    package, node, core = at(c, 12, 6, 1)
    return dict(package=package, node=2 * package + node, core=c, l3=2 * package + node), dict(package=package, core=core)


def opteron_6380(c):
    """Two integer cores are a unit with a number each; units are what the list of siblings has."""
    node, core = at(c, 8, 1)
    return dict(package=0, node=node, core=c // 2, l3=node), dict(package=0, core=core)


def opteron_6380_later(c):
    node, unit, _ = at(c, 8, 2, 1)
    return dict(package=0, node=node, core=c // 2, l3=node), dict(package=0, core=unit)


def threadripper_2970(c, dies=False):
    """4 dies of two complexes of three cores; threads come second; before 5.11 the dies have no numbers."""
    die, ccx, core = at(c % 24, 6, 3, 1)
    ids = dict(package=0, core=4 * ccx + core, l3=2 * die + ccx)
    if dies:
        ids["die"] = die
    return dict(package=0, die=die, node=die, core=c % 24, l3=2 * die + ccx), ids


def epyc_7601(c):
    """Two packages of four nodes, no number of dies."""
    package, node, core = at(c % 64, 32, 8, 1)
    return dict(package=package, node=4 * package + node, core=c % 64), dict(package=package, core=core)


def sapphire_rapids_snc4(c):
    package, node, core = at(c % 32, 16, 4, 1)
    return dict(package=package, die=package, node=4 * package + node, core=c % 32, cluster=c % 32), \
        dict(package=package, die=0, core=4 * node + core, cluster=64 * package + 2 * (4 * node + core))


def ultra_185h(c):
    """P cores with two threads, E cores in modules of four, and two E cores outside the L3."""
    core = c // 2 if c < 12 else c - 6
    cluster = core if c < 12 else 6 + (c - 12) // 4
    return dict(package=0, die=0, core=core, cluster=cluster, node=0, l3=0 if c < 20 else None), \
        dict(package=0, die=0, core=4 * core, cluster=8 * cluster, l3=0)


def four_sockets(c):
    """Interleaved, with holes in the numbers of cores."""
    package, core = c % 4, c % 32 // 4
    return dict(package=package, die=package, node=package, core=(package, core)), \
        dict(package=package, die=0, core=core + 4 * (core > 3))


def thunderx2(c):
    """Numbers are offsets in a table of the firmware."""
    package, core, _ = at(c, 32, 4, 1)
    return dict(package=package, node=package, core=(package, core)), dict(package=36 + 3144 * package, core=core)


def power9(c):
    package = c // 16
    return dict(package=package, node=package, core=c // 4), dict(package=8 * package, core=2048 * package + c % 16 // 4 * 4, node=8 * package)


def power10(c):
    """Eight threads are a large core of two small ones, each with caches of its own."""
    return dict(package=0, node=0, core=c // 8, l3=(c // 8, c % 2)), dict(package=0, core=c // 8 * 8)


def power_guest(c):
    """Under a hypervisor: chips are unknown, the list of package siblings has the CPUs of the node."""
    node = c // 8
    return dict(package=node, node=node, core=c // 4), dict(package=-1, core=c // 4 * 4)


def s390(c):
    """2 drawers of 2 books of 2 sockets of 2 cores of 2 threads; books number their sockets alike."""
    drawer, book, socket, core, _ = at(c, 16, 8, 4, 2, 1)
    return dict(package=c // 4, core=c // 2, node=0), dict(package=socket + 1, core=c // 2, die=-1)


def plain(c):
    return dict(package=0, die=0, core=c // 2, node=0), dict(package=0, die=0, core=c // 2)


def arm64_clusters(c):
    """rk3399: cores are numbered in each cluster."""
    cluster = int(c >= 4)
    return dict(package=0, cluster=cluster, core=c, node=0), dict(package=0, cluster=cluster, core=c % 4)


def arm64_guest(c):
    return dict(package=0, core=c), dict(package=-1, core=c)


def no_topology(c):
    """Numbers of an architecture without any: each CPU alone in each list."""
    return dict(package=None, core=c), dict(package=-1, core=0, die=-1)


def kunpeng(c):
    package, node, cluster = at(c, 16, 8, 4)[:3]
    return dict(package=package, node=2 * package + node, cluster=c // 4, core=c), \
        dict(package=36 + 6000 * package, cluster=56 + 60 * (c // 4), core=c % 16)


def knights_landing(c):
    """Four threads that are far from one another; two cores share an L2; nodes without CPUs have the fast memory."""
    core = c % 16
    return dict(package=0, die=0, core=core, node=core // 4, cluster=core // 2), \
        dict(package=0, die=0, core=core + 2 * (core > 7), cluster=core // 2)


def cascade_lake_ap(c):
    package, die, core = at(c % 16, 8, 4, 1)
    return dict(package=package, die=2 * package + die, node=2 * package + die, core=c % 16), \
        dict(package=package, die=die, core=core)


def large(c):
    package, core = at(c % 1024, 64, 1)
    return dict(package=package, die=package, node=package, core=c % 1024), dict(package=package, die=0, core=core)


def row(cpus, what, **more):
    return Row(cpus, lambda c: what(c)[0], lambda c: what(c)[1], **more)


MACHINES = {
    "opteron_6172": row(24, opteron_6172, lists=OLD),
    "opteron_6380": row(16, opteron_6380, lists=OLD, info={"threads per core": "2"}),
    "opteron_6380_later": row(16, opteron_6380_later, lists=OLD),
    "threadripper_2970wx": row(48, threadripper_2970, lists=OLD),
    "threadripper_2970wx_dies": row(48, lambda c: threadripper_2970(c, True)),
    "epyc_7601": row(128, epyc_7601, lists=OLD),
    "sapphire_rapids_snc4": row(64, sapphire_rapids_snc4),
    "ultra_185h": row(22, ultra_185h, info={"threads per core": "1 to 2"}),
    "four_sockets": row(64, four_sockets),
    "thunderx2": row(64, thunderx2, info={"threads per core": "4"}),
    "power9": row(32, power9),
    "power9_smt2": row(32, power9, offline=[c for c in range(32) if c % 4 > 1], info={"threads per core": "2"}),
    "power10_smt8": row(32, power10, info={"threads per core": "8"}),
    "power_guest": row(16, power_guest),
    "s390x": row(32, s390),
    "offline_holes": row(8, plain, offline=(3, 5), info={"threads per core": "1 to 2", "offline CPUs": "2"}),
    "container": row(8, plain, offline=(0, 1, 3, 4, 6, 7), info={"cores": "2"}),
    "arm64_clusters": row(6, arm64_clusters, info={"threads per core": "1"}),
    "arm64_guest": row(4, arm64_guest),
    "no_topology": row(4, no_topology),
    "kunpeng_920": row(32, kunpeng),
    "knights_landing": row(64, knights_landing),
    "cascade_lake_ap": row(32, cascade_lake_ap),
    "large": row(2048, large),
}
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
failures = []


def check(what, expected, got):
    if expected != got:
        failures.append("%s: expected %s, got %s" % (what, str(expected)[:600], str(got)[:600]))


def ranges(cpus):
    return ",".join("%d-%d" % (a, b) if a < b else "%d" % a for a, b in spans(sorted(cpus)))


def spans(cpus):
    first = last = None
    for c in cpus:
        if last is not None and c == last + 1:
            last = c
            continue
        if first is not None:
            yield first, last
        first = last = c
    if first is not None:
        yield first, last


@functools.lru_cache(maxsize=None)
def make(folder):
    os.makedirs(folder, exist_ok=True)


def write(folder, path, text):
    path = os.path.join(folder, path)
    make(os.path.dirname(path))
    with open(path, "w") as f:
        f.write("%s\n" % text)


def members(m, online, level):
    """CPUs by identity of their place."""
    out = collections.defaultdict(list)
    for c in online:
        identity = m.place(c).get(level)
        if identity is not None:
            out[identity].append(c)
    return dict(out)


def build(folder, m, online):
    write(folder, CPU + "/online", ranges(online))
    write(folder, CPU + "/present", "0-%d" % (m.cpus - 1))
    of = {level: members(m, online, level) for level in LEVELS + ("node", "l3")}
    for c in online:
        base, place, ids = "%s/cpu%d/" % (CPU, c), m.place(c), m.ids(c)
        for level in LEVELS:
            if level in ids:
                write(folder, base + "topology/" + ID[level], ids[level])
                if level in m.lists:
                    same = of[level].get(place.get(level), [c])
                    write(folder, base + "topology/" + m.lists[level], ranges(same))
        if place.get("l3") is not None:
            write(folder, base + "cache/index3/level", 3)
            write(folder, base + "cache/index3/type", "Unified")
            write(folder, base + "cache/index3/shared_cpu_list", ranges(of["l3"][place["l3"]]))
            if "l3" in ids:
                write(folder, base + "cache/index3/id", ids["l3"])
        write(folder, base + "cpuidle/state0/name", "POLL")
    if any("l3" in m.place(c) for c in online):
        for c in online:  # the L3 is the last: so that its index is found
            for i, (level, kind) in enumerate(((1, "Data"), (1, "Instruction"), (2, "Unified"))):
                write(folder, "%s/cpu%d/cache/index%d/level" % (CPU, c, i), level)
                write(folder, "%s/cpu%d/cache/index%d/type" % (CPU, c, i), kind)
                write(folder, "%s/cpu%d/cache/index%d/shared_cpu_list" % (CPU, c, i), ranges(of["core"][m.place(c)["core"]]))
    nodes = {m.ids(cpus[0]).get("node", node): cpus for node, cpus in of["node"].items()}
    if nodes:
        nodes[max(nodes) + 1] = []  # memory alone
        write(folder, "sys/devices/system/node/online", ranges(nodes))
    for node, cpus in nodes.items():
        write(folder, "sys/devices/system/node/node%d/cpulist" % node, ranges(cpus))


def count(folder, online, times):
    """Registers 0x3fd, of a core, and 0x60d, of a package, as the msr driver has them in a file: by offset."""
    for c in online:
        write(folder, "%s/cpu%d/cpuidle/state0/usage" % (CPU, c), times * (c + 1))
        make(os.path.join(folder, "dev/cpu/%d" % c))
        with open(os.path.join(folder, "dev/cpu/%d/msr" % c), "wb") as f:
            for register in 0x3fd, 0x60d:
                f.seek(register)
                f.write(struct.pack("<Q", times * (1000 + c)))


def record(folder, online, out, *options):
    """Two snapshots, with one count of everything between them. Returns what it used."""
    tell, told = (os.path.join(folder, x) for x in ("tell", "told"))
    for pipe in tell, told:
        os.mkfifo(pipe)
    count(folder, online, 0)
    say, hear = (os.open(pipe, os.O_RDWR) for pipe in (tell, told))
    p = subprocess.Popen([PMREC, "--overwrite", "-q", "--root", folder, "--sources=msr,cpuidle", "-i", "1000", "-o", out,
                          "--control=fifo:%s,%s" % (tell, told)] + list(options))
    os.write(say, b"ping\n")
    os.read(hear, 100)
    count(folder, online, 1)
    p.send_signal(signal.SIGINT)
    _, status, used = os.wait4(p.pid, 0)
    os.close(say)
    os.close(hear)
    p.returncode = status
    for pipe in tell, told:
        os.unlink(pipe)
    return used


def pmrep(*words):
    p = subprocess.run([PMREP] + list(words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    check("status of %s" % " ".join(words), 0, p.returncode)
    return p.stdout


def rows(path, level, metric):
    out = pmrep("--per-" + level, "--format=csv", "--total", "--show=" + metric, path)
    return [r for r in csv.DictReader(io.StringIO(out)) if r["scope"] == level]


def try_machine(name, m, folder):
    online = [c for c in range(m.cpus) if c not in m.offline]
    build(folder, m, online)
    path = os.path.join(folder, "x.pmr")
    used = record(folder, online, path)
    of = {level: members(m, online, level) for level in LEVELS + ("node", "l3")}
    known = {level: [c for c in online if m.ids(c).get(level, -1) != -1] for level in ("die", "cluster")}
    topology = json.loads(pmrep("info", "--format=json", path))["topology"]
    for key, expected in (("cpus", len(online)), ("offline_cpus", m.cpus - len(online)), ("cores", len(of["core"])),
                          ("packages", len(of["package"]) or None), ("nodes", len(of["node"]) or None),
                          ("dies", len({m.place(c)["die"] for c in known["die"]}) or None),
                          ("clusters", len({m.place(c)["cluster"] for c in known["cluster"]}) or None),
                          ("l3_caches", len(of["l3"]) or None),
                          ("threads_per_core", max(map(len, of["core"].values())))):
        check("%s: info: %s" % (name, key), expected, topology[key])
    page = pmrep("info", path)
    for key, expected in m.info.items():
        check("%s: info's page: %s" % (name, key), [expected], re.findall(r"(?m)^%s +(.*?) *$" % key, page))
    # Rows of each level: as many as places, all told apart, each with the sum of its CPUs. What has no number is no place.
    for level in LEVELS + ("node", "cache", "cpu"):
        found = rows(path, level, "cpuidle.usage.poll")
        places = of.get({"cache": "l3"}.get(level, level), {c: [c] for c in online}).values()
        if level in known and not known[level]:
            places = []
        check("%s: sums by %s" % (name, level), sorted(sum(c + 1 for c in cpus) for cpus in places), sorted(int(r["value"]) for r in found))
        keys = {tuple(r[k] for k in ("package", "die", "cluster", "cache", "node", "core", "cpu")) for r in found}
        check("%s: places by %s are told apart" % (name, level), len(found), len(keys))
        check("%s: places by %s have a number" % (name, level), [], [r for r in found if not r[level]])
    # A core's and a package's count is that of its first CPU.
    for level, register in ("core", "msr.core_c6_res"), ("package", "msr.pkg_c2_res"):
        check("%s: which CPU a %s is read on" % (name, level), sorted(1000 + min(cpus) for cpus in of[level].values()),
              sorted(int(r["value"]) for r in rows(path, level, register)) if of[level] else [])
    # turbostat's text: a row a CPU, a core's value in its first row alone.
    text = pmrep("--format=turbostat", "--total", "-q", "--show=Core,CPU,msr.core_c6_res,cpuidle.usage.poll", path).splitlines()
    head = text[0].split("\t")
    lines = [dict(zip(head, x.split("\t"))) for x in text[1:]]
    cpus = [x for x in lines if x["CPU"] != "-"]
    check("%s: turbostat's rows" % name, online, sorted(int(x["CPU"]) for x in cpus))
    column = "C6_RES"
    if of["core"]:
        check("%s: turbostat's first threads" % name, sorted((min(c), 1000 + min(c)) for c in of["core"].values()),
              sorted((int(x["CPU"]), int(x[column])) for x in cpus if x.get(column)))
    if name == "large":
        print("large: pmrec used %.2f s of CPU and %d KiB" % (used.ru_utime + used.ru_stime, used.ru_maxrss))
        # AddressSanitizer keeps what was freed, and a shadow of all.
        limit = 512 if os.environ.get("PM_SANITIZE") else 128
        check("large: pmrec's memory is in proportion", True, used.ru_maxrss < limit << 10)


def main():
    chosen = sys.argv[1:] or MACHINES
    for name in chosen:
        with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
            try_machine(name, MACHINES[name], folder)
    print("\n".join(failures) or "%d machines" % len(chosen))
    sys.exit(1 if failures else 0)


main()
