"""A second evaluator, written from report/numbers/NUMBERS.md alone: what every metric of a recording is, at any place,
over any stretch of snapshots. It is slow and keeps everything in exact fractions."""

import functools
import os
import re
import sys
from fractions import Fraction

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "golden"), os.path.join(HERE, "..", "unit", "tools")]
import decode
import expr_diff

ABSENT_OFFLINE = {"cpu", "core", "cluster", "task", "cgroup"}
KNOWN, ABSENT, LOST, CARRIED = "known", "absent", "lost", "carried"
NOT_COUNTED, OFFLINE, MISSED, GONE, NOT_READ = 1, 4, 5, 6, 10
COUNTS = ("cumulative", "delta")
LEVELS = ("gauge", "state", "bitfield")


# Section 3: how far a counter may step back, in its own steps; of the system, for each CPU.
STEPS_BACK = [(re.compile(r"stat\.(user|nice|system|idle|iowait|irq|softirq|steal|guest|guest_nice)"), 100),
              (re.compile(r"(tasks\.(user|system)|cgroups\.(user|system))"), 10000),
              (re.compile(r"vmstat\.(?!pgfault$|pgmajfault$|pgpgin$|pgpgout$|zswpwb$).*"), 125)]


SHARE_MOST = 101


class Missing(Exception):
    """args[0]: the words of which one must be the status; args[1]: the coverage, or None."""

    def __init__(self, words, coverage=None):
        super().__init__(words, coverage)


class Number:
    """`alone`: an input is missing by itself, and the formula does without."""

    def __init__(self, value, coverage, doubtful=False, alone=False):
        self.value, self.coverage, self.doubtful, self.alone = value, coverage, doubtful, alone


# ---- snapshots, time ----

class Snapshot:
    def __init__(self, chunk, row, slope):
        self.chunk, self.slope = chunk, slope
        self.tick = chunk.ticks[row]
        self.between = chunk.flags[row] & 8
        self.wall = self.tick + chunk.clocks.realtime - chunk.clocks.monotonic


def slopes(chunks):
    """Section 5: seconds of MONOTONIC_RAW in one of MONOTONIC, a chunk."""
    heads = [(c.clocks.monotonic, c.clocks.raw) for c in chunks]

    def between(a, b):
        return Fraction(b[1] - a[1], b[0] - a[0]) if a[1] and b[1] and b[0] > a[0] else None
    out = []
    for i, head in enumerate(heads):
        older = [h for h in heads[:i] if head[0] - h[0] >= 10**9 and h[1]]
        out.append(between(older[-1], head) if older else None)
    first = next((s for s in out if s is not None), None)
    if first is None and len(heads) > 1:
        first = between(heads[0], heads[-1])
    out = [first if s is None else s for s in out]
    return [s if s is not None and abs(s - 1) > Fraction(1, 1000) else Fraction(1) for s in out]


# ---- one member ----

class Member:
    """Readings of a counter of an instance, and what they say of each finest interval; interval s ends at snapshot s."""

    def __init__(self, world, counter, instance):
        self.world, self.counter, self.instance = world, counter, instance
        self.reading = [None] * world.n
        scale = counter.scale
        self.scale = Fraction(scale) if isinstance(scale, str) else Fraction(*scale)
        self.state = self.reason = None
        self.bound = world.bound(counter, instance, self.scale) if counter.semantics == "cumulative" else {}

    def finish(self):
        there = [s for s, r in enumerate(self.reading) if r is not None]
        self.why = [self.why_missing(s, there[0], there[-1]) for s in range(self.world.n)]
        self.number = [None if self.why[s] else r.value for s, r in enumerate(self.reading)]
        self.breaks = [False] * self.world.n
        for block in self.world.blocks:
            self.stand_still(block)
        self.classify()

    def why_missing(self, s, first, last):
        """None: there is a reading; ABSENT; or the word of a reason."""
        r = self.reading[s]
        if r is None:
            return "not-read" if first < s < last else ABSENT
        if r.reason == GONE or (r.reason == OFFLINE and self.instance.kind in ABSENT_OFFLINE):
            return ABSENT
        if not r.reason and self.counter.name in ("hwmon.temp", "thermal.temp"):
            return "suspect" if not -55 < r.value * self.scale < 127 or abs(r.value * self.scale) <= Fraction(127, 1000) else None
        if not r.reason and self.counter.name == "hwmon.fan":
            return "suspect" if r.value * self.scale >= 65535 else None
        return decode.reason_name(r.reason) if r.reason else None

    def absent_word(self, s):
        for r in (self.reading[s], self.reading[s - 1] if s else None):
            if r is not None and r.reason in (OFFLINE, GONE):
                return decode.reason_name(r.reason)
        return None

    def stand_still(self, block):
        """not-counted (section 2): the number before it, if its group did not run since then."""
        before = None
        for s in block:
            r = self.reading[s]
            if r is not None and r.reason == NOT_COUNTED and r.enabled is not None:
                if before is None and not r.running:
                    self.number[s] = 0
                elif before is not None and r.running == self.reading[before].running:
                    self.number[s] = self.number[before]
                else:
                    self.breaks[s] = True
            elif r is not None and r.reason == NOT_COUNTED:
                self.breaks[s] = True
            if self.number[s] is not None:
                before = s

    def middle(self, s):
        r = self.reading[s]
        return (r.begin + r.end) // 2

    def time(self, j, k):
        if self.why[j] or self.why[k]:
            if not (self.reading[j] is not None and self.reading[j].reason == NOT_COUNTED and self.number[j] is not None):
                return self.world.ticks(j, k)
        return (self.middle(k) - self.middle(j)) * self.world.snapshot[k].slope

    def difference(self, j, k):
        """A count, or the word why there is none."""
        a, b = self.reading[j], self.reading[k]
        d = self.number[k] - self.number[j]
        if d < 0 and -d <= self.may_fall():
            d = 0
        if self.counter.type == "f64":
            if d < 0:
                return "reset"
            d = Fraction(d)
        else:
            back = d < 0
            width = self.bound.get("width", self.counter.width)
            if self.bound.get("wide") and next(n for n in self.number if n is not None) >> width:
                width = 64
            d %= 1 << width
            if self.bound:
                time = (self.middle(k) - self.middle(j)) * self.world.snapshot[k].slope / 10**9
                if width != 64 or not self.bound.get("wide"):
                    if self.bound["turn"] and time * self.bound["rate"] >= self.bound["turn"]:
                        return "wrap-ambiguous"
            guest = 12 in self.world.recording.header
            register = self.counter.name.startswith("msr.") and (guest or "energy" in self.counter.name)
            power = guest and self.counter.attrs.get(11, "").startswith("power")
            if (register or power) and not self.number[j] and not self.number[k]:
                return "suspect"
            if self.bound:
                if d > self.bound["rate"] * (time + self.bound["delay"]):
                    return "reset"
            elif d > 1 << 62 if width == 64 else back and 2 * d > 1 << width:
                return "reset"
        if a.enabled is not None and self.world.scaled:
            enabled, running = b.enabled - a.enabled, b.running - a.running
            if enabled < 0 or running < 0:
                return "reset"
            if enabled and not running:
                return "not-counted"
            if running:
                d = Fraction(d) * enabled / running
        return d * self.scale

    def was_none(self, j, k, s):
        """Whether reading k, a reset, was none, as reading s is back where the counter was with reading j."""
        a, b, c = (self.number[x] for x in (j, k, s))
        if self.counter.type != "u64" or self.reading[k].enabled is not None or self.bound:
            return False
        return 2 * b < a <= c or a < b > c

    def may_fall(self):
        most = next((n for names, n in STEPS_BACK if names.fullmatch(self.counter.name)), 0)
        return most * (len(self.world.recording.topology) if self.instance.kind == "system" else 1)

    def carries(self, s):
        """Whether the next reading makes up for the one that is missing here."""
        if self.breaks[s]:
            return False
        if self.counter.semantics == "cumulative":
            return True
        return self.why[s] == "not-read" and self.counter.semantics in LEVELS

    def classify(self):
        """state and reason of each finest interval; stretches that are known."""
        n = self.world.n
        self.state, self.word = [None] * n, [None] * n
        self.stretch = {}
        for s in self.world.gaps:
            beside = [self.reading[s - 1] is not None, self.reading[s] is not None]
            if any(beside):
                absent = self.why[s - 1] == self.why[s] == ABSENT
                self.state[s], self.word[s] = (ABSENT, self.absent_word(s)) if absent else (LOST, "gap")
        for block in self.world.blocks:
            self.classify_block(block)

    def classify_block(self, block):
        last = None
        fell = None  # the reading before `last`, if that is a reset
        counts = self.counter.semantics == "cumulative"
        for s in block:
            there = self.number[s] is not None
            if s > block[0]:
                if there and not counts:
                    j = s - 1
                    while j > block[0] and self.number[j] is None and self.why[j] != ABSENT and self.carries(j):
                        j -= 1
                    known(self, j, s, self.number[s] * self.scale)
                elif self.why[s] == "not-counted":
                    self.state[s], self.word[s] = LOST, "not-counted"
                elif self.why[s] == ABSENT or (there and self.why[s - 1] == ABSENT):
                    self.state[s], self.word[s] = ABSENT, self.absent_word(s)
                elif not there or last is None:
                    self.state[s], self.word[s] = LOST, self.why[s] or self.why[s - 1]
                else:
                    again = fell is not None and self.was_none(fell, last, s)
                    d = "reset" if again else self.difference(last, s)
                    fell = last if d == "reset" and not again else None
                    if isinstance(d, str):
                        self.state[s], self.word[s] = LOST, d
                    else:
                        known(self, last, s, d)
            if there:
                last = s
            elif self.why[s] == ABSENT or not self.carries(s):
                last = fell = None


# ---- members of a formula in step ----

class Own:
    """What a member has in each finest interval; as a formula takes it once it was joined with others. A stretch is
    known with snapshot k: (its intervals, [(amount, time, reading, enabled)])."""

    def __init__(self, member):
        self.member = member
        self.state, self.word = list(member.state), list(member.word)
        self.stretch = {k: (list(range(j + 1, k + 1)), [part]) for k, (j, part) in member.stretch.items()}
        self.joined = False
        self.words = [{word} for word in member.word]  # any of these may be the reason

    def say(self, inside, state, word):
        for s in inside:
            self.state[s], self.word[s] = state, word

    def when(self, s):
        """The snapshot with which the interval is known, or None."""
        return next((k for k, (inside, _) in self.stretch.items() if inside[0] <= s <= k and s in inside), None)

    def waits(self, inside):
        """Why a reading in the midst of a stretch is missing."""
        return next((self.word[s] for s in inside if self.state[s] == CARRIED), None)


def share_absence(owns):
    """Where one counter of an instance is absent the others are."""
    for s in range(len(owns[0].state)):
        away = next((o for o in owns if o.state[s] == ABSENT), None)
        for o in owns if away else ():
            k = o.when(s)
            if k:
                inside = o.stretch.pop(k)[0]
                o.say(inside, LOST, o.waits(inside))
            o.say([s], ABSENT, away.word[s])
        for o in owns:
            o.words[s] |= {word for x in owns for word in (x.word[s], x.member.word[s])}


def step_together(owns):
    """Stretches begin and end where those of all do, and are known if they are so of all."""
    for o in owns:
        o.joined = True
    for block in owns[0].member.world.blocks:
        first = block[0]
        for s in block[1:]:
            if not any(inside[0] <= s < k for o in owns for k, (inside, _) in o.stretch.items()):
                one_stretch(owns, range(first + 1, s + 1), s)
                first = s


def one_stretch(owns, inside, k):
    lost = next((o.word[s] for s in inside for o in owns if o.state[s] == LOST), None)
    waits = next((w for w in (o.waits(inside) for o in owns) if w), None)
    said = {lost, waits} | {o.member.word[s] for s in inside for o in owns}
    for o in owns:
        parts = [p for s in inside if s in o.stretch for p in o.stretch.pop(s)[1]]
        mine = [s for s in inside if o.state[s] in (KNOWN, CARRIED, LOST)]
        for s in inside:
            o.words[s] |= said
        o.say(mine, LOST if lost else KNOWN, lost or waits)
        if mine and not lost:
            o.stretch[k] = mine, parts


def known(o, j, k, amount):
    for s in range(j + 1, k):
        o.state[s] = CARRIED  # its word stays
    o.state[k] = KNOWN
    pair = o.reading[j], o.reading[k]
    enabled = pair[1].enabled - pair[0].enabled if o.instance.kind == "pmu" and pair[1].enabled is not None else 0
    o.stretch[k] = j, (amount, o.time(j, k), o.number[k] * o.scale, enabled)


class Sum:
    """What one member has in an interval (a, b]."""

    def __init__(self, own, a, b):
        world = own.member.world
        self.own = own
        member = self.member = own.member
        self.lasts = world.ticks(a, b)
        self.known = self.absent = self.lost = self.seen = Fraction(0)
        self.count = self.weighted = Fraction(0)
        self.enabled = 0
        self.words, self.lost_words = [], []
        self.readings = []
        self.bounds = member.reading[a], member.reading[b]
        for k in range(a + 1, b + 1):
            inside, parts = own.stretch.get(k, ([], []))
            self.seen += sum(world.ticks(s - 1, s) for s in inside)
            for amount, time, reading, enabled in parts:
                self.known += time
                self.enabled += enabled
                self.weighted += reading * time
                counts = member.counter.semantics in COUNTS
                self.count += amount if counts else amount * time
                self.readings += [] if counts else [amount]
        for s in range(a + 1, b + 1):
            if own.state[s] == ABSENT:
                self.absent += world.ticks(s - 1, s)
                if own.word[s]:
                    self.words.append(own.word[s])
            elif own.state[s] == LOST or (own.state[s] and (own.when(s) > b if b < world.n - 1 else False)):
                self.lost += world.ticks(s - 1, s)
                self.lost_words += own.words[s]
                # What waits since before another counter was absent, or with others that were lost before it.
                while s and own.state[s - 1] in ((ABSENT, LOST) if own.joined else (ABSENT,)):
                    s -= 1
                    self.lost_words += own.words[s] - {"offline", "gone"}

    def shun(self):
        self.lost += self.seen
        self.known = self.seen = Fraction(0)
        self.lost_words = ["unstable"] + self.lost_words

    def timed(self):
        """What is known of it, by the event's own clock if that may stand still."""
        return self.enabled or self.known

    def doubtful(self):
        return any(100 * (r.end - r.begin) > self.lasts for r in self.bounds if r is not None)


# ---- the recording ----

class World:
    def __init__(self, recording):
        self.recording = recording
        slope = dict(zip(map(id, recording.chunks), slopes(recording.chunks)))
        self.snapshot, rows = [], []
        for chunk, row, values in recording.snapshots():
            self.snapshot.append(Snapshot(chunk, row, slope[id(chunk)]))
            rows.append(values)
        self.n = len(rows)
        self.since = [Fraction(0)]
        for before, now in zip(self.snapshot, self.snapshot[1:]):
            self.since.append(self.since[-1] + (now.tick - before.tick) * now.slope)
        self.slewed = any(s.slope != 1 for s in self.snapshot)
        self.scaled = recording.header.get(26, True)
        self.blocks, self.gaps = [], []
        broken = [d.offset for d in recording.damage]
        for s in range(self.n):
            if s:
                a, b = self.snapshot[s - 1].chunk, self.snapshot[s].chunk
                hole = a is not b and any(a.offset < o <= b.offset for o in broken)
                if (a.run, a.segment) == (b.run, b.segment) and not hole:
                    self.blocks[-1].append(s)
                    continue
                if a.run == b.run:
                    self.gaps.append(s)
            self.blocks.append([s])
        self.members = {}
        for s, values in enumerate(rows):
            for v in values:
                of = self.members.setdefault(v.counter.name, {})
                if v.instance.id not in of:
                    of[v.instance.id] = Member(self, v.counter, v.instance)
                if of[v.instance.id].reading[s] is None:
                    of[v.instance.id].reading[s] = v
        for of in self.members.values():
            for m in of.values():
                m.finish()
        self.cpus = {c["cpu"]: c for c in recording.topology}
        self.trees, self.formulas, self.wholes = {}, {}, {}

    def fact(self, name):
        return next((c.value for c in reversed(self.recording.configs) if c.name == name and not c.reason), 0)

    def bound(self, counter, instance, scale):
        """Section 3, greatest rates: counts per second, counts in a turn or None; {}: not known."""
        power = self.fact("msr.rapl_power_unit")
        info, zones = self.fact("msr.pkg_power_info"), {}
        for c in self.recording.configs:
            match = re.fullmatch(r"powercap\.([^.]+)\.name", c.name)
            if match:
                zones[match[1]] = c.value

        def most(what):
            return max((self.fact("powercap.%s.%s" % (z, what)) for z in zones if zones[z].startswith("package")), default=0)
        watt = Fraction(1, 1 << (power & 15))
        rated = max((info & 0x7fff) * watt, Fraction(most("constraint_0.max_power_uw"), 10**6))
        named = max((info >> 32 & 0x7fff) * watt, Fraction(most("constraint_1.max_power_uw"), 10**6))
        package = max(4 * rated + 150 if rated else 1000, named)
        platform = 2000 + package * len({c.get("package") for c in self.recording.topology})
        out = {"delay": 2 if 12 in self.recording.header else Fraction(2, 100)}
        if counter.name.startswith("powercap.energy."):
            kind = counter.name[16:]
            ranges = [self.fact("powercap.%s.max_energy_range_uj" % z) for z in zones if zones[z].startswith(kind)]
            turn = min((r for r in ranges if r), default=0) / (scale * 10**6)
            return {**out, "rate": (platform if kind == "psys" else package) / scale, "turn": turn}
        sensor = counter.name == "hwmon.energy" and not instance.attrs.get(1, "").startswith("amd_energy")
        if counter.attrs.get(11, "").startswith("power") or counter.name == "hwmon.energy":
            return {**out, "rate": (platform if "psys" in counter.name or sensor else package) / scale, "turn": None}
        if counter.name in ("msr.amd_pkg_energy", "msr.amd_core_energy"):
            _, family, model = self.recording.header[10].split("-")[:3]
            family, model = int(family), int(model, 16)
            wide = family == 25 and (0x10 <= model <= 0x1f or 0x90 <= model <= 0xaf) or family == 26 and model <= 0x1f
            unit = Fraction(1, 1 << (self.fact("msr.amd_power_unit") >> 8 & 31))
            return {**out, "rate": package / unit, "turn": 1 << 32, "wide": True, "width": 64 if wide else 32}
        if re.fullmatch(r"msr\.(pkg|pp0|pp1)_energy_status", counter.name):
            micro = self.recording.header[10].split("-")[1:3] in [["6", m] for m in ("37", "4A", "4C", "5A", "75")]
            unit = Fraction(1 << (power >> 8 & 31), 10**6) if micro else Fraction(1, 1 << (power >> 8 & 31))
            return {**out, "rate": package / unit, "turn": 1 << 32}
        return {}

    def ticks(self, j, k):
        """Corrected ns between the ticks of two snapshots."""
        return self.since[k] - self.since[j]

    def runs(self):
        """First and last snapshot of each run."""
        out = []
        for s in range(self.n):
            run = self.snapshot[s].chunk.run
            if out and out[-1][0] == run:
                out[-1][2] = s
            else:
                out.append([run, s, s])
        return [(a, b) for _, a, b in out]

    def intervals(self, every=None, total=False):
        """(a, b] of the rows of show --all, --every, --total; ns."""
        out = []
        for a, b in self.runs():
            if total:
                out.append((a, b))
                continue
            if not every:
                begin = a
                for s in range(a + 1, b + 1):
                    asked = s == b or s + 1 in self.gaps or not self.snapshot[s].between
                    if s not in self.gaps and asked:
                        out.append((begin, s))
                    begin = s if asked or s in self.gaps else begin
                continue
            bins = {}
            for s in range(a + 1, b + 1):
                n = -(-(self.snapshot[s].tick - self.snapshot[a].tick) // every)
                low, high = bins.get(n, (s - 1, s))
                bins[n] = low, s
            out += [bins[n] for n in sorted(bins)]
        return [i for i in out if i[1] > i[0]]

    # ---- places ----

    DEPTH = {"system": 0, "package": 1, "node": 2, "die": 3, "cluster": 4, "core": 5, "cpu": 6, "pmu": 1,
             "task": 9, "cgroup": 9, "device": 9}
    KEYS = {"package": ("package",), "die": ("package", "die"), "node": ("node",), "core": ("package", "die", "core"),
            "cpu": ("cpu",), "cluster": ("package", "die", "cluster")}

    def inside(self, place):
        """place: (level, {column: text}). A test of instances."""
        level, at = place

        def wanted(i):
            if level == "system":
                return i.kind != "device" or not i.attrs.get(4)
            if level in ("task", "cgroup", "device"):
                return i.kind == level and i.attrs.get(1) == at.get(level)
            if level == "pmu":
                return i.kind == "pmu" and i.attrs.get(1) == at.get("device")
            cpu = self.cpus.get(i.cpu)
            if cpu is None or i.kind in ("task", "cgroup", "device"):
                return False
            if i.kind == "pmu":
                nodes = {c.get("node") for c in self.cpus.values() if c.get("package") == cpu.get("package")}
                if level not in ("package", "die", "node") or (level == "node" and len(nodes) > 1):
                    return False
            elif self.DEPTH[i.kind] < self.DEPTH[level]:
                return False
            return all(str(cpu.get(k, "")) == at[k] for k in self.KEYS[level] if at.get(k, "") != "")
        return wanted

    def area(self, instance, kinds):
        """The smallest place that holds instances of such kinds, as a key."""
        if len(kinds) == 1:
            return instance.id
        cpu = self.cpus.get(instance.cpu)
        kind = min(kinds, key=lambda k: self.DEPTH[k])
        if kinds & {"system", "task", "cgroup"}:
            return ()
        return tuple(cpu.get(k) for k in self.KEYS.get(kind, ("package",)))

    # ---- formulas ----

    def opened(self, name):
        """The counters of an event that was opened more than once; their names end in #2, #3 ..."""
        return [name] + [n for n in self.members if n.startswith(name + "#")]

    def beside(self, names):
        """Of events that were opened several times, by name: the one in the group of most of the others."""
        group = {}
        for name in names:
            group[name] = {n: next(iter(self.members[n].values())).counter.attrs.get(13)
                           for n in self.opened(name) if n in self.members}
        out = {}
        for name in names:
            def others(n, name=name):
                return sum(group[name][n] in group[x].values() for x in names if x != name)
            out[name] = max(group[name], key=others) if group[name] else name
        return out

    CLASSES = {"intel_imc": "uncore_imc"}  # names that formulas of several generations have

    def counters(self, name):
        """Members that a name stands for: a counter, or an event of all PMUs of a kind."""
        if name in self.members:
            return list(self.members[name].values()), False
        match = re.fullmatch(r"([^/]+)(/.*)", name)
        found, pmus = [], 0
        if match:
            kind = re.compile(re.escape(self.CLASSES.get(match[1], match[1])) + r"_?\d+" + re.escape(match[2]))
            for counter, of in self.members.items():
                if kind.fullmatch(counter):
                    found += of.values()
                    pmus += 1
        return found, bool(pmus)

    def tree(self, text):
        if text not in self.trees:
            self.trees[text] = Parser(text).whole()
        return self.trees[text]

    def raw(self, name, place, a, b, rate=False):
        return self.formula(("input", "rate(%s)" % name if rate and self.is_count(name) else name), place, a, b)

    def is_count(self, name):
        return self.counters(name)[0][0].counter.semantics in COUNTS

    def metric(self, text, place, a, b):
        return self.formula(self.tree(text), place, a, b)

    def whole(self, name, a, b):
        """The metric in the row of the system; an instance of Missing if it has no value there."""
        if (name, a, b) not in self.wholes:
            try:
                self.wholes[name, a, b] = self.metric(self.formulas[name], ("system", {}), a, b)
            except Missing as m:
                self.wholes[name, a, b] = m
        return self.wholes[name, a, b]

    def feeds(self, text):
        """Whether all that a formula names is there."""
        aspects = set()
        collect(self.tree(text), aspects)
        return all(name in self.formulas if aspect == "system" else self.counters(name)[0] for aspect, name, _ in aspects)

    def built_in(self, rows):
        """The metrics that pmrep has of its own, from json of `list metrics`: of each the first formula that is fed."""
        for row in rows:
            for text in [row["formula"]] + (row["otherwise"] or "").split(";"):
                if text and not row["family"] and row["metric"] not in self.formulas and self.feeds(text):
                    self.formulas[row["metric"]] = text

    def formula(self, tree, place, a, b):
        wanted = self.inside(place)
        inputs, aspects = {}, set()
        collect(tree, aspects)
        needed = set()
        taken = self.beside({x for aspect, name, by in aspects for x in (name, by) if x is not None and aspect != "system"})
        for aspect, name, by in aspects:
            for x in (name, by):
                if x is None or x.startswith("#") or aspect == "system":
                    continue
                if x not in inputs:
                    inputs[x] = [m for m in self.counters(taken[x])[0] if wanted(m.instance)]
                if aspect not in ("has_event", "source_count"):
                    needed.add(x)
        late, shunned = self.shares(tree, aspects, inputs, needed, a, b) if asks_percent(tree) else (False, set())
        n = self.of_members(tree, aspects, inputs, needed, a, b, shunned)
        n.doubtful |= late or (asks_percent(tree) and n.value > SHARE_MOST)
        return n

    def shares(self, tree, aspects, inputs, needed, a, b):
        """Section 8, shares: of each member by itself. Whether one is above 101, and those that contradict themselves."""
        finest = max((inputs[x] for x in needed), key=len, default=[])
        late, shunned = False, set()
        for member in finest if len(finest) > 1 else ():
            own = {x: [m for m in of if m.instance.id == member.instance.id or (
                m.instance.kind != member.instance.kind and self.inside_of(m.instance, member.instance))] for x, of in inputs.items()}
            if not all(own[x] for x in needed):
                continue
            try:
                late |= self.of_members(tree, aspects, own, needed, a, b, set()).value > SHARE_MOST
            except Missing as e:
                if "unstable" in e.args[0]:
                    shunned |= {m for x in needed for m in own[x]}
        return late, shunned

    def inside_of(self, outer, inner):
        at = [self.cpus.get(i.cpu, {}) for i in (outer, inner)]
        return outer.kind == "system" or all(at[0].get(k) == at[1].get(k) for k in self.KEYS[outer.kind])

    def of_members(self, tree, aspects, inputs, needed, a, b, shunned):
        taken = self.beside({x for aspect, name, by in aspects for x in (name, by) if x is not None and aspect != "system"})
        why, alone = {}, []
        for x in sorted(needed):
            if not inputs[x]:
                why[x] = {"no-input"}
                continue
            own = [Sum(self.joined((m,))[m], a, b) for m in inputs[x]]
            if not any(s.known for s in own):
                lost = {w for s in own if s.lost for w in s.lost_words if w}
                why[x] = lost or {w for s in own for w in s.words} or {"offline", "gone"}
                alone += own
        used = [x for x in sorted(needed) if x not in why]
        sums = {x: inputs[x] for x in used}
        together = not alone and len({m.counter.id for of in sums.values() for m in of}) > 1
        if alone:
            sums = {x: [Sum(self.joined((m,))[m], a, b) for m in of] for x, of in sums.items()}
        else:
            sums = self.in_step(sums, a, b)
        for s in (s for of in sums.values() for s in of if s.member in shunned):
            s.shun()
        every = [s for x in used for s in sums[x]] + alone
        known, lost = sum(s.seen for s in every), sum(s.lost for s in every)
        coverage = Fraction(known, known + lost) if known + lost else None
        values, doubtful, wholes = {}, False, []
        for aspect, name, by in aspects:
            text = spell(aspect, name, by)
            try:
                if aspect == "system":
                    whole = self.whole(name, a, b)
                    if isinstance(whole, Missing):
                        raise whole
                    values[text] = whole.value
                    doubtful |= whole.doubtful
                    alone += [whole] * whole.alone
                    wholes.append(whole.coverage if whole.coverage is not None else 1)
                elif aspect == "has_event":
                    values[text] = float(bool(self.counters(name)[0]))
                elif name in why:
                    raise Missing(why[name])
                else:
                    values[text] = self.aspect(aspect, name, sums[name], sums.get(by), a, b, together or bool(shunned))
                    timed = aspect in ("rate", "elapsed", "seconds")
                    registers = len(needed) > 1 and sums[name][0].member.counter.source == "msr"
                    doubtful |= (timed or registers) and any(s.doubtful() for s in sums[name])
            except Missing as m:
                why[text] = m.args[0]
        words = set().union(*why.values()) if why else set()
        if tree[0] == "input":
            if tree[1] not in values:
                raise Missing(words, coverage)
            return Number(values[tree[1]], coverage, doubtful)
        v = expr_diff.evaluate(tree, {k: float(x) for k, x in values.items()})
        if v != v:
            raise Missing(words | {"division-by-zero", "undefined", "unstable"}, coverage)
        return Number(v, min([coverage if every and coverage is not None else Fraction(1)] + wholes), doubtful, bool(alone))

    def in_step(self, inputs, a, b):
        """Sums of each input over its members, from the support of all."""
        members = sorted({m for of in inputs.values() for m in of}, key=lambda m: (m.counter.id, m.instance.id))
        taken = self.joined(tuple(members))
        return {x: [Sum(taken[m], a, b) for m in of] for x, of in inputs.items()}

    @functools.lru_cache(None)
    def joined(self, members):
        taken = {m: Own(m) for m in members}
        areas = {}
        for o in taken.values():
            areas.setdefault(self.area(o.member.instance, {m.instance.kind for m in taken}), []).append(o)
        for together in areas.values():
            if len(together) > 1:
                if len({o.member.instance.id for o in together}) == 1:
                    share_absence(together)
                step_together(together)
        return taken

    def aspect(self, aspect, name, sums, by, a, b, together):
        if aspect == "source_count":
            return len({s.member.counter.attrs.get(11) for s in sums})
        have = [s for s in sums if s.known]
        counter = sums[0].member.counter
        rule = "mean" if counter.aggregation == "sum" and 30 in counter.attrs else counter.aggregation
        pmus = self.counters(name)[1]
        if pmus:
            rule = "sum"
        lost = [s for s in sums if not s.known and s.lost]
        if rule == "sum" and lost:
            raise Missing({w for s in lost for w in s.lost_words if w})
        if aspect == "aggr_nr":
            return len(have)
        if not have:
            words = {w for s in sums for w in s.lost_words + s.words if w}
            raise Missing(words or {"offline", "gone"})
        if rule == "none" and len(have) > 1:
            raise Missing({"not-aggregated"} | {w for s in sums for w in s.lost_words if w})
        level = counter.semantics not in COUNTS
        if aspect == "seconds":
            other = {s.member.instance.id: s for s in by}
            out = []
            for s in have:
                y = other.get(s.member.instance.id)
                if y is None or not y.count:
                    if s.count:
                        raise Missing({"division-by-zero"})
                    out.append(Fraction(0))
                else:
                    out.append(s.count * s.timed() / 10**9 / y.count)
            return put_together(rule, out)
        if (counter.semantics == "gauge" and aspect in ("", "mean", "rate") and rule in ("mean", "max", "min") and len(sums) > 1
                and not together and sums[0].member.instance.kind not in ("task", "cgroup")):
            return self.by_rows(rule, [s.member for s in sums], a, b)
        if aspect == "rate":
            of = [s.count / (s.timed() + s.absent) * 10**9 for s in have]
        elif aspect == "elapsed":
            of = [s.timed() / 10**9 for s in have]
        elif aspect in ("first", "last", "max_of", "mean"):
            of = [self.look(aspect, s, rule, a, b) for s in have]
        elif not level:
            of = [s.count for s in have]
        elif counter.semantics == "gauge":
            of = [s.count / ((s.known + s.absent) if rule == "sum" else s.known) for s in have]
        elif counter.semantics == "peak":
            of = [max(s.readings) for s in have]
        else:
            of = [s.readings[-1] for s in have]
        if rule == "mean" and (aspect == "mean" or (aspect == "" and counter.semantics == "gauge")):
            return sum(x * s.seen for x, s in zip(of, have)) / sum(s.seen for s in have) * self.bytes(name, counter)
        return put_together(rule, of) * self.bytes(name, counter)

    def by_rows(self, rule, members, a, b):
        """What each finest interval has of levels, by its time."""
        total = time = Fraction(0)
        for k in range(a + 1, b + 1):
            have = [s for s in (Sum(self.joined((m,))[m], k - 1, k) for m in members) if s.known]
            of = [s.count / s.known for s in have]
            if of:
                row = sum(x * s.seen for x, s in zip(of, have)) / sum(s.seen for s in have) if rule == "mean" else put_together(rule, of)
                total += row * self.ticks(k - 1, k)
                time += self.ticks(k - 1, k)
        return total / time

    @staticmethod
    def bytes(name, counter):
        """Formulas of classes of PMUs take traffic in bytes, here lines of 64, whatever the scale; unit 1 says nothing."""
        lines = name.startswith("intel_imc/cas_count_") and counter.unit == "1"
        return 64 / Fraction(counter.scale) if lines else 1

    @staticmethod
    def look(aspect, s, rule, a, b):
        m = s.member
        inside = [x for k in range(a + 1, b + 1) for x in s.own.stretch.get(k, ([], 0))[0]] if s.own.joined else range(a + 1, b + 1)
        there = [k for k in inside if m.number[k] is not None]
        if aspect == "first":
            begin = inside[0] - 1
            if m.number[begin] is None and m.counter.semantics == "cumulative" and there[0] in m.stretch:
                begin = m.stretch[there[0]][0]
            return m.number[begin if m.number[begin] is not None else there[0]] * m.scale
        if aspect == "last":
            return m.number[there[-1]] * m.scale
        if aspect == "max_of":
            return max(m.number[k] for k in there) * m.scale
        return s.weighted / ((s.known + s.absent) if rule == "sum" else s.known)


def put_together(rule, values):
    if rule == "mean":
        return sum(values) / len(values)
    return {"sum": sum, "max": max, "min": min, "first": lambda v: v[0], "none": lambda v: v[0]}[rule](values)


class Parser(expr_diff.Parser):
    def primary(self):
        kind, value = self.t[self.i]
        if kind in ("id", "word") and value in ("rate", "seconds", "system") and self.t[self.i + 1] == ("mark", "("):
            self.i += 2
            names = [self.take()]
            if value == "seconds":
                self.take("mark", ",")
                names.append(self.take())
            self.take("mark", ")")
            return ("input", "%s(%s)" % (value, ",".join(names)))
        return super().primary()


ASPECT = re.compile(r"(rate|seconds|system|elapsed|first|last|mean|max_of|aggr_nr|source_count|has_event)\((.*)\)")


def asks_percent(tree):
    return tree[0] == "percent" or any(asks_percent(t) for t in tree if isinstance(t, tuple))


def collect(tree, out):
    if tree[0] == "input":
        match = ASPECT.fullmatch(tree[1])
        if not match:
            out.add(("", tree[1], None))
        elif match[1] == "seconds":
            out.add(("seconds", *match[2].split(",")))
        else:
            out.add((match[1], match[2], None))
        return
    for t in tree[1:]:
        if isinstance(t, tuple):
            collect(t, out)


def spell(aspect, name, by):
    return "%s(%s)" % (aspect, name + ("," + by if by else "")) if aspect else name
