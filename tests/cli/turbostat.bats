#!/usr/bin/env bats
# turbostat's text and options on recordings.

setup() {
	bats_require_minimum_version 1.5.0
	bin=$PM_BIN
	cd "$BATS_TEST_TMPDIR" || exit 1
}

@test "the text of a command: elapsed time, heads, TABs, one result" {
	"$bin/pmrec" --quiet --sources=interrupts -a -i 50ms -o r.pmr sleep 0.3
	run -0 "$bin/pmrep" -q --format=turbostat r.pmr
	[[ ${lines[0]} =~ ^[0-9]+\.[0-9]{6}\ sec$ ]]
	awk '{ exit !($1 >= 0.3) }' <<<"${lines[0]}"
	[[ ${lines[1]} == *CPU$'\t'IRQ* ]]
	[[ ${lines[2]} == -$'\t'* ]]
	# Heads and one row for the machine, then one a CPU.
	[ "$(grep -c IRQ <<<"$output")" -eq 1 ]
	[ "$(printf '%s\n' "$output" | tail -n +3 | wc -l)" -ge 2 ]
}

@test "topology columns are there unless --show leaves them out" {
	"$bin/pmrec" --quiet --sources=interrupts -n 2 -i 50ms -o r.pmr
	[ "$("$bin/pmrep" --format=turbostat --show IRQ r.pmr -S -n 1 | head -n 1)" = IRQ ]
	[ "$("$bin/pmrep" --format=turbostat --show CPU,IRQ r.pmr -n 1 | head -n 1)" = CPU$'\t'IRQ ]
	[[ $("$bin/pmrep" --hide CPU --show IRQ r.pmr -n 1 | head -n 1) != *CPU* ]]
}

@test "--header_iterations, --TCC and words that are none" {
	"$bin/pmrec" --quiet --sources=interrupts -n 2 -i 50ms -o r.pmr
	# Four intervals, whatever the machine lost meanwhile.
	[ "$("$bin/pmrep" --format=turbostat -S -n 4 "$PM_SOURCE/samples/plain.pmr" | grep -c IRQ)" -eq 1 ]
	[ "$("$bin/pmrep" --format=turbostat -S -n 4 -N 2 "$PM_SOURCE/samples/plain.pmr" | grep -c IRQ)" -eq 2 ]
	run -2 "$bin/pmrep" --TCC=warm r.pmr
	run -125 "$bin/pmrec" --TCC=warm -n 1
	[[ $output == *"'warm' is not a number from 1 to 255"* ]]
	[[ $output == *warm* ]]
	run -0 "$bin/pmrep" -T 100 -f -M -P -q r.pmr
	run -2 "$bin/pmrep" --show=PkgWat r.pmr
	[[ $output == *PkgWat* ]]
}

@test "--show sysfs is the requested C-states: how often, and how long" {
	run -0 "$bin/pmrep" --quiet --format=turbostat --show sysfs -n 1 "$PM_SOURCE/samples/plain.pmr"
	states=$("$bin/pmrep" dump --no-values "$PM_SOURCE/samples/plain.pmr" |
		sed -n 's/.*name=cpuidle\.state[0-9]*\.name .*value=//p' | tr -d '"' | tr ' ' _ | sed -E 's/^(C[0-9].*)-[A-Z]+$/\1/')
	[ -n "$states" ]
	# Counts first, then percentages, as turbostat has them.
	want=$(printf '%s\n' "$states" | paste -s -)$'\t'$(sed 's,$,%,' <<<"$states" | paste -s -)
	[ "${lines[0]}" = "$want" ]
}

@test "the elapsed time of a command stands before its table, too, and --all has none" {
	run -0 "$bin/pmrep" -q "$PM_SOURCE/samples/command.pmr"
	[[ ${lines[0]} =~ ^[0-9]+\.[0-9]{6}\ sec$ ]]
	run -0 "$bin/pmrep" -q --all "$PM_SOURCE/samples/command.pmr"
	[[ $output != *" sec"* ]]
	run -0 "$bin/pmrep" -q "$PM_SOURCE/samples/plain.pmr"
	[[ $output != *" sec"* ]]
}

@test "--Dump is one snapshot" {
	run -0 --separate-stderr "$bin/pmrep" -D "$PM_SOURCE/samples/plain.pmr"
	[ "$(grep -c '^cpuidle\.time\.poll (cpu 0): [0-9]*$' <<<"$output")" -eq 1 ]
	run -2 "$bin/pmrep" -D
	run -0 "$bin/pmrep" dump --snapshots=3 "$PM_SOURCE/samples/plain.pmr"
	[ "$(grep -c '^snapshot ' <<<"$output")" -eq 3 ]
	run -2 "$bin/pmrep" dump --snapshots=0 "$PM_SOURCE/samples/plain.pmr"
}

@test "names that nobody has: the nearest of columns, places and categories" {
	for pair in Modle:Module sysf:sysfs GFX%rc66:GFX%rc6 LLCkRP:LLCkRPS APICC:APIC; do
		run -2 "$bin/pmrep" --show="${pair%:*}" "$PM_SOURCE/samples/plain.pmr"
		[[ $output == *"'${pair%:*}'; did you mean '${pair#*:}'?"* ]]
	done
	run -2 "$bin/pmrep" --show=UMHz0.0 "$PM_SOURCE/samples/plain.pmr"
	[[ $output == *"'UMHz0.0' needs 'uncorefreq.cluster'"* ]]
	for name in Package Die L3 Node Module Core CPU topology; do
		"$bin/pmrep" --show="$name,IRQ" -n 1 "$PM_SOURCE/samples/plain.pmr"
	done
}

@test "CPU is a column, and no category of that name" {
	run -0 "$bin/pmrep" --quiet --format=turbostat --show CPU,IRQ -n 1 "$PM_SOURCE/samples/plain.pmr"
	[ "${lines[0]}" = CPU$'\t'IRQ ]
	run -0 "$bin/pmrep" --quiet --hide CPU -n 1 "$PM_SOURCE/samples/plain.pmr"
	[[ ${lines[0]} != *CPU* && ${lines[0]} == *Util%* ]]
}

@test "what describes the machine goes to stderr, and columns are turbostat's, others if named" {
	run -0 --separate-stderr "$bin/pmrep" --format=turbostat -n 1 "$PM_SOURCE/samples/plain.pmr"
	[[ ${lines[0]} == *Avg_MHz* || ${lines[0]} == *IRQ* ]]
	[[ ${lines[0]} == *POLL$'\t'*POLL%* ]]
	run -0 "$bin/pmrep" --format=turbostat -q -n 1 --show=CPU,POLL+,POLL% "$PM_SOURCE/samples/plain.pmr"
	[ "${lines[0]}" = CPU$'\t'POLL+$'\t'POLL% ]
	run -2 "$bin/pmrep" --format=turbostat=2022 "$PM_SOURCE/samples/plain.pmr"
	# --list is one line of heads.
	run -0 "$bin/pmrep" --format=turbostat --list "$PM_SOURCE/samples/plain.pmr"
	[ "${#lines[@]}" -eq 1 ]
	[[ $output == *CPU,*IRQ,POLL,* ]]
	# A column that nobody has is a remark, as turbostat has none.
	run -0 --separate-stderr "$bin/pmrep" --format=turbostat -q --show=IRQ,Nosuch -S -n 1 "$PM_SOURCE/samples/plain.pmr"
	[ "${lines[0]}" = IRQ ]
	[[ $stderr == *Nosuch* ]]
}
