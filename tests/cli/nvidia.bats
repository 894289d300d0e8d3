# NVIDIA's uncore PMUs, on the files of a machine that has all of them: nothing is counted here.

bats_require_minimum_version 1.5.0

setup() {
	export PATH=$PM_BIN:$PATH LC_ALL=C
	cd "$BATS_TEST_TMPDIR"
	"$PM_SOURCE/tests/sysroots/make" tegra410 "$PWD/root"
}

record() {
	pmrec --root "$PWD/root" -q -n 1 -i 0.05 --overwrite -o t.pmr "$@"
}

# The example output of the kernel's document, nvidia-tegra410-pmu.rst.
table() {
	cat "$PM_SOURCE/tests/golden/tegra410_root_ports.txt"
}

@test "info --pci prints the table of the kernel's document" {
	record
	pmrep info --pci t.pmr >got
	table | diff - got
	# It says nothing of the machine's owner, so the strictest file has it, too.
	record --privacy=strict
	pmrep info --pci t.pmr >got
	table | diff - got
}

@test "info --pci --all adds PMUs and devices" {
	record
	run pmrep info --pci --all t.pmr
	[ "$status" -eq 0 ]
	[[ ${lines[0]} == 0001:00:00.0:* ]]
	[ "${lines[1]}" = "  nvidia_pcie_pmu_0_rc_0" ]
	[ "${lines[2]}" = "  nvidia_pcie_tgt_pmu_0_rc_0" ]
	# 0x29 is bus 1, device 0, function 0: 1 << 8.
	[ "${lines[3]}" = "  0001:01:00.0 [0302]: 10de:2900, src_bdf=0x0100" ]
	pmrep info --pci --format=json t.pmr |
		python3 -c 'import json, sys; j = json.load(sys.stdin); p = j["root_ports"]
assert j["state"] == "known" and len(p) == 21
assert p[19]["address"] == "000d:c0:00.0" and p[19]["socket"] == 1 and p[19]["port"] == 2
assert p[19]["pmus"] == ["nvidia_pcie_pmu_1_rc_4", "nvidia_pcie_tgt_pmu_1_rc_4"]
assert p[19]["functions"][0]["src_bdf"] == 0xc100'
}

@test "what needs root is told apart from what is not there" {
	truncate -s 64 root/sys/bus/pci/devices/*/config
	record
	run pmrep info --pci t.pmr
	[ "$status" -eq 1 ]
	[[ $output == *"run pmrec as root"* ]]
	[[ $(pmrep info t.pmr) == *"first 64 bytes"* ]]
	rm -r root/sys/bus/pci
	record
	run pmrep info --pci t.pmr
	[ "$status" -eq 1 ]
	[[ $output == *"no root ports were recorded"* ]]
}

@test "what cannot be counted at once is refused with the rule" {
	run record -a -e nvidia_pcie_pmu_0_rc_1/rd_bytes,src_rp_mask=1,src_bdf=81:00.0/
	[ "$status" -eq 125 ]
	[[ $output == *"by root port (src_rp_mask) or by function (src_bdf)"* ]]
	run record -a -e nvidia_pcie_pmu_0_rc_1/rd_bytes,src_bdf=81:00.0/ -e nvidia_pcie_pmu_0_rc_1/wr_bytes,src_bdf=a1:00.0/
	[ "$status" -eq 125 ]
	[[ $output == *"one function filter"*"81:00.0 and a1:00.0"* ]]
	run record -a -e nvidia_nvlink_c2c_pmu_0/in_rd_req,gpu_mask=0x4/
	[ "$status" -eq 125 ]
	[[ $output == *"gpu_mask=0x4"*"connected to 2"* ]]
	run record -p $$ -e nvidia_ucf_pmu_0/cycles/
	[ "$status" -eq 125 ]
	[[ $output == *"cannot follow a process"* ]]
	run record -e nvidia_ucf_pmu_0/cycles/ true
	[ "$status" -eq 125 ]
	[[ $output == *"cannot follow a command: add -a"* ]]
}

@test "a raw address is shown as what it decodes to" {
	run pmrec --root "$PWD/root" -n 1 -i 0.05 -o t.pmr -a -e nvidia_pcie_pmu_0_rc_4/event=0x4,src_bdf=0x0180,src_bdf_en=0x1/
	[ "$status" -eq 0 ]
	[[ $output == *"src_bdf=0x0180 is 01:10.0, and there is no such function"* ]]
}

@test "list says units and filters" {
	run pmrec list --root "$PWD/root" events nvidia_pcie_tgt
	[ "$status" -eq 0 ]
	[[ $output == *"nvidia_pcie_tgt_pmu_0_rc_0/rd_bytes/"*"By"* ]]
	[[ $output == *"counts BAR traffic only"* ]]
	[[ $output == *"dst_addr=.../"*"START-END"* ]]
}

@test "-M takes the classes of these PMUs" {
	record -a -M nvidia
	record -a -M nvidia_ucf,nvidia_pcie.rd_latency
	run record -a -M nvidia_nothing
	[ "$status" -eq 125 ]
}

@test "a driver that is missing is named" {
	rm -r root/sys/bus/event_source/devices/nvidia_{cmem,nvlink_c2c_,nvclink,nvdlink}*
	mkdir -p root/sys/bus/acpi/devices/NVDA2021:00 root/sys/bus/acpi/devices/NVDA2022:01
	record
	run pmrep info t.pmr
	[[ $output == *"modprobe nvidia_t410_cmem_latency_pmu (kernel option CONFIG_NVIDIA_TEGRA410_CMEM_LATENCY_PMU)"* ]]
	[[ $output == *"modprobe nvidia_t410_c2c_pmu (kernel option CONFIG_NVIDIA_TEGRA410_C2C_PMU)"* ]]
	[[ $output != *"nvidia_cspmu"* ]]
	rm -r root/sys/bus/event_source/devices/nvidia_*
	mkdir -p root/sys/bus/platform/devices/arm-cs-arch-pmu.3
	run pmrec doctor --root "$PWD/root"
	[[ $output == *"modprobe nvidia_cspmu (kernel option CONFIG_NVIDIA_CORESIGHT_PMU_ARCH_SYSTEM_PMU)"* ]]
}

# Three PMUs of one package and two of the other, in groups that take turns, with a clock that ran at half the speed in
# one of them: sums are divided, not ratios averaged, and what is divided comes from one group of each PMU if it can.
@test "show and stat add up PMUs before they divide" {
	"$PM_TESTS/make_stat" nvidia n.pmr
	truth="python3 $PM_SOURCE/tests/cli/nvidia_totals.py"
	[ "$(pmrep show --total --per-package --show=nvidia --format=json n.pmr | $truth show)" = 14 ]
	[ "$(pmrep show --total --per-system --show=nvidia --format=json n.pmr | $truth show)" = 7 ]
	[ "$(pmrep stat -j -M nvidia --per-socket n.pmr | $truth stat)" = 14 ]
	[ "$(pmrep stat -j -M nvidia n.pmr | $truth stat)" = 7 ]
	[ "$(pmrep stat -j -M nvidia --interval=4000 n.pmr | $truth stat)" = 7 ]
}

@test "what is undefined is missing in every format" {
	"$PM_TESTS/make_stat" nvidia n.pmr
	pmrep show --total --per-system --show=nvidia_nvdlink --format=csv n.pmr >csv
	[ "$(grep -c ',,ns,not-counted,$' csv)" = 1 ]
	for format in table csv json; do
		pmrep show --total --per-pmu --show=nvidia --format=$format n.pmr >>all
		pmrep show --total --per-package --show=nvidia --format=$format n.pmr >>all
	done
	for option in --per-socket -A -x, -j --metric-only "--metric-only -j"; do
		pmrep stat $option -M nvidia n.pmr >>all
	done
	[ -s all ]
	run ! grep -iE '(^|[^a-z])(nan|inf)([^a-z]|$)' all
}

# The kernel takes a number of a NUMA node or of the firmware into the names; CPUs say which socket a PMU is of.
@test "sockets are told by CPUs, not by names" {
	cd root/sys/bus/event_source/devices
	for pmu in nvidia_pcie*_1_rc_*; do
		mv "$pmu" "${pmu/_1_rc_/_36_rc_}"
	done
	for pmu in nvidia_pcie*_0_rc_*; do
		mv "$pmu" "${pmu/_0_rc_/_1_rc_}"
	done
	cd -
	record
	pmrep info --pci --all t.pmr >got
	[ "$(sed -n '/^000d:c0/,/^000e/p' got | grep -c nvidia_pcie_pmu_36_rc_4)" = 1 ]
	[ "$(sed -n '/^0005:c0/,/^0006/p' got | grep -c nvidia_pcie_pmu_1_rc_4)" = 1 ]
	# 0xc1 is the bus behind 000d:c0, of the second socket.
	record -a -e nvidia_pcie_pmu_36_rc_4/rd_bytes,src_bdf=000d:c1:00.0/
	run record -a -e nvidia_pcie_pmu_1_rc_4/rd_bytes,src_bdf=000d:c1:00.0/
	[ "$status" -eq 125 ]
	[[ $output == *"000d:c1:00.0 is below root complex 4 of socket 1"* ]]
	# Where the kernel knows the nodes of ports, these tell. Here they say the opposite.
	cd root/sys/bus/pci/devices
	for port in *; do
		[[ $port == 000[1-6]* ]] && echo 1 >"$port/numa_node" || echo 0 >"$port/numa_node"
	done
	cd -
	record -a -e nvidia_pcie_pmu_1_rc_4/rd_bytes,src_bdf=000d:c1:00.0/
	pmrep info --pci --all t.pmr >got
	[ "$(sed -n '/^0005:c0/,/^0006/p' got | grep -c nvidia_pcie_pmu_36_rc_4)" = 1 ]
}

@test "stat computes what show does" {
	run -0 python3 "$PM_SOURCE/tests/cli/nvidia_stat.py" "$PM_SOURCE"/samples/{tegra410,tegra410-pair,grace}.pmr
}

@test "what a device calls cycles is not what perf makes a frequency of" {
	pmrep stat --all-events -x, "$PM_SOURCE/samples/tegra410.pmr" >got
	grep -q '^[0-9]*,,cycles,.*,GHz$' got
	grep -q '^[0-9]*,,nvidia_.*/cycles/,' got
	! grep '^[0-9]*,,nvidia_.*GHz' got
}
