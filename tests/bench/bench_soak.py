#!/usr/bin/python3
"""The service under a real systemd, for hours: memory, descriptors and file sizes of pmrec in a Debian guest.

The guest's clock is that of its instructions (QEMU's -icount), and jumps to the next timer where the guest is idle, so
that hours of it take minutes on a quiet machine. The guest has the package of this build and pmrec.service, with a
ring that is short enough to be full soon. Each line is a tenth of the time; from the third on the ring is full. All
files are in memory: that clock does not wait for a disk, which answers in the time of this machine. Needs mmdebstrap,
cpio, QEMU, root, and Debian's archive.

usage: bench_soak.py [--interval I] [--hours H] [--keep DIR] [--bin DIR] [--tests DIR]
"""
import argparse
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
PACKAGES = "systemd-sysv,linux-image-cloud-amd64,libzstd1,libcap2,zlib1g,libjansson4,procps"
REPORT = """#!/bin/sh
exec >/dev/ttyS0 2>&1
step={step}
main() {{ systemctl show -p "$1" --value pmrec; }}
i=0
while [ $i -le 10 ]; do
	pid=$(main MainPID)
	set -- $(find {folder} -type f -printf '%s\\n' |
		awk '{{ n++; sum += $1; if ($1 > max) max = $1 }} END {{ print n + 0, sum + 0, max + 0 }}')
	echo "soak: $(cut -d. -f1 /proc/uptime) $(awk '/^VmData|^VmRSS/ {{ printf "%s ", $2 }}' /proc/$pid/status)" \\
		"$(ls /proc/$pid/fd | wc -l) $(ls /proc/$pid/task | wc -l) $* $(main NRestarts)"
	i=$((i + 1))
	[ $i -gt 10 ] || sleep $step
done
pmrec dump --last=1m -o /tmp/dump.pmr && pmrec report check /tmp/dump.pmr
systemctl stop pmrec
for file in $(find {folder} -type f | sort); do pmrec report check --quiet $file || echo "soak: bad $file"; done
find {folder} -type f -printf '%s %p\\n' | sort -k 2
journalctl --no-pager -u pmrec -o cat | tail -n 20
systemd-analyze security --no-pager pmrec.service | tail -n 1
echo "soak: done"
systemctl poweroff
"""
# systemd gives services roots of their own, which it cannot where the root is the kernel's first one.
INIT = """#!/bin/sh
mount -t tmpfs -o size=75% root /mnt
for name in /*; do
	case $name in /mnt|/init) ;; *) cp -a $name /mnt ;; esac
done
mkdir -p /mnt/mnt
exec switch_root /mnt /sbin/init
"""
UNUSED = ("boot", "usr/lib/modules", "usr/share/doc", "usr/share/locale", "usr/share/man", "var/lib/apt/lists",
          "var/cache", "usr/lib/x86_64-linux-gnu/perl-base", "usr/lib/x86_64-linux-gnu/gconv")
UNIT = """[Unit]
After=pmrec.service
[Service]
Type=simple
ExecStart=/usr/local/bin/soak
TimeoutStopSec=10
[Install]
WantedBy=multi-user.target
"""


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def run(*command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def put(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(text)
    os.chmod(path, mode)


def prepare(args, folder, store):
    """The guest's root in store/root, and an image of it with what this run needs. Returns the path of the image."""
    root = f"{store}/root"
    if not os.path.isdir(root):
        run("mmdebstrap", "--variant=minbase", f"--include={PACKAGES}", "bookworm", f"{root}.part")
        os.rename(f"{root}.part", root)
    run("cpack", "--config", f"{args.bin}/../CPackConfig.cmake", "-G", "DEB", "-B", folder)
    run("cp", "-a", root, f"{folder}/root")
    root = f"{folder}/root"
    shutil.copy(glob.glob(f"{folder}/*.deb")[0], f"{root}/pmrec.deb")
    run("chroot", root, "dpkg", "-i", "/pmrec.deb")
    if args.interval == "1":
        recordings, line = "/var/log/pmrec", f"-i 1 --rotate={args.hours * 60 // 20}m --ring={args.hours * 60 // 10}m"
        line += " -o %L/pmrec/%H.pmr"
    else:
        recordings = "/run/pmrec"
        line = f"-i {args.interval} --ring={args.hours * 60 // 10}m,200M -o %t/pmrec/%H.pmr --dump-to=%L/pmrec"
        line += " --dump-on=psi:memory:some:150ms/2s"
    put(f"{root}/etc/systemd/system/pmrec.service.d/soak.conf",
        f"[Service]\nRuntimeDirectory=pmrec\nRuntimeDirectoryPreserve=restart\nExecStart=\nExecStart=pmrec {line}\n")
    put(f"{root}/usr/local/bin/soak", REPORT.format(step=args.hours * 360, folder=recordings), 0o755)
    put(f"{root}/etc/systemd/system/soak.service", UNIT)
    put(f"{root}/init", INIT, 0o755)
    put(f"{root}/etc/hostname", "soak\n")
    wants = f"{root}/etc/systemd/system/multi-user.target.wants"
    for unit in ("/lib/systemd/system/pmrec.service", "/etc/systemd/system/soak.service"):
        os.symlink(unit, f"{wants}/{os.path.basename(unit)}")
    for name in UNUSED:
        shutil.rmtree(f"{root}/{name}", ignore_errors=True)
    run("sh", "-c", f"cd {root} && find . | cpio -o -H newc >{folder}/image")
    return f"{folder}/image"


def watch(args, image, boot):
    kernel = sorted(glob.glob(f"{boot}/vmlinuz-*"))[-1]
    guest = subprocess.Popen(
        ["qemu-system-x86_64", "-machine", "q35", "-cpu", "Skylake-Server-v3", "-smp", "2", "-m", "2048", "-accel",
         "tcg,thread=single", "-icount", f"shift={args.shift},sleep=off", "-nographic", "-no-reboot", "-nodefaults",
         "-serial", "stdio", "-net", "none", "-kernel", kernel, "-initrd", image, "-append",
         "console=ttyS0 panic=-1 quiet mitigations=off psi=1 systemd.mask=serial-getty@ttyS0.service"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace")
    rows, done, start = [], False, time.monotonic()
    print(f"interval {args.interval}, {args.hours} h in the guest")
    print("   hours  resident     data  open  threads  files      bytes    largest  restarts  here")
    for text in guest.stdout:
        text = text.strip()
        if text == "soak: done":
            done = True
        elif text.startswith("soak: ") and text.split()[1].isdigit() and len(text.split()) == 10:
            up, resident, data, opened, threads, files, size, largest, restarts = map(int, text.split()[1:])
            rows.append((up, resident, data, opened, threads, restarts, size))
            print(f"{up / 3600:8.2f} {resident:5} KiB {data:4} KiB {opened:5} {threads:8} {files:6} {size:10} "
                  f"{largest:10} {restarts:9} {(time.monotonic() - start) / 60:4.0f} min", flush=True)
        elif text and not text.startswith("qemu"):
            print(f"  {text}", flush=True)
    guest.wait()
    if not done or len(rows) < 11:
        sys.exit("the guest did not come to its end")
    full = rows[2:]
    for name, k in (("resident memory", 1), ("data", 2), ("descriptors", 3), ("threads", 4), ("file sizes", 6)):
        values = [row[k] for row in full]
        print(f"{name}: {min(values)} to {max(values)}, last / first {values[-1] / values[0]:.3f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--interval", default="1")
    parser.add_argument("--hours", type=int, default=8)
    parser.add_argument("--shift", default="auto", help="an instruction of the guest takes 2^SHIFT ns")
    parser.add_argument("--keep", help="keeps the guest's root here for the next run")
    parser.add_argument("--bin", default="build/bin")
    parser.add_argument("--tests", help="unused; every benchmark takes it")
    args = parser.parse_args()
    for tool in ("mmdebstrap", "cpio", "qemu-system-x86_64", "cpack"):
        shutil.which(tool) or skip(f"no {tool}")
    os.geteuid() == 0 or skip("making a guest's root takes root")
    args.bin = os.path.abspath(args.bin)
    with tempfile.TemporaryDirectory() as folder:
        store = args.keep or folder
        os.makedirs(store, exist_ok=True)
        watch(args, prepare(args, folder, store), f"{store}/root/boot")
    return 0


if __name__ == "__main__":
    sys.exit(main())
