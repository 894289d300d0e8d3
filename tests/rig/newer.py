"""Newer perf and turbostat than this system's, and the vendors' files of that perf's kernel: Debian's packages of its unstable suite,
unpacked below a folder with the libraries that they need; nothing is installed."""
import glob
import os
import re
import subprocess

SUITE = "sid"
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
# Their words are compared with those of --as=7.2 and --as=2026; later ones may have others.
KNOWN = {"usr/bin/perf": r"perf version 7\.2", "usr/sbin/turbostat": r"turbostat version 2026\.04"}
# What is needed at run time only by programs that are not run here.
WITHOUT = {"perl", "python3", "debconf", "ucf", "sensible-utils"}


def mirror():
    """Where this system has its own packages from."""
    places = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Origin: Debian"],
                            capture_output=True, text=True, check=True).stdout.split()
    if not places:
        raise OSError("no place of Debian's packages is known here")
    return places[0]


def apt(folder, *words):
    """apt with lists of its own, whose signatures it checks."""
    with open(os.path.join(folder, "sources.list"), "w") as f:
        f.write(f"deb [signed-by={KEYS}] {mirror()} {SUITE} main\n")
    options = {"Dir::Etc::SourceList": f"{folder}/sources.list", "Dir::Etc::SourceParts": "/dev/null", "Dir::State": f"{folder}/state",
               "Dir::State::status": "/dev/null", "Dir::Cache": f"{folder}/cache", "APT::Sandbox::User": "root",
               "Acquire::GzipIndexes": "false", "Acquire::Languages": "none"}
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


def unpack(folder, root):
    for name in ("state/lists/partial", "cache/archives/partial"):
        os.makedirs(os.path.join(folder, name), exist_ok=True)
    apt(folder, "update")
    with open(glob.glob(os.path.join(folder, "state/lists/*_Packages"))[0]) as f:
        known = packages(f.read())
    todo, seen, wanted = ["linux-perf", "linux-cpupower"], set(WITHOUT), set()
    while todo:
        name = todo.pop()
        if name in seen or name not in known:
            continue
        seen.add(name)
        wanted.add(known[name]["Package"])
        todo += names(known[name].get("Depends"))
    apt(folder, "download", *sorted(wanted))
    for package in glob.glob(os.path.join(folder, "*.deb")):
        subprocess.run(["dpkg-deb", "-x", package, root], check=True)


def libraries(root):
    return f"{root}/usr/lib/x86_64-linux-gnu"


def loader(root):
    return [f"{libraries(root)}/ld-linux-x86-64.so.2", "--library-path", libraries(root)]


def bring(folder):
    """The root below which they are, or None and why not."""
    root, done = os.path.join(folder, "root"), os.path.join(folder, "done")
    try:
        os.makedirs(root, exist_ok=True)
        if not os.path.exists(done):
            unpack(os.path.abspath(folder), root)
            open(done, "w").close()
        for program, version in KNOWN.items():
            said = subprocess.run(loader(root) + [os.path.join(root, program), "--version"], capture_output=True, text=True, check=False)
            if not re.match(version, said.stdout + said.stderr):
                return None, f"{program} of Debian {SUITE} is another one: {(said.stdout + said.stderr).strip()[:80]}"
    except (OSError, subprocess.SubprocessError, IndexError) as why:
        return None, f"the packages of Debian {SUITE} cannot be had: {why}"
    return root, ""


def vendor(folder):
    """tools/perf/pmu-events/arch of the kernel whose perf bring() has found, or None and why not."""
    arch = os.path.join(folder, "arch")
    if os.path.exists(arch):
        return arch, ""
    package = "linux-source-" + KNOWN["usr/bin/perf"].split()[-1].replace("\\", "")
    try:
        apt(folder, "download", package)
        unpack_arch = "dpkg-deb --fsys-tarfile linux-source-*.deb | tar -xO --wildcards './usr/src/linux-source-*.tar.xz' | " \
                      "tar -xJ --strip-components=4 --wildcards '*/tools/perf/pmu-events/arch'"
        subprocess.run(unpack_arch, shell=True, cwd=folder, check=True, timeout=300)
    except (OSError, subprocess.SubprocessError) as why:
        return None, f"{package} of Debian {SUITE} cannot be had: {why}"
    return arch, ""
