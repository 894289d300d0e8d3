#!/usr/bin/env bats
# Who used most: the source of tasks beside processes whose use is known from elsewhere.

bats_require_minimum_version 1.5.0
load lib

teardown() {
	kill ${hog:-} ${half:-} ${pid:-} 2>/dev/null || true
}

setup() {
	bin=${PM_BIN:-$BATS_TEST_DIRNAME/../../build/bin}
	cd "$BATS_TEST_TMPDIR"
	cp "$(type -P bash)" hog
	cp "$(type -P true)" shorty
}

total() { # FILE METRIC TASK-PATTERN: the sum of the rows whose task matches
	"$bin/pmrep" show --total --per-task --show="$2" --format=csv "$1" |
		awk -F, -v task="$3" '$14 ~ task { sum += $17; n++ } END { if (!n) exit 1; print sum }'
}

@test "a process that burns CPU has its name, its pid and what it used" {
	./hog -c 'while :; do :; done' & hog=$!
	"$bin/pmrec" --quiet -n 3 --sources=tasks -o t.pmr
	used=$(awk '{ print ($14 + $15) / 100 }' /proc/$hog/stat)
	kill $hog
	user=$(total t.pmr tasks.user "^hog [(]$hog[)]$")
	system=$(total t.pmr tasks.system "^hog [(]$hog[)]$")
	awk -v used="$used" -v mine="$user" -v more="$system" 'BEGIN { mine += more; exit !(mine > 0.02 && mine <= used + 0.001) }'
	# among the first of the table, and alone there if only one is asked for
	run -0 "$bin/pmrep" show --per-task --top=1 --quiet t.pmr
	[ "$(grep -cE '^[0-9:]{8} +[^ -]' <<<"$output")" -eq 3 ]
}

@test "a process that begins while recording counts from its beginning" {
	mkfifo never
	begin -i 1 --sources=tasks -o t.pmr
	./hog -c 'for ((i = 0; i < 200000; i++)); do :; done; : >ready; read -r' <>never & hog=$!
	await test -e ready
	sleep 0.2
	used=$(awk '{ print ($14 + $15) / 100 }' /proc/$hog/stat)
	say snapshot
	say snapshot
	kill $hog
	kill -INT "$pid"
	wait "$pid"
	user=$(total t.pmr tasks.user "^hog ") system=$(total t.pmr tasks.system "^hog ")
	echo "used $used, recorded $user and $system"; "$bin/pmrep" show --all --per-task --show=tasks.user,tasks.system --format=csv t.pmr | grep -n "hog\|bash"
	awk -v used="$used" -v a="$user" -v b="$system" 'BEGIN { d = a + b - used; exit !(used > 0 && d >= -0.03 && d <= 0.05) }'
}

@test "what threads wrote that ended before is not taken back when their process ends" {
	cat >writer.py <<-'END'
		import os, threading
		def write():
		    with open("written", "wb") as f:
		        f.write(bytes(8 << 20))
		thread = threading.Thread(target=write)
		thread.start()
		thread.join()
		open("ready", "w")
		while not os.path.exists("stop"):
		    pass
	END
	# Other tests run python3 as well.
	ln -s "$(readlink -f /usr/bin/python3)" pages
	./pages writer.py & writer=$!
	await test -e ready
	grep -q '^write_bytes: [1-9]' "/proc/$writer/io" || { kill "$writer"; skip "writing here is not counted"; }
	begin -i 1 --sources=tasks -o t.pmr
	sleep 1.5
	: >stop
	wait "$writer"
	say snapshot
	say snapshot
	kill -INT "$pid"
	wait "$pid"
	bytes=$(total t.pmr tasks.write "^pages ")
	echo "$bytes"
	awk -v b="$bytes" 'BEGIN { exit !(b != "" && b >= 0 && b < 1e6) }'
}

@test "processes that nobody could see are counted by name, and by parent where that was seen" {
	[ "$EUID" -eq 0 ] || skip "needs CAP_NET_ADMIN"
	begin -i 1 --sources=tasks -o t.pmr
	! untold=$("$bin/pmrep" info --all t.pmr | grep 'tasks that end before they are read') || skip "$untold"
	./hog -c 'for ((i = 0; i < 150; i++)); do ./shorty; done; exit 0'
	say snapshot
	kill -INT "$pid"
	wait "$pid"
	"$bin/pmrep" dump t.pmr | grep -q 'key=exits\|tasks.exits'
	# a few may have been alive at a reading
	ended=$(total t.pmr tasks.ended '^shorty( |$)')
	[ "$ended" -ge 140 ] && [ "$ended" -le 150 ]
}

@test "who listens from another network namespace hears of no end, and the recording says so" {
	unshare --net true 2>/dev/null || skip "no permission for a network namespace"
	unshare --net "$bin/pmrec" --quiet -n 1 --sources=tasks -o apart.pmr
	"$bin/pmrep" info --all apart.pmr | grep 'tasks that end before they are read.*networks'
}

@test "names stand nowhere in a strict or redacted recording" {
	./hog -c 'while :; do :; done' & hog=$!
	"$bin/pmrec" --quiet -n 1 --sources=tasks --privacy=strict -o strict.pmr
	"$bin/pmrec" --quiet -n 1 --sources=tasks -o default.pmr
	"$bin/pmrec" --quiet -n 1 --sources=tasks --privacy=full -o full.pmr
	kill $hog
	"$bin/pmrep" redact -o redacted.pmr default.pmr
	for file in strict redacted; do
		run ! grep -q hog <("$bin/pmrep" dump $file.pmr)
		run -0 "$bin/pmrep" show --per-task --show=tasks.user --format=csv $file.pmr
		[[ "$output" == *,task-* ]]
	done
	grep -q 'comm=hog' <("$bin/pmrep" dump default.pmr | tr -d '"')
	run ! grep -q 'while :' <("$bin/pmrep" dump default.pmr)
	grep -q 'while :' <("$bin/pmrep" dump full.pmr)
}

@test "where /proc hides the processes of others the recording says so" {
	[ "$EUID" -eq 0 ] || skip "needs root"
	chmod 755 .
	for hide in 0 2; do
		unshare -mpf sh -c "mount -t proc -o hidepid=$hide proc /proc && setpriv --reuid=54321 --regid=54321 --clear-groups \
			--bounding-set=-all --inh-caps=-all '$bin/pmrec' --quiet -n 1 --sources=tasks -o -; exit" >t.pmr 2>/dev/null ||
			skip "no namespaces here"
		"$bin/pmrep" info --all t.pmr >info
		[ "$(grep -c 'processes of other users: .*hidepid' info)" -eq $((hide / 2)) ]
	done
}

@test "at shorter intervals tasks are not read, and the recording says so" {
	run -125 "$bin/pmrec" --quiet -i 0.1 -n 2 --sources=tasks -o t.pmr
	[[ "$output" == *"from tasks: read at intervals of 1 s and more; try: -i 1" ]]
	"$bin/pmrec" --quiet -i 0.1 -n 2 -o t.pmr --overwrite
	"$bin/pmrep" info --all t.pmr | grep -q 'tasks.* read at intervals of 1 s and more; try: -i 1'
}

@test "two loops of 2:1 CPU time are given 2:1 of the power, and the rest is named" {
	unshare --mount true 2>/dev/null || skip "no permission for a mount namespace"
	cat >loop.py <<-'END'
		import sys, time
		share, start, used = float(sys.argv[1]), time.monotonic(), time.process_time()
		while True:
		    while time.process_time() - used < share * (time.monotonic() - start):
		        pass
		    time.sleep(.002)
	END
	cat >meter.py <<-'END'
		import sys, time
		with open(sys.argv[1], "r+") as f:
		    while True:
		        f.seek(0)
		        f.write("%d\n" % (time.monotonic() * 20e6))
		        f.flush()
		        time.sleep(.01)
	END
	zone=root/sys/class/powercap/intel-rapl:0
	mkdir -p $zone root/dev root/proc root/sys/devices/system/cpu
	echo package-0 >$zone/name
	echo 9007199254740991 >$zone/max_energy_range_uj
	echo 1 >$zone/energy_uj
	python3 meter.py $zone/energy_uj & pid=$!
	nice -n -19 python3 loop.py 0.12 & hog=$!
	nice -n -19 python3 loop.py 0.06 & half=$!
	until [ $(<$zone/energy_uj) -gt 1 ]; do sleep .01; done
	unshare --mount sh -c 'mount --bind /proc root/proc && mount --bind /sys/devices/system/cpu root/sys/devices/system/cpu &&
		exec "$@"' sh "$bin/pmrec" --root=root --quiet -n 5 --sources=tasks,stat,powercap -o e.pmr
	kill $half $pid
	for metric in task.watts task.watts_low task.watts_high task.joules; do
		a=$(total e.pmr $metric "[(]$hog[)]$")
		b=$(total e.pmr $metric "[(]$half[)]$")
		echo "$metric: $a $b"
		awk -v a="$a" -v b="$b" 'BEGIN { exit !(b > 0 && a > 1.8 * b && a < 2.2 * b) }'
	done
	# by their own clocks one used 12 % of a CPU; the meter goes by 20 J a second
	"$bin/pmrep" show --total --show='task.*,pkg*,cpus*' --format=csv e.pmr >e.csv
	awk -F, -v OFS= -v low="$(total e.pmr task.watts_low "[(]$hog[)]$")" '
		$5 == "system" { v[$16] = $17; status[$16] = $19 }
		END { power = v["pkgwatt"]
		      cpus = v["cpus"] > v["cpus_busy"] ? v["cpus"] : v["cpus_busy"]
		      sum = v["task.watts"] + v["task.watts_rest"] - power
		      print power, " ", low, " ", sum
		      exit !(power > 19 && power < 21 && sum < 1e-9 && sum > -1e-9 && v["task.watts_rest"] > 0 &&
			     low > 0.85 * power * 0.12 / cpus && low < 1.15 * power * 0.12 / cpus &&
			     status["task.watts"] == "estimate" && status["pkgwatt"] == "ok") }' e.csv
	# without power there is none, and it says what is missing
	"$bin/pmrec" --quiet -n 1 --sources=tasks,stat -o n.pmr
	run ! "$bin/pmrep" show --show=task.watts n.pmr
	[[ "$output" == *"pkgwatt"* ]]
}
