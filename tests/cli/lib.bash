# shellcheck shell=bash
# What the tests of the command line wait with: for what happens, never for a time to pass.

# await COMMAND...: until it succeeds, for half a minute at most.
await() {
	local turn
	for ((turn = 0; turn < 1500; turn++)); do
		"$@" >/dev/null 2>&1 && return 0
		sleep 0.02
	done
	echo "waited half a minute for: $*"
	return 1
}

# holds FILE N: that many snapshots of FILE are in closed chunks.
holds() {
	"$bin/pmrep" dump --no-values "$1" 2>/dev/null | grep -oE 'kind=chunk .* snapshots=[0-9]+' |
		awk -F= -v n="$2" '{ sum += $NF } END { exit !(sum >= n) }'
}

# lines FILE N: FILE has that many lines, or more.
lines() {
	[ "$(wc -l <"$1")" -ge "$2" ]
}

# appeared N PATTERN: since the first time this was asked, so many names that match have been there, some perhaps no longer.
appeared() {
	compgen -G "$2" >>appeared.log
	[ "$(sort -u appeared.log | grep -c "^${2%%\**}")" -ge "$1" ]
}

# begin OPTION...: a recorder in the background that counts when this returns. Like `pmrec ... &` in a shell at a terminal:
# SIGINT is not ignored. Sets $pid; what it says is in the file $said.
begin() {
	local pipes
	pipes=$(mktemp -d "$PWD/control.XXXXXX")
	mkfifo "$pipes/tell" "$pipes/told"
	exec {tell}<>"$pipes/tell" {told}<>"$pipes/told"
	said=$pipes/said
	env --default-signal=INT "$bin/pmrec" --overwrite --control="fifo:$pipes/tell,$pipes/told" "$@" 2>"$said" 3>&- \
		{tell}>&- {told}>&- &
	pid=$!
	say ping
}

# say WORDS [ANSWER]: tells the recorder of begin, and waits for its answer (ack).
say() {
	local answer='' part turn ended=
	echo "$1" >&"$tell"
	# A second may end in the middle of an answer: its first part is in $part then.
	for ((turn = 0; turn < 30; turn++)); do
		read -r -t 1 -u "$told" part && ended=yes
		answer+=$part
		[ -z "$ended" ] || break
		kill -0 "$pid" || break
	done
	[ "$answer" = "${2:-ack}" ] || { echo "$1: '$answer'"; cat "$said"; return 1; }
}

# What came before this is done: signals, marks. The recorder may take a second word from the pipe before it looks elsewhere.
settled() {
	say ping && say ping
}

# remove_groups FOLDER...: cgroups, as soon as nothing is left in them.
remove_groups() {
	local group
	for group; do
		for _ in $(seq 50); do
			rmdir "$group" 2>/dev/null && break
			[ -d "$group" ] || break
			sleep 0.05
		done
	done
}

# may_count [mine]: skips where the kernel does not let us count the whole machine, such as for ordinary users and in
# containers; or not even what our own tasks do in user mode.
may_count() {
	/usr/bin/python3 - "$@" <<-'END' || skip "no right to count ${1:-the whole machine}"
	import ctypes, os, platform, struct, sys
	number = {"x86_64": 298, "aarch64": 241}.get(platform.machine(), 241)
	# context switches, without those of kernel and hypervisor
	event = struct.pack("IIQ24xQ", 1, 112, 3, 0x60 if sys.argv[1:] else 0) + bytes(64)
	whose = (0, -1) if sys.argv[1:] else (-1, min(os.sched_getaffinity(0)))
	sys.exit(ctypes.CDLL(None).syscall(number, event, *whose, -1, 0) < 0)
	END
}
