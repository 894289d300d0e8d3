#include "report/copy/redact_private.h"

/*
 * Words that say nothing about a machine, a person or a workload: those of the recorder's own sentences, of common
 * drivers, sensors and kernel tracepoints, and of command lines that all machines have. Those of the tables of
 * counters and metrics are added to them. A text that holds nothing but such words is believed to be technical.
 */
const char *const redact_plain_words[] = {
	/* Short ones, and those whose numbers stand among letters; 0 is any number. */
	"a an as at be by do go hn i if in is it its no of on or so to up us we c e g h k m n p r s t v w x 0k 0m 0g "
	"0ms 0us "
	"0ns 0s 0th x0_0 0x0 dm lo sd md sr hd ib tc os io ip hz mv mw uv uw uj c0e l0 l0d l0i nvme0n0 nvme0n0p0 "
	"mmcblk0p0 "
	"enp0s0 enp0s0f0 ens0 eno0 wlp0s0 i0c briefly fast instances notice offline reached running started times",
	"aarch acpi acpitz acrn act active add adds admin after again alarmtimer alive all alloc alone alpine",
	"always ambient amd amdgpu amp and another aoss apart aperf apm append arch are arm asm associated asus atom",
	"attr attribute authentic auto average avic back backend base bash bat battery before begin begun behind",
	"belongs bhyve bias bin bios bits blank block board boost boot bound bpf brace braces branch branches",
	"breakpoints bridge btrfs buffers build built bundle bundled bus but bytes cache calls can cannonlake cannot",
	"cap capability capacity caps card carmel cci cel celsius centos cgroup cgroups change characters",
	"charger chassis chmod choices class clk clock closing cloud cluster cma cmdline cntfrq cntvct code codes",
	"column comm command compaction complete complex composite concern config configuration console",
	"constraint container containerenv context control core coren cores coresight coretemp cortex cost could",
	"count counted counter counters counts cppc cpu cpufreq cpuhp cpuid cpuidle cpuinfo cpulist cpum cpumask",
	"cpun cpus cpuss cputype cros cspmu cstate cur current currents cut cycles dac dash data date dcache ddr",
	"ddrss debian debug default defaults delivering dell delta desc describes describing dev devfreq device",
	"devices did die different disable disabled disk dma "
	"dmi dockerenv doctor does domain down dram driver drivers",
	"drivetemp drm dtlb dtsc duration dynamic each eax ebx echo ectool ecx edge edx either elc else empty",
	"enable enabled end ended energy enter entries entry epyc "
	"erofs err error etc event eventfd events every everybody",
	"exceptions exec exit express ext fabric false fan fans fault faults fedora few fewer fib fields file",
	"filelock filemap files filter filters firmware first fit floor follow followed for fork format four",
	"free frees freq frequencies frequency from frontend fscache full functions further generic genuine",
	"genuineintel gfx gib give gnu got governor governors gpio gpu grace graphics group groups gtidle guid had",
	"handler has have hda header heat heavy held here hide hidepid hierarchy high higher highest hold holds",
	"home host hostname how huge hwmon hwp hybrid hyperv hypervisor hypervisors icache identification identifier",
	"idle ids iio imc implementer index individually init initcall initial inlet input install instance instead",
	"instruction instructions int intel interface interrupted interrupts interval iocost iomap iommu ipi irq",
	"irqs isb isolation issue itlb its iwlwifi jbd jep joules junction kept kernel khz kib kind kmem know knows",
	"ksm kvm kvmmmu kyber label labels large last latency leave leaves less level levels lib libata libpfm limit",
	"limits line linux list lists llc lnl load loads localhost location locations lock lockdown locked long",
	"looking low lowest lowpower lpi lrpepyh lsb lts "
	"machine machines management manager managers many matches max",
	"may mbps mce mdio mean media mem meminfo memory memtotal merge metric metrics mhz mib microcode",
	"microsoft midr migrate migrations min mis misses missing mitigations mmap mmc mmio mobo mode model",
	"modern modifiers modprobe module mon monitor monitoring more mount mounted mounts mpath mrs msb msec msr "
	"msrdecimal",
	"name names napi nct need needs neigh neither neoverse net netfs netlink never new newer next nfit nfs",
	"nmi nobody node nodev nominal nomodule none nor not nothing notsupported nouveau now npu null numa",
	"number nvda nvidia nvme off offer offers offset often olympus one online only oom open opened opening",
	"ops opt option osnoise osrelease other others out outgrown outlet outside overwrite own package",
	"packagen packages packets page pagemap panic parallels paranoid passwd path pch pci pct peer per",
	"percent percpu perf perfmon performance perl permits pfm physical pid pkg place places platform",
	"platforms pmc pmem pmic pmrec pmt pmu pmus pool ports possible power powercap precise preemptirq",
	"prefcore preference prefetch prefetches present pressure pretty printk privacy prl proc process",
	"processes processor processors procs product psi pstate psu psys pump put pwm python qdisc qemu",
	"qnx qnxqvmbsqg quiet quote radeon raise random range rapl ras raw rawio rcu rdinit read reader readers "
	"reads reboot",
	"record recorded recorders recording records redact redacted refuse refuses regions register registers",
	"regmap regs regulator related release remount "
	"removed render resctrl residencies residency retirement retiring",
	"revidr rhel root rpm rps rseq rtc run runs runtime same sample sampler says sbin scale scaling sched",
	"schedstat schedstats scheduler schedules scmi scsi search seccomp second seconds security see segment "
	"sensor "
	"sensors separately",
	"seq service set setcap shared should shows siblings signal single size skb skin skylake sleep slots slp",
	"smbus smi smidr smt snapshot snapshots snmp soc sock socket sockets soft softirq softirqs software some",
	"somebody source sources space spd specific spi splash split stalled stand standby stands start stat state",
	"states status stay stays still stop stopped stress stretch strict subsystem suse swiotlb switch",
	"switched switches sync sys syscalls sysctl sysfs system tables take taken task tasks taskstats tcc tccd tcg",
	"tcgtcgtcgtcg tcore tcp tcpu tctl tdie tegra telem telemetry tell temp temperatures terms than that the",
	"their them there thermal these they this those thp thread threads threshold throttle throttled tid tile",
	"time timer tlb tmem tmigr tmp together told too tool topdown topdownl topology total tpch tracefs",
	"tracepoint tracing transaction transactional true try tsc tsens tskn ttyama ttys turbo two txtal type",
	"types ubuntu ucd udp uevent ulimit umask unconfined uncore uncorefreq under unit unknown unless unwind",
	"use usec user users usr uuid values var vboxvboxvbox vddc vec vector vectors vendor version video virtual",
	"virtualbox vmalloc vmscan vmstat vmware vmwarevmware volt voltages vrm vsyscall wakeup wakeups waking",
	"want was watchdog watt way wbt went were what "
	"whatever when wherever which whole whose wifi window with within",
	"without workqueue would write writeback writer writing wrong xdp xen xenvmmxenvmm xeon xfs xgene xhci",
	"xhex yes yields you zenpower zone zones",
	NULL,
};

/* The words in names of vendors' metrics and their groups: perf's files for x86 and Arm. */
const char *const redact_metric_words[] = {
	"0b 0d 0mb 0nd aborted access accesses accounting accuracy activate actual address addressed",
	"adressaliasing ali alias aliasing allocation alu amx any aonmix arith arithmetic ase assist assists",
	"audio aux avg avx bad badspec bandwidth barrier big bigfoot bigfootprint blit blk blocks botlnk",
	"bottleneck bottlenecks bp bptkbranch br branching brmispredicts buffer burst busy bvbc bvbo bvcb bvfb",
	"bvio bvmb bvml bvmp bvms bvmt bvob bvuw bw bwd cachehits cachemisses call callret camera cas ccx channel",
	"cisc clear clears clks cmd cmn codegen compute cond contention contested controller cor coreipc cortexa",
	"coverage cpa cpi cross crypto cs cxl cycle d datasharing dc dcif dec decode decoded decoder delivered",
	"demand dependency detect detector dewarp direct directory disamb disambiguation disp dispatch dispatched",
	"divider dp dramhit drw dsb dsbmiss dsp dsu due duplicate early edma effectiveness elision enc epc est",
	"evictions evicts exe execute extra f0 far fastpath fb fed fence fetch fetchbw fetchlat fill fills flopc",
	"flops flow flush flushed fp fp0 fpdiv fpscalar fpvector fraction fsu fused fwd general gflops hdcp hdmi",
	"hit hits hnf hp hpc hpki hrv hwpf ic icmiss id idiv ifetch ifetchmissbound ilp immed imx imx0mm imx0mn",
	"imx0mp imx0mq inbound ind indirect info insn inst instr instructionmix instype integer intensity",
	"intvector iobw iparith ipassist ipbranch ipc ipcall ipdsb ipfarbranch ipflop ipfparith ipload ipmisp",
	"ipmispredict ippause ipstore ipswpf iptb ipunknown irregular isi isp issuebm issuebw issuecomp issued",
	"issuefb issuefl issuel issuelat issuemc issuems issuemv issuerfo issuesl issuesmst issueso issuespst",
	"issuesyncxn issuetlb ixu jpeg jump l0 l0d l0dl0 l0evicts l0hit l0hpki l0i l0m l0miss l0mpki lat layer",
	"lcdif lcp ld legacy license light likely links ll loadhead loadmissbound lob local lockcont locks loop",
	"lost lpddr lsd machineclears macro mba mc memload memloadpki memoffcore memorybound memorybw memorylat",
	"memorytlb message microseq mips misp mispredict misprediction mispredictions mispredicts miss",
	"misspeculation mite mix mixing mlp monuke mpi mpki mrn ms msi mux mwr mwrite near netc network non",
	"nonsilent nonsve nop nps npumix nt ntaken nuke nukes num offcore ooo op operating operation operations",
	"ordering otherpipelineblks outbound overhead pagewalk parallel partial pause pc pcie percentage",
	"peutilization pgo pif pipe pipeline pipelinel pki plus pmm pop port portsutil ppd precharge precision",
	"pred predecode predicate prediction prefetcher prf prfl primy ptag pti push pxp qpi rate ratio rd real",
	"receive recovery refilled refresh remote rename reorder request requests resource restarts resteer",
	"resteers restriction ret retire retired retry return rfo rni rob rsv rw rwl saveopq sbsx scalar sdma",
	"secndy self sentinel sequencer serialization serializing server sf sharing shuffles silent simd slc slow",
	"smc snoop sob sp spec speculation splits sq sse st stall stalls stlb stlbhit store storefwdblk",
	"storefwding stores stream streaming strings summary supermix sve synchronization tbpc tiops tk tlbs tma",
	"tmal tpause transmit tsx u uc umc unc uop uoppi uops upc updates upi upstream uptb usage usb usdhc",
	"useful useless util utilization utilized vpu wait walk walks wasted wide work wr writes xspi y",
	NULL,
};
