/*
 * The lines behind the '#' of `perf stat`, and the metrics that stand there alone: transactions, the cost of
 * system management interrupts, and the topdown method, whose fractions come from metric events of Intel
 * processors since Ice Lake (all of one group that `slots` leads), from slot counts of older ones, or from the
 * stall_slot events of the Arm base system architecture.
 */
#include "common/metric/shadow.h"
#include "common/metric/tables.h"

/* Tables: a row is read as a row. */
/* clang-format off */
#define TD_ALL "(topdown\\-retiring + topdown\\-bad\\-spec + topdown\\-fe\\-bound + topdown\\-be\\-bound)"
/* An event that counts slots has to lead the group of the others, and so has to be asked for. */
#define TD(part) "100 * " part " / " TD_ALL " + 0 * slots"

/* Efficient cores have no such event. */
#define TD_ATOM(part) ";100 * " part " / " TD_ALL

#define OLD(part) "100 * " part " / topdown\\-total\\-slots"
#define OLD_FE	  "topdown\\-fetch\\-bubbles"
#define OLD_BAD	  "(topdown\\-slots\\-issued - topdown\\-slots\\-retired + topdown\\-recovery\\-bubbles)"

#define ARM_ALL	   "(#slots * cpu_cycles)"
#define ARM_USED   "(1 - stall_slot / " ARM_ALL ")"
#define ARM_USEFUL "(op_retired / op_spec)"

#define OLD_BE	  "max(1 - (" OLD_FE " + " OLD_BAD " + topdown\\-slots\\-retired) / topdown\\-total\\-slots, 0)"
#define OLD_ABOVE(part, limit) part " / topdown\\-total\\-slots > " limit

#define L1(name_, display_, formula, otherwise_, threshold_, others_, better_, help_) \
	{ .name = name_, .display = display_, .categories = "perf,topdown,TopdownL1,TmaL1,Default", .unit = "%", \
	  .precision = 1, .expr = formula, .otherwise = otherwise_, .threshold = threshold_, \
	  .threshold_otherwise = others_, .better = better_, .help = help_ }
#define L2(name_, display_, formula, threshold_, better_, help_) \
	{ .name = name_, .display = display_, .categories = "perf,topdown,TopdownL2,TmaL2", .unit = "%", \
	  .precision = 1, .expr = formula, .threshold = threshold_, .better = better_, .help = help_ }

#define FE_HIGH	 "topdown\\-fe\\-bound / " TD_ALL " > 0.15"
#define BAD_HIGH "topdown\\-bad\\-spec / " TD_ALL " > 0.15"
#define BE_HIGH	 "topdown\\-be\\-bound / " TD_ALL " > 0.2"
#define SHARE_ABOVE(part, limit) part " / " TD_ALL " > " limit

#define TRANSACTION(name_, display_, unit_, formula, help_) \
	{ .name = name_, .display = display_, .categories = "perf,transaction", .unit = unit_, .precision = 2, \
	  .expr = formula, .help = help_ }

const struct metric metric_stat[] = {
	{ .name = "cpus_utilized_clock", .display = "CPUs by clock", .categories = "perf", .unit = "1",
	  .precision = 3, .expr = "rate(cpu\\-clock) / 1000", .help = "Time of the cpu-clock event, a second" },
	TRANSACTION("transactional_cycles", "tx cycles%", "%", "100 * cycles\\-t / cycles",
		    "Cycles in transactions"),
	TRANSACTION("aborted_cycles", "aborted%", "%", "100 * max(cycles\\-t - cycles\\-ct, 0) / cycles",
		    "Cycles in transactions that were aborted"),
	TRANSACTION("cycles_per_transaction", "cycles/tx", "1", "cycles\\-t / tx\\-start", "Cycles a transaction"),
	TRANSACTION("cycles_per_elision", "cycles/elision", "1", "cycles\\-t / el\\-start",
		    "Cycles a lock that was elided"),
	{ .name = "smi_cycles", .display = "SMI cycles%", .categories = "perf,smi", .unit = "%", .precision = 1,
	  .better = METRIC_LOWER,
	  .expr = "(100 * (msr@aperf@ - cycles) / msr@aperf@ if msr@smi@ > 0 else 0) if has_event(cycles) else NaN",
	  .threshold = "(msr@aperf@ - cycles) / msr@aperf@ > 0.1 & msr@smi@ > 0",
	  .help = "Cycles that only the counter that runs in system management mode has seen" },
	{ .name = "smi_num", .display = "SMI#", .categories = "perf,smi", .unit = "1", .better = METRIC_LOWER,
	  .expr = "msr@smi@", .threshold = "msr@smi@ > 0", .help = "System management interrupts" },

	L1("tma_retiring", "Retiring%", TD("topdown\\-retiring"),
	   OLD("topdown\\-slots\\-retired") ";100 * " ARM_USEFUL " * " ARM_USED TD_ATOM("topdown\\-retiring"),
	   SHARE_ABOVE("topdown\\-retiring", "0.7"),
	   OLD_ABOVE("topdown\\-slots\\-retired", "0.7") ";" ARM_USEFUL " * " ARM_USED " > 0.7;"
	   SHARE_ABOVE("topdown\\-retiring", "0.7"), METRIC_HIGHER,
	   "Slots whose operation was of use"),
	L1("tma_bad_speculation", "Bad spec%", TD("topdown\\-bad\\-spec"),
	   OLD(OLD_BAD) ";100 * (1 - " ARM_USEFUL ") * " ARM_USED TD_ATOM("topdown\\-bad\\-spec"), BAD_HIGH,
	   OLD_ABOVE(OLD_BAD, "0.15") ";(1 - " ARM_USEFUL ") * " ARM_USED " > 0.15;" BAD_HIGH, METRIC_LOWER,
	   "Slots lost to operations that were thrown away"),
	L1("tma_frontend_bound", "FE bound%", TD("topdown\\-fe\\-bound"),
	   OLD(OLD_FE) ";100 * stall_slot_frontend / " ARM_ALL TD_ATOM("topdown\\-fe\\-bound"), FE_HIGH,
	   OLD_ABOVE(OLD_FE, "0.15") ";stall_slot_frontend / " ARM_ALL " > 0.15;" FE_HIGH, METRIC_LOWER,
	   "Slots for which the front end had nothing"),
	L1("tma_backend_bound", "BE bound%", TD("topdown\\-be\\-bound"),
	   "100 * " OLD_BE ";100 * stall_slot_backend / " ARM_ALL TD_ATOM("topdown\\-be\\-bound"),
	   BE_HIGH, OLD_BE " > 0.2;stall_slot_backend / " ARM_ALL " > 0.2;" BE_HIGH, METRIC_LOWER,
	   "Slots that the back end could not take"),

	L2("tma_heavy_operations", "Heavy ops%", TD("topdown\\-heavy\\-ops"),
	   SHARE_ABOVE("topdown\\-heavy\\-ops", "0.1"), METRIC_NEUTRAL,
	   "Useful slots of instructions that take several"),
	L2("tma_light_operations", "Light ops%", TD("max(topdown\\-retiring - topdown\\-heavy\\-ops, 0)"),
	   SHARE_ABOVE("max(topdown\\-retiring - topdown\\-heavy\\-ops, 0)", "0.6"), METRIC_NEUTRAL,
	   "Useful slots of instructions that take one"),
	L2("tma_branch_mispredicts", "Mispredict%", TD("topdown\\-br\\-mispredict"),
	   SHARE_ABOVE("topdown\\-br\\-mispredict", "0.1") " & " BAD_HIGH, METRIC_LOWER,
	   "Slots lost to branches that were predicted wrongly"),
	L2("tma_machine_clears", "Clears%", TD("max(topdown\\-bad\\-spec - topdown\\-br\\-mispredict, 0)"),
	   SHARE_ABOVE("max(topdown\\-bad\\-spec - topdown\\-br\\-mispredict, 0)", "0.1") " & " BAD_HIGH,
	   METRIC_LOWER, "Slots lost when the pipeline was cleared for other reasons"),
	L2("tma_fetch_latency", "Fetch lat%", TD("topdown\\-fetch\\-lat"),
	   SHARE_ABOVE("topdown\\-fetch\\-lat", "0.1") " & " FE_HIGH, METRIC_LOWER,
	   "Slots in cycles in which the front end delivered nothing"),
	L2("tma_fetch_bandwidth", "Fetch bw%", TD("max(topdown\\-fe\\-bound - topdown\\-fetch\\-lat, 0)"),
	   SHARE_ABOVE("max(topdown\\-fe\\-bound - topdown\\-fetch\\-lat, 0)", "0.2") " & " FE_HIGH, METRIC_LOWER,
	   "Slots in cycles in which the front end delivered too little"),
	L2("tma_memory_bound", "Mem bound%", TD("topdown\\-mem\\-bound"),
	   SHARE_ABOVE("topdown\\-mem\\-bound", "0.2") " & " BE_HIGH, METRIC_LOWER,
	   "Slots in which the back end waited for memory"),
	L2("tma_core_bound", "Core bound%", TD("max(topdown\\-be\\-bound - topdown\\-mem\\-bound, 0)"),
	   SHARE_ABOVE("max(topdown\\-be\\-bound - topdown\\-mem\\-bound, 0)", "0.1") " & " BE_HIGH, METRIC_LOWER,
	   "Slots in which the back end waited for something else"),
};
METRIC_TABLE_END(stat);

/* The widths and limits are those that perf's users know. */
#define MISSES(event_, metric_, label_) \
	{ .event = event_, .metric = metric_, .label = label_, .width = 7, .decimals = 2, .percent = true, \
	  .limit = { 20, 10, 5 } }
#define TOPDOWN(event_, metric_, label_, ...) \
	{ .event = event_, .metric = metric_, .label = label_, .width = 8, .decimals = 1, .percent = true, \
	  .limit = { __VA_ARGS__ } }
#define TOPDOWN_GOOD(event_, metric_, label_, limit_) \
	{ .event = event_, .metric = metric_, .label = label_, .width = 8, .decimals = 1, .percent = true, \
	  .lower = true, .limit = { limit_ } }

const struct shadow shadows[] = {
	{ .event = "task-clock", .metric = "cpus_utilized", .label = "CPUs utilized", .width = 8, .decimals = 3 },
	{ .event = "cpu-clock", .metric = "cpus_utilized_clock", .label = "CPUs utilized", .width = 8,
	  .decimals = 3 },
	{ .event = "cycles", .metric = "cycles_frequency", .label = "GHz", .width = 8, .decimals = 3 },
	{ .event = "instructions", .metric = "insn_per_cycle", .label = "insn per cycle", .width = 7,
	  .decimals = 2 },
	{ .event = "instructions", .metric = "stalled_cycles_per_instruction", .label = "stalled cycles per insn",
	  .width = 7, .decimals = 2, .own_line = true },
	{ .event = "stalled-cycles-frontend", .metric = "frontend_cycles_idle", .label = "frontend cycles idle",
	  .width = 7, .decimals = 2, .percent = true, .limit = { 50, 30, 10 } },
	{ .event = "stalled-cycles-backend", .metric = "backend_cycles_idle", .label = "backend cycles idle",
	  .width = 7, .decimals = 2, .percent = true, .limit = { 75, 50, 20 } },
	MISSES("branch-misses", "branch_miss_rate", "of all branches"),
	{ .event = "cache-misses", .metric = "cache_miss_rate", .label = "of all cache refs", .width = 7,
	  .decimals = 2, .percent = true, .limit = { 20, 10, 5 } },
	MISSES("L1-dcache-load-misses", "l1d_miss_rate", "of all L1-dcache accesses"),
	MISSES("L1-icache-load-misses", "l1i_miss_rate", "of all L1-icache accesses"),
	MISSES("LLC-load-misses", "llc_miss_rate", "of all LL-cache accesses"),
	MISSES("dTLB-load-misses", "dtlb_miss_rate", "of all dTLB cache accesses"),
	MISSES("iTLB-load-misses", "itlb_miss_rate", "of all iTLB cache accesses"),

	{ .event = "cycles-t", .metric = "transactional_cycles", .label = "transactional cycles", .width = 7,
	  .decimals = 2, .percent = true },
	{ .event = "cycles-ct", .metric = "aborted_cycles", .label = "aborted cycles", .width = 7, .decimals = 2,
	  .percent = true },
	{ .event = "tx-start", .metric = "cycles_per_transaction", .label = "cycles / transaction", .width = 8 },
	{ .event = "el-start", .metric = "cycles_per_elision", .label = "cycles / elision", .width = 8 },
	{ .event = "smi", .metric = "smi_cycles", .label = "SMI cycles%", .width = 8, .decimals = 1,
	  .percent = true, .limit = { 10 } },
	{ .event = "smi", .metric = "smi_num", .label = "SMI#", .width = 4, .own_line = true },

	TOPDOWN("topdown-fetch-bubbles", "tma_frontend_bound", "frontend bound", 20),
	TOPDOWN_GOOD("topdown-slots-retired", "tma_retiring", "retiring", 70),
	TOPDOWN("topdown-recovery-bubbles", "tma_bad_speculation", "bad speculation", 10),
	TOPDOWN("topdown-slots-issued", "tma_backend_bound", "backend bound", 20),
	TOPDOWN_GOOD("topdown-retiring", "tma_retiring", "Retiring", 70),
	TOPDOWN("topdown-bad-spec", "tma_bad_speculation", "Bad Speculation", 10),
	TOPDOWN("topdown-fe-bound", "tma_frontend_bound", "Frontend Bound", 20),
	TOPDOWN("topdown-be-bound", "tma_backend_bound", "Backend Bound", 20),
	TOPDOWN_GOOD("topdown-heavy-ops", "tma_heavy_operations", "Heavy Operations", 10),
	{ .event = "topdown-heavy-ops", .metric = "tma_light_operations", .label = "Light Operations", .width = 8,
	  .decimals = 1, .percent = true, .own_line = true, .lower = true, .limit = { 60 } },
	TOPDOWN("topdown-br-mispredict", "tma_branch_mispredicts", "Branch Mispredict", 10),
	{ .event = "topdown-br-mispredict", .metric = "tma_machine_clears", .label = "Machine Clears", .width = 8,
	  .decimals = 1, .percent = true, .own_line = true, .limit = { 10 } },
	TOPDOWN("topdown-fetch-lat", "tma_fetch_latency", "Fetch Latency", 15),
	{ .event = "topdown-fetch-lat", .metric = "tma_fetch_bandwidth", .label = "Fetch Bandwidth", .width = 8,
	  .decimals = 1, .percent = true, .own_line = true, .limit = { 10 } },
	TOPDOWN("topdown-mem-bound", "tma_memory_bound", "Memory Bound", 20),
	{ .event = "topdown-mem-bound", .metric = "tma_core_bound", .label = "Core Bound", .width = 8,
	  .decimals = 1, .percent = true, .own_line = true, .limit = { 10 } },
	{ .event = NULL },
};
