#!/usr/bin/env bats
# Recordings that were killed, cut, flipped or made by an enemy, and files that are none. The truth comes from the
# second reader (tests/golden/decode.py) and from the whole recording.

bats_require_minimum_version 1.5.0
load lib

setup() {
	bin=${PM_BIN:-$BATS_TEST_DIRNAME/../../build/bin}
	golden=$BATS_TEST_DIRNAME/../golden
	cd "$BATS_TEST_TMPDIR"
}

need_second_reader() {
	/usr/bin/python3 -c 'import cbor2, zstandard' 2>/dev/null || skip "no python3-cbor2 or python3-zstandard"
}

survivors() {
	/usr/bin/python3 "$golden/survivors.py" "$bin/pmrep" "$@"
}

# One recording for all tests that damage a copy of it.
setup_file() {
	"${PM_BIN:-$BATS_TEST_DIRNAME/../../build/bin}/pmrec" --quiet --sources=stat,interrupts -i 10ms -n 350 -o "$BATS_FILE_TMPDIR/whole.pmr"
}

# The sentence on stderr names the bytes and the time.
names_damage() {
	[[ $stderr =~ (bytes\ [0-9]+\ to|at\ byte)\ [0-9]+ ]] && [[ $stderr =~ [0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z ]]
}

flip() { # FILE OUT OFFSET
	/usr/bin/python3 - "$@" <<-'PYTHON'
	import sys
	data = bytearray(open(sys.argv[1], "rb").read())
	data[int(sys.argv[3])] ^= 1 << int(sys.argv[3]) % 8
	open(sys.argv[2], "wb").write(data)
	PYTHON
}

@test "kill -9 at any moment leaves everything up to the last closed chunk" {
	need_second_reader
	for try in 1 2 3 4 5; do
		begin --quiet --sources=stat,interrupts -i 5ms -o "killed$try.pmr"
		await holds "killed$try.pmr" 101
		sleep "0.$((100 + RANDOM % 600))"
		kill -9 $pid
		wait $pid || true
		run --separate-stderr "$bin/pmrep" --all --format=csv "killed$try.pmr"
		[ "$status" -eq 3 ]
		names_damage || { echo "$stderr"; return 1; }
		[[ $stderr == *"nothing after"* ]]
		[ "${#lines[@]}" -gt 100 ]
		read -r left lost <<<"$(survivors - "killed$try.pmr")"
		[ "$left" -gt 1000 ]
		echo "try $try: $left values"
		for command in info list dump; do
			run "$bin/pmrep" $command "killed$try.pmr"
			[ "$status" -eq 3 ]
		done
	done
}

@test "a truncated recording gives every value before the cut" {
	need_second_reader
	cp "$BATS_FILE_TMPDIR/whole.pmr" .
	size=$(stat -c %s whole.pmr)
	before=0
	for part in 4 5 6 7 8 9; do
		head -c $((size * part / 10)) whole.pmr >cut.pmr
		run --separate-stderr "$bin/pmrep" --all --format=csv cut.pmr
		[ "$status" -eq 3 ]
		names_damage || { echo "$stderr"; return 1; }
		run survivors whole.pmr cut.pmr
		[ "$status" -eq 0 ] || { echo "$output"; return 1; }
		left=${output% *}
		[ "$left" -ge "$before" ]
		before=$left
	done
	[ "$before" -gt 1000 ]
}

@test "flipped bits cost what is named and nothing else" {
	need_second_reader
	cp "$BATS_FILE_TMPDIR/whole.pmr" .
	size=$(stat -c %s whole.pmr)
	first=$("$bin/pmrep" dump --no-values --format=json whole.pmr | grep -m 1 '"kind":"chunk"')
	first=$(/usr/bin/python3 -c 'import json, sys; print(json.loads(sys.argv[1])["offset"])' "$first")
	[ "$first" -gt 100 ]
	for i in $(seq 12); do
		flip whole.pmr flipped.pmr $((first + (size - first) * i / 13))
		run --separate-stderr "$bin/pmrep" dump flipped.pmr
		# Only the checksum over all blocks of a chunk may go unseen, whose blocks have their own; `check` looks.
		if [ "$status" -eq 0 ]; then
			cmp <("$bin/pmrep" dump whole.pmr) <("$bin/pmrep" dump flipped.pmr)
		else
			[ "$status" -eq 3 ]
		fi
		run survivors whole.pmr flipped.pmr
		[ "$status" -eq 0 ] || { echo "$i: $output"; return 1; }
	done
	# In the middle of a chunk, as the reader of a report meets it.
	chunk=$("$bin/pmrep" dump --no-values --format=json whole.pmr | grep '"kind":"chunk"' | sed -n 2p)
	middle=$(/usr/bin/python3 -c '
import json, sys; c = json.loads(sys.argv[1]); print(c["offset"] + c["length"] // 2)' "$chunk")
	flip whole.pmr flipped.pmr "$middle"
	run --separate-stderr "$bin/pmrep" --all --show='*' --format=csv flipped.pmr
	[ "$status" -eq 3 ]
	names_damage || { echo "$stderr"; return 1; }
	[[ $stderr == *checksum* ]]
}

@test "a definition lost in the middle costs no value: a later copy has it" {
	need_second_reader
	"${PM_SOURCE:-$BATS_TEST_DIRNAME/../..}/tests/sysroots/make" hybrid machine
	"$bin/pmrec" --quiet --overwrite --root machine --sources=interrupts -i 0.1 -n 20 -o whole.pmr &
	recorder=$!
	sleep 0.5
	# A line that fires for the first time: a new counter, defined behind the first chunks.
	sed '2a 99: 7 7 7 7 7 7 7 7 PCI-MSI 9-edge late' machine/proc/interrupts >late
	cp late machine/proc/interrupts
	wait $recorder
	middle=$("$bin/pmrep" dump --no-values --format=json whole.pmr | /usr/bin/python3 -c '
import json, sys
frames = [f for f in map(json.loads, sys.stdin) if f["is"] == "frame"]
first = [f["kind"] for f in frames].index("chunk")
late = [f for f in frames[first:] if f["kind"] == "definition"]
print(late[0]["offset"] + late[0]["length"] // 2)')
	flip whole.pmr flipped.pmr "$middle"
	run survivors whole.pmr flipped.pmr
	[ "$status" -eq 0 ] || { echo "$output"; return 1; }
	[ "${output#* }" -eq 0 ] # a later copy serves the chunks before it
}

@test "a bad chunk is told in one line, with those that depend on it, by every command" {
	"$PM_TESTS/sample_tool" live=20,2,2,300,0 whole.pmr
	run /usr/bin/python3 - "$bin/pmrep" <<-'PYTHON'
	import json, subprocess, sys
	def lines(*words):
	    return subprocess.run([sys.argv[1], *words], capture_output=True, text=True)
	frames = [json.loads(l) for l in lines("dump", "--no-values", "--format=json", "whole.pmr").stdout.splitlines()]
	chunks = [f for f in frames if f.get("kind") == "chunk"]
	key = [i for i, c in enumerate(chunks) if c["key"] == "yes" and i + 8 < len(chunks)]
	start = next(i for i in key if all(c["key"] == "no" for c in chunks[i + 1:i + 5]))
	end = next(i for i in range(start + 1, len(chunks)) if chunks[i]["key"] == "yes")
	data = bytearray(open("whole.pmr", "rb").read())
	data[chunks[start]["offset"] + chunks[start]["length"] - 20] ^= 4
	open("bad.pmr", "wb").write(data)
	check, = json.loads(lines("check", "--format=json", "bad.pmr").stdout)["damage"]
	assert check["chunks"] == end - start - 1 and check["offset"] == chunks[start]["offset"], check
	assert check["snapshots"] == sum(c["snapshots"] for c in chunks[start:end]), check
	assert (check["from_ns"], check["to_ns"]) == (chunks[start - 1]["to_ns"], chunks[end]["from_ns"]), check
	said = json.loads(lines("check", "--format=json", "bad.pmr").stdout)
	dumped = [json.loads(l) for l in lines("dump", "--format=json", "bad.pmr").stdout.splitlines()]
	assert said["values"] == sum(d["is"] == "value" for d in dumped) > 1000, said["values"]
	words = "%d intact chunks" % check["chunks"]
	assert sum(words in l for l in lines("check", "bad.pmr").stdout.splitlines()) == 1
	for command in "show -s all", "info", "dump", "html -o x.html --overwrite", "incidents", "cut --since=0 -o c.pmr --overwrite":
	    ran = lines(*command.split(), "bad.pmr")
	    said = ran.stderr.splitlines()
	    assert ran.returncode == 3 and len(said) <= 2 and any("bad.pmr" in l for l in said), (command, ran.returncode, said)
	PYTHON
	[ "$status" -eq 0 ] || { echo "$output"; return 1; }
}

@test "every command lacks what check says, and reads what is whole in a bad chunk" {
	"$bin/pmrec" --quiet --overwrite --sources=stat,interrupts -i 20ms -n 80 -o blocks.pmr
	"$PM_TESTS/sample_tool" live=20,2,2,40,0 churn.pmr
	run /usr/bin/python3 - "$bin/pmrep" <<-'PYTHON'
	import json, random, subprocess, sys
	def out(*words):
	    return subprocess.run([sys.argv[1], *words], capture_output=True, text=True).stdout
	def values(path, *words):
	    tick, found = None, []
	    for line in map(json.loads, out("dump", "--format=json", "--no-definitions", *words, path).splitlines()):
	        tick = line["tick"] if line["is"] == "snapshot" else tick
	        if line["is"] == "value":
	            found.append((tick, line["counter"], str(line["value"]), str(line.get("instance"))))
	    return found
	random.seed(7)
	for path, sources in ("blocks.pmr", ("stat.*", "interrupts.*")), ("churn.pmr", ("churn.*",)):
	    data, truth, partial = open(path, "rb").read(), values(path), 0
	    for n in range(60):
	        if n > 8 and (partial > 2 or path == "churn.pmr"):
	            break
	        bad, at = bytearray(data), random.randrange(len(data) // 3, len(data) - 200)
	        bad[at] ^= 1 << n % 8
	        open("bad.pmr", "wb").write(bad)
	        check, left = json.loads(out("check", "--format=json", "bad.pmr")), values("bad.pmr")
	        case = (path, at, check["damage"])
	        assert not check["good"] and check["values"] == len(left), (case, check["values"], len(left))
	        some = [v for s in sources for v in values("bad.pmr", "--counter=" + s)]
	        assert sorted(some) == sorted(left), (case, len(some), len(left))
	        gone = set(truth) - set(left)
	        assert set(left) <= set(truth), case
	        told = [(d["from_ns"] or 0, d["to_ns"] or 1 << 64) for d in check["damage"]]
	        assert all(any(a < v[0] < b for a, b in told) for v in gone), (case, len(gone))
	        subprocess.run([sys.argv[1], "repair", "-o", "whole-again.pmr", "--overwrite", "bad.pmr"],
	                       capture_output=True, check=True)
	        copy = json.loads(out("check", "--format=json", "whole-again.pmr"))
	        assert copy["good"] and copy["values"] == len(left), (case, copy["values"], len(left))
	        partial += any("blocks fail" in d["text"] for d in check["damage"])
	    assert partial > 2 or path == "churn.pmr", partial
	PYTHON
	[ "$status" -eq 0 ] || { echo "$output"; return 1; }
}

@test "no row of a report changes with damage elsewhere" {
	cp "$BATS_FILE_TMPDIR/whole.pmr" .
	"$bin/pmrep" --all --show='*' --format=csv whole.pmr | cut -d, -f2- | sort >whole.rows
	size=$(stat -c %s whole.pmr)
	flip whole.pmr flipped.pmr $((size * 3 / 4))
	run --separate-stderr "$bin/pmrep" --all --show='*' --format=csv flipped.pmr
	[ "$status" -eq 3 ]
	# What is lost has no row, or no value.
	printf '%s\n' "${lines[@]}" | cut -d, -f2- | grep -vE ',,[^,]*,(not-read|no-interval),$' | sort >flipped.rows
	[ "$(wc -l <flipped.rows)" -gt 1000 ]
	[ "$(wc -l <flipped.rows)" -lt "$(wc -l <whole.rows)" ]
	[ "$(comm -13 whole.rows flipped.rows | wc -l)" -eq 0 ]
}

@test "a definition or a block that is lost costs the counters beside it no interval" {
	need_second_reader
	"$bin/pmrec" --quiet --sources=stat,interrupts -i 5ms -n 260 -o whole.pmr
	run /usr/bin/python3 - "$bin/pmrep" "$golden" <<-'PYTHON'
	import json, subprocess, sys
	sys.path.insert(0, sys.argv[2])
	from encode import *
	def out(*words, given=b""):
	    return subprocess.run([sys.argv[1], *words], input=given, capture_output=True).stdout.decode()
	def read(data, *words):
	    lines = out("--all", "--format=csv", *words, "-", given=bytes(data)).splitlines()[1:]
	    return {l[l.index(","):] for l in lines if l.split(",")[-4]}
	def frames(path):
	    found = map(json.loads, out("dump", "--no-values", "--format=json", path).splitlines())
	    return [f for f in found if f["is"] == "frame" and f["length"]]
	def flipped(data, at):
	    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1:]
	r = Recording()
	r.body(HEADER, {1: "pmrec 1"})
	r.body(INSTANCES, {2: 1, 3: [{1: 0}]})
	def define(n):
	    r.body(SCHEMA, {1: n, 2: [{1: "a.n%d" % n, 3: "a", 4: "1", 10: {2: True}}], 3: n, 4: [{1: "a", 2: 2, 3: [n, 1, 0], 4: [1, 1, 0]}]})
	for i in range(5):
	    define(i + 1)
	    t = [START + i * 10**9]
	    r.chunk([(g, times(t, 1, 0) + [("u64", [[1 << i * g]])], []) for g in range(1, i + 2)], t, more={11: i})
	r.end()
	r.save("five.pmr")
	show, found = "--show=a.*", frames("five.pmr")
	truth = read(r.data, show)
	first = {l for l in truth if "a.n1," in l}
	assert len(first) == 4 and len(truth) == 4 + 3 + 2 + 1, truth
	for f in found[4:]:
	    if f["kind"] == "definition":
	        for at in (6, f["length"] // 2):
	            bad = flipped(r.data, f["offset"] + at)
	            left = read(bad, show)
	            assert left <= truth and {l for l in left if "a.n1," in l} == first, (f, first - left)
	            open("bad.pmr", "wb").write(bad)
	            subprocess.run([sys.argv[1], "repair", "-o", "good.pmr", "--overwrite", "bad.pmr"], capture_output=True)
	            left = read(open("good.pmr", "rb").read(), show)
	            assert left <= truth and len(first - left) <= 1, (f, first - left)
	data, some = open("whole.pmr", "rb").read(), 0
	truth = read(data, "--show=*")
	chunk = [f for f in frames("whole.pmr") if f["kind"] == "chunk"][1]
	for part in range(5, 16, 2):
	    left = read(flipped(data, chunk["offset"] + chunk["length"] * part // 16), "--show=*")
	    names = {l.split(",")[15] for l in truth}
	    lost = {l.split(",")[15] for l in truth - left}
	    assert left <= truth, sorted(left - truth)[:2]
	    some += bool(lost) and lost < names
	assert some, "no block was lost alone"
	PYTHON
	[ "$status" -eq 0 ] || { echo "$output"; return 1; }
}

@test "what is no recording is named in one line, whatever the command" {
	: >empty.pmr
	mkdir directory.pmr
	printf 'PERFILE2%064d' 0 >perf.data
	/usr/bin/python3 - <<-'PYTHON'
	import struct
	label = struct.pack(">iIiiii", 132, 0x50052602, 1, 1700000000, 0, 0) + b"host".ljust(64, b"\0")
	label += b"UTC".ljust(40, b"\0") + struct.pack(">i", 132)
	open("archive.0", "wb").write(label)
	PYTHON
	cp archive.0 archive.index
	cp archive.0 archive.meta
	printf 'time,cpu\n1,2\n' >text.pmr
	head -c 4096 /dev/zero >zeros.pmr
	while read -r file word; do
		for command in show info list dump check; do
			run --separate-stderr "$bin/pmrep" $command "$file"
			[ "$status" -eq 2 ] || { echo "$command $file: $status"; return 1; }
			[ -z "$output" ]
			[ "${#stderr_lines[@]}" -eq 1 ] || { echo "$command $file: $stderr"; return 1; }
			[[ $stderr == *"$file"* && $stderr == *"$word"* ]] || { echo "$command $file: $stderr"; return 1; }
		done
	done <<-'END'
	empty.pmr empty
	directory.pmr directory
	perf.data perf.data
	archive.0 Performance Co-Pilot
	archive Performance Co-Pilot
	text.pmr text
	zeros.pmr not a recording
	missing.pmr No such file
	END
}

@test "a newer major version is named, and nothing of it is used" {
	need_second_reader
	"$bin/pmrec" --quiet --sources=stat -i 10ms -n 3 -o good.pmr
	/usr/bin/python3 "$golden/encode.py" major good.pmr major.pmr
	for command in show info list dump check; do
		run --separate-stderr "$bin/pmrep" $command major.pmr
		[ "$status" -eq 2 ]
		[ -z "$output" ]
		[ "${#stderr_lines[@]}" -eq 1 ]
		[[ $stderr == *"major.pmr"*"major version 2"* ]] || { echo "$stderr"; return 1; }
	done
}

@test "another writer's recording is read value by value" {
	need_second_reader
	run /usr/bin/python3 "$golden/encode.py" types "$bin/pmrep"
	[ "$status" -eq 0 ] || { echo "$output"; return 1; }
}

# Control characters but newline and tab, in the 7-bit and the 8-bit form, and those that turn text around.
harmless() {
	/usr/bin/python3 -c '
import re, sys
data = sys.stdin.buffer.read()
text = data.decode()
bad = re.search("[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)
sys.exit("unescaped: %r" % text[max(0, bad.start() - 40):bad.end() + 40] if bad else 0)'
}

@test "strings of a recording never reach the terminal as they are" {
	need_second_reader
	/usr/bin/python3 "$golden/encode.py" hostile hostile.pmr
	found=0
	for command in "show -s all" "show -s all --format=csv" "show -s all --format=csv --layout=wide" \
		"show -s all --format=json" "show -s all --format=openmetrics" stat "show -s all --per-task" "show -s all --per-device" "show --list" \
		"show --format=turbostat" "show -s nothing" info "info --format=json" list "list --format=json" dump "dump --format=json" \
		"stat -x," "stat -x; -A" "stat -j" "stat -A -j" "list events" "list instances" "info --all" \
		check "check --format=json"; do
		# shellcheck disable=SC2086
		run "$bin/pmrep" $command hostile.pmr
		[ "$status" -le 3 ] || { echo "$command: $status: $output"; return 1; }
		printf '%s' "$output" | harmless || { echo "$command"; return 1; }
		[[ $output != *owned* ]] || found=$((found + 1))
	done
	# They are there, escaped.
	[ "$found" -ge 8 ]
	"$bin/pmrep" cut --since=0 -o other.pmr hostile.pmr
	for format in table csv json markdown; do
		run "$bin/pmrep" diff --force --all --show=all --format=$format hostile.pmr other.pmr
		[[ $status -eq 4 && $output == *owned* ]] || { echo "$format: $status: $output"; return 1; }
		printf '%s' "$output" | harmless || { echo "diff --format=$format"; return 1; }
	done
	[[ $("$bin/pmrep" diff --force --all --show=all --format=markdown hostile.pmr other.pmr | grep -c '^next') -eq 0 ]]
	for command in "show -s all" "show -s all --layout=wide" "show -s all --per-task" "show -s all --per-cgroup"; do
		# shellcheck disable=SC2086
		"$bin/pmrep" $command --all --format=csv hostile.pmr >>cells 2>/dev/null || true
	done
	/usr/bin/python3 -c '
import csv, re
cells = [cell for row in csv.reader(open("cells")) for cell in row]
assert any(cell.startswith("\x27=") for cell in cells)
for cell in cells:
    assert cell[:1] not in list("=+-@") or re.fullmatch("-?[0-9.]+(e[-+][0-9]+)?", cell), cell'
}

@test "what JSON cannot say has a reason" {
	need_second_reader
	/usr/bin/python3 - "$golden" <<-'PYTHON'
	import sys
	sys.path.insert(0, sys.argv[1])
	from encode import *
	r = Recording()
	r.body(HEADER, {1: "pmrec 1"})
	r.body(INSTANCES, {2: 1, 3: [{1: 0}]})
	r.body(SCHEMA, {1: 1, 2: [{1: "a.b", 3: "a", 4: "1", 6: 2, 7: 2, 10: {2: True}}], 3: 1, 4: [{1: "a", 2: 2, 3: [1, 1, 0], 4: [1, 1, 0]}]})
	ticks = [START + i * 10**9 for i in range(4)]
	r.chunk([(1, times(ticks, 1, 0) + [("f64", [[1.5, float("inf"), float("inf"), float("nan")]])], [])], ticks)
	r.end()
	r.save("doubles.pmr")
	PYTHON
	"$bin/pmrep" dump --format=json doubles.pmr >dumped
	[ "$(grep -c '"value":null,"status":"not-finite"' dumped)" -eq 3 ]
	[ "$(grep -c '"value":1.5,"status":"ok"' dumped)" -eq 1 ]
	"$bin/pmrep" --all --show='*' --format=json doubles.pmr >shown
	grep -q '"value":null,"unit":"1","status":"not-finite"' shown
	! grep '"value":null,.*"status":"ok"' shown || false
	# No other output calls them good.
	"$bin/pmrep" --all --show='*' --format=csv doubles.pmr >shown
	grep -q ',not-finite,1$' shown
	! grep -E ',-?(nan|inf),.*,ok,1$' shown || false
}

@test "labels and markers with escapes are recorded, and shown harmless" {
	bad=$'\e[31m\e]0;x\a'
	"$bin/pmrec" --quiet --sources=stat -i 50ms --label "k=v$bad" -o marked.pmr -- \
		sh -c "'$bin/pmrec' mark 'm$bad'; sleep 0.2"
	for command in show info list dump check; do
		run "$bin/pmrep" $command marked.pmr
		[ "$status" -eq 0 ] || { echo "$command: $output"; return 1; }
		printf '%s' "$output" | harmless
	done
	run "$bin/pmrep" info marked.pmr
	[[ $output == *'v\x1b[31m'* ]]
	run "$bin/pmrep" dump marked.pmr
	[[ $output == *'m\x1b[31m'* ]]
}

@test "where members come and go, a bad sector costs no more than the values up to the next key chunk" {
	for shape in live=200,3,20,150,0 live=20,2,2,300,0 live=30,2,3,100,1; do
		"$PM_TESTS/sample_tool" $shape churn.pmr
		run "$PM_TESTS/damage" --faults=100 churn.pmr
		[ "$status" -eq 0 ] || { echo "$shape: $output"; return 1; }
	done
}

@test "one snapshot in four of a damaged recording: sums of what is whole stay" {
	"$PM_TESTS/sample_tool" live=40,2,2,300,0 churn.pmr
	size=$(stat -c %s churn.pmr)
	totals() { "$bin/pmrep" --total --per-system --show=all --format=csv "$1" | cut -d, -f16,17,19; }
	for part in 3 5 6 7 8 9; do
		flip churn.pmr bad.pmr $((size * part / 11))
		run "$bin/pmrep" cut --every=4 --overwrite -o coarse.pmr bad.pmr
		[ "$status" -eq 3 ]
		"$bin/pmrep" check --quiet coarse.pmr
		totals bad.pmr >want || [ $? -eq 3 ]
		totals coarse.pmr >got
		[ "$(wc -l <want)" -ge 3 ]
		cmp want got
	done
}
