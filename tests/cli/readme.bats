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
	"$bin/pmrep" incidents --top=1 slow.pmr | grep -q '^+18 s for 6 s.*written to disks.*backup'
	"$bin/pmrep" info bug.pmr.gz >info
	! grep -q db1 info || false
}

@test "README.md shows what pmrep prints" {
	cp "$source"/samples/stories/*.pmr .
	PATH=$bin:$PATH timeout 60 /usr/bin/python3 - "$source/README.md" <<-'PYTHON'
	import re, subprocess, sys
	blocks, command, compared = [], None, 0
	for line in open(sys.argv[1]):
	    if line.startswith("    $ "):
	        command = line[6:].strip()
	        blocks.append((command, []))
	    elif command and line.startswith("    "):
	        blocks[-1][1].append(line.strip())
	    elif line.strip():
	        command = None
	for command, lines in blocks:
	    if not command.startswith("pmrep "):
	        continue
	    printed = subprocess.run(command, shell=True, text=True, stdout=subprocess.PIPE).stdout
	    if not lines:
	        continue
	    # Wide lines are broken in README.md; "..." stands for what is left out.
	    want = ".*".join(re.escape(" ".join(part.split())) for part in re.split(r"(?<!\S)\.\.\.(?!\S)", " ".join(lines)))
	    compared += 1
	    if not re.search(want.replace(" .*", ".*").replace(".* ", ".*"), " ".join(printed.split())):
	        sys.exit(f"{command} prints:\n{printed}")
	if compared < 4:
	    sys.exit(f"only {compared} outputs were compared")
	PYTHON
}

@test "README.md is short, its links lead somewhere, and its pictures are small" {
	[ "$(wc -l <"$source/README.md")" -le 150 ]
	# Its first section has the commands with which to begin.
	awk '/^## / { n++ } n == 1' "$source/README.md" >first
	for command in samples/quickstart tests/run; do
		grep -qx "    $command" first && [ -x "$source/$command" ]
	done
	for link in $(grep -ohE '\]\([^):]*\)' "$source/README.md" "$source/CONTRIBUTING.md" "$source"/docs/*.md | tr -d '])('); do
		[ -e "$source/$link" ] || [ -e "$source/docs/$link" ] || { echo "no $link"; return 1; }
	done
	[ "$(cat "$source"/docs/*.png | wc -c)" -lt 150000 ]
}

@test "pmrep alone shows the newest recording of the folder, or the help" {
	run --separate-stderr -2 "$bin/pmrep"
	[[ $output == Usage:* && $stderr == *"none (*.pmr)"* ]]
	cp "$source/samples/idle.pmr" old.pmr
	cp "$source/samples/offline.pmr" -- -new.pmr
	touch -d "1 hour ago" old.pmr
	mkdir newest.pmr
	run --separate-stderr -0 "$bin/pmrep"
	[[ ${stderr_lines[0]} == *" -new.pmr;"* ]]
	[ "$output" = "$("$bin/pmrep" --total -- -new.pmr 2>/dev/null)" ]
}

@test "pmrep list metrics lists what is built in without a file, and its formulas in json" {
	run -0 "$bin/pmrep" list metrics
	[ "${#lines[@]}" -gt 300 ]
	run -0 "$bin/pmrep" list metrics 'util*' --format=json
	grep '"metric":"util.user"' <<<"$output" | python3 -c 'import json, sys; assert "stat.user" in json.load(sys.stdin)["formula"]'
	! grep -v '"metric":"util' <<<"$output" || false
	run -2 "$bin/pmrep" list metrics 'nosuch*'
	run -2 "$bin/pmrep" list metrics nosuch.pmr
	[[ $output == *"No such file"* ]]
}

@test "on a terminal pmrec says what it records, where to, and how to see it" {
	script -qec "'$bin/pmrec' -n 1 -i 0.01 -o here.pmr" /dev/null </dev/null | tr '\r' '\n' >said
	grep -qE '^pmrec: recording [0-9]+ counters every 0.01 s to here.pmr; Ctrl-C ends it' said
	grep -q 'here.pmr: 2 snapshots, .*; to see it: pmrep here.pmr' said
	script -qec "'$bin/pmrec' --quiet --overwrite -n 1 -i 0.01 -o here.pmr" /dev/null </dev/null >said
	[ ! -s said ]
}
