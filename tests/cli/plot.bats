#!/usr/bin/env bats
# pmrep plot: pictures of text, against the numbers of show.

bats_require_minimum_version 1.5.0

setup() {
	bin=${PM_BIN:-$BATS_TEST_DIRNAME/../../build/bin}
	tests=${PM_TESTS:-$BATS_TEST_DIRNAME/../../build/tests}
	source=${PM_SOURCE:-$BATS_TEST_DIRNAME/../..}
	unset COLUMNS
	export LC_ALL=C.UTF-8
	cd "$BATS_TEST_TMPDIR"
}

plot() {
	"$bin/pmrep" plot "$@"
}

@test "the largest and the smallest value are in the picture, and the numbers are those of show" {
	s=$source/samples/idle.pmr
	plot util --width=60 "$s" >out
	"$bin/pmrep" show --all -S --show=util --format=csv "$s" | python3 -c '
import csv, re, sys
values = [float(r["value"]) for r in csv.DictReader(sys.stdin) if r["value"]]
head = open("out").readline()
low, mean, high = map(float, re.match(r"Util%: min ([\d.]+), mean ([\d.]+), max ([\d.]+) %", head).groups())
near = lambda a, b: abs(a - b) <= 0.001 * abs(b) + 1e-6
assert near(low, min(values)) and near(high, max(values)), (head, values)
assert min(values) <= mean <= max(values)'
	# 12 rows, the axis and its numbers.
	[ "$(wc -l <out)" -eq 15 ]
	python3 - <<-'EOT'
	lines = open("out", encoding="utf-8").read().split("\n")
	assert all(len(l) <= 60 for l in lines), max(map(len, lines))
	assert any("\u2800" < c <= "\u28ff" for l in lines for c in l)
	EOT
}

@test "width and height: option, COLUMNS, 80" {
	s=$source/samples/idle.pmr
	longest() {
		python3 -c 'print(max(len(l.rstrip("\n")) for l in open("out", encoding="utf-8")))'
	}
	plot ctxsw "$s" >out
	[ "$(longest out)" -le 80 ] && [ "$(longest out)" -ge 78 ]
	COLUMNS=44 plot ctxsw "$s" >out
	[ "$(longest out)" -le 44 ] && [ "$(longest out)" -ge 42 ]
	COLUMNS=44 plot ctxsw --width=100 --height=5 "$s" >out
	[ "$(longest out)" -le 100 ] && [ "$(longest out)" -ge 98 ]
	[ "$(wc -l <out)" -eq 8 ]
}

@test "ASCII where there is no UTF-8" {
	s=$source/samples/idle.pmr
	for args in "util" "util util.user --per-cpu"; do
		LC_ALL=C plot $args "$s" >a
		plot --ascii $args "$s" >b
		cmp a b
		run ! grep -q -P '[^\x00-\x7f]' a
		plot $args "$s" | grep -q -P '[^\x00-\x7f]'
	done
}

@test "colours only where they are wanted" {
	s=$source/samples/idle.pmr
	run ! grep -q $'\033' <(plot util util.user "$s")
	grep -q $'\033\[36m' <(plot --color=always util util.user "$s")
	# Without them lines have marks, which the legend names.
	plot util.user util.system "$s" >out
	grep -q '^\* User%' out
	grep -q '^o Sys%' out
	grep -q '┤.*[*o]\|│.*[*o]' out
}

@test "units part charts; levels make lines" {
	s=$source/samples/idle.pmr
	[ "$(plot util ctxsw "$s" | grep -c '└')" -eq 2 ]
	[ "$(plot util util.user "$s" | grep -c '└')" -eq 1 ]
	plot --per-cpu util "$s" | grep -q 'Util%  CPU 1: min'
	plot --cpu=1 util "$s" >out
	grep -q 'CPU 1: min' out
	run ! grep -q 'CPU 0: min' out
}

@test "a gap is drawn as a gap" {
	# Both ends of six seconds.
	"$bin/pmrep" cut --until=1.2 -o a.pmr "$source/samples/loaded.pmr" 2>/dev/null
	"$bin/pmrep" cut --since=4.8 -o b.pmr "$source/samples/loaded.pmr" 2>/dev/null
	"$bin/pmrep" merge -o both.pmr a.pmr b.pmr 2>/dev/null
	plot ctxsw --width=70 both.pmr >out
	python3 - <<-'EOT'
	rows = [l.split("┤" if "┤" in l else "│", 1)[1] for l in open("out", encoding="utf-8").read().split("\n")
	        if "┤" in l or "│" in l]
	filled = [any(len(r) > x and r[x] != " " for r in rows) for x in range(max(map(len, rows)))]
	assert filled[0] and filled[-1], filled
	hole = [len(h) for h in "".join("x" if f else " " for f in filled).strip().split("x") if h]
	assert len(hole) == 1 and abs(hole[0] - 0.6 * len(filled)) <= 2, (hole, len(filled))
	EOT
}

@test "a part of the time" {
	s=$source/samples/idle.pmr
	plot util --since=1 --until=3 "$s" >part
	plot util --every=2 "$s" >coarse
	plot util "$s" >all
	! cmp -s part all || false
	! cmp -s coarse all || false
	tail -1 part | grep -q '2.* s$'
	tail -1 part | grep -q -v '[34] s$'
}

@test "recordings of one file are drawn where their time is" {
	s=$source/samples
	cat "$s/plain.pmr" "$s/idle.pmr" >first.pmr
	plot util first.pmr | tail -1 | grep -q '120 s$'
}

@test "what cannot be drawn is said" {
	s=$source/samples/idle.pmr
	run -2 plot
	run -2 plot "$s"
	[[ $output == *"no metric given"* ]]
	run -2 plot utill "$s"
	[[ $output == *"did you mean 'util'"* ]]
	run -2 plot util nowhere.pmr
	run -2 plot util "$s" "$s"
	[[ $output == *"metrics come first"* ]]
	run -2 plot util --width=5 "$s"
	run -2 plot util --height=1 "$s"
	run -2 plot util --every=0 "$s"
	run -3 plot util "$source/samples/killed.pmr"
	plot util - <"$s" >/dev/null
	printf 'x' >bad.pmr
	run -2 plot util bad.pmr
}

@test "counters are drawn per second: a stretch of lost ticks is no peak" {
	"$tests/make_page" r.pmr 600
	plot --per-package bench.wave r.pmr >out
	grep -q 'package 0: min 3000, mean 19.13k, max 36.00k 1/s' out
	grep -q 'package 1: min 10.00k, mean 55.00k, max 100.0k 1/s' out
}
