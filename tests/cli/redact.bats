#!/usr/bin/env bats
# What pmrep redact takes out, and that it is out: redact_bytes.py looks for it in every byte with the second reader.

bats_require_minimum_version 1.5.0
load lib

setup() {
	bin=${PM_BIN:-$BATS_TEST_DIRNAME/../../build/bin}
	source=${PM_SOURCE:-$BATS_TEST_DIRNAME/../..}
	bytes=$BATS_TEST_DIRNAME/redact_bytes.py
	golden=$BATS_TEST_DIRNAME/../golden
	cd "$BATS_TEST_TMPDIR"
}

teardown() {
	[ -z "${pid:-}" ] || kill -KILL "$pid" 2>/dev/null || true
	[ -z "${cgroup:-}" ] || rmdir "$cgroup" 2>/dev/null || true
	[ -z "${mounted:-}" ] || umount "$mounted"
}

need_second_reader() {
	/usr/bin/python3 -c 'import cbor2, zstandard' 2>/dev/null || skip "no python3-cbor2 or python3-zstandard"
}

redact() {
	"$bin/pmrep" redact "$@"
}

# Values and their reasons, without what names a recording, a time, a task or a cgroup.
numbers() {
	"$bin/pmrep" show --all --show=all --format=csv "$1" | cut -d, -f4-13,16-
}

@test "a secret in every text of the format, known key or not: none is left" {
	need_second_reader
	/usr/bin/python3 "$bytes" make all.pmr >made
	[ "$(wc -l <made)" -gt 40 ]
	for options in "" --shift-time --map=m; do
		# shellcheck disable=SC2086
		redact $options --overwrite -o out.pmr all.pmr
		"$bin/pmrep" check --quiet out.pmr
		/usr/bin/python3 "$bytes" check all.pmr out.pmr --must zqhost.zqdomain.example
		"$bin/pmrep" dump out.pmr >dump
		run ! grep -iFf made dump
		run ! grep -i zqhost dump
	done
	# It is there when it may stay; unknown fields go in any case.
	redact --keep=machine,person --overwrite -o out.pmr all.pmr
	"$bin/pmrep" dump out.pmr >dump
	grep -q zqhost.zqdomain.example dump
	grep -q zqmarker dump
	run ! grep -E 'zq(unknown|private|deep|later|new|pmu)' dump
}

@test "recordings of this machine: labels, markers, arguments, tasks, cgroups, added files" {
	may_count
	need_second_reader
	mkfifo control
	options=(--label "customer=Zqlabel Corp" --label "note=zqvalue")
	if [ "$(id -u)" = 0 ] && root=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts) && [ -n "$root" ] &&
		mkdir "$root/zqcgroup-$$" 2>/dev/null; then
		cgroup=$root/zqcgroup-$$
	fi
	cp "$(command -v sleep)" zqtool
	mkdir zqfolder
	"$bin/pmrec" --quiet --privacy=full "${options[@]}" --control=fifo:control -i 100ms \
		--add=/sys/kernel/mm/transparent_hugepage/khugepaged/pages_collapsed,name=zqadded,raw \
		--add=/sys/class/net/zqeth0/speed,raw \
		-o full.pmr -- ./zqtool 0.5 >log 2>&1 3>&- &
	pid=$!
	echo "mark zqmarker at noon" >control
	wait "$pid" || { cat log; return 1; }
	pid=
	redact --map=map --shift-time -o out.pmr full.pmr
	"$bin/pmrep" check --quiet out.pmr
	must=(--must "Zqlabel Corp" --must zqvalue --must "zqmarker at noon" --must ./zqtool)
	plain=$(printf '%s,' root full customer note --quiet --privacy=full)
	/usr/bin/python3 "$bytes" check full.pmr out.pmr "${must[@]}" --plain "$plain"
	"$bin/pmrep" dump out.pmr >dump
	run ! grep -i zq dump
	# The column that was asked for is there, under another name, and so is the reason why it is empty.
	[ "$("$bin/pmrep" dump full.pmr | grep -c '^counter .*source=add')" = "$(grep -c '^counter .*source=add' dump)" ]
	[ "$("$bin/pmrep" dump full.pmr | grep -c '^probe source=add')" = "$(grep -c '^probe source=add' dump)" ]

	if [ -n "${cgroup:-}" ]; then
		"$bin/pmrec" --quiet --privacy=full --sources=perf -i 0 -e minor-faults -G "zqcgroup-$$" -o group.pmr -- true
		redact --map=map -o group-out.pmr group.pmr
		/usr/bin/python3 "$bytes" check group.pmr group-out.pmr --must "zqcgroup-$$" --plain "$plain,true,perf,minor-faults"
	fi
	"$bin/pmrec" --quiet --privacy=full --sources=perf -i 100ms -e minor-faults --per-thread -o tasks.pmr -- ./zqtool 0.3
	redact --map=map -o tasks-out.pmr tasks.pmr
	/usr/bin/python3 "$bytes" check tasks.pmr tasks-out.pmr --must ./zqtool --plain "$plain,true,perf,minor-faults"
}

@test "numbers, and why they are missing, stay byte for byte" {
	for file in "$source"/samples/*.pmr; do
		redact --overwrite -o out.pmr "$file" || [ $? -eq 3 ]
		numbers "$file" >want || [ $? -eq 3 ]
		numbers out.pmr >got
		[ "$(wc -l <want)" -gt 3 ]
		cmp want got
		redact --overwrite --shift-time -o out.pmr "$file" || [ $? -eq 3 ]
		numbers out.pmr >got
		cmp want got
	done
}

@test "one map, the same pseudonyms and shifts; another, others" {
	file=in.pmr
	"$bin/pmrec" --quiet --sources=stat,vmstat -i 100ms -n 5 -o in.pmr
	redact --map=one --shift-time -o a.pmr "$file"
	redact --map=one --shift-time -o b.pmr "$file"
	redact --map=two --shift-time -o c.pmr "$file"
	for x in a b c; do
		"$bin/pmrep" dump --no-values $x.pmr | grep -E '^(header|snapshot|event|frame.*chunk)' | sed 's/offset=[0-9]* //' >$x
	done
	cmp a b
	run ! cmp a c
	[ "$(stat -c %a one)" = 600 ]
	grep -q '"from": ' one
	chmod 644 one
	run redact --map=one -o d.pmr "$file"
	[ "$status" -eq 2 ]
	[[ $output == *"chmod 600 one"* ]]
	[ ! -e d.pmr ]
	echo '{"redact_map": 1, "names": [{"kind": "host", "from": "a", "to": "evil"}]}' >bad
	chmod 600 bad
	run redact --map=bad -o d.pmr "$file"
	[ "$status" -eq 2 ]
	[[ $output == *"bad: not a map"* ]]
}

@test "times are shifted everywhere, by the same" {
	need_second_reader
	"$bin/pmrec" --quiet --sources=stat,vmstat -i 100ms -n 12 -o in.pmr
	redact --shift-time -o out.pmr in.pmr
	/usr/bin/python3 - "$golden" in.pmr out.pmr <<-'PYTHON'
	import sys
	sys.dont_write_bytecode = True
	sys.path.insert(0, sys.argv[1])
	import decode
	a, b = decode.load(sys.argv[2]), decode.load(sys.argv[3])
	shift = {(y - x) % 2**64 for p, q in zip(a.chunks, b.chunks) for x, y in zip(p.ticks, q.ticks)}
	assert len(shift) == 1, shift
	shift = shift.pop()
	assert shift > 10**15, "moved by less than a fortnight"
	va, vb = [[v for _, _, s in r.snapshots() for v in s] for r in (a, b)]
	assert len(va) == len(vb) > 100
	for x, y in zip(va, vb):
	    assert (x.begin + shift, x.end + shift) == (y.begin, y.end)
	for x, y in zip(a.configs, b.configs):
	    assert x.time + shift == y.time
	for x, y in zip(a.instances.values(), b.instances.values()):
	    assert not x.added or x.added + shift == y.added
	assert a.topology_time + shift == b.topology_time
	for name in ("realtime", "boottime", "monotonic", "raw", "counter"):
	    moved = {(getattr(q.clocks, name) - getattr(p.clocks, name)) % 2**64 for p, q in zip(a.chunks, b.chunks)}
	    assert len(moved) == 1, (name, moved)
	    assert moved != {0} or not getattr(a.chunks[0].clocks, name), name
	# What has been added up since boot says when that was: no absolute value is left, all differences are.
	def series(values):
	    out = {}
	    for v in values:
	        if v.counter.semantics == "cumulative" and not v.reason:
	            out.setdefault((v.counter.name, v.instance.id), []).append(v.value)
	    return out
	sa, sb = series(va), series(vb)
	assert sa.keys() == sb.keys()
	for key, x in sa.items():
	    y = sb[key]
	    assert x[0] != y[0], key
	    assert [q - p for p, q in zip(x, x[1:])] == [q - p for p, q in zip(y, y[1:])], key
	PYTHON
}

@test "info says what still identifies" {
	"$bin/pmrec" --quiet --sources=stat -i 0 --label a=zqlabel -o in.pmr -- true
	redact -o out.pmr in.pmr
	run "$bin/pmrep" info out.pmr
	[[ $output == *"What this file reveals"* ]]
	[[ $output == *"person  nothing"* ]]
	[[ $output == *"host (pseudonym)"* ]]
	[[ $output == *"wall clock"* ]]
	redact --shift-time --keep=command,labels --overwrite -o out.pmr in.pmr
	run "$bin/pmrep" info out.pmr
	[[ $output == *"person  command, labels"* ]]
	[[ $output == *"wall clock (shifted)"* ]]
}

@test "several files into a directory, under names that tell nothing" {
	mkdir out secret-host-name
	cp "$source/samples/idle.pmr" secret-host-name/web1.example.pmr
	cp "$source/samples/loaded.pmr" secret-host-name/web2.example.pmr
	redact --map=map -o out secret-host-name/*.pmr
	[ "$(ls out | wc -l)" = 2 ]
	run ls out
	[[ $output != *web* ]]
	for f in out/*; do "$bin/pmrep" check --quiet "$f"; done
	run redact --map=out/map -o out secret-host-name/web1.example.pmr
	[ "$status" -eq 2 ]
	[[ $output == *"among the outputs"* ]]
	run redact -o one.pmr secret-host-name/*.pmr
	[ "$status" -eq 2 ]
	[[ $output == *"not a directory"* ]]
}

@test "damage: what is readable goes over, marked, exit 3" {
	/usr/bin/python3 - "$source/samples/loaded.pmr" <<-'PYTHON'
	import sys
	d = bytearray(open(sys.argv[1], "rb").read())
	d[len(d) // 2] ^= 4
	open("flipped.pmr", "wb").write(d)
	open("cut.pmr", "wb").write(d[:-300])
	PYTHON
	for f in flipped cut; do
		run redact --overwrite -o out.pmr $f.pmr
		[ "$status" -eq 3 ]
		[[ $output == *"damaged or cut"* ]]
		"$bin/pmrep" check --quiet out.pmr
		"$bin/pmrep" dump out.pmr | grep -q 'event .*note'
	done
}

@test "refused: in place, onto an input, streams, what is no option" {
	cp "$source/samples/idle.pmr" in.pmr
	ln in.pmr link.pmr
	for out in in.pmr ./in.pmr link.pmr; do
		run redact --overwrite -o "$out" in.pmr
		[ "$status" -eq 2 ]
		[[ $output == *"is an input"* ]]
	done
	cmp in.pmr "$source/samples/idle.pmr"
	run redact --map=x.pmr -o x.pmr in.pmr
	[ "$status" -eq 2 ]
	run redact --keep=everything -o y.pmr in.pmr
	[ "$status" -eq 2 ]
	run redact --keep=time --shift-time -o y.pmr in.pmr
	[ "$status" -eq 2 ]
	run redact -o y.pmr
	[ "$status" -eq 2 ]
	[ ! -e y.pmr ]
	echo there >y.pmr
	run redact -o y.pmr in.pmr
	[ "$status" -eq 2 ]
	[[ $output == *"--overwrite"* ]]
	[ "$(cat y.pmr)" = there ]
}

@test "from a pipe, and while it is recorded" {
	"$bin/pmrec" --quiet --sources=stat,vmstat --label secret=zqpiped -i 50ms -n 10 -o - | tee in.pmr |
		redact --map=map --shift-time -o piped.pmr -
	redact --map=map --shift-time -o filed.pmr in.pmr
	"$bin/pmrep" dump in.pmr | grep -q zqpiped
	# Recording ids are random, and so are the checksums.
	for x in piped filed; do
		"$bin/pmrep" dump $x.pmr | grep -v '^recording' | sed 's/[a-z]*crc=[0-9a-f]*//g' >$x
		run ! grep zqpiped $x
	done
	[ "$(wc -l <piped)" -gt 50 ]
	diff piped filed
	TMPDIR=$PWD/none run redact -o x.pmr - <in.pmr
	[ "$status" -eq 2 ]
	[[ $output == *"standard input"* || $output == *"$PWD/none"* ]]
	[ ! -e x.pmr ]

	# What is recorded between the two readings would be unknown to the first.
	begin --quiet --sources=stat -i 5ms -o grows.pmr
	await holds grows.pmr 1
	redact --map=map --overwrite -o out.pmr grows.pmr || [ $? -eq 3 ]
	kill -TERM "$pid"
	wait "$pid"
	pid=
	"$bin/pmrep" check --quiet out.pmr
}

@test "a dropped sentence of plain words is not left in others" {
	need_second_reader
	# Names of tasks that run meanwhile may be in names of counters.
	"$bin/pmrec" --quiet --sources=-tasks -i 0 -o plain.pmr -- true 2>/dev/null
	phrase=$("$bin/pmrep" dump plain.pmr | sed -n 's/^probe .*hint="\([^"]*\)".*/\1/p' |
		grep -oE '[a-z]{4,} [a-z]{3,} [a-z]{3,}' | head -1)
	[ -n "$phrase" ] || skip "nothing is refused on this machine"
	"$bin/pmrec" --quiet --sources=-tasks -i 0 --label "note=$phrase" -o in.pmr -- true 2>/dev/null
	"$bin/pmrep" dump in.pmr | grep '^probe' | grep -qF "$phrase"
	redact -o out.pmr in.pmr
	# The file has a code, for which any program has this sentence.
	/usr/bin/python3 "$bytes" check in.pmr out.pmr --must "$phrase" --plain true,note,pmrec,run
	"$bin/pmrep" dump out.pmr | grep '^probe' | grep -qF "$phrase"
	run ! grep -F "$phrase" <("$bin/pmrep" dump out.pmr | grep -v '^probe')
}

@test "no room for a copy" {
	[ "$(id -u)" = 0 ] || skip "not root: no tmpfs"
	mkdir small
	mount -t tmpfs -o size=64k none small 2>/dev/null || skip "no tmpfs"
	mounted=$PWD/small
	"${PM_TESTS:-$BATS_TEST_DIRNAME/../../build/tests}/genrec" perf 100000 large.pmr >/dev/null
	TMPDIR=$PWD/small run redact -o x.pmr - <large.pmr
	[ "$status" -eq 2 ]
	[[ $output == *"standard input: no space in $PWD/small"* ]]
	# On the way out.
	run redact -o small/x.pmr large.pmr
	[ "$status" -eq 2 ]
	[[ $output == *"No space left"* ]]
	[ -z "$(ls small)" ]
	[ ! -e x.pmr ]
}

# Seconds; with work that grows by the square of the names, it is minutes.
@test "100,000 names of a user's, of a source that begins like them" {
	"${PM_TESTS:-$BATS_TEST_DIRNAME/../../build/tests}/genrec" named 100000 named.pmr >/dev/null
	timeout 120 "$bin/pmrep" redact -o out.pmr named.pmr
	timeout 180 "$bin/pmrep" bundle -o out.pmr.gz named.pmr
	"$bin/pmrep" dump out.pmr >dump
	run ! grep -i zqnamed dump
	# Each has a name of its own.
	[ "$(grep -Eo 'name=counter-[0-9a-f]{8} ' dump | sort -u | wc -l)" = 100000 ]
}

@test "hostile strings in every field" {
	need_second_reader
	/usr/bin/python3 "$golden/encode.py" hostile h.pmr
	run redact -o out.pmr h.pmr
	[ "$status" -eq 0 ]
	[[ $output != *$'\e'* ]]
	"$bin/pmrep" check --quiet out.pmr
	/usr/bin/python3 "$bytes" check h.pmr out.pmr
}

@test "each counter that --shift-time shifts has an offset of its own: one that is known tells no other" {
	sample=${PM_SOURCE:-$BATS_TEST_DIRNAME/../..}/samples/loaded.pmr
	pmrep=${PM_BIN:-$BATS_TEST_DIRNAME/../../build/bin}/pmrep
	"$pmrep" redact --shift-time -o shifted.pmr "$sample"
	"$pmrep" dump --format=json --snapshots=1 "$sample" >before
	"$pmrep" dump --format=json --snapshots=1 shifted.pmr >after
	python3 - <<-'EOT'
	import json
	def values(path):
	    rows = [json.loads(line) for line in open(path)]
	    return [(r["counter"], r["value"]) for r in rows if r.get("is") == "value" and isinstance(r.get("value"), int)]
	offsets = {}
	for (a, v), (b, w) in zip(values("before"), values("after")):
	    assert a == b
	    if v != w:
	        offsets.setdefault(a, set()).add((w - v) % 2**64)
	assert len(offsets) > 4, offsets
	assert all(len(o) == 1 for o in offsets.values()), offsets
	assert len({min(o) for o in offsets.values()}) == len(offsets), offsets
	EOT
}

@test "metrics of a user's files lose their names" {
	may_count
	cat >own.json <<'JSON'
[{"MetricName": "tma_frontend_bound", "MetricExpr": "context\\-switches / duration_time", "MetricGroup": "TopdownL1"},
 {"MetricName": "acme_ratio", "MetricExpr": "page\\-faults / duration_time", "MetricGroup": "acme"}]
JSON
	"$bin/pmrec" -q --metrics-file=own.json -M tma_frontend_bound,acme_ratio -i 0.05 -n 2 -o own.pmr
	"$bin/pmrep" redact -o clean.pmr own.pmr 2>said
	run -0 "$bin/pmrep" info clean.pmr
	[[ "$output" == *metric-*metric-* && "$output" != *acme* && "$output" != *tma_frontend_bound* ]]
	run -0 "$bin/pmrep" --total --show='metric-*' --format=csv clean.pmr
	[[ "${lines[1]}" == *,ok,1 && "${lines[2]}" == *,ok,1 ]]
}

@test "names in a user's files of events and metrics go, and his formulas still give the same numbers" {
	may_count
	need_second_reader
	cat >events.json <<'JSON'
[{"EventName": "zqone", "ConfigCode": "2", "Unit": "software", "BriefDescription": "zqabout"},
 {"EventName": "CLOCK.CYCLES", "ConfigCode": "2", "Unit": "software"}]
JSON
	cat >metrics.json <<'JSON'
[{"MetricName": "zqbase", "MetricExpr": "zqone / duration_time", "MetricGroup": "zqset"},
 {"MetricName": "zqtop", "MetricExpr": "zqbase * 2 - 1 + clock.cycles", "MetricGroup": "zqset;zqother",
  "ScaleUnit": "100zqunit", "BriefDescription": "zqhelp", "MetricThreshold": "zqbase > 1"},
 {"MetricName": "zqnamed", "MetricExpr": "software@page\\-faults\\,name\\=zqalias@ / duration_time"}]
JSON
	"$bin/pmrec" -q --events-file=events.json --metrics-file=metrics.json -M zqtop,zqnamed --label zqkey=zqvalue \
		--sources=perf -i 0.05 -n 3 -o own.pmr
	"$bin/pmrec" -q --events-file=events.json -e zqone,page-faults --sources=perf -i 0.05 -n 3 -o events.pmr
	redact --map=m -o clean.pmr own.pmr
	redact --map=m -o clean-events.pmr events.pmr
	cat own.pmr events.pmr >both.pmr
	"$bin/pmrep" bundle -o both.pmr.gz both.pmr
	for file in clean.pmr clean-events.pmr; do
		/usr/bin/python3 "$bytes" check own.pmr "$file" --must zqvalue --plain root,perf
	done
	"$bin/pmrep" dump own.pmr | grep -oiE 'zq[a-z]+' | sort -u >secrets
	[ "$(wc -l <secrets)" -ge 8 ]
	for file in clean.pmr clean-events.pmr both.pmr.gz; do
		"$bin/pmrep" check --quiet "$file"
		{ "$bin/pmrep" dump "$file"; "$bin/pmrep" info --all "$file"; gzip -dcf "$file"; } >all
		run ! grep -iaE 'zq[a-z]' all
	done
	run ! grep -qi 'clock.cycles' <("$bin/pmrep" dump clean.pmr)
	"$bin/pmrep" --total --all --show=zqtop,zqnamed --format=csv own.pmr | cut -d, -f4-5,17,19- >want
	"$bin/pmrep" --total --all --show='metric-*' --format=csv clean.pmr | cut -d, -f4-5,17,19- >got
	[ "$(wc -l <want)" -gt 2 ]
	diff want got
}
