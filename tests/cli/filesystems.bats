#!/usr/bin/env bats
# How full file systems are, beside what stat(1), and sar where it is installed, say of them.

bats_require_minimum_version 1.5.0
load lib

setup() {
	bin=${PM_BIN:-$BATS_TEST_DIRNAME/../../build/bin}
	cd "$BATS_TEST_TMPDIR"
	mkdir -p m/proc m/sys/devices/system/cpu "m/home/alice smith" m/net/disk m/run m/srv
	echo 'cpu  1 2 3 4' >m/proc/stat
	echo 0 | tee m/sys/devices/system/cpu/online >m/sys/devices/system/cpu/present
	cat >m/proc/mounts <<-'END'
		/dev/sda1 / ext4 rw 0 0
		tmpfs /run tmpfs rw 0 0
		/dev/sda2 /home/alice\040smith xfs rw 0 0
		/dev/sda1 /srv ext4 rw,bind 0 0
		filer:/export /net nfs4 rw,hard 0 0
		/dev/sdb1 /net/disk ext4 rw 0 0
		sshfs#me@there: /home/alice\040smith/there fuse.sshfs rw 0 0
		/dev/sdc1 /not/there ext4 rw 0 0
	END
}

teardown() {
	kill ${pid:-} 2>/dev/null || true
}

record() { # OPTION...
	begin -i 100 --sources=filesystems "$@"
	say snapshot
	kill -INT "$pid"
	wait "$pid"
}

values() { # FILE DEVICE: size available inodes
	"$bin/pmrep" show --total --per-device --show='filesystems.*' --format=csv "$1" |
		awk -F, -v device="$2" '$13 == device { v[$16] = $17 } END {
			printf "%.0f %.0f %.0f", v["filesystems.size"], v["filesystems.available"], v["filesystems.inodes"] }'
}

@test "local file systems are recorded once, and what may wait for others is left alone" {
	record --root=m -o f.pmr
	[ "$("$bin/pmrep" show --total --per-device --show=filesystems.size --format=csv f.pmr |
		awk -F, '$5 == "device" { print $13 }' | sort | xargs)" = '/ /home/alice smith' ]
	read -r block size inodes < <(stat -f -c '%S %b %c' m)
	read -r got_size got_available got_inodes <<<"$(values f.pmr '/home/alice smith')"
	[ "$got_size" = $((block * size)) ] && [ "$got_inodes" = "$inodes" ]
	# others write at the same time
	awk -v a="$got_available" -v b=$((block * $(stat -f -c %a m))) -v size="$got_size" \
		'BEGIN { d = a - b; exit !(d * d <= size * size / 1e4) }'
}

@test "names of places stand nowhere in a strict or redacted recording" {
	record --root=m --privacy=strict -o strict.pmr
	record --root=m -o default.pmr
	"$bin/pmrep" redact -o redacted.pmr default.pmr
	grep -q alice <("$bin/pmrep" dump default.pmr)
	for file in strict redacted; do
		run ! grep -q 'alice\|smith' <("$bin/pmrep" dump $file.pmr)
	done
}

@test "sar says the same of the file systems of this machine" {
	type -P sar || skip "no sar"
	root=$(awk '$2 == "/" && $1 ~ "^/dev/" { print $1; exit }' /proc/mounts)
	[ -n "$root" ] || skip "the root is on no device"
	record -o f.pmr
	sar=$(LC_ALL=C timeout 10 sar -F 1 1 | awk -v root="$root" '/%ufsused/ { for (i = 1; i <= NF; i++) at[$i] = i }
		$NF == root { print $at["%ufsused"], $at["%Iused"]; exit }')
	[ -n "$sar" ] || skip "sar does not tell of $root"
	full=$("$bin/pmrep" show --total --per-device --show=fs.full,fs.inodes --format=csv f.pmr |
		awk -F, '$13 == "/" { print $17 }' | xargs)
	echo "sar: $sar, pmrep: $full"
	awk -v sar="$sar" -v mine="$full" 'BEGIN { split(sar, s); split(mine, m)
		for (i = 1; i <= 2; i++) if ((s[i] - m[i]) ^ 2 > 0.25) exit 1; exit !m[1] }'
}
