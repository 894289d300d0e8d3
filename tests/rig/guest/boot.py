#!/usr/bin/python3
"""Boots a guest for its batch and takes what it has recorded: boot.py arm64|x86_64 FOLDER.

FOLDER is what `prepare` has made. Results come to FOLDER/out.arm64 or FOLDER/out.x86_64, see init. Fails if the guest
does not get through its batch; what the lines of the batch ended with is for the tests to judge.
"""
import glob
import os
import select
import shutil
import subprocess
import sys
import threading
import time

SKIPPED = 77
LIMIT_S = 330
# A machine that lives says something more often. One that stands still, or says so of a CPU, gets a second chance.
SILENCE_S = 100
TWO_NODES = ["-m", "1024", "-object", "memory-backend-ram,id=m0,size=512M",
             "-object", "memory-backend-ram,id=m1,size=512M",
             "-numa", "node,nodeid=0,cpus=0-3,memdev=m0", "-numa", "node,nodeid=1,cpus=4-7,memdev=m1"]
COMMON = ["-nographic", "-no-reboot", "-nodefaults", "-serial", "stdio", "-net", "none",
          "-device", "virtio-blk-pci,drive=disk"]
MACHINES = {
    "arm64": {
        "kernel": "root-arm64/boot/vmlinuz-*-arm64",
        "command": ["qemu-system-aarch64", "-machine", "virt,gic-version=3", "-cpu", "neoverse-n1",
                    "-accel", "tcg,thread=multi"],
        "large": ["-smp", "8,sockets=2,clusters=1,cores=4,threads=1", *TWO_NODES],
        "append": "console=ttyAMA0 panic=-1 quiet",
    },
    "x86_64": {
        "kernel": "root-amd64/boot/vmlinuz-*-amd64",
        # One thread for all CPUs: with one for each, a CPU now and then never heard of a timer or of another CPU again, and
        # two boots of five stood still for good. On two processors it takes no longer.
        "command": ["qemu-system-x86_64", "-machine", "q35", "-cpu", "Skylake-Server-v3",
                    "-accel", "tcg,thread=single"],
        "large": ["-smp", "8,sockets=2,cores=2,threads=2", *TWO_NODES],
        # The emulated counter of time stamps is no use to the kernel, and finding that out takes it seconds.
        "append": "console=ttyS0 panic=-1 quiet tsc=unstable mitigations=off",
    },
}


def run(command, start):
    """Runs a guest to its end, and prints what it says. Returns whether it did all, and whether it stood still."""
    guest = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    watchdog = threading.Timer(LIMIT_S, guest.kill)
    watchdog.start()
    done = still = False
    rest = b""
    while True:
        if not select.select([guest.stdout], [], [], SILENCE_S)[0]:
            still = True
            guest.kill()
        read = os.read(guest.stdout.fileno(), 65536)
        if not read:
            break
        *lines, rest = (rest + read).split(b"\n")
        for line in (line.decode(errors="replace") for line in lines):
            # QEMU tells of every feature of the CPU model that it does not emulate.
            if "TCG doesn't support requested feature" not in line:
                print(f"{time.monotonic() - start:7.1f} {line}", flush=True)
            # Its results are on the disk then; after it has slept, QEMU does not always end with it.
            if line.startswith("guest: done"):
                done = True
                guest.kill()
            if "soft lockup" in line and not still:
                still = True
                guest.kill()
    guest.wait()
    watchdog.cancel()
    return done, still


def boot(machine, size, kernel, image, append, out):
    """Boots a kernel of MACHINES[machine] and unpacks in `out` what its batch has left; prints how long that took."""
    disk = f"{out}.disk"
    shutil.rmtree(out, ignore_errors=True)
    with open(disk, "wb") as f:
        f.truncate(64 << 20)
    command = MACHINES[machine]["command"] + size + COMMON + [
        "-drive", f"file={disk},if=none,format=raw,id=disk", "-kernel", kernel, "-initrd", image,
        "-append", f"{MACHINES[machine]['append']} {append}"]
    start = time.monotonic()
    done, still = run(command, start)
    if still and not done:
        print("the guest stood still: once more")
        done, still = run(command, start)
    if not done:
        sys.exit(f"the guest did not finish in {LIMIT_S} s, stood still, or crashed; its last words are above")
    os.mkdir(out)
    subprocess.run(["tar", "-C", out, "-xf", disk], check=True)
    os.remove(disk)
    print(f"{time.monotonic() - start:7.1f} results in {out}", flush=True)


def main():
    name, folder = sys.argv[1:]
    if os.path.exists(f"{folder}/skipped"):
        print(open(f"{folder}/skipped").read(), end="")
        sys.exit(SKIPPED)
    machine = MACHINES[name]
    boot(name, machine["large"], sorted(glob.glob(f"{folder}/{machine['kernel']}"))[-1], f"{folder}/{name}.image", "",
         f"{folder}/out.{name}")


if __name__ == "__main__":
    main()
