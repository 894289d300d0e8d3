#!/usr/bin/python3
"""Looks for what was redacted in every byte of what pmrep redact wrote, with the reader of tests/golden.

    redact_bytes.py check IN OUT [--plain WORD,...] [--strict FILE] [--must TEXT]...
        Every text of a machine or person field, and of a field that the specification does not have, that IN has must
        not be in OUT: not in a frame as it is stored, not in what its compressed parts unpack to, in no case of letters
        and not in UTF-16. --plain: texts that the programs themselves write anywhere, such as 'root'. --strict:
        a recording of the same without names; what it has anyway is not looked for ('stat' runs, and is in 'state').
        --must: texts that have to be among those looked for, and are in IN.
    redact_bytes.py make FILE
        A recording with a secret in every text that the format has, known key or not; prints them.
"""
import base64
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden"))
try:
    import cbor2
    import decode
    import encode
except ImportError as e:
    print("skipped: %s" % e)
    sys.exit(77)

# What the tables of SPEC.md have below 100.
KNOWN = {"header": set(range(1, 33)), "counter": {1, 2, 3, 4, *range(10, 26), 30, 31, 32}, "instance": {1, 2, 3},
         "event": set(range(1, 18)), "pmu": set(range(1, 12))}


def texts(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, bytes):
        yield value.decode("latin-1")
    elif isinstance(value, (list, tuple)):
        for v in value:
            yield from texts(v)
    elif isinstance(value, dict):
        for v in value.values():
            yield from texts(v)


def secrets_of(r):
    found = set()

    def look(what, attrs):
        for key, value in (attrs or {}).items():
            if key >= 100 or key not in KNOWN[what]:
                found.update(texts(value))

    look("header", r.header)
    host = r.header.get(100, "")
    found.update([host.split(".")[0], host.partition(".")[2]])
    for c in r.counters.values():
        look("counter", c.attrs)
    for i in r.instances.values():
        look("instance", i.attrs)
    for p in r.pmus.values():
        look("pmu", p)
    for e in r.events:
        look("event", e.attrs)
    for c in r.configs:
        if c.privacy:
            found.update(texts(c.value))
    return {s for s in found if len(s) >= 3}


def all_bytes(path):
    """(where, bytes) of everything in the file, packed and unpacked."""
    with open(path, "rb") as f:
        data = f.read()
    if data[:2] == b"\x1f\x8b":
        import gzip
        data = gzip.decompress(data)
    yield "file", data
    whole = decode.Recording(data)
    assert not whole.damage, whole.damage
    for f in whole.frames:
        yield "meta", cbor2.dumps(f.meta)
        if f.type == 8:
            at, blocks = 0, f.meta[17]
            for stored, bits, raw, _, _ in zip(*[iter(blocks)] * 5):
                part, bits = f.payload[at:at + stored - bits], f.payload[at + stored - bits:at + stored]
                at += stored
                yield "block", decode.decompress(part, raw) if raw else part
                yield "bits", bits
            assert at == len(f.payload), "blocks of a chunk"
        elif f.payload and f.meta.get(2):
            yield "body", decode.decompress(f.payload, f.meta[3], f.meta[2] == 2)
        else:
            yield "body", f.payload


def ways(secret):
    for text in {secret, secret.lower(), secret.upper()}:
        for code in ("utf-8", "utf-16-le", "utf-16-be"):
            yield text.encode(code, "surrogatepass")
    plain = secret.encode("utf-8", "surrogatepass")
    yield plain.hex().encode()
    # In base64, wherever it begins; without the characters that its neighbours have a part in.
    for k in range(3):
        code = base64.b64encode(b"\0" * k + plain)[(8 * k + 5) // 6:8 * (k + len(plain)) // 6]
        if len(code) >= 5:
            yield code


def check(args):
    source, out, plain, must, strict = args[0], args[1], set(), [], b""
    for option, value in zip(args[2::2], args[3::2]):
        if option == "--plain":
            plain.update(value.split(","))
        elif option == "--strict":
            strict = b"\0".join(data for _, data in all_bytes(value))
        else:
            must.append(value)
    secrets = secrets_of(decode.load(source))
    plain |= {text for text in secrets if text.encode() in strict and text not in must}
    before = b"\0".join(data for _, data in all_bytes(source))
    for text in must:
        assert text in secrets, "%r is not among what is looked for" % text
        assert text.encode() in before, "%r is not in %s at all" % (text, source)
    looked = secrets - plain
    after = list(all_bytes(out))
    total = sum(len(d) for _, d in after)
    bad = 0
    for secret in sorted(looked):
        for way in ways(secret):
            for where, data in after:
                # The shell of frames holds random ids and checksums: three letters are there by chance.
                if where != "file" or len(way) > 4:
                    at = data.find(way)
                    if at >= 0:
                        print("%r is in a %s of %s: %r" % (secret, where, out, data[max(0, at - 40):at + 60]))
                        bad += 1
                        break
    passed = sorted(secrets & plain)
    print("%d texts looked for in %d bytes, passed over as plain: %s" % (len(looked), total, passed))
    return 1 if bad or not looked else 0


def make(path):
    n = [0]
    made = []

    def secret(what):
        n[0] += 1
        text = "zq%s%03dxw" % (what, n[0])
        made.append(text)
        return text

    r = encode.Recording()
    header = {1: "pmrec 9", 2: 0, 5: "x86_64", 6: "6.1.0-%s", 7: "Linux", 13: 10**9, 18: "command", 19: "full",
              21: ["perf", "add"], 22: ["cut --counter=" + secret("history")], 100: "zqhost.zqdomain.example",
              101: secret("boot"), 102: secret("product"), 103: secret("bios"), 200: secret("command"),
              201: [secret("argument"), "/srv/" + secret("folder") + "/file"],
              202: "root=UUID=" + secret("uuid") + " quiet",
              203: [[secret("key"), secret("value")]], 204: secret("user"), 205: [secret("args")],
              57: secret("unknown"), 99: {1: secret("deep")}, 150: secret("machine"), 250: [secret("person")],
              333: secret("time"), 444: secret("private")}
    header[6] = "6.1.0-zqhost"  # a kernel that was named after its machine
    header[7] = "cannot open /home/" + secret("path")
    metric, event = secret("metric"), secret("event")
    header[31] = [[metric, secret("unit"), "%s / software@faults,name=%s@ - 1" % (event, secret("alias")), event + " > 1",
                   "TopdownL1;" + secret("set"), secret("help")]]
    header[33] = [metric]
    r.body(encode.HEADER, header)
    r.body(encode.TOPOLOGY, {1: encode.START, 2: [0, 1], 3: [0, 0], 6: [0, 1], 15: [1, 1]})
    task, group = secret("comm"), "/" + secret("slice") + "/" + secret("unit")
    r.body(encode.INSTANCES, {2: 1, 3: [
        {1: 0}, {1: 7, 2: 0, 3: 0}, {1: 7, 2: 1, 3: 1},
        {1: 9, 6: {1: "task-1", 200: 4711, 201: 4711, 202: task, 77: secret("attr")}},
        {1: 9, 6: {1: secret("taskname"), 202: task}},
        {1: 10, 2: 1, 3: 0, 6: {1: "cgroup-1", 203: group}},
        {1: 11, 6: {1: "enp3s0zqif", 100: "/sys/devices/pci0000:00/" + secret("device")}}]})
    made.append("enp3s0zqif")
    probe = "probe:" + secret("function")
    r.body(encode.SCHEMA, {1: 1, 2: [
        {1: "stat.user", 3: "stat", 4: "s"},
        {1: "minor-faults," + group, 2: "faults of " + task, 3: "perf", 4: "1",
         10: {12: "minor-faults", 23: "minor-faults", 201: group, 200: secret("filter")}},
        {1: probe, 3: "perf", 4: "1", 10: {12: probe, 22: secret("groupname"), 23: probe, 90: secret("later")}},
        {1: "add." + secret("added"), 2: secret("display"), 3: "add", 4: "1", 10: {2: True, 30: "cpu"}},
        {1: "interrupts.24", 3: "interrupts", 4: "1", 10: {1: "Interrupts of one line", 100: secret("devices")}},
        {1: "state.of_" + secret("state"), 3: secret("source"), 4: secret("unit"), 6: 3, 7: 4},
        {1: "bytes.of", 3: "stat", 4: "1", 6: 4, 7: 4}],
        3: 1, 4: [{1: "stat", 2: 3, 3: [1, 1, 1, 2, 1, 1, 3, 1, 1, 4, 1, 1, 5, 1, 1, 6, 1, 1, 7, 1, 1],
                   4: [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]}],
        5: 1, 6: ["a line of " + secret("text"), "zqhost".encode("utf-16-le"), "on"]})
    r.body(encode.PMUS, {1: 0, 2: [{1: "cpu", 2: 4, 8: [[event, "event=0x3c", "", "", 4]], 10: [["peer", "0"], [secret("file"), secret("content")]],
                                    66: secret("pmu")}]})
    r.body(encode.PROBES, {1: 0, 2: [{1: "perf", 2: [3, "cycles, %s, " % probe + secret("invented")], 4: 2, 3: [1, "ask " + secret("hint")]},
                                     {1: "add", 2: [5, "/sys/class/net/" + secret("eth") + "/speed"], 4: 3,
                                      5: {1: secret("x")}},
                                     {1: "stat", 2: [2, "ZQHOST.ZQDOMAIN.EXAMPLE and Zqhost"], 4: 3},
                                     *({1: "perf", 2: [code, secret("a"), secret("b"), secret("c"), secret("d"), 5], 3: [code, secret("e")], 4: 3}
                                       for code in (4711, 3, 5, 31, 40, 44, 200))]})
    r.body(encode.CONFIG, {1: [
        {1: "cpufreq.scaling_driver", 2: encode.START, 3: 0, 50: "driver on zqhost"},
        {1: "msr.0x606", 2: encode.START, 3: 0, 150: secret("machineconfig")},
        {1: "cpuid.00000003.0", 2: encode.START, 3: 0, 50: b"SERIAL" + secret("serial").encode()},
        {1: "strange." + secret("config"), 2: encode.START, 3: 0, 50: secret("strange")},
        {1: "cpufreq.x", 2: encode.START, 3: 0, 250: secret("personconfig")}]})
    ticks = [encode.START + i * 10**9 for i in range(3)]
    r.chunk([(1, [("u64", [t]) for t in ([x + 5 for x in ticks], [x + 9 for x in ticks])] +
             [("u64", [[1, 2, 3]] * 5 + [[1, 3, 1], [2, 2, 2]])], [])], ticks)
    r.body(encode.EVENT, {1: encode.START, 2: [{1: 1, 2: 10, 3: {200: "now " + secret("marker")}}]})
    r.body(encode.EVENT, {1: encode.START, 2: [
        {1: 10, 2: 11, 3: {8: 1, 9: 0, 201: 4711, 15: [2, "note by zqhost"], 80: secret("new")}}]})
    r.body(encode.EVENT, {1: encode.START, 2: [{1: 77, 2: 12, 3: {15: [4711, secret("kind")]}}]})
    r.end()
    r.save(path)
    print("\n".join(made))


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in ("check", "make"):
        sys.exit(__doc__)
    sys.exit(check(sys.argv[2:]) if sys.argv[1] == "check" else make(sys.argv[2]))
