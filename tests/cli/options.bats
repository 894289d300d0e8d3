#!/usr/bin/env bats
# Command lines: help, versions, words that belong to the other half, and the completions and manual pages beside the
# option tables.

bats_require_minimum_version 1.5.0

setup() {
	bin=${PM_BIN:-$BATS_TEST_DIRNAME/../../build/bin}
	source=${PM_SOURCE:-$BATS_TEST_DIRNAME/../..}
	cd "$BATS_TEST_TMPDIR"
	export LC_ALL=C
}

# Long options that a help text lists, one a line.
long_options() {
	"$@" --help=all | grep -E '^ +-' | grep -oE '(^| )--[A-Za-z][A-Za-z0-9_-]*' | tr -d ' ' | sort -u
}

commands_of() {
	"$bin/$1" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'
}

@test "help fits on a screen and goes to stdout" {
	for command in pmrec pmrep $(commands_of pmrec | sed '/^re\|stat$/d; s/^/pmrec=/') $(commands_of pmrep | sed 's/^/pmrep=/'); do
		for help in -h --help; do
			# shellcheck disable=SC2086
			run --separate-stderr "$bin"/${command/=/ } $help
			[ "$status" -eq 0 ]
			[ -z "$stderr" ]
			[[ $output == Usage:* ]]
			[ "${#lines[@]}" -le 30 ] || { echo "$command: ${#lines[@]} lines"; return 1; }
		done
	done
}

@test "versions agree" {
	run "$bin/pmrec" --version
	[ "$status" -eq 0 ]
	version=${output#pmrec }
	[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]]
	[ "$("$bin/pmrep" --version)" = "pmrep $version" ]
	[ "$("$bin/pmrep" -v)" = "pmrep $version" ]
	grep -q "VERSION $version " "$source/CMakeLists.txt"
	grep -q "^## $version" "$source/CHANGELOG.md"
}

@test "usage errors: exit 125 and 2, one line, nothing on stdout" {
	run --separate-stderr "$bin/pmrec" --frobnicate
	[ "$status" -eq 125 ]
	[ -z "$output" ]
	[ "${#stderr_lines[@]}" -eq 1 ]
	run --separate-stderr "$bin/pmrep" --frobnicate x.pmr
	[ "$status" -eq 2 ]
	[ -z "$output" ]
	[ "${#stderr_lines[@]}" -eq 1 ]
	run "$bin/pmrec" 5
	[ "$status" -eq 125 ]
	[[ $output == *"-i 5"* ]]
}

@test "words of the other half say where they belong" {
	run "$bin/pmrec" -x,
	[[ $output == *"pmrep stat"* ]]
	run "$bin/pmrec" --show=CPU
	[[ $output == *"pmrep show"* ]]
	run "$bin/pmrep" -I 1000 x.pmr
	[[ $output == *"--show=IPC"* ]]
	run "$bin/pmrep" -a x.pmr
	[[ $output == *"pmrec"* ]]
}

@test "near misses are named" {
	run "$bin/pmrep" chekc x.pmr
	[ "$status" -eq 2 ]
	[[ $output == *"'check'"* ]]
	run "$bin/pmrep" --fromat=csv x.pmr
	[[ $output == *"--format"* ]]
	run "$bin/pmrec" --evnet=cycles
	[[ $output == *"--event"* ]]
	run -2 "$bin/pmrep" plot rss "$source/samples/loaded.pmr"
	[[ $output == *"did you mean 'task.rss'?"* ]]
	run -2 "$bin/pmrep" -s mem "$source/samples/loaded.pmr"
	[[ $output == *"did you mean 'mem."* ]]
}

@test "the hint of a wrong option is what the command at hand has" {
	for wrong in "--hybrid-merge:--hybrid-merge belongs to pmrep stat" "--json:use --format=json" "--csv:use --format=csv" \
		"--last=10:use --since=-SECONDS" "--timeout=3:--timeout belongs to pmrec: give it when recording"; do
		run -2 "$bin/pmrep" "${wrong%%:*}" x.pmr
		[[ $output == *"${wrong#*:}" ]] || { echo "$output"; return 1; }
	done
	run -125 "$bin/pmrec" -F 99 true
	[[ $output == *"-i 10ms"* ]]
	run -125 "$bin/pmrec" -g true
	[[ $output == *"-e '{a,b}'"* ]]
}

# Words that completion offers for a command line, the last word being the one at the cursor.
complete_words() {
	bash -c 'source "$1/common/completion.bash"; shift; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _pmrec 2>/dev/null
		printf "%s\n" "${COMPREPLY[@]}"' bash "$source" "$@" | sort -u
}

@test "completion offers the options of every command" {
	for command in "pmrec" "pmrec dump" "pmrep show" "pmrep stat" "pmrep diff" "pmrep info" "pmrep list" "pmrep dump" "pmrep check" \
		"pmrep eval" "pmrep incidents" "pmrep html" "pmrep cut" "pmrep merge" "pmrep repair" "pmrep plot" "pmrep redact" "pmrep bundle"; do
		# shellcheck disable=SC2086
		long_options "$bin"/$command >want
		# shellcheck disable=SC2086
		complete_words "$bin"/$command -- | sed 's/=$//' | sort -u >have
		[ "$(wc -l <have)" -gt 2 ] || { echo "$command: $(cat have)"; return 1; }
		diff want have || { echo "$command"; return 1; }
	done
}

@test "completion offers words, files, commands, sources and events" {
	[ "$(complete_words "$bin/pmrec" --over)" = --overwrite ]
	[ "$(complete_words "$bin/pmrep" che)" = check ]
	[ "$(complete_words "$bin/pmrep" --layout = w)" = wide ]
	[ "$(complete_words "$bin/pmrep" show --layout = w)" = wide ]
	[ "$(complete_words "$bin/pmrec" --privacy = '' | wc -l)" -eq 3 ]
	touch some.pmr
	complete_words "$bin/pmrep" so | grep -qx some.pmr
	complete_words "$bin/pmrec" --sources = '' >have
	"$bin/pmrec" list sources | awk 'NR > 1 { print $1 }' | sort >want
	cmp want have
	[ "$(complete_words "$bin/pmrec" -e faults,cpu-mig)" = faults,cpu-migrations ]
}

@test "each command has a page, whose option list is that of the program" {
	cp "$source"/record/pmrec*.1 "$source"/report/pmrep*.1 .
	run python3 "$source/common/manual_options.py" "$bin" ./*.1
	[ "$status" -eq 0 ]
	[ -z "$output" ] || { echo "run common/manual_options.py: $output"; return 1; }
	# What is missing, wrong or left over would be named.
	sed -i '/^\.It Fl -total/,/^One/d; s/Ns Ar SEC/Ns Ar NUM/; s/^\.It Fl -since/.It Fl -gone\nNothing.\n&/' pmrep-show.1
	run ! cmp pmrep-show.1 "$source/report/pmrep-show.1"
	[ "$(python3 "$source/common/manual_options.py" "$bin" ./*.1)" = ./pmrep-show.1 ]
	cmp pmrep-show.1 "$source/report/pmrep-show.1"
	sed -i '/^\.Bl -tag/,/^\.El/d' pmrep-check.1
	run ! python3 "$source/common/manual_options.py" "$bin" ./pmrep-check.1
	cp "$source/report/pmrep-check.1" .
	commands=$(commands_of pmrec | grep -vx 'report\|perfstat')
	[ "$(wc -w <<<"$commands")" -ge 8 ]
	for command in $commands; do
		[ -e "pmrec-$command.1" ]
		grep -q "Xr pmrec-$command 1" "$source/record/pmrec.1"
	done
	commands=$(commands_of pmrep)
	[ "$(wc -w <<<"$commands")" -ge 16 ]
	for command in $commands; do
		[ -e "pmrep-$command.1" ]
		grep -q "Xr pmrep-$command 1" "$source/report/pmrep.1"
	done
	for option in help version color no-pager max-memory; do
		grep -q -- "Fl -$option\( \|$\)" "$source/report/pmrep.1"
	done
}

@test "pmr-columns(7) has every metric, with unit and source" {
	"$bin/pmrep" list metrics --format=json | awk -f "$source/report/columns.awk" >columns.7
	"$bin/pmrep" list metrics --format=json |
		python3 -c 'import json, sys; [print(json.loads(line)["metric"]) for line in sys.stdin]' | sort >want
	sed -n 's/^\.It Sy //p' columns.7 | sed 's/\\-/-/g; s/^\\&//' | sort >have
	diff want have
	[ "$(grep -c '; unit .*' columns.7)" -ge "$(wc -l <want)" ]
	grep -A2 '^\.It Sy util\.user' columns.7 | grep -q 'Time in user mode'
}

@test "all pages are clean and 80 columns wide, in mandoc and groff" {
	"$bin/pmrep" list metrics --format=json | awk -f "$source/report/columns.awk" >pmr-columns.7
	pages=("$source"/record/*.[17] "$source"/report/*.[17] "$source"/format/pmr.5 pmr-columns.7)
	[ "${#pages[@]}" -ge 25 ]
	command -v mandoc >/dev/null || skip "no mandoc: pages were not linted"
	# Other pages are looked for where this machine has its manuals.
	mandoc -T lint "${pages[@]}" 2>&1 | grep '^mandoc: ' | grep -v 'manual not found\|outdated mandoc.db' >said || true
	[ ! -s said ] || { cat said; return 1; }
	compgen -G '/usr/share/groff/*/tmac/doc.tmac' >/dev/null || skip "no groff with its macros: pages were linted only"
	for page in "${pages[@]}"; do
		groff -ww -mdoc -Tascii -rLL=78n "$page" 2>said | sed 's/\x1b\[[0-9;]*m//g; s/.\x08//g' >text
		[ ! -s said ] || { echo "$page"; head said; return 1; }
		run awk 'length($0) > 80' text
		[ -z "$output" ] || { echo "$page: $output"; return 1; }
	done
}

@test "NO_COLOR and --color" {
	run env -u NO_COLOR TERM=xterm "$bin/pmrep" --color=pink x.pmr
	[ "$status" -eq 2 ]
	[[ $output == *"auto, always or never"* ]]
}

@test "every long option of perf stat is taken, or its error says where it belongs" {
	for name in all-cpus all-kernel all-user append big-num bpf-attr-map bpf-counters bpf-prog cgroup control cpu cputype \
		delay detailed event field-separator filter for-each-cgroup hybrid-merge input interval-clear interval-count \
		interval-print iostat json-output log-fd metric-no-group metric-no-merge metric-no-threshold metric-only \
		metrics no-affinity no-aggr no-csv-summary no-inherit no-merge null output per-cache per-cluster per-core \
		per-die per-node per-socket per-thread percore-show-thread pfm-events pid pmu-filter post pre quiet \
		record-tpebs repeat scale no-scale smi-cost summary sync table td-level tid timeout topdown tpebs-mode \
		transaction verbose no-big-num no-metric-only; do
		for program in pmrec "pmrep show" "pmrep stat"; do
			# Which take an argument is another matter: one that does must not take --help for it.
			# shellcheck disable=SC2086
			timeout 5 "$bin"/$program "--$name=1" --help >out 2>&1 </dev/null || true
			grep -q -i "argument" out && { timeout 5 "$bin"/$program "--$name" --help >out 2>&1 </dev/null || true; }
			if grep -q -e "unknown option" -e "this version has no" out; then
				echo "$program --$name: $(cat out)"
				return 1
			fi
		done
	done
}

@test "a word that is no command of pmrec, and no program either, says what may have been meant" {
	run -127 "$bin/pmrec" -o a.pmr doctr
	[[ $output == *"did you mean 'pmrec doctor'?"* ]]
	run -127 "$bin/pmrec" -o a.pmr info x.pmr
	[[ $output == *"pmrep reads recordings"* ]]
	run -2 "$bin/pmrep" list counters
	[[ $output == *"of which recording?"* ]]
	run -2 "$bin/pmrep" plot util
	[[ $output == *"no recording given"* ]]
	run -2 "$bin/pmrep" stat -p 1 "$source/samples/idle.pmr"
	[[ $output == *"for those CPUs or tasks"* ]]
}
