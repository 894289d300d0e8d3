#!/usr/bin/python3
"""Packs the initial file system of a guest: image.py ARCHITECTURE FOLDER BATCH IMAGE [PATH=FILE...]

FOLDER is where `packages` has unpacked things. The image holds BusyBox, init and the scripts of bin/, the batch, the
modules that are named in MODULES with those they need (the file /modules/order is the order to load them in), and
further FILEs at PATH. A program is taken with the libraries it is linked to.
"""
import glob
import gzip
import lzma
import os
import re
import stat
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
MODULES = {"arm64": ["virtio_pci", "virtio_blk"], "amd64": ["virtio_pci", "virtio_blk", "msr"]}


def packed(entries):
    """A cpio archive ("newc") of [(path, mode, bytes)]."""
    out = bytearray()

    def put(number, path, mode, data):
        name = path.encode() + b"\0"
        fields = (number, mode, 0, 0, 2 if stat.S_ISDIR(mode) else 1, 0, len(data), 0, 0, 0, 0, len(name), 0)
        out.extend(b"070701" + b"".join(b"%08x" % f for f in fields) + name)
        out.extend(b"\0" * (-len(out) % 4))
        out.extend(data)
        out.extend(b"\0" * (-len(out) % 4))

    for number, (path, mode, data) in enumerate(entries, 1):
        put(number, path, mode, data)
    put(0, "TRAILER!!!", 0, b"")
    return bytes(out)


def content(path):
    """What is in a file; newer modules are packed."""
    with (lzma.open if path.endswith(".ko.xz") else open)(path, "rb") as f:
        return f.read()


def module_files(root, wanted):
    """Files of the modules and of all they depend on, in the order in which they can be loaded."""
    there = {os.path.basename(p).split(".")[0].replace("-", "_"): p
             for p in glob.glob(f"{root}/**/lib/modules/*/kernel/**/*.ko*", recursive=True)}
    ordered = []

    def add(name):
        path = there.get(name.replace("-", "_"))
        # What has no file is part of the kernel.
        if not path or path in ordered:
            return
        needs = re.search(rb"\0depends=([^\0]*)\0", content(path))
        for need in (needs[1].decode() if needs else "").split(","):
            if need:
                add(need)
        ordered.append(path)

    for name in wanted:
        add(name)
    return ordered


def libraries(path):
    """{path in the image: file} of the shared libraries of a native program; none if it is static or foreign."""
    listed = subprocess.run(["ldd", path], capture_output=True, text=True, check=False).stdout
    return {found: found for found in re.findall(r"(/\S+) \(0x", listed)}


def main():
    architecture, folder, batch, image, *more = sys.argv[1:]
    root = f"{folder}/root-{architecture}"
    files = {"/init": f"{HERE}/init", "/batch": batch, "/bin/busybox": f"{root}/bin/busybox"}
    for path in glob.glob(f"{HERE}/bin/*"):
        files["/bin/" + os.path.basename(path)] = path
    for one in more:
        path, file = one.split("=", 1)
        files[path] = file
        if architecture == "amd64":
            files.update(libraries(file))
    order = module_files(root, MODULES[architecture])
    for file in order:
        files["/modules/" + os.path.basename(file).removesuffix(".xz")] = file
    entries, folders = [], {""}

    def add_folder(path):
        if path not in folders:
            add_folder(os.path.dirname(path) if path.count("/") else "")
            folders.add(path)
            entries.append((path, stat.S_IFDIR | 0o755, b""))

    for path in ("dev", "proc", "sys", "tmp", "out", "etc", "modules"):
        add_folder(path)
    for path, file in sorted(files.items()):
        add_folder(os.path.dirname(path[1:]))
        mode = 0o755 if os.access(file, os.X_OK) or path.startswith("/bin/") else 0o644
        entries.append((path[1:], stat.S_IFREG | mode, content(file)))
    texts = {"modules/order": "".join(os.path.basename(f).removesuffix(".xz") + "\n" for f in order),
             "etc/passwd": "root:x:0:0::/tmp:/bin/sh\nuser:x:1000:1000::/tmp:/bin/sh\n",
             "etc/group": "root:x:0:\nuser:x:1000:\n"}
    for path, text in texts.items():
        entries.append((path, stat.S_IFREG | 0o644, text.encode()))
    with gzip.open(image, "wb", compresslevel=1) as f:
        f.write(packed(entries))


if __name__ == "__main__":
    main()
