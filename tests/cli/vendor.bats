#!/usr/bin/env bats
# pmrec vendor: files of CPU vendors in their schemas become one pack, of which events and metrics are known by name.

bats_require_minimum_version 1.5.0
load lib

setup() {
	bin=${PM_BIN:-$BATS_TEST_DIRNAME/../../build/bin}
	export PATH=$bin:$PATH XDG_DATA_HOME=$BATS_TEST_TMPDIR/data
	cd "$BATS_TEST_TMPDIR"
	# A tree as the kernel's, for whatever processor this is. Its events are the kernel's own: they count everywhere.
	mkdir -p arch/here/acme
	printf 'CPUID,Version,Folder,Type\n.*,v1,acme,core\nnobody-.*,v1,acme,core\n' >arch/here/mapfile.csv
	cat >arch/here/acme/events.json <<-'END'
	[ { "EventName": "ACME.FAULTS", "ConfigCode": "0x2", "Unit": "software", "BriefDescription": "Faults of\nacme" },
	  { "EventName": "ACME.SWITCHES", "ConfigCode": "0x3", "Unit": "software", "ScaleUnit": "2pairs" } ]
	END
	cat >arch/here/acme/metrics.json <<-'END'
	[ { "MetricName": "AcmeTwice", "MetricExpr": "2 * ACME.FAULTS", "MetricGroup": "Acme", "BriefDescription": "Twice" },
	  { "MetricName": "AcmeRatio", "MetricExpr": "AcmeTwice / ACME.FAULTS", "ScaleUnit": "100%", "MetricGroup": "Acme",
	    "MetricThreshold": "AcmeRatio > 1" } ]
	END
}

rec() {
	pmrec --overwrite --sources=perf -o x.pmr "$@"
}

@test "what was imported is known by name, in -e, -M and the lists" {
	may_count mine
	pmrec vendor import arch | grep -qE '^.*/data/pmrec/vendor.pmv: 1 processor, 2 events, 2 metrics'
	[[ $(pmrec vendor) == *"acme"*2*2*".* nobody-.*"* ]]
	rec -e ACME.FAULTS,ACME.SWITCHES,page-faults -- true
	pmrep stat -x, x.pmr | awk -F, '$3 ~ /FAULTS/ { n = $1 } $3 == "page-faults" { exit !(n == $1 && n > 0) }'
	pmrep stat -x, x.pmr | grep -q '^[0-9]*,pairs,ACME.SWITCHES'
	rec -M Acme -- true
	[[ $(pmrep --total --format=csv --show=AcmeRatio x.pmr) == *,acmeratio,200,%,* ]]
	pmrec list events | grep -q 'acme.faults.*Faults of acme'
	pmrec list metrics | grep -q 'acmetwice.*Twice'
	pmrec list metricgroups Acme | grep -q 'acmetwice acmeratio'
	[ -z "$(pmrec list events --no-vendor | grep acme)" ]
}

@test "what boards have is known on every Arm processor, where a PMU calls itself so" {
	mkdir -p arch/here/maker/board/sys root/sys/bus/event_source/devices/dram_0/format
	cat >arch/here/maker/board/sys/all.json <<-'END'
	[ { "EventName": "beats", "EventCode": "0x7", "Unit": "dram", "Compat": "rev[12]", "BriefDescription": "Beats of dram" },
	  { "MetricName": "BoardTwice", "MetricExpr": "2 * beats", "Unit": "dram", "Compat": "rev[12]" } ]
	END
	pmrec vendor import arch | grep -q ' 2 processors, 3 events, 3 metrics'
	cd root/sys/bus/event_source/devices/dram_0
	echo 77 >type; echo 0 >cpumask; echo rev1 >identifier; echo config:0-7 >format/event
	export PERF_CPUID=0x00000000410fd400
	pmrec list events --root="$BATS_TEST_TMPDIR/root" | grep -q 'beats.*Beats of dram'
	pmrec list metrics --root="$BATS_TEST_TMPDIR/root" | grep -q boardtwice
	echo rev3 >identifier
	! pmrec list metrics --root="$BATS_TEST_TMPDIR/root" | grep -q boardtwice
	! pmrec list metricgroups --root="$BATS_TEST_TMPDIR/root" | grep -q boardtwice
	[ -z "$(pmrec list events --root="$BATS_TEST_TMPDIR/root" | grep Beats)" ]
	echo rev1 >identifier
	[ -z "$(PERF_CPUID=GenuineIntel-6-55-4 pmrec list events --root="$BATS_TEST_TMPDIR/root" | grep Beats)" ]
	# The processor says what it is; its first CPU is offline.
	unset PERF_CPUID
	cd "$BATS_TEST_TMPDIR/root/sys"
	mkdir -p devices/system/cpu/cpu1/regs/identification
	echo 1 >devices/system/cpu/online
	echo 0x00000000410fd400 >devices/system/cpu/cpu1/regs/identification/midr_el1
	pmrec list events --root="$BATS_TEST_TMPDIR/root" | grep -q 'beats.*Beats of dram'
}

@test "a recording carries what was used; a pack serves older ones" {
	may_count mine
	rec -e page-faults -- true
	cp x.pmr old.pmr
	pmrec vendor import -o other.pmv arch
	run pmrep stat -M AcmeTwice old.pmr
	[[ $output == *"pmrec vendor import DIR"* ]] || { echo "$output"; return 1; }
	mkdir -p data/pmrec && mv other.pmv data/pmrec/vendor.pmv
	pmrep stat -x, -M AcmeTwice old.pmr | awk -F, '{ exit !($6 == 2 * $1) }'
	pmrep --total --show=AcmeRatio old.pmr | grep -q 200
	run -2 pmrep --no-vendor --total --show=AcmeRatio old.pmr
	rec -M AcmeRatio -- true
	rm -r data
	pmrep --total --show=AcmeRatio x.pmr | grep -q 200
}

@test "PERF_CPUID chooses whose names are known, and changes nothing that is said of the machine" {
	may_count mine
	rec -e page-faults -- true
	own=$(pmrep info --format=json x.pmr | jq -r .host.cpu_id)
	printf 'CPUID,Version,Folder,Type\nother-7,v1,acme,core\n' >arch/here/mapfile.csv
	pmrec vendor import arch
	run -125 rec -M AcmeTwice -- true
	[ -z "$(pmrec list events | grep -i acme)" ]
	PERF_CPUID=other-7 pmrec list events | grep -qi acme.faults
	PERF_CPUID=other-7 pmrec list metrics | grep -q acmetwice
	PERF_CPUID=other-7 run rec -M AcmeTwice -- true
	[[ $output == *"PERF_CPUID: the vendor's events and metrics are those of other-7, and this is "* ]] ||
		{ echo "$output"; return 1; }
	[ "$(pmrep info --format=json x.pmr | jq -r .host.cpu_id)" = "$own" ]
	pmrep --total --format=csv --show=AcmeTwice x.pmr | grep -q ,acmetwice,
}

@test "without a pack the error names what brings one; a damaged one is told and costs nothing else" {
	may_count mine
	run -125 rec -e L2_RQSTS.MISS -- true
	[[ $output == *"no event \"L2_RQSTS.MISS\""*"pmrec vendor import DIR"* ]] || { echo "$output"; return 1; }
	run -125 rec -e l2_rqsts.miss -- true
	[[ $output == *"no event \"l2_rqsts.miss\""*"pmrec vendor import DIR"* ]] || { echo "$output"; return 1; }
	run -125 rec -M TopdownL3 -- true
	[[ $output == *"pmrec vendor import DIR"* ]]
	run -125 pmrec vendor
	[[ $output == *"pmrec vendor import DIR"* ]]
	pmrec vendor import arch
	printf x | dd of=data/pmrec/vendor.pmv bs=1 seek=30 conv=notrunc status=none
	run rec -e page-faults -- true
	[ "$status" = 0 ] && [[ $output == *"vendor.pmv: not a pack"* ]] || { echo "$output"; return 1; }
	pmrec vendor import arch
	# The events follow the index; metrics, which come last, are not asked for.
	index=$(od -An -tu4 -j8 -N4 data/pmrec/vendor.pmv)
	printf x | dd of=data/pmrec/vendor.pmv bs=1 seek=$((16 + index + 3)) conv=notrunc status=none
	run rec -e page-faults -- true
	[ "$status" = 0 ] && [[ $output == *"vendor.pmv: "*"the pack is damaged"* ]] || { echo "$output"; return 1; }
	head -c 5 /dev/urandom >data/pmrec/vendor.pmv
	run rec -e page-faults -- true
	[ "$status" = 0 ]
}

@test "files of Intel and of Arm in their own schemas" {
	may_count mine
	mkdir -p perfmon/ACM/metrics perfmon/ACM/events
	printf 'Family,Version,Filename,EventType\n.*,v1,/ACM/events/e.json,core\n.*,v1,/ACM/metrics/m.json,metrics\n' >perfmon/mapfile.csv
	printf '{ "Header": {}, "Events": %s }' "$(cat arch/here/acme/events.json)" >perfmon/ACM/events/e.json
	cat >perfmon/ACM/metrics/m.json <<-'END'
	{ "Metrics": [
	  { "MetricName": "Ours", "LegacyName": "metric_Ours(%)", "Level": 1, "UnitOfMeasure": "percent", "Category": "TMA",
	    "Events": [ { "Name": "ACME.FAULTS", "Alias": "a" }, { "Name": "ACME.SWITCHES", "Alias": "a_b" } ],
	    "Constants": [ { "Name": "SOCKET_COUNT", "Alias": "socket_count" }, { "Name": "20", "Alias": "weight" },
	                   { "Name": "HYPERTHREADING_ON", "Alias": "smt_on" } ],
	    "Formula": "100 * ( a + max( a_b - a_b , 0 ) ) / ( a * weight * (socket_count/socket_count) if smt_on else a * weight )",
	    "Threshold": { "ThresholdMetrics": [ { "Alias": "a", "Value": "metric_Ours(%)" } ], "Formula": "( a > 4 )" } },
	  { "MetricName": "Latency", "Events": [ { "Name": "ACME.FAULTS:retire_latency", "Alias": "a" } ], "Constants": [],
	    "Formula": "a" } ] }
	END
	pmrec vendor import perfmon
	rec -M TopdownL1 -- true
	[[ $(pmrep --total --format=csv --show=Ours x.pmr) == *,ours,5,%,* ]]
	run -125 rec -M Latency -- true
	cat >v9.json <<-'END'
	{ "product_configuration": { "implementer": "0x41", "part_num": "0xd4f" },
	  "events": { "CPU_CYCLES": { "code": "0x0011", "title": "Cycle" } },
	  "metrics": { "clk": { "title": "Clocks", "formula": "CPU_CYCLES * 100", "units": "percent of cycles" } },
	  "groups": { "metrics": { "General": { "metrics": [ "clk" ] } } } }
	END
	pmrec vendor import v9.json
	[[ $(pmrec vendor) == *"v9"*1*1*0x00000000410fd4f0* ]]
	# A clone has its files somewhere below, some of them twice, and others beside them.
	mkdir -p clone/data/pmu/cpu clone/tools
	cp v9.json clone/data/pmu/cpu && cp v9.json clone/tools/again.json && echo '{ "mapping": 1 }' >clone/tools/mapping.json
	echo '{ "cpuid": "0x41d0c", "events": [ { "code": 4096, "name": "OWN", "description": "own" } ] }' >clone/tools/n1.json
	echo broken >clone/tools/broken.json
	[[ $(pmrec vendor import clone) == *"2 processors, 2 events, 1 metric,"* ]]
	[[ $(pmrec vendor) == *"n1"*1*0*0x00000000410fd0c0* ]]
	# Of several revisions the latest that is not newer, else the oldest.
	for r in 2 3; do
		sed 's/"0xd4f"/"0xd49", "major_revision": "0", "minor_revision": "'$r'"/; s/clk/clk'$r'/g' v9.json >clone/data/n2-$r.json
	done
	pmrec vendor import clone
	for own in 0:clk2 2:clk2 3:clk3; do
		[[ $(PERF_CPUID=0x00000000410fd49${own%:*} pmrec list metrics "clk*") == *"${own#*:}"* ]]
		[[ $(PERF_CPUID=0x00000000410fd49${own%:*} pmrec list metrics "clk*" | grep -c clk) = 1 ]]
	done
	sed 's/ACME.FAULTS/OFFCORE_RESPONSE:request=ANY:response=NONE/' perfmon/ACM/events/e.json >e && mv e perfmon/ACM/events/e.json
	[ -z "$(pmrec vendor import perfmon 2>&1 >/dev/null)" ]
	pmrec list events offcore_response.any.none | grep -q offcore_response.any.none
	run -125 pmrec vendor import perfmon/ACM/events/e.json
	[[ $output == *"does not say which CPU"* ]]
}

@test "--dry-run prints groups with the share of the time that they count, and records nothing" {
	may_count
	pmrec vendor import arch
	pmrec --sources=perf -a -M Acme -e '{page-faults,context-switches}' --dry-run -o y.pmr >out
	[ ! -e y.pmr ]
	grep -qE '^ *1  100.0 %  software \{page-faults, context-switches\}' out
	grep -qE '^ *[0-9]+  100.0 %  software ACME.FAULTS' out
	# A command does not run.
	pmrec --sources=perf -e page-faults --dry-run -- touch ran >out
	[ ! -e ran ] && grep -q 'page-faults' out
	# Sources that are not wanted are not asked.
	pmrec --sources=stat --dry-run -o y.pmr >out
	[ "$(cat out)" = "GROUP   COUNTS  EVENTS" ]
}

@test "a tree of strangers leads nowhere else, and says nothing to the terminal but text" {
	mkdir -p outside && cp arch/here/acme/events.json outside
	printf 'CPUID,Version,Folder,Type\n.*,v1,../../outside,core\n(.*,v1,acme,core\nx-.*,v1,acme,core\n' >arch/here/mapfile.csv
	printf '[ { "EventName": "A\\u001b[31m,B", "EventCode": "0x1" }, { "MetricName": "M\\u001b]0;x", "MetricExpr": "1 +" } ]' \
		>arch/here/acme/events.json
	run --separate-stderr pmrec vendor import arch
	[ "$status" -eq 0 ]
	[[ $stderr == *"../../outside: it leads out of the tree"* && $stderr == *"(.*,acme: its first word is not a regular expression"* ]]
	[[ $output == *"1 processor, 0 events"* ]]
	[[ $stderr == *'A\x1b[31m,B left out'* ]]
	! grep -q $'\e' <<<"$output$stderr"
}
