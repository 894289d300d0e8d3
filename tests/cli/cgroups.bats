#!/usr/bin/env bats
# The source of cgroups beside files that the test itself writes, and beside a cgroup whose use the kernel tells.

bats_require_minimum_version 1.5.0
load lib

setup() {
	bin=${PM_BIN:-$BATS_TEST_DIRNAME/../../build/bin}
	cd "$BATS_TEST_TMPDIR"
	all=m/sys/fs/cgroup
	mkdir -p m/proc m/sys/devices/system/cpu $all
	echo 'cpu  1 2 3 4' >m/proc/stat
	echo 0 | tee m/sys/devices/system/cpu/online >m/sys/devices/system/cpu/present
	echo 'cgroup2 /sys/fs/cgroup cgroup2 rw,nsdelegate 0 0' >m/proc/mounts
	use / 0 0
}

teardown() {
	kill ${hog:-} ${pid:-} 2>/dev/null || true
	[ -z "${real:-}" ] || remove_groups "$real"
}

# use CGROUP USER_US SYSTEM_US [MEMORY READ WRITTEN WAITED_US]: what its files say; written in place, as the kernel does.
use() {
	local at=$all/$1
	[ -d "$at" ] || mkdir -p "$at"
	printf 'usage_usec %d\nuser_usec %d\nsystem_usec %d\nnr_periods 0\nnr_throttled 0\nthrottled_usec %d\n' \
		$(($2 + $3)) "$2" "$3" $(($3 / 2)) >"$at/cpu.stat"
	[ $# -gt 3 ] || return 0
	touch "$at/cgroup.events"
	echo "$4" >"$at/memory.current"
	printf 'anon %d\nfile 4096\nanon_thp 1\npgmajfault %d\n' $(($4 / 2)) $(($7 / 100)) >"$at/memory.stat"
	printf 'low 0\noom 7\noom_kill %d\n' $(($7 / 1000)) >"$at/memory.events"
	printf '8:0 rbytes=%d wbytes=%d rios=1 wios=2 dbytes=9 dios=3\n8:16 rbytes=512 wbytes=0 rios=1\n253:0 \n' "$5" "$6" >"$at/io.stat"
	for what in cpu memory io; do
		printf 'some avg10=0.00 avg60=9.00 avg300=0.00 total=%d\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=%d\n' \
			"$7" $(($7 / 2)) >"$at/$what.pressure"
	done
}

# amount FILE CGROUP COUNTER: of the whole recording.
amount() {
	"$bin/pmrep" show --total --per-cgroup --show="cgroups.$3" --format=csv "$1" |
		awk -F, -v name="$2" '$15 == name { print $17 + 0, $19 }'
}

rows() {
	"$bin/pmrep" show --total --per-cgroup --show=cgroups.user --format=csv "$1" | awk -F, 'NR > 1 { print $15 }'
}

@test "what a cgroup used is what its files say, from its beginning to its end" {
	use a.slice 1000000 500000 33554432 1048576 2097152 700000
	use a.slice/idle.service 0 0 4096 0 0 0
	use old.slice 1000000 100 50331648 0 0 0
	begin --root=m -i 100 --sources=cgroups -o c.pmr
	use a.slice 1740000 700000 67108864 5242880 4194304 1900000
	use a.slice/x.service 300000 100000 16777216 1024 2048 5000
	say snapshot
	use a.slice/x.service 350000 100000 16777216 1024 2048 5000
	rm -r $all/old.slice
	say snapshot
	kill -INT "$pid"
	wait "$pid"
	[ "$(rows c.pmr | sort | xargs)" = "/a.slice /a.slice/x.service /old.slice" ]
	while read -r name counter value; do
		got=$(amount c.pmr "$name" "$counter")
		[ "$got" = "$value ok" ] || { echo "$name $counter: $got"; return 1; }
	done <<-'END'
		/a.slice user 0.74
		/a.slice system 0.2
		/a.slice throttled 0.1
		/a.slice faults 12000
		/a.slice oom_kills 1200
		/a.slice read 4194304
		/a.slice write 2097152
		/a.slice cpu_some 1.2
		/a.slice memory_full 0.6
		/a.slice io_some 1.2
		/a.slice/x.service user 0.35
		/a.slice/x.service read 1536
		/a.slice/x.service io_full 0.0025
	END
	run -0 "$bin/pmrep" show --per-cgroup --show=cgroup.memory,cgroup.anon --format=csv c.pmr
	[[ "$output" == *,/a.slice,cgroup.memory,67.108864,MB,ok,* ]] && [[ "$output" == *,/a.slice,cgroup.anon,33.554432,MB,ok,* ]]
	# parents have their children in them: nothing is added up
	run -0 "$bin/pmrep" show --total --format=csv --show=cgroup.cpu c.pmr
	[[ "$output" != *,system,* ]] && [[ "$output" == *,/a.slice/x.service,cgroup.cpu,* ]]
}

@test "what no controller counts is missing, and never 0" {
	use bare 100 100
	begin --root=m -i 100 --sources=cgroups -o c.pmr
	use bare 900100 100
	say snapshot
	kill -INT "$pid"
	wait "$pid"
	[ "$(amount c.pmr /bare user)" = '0.9 ok' ]
	for counter in memory read memory_some oom_kills; do
		[[ "$(amount c.pmr /bare $counter)" = "0 not-supported" ]] ||
			{ echo "$counter $(amount c.pmr /bare $counter)"; return 1; }
	done
}

@test "of very many those that used most are recorded" {
	for i in $(seq 80); do use "g.slice/c$i" $((i * 100)) 0; done
	begin --root=m -i 100 --sources=cgroups -o c.pmr
	for turn in 1 2; do
		for i in $(seq 80); do use "g.slice/c$i" $((turn * i * 1000 + i * 100)) 0; done
		say snapshot
	done
	kill -INT "$pid"
	wait "$pid"
	[ "$(rows c.pmr | wc -l)" -le 64 ]
	[ "$(amount c.pmr /g.slice/c80 user)" = '0.16 ok' ]
	[ -z "$(amount c.pmr /g.slice/c7 user)" ]
}

@test "names of cgroups stand nowhere in a strict or redacted recording" {
	use secret.slice 5000 0
	for privacy in default strict; do
		begin --root=m -i 100 --sources=cgroups --privacy=$privacy -o $privacy.pmr
		use secret.slice "$(date +%s%6N)" 0
		say snapshot
		kill -INT "$pid"
		wait "$pid"
	done
	"$bin/pmrep" redact -o redacted.pmr default.pmr
	grep -q secret.slice <("$bin/pmrep" dump default.pmr)
	for file in strict redacted; do
		run ! grep -q secret <("$bin/pmrep" dump $file.pmr)
		[[ "$(rows $file.pmr)" == cgroup-* ]]
	done
}

@test "a cgroup of this machine used what the kernel says" {
	real=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	[ -n "$real" ] || skip "no cgroup2 is mounted"
	real+=/pmrec-test-$$
	mkdir "$real" 2>/dev/null || { real=; skip "no cgroup can be made here"; }
	bash -c 'echo $$ >'"$real"'/cgroup.procs; while :; do :; done' & hog=$!
	await grep -q "^$hog" "$real/cgroup.procs"
	begin -i 100 --sources=cgroups -o c.pmr
	before=$(awk '$1 == "usage_usec" { print $2 }' "$real/cpu.stat")
	sleep 0.4
	after=$(awk '$1 == "usage_usec" { print $2 }' "$real/cpu.stat")
	say snapshot
	most=$(awk '$1 == "usage_usec" { print $2 }' "$real/cpu.stat")
	kill -INT "$pid"
	wait "$pid"
	kill $hog
	user=$(amount c.pmr "${real/*pmrec/\/pmrec}" user) system=$(amount c.pmr "${real/*pmrec/\/pmrec}" system)
	echo "$before $after $most: $user, $system"
	awk -v least=$((after - before)) -v most="$most" -v mine="${user% ok}" -v more="${system% ok}" \
		'BEGIN { us = (mine + more) * 1e6; exit !(us >= least - 400 && us <= most + 400) }'
}

@test "without a hierarchy of version 2 the recording says what would bring one" {
	: >m/proc/mounts
	run -125 "$bin/pmrec" --quiet --root=m -n 1 --sources=cgroups -o c.pmr
	[[ "$output" == *'mount -t cgroup2'* ]]
}
