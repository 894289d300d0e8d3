#!/usr/bin/python3
"""Packed files that unpack to 2 GiB: packed_bombs.py RECORDING. Made here as the formats describe them: what packs
would take minutes."""

import struct
import sys
import zlib

WHOLE = 2 << 30
MIB = 1 << 20


def gz(name, head, block):
    """`head`, then `block` again and again; what was packed stands alone, so that it can be repeated."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    first = packer.compress(head) + packer.flush(zlib.Z_FULL_FLUSH)
    one = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    times = WHOLE // len(block)
    with open(name, "wb") as f:
        f.write(b"\x1f\x8b\x08" + bytes(6) + b"\x03" + first + one * times + packer.flush())
        f.write(struct.pack("<II", 0, (len(head) + times * len(block)) % 2**32))


def main(path):
    with open(path, "rb") as f:
        recording = f.read()
    magic = recording[:24]
    gz("none.pmr.gz", b"", bytes(MIB))
    gz("zeros.pmr.gz", recording, bytes(MIB))
    gz("magic.pmr.gz", recording, magic * (MIB // len(magic)))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
