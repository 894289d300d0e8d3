#!/usr/bin/python3
"""How many BPF programs of each name the kernel has: bpf_programs.py NAME... prints one number each.

By bpf(2) itself; ends with 77 where that is not permitted."""
import ctypes
import errno
import platform
import struct
import sys

SKIPPED = 77
SYSCALL = {"x86_64": 321, "aarch64": 280}
GET_NEXT_ID, GET_FD_BY_ID, GET_INFO = 11, 13, 15
NAME_OFFSET, NAME_LENGTH, INFO_SIZE = 64, 16, 128

libc = ctypes.CDLL(None, use_errno=True)


def bpf(command, attr):
    """(result or -errno, attr as it came back)"""
    room = ctypes.create_string_buffer(attr.ljust(128, b"\0"), 128)
    result = libc.syscall(SYSCALL[platform.machine()], command, room, 128)
    return (-ctypes.get_errno() if result < 0 else result), room.raw


def names():
    number = 0
    while True:
        result, attr = bpf(GET_NEXT_ID, struct.pack("I", number))
        if result == -errno.ENOENT:
            return
        if result < 0:
            print(f"skipped: bpf(2) says {errno.errorcode[-result]}")
            sys.exit(SKIPPED)
        number = struct.unpack_from("I", attr, 4)[0]
        fd, _ = bpf(GET_FD_BY_ID, struct.pack("I", number))
        # It may have gone in between.
        if fd < 0:
            continue
        info = ctypes.create_string_buffer(INFO_SIZE)
        result, _ = bpf(GET_INFO, struct.pack("IIQ", fd, INFO_SIZE, ctypes.addressof(info)))
        libc.close(fd)
        if result == 0:
            yield info.raw[NAME_OFFSET:NAME_OFFSET + NAME_LENGTH].split(b"\0")[0].decode()


def main():
    there = list(names())
    print(*(there.count(name) for name in sys.argv[1:]))


main()
