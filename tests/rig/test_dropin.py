#!/usr/bin/env python3
"""test_dropin.py [long | longer] [SEED]: perf stat and turbostat beside pmrec in their places: the same command lines, on this
machine and on an emulated one. What they print and how they end differ in numbers only, and these by no more than noise.

long: all that their manuals show, and 80 generated lines of perf; longer: and 200."""
import concurrent.futures
import csv
import json
import itertools
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import machines
import patch_cpuid
import rig

PMREC = os.path.join(rig.BIN, "pmrec")
ENV = dict(os.environ, LC_ALL="C")
TURBOSTAT_PROGRAM = shutil.which("turbostat", path="/usr/sbin:/usr/bin")

# '@' is the program.
PERF = """
@ true
@ -d true
@ -n true
@ -n -e cs true
@ -a --per-socket --summary -x, -e cs sleep .02
@ -e 1:1 -x, true
@ --timeout=150 -e cs sleep 3; echo $?
mkfifo c a; exec 8<>c 9<>a; @ --control fifo:c,a -a -x, -e cs sleep 5 & sleep .1; echo stop >&8; read -t 9 -u 9 said; wait $!; echo $?
@ -r 2 -x, -e page-faults true
@ -r 0 -x, -e cs sleep .05 2>&1 | head -3
@ -r 0 -e cs sleep .05 2>&1 | head -14
@ -x, true
@ -j -e task-clock true
@ -aA -x, -e cs sleep .05
@ -a --per-core -x, sleep .05
@ -C 0 sleep .05
@ -e task-clock,cs -o f true; cat f
@ -x, -e cs -o f true; @ -x, -e cs -o f --append true; cat f
@ -e task-clock --log-fd 3 true 3>g; cat g
@ -a -e cpu-clock -I 100 --interval-count 2 sleep 5
@ -e page-faults sh -c 'echo out; echo err >&2; exit 3'
echo hi | @ -x, -e page-faults cat
@ -D 20 -a -e cpu-clock sleep .2
@ -e cs --timeout 100 sleep 5
@ -d -e cs true
@ -I 0 -e cs true
@ -e cs --append true
@ true -x, extra
@ record -e cs -o - true 2>/dev/null | @ report -i - 2>&1 | grep -c cs
@ -a -e cs -I 100 --interval-count 1 --summary
@ -x, -a -e cs sleep .6 & p=$!; sleep .3; kill -USR1 $p; wait $p; echo $?
@ -x, -a -e cs sleep .6 & p=$!; sleep .3; kill -USR2 $p; wait $p 2>/dev/null; echo $?
@ -C 0-1, -e cs sleep .05
@ -o - -e cs true; ls
mkdir d; chown 1000 d; chmod 700 d; @ -o d/f -x, -e cs true; echo $?; grep -c cs d/f
mkfifo c; exec 8<>c; @ -a -D -1 -x, --control fifo:c -e cs sleep .3; echo $?
"""
PERF_LONG = """
@ -ddd true
@ -n -x, true
@ -x ';' true
@ -j true
@ -a -A sleep .05
@ -a -A -j -e cs sleep .05
@ -a --per-socket sleep .05
@ -a --per-die -x, sleep .05
@ -a --per-node -x, sleep .05
@ -a --per-core -j sleep .05
@ -C 0,1 -x, sleep .05
@ -e cs -e faults -x, true
@ -e task-clock:u true
@ -e '{task-clock,cs}' true
@ -B -e page-faults true
@ --no-big-num -e page-faults true
@ -e sched:sched_switch -x, true
@ -S -i -e page-faults true
@ --pre 'echo pre' --post 'echo post' -e page-faults true
@ --eve page-faults true
@ -e page-faults --field-separator=, true
@ -e page-faults -- true -x
@ --quiet true
@ -x, --log-fd 1 true
sleep 1 & @ -p $! -e cs -x, sleep .05; wait
sleep 1 & @ -a -p $! -e cs -x, sleep .05; wait
@ --for-each-cgroup / -a -x, -e cs sleep .05
@ -a -x, -e cs -G / sleep .05
sleep 1 & @ --per-thread -p $! -e cs -x, sleep .05; wait
@ -e cs -x, -a & p=$!; sleep .3; kill -INT $p; wait $p; echo $?
timeout -s INT .3 @ -e cs -x, sleep 5; echo $?
mkfifo c a; chown 1000 c a; exec 8<>c 9<>a; @ -a -D -1 --control fifo:c,a -e cs sleep .5 & sleep .1; echo enable >&8; \
read -t 9 -u 9 said; echo $said; wait $!; echo $?
mkfifo c a; exec 8<>c 9<>a; @ -a -D -1 -x, --control fifo:c,a -e cs -I 100 sleep .8 2>f & sleep .35; echo enable >&8; \
read -t 9 -u 9 said; wait $!; cut -d, -f2 f | sed 's/[0-9][0-9]*/N/' | uniq
mkfifo c a; exec 8<>c 9<>a; @ -D -1 --control fd:8,9 -e task-clock -r 2 sleep .1; echo $?
mkfifo c a; exec 8<>c 9<>a; @ -a --control fd:8,9 -x, -e cs sleep .6 & sleep .3; echo nonsense >&8; read -t .2 -u 9 said; \
echo "[$said]"; wait $!
@ -I 50 -a -e cs -x, sleep 1 2>&1 | head -n 2
timeout -s INT .3 @ -e cs sleep 5; echo $?
timeout -s INT .3 @ -a -e cs; echo $?
timeout -s INT .35 @ -e cs -I 100 sleep 5 2>&1 | grep -v cs
@ -e cs -I 100 -a -j 2>&1 | head -n 2; echo ${PIPESTATUS[*]}
@ -e cs yes | head -n 1; echo ${PIPESTATUS[*]}
@ -e cs true <&-; echo $?
@ -e cs true 2>&-; echo $?
@ -e cs true >&-; echo $?
@ -e cs true >&- 2>&- <&-; echo $?
yes | @ -e cs head -n 1
@ -e cs sh -c 'exec >&-; exit 4'
env -i /bin/sh -c '@ -e cs /bin/true'
x=$(@ -x, -e cs true 2>&1 >/dev/null); echo "$x"
@ -I 100 -a -e cs --interval-count 0 sleep .05
@ --timeout 0 -e cs true
@ --td-level 1 -e cs true
@ -p $$ -C 0 -e cs sleep .05 2>&1 >/dev/null | head -n 1
@ record -e cs true 2>/dev/null | @ report 2>&1 | grep -c cs; ls
@ record -e task-clock,cs -o - true 2>/dev/null | @ report -i - 2>&1 | grep -e task-clock -e cs
mkfifo c a; exec 8<>c 9<>a; @ -a -D -1 --control fifo:c,a -e cs sleep .5 & for w in enable disable disable enable; do \
sleep .05; echo $w >&8; read -t 9 -u 9 said; echo $said; done; wait $!; echo $?
@ -a -A --per-socket -x, -e cs sleep .05
@ -a --per-core -x, -e cycles,instructions sleep .05
@ -C 1 -A -x, -e cycles,instructions sleep .05
@ -a --per-socket -e cycles,instructions -I 50 --interval-count 1 sleep 1
@ -a --per-core --per-socket -x, -e cs sleep .05
@ -a --per-socket --per-core -x, -e cs sleep .05
@ -e duration_time,cs -a -x, sleep .05
@ -e duration_time,user_time -a -j sleep .05
@ -a --per-core -e cs,duration_time -x, sleep .05
@ -a --per-socket -e duration_time,cs -j sleep .05
@ -a -A -e duration_time,cs -x, sleep .05
@ -C 1 -A -e cs,duration_time -I 50 --interval-count 1 sleep 1
sleep 2 & @ --per-thread -p $! -e cs,task-clock -x, -I 100 --interval-count 2; echo $?
{ set -m; @ -a -e cs -x, -I 100 --interval-count 4 2>f & p=$!; sleep .25; kill -STOP -- -$p; sleep .35; kill -CONT -- -$p; wait $p; } \
2>/dev/null; cut -d, -f3,4 f
@ -x ';' -I 100 -a -e task-clock,cs sleep .25 2>&1 | while IFS=';' read -r time count unit event rest; do echo "$event $unit"; done
@ -x ' ' -e duration_time,cs -a true 2>&1 | awk '{ print NF, $2, $3 }'
setpriv --bounding-set=-all @ true
setpriv --bounding-set=-all @ -x, -d true
setpriv --bounding-set=-all @ -x, -I 100 -e task-clock,cs sleep .25
setpriv --bounding-set=-all sh -c 'sleep 1 & @ -x, -p $! -e cs sleep .05'; echo $?
@ --all-user -e cs,task-clock,cycles -x, true
@ --all-kernel -e cs,task-clock,cycles -x, true
@ -x, -e cs sh -c 'trap "" INT; sleep .6; exit 7' & p=$!; sleep .3; kill -INT $p; wait $p; [ $? -eq 7 ] && echo seven
@ -e cs -x, sleep 1.2 & p=$!; sleep .4; kill -INT $p; wait $p; [ $? -eq 0 ] && echo good
@ record -I 100 -o d -a -e cs sleep .25 2>/dev/null; @ -x, report -i d
@ -x% -e cs,task-clock true
@ -x ' ' -e cs,task-clock true
@ -x '"' -e task-clock true
@ -x. -e cs true
@ -x ' ' -e cycles true
@ -a -e cs,task-clock --for-each-cgroup / sleep .05
mkfifo c a; exec 8<>c 9<>a; @ -D -1 --control fd:8,9 -a -e cs --for-each-cgroup / sleep .05
@ -a -e cs,task-clock -G /,/ sleep .05
@ -r 2 --null true 2>&1 | grep -c elapsed
for i in 1 2; do @ -x, -e page-faults -o r$i true; done; paste -d, r1 r2 | grep -v '#'
echo a b | @ -x, -e cs wc -w
ulimit -n 32; @ -x, -e cs true
{ ( ulimit -f 0; exec @ -x, -e cs -o f true ); echo $?; } 2>/dev/null
"""
TURBOSTAT = r"""
@ -q -S -i 2 -s Busy% & p=$!; sleep 2.9; kill $p; wait $p; echo $?
@ -q -n 1 -i .1
@ -q -n 2 -i .1 -S
@ -q -n 1 -i .1 --show PkgWatt
@ -q -n 1 -i .1 --show sysfs
@ -q -n 1 -i .1 -c core --show Core,CPU,Busy%,CoreTmp
@ -q -n 1 -i .1 -J --hide sysfs,IRQ
@ -q -n 1 -i .1 -s Busy% --add msr0x611,u32,package,raw,BAR --add msr0x10,cpu,u64,delta,FOO
@ -q -s Busy%,Bzy_MHz -int .1 -num 1
@ -q -n 1 -i .1 -s usec,Time_Of_Day_Seconds,CPU,Busy%
@ --list
@ -q -s CPU,Busy% sh -c 'exit 3'
@ -q -s Busy% -o f sleep .05; cat f
@ -q -n 1 -i .1 --hide C1% -s sysfs
@ -q -n 1 -i .1 -s C1,C1%,CPU --hide C1,sysfs
@ -q -n 1 -i .1 -s Core,CPU --add msr0x611,package,u32,raw,BAR
@ -q -n 1 -i .1 -d -s Busy%,CPU 2>/dev/null
@ -q -n 2 -i .1m -S -s Busy%
@ -q -n 1 -i .1 --a msr0x10 -s Busy%
@ --list extra
@ -q -n 1 -i .1 -s Busy% | head -n 1
@ -q -n 1 -i .1 -c ,0, -s CPU
@ -q -T 90 -n 1 -i .1 -s CoreTmp,PkgTmp
@ -n 1 -i .1 -o f -s Busy% 2>&1 | wc -l; grep -c : f | grep -c ..
{ sleep .5; echo; sleep 9; } | timeout 5 @ -q -i 30 -n 1 -S -s Busy%; echo ${PIPESTATUS[1]}
{ sleep 1; echo q; sleep 9; } | timeout 6 @ -q -i .4 -S -s Busy% >/dev/null; echo ${PIPESTATUS[1]}
@ -q -i 30 -n 1 -S -s Busy% & p=$!; sleep 1; kill -USR1 $p; wait $p; echo $?
@ -q -d -n 1 -i .1 -S -s Busy%
@ -q -n 1 -i .1 --hide Busy% --show frequency,CPU
@ -q -n 1 -i .1 --hide all --add msr0x10,cpu,u64,delta,FOO
@ -q -n 1 -i .1 -s CPU --add msr0x10,raw,u32,X --add msr0x10,delta,X
@ -q -n 1 -i .1 -s CPU --cpu ''
@ -q -n 1 -i .1 -s CPU,PkgWatt
@ -q -n 1 -i .1 -s ,Busy%,,CPU, --hide ,CPU
@ -q -S -s Busy% sleep 1.5 & p=$!; sleep .7; kill -INT $p; wait $p; [ $? -eq 0 ] && echo good
{ set -m; @ -q -n 4 -i .2 -S -s Busy% >f & p=$!; sleep .5; kill -STOP -- -$p; sleep .5; kill -CONT -- -$p; wait $p; } 2>/dev/null; cat f
{ @ -q -s Busy% -i .1 & p=$!; sleep 1.5; kill -INT $p; wait $p; echo $? >&2; } | head -n 4
@ -q -i .4 -S -s Busy% & p=$!; sleep 1; kill -USR2 $p; wait $p 2>/dev/null; echo $?
@ -q -n 1 -i .1 --show CPU,hwidle,swidle,cpuidle,pct_idle
@ -q -n 1 -i .1 --hide hwidle,cpuidle
"""

# Which columns a machine has.
COLUMNS = ["@ -q -n 1 -i .1", "@ -q -n 1 -i .1 -e all --hide X2APIC", "@ --list",
           "@ -q -n 1 -i .1 --show CPU,Pkg%pc2,Pkg%pc3,Pkg%pc6,CPU%c3", "@ -q -n 1 -i .1 --enable Pkg%pc6"]

# What is refused is refused by both, with text in the same stream. Words and status are each program's own: ours is 129 for wrong
# usage, else 1.
PERF_REFUSED = """
@ /nonexistent
@ --nosuch true
@ -e
@ -e nosuchevent true
@ -I abc -a true
@ -C abc -e cs true
@ -o missing/f -e cs true
@ -o f --log-fd 1 -e cs true
@ --log-fd 77 -e cs true
@ -A -e cs true
@ --for-each-cgroup / -e cs true
@ -p 99999999 -e cs true
@ -p '' -e cs true
@ -B -x, -e cs true
@ --interval-count 2 -a -e cs true
@ --per true
@ record -o missing/f -e cs true
@ report -i missing
"""
PERF_REFUSED_LONG = """
@ -Z true
@ -x
@ -I
@ -e cs,nosuchevent true
@ -e 'sched:nosuch' true
@ -e nosuch/config=1/ true
@ -e 'software/nosuch=1/' true
@ --event= true
@ nosuchcommand
@ -e cs -- nosuchcommand
@ /etc/passwd
@ /tmp
@ -I -5 -a true
@ -C 1-0 -e cs true
@ -o /tmp -e cs true
@ --log-fd -1 -e cs true
@ --log-fd abc -e cs true
@ --per-core -e cs true
@ --per-socket -e cs true
@ --per-node -e cs -p 1 true
@ --for-each-cgroup / -G / -a -e cs true
@ -G / -a true
@ -p abc -e cs true
@ -t 99999999 -e cs true
@ -r abc -e cs true
@ -r -1 -e cs true
@ -D abc -e cs true
@ --timeout -1 -e cs true
@ --timeout abc -e cs true
@ --filter 'x==1' -e cs true
@ --metrics
@ -a --for-each-cgroup nosuch -e cs sleep .05
@ -a --topdown sleep .05
@ -a --smi-cost sleep .05
@ -T true
@ --control nosuch -e cs true
@ --topdown true
@ --n true
@ --metric true
@ --no-nosuch true
@ --null=3 true
@ report -Z
@ record -Z true
@ -h
@ -x, -e cycles true
@ -e cs:z true
@ --control fifo:nosuch -e cs true
@ --iostat true
@ --iostat=list
@ -e cs, true
"""
TURBOSTAT_REFUSED = """
@ -q -n 1 -i .1 --nosuch
@ -q -n abc -s Busy%
@ -q -n 1 -i 0.0001 -s Busy%
@ -q -n 1 -i .1 -s Busy% -c abc
@ -q -n 1 -i .1 -s Busy% -o missing/f
@ -q -n 1 -i .1 -s Busy% --add nosuch
"""
TURBOSTAT_REFUSED_LONG = """
@ -q -Z
@ -q -n
@ -q -i
@ -q -n 0 true
@ -q -i abc
@ -q -i 0
@ -q -i -1
@ -q -c 99 -n 1 -i .1
@ -q -c 1-0 -n 1
@ -q -c 0.. -n 1
@ -q -o /tmp -n 1 -i .1
@ -q --add msr0xzz
@ -q --add msr
@ -q --add ''
@ -q --header_iterations abc -S -n 1
@ --h Busy%
@ --quiet=1 -n 1
@ --help
@ -v
"""


def mask(text, fields):
    """Numbers are N, with the blanks before them; blanks at the end of a line are no text."""
    number = r"(?<![A-Za-z_#])-?\d[\d,]*(?:\.\d+)?(?![A-Za-z])" if not fields else r"(?<![A-Za-z_#])-?\d+(?:\.\d+)?(?![A-Za-z])"
    lines = []
    for line in text.split("\n"):
        line = re.sub(r"^# started on .*", "# started", line.rstrip())
        line = re.sub(r" *" + number, "N", line)
        line = line.replace('"(null)"', '""')    # perf 6.1 has no unit there
        # As many decimals as the spread asks for, signs and marks by chance.
        line = re.sub(r"^ +#", "#", re.sub(r"\(\+?N\) ?#*$", "(N)", line))
        lines.append(re.sub(r"\b[KMG]/sec", "/sec", re.sub(r" *\( \+.*\)$", "", line)))
    return "\n".join(lines)



def run(line, program, folder):
    """A status that the line prints is in letters, so that it is no number for mask()."""
    line = line.replace("@", program).replace("echo $?", "echo $? | tr 0-9 a-j")
    with tempfile.TemporaryDirectory(dir=folder) as here:
        return subprocess.run(line, shell=True, executable="/bin/bash", capture_output=True, text=True,
                              env=ENV, cwd=here, timeout=60)


def differences(line, theirs, ours, numbers=None):
    fields = "-x," in line
    found = []
    if theirs.returncode != ours.returncode:
        found.append(f"status {theirs.returncode} and {ours.returncode}")
    for what in ("stdout", "stderr"):
        they, we = getattr(theirs, what), getattr(ours, what)
        if numbers:
            they, we = numbers(they), numbers(we)
        if mask(they, fields) != mask(we, fields):
            found.append(f"{what}:\n{mask(they, fields)}\nand:\n{mask(we, fields)}")
    return found


def each(lines, judge):
    """What `judge` finds in each line."""
    return [text for line, found in zip(lines, each_found(lines, judge)) if found for text in [f"$ {line}"] + found]


def each_found(lines, judge):
    """Likewise, a list for each: several at once, as most of them wait, and what is wrong three times more, alone: a line of perf
    is missing where the machine was busy."""
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for line, found in zip(lines, list(pool.map(judge, lines))):
            for _ in range(3):
                found = found and judge(line)
            yield found


def check(lines, side, numbers=None):
    return each(lines, lambda line: differences(line, side(line, True), side(line, False), numbers))


# Where scripts cut these by columns.
PLACED = ["@ -a -A -e cs -I 50 --interval-count 1 sleep 1", "@ -a --per-core -e cs -I 50 --interval-count 1 sleep 1",
          "@ -a --per-node -e cs -I 50 --interval-count 1 sleep 1", "@ -a --per-die -e cs sleep .05", "@ -a -e cs,cpu-clock sleep .05",
          "@ -p $$ --per-thread -e cs -I 50 --interval-count 1 sleep 1", "@ -r 2 -e task-clock sh -c 'sleep .0$((RANDOM % 5))'"]


def columns(text):
    """Heads as they are, and of lines of events and spreads where words begin."""
    return {line if line[0] == "#" else tuple((m.start(), m[0]) for m in re.finditer(r" cs\b|cpu-clock|task-clock|\( *\+-", line))
            for line in text.split("\n") if line and " ran" not in line and "elapsed" not in line}


def check_columns(side):
    def judge(line):
        they, we = columns(side(line, True).stderr), columns(side(line, False).stderr)
        return [f"columns: {sorted(map(str, they ^ we))}"] if they != we else []

    return each(PLACED, judge)


def check_heads(side):
    """--metric-only has no column for an event that the machine lacks."""
    lacking = re.findall(r"<not supported> +(\S+)", side("@ true", False).stderr)
    heads = side("@ -x, --metric-only true", False).stderr.split("\n")[0]
    return [f"--metric-only has a column for {event}, which is not supported: {heads}" for event in lacking if f"/sec {event}" in heads]


def check_early(program):
    """SIGINT from the terminal, however early: the end comes at once, by that signal or with a line, and nothing is left behind."""
    wrong = []
    for ms, more in itertools.product((0, 1, 3, 6, 10, 15, 25, 40, 80), ("-a", "sleep 20")):
        options, command = (more, "") if more == "-a" else ("", more)
        p = subprocess.Popen(f"{program} {options} -x, -e cs {command}".split(), stderr=subprocess.PIPE, text=True, env=ENV, start_new_session=True)
        time.sleep(ms / 1e3)
        os.killpg(p.pid, signal.SIGINT)
        try:
            said = p.communicate(timeout=5)[1]
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            said = f"nothing in 5 s {p.communicate()}"
        known = all(",cs," in line or line == "sleep: Interrupt" for line in said.splitlines())
        if (p.returncode, bool(said)) not in ((0, True), (-signal.SIGINT, False), (-signal.SIGINT, True)) or not known:
            wrong.append(f"SIGINT after {ms} ms: {program} {more} ends with {p.returncode}: {said}")
        for _ in range(20):
            left = subprocess.run(["ps", "-o", "stat=,comm=", "-s", str(p.pid)], capture_output=True, text=True, check=False).stdout
            if all(line.startswith("Z") for line in left.splitlines()):
                break
            time.sleep(.1)
        else:
            wrong.append(f"SIGINT after {ms} ms: {program} {more} leaves behind {left}")
    return wrong


def check_refused(lines, side):
    def judge(line):
        theirs, ours = side(line, True), side(line, False)
        shape = lambda done: (bool(done.returncode), bool(done.stdout.strip()), bool(done.stderr.strip()))
        same = shape(theirs) == shape(ours) and ours.returncode in (0, 1, 129) and (theirs.returncode == 129) <= (ours.returncode != 0)
        return [] if same else [f"status, stdout, stderr: {theirs.returncode}, {shape(theirs)} and {ours.returncode}, {shape(ours)}"]

    return each(lines, judge)


def listed(text, more, long):
    return [line for line in text.split("\n") + more.split("\n") * bool(long) if line]


def generated(seed, n):
    """Command lines of options that go together. --metric-only and -r with -I are not among them: they differ on purpose."""
    pick = random.Random(seed)
    for _ in range(n):
        words = ["@"]
        wide = pick.random() < .5
        form = pick.choice(["", "-x,", "-x';'", "-j"])
        events = pick.sample(["task-clock", "cs", "page-faults", "migrations", "minor-faults", "{cs,faults}", "cpu-clock:u",
                              "alignment-faults", "major-faults"], pick.randint(1, 4))
        words += pick.choice([["-e", f"'{','.join(events)}'"], [f"-e '{e}'" for e in events], ["-n"] * (not form) or ["-e cs"],
                              [pick.choice(["", "-d", "-dd"])]])
        named = any("-e" in word for word in words)
        if wide:
            words += [pick.choice(["-a", "-C 0", "-C 0,1", "-a"]),
                      pick.choice(["", "", "-A", "--no-aggr", "--per-core", "--per-socket", "--per-node", "--per-die"])]
        if wide and named and "-A" not in words and "--no-aggr" not in words:
            group = pick.choice(["", "", "--for-each-cgroup /", "-G /"])
            words += [group] * bool(form)    # in the table their column is narrower here
        words += [form, pick.choice(["", "--no-big-num"] + ["-B"] * (form in ("", "-j")))]
        intervals = pick.random() < .2
        if intervals:
            words += ["-I 100", pick.choice(["--interval-count 1", "--interval-count 2"]), pick.choice(["", "--summary"])]
        elif not wide:
            words += [pick.choice(["", "", "-r 2", "-r 3 --table", "-D 5"])]
        words += [pick.choice(["", "-i"]), pick.choice(["", "--scale", "--no-scale", "--scale"]), pick.choice(["", "-S", "--no-merge"])]
        out = pick.choice(["", "", "--log-fd 1", "-o f", "-o f --append"] if form != "-j" else ["", "--log-fd 1"])
        words += [out, "sleep 5" if intervals else "sleep .02" if wide else "true", "; cat f" if "-o" in out else ""]
        yield " ".join(w for w in words if w)


SHOWN = ["CPU", "Core", "Busy%", "Bzy_MHz", "Avg_MHz", "TSC_MHz", "IRQ", "SMI", "POLL%", "C1%", "CPU%c1", "CPU%c6", "CoreTmp", "PkgTmp",
         "PKG_%", "Pkg%pc2", "sysfs", "usec", "Time_Of_Day_Seconds",
         "Package", "IPC", "CPUMHz", "POLL", "C6%", "CPU%c7", "CoreThr", "Pkg%pc6", "Totl%C0", "Any%C0", "GFX%rc6", "GFXMHz", "CPU%LPI",
         "SYS%LPI", "UncMHz", "PkgWatt", "CorWatt", "GFXWatt", "RAMWatt", "RAM_%", "topology", "frequency", "idle", "power", "other"]


def generated_turbostat(seed, n):
    """Likewise: spellings, columns, CPUs, heads, totals, commands. With -J turbostat forgets columns of watts, so there are none."""
    pick = random.Random(seed)
    some = lambda k: ",".join(pick.sample(SHOWN, pick.randint(1, k)))
    for _ in range(n):
        words = ["@", pick.choice(["-q", "--quiet", "-quiet", "--qui"])]
        words += pick.sample([
            pick.choice([f"-s {some(6)}", f"--show {some(6)}", f"--show={some(4)}", f"-show {some(4)}"]),
            pick.choice([f"-hide {some(6)}", f"--hide {some(6)}", f"--hid {some(3)}"]),
            pick.choice([f"-e {some(2)}", f"--enable {some(2)}", "-e all --hide X2APIC", "--enable=Die"]),
            pick.choice([f"-s {some(3)} -s {some(3)}", f"--show {some(2)} --enable {some(2)}", f"--hide {some(3)} --hide {some(3)}"]),
            pick.choice(["-J", "--Joules", "-Joules"]),
            pick.choice(["-d --hide X2APIC", "--debug --hide X2APIC,APIC"]),
            pick.choice(["-S", "--Summary", "-Summary", "--Sum"]),
            pick.choice(["-c 0", "--cpu 0,1", "--cpu core", "-c package", "-cpu 0-1", "-c 0..1"]),
            pick.choice(["--header_iterations 1", "-header_iterations 2"]),
            pick.choice(["-T 90", "--TCC 95"]),
            pick.choice(["--add msr0x10,cpu,u64,delta,FOO", "-a msr0x1a2,package,u32,raw"])],
            pick.randint(0, 3))
        if pick.random() < .3:
            words += [pick.choice(["-o f", "--out f"]), pick.choice(["sleep .05", "sh -c 'exit 3'"]) + "; x=$?; cat f; exit $x"]
        elif pick.random() < .3:
            words += [pick.choice(["sleep .05", "sh -c 'echo out; exit 3'", "-- true"])]
        else:
            words += [pick.choice(["-n 1", "-n 2", "--num_iterations 2", "-num 1"]), pick.choice(["-i .1", "--interval .1", "-int .1"])]
        line = " ".join(w for w in words if w)
        if re.search(r"(-e|--enable[ =])\S*(POLL|C[16])%?\b.* (-s|--?show)", line):
            continue    # see pmrec-turbostat(1)
        yield re.sub(r" --?J(oules)?\b", "", line) if re.search(r"Watt|power", line) else line


# As scripts read these texts; what they find must be there in both.
def by_fields(text):
    """CSV, by the number of the field: event -> (a number or not, unit)."""
    rows = [line.split(",") for line in text.split("\n") if line and not line.startswith("#")]
    return {row[2]: (row[0].replace(".", "").isdigit(), row[1], len(row)) for row in rows}


def by_blanks(text):
    """The table: a number with commas, then an event; and the seconds."""
    found = re.findall(r"^ +([\d,.]+|<not \w+>)(?: msec)? +([\w:.-]+)", text, re.M)
    return {event: value[0] == "<" for value, event in found}


def by_objects(text):
    rows = [json.loads(line) for line in text.split("\n") if line.startswith("{")]
    return {row["event"]: (sorted(row), row["unit"], float(row.get("metric-value", 0)) >= 0) for row in rows}


def by_head(text):
    """turbostat, split at any blank: the first row below the heads, by name; and awk's way, by place."""
    lines = [line.split() for line in text.split("\n") if line]
    return {(i, name): len(line) > i for line in lines[1:2] for i, name in enumerate(lines[0])}, [len(line) for line in lines]


def by_tabs(text):
    """As agents with a CSV parser and exporters read it, with TAB between: rows by head, which of them are numbers, blanks and all."""
    rows = list(csv.DictReader(text.splitlines(), delimiter="\t"))
    number = lambda cell: cell and bool(re.fullmatch(r" *-?[\d.]+", cell))
    return [{head: number(cell) if head not in ("Package", "Core", "CPU") else cell for head, cell in row.items()} for row in rows]


def by_tables(text):
    """As collectors read intervals: each begins with the heads; the first row is the machine, and others are by Core and CPU, where
    short rows lack what belongs to cores and packages."""
    tables = []
    for line in text.splitlines():
        cells = line.split()
        if "CPU" in cells:
            tables.append((cells, {}))
        elif tables:
            heads, rows = tables[-1]
            row = dict(zip(heads, cells))
            rows[row.get("Core"), row["CPU"]] = sorted(row)
    return tables


def by_first_row(text):
    """Shell: the sum of power of each interval, by where the word stands in the heads."""
    awk = subprocess.run(["awk", "-F\t", '$0 ~ /PkgWatt/ { for (i = 1; i <= NF; i++) if ($i == "PkgWatt") c = i; n = 1; next } n == 1 \
{ print (c && $c > 0) ? "watts" : "none"; n = 0 }'], input=text, capture_output=True, text=True, check=True)
    return awk.stdout


def by_elapsed(text):
    """A command's time before its table, and the table."""
    return [bool(re.match(r"\d+\.\d{6} sec$", text)), by_tabs(text.split("\n", 1)[1])]


def by_benchmark(text):
    """As benchmark programs read the file of -o: comments and empty lines skipped, a count or nan, and seconds of a unit."""
    found = {}
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        value, unit, event, *rest = line.split(",")
        found[event] = (value.startswith("<"), unit, len(rest), float(rest[1]) == 100)
    return found


def by_intervals(text):
    """Intervals of CSV: a time in seconds that rises, and a place."""
    rows = [[cell.strip() for cell in line.split(",")] for line in text.splitlines() if line]
    times = [float(row[0]) for row in rows]
    return [row[1] if row[1].startswith("S") else row[3] for row in rows], times == sorted(times), [len(row) for row in rows]


READERS = [("@ -x, -e task-clock,page-faults,cs true", by_fields), ("@ true", by_blanks),
           ("@ -j -e task-clock,page-faults true", by_objects), ("@ -x, -d -o f true; cat f >&2", by_benchmark),
           ("@ -x, -a -e cs,cpu-clock -I 100 --interval-count 3 sleep 5", by_intervals),
           ("@ -x, -a --per-socket -e cs -I 100 --interval-count 2 sleep 5", by_intervals)]
TURBOSTAT_READERS = [("@ -q -n 1 -i .1", by_head), ("@ -q -n 1 -i .1 -S", by_head), ("@ -q -n 1 -i .1 -J", by_tabs),
                     ("@ -q -n 1 -i .1 -s Package,Core,CPU,Busy%,CoreTmp,PkgWatt,IRQ", by_tabs),
                     ("@ -q -n 3 -i .1 -e Time_Of_Day_Seconds", by_tables), ("@ -q -n 3 -i .1 -S", by_first_row),
                     ("@ -q -s CPU,Busy%,PkgWatt -o f sleep .05; cat f # -i", by_elapsed)]


def check_readers(readers, side):
    reads = dict(readers)

    def judge(line):
        they, we = (reads[line](done.stderr if "-i" not in line else done.stdout) for done in (side(line, True), side(line, False)))
        return [f"{reads[line].__name__} reads {they} and {we}"] if they != we or not they else []

    return each(reads, judge)


def perf_side(folder):
    return lambda line, theirs: run(line, "perf stat" if theirs else f"{PMREC} perfstat", folder)


def not_theirs(text):
    """Without what turbostat says of this machine's kernel, and pmrep of columns that are not there; registers as they are, and
    an identity that the machine lacks."""
    text = re.sub(r"\b(0x[0-9a-f]+|[0-9a-f]{8,9}|[0-9a-f]{16})\b", "0", text.replace("X2APIC,", ""))
    text = re.sub(r"turbostat: Failed to access perf .*\n\tRun as root .*\n\n?", "", text)
    text = re.sub(r"^cpu\d+: Using cmdline TCC Target.*\n", "", text, flags=re.M)
    return "\n".join(line for line in text.split("\n") if "perf instruction counter" not in line and
                     "jitter" not in line and not line.startswith("deferred ") and
                     not line.startswith("pmrep: -: "))


def cells(text):
    """{(head, row): number}"""
    rows = [line.split("\t") for line in text.strip("\n").split("\n")]
    return {(head, i): float(cell) for i, row in enumerate(rows[1:]) for head, cell in zip(rows[0], row)
            if re.fullmatch(r"-?\d+(\.\d+)?", cell)}


def check_numbers(theirs, ours):
    loose = {"CoreThr", "IRQ", "NMI", "SMI", "POLL", "C1", "C6", "UncMHz"}
    they, we = cells(theirs), cells(ours)
    return ["nothing was printed"] * (not they) + [f"{key}: {they[key]} and {we.get(key)}" for key in they if key[0] not in loose and
            abs(they[key] - we.get(key, 1e9)) > .1 * abs(they[key]) + .3]


# Its labels in a dump, and the counters.
DUMPED = {"TSC": "msr.tsc", "aperf": "msr.aperf", "mperf": "msr.mperf", "pc2": "msr.pkg_c2_res", "pc6": "msr.pkg_c6_res"}


def check_dump(before, ours, after):
    """Counts that grow: ours, dumped between two of theirs, lie between theirs."""
    wrong, n = [], 0
    for label, counter in DUMPED.items():
        first, last = ([int(value, 16) for value in re.findall(rf"^{label}: ([0-9A-F]{{6,}})$", text, re.M)] for text in (before, after))
        for value in re.findall(rf"^{re.escape(counter)} \(\w+ \d+\): (0x[0-9a-f]+)$", ours, re.M):
            n += 1
            if not min(first) <= int(value, 16) <= max(last):
                wrong.append(f"{counter}: {value} is not between {min(first):x} and {max(last):x}")
    return wrong + ["nothing was dumped"] * (n < 8)


def check_header(theirs, ours):
    """What users read of the machine: model, TDP, TSC."""
    facts = ((r"family:model:stepping 0x(\w+):(\w+):(\w+)", r"family 0x(\w+), model 0x(\w+), stepping (\w+)"),
             (r"MSR_PKG_POWER_INFO: 0x\w+ \(([\d.]+) W TDP", r"msr\.pkg_power_info.* TDP ([\d.]+) W"),
             (r"^TSC: (\d+) MHz", r"TSC (\d+)(?:\.\d+)? MHz"))
    wrong = []
    for they, we in facts:
        a, b = re.search(they, theirs, re.M), re.search(we, ours, re.M)
        if a and (not b or a.groups() != b.groups()):
            wrong.append(f"{a[0]} and {b and b[0]}")
    return wrong + ["the header is empty"] * ("family" not in ours)


def turbostat_side(m):
    copy = os.path.join(m.folder, "turbostat")
    patch_cpuid.patch(TURBOSTAT_PROGRAM, copy)
    inside = " ".join([os.path.join(os.path.dirname(os.path.abspath(__file__)), "inside"), m.root,
                       os.path.join(m.folder, "profile"), os.path.join(rig.TESTS, "libcpushim.so"), copy])
    return lambda line, theirs: run(line, inside if theirs else f"{PMREC} turbostat --root={m.root}", m.folder)


def turbostat(name, lines, long):
    wrong = []
    with rig.Mounted(machines.build(name)) as m:
        side = turbostat_side(m)
        wrong += check(lines, side, not_theirs)
        # In 2022 hybrids have states of packages that they do not have.
        less = ["pc7", "pc9"] if name == "hybrid" else []
        hide = " ".join(f"--hide Pkg%{state}" for state in less)
        for line in (f"@ -q -n 1 -i 1 {hide}", f"@ -q -n 1 -i 1 -c 1 {hide}"):
            # On a busy machine turbostat's own interval is not the one that its rates are of.
            for _ in range(6):
                found = check_numbers(side(line, True).stdout, side(line, False).stdout)
                if not found:
                    break
            wrong += found
        wrong += check_dump(*(side("@ -q -D", theirs).stdout for theirs in (True, False, True)))
        if lines in (COLUMNS, []):
            return [f"{name}: {w}" for w in wrong]
        wrong += check_readers(TURBOSTAT_READERS, side)
        wrong += check_refused(listed(TURBOSTAT_REFUSED, TURBOSTAT_REFUSED_LONG, long), side)
        wrong += check_header(side("@ -n 1 -i .1", True).stderr, side("@ -n 1 -i .1", False).stderr)
    return [f"{name}: {w}" for w in wrong]


def main():
    words = sys.argv[1:]
    longer = "longer" in words
    long = longer or "long" in words
    some = 200 if longer else 80 if long else 0
    # One seed for everybody, so that a failure is of a change; another one finds what is still different.
    seed = int(words[-1]) if words and words[-1].isdigit() else 21
    wrong, done = [], 0
    with tempfile.TemporaryDirectory(prefix="pm-dropin-") as folder:
        # A perf that asks for events that this machine lacks counts nothing by itself.
        if shutil.which("perf") and b"page-faults" in subprocess.run(["perf", "stat", "true"], capture_output=True).stderr:
            lines = [line for line in PERF.split("\n") + (PERF_LONG.split("\n") + list(generated(seed, some)) if some else []) if line]
            print(f"seed {seed}")
            wrong += check(lines, perf_side(folder))
            wrong += check_refused(listed(PERF_REFUSED, PERF_REFUSED_LONG, some), perf_side(folder))
            wrong += check_readers(READERS, perf_side(folder))
            wrong += check_columns(perf_side(folder)) + check_heads(perf_side(folder))
            wrong += check_early(f"{PMREC} perfstat")
            done += 1
    fits = os.access("/dev/fuse", os.R_OK | os.W_OK) and shutil.which("fusermount3") and not os.geteuid() and \
        TURBOSTAT_PROGRAM and shutil.which("objdump") and \
        not subprocess.run(["unshare", "-m", "--propagation", "private", "true"], capture_output=True).returncode
    if fits and os.path.exists(os.path.join(rig.TESTS, "fakemsr")):
        for name in ["rocketlake"] + ["skylakex", "zen"] * long:
            # turbostat ends where an added register cannot be read.
            lines = TURBOSTAT.split("\n") + list(generated_turbostat(seed, 70 if longer else 25 if long else 6))
            wrong += turbostat(name, [line for line in lines if line and (name != "zen" or "msr0x" not in line)], long)
        for name in ["haswell", "sapphirerapids"] * bool(some):
            wrong += turbostat(name, COLUMNS, False)
        if some:
            wrong += turbostat("hybrid", [], False)
        done += 1
    if not done:
        rig.skip("neither perf nor turbostat can run here")
    for line in wrong:
        print("wrong:", line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
