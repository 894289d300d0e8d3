/* What the kernel counts about CPUs: idle states, frequencies, interrupts, time, scheduling. */
#include "common/catalog/tables.h"

/* Tables: a row is read as a row. */
/* clang-format off */
const struct catalog_counter catalog_cpuidle[4] = {
	{ .source = "cpuidle", .name = "cpuidle.usage.*", .display = "*.usage", .key = "usage", .unit = "1",
	  .help = "How often this idle state was entered, as the kernel counts it" },
	{ .source = "cpuidle", .name = "cpuidle.time.*", .display = "*.time", .key = "time", .unit = "s",
	  .num = 1, .den = 1000000, .help = "Time spent in this idle state, as requested by the kernel" },
	{ .source = "cpuidle", .name = "cpuidle.above.*", .display = "*.above", .key = "above", .unit = "1",
	  .help = "How often the state turned out too deep: the CPU woke before it paid off" },
	{ .source = "cpuidle", .name = "cpuidle.below.*", .display = "*.below", .key = "below", .unit = "1",
	  .help = "How often the state turned out too shallow: a deeper one would have paid off" },
};

const struct catalog_counter catalog_cpufreq[1] = {
	{ .source = "cpufreq", .name = "cpufreq.cur", .display = "cpufreq", .key = "scaling_cur_freq", .unit = "Hz",
	  .num = 1000, .den = 1, .semantics = CATALOG_GAUGE, .aggregation = CATALOG_MEAN,
	  .help = "Current frequency of the CPU as the cpufreq driver knows it" },
};

/* The kernel keeps every cell of /proc/interrupts in 32 bits; the total is added up by the recorder in 64. */
const struct catalog_counter catalog_interrupts[2] = {
	{ .source = "interrupts", .name = "interrupts.total", .display = "IRQ", .key = "total", .unit = "1",
	  .help = "Interrupts of all kinds that the CPU took" },
	{ .source = "interrupts", .name = "interrupts.*", .display = "irq.*", .key = "*", .unit = "1", .width = 32,
	  .help = "Interrupts of one line" },
};

const struct catalog_counter catalog_softirqs[1] = {
	{ .source = "softirqs", .name = "softirqs.*", .display = "softirq.*", .key = "*", .unit = "1", .width = 32,
	  .help = "Soft interrupts of one kind that the CPU ran" },
};

/* Columns of the cpu lines stand in the order of the file; the kernel writes them in USER_HZ, which is 100. */
#define CPU_TIME(name_, text) \
	{ .source = "stat", .name = "stat." name_, .display = "stat." name_, .key = "cpu." name_, .unit = "s", \
	  .num = 1, .den = 100, .help = text }

const struct catalog_counter catalog_stat[15] = {
	CPU_TIME("user", "Time in user mode, guests included"),
	CPU_TIME("nice", "Time in user mode with low priority, guests included"),
	CPU_TIME("system", "Time in the kernel"),
	CPU_TIME("idle", "Time idle without waiting for I/O"),
	CPU_TIME("iowait", "Time idle while a task of this CPU waited for I/O"),
	CPU_TIME("irq", "Time in hardware interrupts"),
	CPU_TIME("softirq", "Time in soft interrupts"),
	CPU_TIME("steal", "Time that the hypervisor gave to others"),
	CPU_TIME("guest", "Time running a guest"),
	CPU_TIME("guest_nice", "Time running a guest with low priority"),
	{ .source = "stat", .name = "stat.ctxt", .display = "stat.ctxt", .key = "ctxt", .unit = "1",
	  .help = "Context switches" },
	{ .source = "stat", .name = "stat.intr", .display = "stat.intr", .key = "intr", .unit = "1",
	  .help = "Interrupts of the whole system" },
	{ .source = "stat", .name = "stat.processes", .display = "stat.processes", .key = "processes", .unit = "1",
	  .help = "Tasks created" },
	{ .source = "stat", .name = "stat.procs_running", .display = "stat.procs_running", .key = "procs_running",
	  .unit = "1", .semantics = CATALOG_GAUGE, .help = "Tasks that run or could run" },
	{ .source = "stat", .name = "stat.procs_blocked", .display = "stat.procs_blocked", .key = "procs_blocked",
	  .unit = "1", .semantics = CATALOG_GAUGE, .help = "Tasks that wait for I/O" },
};

/* `key` is the column of the cpu lines, which versions 15 to 17 share; column 2 is always 0. */
const struct catalog_counter catalog_schedstat[8] = {
	{ .source = "schedstat", .name = "schedstat.yields", .display = "sched.yields", .key = "1", .unit = "1",
	  .width = 32, .help = "Calls of sched_yield()" },
	{ .source = "schedstat", .name = "schedstat.schedules", .display = "sched.schedules", .key = "3", .unit = "1",
	  .width = 32, .help = "Calls of the scheduler" },
	{ .source = "schedstat", .name = "schedstat.idle_schedules", .display = "sched.idle_schedules", .key = "4",
	  .unit = "1", .width = 32, .help = "Calls of the scheduler that left the CPU idle" },
	{ .source = "schedstat", .name = "schedstat.wakeups", .display = "sched.wakeups", .key = "5", .unit = "1",
	  .width = 32, .help = "Tasks woken up" },
	{ .source = "schedstat", .name = "schedstat.local_wakeups", .display = "sched.local_wakeups", .key = "6",
	  .unit = "1", .width = 32, .help = "Tasks woken up by the CPU that runs them" },
	{ .source = "schedstat", .name = "schedstat.run_time", .display = "sched.run_time", .key = "7", .unit = "s",
	  .num = 1, .den = 1000000000, .help = "Time that tasks ran" },
	{ .source = "schedstat", .name = "schedstat.wait_time", .display = "sched.wait_time", .key = "8", .unit = "s",
	  .num = 1, .den = 1000000000, .help = "Time that tasks waited for the CPU, added up over the tasks" },
	{ .source = "schedstat", .name = "schedstat.timeslices", .display = "sched.timeslices", .key = "9",
	  .unit = "1", .help = "Times that a task was given the CPU" },
};
