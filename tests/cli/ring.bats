#!/usr/bin/env bats
# pmrec --ring and pmrec dump: what a flight recorder keeps, and who gets it out.

bats_require_minimum_version 1.5.0
load lib

setup() {
	bin=${PM_BIN:-$BATS_TEST_DIRNAME/../../build/bin}
	pid=
	cd "$BATS_TEST_TMPDIR"
	chmod 755 .
}

teardown() {
	[ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null || true
}

# ring OPTION...: a recorder in the background, as begin.
ring() {
	begin -q -i 10ms --sources=softirqs,stat,interrupts -o r.pmr "$@"
}

finish() {
	kill -TERM "$pid"
	wait "$pid"
	pid=
}

# Links every file of the ring, so that what it drops can still be looked at.
link_files() {
	local f
	mkdir -p all
	for f in r-2*.pmr; do
		[ -e "all/$f" ] || ln "$f" all/ 2>/dev/null || true
	done
}

# linked N: so many files have been there.
linked() {
	link_files
	[ "$(ls all | wc -l)" -ge "$1" ]
}

@test "a dump is the last of what was recorded, whole; the ring holds its time and not much more" {
	ring --ring=2s
	await linked 9
	"$bin/pmrec" dump --pid="$pid" --last=1s -o last.pmr 2>err
	"$bin/pmrec" dump --pid="$pid" -o kept.pmr
	link_files
	finish
	"$bin/pmrep" check -q last.pmr
	"$bin/pmrep" check -q kept.pmr
	grep -q ' 0 gaps' err
	# Value by value what the files have, of which most are no longer in the ring.
	python3 "$BATS_TEST_DIRNAME/ring.py" "$bin/pmrep" last.pmr 0.98 1.02 all/*
	# Two seconds, a file, what has come since in chunks of a second, and what a busy machine is late.
	python3 "$BATS_TEST_DIRNAME/ring.py" "$bin/pmrep" kept.pmr 1.9 4.5 all/*
	set -- r-2*.pmr
	[ $# -le 10 ]
	# Metrics, too, of the seconds that both have.
	"$bin/pmrep" merge -o whole.pmr all/* 2>/dev/null
	for f in whole last; do
		"$bin/pmrep" show --format=csv $f.pmr | cut -d, -f3- | sort >$f.csv
	done
	[ "$(wc -l <last.csv)" -gt 200 ]
	[ -z "$(comm -13 whole.csv last.csv | grep -v '^time' | head -3)" ]
}

@test "a size bounds the files together" {
	ring --ring=10m,64k -i 1ms
	for _ in {1..40}; do
		link_files
		[ "$(cat r-2*.pmr 2>/dev/null | wc -c)" -le 64000 ]
		sleep 0.1
	done
	"$bin/pmrec" dump --pid="$pid" -o d.pmr
	finish
	"$bin/pmrep" check -q d.pmr
	[ "$(ls all | wc -l)" -gt "$(ls r-2*.pmr | wc -l)" ]
}

@test "after kill -9 the next recorder has what the first left, and drops it in time" {
	echo mine >r-20200101T000000Z.pmr
	ring --ring=3s
	await linked 3
	kill -KILL "$pid"
	wait "$pid" || true
	left=$(ls -t r-2*.pmr | head -1)
	ring --ring=3s
	await linked $(($(ls all | wc -l) + 1))
	run -3 "$bin/pmrec" dump --pid="$pid" --last=3s -o both.pmr
	# The file that was cut short is named; the dump itself is whole.
	[[ $output == *"1 gap"* ]]
	"$bin/pmrep" check -q both.pmr
	await [ ! -e "$left" ]
	finish
	[ "$(cat r-20200101T000000Z.pmr)" = mine ]
}

@test "any recorder that writes files can be asked; one that feeds a pipe says so" {
	begin -q -i 10ms --sources=stat -o one.pmr
	await holds one.pmr 3
	"$bin/pmrec" dump --pid="$pid" -o - 2>/dev/null >d.pmr
	"$bin/pmrep" check -q d.pmr
	run -2 "$bin/pmrec" dump --pid="$pid" -o d.pmr
	[[ $output == "pmrec dump: "* ]]
	[[ $output == *"d.pmr"*exists* ]]
	finish
	mkfifo p
	cat p >got &
	begin -q -i 10ms --sources=stat -o p
	run -125 "$bin/pmrec" dump --pid="$pid" -o e.pmr
	[[ $output == *"goes to a pipe"* ]]
	finish
	run -125 "$bin/pmrec" dump --pid=$$ -o e.pmr
	[[ $output == *"not a recorder"* ]]
}

@test "root's service lets its group dump and mark, and nobody else" {
	[ "$(id -u)" = 0 ] || skip "not root"
	mkdir -m 2750 log
	chgrp 54400 log
	mkdir -m 777 user
	cd log
	umask 027
	setpriv --regid=54400 --clear-groups "$bin/pmrec" -q -i 10ms --sources=stat --ring=5s -o r.pmr 3>&- &
	pid=$!
	await compgen -G 'r-2*.pmr'
	await holds r-2*.pmr 2
	cd ../user
	umask 022
	member="setpriv --reuid=54322 --regid=54322 --groups=54400"
	$member "$bin/pmrec" mark hello
	$member "$bin/pmrec" dump --pid="$pid" -o d.pmr
	"$bin/pmrep" list events d.pmr | grep -q hello
	[ "$(stat -c %u d.pmr)" = 54322 ]
	run -125 setpriv --reuid=54322 --regid=54322 --clear-groups "$bin/pmrec" dump --pid="$pid" -o e.pmr
	[[ $output == *"that you may dump"* ]]
	run -125 setpriv --reuid=54322 --regid=54322 --groups=0 "$bin/pmrec" dump --pid="$pid" -o e.pmr
	run -125 setpriv --reuid=54322 --regid=54322 --clear-groups "$bin/pmrec" mark no
	[ ! -e e.pmr ]
	cd ..
	finish
}

@test "what does not go together is said" {
	for words in "--ring=0" "--ring=x" "--ring=10m,7" "--ring=1ms -i 1" "--ring=1m --keep=3" \
		"--ring=1m -o -" "--ring=1m --report"; do
		# shellcheck disable=SC2086
		run -125 "$bin/pmrec" -q --sources=stat $words
		[[ $output == *--ring* ]] || { echo "$words: $output"; return 1; }
	done
	[ -z "$(ls)" ]
}
