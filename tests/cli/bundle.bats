#!/usr/bin/env bats
# Bundles: redacted, gzip, small enough, and readable by every command as they are.

bats_require_minimum_version 1.5.0

setup() {
	bin=${PM_BIN:-$BATS_TEST_DIRNAME/../../build/bin}
	tests=${PM_TESTS:-$BATS_TEST_DIRNAME/../../build/tests}
	source=${PM_SOURCE:-$BATS_TEST_DIRNAME/../..}
	bytes=$BATS_TEST_DIRNAME/redact_bytes.py
	cd "$BATS_TEST_TMPDIR"
}

bundle() {
	"$bin/pmrep" bundle "$@"
}

large() {
	"$tests/genrec" perf 200000 large.pmr >/dev/null
}

# Sums over the whole recording: they stay, whatever the resolution.
totals() {
	"$bin/pmrep" show --total --per-system --show=all --format=csv "$1" | cut -d, -f16,17,19,20
}

@test "what fits loses nothing but whose it is" {
	bundle -o out.pmr.gz "$source/samples/loaded.pmr" 2>log
	grep -q 'only what redaction removes' log
	gzip -t out.pmr.gz
	"$bin/pmrep" show --all --show=all --format=csv "$source/samples/loaded.pmr" | cut -d, -f3- >want
	"$bin/pmrep" show --all --show=all --format=csv out.pmr.gz | cut -d, -f3- >got
	[ "$(wc -l <want)" -gt 10 ]
	cmp want got
}

@test "every command reads a bundle as it is" {
	"$bin/pmrec" --quiet --sources=stat,vmstat -i 50ms -n 10 -o in.pmr
	bundle -o b.pmr.gz in.pmr
	gunzip -c b.pmr.gz >b.pmr
	for command in "show --all --format=csv" "stat -e stat.user" "info --format=json" "list counters" "dump" "check" \
		"show --since=0.2 --total --format=json"; do
		# shellcheck disable=SC2086
		"$bin/pmrep" $command b.pmr | sed 's/b\.pmr/B/g' >want
		# shellcheck disable=SC2086
		"$bin/pmrep" $command b.pmr.gz | sed 's/b\.pmr\.gz/B/g' >got
		[ -s want ]
		diff want got || { echo "$command"; return 1; }
	done
	for command in cut merge redact bundle; do
		"$bin/pmrep" $command --overwrite -o out.pmr b.pmr.gz 2>log || { echo "$command"; cat log; return 1; }
		"$bin/pmrep" check --quiet out.pmr
		totals out.pmr >got
		totals b.pmr >want
		cmp want got
	done
	for command in diff html plot; do
		"$bin/pmrep" --help | grep -q "^  $command " || continue
		case $command in
		diff) "$bin/pmrec" --quiet --sources=stat,vmstat -i 50ms -n 10 -o other.pmr
			"$bin/pmrep" diff other.pmr b.pmr.gz >out || [ $? -ne 2 ] ;;
		html) "$bin/pmrep" html -o out.html b.pmr.gz ;;
		plot) "$bin/pmrep" plot stat.user b.pmr.gz >out ;;
		esac
	done
}

@test "smaller and smaller: the limit holds, totals stay, and it says what was lost" {
	large
	totals large.pmr >want
	bundle --overwrite -o out.pmr.gz large.pmr
	full=$(stat -c %s out.pmr.gz)
	for part in 2 4 10 30; do
		limit=$((full / part))
		bundle --max-size=$limit --overwrite -o out.pmr.gz large.pmr 2>log || { cat log; return 1; }
		[ "$(stat -c %s out.pmr.gz)" -le $limit ]
		"$bin/pmrep" check --quiet out.pmr.gz
		"$bin/pmrep" info out.pmr.gz | grep '^history' >history
		if grep -q 'lost:' log; then
			lost=$(sed -n 's/^pmrep bundle:   //p' log)
			[ -n "$lost" ]
			grep -qF "$lost" history
		fi
		totals out.pmr.gz >got
		# All sums are what they were.
		[ "$(cut -d, -f1,3- want | sort)" = "$(cut -d, -f1,3- got | sort)" ]
	done
	grep -q 'one snapshot in' log
}

@test "what cannot be reached names the smallest size, which can be" {
	large
	run bundle --max-size=100 -o out.pmr.gz large.pmr
	[ "$status" -eq 2 ]
	[ ! -e out.pmr.gz ]
	[[ $output =~ smallest\ possible\ bundle\ of\ large.pmr\ has\ ([0-9]+) ]]
	# Random names may cost a byte more.
	smallest=$((BASH_REMATCH[1] + 64))
	bundle --max-size=$smallest -o out.pmr.gz large.pmr
	"$bin/pmrep" check --quiet out.pmr.gz
	[ "$(stat -c %s out.pmr.gz)" -le $smallest ]
}

@test "why a value is missing is in the smallest bundle, too" {
	# No machine has all that there is.
	"$bin/pmrec" --quiet -i 100ms -n 5 -o in.pmr 2>/dev/null
	run bundle --max-size=10 -o out.pmr.gz in.pmr
	[[ $output =~ has\ ([0-9]+) ]]
	bundle --max-size=$((BASH_REMATCH[1] + 64)) -o out.pmr.gz in.pmr
	"$bin/pmrep" dump in.pmr | grep '^probe' | sed 's/ what=.*reason/ reason/; s/ hint=.*//' >want
	"$bin/pmrep" dump out.pmr.gz | grep '^probe' | sed 's/ what=.*reason/ reason/; s/ hint=.*//' >got
	[ -s want ]
	cmp want got
}

@test "redacted unless told otherwise" {
	/usr/bin/python3 -c 'import cbor2, zstandard' 2>/dev/null || skip "no python3-cbor2 or python3-zstandard"
	/usr/bin/python3 "$bytes" make all.pmr >made
	bundle --shift-time --map=map -o out.pmr.gz all.pmr
	/usr/bin/python3 "$bytes" check all.pmr out.pmr.gz --must zqhost.zqdomain.example
	[ "$(stat -c %a map)" = 600 ]
	bundle --no-redact --overwrite -o out.pmr.gz all.pmr
	"$bin/pmrep" info out.pmr.gz | grep -q zqhost.zqdomain.example
	run bundle --no-redact --shift-time --overwrite -o out.pmr.gz all.pmr
	[ "$status" -eq 2 ]
}

@test "damage, in place, streams, sizes that are none" {
	head -c 9000 "$source/samples/loaded.pmr" >cut.pmr
	run bundle -o out.pmr.gz cut.pmr
	[ "$status" -eq 3 ]
	"$bin/pmrep" check --quiet out.pmr.gz
	cp out.pmr.gz in.pmr.gz
	run bundle --overwrite -o in.pmr.gz in.pmr.gz
	[ "$status" -eq 2 ]
	cmp in.pmr.gz out.pmr.gz
	for size in 0 -1 5X lots; do
		run bundle --max-size=$size -o x.pmr.gz cut.pmr
		[ "$status" -eq 2 ]
	done
	[ ! -e x.pmr.gz ]
	# The compressed file itself is cut.
	head -c 5000 out.pmr.gz >half.pmr.gz
	run "$bin/pmrep" redact -o y.pmr half.pmr.gz
	[ "$status" -eq 3 ]
	"$bin/pmrep" check --quiet y.pmr
}

@test "as fine as fits: neither over the limit nor far below it" {
	large
	full=$(bundle -o - large.pmr 2>/dev/null | wc -c)
	for part in 2 3 5 8; do
		bundle --overwrite --max-size=$((full / part)) -o out.pmr.gz large.pmr
		size=$(stat -c %s out.pmr.gz)
		[ "$size" -le $((full / part)) ]
		[ "$size" -ge $((full / part / 2)) ]
	done
}

@test "from a pipe, compressed, being written: one copy is read" {
	"$bin/pmrec" --quiet --sources=stat,vmstat -i 50ms -n 20 -o in.pmr
	bundle --no-redact -o want.gz in.pmr
	gzip -k in.pmr
	for options in "" "--max-size=3000"; do
		# shellcheck disable=SC2086
		cat in.pmr | bundle --no-redact --overwrite $options -o got.gz - || [ -n "$options" ]
		"$bin/pmrep" check --quiet got.gz
	done
	bundle --no-redact --overwrite -o got.gz in.pmr.gz
	numbers() { "$bin/pmrep" show --all --show=all --format=csv "$1" | cut -d, -f3-; }
	numbers want.gz >want
	numbers got.gz >got
	[ "$(wc -l <want)" -gt 20 ]
	cmp want got
	[ "$(bundle --no-redact -o - - <in.pmr | wc -c)" -gt 1000 ]
	# No place for a copy.
	TMPDIR=$PWD/none run bundle -o x.pmr.gz - <in.pmr
	[ "$status" -eq 2 ]
	[[ $output == *"$PWD/none"*"TMPDIR"* ]]
	run bundle -o x.pmr.gz - </dev/null
	[ "$status" -eq 2 ]
	[[ $output == *"standard input"*"empty"* ]]
	[ ! -e x.pmr.gz ]
}

@test "to stdout" {
	bundle -o - "$source/samples/idle.pmr" 2>/dev/null | gzip -t
}
