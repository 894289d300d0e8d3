#!/usr/bin/python3
"""Every event of perf's own event files, beside a second reader of their schema.

usage: event_corpus.py VENDOR_TOOL FOLDER

FOLDER is where metric_corpus.py has unpacked tools/perf/pmu-events; without it the test is skipped (exit 77). For
each folder of a processor the events that VENDOR_TOOL gives to each PMU have to be those of the files: the same
names, the same terms with the same numbers, scale, unit and per-package.
"""
import glob
import json
import os
import subprocess
import sys

TERMS = {"AnyThread": "any", "PortMask": "ch_mask", "CounterMask": "cmask", "EdgeDetect": "edge", "FCMask": "fc_mask",
         "Invert": "inv", "UMask": "umask", "NodeType": "type", "RdWrMask": "rdwrmask", "EnAllCores": "enallcores",
         "EnAllSlices": "enallslices", "SliceId": "sliceid", "ThreadMask": "threadmask"}
REGISTERS = {0x1a6: "offcore_rsp", 0x1a7: "offcore_rsp", 0x3e0: "offcore_rsp", 0x3e1: "offcore_rsp",
             0x3e2: "offcore_rsp", 0x3e3: "offcore_rsp", 0x3f6: "ldlat", 0x3f7: "frontend"}
WHOLE = {"ConfigCode": "config", "EventidCode": "eventid", "LegacyConfigCode": "legacy-hardware-config",
         "LegacyCacheCode": "legacy-cache-config"}
INTEL = {"inst_retired.any": {"event": 0xc0}, "inst_retired.any_p": {"event": 0xc0},
         "cpu_clk_unhalted.ref": {"event": 0, "umask": 3}, "cpu_clk_unhalted.thread": {"event": 0x3c},
         "cpu_clk_unhalted.core": {"event": 0x3c}, "cpu_clk_unhalted.thread_any": {"event": 0x3c, "any": 1}}
SAME = {"hisi_sicl,cpa", "hisi_sccl,ddrc", "hisi_sccl,hha", "hisi_sccl,l3c", "imx8_ddr", "imx9_ddr", "cpu_core",
        "cpu_atom", "ali_drw", "arm_cmn", "software", "tool", "default_core"}
OTHER = {"CBO": "uncore_cbox", "QPI LL": "uncore_qpi", "SBO": "uncore_sbox", "iMPH-U": "uncore_arb",
         "UPI LL": "uncore_upi", "CPU-M-CF": "cpum_cf", "CPU-M-SF": "cpum_sf", "PAI-CRYPTO": "pai_crypto",
         "PAI-EXT": "pai_ext", "L3PMC": "amd_l3", "DFPMC": "amd_df", "UMCPMC": "amd_umc"}


def number(text):
    return int(str(text).split(",")[0], 0)


def pmu_of(unit):
    if not unit:
        return "default_core"
    return unit if unit in SAME else OTHER.get(unit, "uncore_" + unit.lower())


def words(text):
    out = {}
    for word in filter(None, text.split(",")):
        key, equals, value = word.partition("=")
        out[key] = number(value) if equals else 1
    return out


def code_of(o):
    legacy = [k for k in ("LegacyConfigCode", "LegacyCacheCode") if k in o]
    if legacy:
        return {WHOLE[legacy[0]]: number(o[legacy[0]])}
    whole = [k for k in WHOLE if k in o]
    if whole:
        out = {WHOLE[whole[0]]: number(o[whole[0]])}
    else:
        out = {"event": number(o.get("EventCode", "0")) | number(o.get("ExtSel", "0")) << 8}
    for key, term in TERMS.items():
        if key in o and number(o[key]):
            out[term] = number(o[key])
    # Older files have the upper part of a mask beside it; the newest have both in UMask.
    if number(o.get("UMaskExt", "0")):
        out["umask"] = out.get("umask", 0) | number(o["UMaskExt"]) << 8
    filters = words(o.get("Filter", ""))
    # A slice's config1 is the value of the second of two registers of 32 bits.
    if o.get("Unit") == "CHA" and filters.get("config1", 1 << 32) < 1 << 32:
        filters["config1"] <<= 32
    out.update(filters)
    register = number(o.get("MSRIndex") or "0")
    if register:
        out[REGISTERS[register]] = number(o.get("MSRValue") or "0")
    return out


def objects(folder):
    for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
        if os.path.basename(path) != "metricgroups.json":
            with open(path) as f:
                yield from json.load(f)


def read(folder, standard):
    """{(PMU, name): (terms, scale and unit, per-package)}"""
    out = {}
    for o in objects(folder):
        base = standard.get(o.get("ArchStdEvent", "").lower(), {})
        name = o.get("EventName", base.get("EventName"))
        if not name:
            continue
        get = lambda key: o.get(key) or base.get(key)
        terms = INTEL.get(name.lower()) or code_of(base or o)
        out[pmu_of(get("Unit")), name.lower()] = (terms, get("ScaleUnit") or "", get("PerPkg") == "1",
                                                  o.get("Compat"))
    return out


def main():
    tool, state = sys.argv[1:3]
    archs = sorted(glob.glob(os.path.join(state, "linux-source-*", "tools", "perf", "pmu-events", "arch", "*")))
    if not archs:
        print("skipped: metric_corpus.py has not fetched anything into %s" % state)
        sys.exit(77)
    events = folders = wrong = 0
    for arch in archs:
        if os.path.basename(arch) == "test":
            continue
        standard = {o["EventName"].lower(): o for o in objects(arch) if "EventName" in o}
        for folder, _, files in sorted(os.walk(arch)):
            if folder == arch or not any(f.endswith(".json") for f in files):
                continue
            want = read(folder, standard)
            if not want:
                continue
            # Events for some models of a device only are tested with devices of a known model.
            plain = {k: v for k, v in want.items() if not v[3]}
            pmus = sorted({k[0] for k in plain}) or ["default_core"]
            run = subprocess.run([tool, folder] + pmus, capture_output=True, text=True)
            got = {}
            for line in run.stdout.splitlines():
                pmu, name, text, scale, unit, per_package = line.split("\t")
                got[pmu, name] = (words(text), scale + unit, per_package == "1")
            folders += 1
            events += len(plain)
            for key in sorted(set(plain) | set(got)):
                if key in plain and key in got and plain[key][:3] == got[key]:
                    continue
                # "uncore_cbox" stands for uncore_cbox_0, too.
                if key not in plain and any(n == key[1] and key[0].startswith(p + "_") for p, n in plain):
                    continue
                wrong += 1
                if wrong < 20:
                    print("%s: %s: %s, not %s" % (folder, key, got.get(key), plain.get(key)))
    print("%d events of %d folders, %d differ" % (events, folders, wrong))
    sys.exit(wrong or events < 10000)


main()
