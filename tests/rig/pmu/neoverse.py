"""What Arm's Neoverse processors have in common: six general counters and one of cycles (drivers/perf: arm_pmuv3.c, arm-cmn.c)."""
HARDWARE = [0x11, 0x08, 0x04, 0x03, 0x0c, 0x10]
CMN = {"type": "config:0-15", "eventid": "config:16-26", "occupid": "config:27-30", "bynodeid": "config:31",
       "nodeid": "config:32-47", "wp_dev_sel": "config:48-50", "wp_chn_sel": "config:51-55", "wp_grp": "config:56-57",
       "wp_val": "config1:0-63", "wp_mask": "config2:0-63"}


def cpuinfo(part, n):
    return "\n".join(f"processor\t: {i}\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x0\n"
                     f"CPU part\t: {part:#x}\nCPU revision\t: 0\n" for i in range(n))


CORE = dict(type=8, kind="core", general=6, format={"event": "config:0-15"}, caps={"slots": "0x00000008"}, fixed={"event=0x0011": 0},
            events={"cpu_cycles": ("event=0x0011",), "inst_retired": ("event=0x0008",),
                    "l1d_cache": ("event=0x0004",), "l1d_cache_refill": ("event=0x0003",),
                    "br_mis_pred": ("event=0x0010",), "stall_backend": ("event=0x0024",),
                    "stall_frontend": ("event=0x0023",), "op_retired": ("event=0x003a",)},
            rates={"event=0x0011": 3.4e9, "event=0x0008": 6e9, "event=0x0004": 2e9, "event=0x0003": 2e7})


def mesh(identifier):
    return dict(type=40, kind="uncore", general=8, format=CMN, fixed={"type=0x3": 0}, identifier=identifier,
                events={"dtc_cycles": ("type=0x3",), "hnf_mc_reqs": ("type=0x5,eventid=0xd",),
                        "hnf_cache_miss": ("type=0x5,eventid=0x1",),
                        "hnf_slc_sf_cache_access": ("type=0x5,eventid=0x2",),
                        "rnid_rxdat_flits": ("type=0xa,eventid=0x4",), "rnid_txdat_flits": ("type=0xa,eventid=0x5",)},
                rates={"type=0x3": 2e9, "type=0x5,eventid=0xd": 5e8, "type=0x5,eventid=0x1": 4e8,
                       "type=0x5,eventid=0x2": 1.6e9})


def linked(mesh, nodes):
    """The mesh with links to the other socket at two nodes, and metrics of these: watchpoints of all data flits, 32 bytes each."""
    all_ = f"{2**64 - 1:#x}"
    terms = lambda node, way: f"type=0x7770,eventid={way},wp_chn_sel=3,wp_val={all_},wp_mask={all_},bynodeid=1,nodeid={node}"
    rates = {terms(node, way): (3e8 + 1e8 * way) * (1 + i / 4) for i, node in enumerate(nodes) for way in (0, 2)}
    sums = {f"link.{name}_bw": lambda m, p, way=way: sum(m.sum("arm_cmn_", terms(node, way), p) for node in nodes) * 32 / 1e9
            for name, way in (("in", 0), ("out", 2))}
    return {**mesh, "rates": {**mesh["rates"], **rates}}, sums


def mesh_s3(number, package):
    """CMN S3, whose home nodes are of another type and tell local requests from those to other chips."""
    form = {**CMN, "eventid": "config:16-26"}
    hns = {"hns_cache_miss_all": (0x1, 3e8), "hns_slc_sf_cache_access_all": (0x2, 1.5e9), "hns_mc_reqs_local_all": (0xd, 4e8),
           "hns_mc_reqs_remote_all": (0x3b, 1e8)}
    terms = {k: f"type=0x200,eventid={code:#x},occupid=0x0" for k, (code, _) in hns.items()}
    return {f"arm_cmn_{number}": dict(type=40 + number, kind="uncore", general=8, format=form, fixed={"type=0x3": 0}, package=package,
                                      identifier="45a00", events={"dtc_cycles": ("type=0x3",), **{k: (t,) for k, t in terms.items()}},
                                      rates={"type=0x3": 2e9, **{terms[k]: rate * (1 + number / 10) for k, (_, rate) in hns.items()}})}


S3_METRICS = {"mem.bw": lambda m, p: m.sum("arm_cmn_", "hns_mc_reqs_local_all", p) * 64 / 1e9,
              "llc.hit_share": lambda m, p: 100 * (1 - m.sum("arm_cmn_", "hns_cache_miss_all", p) / m.sum("arm_cmn_", "hns_slc_sf_cache_access_all", p))}
MESH_METRICS = {"mem.bw": lambda m, p: m.sum("arm_cmn_", "hnf_mc_reqs", p) * 64 / 1e9,
                "llc.hit_share": lambda m, p: 100 * (1 - m.sum("arm_cmn_", "hnf_cache_miss", p) / m.sum("arm_cmn_", "hnf_slc_sf_cache_access", p)),
                "pcie.in_bw": lambda m, p: m.sum("arm_cmn_", "rnid_txdat_flits", p) * 32 / 1e9,
                "pcie.out_bw": lambda m, p: m.sum("arm_cmn_", "rnid_rxdat_flits", p) * 32 / 1e9}


def units(n, name, first_type, events, bits="config:0-7", general=8, **more):
    """PMUs of one kind that count events by their codes alone: {name: (code, rate of the first)}."""
    return {name.format(i): dict(type=first_type + i, kind="uncore", general=general, format={"event": bits}, **more,
                                 events={k: (f"event={code:#x}",) for k, (code, _) in events.items()},
                                 rates={f"event={code:#x}": rate * (1 + i / 10) for code, rate in events.values()}) for i in range(n)}


def dsus(n):
    return units(n, "arm_dsu_{}", 50, {"cycles": (0x11, 2e9), "bus_access": (0x19, 1e8), "l3d_cache": (0x2b, 8e8),
                                       "l3d_cache_refill": (0x2a, 1e8)}, "config:0-31", 6, fixed={"event=0x11": 0})
