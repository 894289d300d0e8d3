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

# A machine of 16 CPUs, CPU 15 offline; package values stand in the rows of CPUs 0 and 4, core values in seven.
server() {
	"$PM_SOURCE/tests/sysroots/make" server machine
	echo 7 >machine/sys/devices/system/cpu/intel_pstate/no_turbo
	"$bin/pmrec" -q --root machine -i 0.05 -n 3 -o r.pmr "$@"
}

# rows N COMMAND...: it prints a head, a row of the machine, and N others.
rows() {
	local n=$1
	shift
	run -0 --separate-stderr "$bin/pmrep" -q --total "$@" r.pmr
	[ "${#lines[@]}" = $((n + 2)) ] || { echo "$*: $output"; return 1; }
}

@test "rows follow the topology, whatever is shown" {
	server
	for format in table turbostat; do
		rows 15 --format=$format --show CPU,PkgThr
		rows 15 --format=$format --show CPU,CoreThr,PkgThr
		rows 15 --format=$format --show CPU
		rows 2 --format=$format --show CPU,PkgThr --cpu 4,5
		rows 2 --format=$format --show CPU,PkgThr --cpu package
		rows 8 --format=$format --show CPU,PkgThr --cpu core
	done
	rows 15 --per-cpu --show ctxsw
	rows 8 --per-core --show PkgThr
	rows 4 --per-die --show CoreThr
	rows 2 --per-package --show ctxsw
	# Where nothing finer than the machine is shown, and no rows were asked for, its row is all.
	rows 0 --show ctxsw
	run -0 "$bin/pmrep" -q --total --show=PkgThr r.pmr
	[ "$(awk 'NR > 2 { print $6 ":" $7 }' <<<"$output" | grep -cE '^(0|4):0$')" = 2 ]
	[ "$(awk 'NR > 2 && NF > 6' <<<"$output" | wc -l)" = 2 ]
}

@test "an added file has a value in the row of each place of its scope" {
	for scope in cpu:15 core:8 package:2; do
		server --overwrite --add=/sys/devices/system/cpu/intel_pstate/no_turbo,${scope%:*},raw,u32,NT
		rows 15 --format=turbostat --show CPU,NT
		[ "${lines[1]}" = "-"$'\t'0x00000000 ]
		[ "$(grep -c 0x00000007 <<<"$output")" = "${scope#*:}" ] || { echo "$scope: $output"; return 1; }
		[ "$("$bin/pmrep" -q --total --format=csv --show=NT r.pmr | grep -c ',add.nt,7,')" = "${scope#*:}" ]
	done
	# --show and --hide hold for what was added; turbostat's text keeps it.
	[ "$("$bin/pmrep" -q --total --format=csv --show=ctxsw r.pmr | grep -c add.nt)" = 0 ]
	[ "$("$bin/pmrep" -q --total --format=csv --hide=add r.pmr | grep -c add.nt)" = 0 ]
	[ "$("$bin/pmrep" -q --total --format=json --show=add r.pmr | grep -c add.nt)" = 2 ]
	rows 15 --format=turbostat --show CPU
	[ "${lines[0]}" = CPU$'\t'"        NT" ]
	server --overwrite --add=/sys/devices/system/cpu/intel_pstate/no_turbo,raw,NT \
		--add=/sys/devices/system/cpu/intel_pstate/no_turbo,delta,NT
	rows 15 --format=turbostat --show CPU,NT
	[ "$(grep -o NT <<<"${lines[0]}" | wc -l)" = 2 ]
}

@test "energies are hidden by either name, by globs and by categories" {
	server
	for hide in Pkg_J pkg_j 'Pkg_*' energy PkgWatt power; do
		for format in table turbostat; do
			run -0 --separate-stderr "$bin/pmrep" -q -J --total --format=$format --show CPU,Pkg_J,IRQ,Util% --hide "$hide" r.pmr
			[[ ${lines[0]} != *Pkg_J* ]] || { echo "$format, --hide $hide: $output"; return 1; }
		done
	done
}

@test "what users of turbostat type is understood or told the right words" {
	server
	while IFS='|' read -r options answer; do
		# shellcheck disable=SC2086
		run -2 "$bin/pmrep" $options r.pmr
		[[ $output == *"$answer"* ]] || { echo "$options: $output"; return 1; }
	done <<-'EOT'
		--csv|use --format=csv
		--json|use --format=json
		-f csv|the format is chosen with --format=csv
		--socket|--per-package, or --per-socket
		--core|--per-core
		--package|--per-package
		--per-package --per-core|--per-package and --per-core are mutually exclusive
	EOT
	rows 0 --int 1 --show ctxsw
	run -0 "$bin/pmrep" show --help=all
	[[ $output == *--per-socket* ]]
	run -0 "$bin/pmrep" --help
	for word in turbostat "perf stat" csv json --show --hide; do
		[[ $output == *"$word"* ]] || { echo "$word"; return 1; }
	done
	run -125 "$bin/pmrec" -T 90
	[[ $output == *--TCC* ]]
	run -0 --separate-stderr "$bin/pmrep" --list r.pmr
	[ "${#lines[@]}" -le 120 ]
	for column in Package Die Core CPU; do
		grep -q "^$column  .*topology" <<<"$output"
	done
	[[ $stderr == *"--list --debug"* ]]
	[ "$("$bin/pmrep" --list --debug r.pmr | wc -l)" -gt "${#lines[@]}" ]
	run -0 --separate-stderr "$bin/pmrep" -q --total --format=turbostat --cpu '' --show CPU,IRQ r.pmr
	[ "$output" = "CPU"$'\t'"IRQ"$'\n'"-"$'\t'"0" ]
}
