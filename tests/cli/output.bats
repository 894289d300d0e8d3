#!/usr/bin/env bats
# Where commands write to: never over an input, over nothing that is there without being told, and whole or not at all.

bats_require_minimum_version 1.5.0
load lib

setup() {
	bin=${PM_BIN:-$BATS_TEST_DIRNAME/../../build/bin}
	tests=${PM_TESTS:-$BATS_TEST_DIRNAME/../../build/tests}
	samples=${PM_SOURCE:-$BATS_TEST_DIRNAME/../..}/samples
	cd "$BATS_TEST_TMPDIR"
	export TZ=UTC
}

# Every command that writes a file.
writers=("show" "show --total" "stat -x," "cut --since=0" "merge" "repair" "redact" "bundle" "html")

# Runs command $1 on r.pmr, with the output and further words that follow.
writes() {
	local -a words
	read -ra words <<<"$1"
	shift
	run "$bin/pmrep" "${words[@]}" "$@"
}

@test "no name of the input is a place for the output" {
	"$tests/make_recording" r.pmr
	cp r.pmr kept
	ln r.pmr hard
	ln -s r.pmr soft
	mkdir d
	for command in "${writers[@]}"; do
		for name in r.pmr ./r.pmr d/../r.pmr "$PWD/r.pmr" hard soft; do
			writes "$command" r.pmr --overwrite -o "$name"
			[ "$status" -eq 2 ] || { echo "$command -o $name: $status $output"; return 1; }
			[[ $output == *"is an input"* ]] || { echo "$command -o $name: $output"; return 1; }
			cmp r.pmr kept
		done
	done
	writes stat r.pmr --append -o hard
	[ "$status" -eq 2 ]
	cmp r.pmr kept
	run bash -c "'$bin/pmrep' show - -o r.pmr --overwrite <r.pmr"
	[ "$status" -eq 2 ]
	run bash -c "'$bin/pmrep' show r.pmr >>r.pmr"
	[ "$status" -eq 2 ]
	cmp r.pmr kept
	[ "$(find . -name '*.??????' | wc -l)" -eq 0 ]
}

@test "what is there stays without --overwrite, and is replaced with it" {
	"$tests/make_recording" r.pmr
	for command in "${writers[@]}"; do
		echo precious >out
		writes "$command" r.pmr -o out
		[ "$status" -eq 2 ] || { echo "$command: $status $output"; return 1; }
		[[ $output == *"--overwrite replaces it"* ]]
		[ "$(cat out)" = precious ]
		writes "$command" r.pmr -o out --overwrite
		[ "$status" -eq 0 ] || { echo "$command: $status $output"; return 1; }
		[ "$(head -c 8 out)" != precious ]
	done
}

@test "a file that would get too large for ulimit -f is said to be, and none is left" {
	for command in "${writers[@]}"; do
		read -ra words <<<"$command"
		run -2 bash -c 'ulimit -f 0 && exec "$@"' bash "$bin/pmrep" "${words[@]}" -o out "$samples/loaded.pmr"
		[[ $output == *"File too large"* ]] || { echo "$command: $output"; return 1; }
		[ -z "$(ls)" ]
	done
}

@test "a command that fails leaves what was there, and nothing of its own" {
	echo none >text.pmr
	echo precious >out
	for command in "${writers[@]}"; do
		writes "$command" text.pmr -o out --overwrite
		[ "$status" -eq 2 ] || { echo "$command: $status $output"; return 1; }
		[ "$(cat out)" = precious ]
	done
	"$tests/make_recording" r.pmr
	writes "show --follow" text.pmr -o out --overwrite
	[ "$status" -eq 2 ]
	writes "show" r.pmr text.pmr -o out --overwrite
	[ "$status" -eq 2 ]
	writes "show --show=nothing_of_that_name" r.pmr -o out --overwrite
	[ "$status" -eq 2 ]
	[ "$(cat out)" = precious ]
	[ "$(ls | wc -l)" -eq 3 ]
}

# Whoever may write in a shared folder could choose what is written; replaced, it would be no link any more.
@test "a link that leads nowhere is refused, and stays" {
	"$tests/make_recording" r.pmr
	ln -s none dangling
	ln -s loop loop
	mkdir folder
	ln -s folder/none/x deep
	for link in dangling loop deep; do
		before=$(readlink "$link")
		for options in "" --overwrite; do
			for command in "pmrep show r.pmr" "pmrep redact r.pmr" "pmrep bundle r.pmr" "pmrep html r.pmr" "pmrep cut r.pmr" \
				"pmrep repair r.pmr" "pmrec --quiet --sources=stat -n 1 -i 50ms"; do
				# shellcheck disable=SC2086
				run "$bin/${command%% *}" ${command#* } $options -o "$link"
				[[ $status -eq 2 || $status -eq 125 ]]
				[[ $output == *"'$link'"* ]] || { echo "$command: $output"; return 1; }
				[ "$(readlink "$link")" = "$before" ]
			done
		done
	done
	run -2 "$bin/pmrep" show r.pmr -o dangling
	[[ $output == *"'dangling' is a link to a file that is not there"* ]]
	[ ! -e none ]
	[ -z "$(ls folder)" ]
}

@test "a link stays a link, a mode a mode, and what is followed can be watched" {
	"$tests/make_recording" r.pmr
	echo old >place
	chmod 640 place
	ln -s place link
	"$bin/pmrep" show r.pmr -o link --overwrite
	[ -L link ]
	[ "$(stat -c %a place)" = 640 ]
	grep -q cycles place
	"$bin/pmrec" -q --sources=stat -i 50ms -n 6 -o live.pmr &
	for _ in $(seq 200); do [ -s live.pmr ] && break; sleep 0.05; done
	"$bin/pmrep" show live.pmr --follow -o seen &
	for _ in $(seq 200); do [ -s seen ] && break; sleep 0.05; done
	wait
	[ -s seen ]
}

@test "another user's link in a directory that anyone can write to is not followed" {
	[ "$(id -u)" -eq 0 ] || skip "not root: no file of another user"
	"$tests/make_recording" r.pmr
	mkdir -m 1777 all
	echo old >place
	for where in all/link "$PWD/all/link"; do
		ln -sfn ../place all/link
		chown -h 65534 all/link
		run -2 "$bin/pmrep" show r.pmr -o "$where" --overwrite
		[[ $output == *"all/link' is another user's link in a directory that anyone can write to"* ]]
		[ "$(cat place)" = old ]
		# By its own name, or by a link of one's own, it is written.
		chown -h 0 all/link
		"$bin/pmrep" show r.pmr -o "$where" --overwrite
		grep -q cycles place
		echo old >place
	done
	(
		cd all
		chown -h 65534 link
		run -2 "$bin/pmrep" show ../r.pmr -o link --overwrite
		# Where not everybody may write, a link is what it is.
		chmod 0777 .
		"$bin/pmrep" show ../r.pmr -o link --overwrite
	)
	grep -q cycles place
}

@test "what is made beside recordings replaces none" {
	"$tests/make_diff" b.pmr seed=1
	cp b.pmr kept
	run -2 "$bin/pmrep" redact --map=b.pmr b.pmr -o out
	cmp b.pmr kept
}

@test "what a name leads to when the file is opened is what must not be lost" {
	command -v strace >/dev/null || skip "no strace"
	: >x.pmr
	echo keep >victim
	ln -s victim link
	ASAN_OPTIONS=detect_leaks=0 strace -f -o log -P x.pmr -e inject=newfstatat,stat,statx:delay_exit=1000000 \
		"$bin/pmrec" -q -n 1 --sources=stat -o x.pmr 2>err &
	pid=$!
	for _ in $(seq 200); do
		! grep -qE 'stat.*x.pmr' log 2>/dev/null || break
		sleep 0.02
	done
	mv link x.pmr
	! wait $pid || false
	grep -q 'overwrite' err
	[ "$(cat victim)" = keep ]
}

@test "perfstat and turbostat keep a recording for its owner alone, once there is one" {
	may_count
	# The words of their command lines are never given back: the process ends.
	export ASAN_OPTIONS=detect_leaks=0
	umask 022
	for words in "perfstat --keep=kept" "perfstat record -o kept" "turbostat -q --keep=kept"; do
		read -ra word <<<"$words"
		echo old >kept
		chmod 644 kept
		run "$bin/pmrec" "${word[@]}" --nonsense true
		[ "$status" -ne 0 ]
		[ "${word[0]}" = turbostat ] || run "$bin/pmrec" "${word[@]}" -e nonsense true
		[ "$status" -ne 0 ]
		[ "$(cat kept)" = old ]
		run -0 "$bin/pmrec" "${word[@]}" true
		"$bin/pmrep" check -q kept
		[ "$(stat -c %a kept)" = 600 ]
		rm kept
		[ "${word[0]}" = turbostat ] || run "$bin/pmrec" "${word[@]}" -e nonsense true
		[ ! -e kept ]
		run -0 "$bin/pmrec" "${word[@]}" true
		[ "$(stat -c %a kept)" = 600 ]
		rm kept
	done
}

@test "a pipe that nobody reads does not keep perfstat and turbostat from ending" {
	mkfifo pipe
	for words in "perfstat -o pipe" "perfstat --keep=pipe" "turbostat -o pipe" "turbostat --keep=pipe"; do
		read -ra word <<<"$words"
		"$bin/pmrec" "${word[@]}" true 3>&- &
		pid=$!
		for _ in $(seq 40); do
			grep -qE 'fifo|pipe' "/proc/$pid/wchan" && break
			sleep 0.05
		done
		kill -INT "$pid"
		status=0
		timeout 5 tail --pid="$pid" -f /dev/null
		wait "$pid" || status=$?
		[ "$status" -gt 128 ]
		cat pipe >got &
		run "$bin/pmrec" "${word[@]}" true
		wait
		[ -s got ]
	done
}

@test "perfstat fails if the pipe that --keep names breaks, and goes on if nobody reads what it prints" {
	may_count
	status=0
	{ "$bin/pmrec" perfstat --keep=- -e cs -I 100 sleep 1 2>said || echo $? >code; } | head -c 1 >/dev/null
	[ "$(cat code)" = 1 ]
	grep -q 'standard output.*Broken pipe' said
	"$bin/pmrec" perfstat --keep=kept -e cs -I 100 sleep 1 2>&1 | head -n 1
	"$bin/pmrep" check -q kept
	[ "$("$bin/pmrep" dump kept | grep -c ^snapshot)" -ge 8 ]
}
