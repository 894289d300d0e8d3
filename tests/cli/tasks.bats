#!/usr/bin/env bats
# Who used most: the source of tasks beside processes whose use is known from elsewhere.

bats_require_minimum_version 1.5.0
load lib

teardown() {
	kill ${hog:-} ${pid:-} 2>/dev/null || true
}

setup() {
	bin=${PM_BIN:-$BATS_TEST_DIRNAME/../../build/bin}
	cd "$BATS_TEST_TMPDIR"
	cp "$(type -P bash)" hog
	cp "$(type -P true)" shorty
}

total() { # FILE METRIC TASK-PATTERN: the sum of the rows whose task matches
	"$bin/pmrep" show --total --per-task --show="$2" --format=csv "$1" |
		awk -F, -v task="$3" '$14 ~ task { sum += $17; n++ } END { if (!n) exit 1; print sum }'
}

@test "a process that burns CPU has its name, its pid and what it used" {
	./hog -c 'while :; do :; done' & hog=$!
	"$bin/pmrec" --quiet -n 3 --sources=tasks -o t.pmr
	used=$(awk '{ print ($14 + $15) / 100 }' /proc/$hog/stat)
	kill $hog
	user=$(total t.pmr tasks.user "^hog [(]$hog[)]$")
	system=$(total t.pmr tasks.system "^hog [(]$hog[)]$")
	awk -v used="$used" -v mine="$user" -v more="$system" 'BEGIN { mine += more; exit !(mine > 0.02 && mine <= used + 0.001) }'
	# among the first of the table, and alone there if only one is asked for
	run -0 "$bin/pmrep" show --per-task --top=1 --quiet t.pmr
	[ "$(grep -cE '^[0-9:]{8} +[^ -]' <<<"$output")" -eq 3 ]
}

@test "a process that begins while recording counts from its beginning" {
	mkfifo never
	begin -i 1 --sources=tasks -o t.pmr
	./hog -c 'for ((i = 0; i < 200000; i++)); do :; done; : >ready; read -r' <>never & hog=$!
	await test -e ready
	sleep 0.2
	used=$(awk '{ print ($14 + $15) / 100 }' /proc/$hog/stat)
	say snapshot
	say snapshot
	kill $hog
	kill -INT "$pid"
	wait "$pid"
	user=$(total t.pmr tasks.user "^hog ") system=$(total t.pmr tasks.system "^hog ")
	echo "used $used, recorded $user and $system"; "$bin/pmrep" show --all --per-task --show=tasks.user,tasks.system --format=csv t.pmr | grep -n "hog\|bash"
	awk -v used="$used" -v a="$user" -v b="$system" 'BEGIN { d = a + b - used; exit !(used > 0 && d >= -0.03 && d <= 0.05) }'
}

@test "processes that nobody could see are counted by name, and by parent where that was seen" {
	[ "$EUID" -eq 0 ] || skip "needs CAP_NET_ADMIN"
	begin -i 1 --sources=tasks -o t.pmr
	grep -q taskstats <("$bin/pmrep" info --all t.pmr) && skip "no taskstats"
	./hog -c 'for ((i = 0; i < 150; i++)); do ./shorty; done; exit 0'
	say snapshot
	kill -INT "$pid"
	wait "$pid"
	"$bin/pmrep" dump t.pmr | grep -q 'key=exits\|tasks.exits'
	# a few may have been alive at a reading
	ended=$(total t.pmr tasks.ended '^shorty( |$)')
	[ "$ended" -ge 140 ] && [ "$ended" -le 150 ]
}

@test "names stand nowhere in a strict or redacted recording" {
	./hog -c 'while :; do :; done' & hog=$!
	"$bin/pmrec" --quiet -n 1 --sources=tasks --privacy=strict -o strict.pmr
	"$bin/pmrec" --quiet -n 1 --sources=tasks -o default.pmr
	"$bin/pmrec" --quiet -n 1 --sources=tasks --privacy=full -o full.pmr
	kill $hog
	"$bin/pmrep" redact -o redacted.pmr default.pmr
	for file in strict redacted; do
		run ! grep -q hog <("$bin/pmrep" dump $file.pmr)
		run -0 "$bin/pmrep" show --per-task --show=tasks.user --format=csv $file.pmr
		[[ "$output" == *,task-* ]]
	done
	grep -q 'comm=hog' <("$bin/pmrep" dump default.pmr | tr -d '"')
	run ! grep -q 'while :' <("$bin/pmrep" dump default.pmr)
	grep -q 'while :' <("$bin/pmrep" dump full.pmr)
}

@test "at shorter intervals tasks are not read, and the recording says so" {
	run -125 "$bin/pmrec" --quiet -i 0.1 -n 2 --sources=tasks -o t.pmr
	"$bin/pmrec" --quiet -i 0.1 -n 2 -o t.pmr --overwrite
	"$bin/pmrep" info --all t.pmr | grep -q 'at an interval of less than a second'
}
