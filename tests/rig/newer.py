"""A newer perf than this system's, and the vendors' files of its kernel: Debian's packages of its unstable suite,
unpacked below a folder with the libraries that they need; nothing is installed."""
import glob
import os
import re
import subprocess

SUITE = "sid"
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
# Its metrics are compared with ours; a later one may have others.
PERF, VERSION = "usr/bin/perf", "7.2"
# What is needed at run time only by programs that are not run here.
WITHOUT = {"perl", "python3", "debconf", "ucf", "sensible-utils"}


def mirror():
    """Where this system has its own packages from."""
    places = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Origin: Debian"],
                            capture_output=True, text=True, check=True).stdout.split()
    if not places:
        raise OSError("no place of Debian's packages is known here")
    return places[0]


def apt(folder, arch, *words, suite=SUITE):
    """apt with lists of its own, whose signatures it checks."""
    with open(os.path.join(folder, "sources.list"), "w") as f:
        f.write(f"deb [arch={arch} signed-by={KEYS}] {mirror()} {suite} main\n")
    options = {"Dir::Etc::SourceList": f"{folder}/sources.list", "Dir::Etc::SourceParts": "/dev/null", "Dir::State": f"{folder}/state",
               "Dir::State::status": "/dev/null", "Dir::Cache": f"{folder}/cache", "APT::Sandbox::User": "root",
               "APT::Architecture": arch, "APT::Architectures": arch, "Acquire::GzipIndexes": "false", "Acquire::Languages": "none"}
    subprocess.run(["apt-get", "-q", *(f"-o{name}={value}" for name, value in options.items()), *words], cwd=folder, check=True,
                   timeout=200, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


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


def unpack(folder, arch, root):
    for name in ("state/lists/partial", "cache/archives/partial"):
        os.makedirs(os.path.join(folder, name), exist_ok=True)
    apt(folder, arch, "update")
    with open(glob.glob(os.path.join(folder, "state/lists/*_Packages"))[0]) as f:
        known = packages(f.read())
    todo, seen, wanted = ["linux-perf"], set(WITHOUT), set()
    while todo:
        name = todo.pop()
        if name in seen or name not in known:
            continue
        seen.add(name)
        wanted.add(known[name]["Package"])
        todo += names(known[name].get("Depends"))
    apt(folder, arch, "download", *sorted(wanted))
    for package in glob.glob(os.path.join(folder, "*.deb")):
        subprocess.run(["dpkg-deb", "-x", package, root], check=True)


LOADER = {"amd64": ("x86_64-linux-gnu", "ld-linux-x86-64.so.2"), "arm64": ("aarch64-linux-gnu", "ld-linux-aarch64.so.1")}


def loader(root, arch="amd64", preload=None):
    """What runs a program of them: programs of another machine run in QEMU's user mode."""
    triple, name = LOADER[arch]
    at = f"{root}/usr/lib/{triple}"
    other = ["qemu-aarch64-static", *(("-E", f"LD_PRELOAD={preload}") if preload else ("-U", "LD_PRELOAD"))]
    return [*(other if arch == "arm64" else ()), f"{at}/{name}", "--library-path", at]


def bring(folder, arch="amd64"):
    """The root below which they are, or None and why not."""
    root, done = os.path.join(folder, "root"), os.path.join(folder, "done")
    try:
        os.makedirs(root, exist_ok=True)
        if not os.path.exists(done):
            unpack(os.path.abspath(folder), arch, root)
            open(done, "w").close()
        said = subprocess.run(loader(root, arch) + [os.path.join(root, PERF), "--version"], capture_output=True, text=True, check=False)
        if not (said.stdout + said.stderr).startswith(f"perf version {VERSION}"):
            return None, f"{PERF} of Debian {SUITE} is another one: {(said.stdout + said.stderr).strip()[:80]}"
    except (OSError, subprocess.SubprocessError, IndexError) as why:
        return None, f"the packages of Debian {SUITE} cannot be had: {why}"
    return root, ""


def vendor(folder):
    """tools/perf/pmu-events/arch of the kernel whose perf bring() has found, or None and why not."""
    arch = os.path.join(folder, "arch")
    if os.path.exists(arch):
        return arch, ""
    package = f"linux-source-{VERSION}"
    try:
        apt(folder, "amd64", "download", package)
        unpack_arch = "dpkg-deb --fsys-tarfile linux-source-*.deb | tar -xO --wildcards './usr/src/linux-source-*.tar.xz' | " \
                      "tar -xJ --strip-components=4 --wildcards '*/tools/perf/pmu-events/arch'"
        subprocess.run(unpack_arch, shell=True, cwd=folder, check=True, timeout=300)
    except (OSError, subprocess.SubprocessError) as why:
        return None, f"{package} of Debian {SUITE} cannot be had: {why}"
    return arch, ""
