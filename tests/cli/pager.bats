#!/usr/bin/env bats
# What a person reads on a terminal: the pager, and the hint behind a table.

bats_require_minimum_version 1.5.0

setup() {
	bin=${PM_BIN:-$BATS_TEST_DIRNAME/../../build/bin}
	source=${PM_SOURCE:-$BATS_TEST_DIRNAME/../..}
	cd "$BATS_TEST_TMPDIR"
	unset PAGER PMREP_PAGER COLUMNS NO_COLOR
	export TERM=xterm
	cat >terminal.py <<'END'
"""terminal.py COLUMNS COMMAND...: its output on a terminal so wide goes to stdout, its status is ours."""
import fcntl, os, pty, struct, sys, termios
pid, fd = pty.fork()
if not pid:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 50, int(sys.argv[1]), 0, 0))
    os.execvp(sys.argv[2], sys.argv[2:])
out = b""
while True:
    try:
        data = os.read(fd, 65536)
    except OSError:
        break
    if not data:
        break
    out += data
sys.stdout.buffer.write(out.replace(b"\r\n", b"\n"))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
END
}

terminal() {
	python3 terminal.py "$@"
}

@test "tables go through PMREP_PAGER, PAGER, or none" {
	s=$source/samples/idle.pmr
	export PAGER='sed s/^/PAGER:/'
	terminal 80 "$bin/pmrep" show -S -n 2 "$s" | grep -c '^PAGER:' >lines
	[ "$(cat lines)" -ge 3 ]
	PMREP_PAGER='sed s/^/OURS:/' terminal 80 "$bin/pmrep" info "$s" >out
	grep -q '^OURS:' out
	! grep -q PAGER: out || false
	for none in "" cat; do
		PMREP_PAGER=$none terminal 80 "$bin/pmrep" info "$s" >out
		! grep -q PAGER: out || false
	done
	terminal 80 "$bin/pmrep" list --no-pager "$s" >out
	! grep -q PAGER: out || false
	TERM=dumb terminal 80 "$bin/pmrep" list "$s" >out
	! grep -q PAGER: out || false
	# For programs, and into files, there is none; nor where pmrec has no such option.
	"$bin/pmrep" list "$s" | { ! grep -q PAGER:; }
	terminal 80 "$bin/pmrep" show --format=csv "$s" >out
	! grep -q PAGER: out || false
	! "$bin/pmrec" --help=all | grep -q pager || false
}

@test "behind a pager a table is as wide as the terminal, with its colors, and the status is kept" {
	s=$source/samples/idle.pmr
	export PMREP_PAGER='tr -d X'
	terminal 70 "$bin/pmrep" show -q -S "$s" >paged
	terminal 70 "$bin/pmrep" show -q --no-pager -S "$s" >plain
	diff plain paged
	[ "$(awk '{ print length }' paged | sort -n | tail -n 1)" -le 70 ]
	head -c 6000 "$s" >cut.pmr
	run -3 terminal 80 "$bin/pmrep" show -S cut.pmr
}

@test "behind a table on a terminal: whether something happened" {
	s=$source/samples/idle.pmr
	terminal 200 "$bin/pmrep" show --no-pager -S "$s" >out
	tail -n 1 out | grep -Eq '^[0-9]+ incidents?, the first \+.*: pmrep incidents .*idle.pmr'
	terminal 200 "$bin/pmrep" show --no-pager -S -q "$s" >out
	! grep -q "^[0-9]* incident" out || false
	"$bin/pmrep" show -S "$s" | { ! grep -q "^[0-9]* incident"; }
}

@test "an interval of many CPUs is folded to those that stand out, on a terminal or with --top" {
	PYTHONPATH=$source/tests/incidents /usr/bin/python3 -c 'import worlds; worlds.write("wide.pmr", "hog", 100, 96, 60, "quiet", 5)'
	# The hog is on one CPU for a while; every other one is as ever.
	"$bin/pmrep" incidents --format=json wide.pmr | head -n 1 >first
	cpu=$(jq .series[0].cpu first)
	from=$(jq '.from_s + 1' first)
	"$bin/pmrep" --since="+$from" -n 1 -q --format=table --top=2 --show=CPU,stat.user,stat.iowait wide.pmr >out
	[ "$(wc -l <out)" -eq 4 ]
	[ "$(awk 'NR == 3 { print $4 }' out)" = "$cpu" ]
	[ "$("$bin/pmrep" -n 1 -q wide.pmr | wc -l)" -eq 98 ]
	terminal 200 "$bin/pmrep" show --no-pager -n 1 --show=CPU,stat.user wide.pmr >out
	[ "$(grep -c '^[0-9]*:' out)" -eq 17 ]
	grep -q '16 rows of each interval are shown; --top=0 shows all$' out
	terminal 200 "$bin/pmrep" show --no-pager -n 1 --top=0 --show=CPU,stat.user wide.pmr >out
	[ "$(grep -c '^[0-9]*:' out)" -eq 97 ]
	! grep -q 'top=0' out || false
}
