#!/usr/bin/python3
"""Packed files that unpack to 2 GiB, or say so: packed_bombs.py RECORDING. Made here as the formats describe them: what packs
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


def zst(name, head, descriptor, times=WHOLE >> 17):
    """`head` raw, then 128 KiB of zeros as one byte, again and again."""
    raw = b"".join(struct.pack("<I", len(head[i:i + 65536]) << 3)[:3] + head[i:i + 65536] for i in range(0, len(head), 65536))
    zeros = struct.pack("<I", 131072 << 3 | 2)[:3] + b"\0"
    with open(name, "wb") as f:
        f.write(b"\x28\xb5\x2f\xfd" + descriptor + raw + zeros * times + b"\1\0\0")


def main(path):
    with open(path, "rb") as f:
        recording = f.read()
    magic = recording[:24]
    window = b"\0\x38"  # 128 KiB
    gz("none.pmr.gz", b"", bytes(MIB))
    gz("zeros.pmr.gz", recording, bytes(MIB))
    gz("magic.pmr.gz", recording, magic * (MIB // len(magic)))
    zst("none.pmr.zst", b"", window)
    zst("zeros.pmr.zst", recording, window)
    # The window of 3.75 TiB that the head names, and content of 4 EiB or of the 2 GiB that follow, in one window.
    zst("window.pmr.zst", recording, b"\0\xff", 1)
    zst("claims.pmr.zst", recording, b"\xe0" + struct.pack("<Q", 1 << 62), 1)
    zst("claims_truly.pmr.zst", recording, b"\xe0" + struct.pack("<Q", len(recording) + WHOLE))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
