#!/usr/bin/env bats
# Recordings that lie, with right checksums.

bats_require_minimum_version 1.5.0

setup() {
	bin=${PM_BIN:-$BATS_TEST_DIRNAME/../../build/bin}
	samples=${PM_SOURCE:-$BATS_TEST_DIRNAME/../..}/samples
	cd "$BATS_TEST_TMPDIR"
	export TZ=UTC
}

# Makes NAME.pmr; every command gets over it in fuzz.bombs, in bounded time and memory.
cook() {
	/usr/bin/python3 "$samples/../tests/fuzz/bombs.py" . "$1" || skip "no module that packs it"
}

@test "times that go back are damage, and nothing is computed across them" {
	cook back
	run -1 "$bin/pmrep" check back.pmr
	[[ $output == *"its times go back"* ]]
}

@test "a few bytes do not ask for millions of columns" {
	cook columns
	run -1 "$bin/pmrep" check columns.pmr
	[[ $output == *"beyond the limits"* ]]
}

@test "65,536 CPUs in packages of their own cost no square" {
	cook cpus
	run -0 "$bin/pmrep" check cpus.pmr
}

@test "100,000 sources and 65,536 cores with a register to be added cost no square" {
	cook sources
	timeout 50 "$bin/pmrep" --list --quiet sources.pmr >list
	grep -q "^ctxsw " list
	cook registers
	timeout 50 "$bin/pmrep" --add=msr0x10,core --quiet --format=csv registers.pmr | grep -c ",core,.*,add.m0x10,100,1,ok,1$" >rows
	[ "$(cat rows)" -eq $((2 * 65536)) ]
}

# Rows of the column that was added, in each of two intervals.
added() {
	"$bin/pmrep" --add="msr0x10,$1" --quiet --format=csv "$2" | grep -c ",$1,.*,add.m0x10,100,1,ok,1$"
}

@test "a register is added without a topology, and where the first CPU is offline" {
	cook no_topology
	[ "$(added cpu no_topology.pmr)" -eq 8 ]
	cook first_offline
	[ "$(added cpu first_offline.pmr)" -eq 6 ]
	[ "$(added core first_offline.pmr)" -eq 4 ]
	[ "$(added package first_offline.pmr)" -eq 2 ]
}

@test "columns that are nowhere in the topology add no rows to it" {
	run -0 "$bin/pmrep" --quiet --all --per-cpu "$samples/command.pmr"
	[[ $output == *CPU* ]]
	# Of the machine and its two CPUs, below each head.
	[ "$(grep -c '^[0-9]' <<<"$output")" -eq $((3 * $(grep -c UTC <<<"$output"))) ]
}

@test "what needs more memory than --max-memory allows ends with the limit" {
	cook cpus
	"$bin/pmrep" check --max-memory=0 cpus.pmr
	run -2 "$bin/pmrep" check --max-memory=lots cpus.pmr
	[[ $output == *"is not a size such as 512Mi"* ]]
	[ -z "$PM_SANITIZE" ] || skip "sanitizers have memory of their own"
	run -2 "$bin/pmrep" info --max-memory=8Mi cpus.pmr
	[[ $output == "pmrep: out of memory; the limit is 8 MiB, --max-memory=SIZE raises it" ]]
}

@test "without --max-memory 256 MiB are allowed, and 64 bytes for each of the file" {
	[ -z "$PM_SANITIZE" ] || skip "sanitizers have memory of their own"
	cook texts
	run -2 "$bin/pmrep" info texts.pmr
	[[ $output == *"the limit is $(((256 * 1048576 + 64 * $(stat -c %s texts.pmr)) >> 20)) MiB, "* ]]
	run -0 "$bin/pmrep" info --help=all
	[[ $output == *"(256Mi and 64 times"* ]]
}

# Within 10 s of a CPU and 300 MiB of addresses, which are more than what is used; and nothing is left on the disk.
# Sanitizers take several times as long, and have memory of their own.
@test "a few bytes that unpack to gigabytes, or ask for as much memory, are refused" {
	/usr/bin/python3 "$samples/../tests/fuzz/packed_bombs.py" "$samples/loaded.pmr"
	mkdir spools
	commands=(check show dump "cut -o out" "redact -o out" "bundle -o out" "repair -o out" "html -o out")
	seconds=10 limit=$((300 << 10))
	if [ -n "$PM_SANITIZE" ]; then
		commands=(check) seconds=100 limit=unlimited
	fi
	for file in *.gz; do
		[ "$(stat -c %s "$file")" -lt 6000000 ]
		for command in "${commands[@]}"; do
			read -ra words <<<"$command"
			TMPDIR=spools run sh -c "ulimit -t $seconds"'; ulimit -v '"$limit"'; exec "$@" 2>&1 >/dev/null' sh "$bin/pmrep" "${words[@]}" "$file"
			case $file in
			none*) want="which no recording does|is not a recording" ;;
			*) want="unpacks to more than 200 times its size" ;;
			esac
			[[ $status -eq 2 && $output =~ $want ]] || { echo "$file $command: $status: $output"; return 1; }
			[ ! -e out ]
			[ -z "$(ls spools)" ]
		done
	done
	gzip <"$samples/loaded.pmr" >plain.pmr.gz
	"$bin/pmrep" check plain.pmr.gz
}
