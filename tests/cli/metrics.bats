#!/usr/bin/env bats
# -M: from the metrics that are asked for to their values, also without the file that they came from.

bats_require_minimum_version 1.5.0
load lib

setup() {
	bin=${PM_BIN:-$BATS_TEST_DIRNAME/../../build/bin}
	export PATH=$bin:$PATH
	cd "$BATS_TEST_TMPDIR"
	cat >metrics.json <<-'END'
	[ { "MetricName": "FaultsPerMs", "MetricExpr": "rate_of_faults / 1e3", "MetricGroup": "Faults;Twice",
	    "MetricThreshold": "FaultsPerMs > 1e-9", "BriefDescription": "Page faults a millisecond" },
	  { "MetricName": "rate_of_faults", "MetricExpr": "page\\-faults / duration_time", "ScaleUnit": "1/s",
	    "MetricGroup": "Faults" },
	  { "MetricName": "Busy", "MetricExpr": "software@task\\-clock\\,name\\=tc@ / (duration_time * 1e9)",
	    "ScaleUnit": "1CPUs" },
	  { "MetricName": "Nothing", "MetricExpr": "no_such_event / page\\-faults", "MetricGroup": "Twice" },
	  { "MetricName": "Ring", "MetricExpr": "Ring * 2" } ]
	END
}

rec() {
	pmrec --quiet --overwrite --sources=perf -o x.pmr "$@"
}

counts() {
	pmrep list x.pmr | awk '$2 == "perf" { print $1 }' | tr '\n' ' '
}

@test "metrics and groups open the events that they need, and no others" {
	may_count
	rec -M FaultsPerMs --metrics-file=metrics.json -- true
	[ "$(counts)" = "page-faults " ]
	rec -M Faults,busy --metrics-file=metrics.json -- true
	[ "$(counts)" = "page-faults software/task-clock/ " ]
	# Ours need no file; what -e names is counted as well.
	rec -e minor-faults -M cs_per_second -- true
	[ "$(counts)" = "minor-faults context-switches task-clock " ]
}

@test "the recording has the formulas: their values need no file" {
	may_count
	rec -e page-faults -M FaultsPerMs,rate_of_faults,Busy --metrics-file=metrics.json -- \
		python3 -c 'sum(i for i in range(3000000))'
	rm metrics.json
	pmrep show x.pmr --total -S --show=FaultsPerMs,rate_of_faults,page-faults,Busy,cpus_utilized --format=csv >csv
	python3 - <<-'END'
	import csv
	rows = {r["metric"]: r for r in csv.DictReader(open("csv"))}
	seconds = int(rows["page-faults"]["duration_ns"]) / 1e9
	faults = float(rows["page-faults"]["value"])
	assert faults > 100, faults
	def near(name, value):
	    got = float(rows[name]["value"])
	    assert abs(got - value) <= 1e-6 * value, (name, got, value)
	near("rate_of_faults", faults / seconds)
	near("faultsperms", faults / seconds / 1e3)
	assert rows["rate_of_faults"]["unit"] == "/s"
	# A clock in nanoseconds there, in milliseconds here.
	assert abs(float(rows["busy"]["value"]) / float(rows["cpus_utilized"]["value"]) - 1) < 0.05, rows
	END
	# They are shown without being asked for.
	pmrep show x.pmr --total -S | grep -q FaultsPerMs
}

@test "a metric that no event feeds has a value, over the time that is counted for it" {
	may_count
	cat >constant.json <<-'END'
	[ { "MetricName": "Twice", "MetricExpr": "2 * #num_cpus_online" }, { "MetricName": "Nil", "MetricExpr": "0" },
	  { "MetricName": "Millis", "MetricExpr": "duration_time * 1e3" },
	  { "MetricName": "Faults", "MetricExpr": "page\\-faults" } ]
	END
	rec -M Twice,Nil,Millis --metrics-file=constant.json -- sleep 0.1
	[ "$(counts)" = "tool/duration_time/ " ]
	pmrep show x.pmr --total -S --show=Twice,Nil,Millis --format=csv >csv
	python3 - "$(getconf _NPROCESSORS_ONLN)" <<-'END'
	import csv, sys
	rows = {r["metric"]: r for r in csv.DictReader(open("csv"))}
	assert float(rows["twice"]["value"]) == 2 * int(sys.argv[1]) and float(rows["nil"]["value"]) == 0, rows
	assert 100 <= float(rows["millis"]["value"]) < 5000 and rows["twice"]["status"] == "ok", rows
	END
	run -0 pmrep stat -x, x.pmr
	[[ $output == *,Millis* && $output == *,Twice* ]]
	# Beside events there is no need for it.
	rec -M Nil,Faults --metrics-file=constant.json -- true
	[ "$(counts)" = "page-faults " ]
	pmrec --sources=perf -M Twice,Nil,Faults --metrics-file=constant.json --dry-run -- true >out
	grep -q 'software page-faults$' out
	grep -q '^no event: Twice, Nil$' out
	pmrec --sources=perf -M Nil --metrics-file=constant.json --dry-run -- true >out
	grep -qE '^ +- +100.0 %  tool duration_time$' out
}

@test "what there is not is named, and what comes near" {
	may_count
	run --separate-stderr -125 pmrec -q -o y.pmr -M FaultPerMs --metrics-file=metrics.json -- true
	[[ $stderr == *"no metric or metric group 'FaultPerMs', did you mean FaultsPerMs?" ]]
	run --separate-stderr -125 pmrec -q -o y.pmr -M Nothing --metrics-file=metrics.json -- true
	[[ $stderr == *"metric Nothing: "*"no_such_event"* ]]
	run --separate-stderr -125 pmrec -q -o y.pmr -M cs_per_second --metrics-file=absent.json -- true
	[[ $stderr == *"absent.json"* ]]
	[ ! -e y.pmr ]
	# Of a group what is there; the rest and a metric that refers to itself are notes of the recording.
	rec -M Twice --metrics-file=metrics.json -- true
	[ "$(counts)" = "page-faults " ]
	pmrep info x.pmr | grep -q "metric Nothing"
	pmrep info x.pmr | grep -q "metrics that refer to themselves: Ring"
}

@test "metrics and their groups are listed" {
	pmrec list metrics 'insn*' | grep -q '^insn_per_cycle'
	pmrec list metricgroups TopdownL1 | grep -q tma_backend_bound
	pmrec list metricgroups Default | grep -q cs_per_second
	run ! pmrec list metricgroups NoSuchGroup
	pmrec list metrics --metrics-file=metrics.json 'Faults*' | grep -q 'Page faults a millisecond'
	pmrec list metricgroups --metrics-file=metrics.json Faults | grep -qi 'faults  *FaultsPerMs rate_of_faults'
	run -125 pmrec list metrics --metrics-file=absent.json
	[[ $output == *"--metrics-file: absent.json: No such file"* ]]
}

@test "a folder's events are names for its metrics, when recording and afterwards" {
	may_count
	mkdir dir
	echo '[ { "MetricName": "PerFault", "MetricExpr": "2 * MY.FAULTS" } ]' >dir/metrics.json
	echo '[ { "EventName": "MY.FAULTS", "Unit": "software", "ConfigCode": "2", "BriefDescription": "Page faults" } ]' \
		>dir/other.json
	rec -M PerFault --metrics-file=dir -- true
	run -0 pmrep stat -x, x.pmr
	[[ $output == [0-9]*,,MY.FAULTS,*,PerFault ]] || { echo "$output"; return 1; }
	rec -e page-faults -- true
	run -0 pmrep stat -x, -M PerFault --metrics-file=dir x.pmr
	awk -F, '{ exit !($1 > 0 && $6 == 2 * $1 && $3 == "page-faults") }' <<<"$output" || { echo "$output"; return 1; }
	pmrep show x.pmr --total -S --metrics-file=dir --show=PerFault,page-faults --format=csv | cut -d, -f16,17 >csv
	python3 - <<-'END'
	v = dict(line.strip().split(",") for line in open("csv"))
	assert float(v["perfault"]) == 2 * float(v["page-faults"]) > 0, v
	END
	# A file alone names no events.
	run pmrep stat -x, -M PerFault --metrics-file=dir/metrics.json x.pmr
	[[ $output == *"needs 'MY.FAULTS'"* ]] || { echo "$output"; return 1; }
}

# perf's tree: a folder that has those of all CPUs.
tree() {
	local cpu

	mkdir -p arch/skylakex arch/amdzen4 arch/arm/neoverse-n1
	cat >arch/mapfile.csv <<-'END'
	Family-model,Version,Filename,EventType
	GenuineIntel-6-55-[01234],v1.35,skylakex,core
	GenuineIntel-6-55-[56789ABCDEF],v1.23,cascadelakex,core
	AuthenticAMD-25-([1][0-9A-F]|[[:xdigit:]]),v1,amdzen4,core
	0x00000000410fd0c0,v1,arm/neoverse-n1,core
	END
	for cpu in skylakex=1 amdzen4=2 arm/neoverse-n1=3; do
		echo '[ { "MetricName": "WhichCpu", "MetricExpr": "'"${cpu#*=}"' + 0 * MY.SWITCHES" } ]' \
			>"arch/${cpu%=*}/metrics.json"
		echo '[ { "EventName": "MY.SWITCHES", "Unit": "software", "ConfigCode": "3" } ]' \
			>"arch/${cpu%=*}/events.json"
	done
	for cpu in guest plain tegra410; do
		cp "${PM_SOURCE:-$BATS_TEST_DIRNAME/../..}/samples/$cpu.pmr" "$cpu.pmr"
	done
}

@test "of a folder for many CPUs each recording takes its own" {
	tree
	for args in 'stat -x, -M WhichCpu' 'show --total -S --show=WhichCpu --format=csv --layout=wide'; do
		# Each on its own, and one after the other in one call.
		for of in guest=1 plain=2 tegra410=3; do
			run -0 --separate-stderr pmrep $args --metrics-file=arch ${of%=*}.pmr
			[[ ${output##*$'\n'} =~ (^|,)${of#*=}(\.0+)?(,|$) ]] || { echo "$args $of: $output"; return 1; }
		done
	done
	pmrep stat -x, -M WhichCpu --metrics-file=arch guest.pmr tegra410.pmr plain.pmr guest.pmr | cut -d, -f6 >out
	[ "$(tr '\n' ' ' <out | sed 's/\.0*//g')" = "1 3 2 1 " ] || { cat out; return 1; }
	# What differs says so: it is not compared with one CPU's formula.
	pmrep diff --force --format=json --show=whichcpu --metrics-file=arch guest.pmr plain.pmr >json || true
	python3 - <<-'END'
	import json
	text = open("json").read()
	row, = [r for r in json.loads(text)["results"] if (r["metric"], r["scope"]) == ("whichcpu", "system")]
	assert (row["base"], row["new"]) == (1, 2), row
	END
}

@test "a CPU that the folder does not know is named, and so is what cannot be read" {
	tree
	sed -i /neoverse/d arch/mapfile.csv
	for args in 'stat -M WhichCpu' 'show --show=WhichCpu' 'diff --force guest.pmr'; do
		run -2 --separate-stderr pmrep $args --metrics-file=arch tegra410.pmr
		[[ $stderr == *"tegra410.pmr: --metrics-file: arch/mapfile.csv has no line for this CPU (0x00000000414fd0c1)"* ]] ||
			{ echo "$args: $stderr"; return 1; }
	done
	# The one before it is there nevertheless.
	run -2 --separate-stderr pmrep stat -x, -M WhichCpu --metrics-file=arch guest.pmr tegra410.pmr
	[[ $output == *WhichCpu* ]]
	mkdir arch/amdzen4/cut.json
	run -2 --separate-stderr pmrep stat -M WhichCpu --metrics-file=arch plain.pmr
	[[ $stderr == *"arch/amdzen4/cut.json: "* ]] || { echo "$stderr"; return 1; }
	for folder in arch/amdzen4 arch; do
		run -125 --separate-stderr pmrec -q -o y.pmr -M WhichCpu --metrics-file=arch/amdzen4 -- true
		[[ $stderr == *"arch/amdzen4/cut.json: "* ]] || { echo "$stderr"; return 1; }
		run -125 --separate-stderr pmrec -q -o y.pmr -e MY.SWITCHES --events-file=arch/amdzen4 -- true
		[[ $stderr == *"arch/amdzen4/cut.json: "* ]] || { echo "$stderr"; return 1; }
	done
	rmdir arch/amdzen4/cut.json
	echo '{ "a": 1 }' >arch/amdzen4/odd.json
	run -2 --separate-stderr pmrep stat -M WhichCpu --metrics-file=arch plain.pmr
	[[ $stderr == *"arch/amdzen4/odd.json: neither events nor metrics"* ]] || { echo "$stderr"; return 1; }
	# Descriptions of groups stand among perf's files.
	mv arch/amdzen4/odd.json arch/amdzen4/metricgroups.json
	pmrep stat -M WhichCpu --metrics-file=arch plain.pmr
	# A map that cannot be read is no folder without one.
	rm arch/mapfile.csv
	ln -s nowhere arch/mapfile.csv
	run -2 --separate-stderr pmrep stat -M WhichCpu --metrics-file=arch plain.pmr
	[[ $stderr == *"arch/mapfile.csv: No such file"* ]] || { echo "$stderr"; return 1; }
	# Nor are standards that cannot be read ones that are not there.
	echo '[ { "ArchStdEvent": "a_standard" }, { "MetricName": "WhichCpu", "MetricExpr": "7" } ]' \
		>arch/skylakex/metrics.json
	echo '[ {' >arch/broken.json
	run -2 --separate-stderr pmrep show --total -S --show=WhichCpu --metrics-file=arch/skylakex plain.pmr
	[[ $stderr == *"arch/broken.json: "* ]] || { echo "$stderr"; return 1; }
	# Without a map the folder above may be anything, and is not read.
	rm arch/mapfile.csv
	run -0 --separate-stderr pmrep show --total -S --show=WhichCpu --metrics-file=arch/skylakex plain.pmr
	[[ $stderr != *broken.json* ]] || { echo "$stderr"; return 1; }
}

@test "of metrics of one name, for several kinds of cores, those that this machine has are counted" {
	may_count
	cat >twins.json <<-'END'
	[ { "MetricName": "Twin", "Unit": "cpu_atom", "MetricExpr": "cpu_atom@no.such@ / 2" },
	  { "MetricName": "Twin", "Unit": "cpu_core", "MetricExpr": "2 * page\\-faults" },
	  { "MetricName": "Other", "Unit": "cpu_core", "MetricExpr": "Twin + 1" } ]
	END
	rec -M Twin --metrics-file=twins.json -- true
	[ "$(counts)" = "page-faults " ]
	[[ $(pmrep stat -x, x.pmr) == *,"Twin cpu_core" ]]
	rec -M Other --metrics-file=twins.json -- true
	pmrep stat -x, x.pmr | awk -F, '{ exit !($6 == 2 * $1 + 1 && $7 == "Other") }'
	# Of none of them: an error, as for any other that is named.
	sed -i 's/page.*faults/no_such_event/' twins.json
	run --separate-stderr -125 pmrec -q -o y.pmr -M Twin --metrics-file=twins.json -- true
	[[ $stderr == *"none of the metrics of Twin can be computed here"* ]] || { echo "$stderr"; return 1; }
}

@test "a folder is one set" {
	may_count
	mkdir set
	echo '[ { "MetricName": "Double", "MetricExpr": "2 * Single" } ]' >set/a.json
	echo '[ { "MetricName": "Single", "MetricExpr": "page\\-faults" } ]' >set/b.json
	rec -M Double --metrics-file=set -- true
	[ "$(counts)" = "page-faults " ]
	pmrep show x.pmr --total -S --show=Double,page-faults --format=csv | cut -d, -f16,17 >csv
	python3 - <<-'END'
	v = dict(line.strip().split(",") for line in open("csv"))
	assert float(v["double"]) == 2 * float(v["page-faults"]) > 0, v
	END
}

@test "stat shows what was asked for, judged by its threshold" {
	may_count
	rec -M FaultsPerMs,Busy --metrics-file=metrics.json -- python3 -c 'sum(i for i in range(3000000))'
	rm metrics.json
	pmrep stat -j x.pmr >json
	python3 - <<-'END'
	import json
	rows = [json.loads(line) for line in open("json") if line.startswith("{")]
	by = {r["metric-unit"].split()[-1]: r for r in rows if r.get("metric-unit")}
	assert by["FaultsPerMs"]["metric-threshold"] == "bad", by
	assert float(by["FaultsPerMs"]["metric-value"]) > 0, by
	# Of a processor that was busy with it.
	assert 0.05 < float(by["Busy"]["metric-value"]) < 1.1, by
	END
	pmrep stat -M Busy x.pmr | grep -q 'CPUs  Busy'
	run ! grep -q FaultsPerMs <(pmrep stat -M Busy x.pmr)
}
