#!/usr/bin/python3
"""Packed columns against the reader that was written from SPEC.md alone: standard/codec.py.

usage: codec_diff.py [--cases=N] [--seed=N] CODEC_TOOL...    (several words: such as an emulator before the tool)

What the tool packs, it reads as it was.
"""
import os
import random
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../standard"))
try:
    import codec
except ImportError as e:
    print("skipped: %s" % e)
    sys.exit(77)

M = (1 << 64) - 1
NO_REF, REF_TICK = 0xFFFFFFFF, 0xFFFFFFFE


def column(rng, rows, bits, other):
    """rows + 2 numbers, the first of which are the rows before"""
    mask = (1 << bits) - 1
    if rng.random() < 0.05:
        mask = M
    shape, x, step = rng.randrange(8), rng.getrandbits(rng.randint(1, 64)), rng.getrandbits(rng.randint(1, 40))
    noise, slope, out = rng.randint(0, 30), rng.getrandbits(12), []
    for r in range(rows + 2):
        jitter = rng.getrandbits(noise) if noise else 0
        if shape == 0:
            v = x
        elif shape == 1:
            v = x + jitter
        elif shape == 2:
            x += step + jitter
            v = x
        elif shape == 3:
            step += slope + jitter
            x += step
            v = x
        elif shape == 4:
            v = other[r] + jitter
        elif shape == 5:
            v = rng.getrandbits(64)
        elif shape == 6:
            x += jitter if rng.random() < 0.05 else 0
            v = x
        else:
            v = rng.choice([0, M, 1 << 63, (1 << 63) - 1])
        out.append(v & mask)
    return out


def case(rng):
    """rows, bands (columns, bits, ref_first, ref_columns), ticks, columns, whether there is a row before"""
    rows = rng.choice([1, 1, 1, 2, 7, 8, 9, 31, 32, 33, 100, 128])
    ticks = [10 ** 9 + 10 ** 7 * r for r in range(rows + 2)]
    bands, columns = [], []
    for _ in range(rng.randrange(8)):
        n = rng.randint(1, 7) if rng.random() < 0.7 else rng.randint(8, 150)
        ref = rng.choice([NO_REF, NO_REF, REF_TICK, rng.randrange(len(columns) + 1)])
        refs = rng.choice([1, n])
        bits = rng.choice([64, 64, 32, rng.randint(1, 64)])
        bands.append((n, bits, ref, refs))
        alike = rng.random() < 0.4
        first = len(columns)
        for c in range(n):
            at = ref + (0 if refs == 1 else c)
            other = columns[at] if ref < REF_TICK and at < len(columns) else ticks
            if alike and c and first:
                other = columns[-1]
            columns.append(column(rng, rows, bits, other))
    return rows, bands, ticks, columns, rng.random() < 0.7


def read(one, lengths, bits):
    """The columns; None: they are refused."""
    rows, shapes, ticks, columns, dependent = one
    first, bands = 0, []
    for n, width, ref, refs in shapes:
        bands.append(codec.Band(first, n, width, ref={NO_REF: None, REF_TICK: "tick"}.get(ref, ref), each=refs > 1))
        first += n
    before = codec.Row(ticks[1], [c[1] for c in columns], [codec.grown(*c[:2]) for c in columns]) if dependent else None
    try:
        return codec.unpack(lengths, bits, rows, bands, ticks[2:], before)
    except codec.Bad:
        return None


def main():
    cases, seed, tool = 300, 1, []
    for word in sys.argv[1:]:
        if word.startswith("--cases="):
            cases = int(word[8:])
        elif word.startswith("--seed="):
            seed = int(word[7:])
        else:
            tool.append(word)
    if not tool:
        sys.exit(__doc__)
    rng = random.Random(seed)
    made, text = [case(rng) for _ in range(cases)], []
    for rows, bands, ticks, columns, dependent in made:
        words = [rows, len(bands)] + [x for b in bands for x in b] + [int(dependent), ticks[1]] + ticks[2:]
        if dependent:
            words += [c[1] for c in columns] + [codec.grown(*c[:2]) for c in columns]
        text.append(" ".join(map(str, words + [x for c in columns for x in c[2:]])))
    result = subprocess.run(tool, input="\n".join(text) + "\n", capture_output=True, text=True, check=True)
    lines = result.stdout.split("\n")[:-1]
    assert len(lines) == cases
    bad, size, kinds, even = 0, [0, 0], set(), 0
    for i, (one, line) in enumerate(zip(made, lines)):
        lengths, bits = (bytes.fromhex(x.strip("-")) for x in line.split())
        size = [a + len(b) for a, b in zip(size, (lengths, bits))]
        at = 1 + (len(one[1]) if lengths[0] & codec.KINDS else 0)
        kinds.update(lengths[1:at])
        even += sum(x >= codec.EVEN for x in lengths[at:])
        if read(one, lengths, bits) != [c[2:] for c in one[3]]:
            bad += 1
            print(f"case {i}: {one[0]} rows, bands {one[1]}, {'dependent' if one[4] else 'key'}: {line[:80]}")
    print(f"{cases} matrices, {size[0]} bytes of lengths and {size[1]} of bits, kinds {sorted(kinds)}, {even} even columns, "
          f"{bad} read differently")
    return 1 if bad or not set(range(7)) <= {k & ~codec.WIDE for k in kinds} or not even else 0


if __name__ == "__main__":
    sys.exit(main())
