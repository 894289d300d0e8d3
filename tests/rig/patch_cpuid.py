#!/usr/bin/env python3
"""patch_cpuid.py PROGRAM COPY: a copy whose cpuid instructions are ud2, and rdtsc hlt and nop, for fakemsr/cpushim.c to answer.

All are two bytes long. Where the instructions are is what the disassembler says, so data that looks alike stays.
"""
import re
import shutil
import struct
import subprocess
import sys

BYTES = {"cpuid": (b"\x0f\xa2", b"\x0f\x0b"), "rdtsc": (b"\x0f\x31", b"\xf4\x90")}


def load_segments(data):
    """(virtual address, file offset, size) of what a 64-bit little-endian ELF file loads."""
    if data[:6] != b"\x7fELF\x02\x01":
        raise ValueError("not a 64-bit little-endian program")
    start, = struct.unpack_from("<Q", data, 32)
    size, n = struct.unpack_from("<HH", data, 54)
    for i in range(n):
        kind, _, offset, address, _, length = struct.unpack_from("<IIQQQQ", data, start + i * size)
        if kind == 1:
            yield address, offset, length


def patch(program, copy):
    text = subprocess.check_output(["objdump", "-d", "--no-show-raw-insn", program], text=True)
    places = [(int(m[1], 16), *BYTES[m[2]]) for m in re.finditer(r"^\s*([0-9a-f]+):\s+(cpuid|rdtsc)\s*$", text, re.M)]
    data = bytearray(open(program, "rb").read())
    segments = list(load_segments(data))
    for place, old, new in places:
        at = next(offset + place - address for address, offset, length in segments
                  if address <= place < address + length)
        if data[at:at + 2] != old:
            raise ValueError(f"no {old} at {place:#x}")
        data[at:at + 2] = new
    shutil.copy(program, copy)
    with open(copy, "r+b") as f:
        f.write(data)
    return len(places)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    print(patch(sys.argv[1], sys.argv[2]), "instructions")
