"""Newer perf and turbostat than this system's: Debian's packages of its unstable suite, unpacked below a folder with the libraries
that they need; nothing is installed."""
import lzma
import os
import re
import subprocess

SUITE, MIRROR = "sid", "http://deb.debian.org/debian"
HELPER = "/usr/lib/apt/apt-helper"
# Their words are compared with those of --as=7.2 and --as=2026; later ones may have others.
KNOWN = {"usr/bin/perf": r"perf version 7\.2", "usr/sbin/turbostat": r"turbostat version 2026\.04"}
# What is needed at run time only by programs that are not run here.
WITHOUT = {"perl", "python3", "debconf", "ucf", "sensible-utils"}


def download(path, to):
    if not os.path.exists(to):
        subprocess.run([HELPER, "-o", "APT::Sandbox::User=root", "download-file", f"{MIRROR}/{path}", to], check=True, timeout=120,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def names(depends):
    return [re.split(r"[ :(|]", one.strip())[0] for one in (depends or "").split(",") if one.strip()]


def packages(text):
    """{package, or what it provides: its fields}"""
    found = {}
    for stanza in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in stanza.split("\n") if re.match(r"[\w-]+: ", line))
        if "Package" in fields:
            found[fields["Package"]] = fields
            for name in names(fields.get("Provides")):
                found.setdefault(name, fields)
    return found


def libraries(root):
    return f"{root}/usr/lib/x86_64-linux-gnu"


def loader(root):
    return [f"{libraries(root)}/ld-linux-x86-64.so.2", "--library-path", libraries(root)]


def bring(folder):
    """The root below which they are, or None and why not."""
    root = os.path.join(folder, "root")
    try:
        os.makedirs(root, exist_ok=True)
        if not os.path.exists(os.path.join(folder, "done")):
            download(f"dists/{SUITE}/main/binary-amd64/Packages.xz", os.path.join(folder, "Packages.xz"))
            known = packages(lzma.open(os.path.join(folder, "Packages.xz"), "rt").read())
            todo, seen = ["linux-perf", "linux-cpupower"], set(WITHOUT)
            while todo:
                name = todo.pop()
                if name in seen or name not in known:
                    continue
                seen.add(name)
                todo += names(known[name].get("Depends"))
                deb = os.path.join(folder, os.path.basename(known[name]["Filename"]))
                download(known[name]["Filename"], deb)
                subprocess.run(["dpkg-deb", "-x", deb, root], check=True)
            open(os.path.join(folder, "done"), "w").close()
        for program, version in KNOWN.items():
            said = subprocess.run(loader(root) + [os.path.join(root, program), "--version"], capture_output=True, text=True, check=False)
            if not re.match(version, said.stdout + said.stderr):
                return None, f"{program} of Debian {SUITE} is another one: {(said.stdout + said.stderr).strip()[:80]}"
    except (OSError, subprocess.SubprocessError, lzma.LZMAError) as why:
        return None, f"the packages of Debian {SUITE} cannot be had: {why}"
    return root, ""
