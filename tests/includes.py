"""Checks of tests/includes.sh: the order of rooms by #include and by symbol, circles of files, one file a library."""
import collections
import os
import re
import subprocess
import sys

# A room knows itself and what stands before it in its line. "" is what lies in the folder itself.
LINES = {
    "common": ["common"],
    "format": ["common", "format"],
    "record": ["common", "format", "record/host", "record/plan", "record/perf", "record/sources",
               "record/output", "record/sample", "record"],
    "report": ["common", "format", "report/input", "report/machine", "report/replay", "report/metric",
               "report/numbers", "report/pipeline", "report/export", "report/copy", "report/info",
               "report/stat", "report/diff", "report/incident", "report"],
}
LIBRARIES = ["zstd.h", "zlib.h", "sys/capability.h", "jansson.h", "perfmon/pfmlib_perf_event.h"]
LARGEST_CIRCLE = 3
FOLDERS = ["common", "format", "record", "report"]

complaints = []


def room_of(path, line):
    """The longest folder of the line that holds the path."""
    rooms = [room for room in line if path.startswith(room + "/")]
    return max(rooms, key=len) if rooms else None


def may(user, used):
    """Whether the file `user` may know the file `used`. How a program ends is known in all its rooms."""
    if used == "report/exit.h":
        return user.startswith("report/")
    line = LINES[user.split("/")[0]]
    here, there = room_of(user, line), room_of(used, line)
    return there is not None and line.index(there) <= line.index(here)


def sources():
    for folder in FOLDERS:
        for path, folders, names in os.walk(folder):
            folders[:] = [f for f in folders if f != "node_modules"]
            yield from (os.path.join(path, n) for n in names if n.endswith((".c", ".h", ".inc")))


def check_includes(files):
    library_users = collections.defaultdict(list)
    for path in files:
        with open(path, encoding="utf-8") as source:
            text = source.read()
        for kind, header in re.findall(r'^[ \t]*#[ \t]*include[ \t]+(["<])([^">]+)[">]', text, re.M):
            if kind == "<":
                if header in LIBRARIES:
                    library_users[header].append(path)
            elif not os.path.exists(header):
                complaints.append(f"{path} includes {header}, which is not a path from the top of the tree")
            elif not may(path, header):
                complaints.append(f"{path} includes {header}: upwards")
    for header in LIBRARIES:
        if len(library_users[header]) != 1:
            complaints.append(f"<{header}> belongs in exactly one file, found in: {library_users[header] or 'none'}")


def symbols(build):
    """Who defines a global symbol, and which symbols each file needs, by the objects of the libraries."""
    defined, needed, sources_of = {}, {}, {}
    for folder in FOLDERS:
        library = f"pm_{folder}.dir/"
        for path, _, names in os.walk(os.path.join(build, folder)):
            for name in names:
                where = os.path.join(path, name)
                if name.endswith(".c.o") and library in where:
                    source = f"{folder}/{where.split(library)[1][:-2]}"
                    if os.path.exists(source):
                        sources_of[where] = source
    if not sources_of:
        return defined, needed
    out = subprocess.run(["nm", "-A", "-g", "-P", *sources_of], capture_output=True, text=True, check=True).stdout
    for line in out.splitlines():
        where, symbol, kind = re.match(r"(.*): (\S+) (\S)", line).groups()
        source = sources_of[where]
        needed.setdefault(source, set())
        if kind == "U":
            needed[source].add(symbol)
        elif kind in "TDBRVWC":
            defined[source.split("/")[0], symbol] = source
    return defined, needed


def circles(edges):
    """Strongly connected sets of more than one file (Tarjan)."""
    number, low, stack, on_stack, found = {}, {}, [], set(), []

    def visit(v):
        number[v] = low[v] = len(number)
        stack.append(v)
        on_stack.add(v)
        for w in edges.get(v, ()):
            if w not in number:
                visit(w)
                low[v] = min(low[v], low[w])
            elif w in on_stack:
                low[v] = min(low[v], number[w])
        if low[v] == number[v]:
            members = []
            while not members or members[-1] != v:
                members.append(stack.pop())
                on_stack.discard(members[-1])
            if len(members) > 1:
                found.append(sorted(members))

    sys.setrecursionlimit(10000)
    for v in edges:
        if v not in number:
            visit(v)
    return found


def check_calls(build):
    defined, needed = symbols(build)
    if len(needed) < 100:
        complaints.append(f"{build}: only {len(needed)} objects: build first, or the check itself is broken")
        return

    def definer(user, symbol):
        """record and report are programs of their own: a symbol is their own, or of the folders below them."""
        for folder in (user.split("/")[0], "format", "common", "record", "report"):
            if (folder, symbol) in defined:
                return defined[folder, symbol]
        return None

    edges = {user: {definer(user, s) for s in wanted} - {user, None} for user, wanted in needed.items()}
    for user, used in sorted((u, d) for u, targets in edges.items() for d in targets):
        if not may(user, used):
            names = sorted(s for s in needed[user] if definer(user, s) == used)
            complaints.append(f"{user} calls {', '.join(names[:3])} of {used}: upwards")
    for members in circles(edges):
        if len(members) > LARGEST_CIRCLE:
            complaints.append(f"{len(members)} files call one another in a circle: {' '.join(members)}")


def main():
    files = list(sources())
    if len(files) < 200:
        complaints.append(f"looked at {len(files)} files only: the check itself is broken")
    check_includes(files)
    check_calls(sys.argv[1])
    for text in complaints:
        print(text)
    sys.exit(bool(complaints))


main()
