#!/usr/bin/env bats
# README.md: what it tells a newcomer to type does what it says.

bats_require_minimum_version 1.5.0

setup() {
	bin=$(cd "${PM_BIN:-$BATS_TEST_DIRNAME/../../build/bin}" && pwd)
	source=$(cd "${PM_SOURCE:-$BATS_TEST_DIRNAME/../..}" && pwd)
	cd "$BATS_TEST_TMPDIR"
	export LC_ALL=C.UTF-8 PMREP_PAGER=cat
}

# The recorder as the story has it, but brief; where the story goes on with a recording of samples/stories, with that.
pmrec() {
	local word output=
	for word in "$@"; do
		[ "$output" = next ] && output=$word
		[ "$word" != -o ] || output=next
	done
	"$bin/pmrec" --overwrite --timeout=200 "$@" 2>said || { cat said; return 1; }
	grep -q "$output: [0-9]* snapshots" said || { cat said; return 1; }
	[ ! -e "$source/samples/stories/$output" ] || cp "$source/samples/stories/$output" .
}

pmrep() {
	"$bin/pmrep" "$@"
}

@test "every command of README.md runs, and the gate fails as it says" {
	printf '#!/bin/sh\nexec sleep 0.01\n' >job
	chmod +x job
	sed -n 's/^    \$ //p' "$source/README.md" >commands
	[ "$(wc -l <commands)" -ge 14 ]
	while read -r line; do
		status=0
		eval "$line" >out 2>err </dev/null || status=$?
		want=0
		[[ $line != *" diff "* ]] || want=1
		[ "$status" -eq "$want" ] || { echo "$line: exit status $status"; cat out err; return 1; }
		[[ $line == pmrec* || $line == *" -o "* || -s out ]] || { echo "$line: no output"; return 1; }
	done <commands
	[ -s slow.html ]
	"$bin/pmrep" incidents --top=1 slow.pmr | grep -q '^+18 s for 8 s.*written to disks.*backup'
	"$bin/pmrep" info bug.pmr.gz >info
	! grep -q db1 info
}

@test "README.md is short, its links lead somewhere, and its pictures are small" {
	[ "$(wc -l <"$source/README.md")" -le 150 ]
	for link in $(grep -ohE '\]\([^):]*\)' "$source/README.md" "$source"/docs/*.md | tr -d '])('); do
		[ -e "$source/$link" ] || [ -e "$source/docs/$link" ] || { echo "no $link"; return 1; }
	done
	[ "$(cat "$source"/docs/*.png | wc -c)" -lt 150000 ]
}
