#!/usr/bin/python3
"""Writes the option lists of the manual pages: common/manual_options.py BINDIR [PAGE...]

The programs in BINDIR say what their options are (--help=options). The head and the first sentence of each entry, up
to the first line that ends with a period, come from there; what follows them in the page is kept. New options get
an entry behind the one before them, and entries of options that are gone are removed. Pages that change are named.
"""
import glob
import os
import re
import subprocess
import sys

COMMON = ("help", "version", "color", "no-pager", "max-memory")
MAIN = {"pmrec": "pmrec", "pmrep": "pmrep show"}  # pages that have some options only


class Option:
    def __init__(self, line):
        name, self.arg, letters, self.help = line.split("\t")
        self.optional = bool(self.arg) and not name.endswith("=")
        self.name = name.strip("-=")
        self.letters = letters.replace("-", "").split()
        self.names = [self.name]


def options_of(bindir, command):
    """The options of a command in the order of its table; levels (--per-NODE) are one."""
    if command[-1] == "turbostat":  # help and status are as turbostat's; our own options stand at the end
        out = subprocess.run([os.path.join(bindir, command[0])] + command[1:] + ["--help"], text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False).stdout
        return {name: Option(f"--{name}=\t{arg}\t\t{text}")
                for name, arg, text in re.findall(r"^ {8}--([a-z]+)=(\S+)\n +(.*)$", out, re.M)}
    out = subprocess.run([os.path.join(bindir, command[0])] + command[1:] + ["--help=options"], check=True,
                         capture_output=True, text=True).stdout
    rows = []
    for option in map(Option, out.splitlines()):
        if not option.help:
            rows[-1].names.append(option.name)
        else:
            rows.append(option)
    levels = [row for row in rows if row.name.startswith("per-")]
    if len(levels) > 2:
        levels[0].help = [row.name[4:] for row in levels]
        levels[0].name = "per-"
        rows = [row for row in rows if row not in levels[1:]]
    return {row.name: row for row in rows}


def argument(arg):
    if re.search("[^A-Za-z0-9|-]", arg):
        return "Ar " + arg
    return ("Cm " if arg.islower() else "Ar ") + arg.replace("|", " | ")


def head(option):
    if option.name == "per-":
        return ".It Fl -per- Ns Ar LEVEL"
    parts = []
    for letter in option.letters:
        parts.append("Fl " + letter + (" " + argument(option.arg) if option.arg and not option.optional else ""))
    for name in option.names:
        text = "Fl -" + name
        if option.arg:
            text += " Ns Op = Ns " if option.optional else " Ns = Ns "
            text += argument(option.arg)
        parts.append(text)
    return ".It " + " , ".join(parts)


def macro(core, words, alone):
    """What a word is to mdoc, as a macro; None for plain text. `alone`: punctuation stands around it."""
    found = re.fullmatch(r"--([a-z-]+)(=(\S+))?", core)
    if found:
        return "Fl -" + found[1] + (" Ns = Ns " + argument(found[3]) if found[3] else "")
    if re.fullmatch("-([a-zA-Z]|d+)", core):
        return "Fl " + core[1:]
    if re.fullmatch("-[A-Z]+", core):
        return "Pf \\- Ar " + core[1:]
    if core == "-":
        return "Ql \\-"
    if core.startswith("`"):
        return "Ql " + core.strip("`")
    if core in ("COMMAND", "FILE") or core in words and not core.islower():
        return "Ar " + core
    return "Cm " + core if core in words and alone else None


def sentence(option):
    """The help as lines of a page."""
    if option.name == "per-":
        levels = option.help
        text = ".Cm " + " , ".join(levels[:-1]) + " ,"
        half = text.find(" , ", len(text) // 2) + 2
        return [".Ar LEVEL", "is", text[:half], ".Cm" + text[half:], "or", ".Cm " + levels[-1] + " ."]
    words = re.findall("[A-Za-z0-9-]+", option.arg)
    lines, line = [], ""
    tokens = re.findall(r"`[^`]*`\S*|\S+", option.help + ".")
    for i, token in enumerate(tokens):
        opening, core, closing = re.fullmatch(r"(\(?)(.*?)([,;:.)]*)", token).groups()
        alone = opening or closing or tokens[i + 1].startswith("(")
        name = macro(core, words, alone)
        if not name:
            if not i:
                token = token[0].upper() + token[1:]
            token = re.sub(r"^(\(?)-(?=\d)", r"\1\\-", token.replace("()", "(\\&)"))
            if line and len(line) + len(token) > 77:
                lines.append(line)
                line = ""
            line += (" " if line else "\\&" if token[0] in ".'" else "") + token
            continue
        if line:
            lines.append(line)
            line = ""
        if opening and closing.startswith(")"):
            name, opening, closing = "Pq " + name, "", closing[1:]
        lines.append("." + ("Pf ( " if opening else "") + name + "".join(" " + c for c in closing))
    if line:
        lines.append(line)
    assert not any(each.endswith(".") for each in lines[:-1]), option.help
    return lines


def entries_of(lines):
    """[(name, fine print)] of the lines of a list."""
    entries, depth = [], 0
    for line in lines:
        depth += line.startswith(".Bl ") - line.startswith(".El")
        if line.startswith(".It ") and not depth:
            name = re.findall(r"Fl -([\w-]+)", line)
            entries.append((name[0] if name else line, []))
        else:
            entries[-1][1].append(line)
    result = []
    for name, text in entries:
        end = next((i + 1 for i, line in enumerate(text) if line.endswith(".")), len(text))
        result.append((name, text[end:]))
    return result


def lists_of(lines):
    """[(first, last)]: where the entries of option lists stand in a page."""
    found, stack = [], []
    for i, line in enumerate(lines):
        if line.startswith(".Bl "):
            stack.append(i + 1)
        elif line.startswith(".El"):
            begin = stack.pop()
            if not stack and (begin == i or lines[begin].startswith(".It Fl ")):
                found.append((begin, i))
    return found


def write_page(text, options, main):
    lines = text.split("\n")
    lists = [(span, entries_of(lines[span[0]:span[1]])) for span in lists_of(lines)]
    if not lists:
        return text
    place = {name: k for k, (_, entries) in enumerate(lists) for name, _ in entries}
    kept = {name: fine for _, entries in lists for name, fine in entries}
    before = 0
    for name in options:
        if name not in place and not main and name not in COMMON:
            place[name] = before
        before = place.get(name, before)
    for k, ((begin, end), _) in reversed(list(enumerate(lists))):
        out = []
        for name, option in options.items():
            if place.get(name) == k:
                out += [head(option)] + sentence(option) + kept.get(name, [])
        lines[begin:end] = out
    return "\n".join(lines)


def main():
    bindir, names = sys.argv[1], sys.argv[2:]
    top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for path in names or sorted(glob.glob(top + "/re*/pmre[cp]*.1")):
        base = os.path.basename(path)[:-2]
        command = MAIN.get(base, base.replace("-", " ").replace(" record", "")).split()
        with open(path, encoding="utf-8") as f:
            old = f.read()
        options = options_of(bindir, command)
        new = write_page(old, options, base in MAIN)
        # A first list has no entry that would tell it from others: it is empty.
        if new == old and "\n.It Fl " not in old and options.keys() - set(COMMON):
            sys.exit(f"{path}: no list for its options: give it .Bl -tag -width Ds and .El")
        if new != old:
            print(path)
            with open(path, "w", encoding="utf-8") as f:
                f.write(new)


main()
