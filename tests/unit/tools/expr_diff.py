#!/usr/bin/python3
"""The metric language against a second implementation.

usage: expr_diff.py EXPR_TOOL [COUNT [SEED]]

This evaluator is written from the grammar in common/metric/expr.h alone: other language, other parsing method
(operator precedence over a token list), no shared code. Random formulas, random inputs and random token soup go
through both; they have to agree whether a text is a formula, whether its value is missing, and on the value to 1e-9.
"""
import math
import random
import re
import subprocess
import sys

NAN = float("nan")
ASPECTS = ["source_count", "aggr_nr", "has_event", "strcmp_cpuid_str"]
OURS = ["first", "last", "mean", "max_of", "elapsed", "rate"]
RESERVED = {"if", "else", "NaN", "min", "max", "d_ratio", *ASPECTS}
CALLS = {"min": 2, "max": 2, "d_ratio": 2, "pow2": 1, "bits": 3, "percent": 2}
BINARY = {"|": 1, "^": 2, "&": 3, "<": 4, ">": 4, "+": 5, "-": 5, "*": 6, "/": 6, "%": 6}
NUMBER = re.compile(r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e-?[0-9]+)?")
ID = re.compile(r"(?:[0-9A-Za-z_.:?]|\\.|@(?:[^@\\]|\\.)*@)+", re.S)
LITERAL = re.compile(r"#[0-9A-Za-z_.-]+")


class Refused(Exception):
    pass


# ---- text to tokens: (kind, value) ----
def resolve(text):
    out, i = [], 0
    while i < len(text):
        if text[i] == "\\":
            i += 1
            out.append(text[i])
        else:
            out.append("/" if text[i] == "@" else text[i])
        i += 1
    return "".join(out)


def tokens(text):
    out, i = [], 0
    while i < len(text):
        c = text[i]
        if c in " \t\n\v\f\r":
            i += 1
            continue
        if c in "+-*/%()<>&|^,":
            out.append(("mark", c))
            i += 1
            continue
        m = LITERAL.match(text, i)
        if m:
            out.append(("literal", m[0][1:].lower()))
            i = m.end()
            continue
        number, name = NUMBER.match(text, i), ID.match(text, i)
        if name and name.end() < len(text) and text[name.end()] in "@\\":
            raise Refused("open section")
        if number and (not name or number.end() >= name.end()):
            value = float(number[0])
            if math.isinf(value):
                raise Refused("too large")
            out.append(("number", value))
            i = number.end()
        elif name:
            plain = not re.search(r"[\\@]", name[0])
            if plain and name[0] in RESERVED:
                out.append(("word", name[0]))
            else:
                out.append(("id" if plain else "escaped", resolve(name[0])))
            i = name.end()
        else:
            raise Refused(c)
    return out + [("end", None)]


# ---- tokens to a tree ----
class Parser:
    def __init__(self, text):
        self.t = tokens(text)
        self.i = 0

    def take(self, kind=None, value=None):
        k, v = self.t[self.i]
        if (kind and k != kind) or (value is not None and v != value):
            raise Refused((k, v))
        self.i += 1
        return v

    def at(self, kind, value):
        return self.t[self.i] == (kind, value)

    def whole(self):
        tree = self.choice()
        self.take("end")
        return tree

    def choice(self):
        a = self.binary()
        if not self.at("word", "if"):
            return a
        self.i += 1
        c = self.binary()
        self.take("word", "else")
        return ("choose", a, c, self.choice())

    def binary(self):
        """Shunting yard."""
        operands, operators = [self.unary()], []

        def reduce():
            b, a = operands.pop(), operands.pop()
            operands.append((operators.pop(), a, b))

        while self.t[self.i][0] == "mark" and self.t[self.i][1] in BINARY:
            op = self.take()
            while operators and BINARY[operators[-1]] >= BINARY[op]:
                reduce()
            operators.append(op)
            operands.append(self.unary())
        while operators:
            reduce()
        return operands[0]

    def unary(self):
        if self.at("mark", "-"):
            self.i += 1
            return ("negate", self.unary())
        return self.primary()

    def primary(self):
        kind, value = self.t[self.i]
        self.i += 1
        if kind == "number":
            return ("number", value)
        if kind == "literal":
            return ("input", "#" + value)
        if kind == "escaped":
            return ("input", value)
        if (kind, value) == ("mark", "("):
            tree = self.choice()
            self.take("mark", ")")
            return tree
        if kind == "id" and not self.at("mark", "("):
            return ("input", value)
        if (kind, value) == ("word", "NaN"):
            return ("number", NAN)
        if kind not in ("id", "word") or value in ("if", "else"):
            raise Refused(value)
        self.take("mark", "(")
        if value in CALLS:
            arguments = [self.binary()]
            for _ in range(CALLS[value] - 1):
                self.take("mark", ",")
                arguments.append(self.binary())
            self.take("mark", ")")
            if value == "bits" and arguments[1][0] == arguments[2][0] == "number":
                hi, lo = arguments[1][1], arguments[2][1]
                if not (63 >= hi >= lo and hi == int(hi) and lo == int(lo)):
                    raise Refused("field")
            return (value, *arguments)
        if value in ASPECTS or value in OURS:
            if self.t[self.i][0] not in ("id", "escaped"):
                raise Refused(value)
            name = self.take()
            self.take("mark", ")")
            return ("input", "%s(%s)" % (value, name))
        raise Refused(value)


# ---- tree to value ----
def both(f):
    return lambda a, b: NAN if a != a or b != b else f(a, b)


def logical_and(a, b):
    if a == 0 or b == 0:
        return 0.0
    return NAN if a != a or b != b else 1.0


def logical_or(a, b):
    if (a == a and a != 0) or (b == b and b != 0):
        return 1.0
    return NAN if a != a or b != b else 0.0


def divide(a, b):
    return NAN if b == 0 else a / b


def modulo(a, b):
    if math.isinf(a) or math.isinf(b) or abs(a) >= 2**63 or abs(b) >= 2**63:
        return NAN
    a, b = int(a), int(b)
    if b == 0:
        return NAN
    return float(math.copysign(abs(a) % abs(b), a))


def pow2(a):
    if a != a:
        return NAN
    try:
        return 2.0**a
    except OverflowError:
        return math.inf


def bits(x, hi, lo):
    if any(v != v or math.isinf(v) or v != int(v) for v in (x, hi, lo)) or not 63 >= hi >= lo >= 0:
        return NAN
    if not -(2**63) <= x < 2**64:
        return NAN
    return float((int(x) % 2**64 >> int(lo)) & (1 << int(hi) - int(lo) + 1) - 1)


def percent(a, b):
    p = NAN if b == 0 else 100 * a / b
    return NAN if p < 0 or p > 110 else p


APPLY = {
    "negate": lambda a: -a,
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": both(divide),
    "%": both(modulo),
    "<": both(lambda a, b: float(a < b)),
    ">": both(lambda a, b: float(a > b)),
    "&": logical_and,
    "|": logical_or,
    "^": both(lambda a, b: float((a != 0) != (b != 0))),
    "min": lambda a, b: a if a < b else b,
    "max": lambda a, b: a if a > b else b,
    "d_ratio": lambda a, b: 0.0 if b == 0 else divide(a, b),
    "pow2": pow2,
    "bits": bits,
    "percent": both(percent),
    "choose": lambda a, c, b: a if c != c or c != 0 else b,
}


def evaluate(tree, inputs):
    if tree[0] == "number":
        return tree[1]
    if tree[0] == "input":
        return inputs.get(tree[1], NAN)
    return APPLY[tree[0]](*(evaluate(t, inputs) for t in tree[1:]))


# ---- random formulas ----
NAMES = [("a", "a"), ("b", "b"), ("INST_RETIRED.ANY", "INST_RETIRED.ANY"), ("cycles:u", "cycles:u"), ("first", "first"),
         ("task\\-clock", "task-clock"), ("cpu@event\\=0x3c\\,cmask\\=1@u", "cpu/event=0x3c,cmask=1/u"),
         ("msr@tsc\\,cpu=cpu_atom@", "msr/tsc,cpu=cpu_atom/"), ("1GHz", "1GHz"), ("hv@chip=?@", "hv/chip=?/"),
         ("p@a b+(c)@", "p/a b+(c)/"), ("1e", "1e"), ("rate", "rate"), ("\\min", "min")]
LITERALS = [("#smt_on", "#smt_on"), ("#SMT_on", "#smt_on"), ("#num_cpus", "#num_cpus")]
VALUES = [0.0, 1.0, -1.0, 2.0, 3.0, 0.5, -2.5, 7.0, 1e-3, 1e9, 4294967296.0, 123456.789, NAN, NAN]


def random_inputs(rng):
    names = [n for _, n in NAMES]
    names += [n for _, n in LITERALS]
    names += ["%s(%s)" % (f, n) for f in ASPECTS + OURS for _, n in NAMES]
    inputs = {}
    for n in names:
        if rng.random() < 0.92:
            inputs[n] = rng.choice(VALUES) if rng.random() < 0.7 else rng.uniform(-1000, 1000)
    return inputs


def random_number(rng):
    return rng.choice(["0", "1", "2", "3.5", ".5", "5.", "1e9", "1e-2", "100", "NaN", "0.1", "64", "1e3",
                       str(rng.randint(0, 99999))])


def random_text(rng, depth):
    r = rng.random()
    space = rng.choice(["", " ", " "])
    if depth == 0 or r < 0.15:
        r = rng.random()
        if r < 0.35:
            return random_number(rng)
        if r < 0.85:
            return rng.choice(NAMES)[0]
        if r < 0.92:
            return rng.choice(LITERALS)[0]
        return "%s(%s)" % (rng.choice(ASPECTS + OURS), rng.choice(NAMES)[0])

    def sub():
        return random_text(rng, depth - 1)

    if r < 0.65:
        return sub() + " " + rng.choice(list(BINARY)) + space + sub()
    if r < 0.72:
        return "-" + space + sub()
    if r < 0.80:
        return "(" + sub() + ")"
    if r < 0.90:
        call = rng.choice(list(CALLS))
        if call == "bits" and rng.random() < 0.8:
            lo = rng.randint(0, 63)
            return "bits(%s, %d, %d)" % (sub(), rng.randint(lo, 63), lo)
        return call + "(" + ("," + space).join(sub() for _ in range(CALLS[call])) + ")"
    choice = sub() + " if " + sub() + " else " + sub()
    return choice if rng.random() < 0.5 else "(" + choice + ")"


def random_soup(rng, text):
    """Damages a formula, so that refusing is tried as well."""
    pieces = ["(", ")", ",", "+", "-", "<", " if ", " else ", "@", "\\", "#", "1", "x", "min", " ", "$", "e", ".", "=", "["]
    for _ in range(rng.randint(1, 3)):
        i = rng.randint(0, len(text))
        text = text[:i] + rng.choice(pieces) + text[i + rng.randint(0, 2):]
    return text


def main():
    tool = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 8000
    rng = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    cases = []
    while len(cases) < count:
        text = random_text(rng, rng.randint(0, 6))
        if rng.random() < 0.3:
            text = random_soup(rng, text)
        if len(text) < 4000 and "\t" not in text and "\n" not in text:
            cases.append((text, random_inputs(rng)))
    lines = ["\t".join([t] + ["%s=%r" % p for p in i.items()]) for t, i in cases]
    run = subprocess.run([tool], input="\n".join(lines) + "\n", capture_output=True, text=True)
    if run.returncode:
        sys.exit("%s: status %d: %s" % (tool, run.returncode, run.stderr))
    answers = run.stdout.splitlines()
    if len(answers) != len(cases):
        sys.exit("%d answers to %d formulas" % (len(answers), len(cases)))
    outcome = {"value": 0, "missing": 0, "refused": 0}
    wrong = 0
    for (text, inputs), answer in zip(cases, answers):
        try:
            value = evaluate(Parser(text).whole(), inputs)
            expected = "nan" if value != value else repr(value)
        except Refused:
            expected = "error"
        got = answer.split(" ", 1)[0]
        if expected in ("error", "nan") or got in ("error", "nan"):
            agree = expected == got
        else:
            x = float(got)
            agree = x == value or abs(x - value) <= 1e-9 * max(abs(x), abs(value))
        outcome["refused" if expected == "error" else "missing" if expected == "nan" else "value"] += 1
        if not agree:
            wrong += 1
            if wrong <= 10:
                print("formula   %s\nexpected  %s\ngot       %s\n" % (text, expected, answer))
    print("%d formulas: %s; %d differ" % (len(cases), outcome, wrong))
    if wrong or min(outcome.values()) < count // 50:
        sys.exit(1)


if __name__ == "__main__":
    main()
