/* Where the time of the CPUs goes, and what the scheduler does. */
#include "common/metric/tables.h"

/* Tables: a row is read as a row. */
/* clang-format off */
/*
 * The parts of /proc/stat are counted in ticks, so their sum is not exactly the time that has passed; as parts
 * of the sum they never exceed 100 %. Guest time is contained in user time and must not be added.
 */
#define BUSY  "(stat.user + stat.nice + stat.system + stat.irq + stat.softirq + stat.steal)"
#define TOTAL "(stat.user + stat.nice + stat.system + stat.irq + stat.softirq + stat.steal + stat.idle + stat.iowait)"

const struct metric metric_time[] = {
	{ .name = "util", .display = "Util%", .categories = "cpu,time", .unit = "%", .precision = 2,
	  .default_on = true, .expr = "100 * " BUSY " / " TOTAL,
	  .help = "Time that the CPU was not idle, guests and stolen time included" },
	{ .name = "util.user", .display = "User%", .categories = "cpu,time", .unit = "%", .precision = 2,
	  .default_on = true, .expr = "100 * (stat.user + stat.nice) / " TOTAL,
	  .help = "Time in user mode at any priority, guests included" },
	{ .name = "util.system", .display = "Sys%", .categories = "cpu,time", .unit = "%", .precision = 2,
	  .default_on = true, .better = METRIC_LOWER,
	  .expr = "100 * (stat.system + stat.irq + stat.softirq) / " TOTAL,
	  .help = "Time in the kernel, interrupts included" },
	{ .name = "util.iowait", .display = "IOwait%", .categories = "cpu,time", .unit = "%", .precision = 2,
	  .default_on = true, .better = METRIC_LOWER, .expr = "100 * stat.iowait / " TOTAL,
	  .help = "Time idle while a task that ran here last waited for I/O" },
	{ .name = "util.steal", .display = "Steal%", .categories = "cpu,time", .unit = "%", .precision = 2,
	  .default_on = true, .better = METRIC_LOWER, .expr = "100 * stat.steal / " TOTAL,
	  .help = "Time that the hypervisor gave to others while something was ready to run here" },
	{ .name = "util.nice", .display = "Nice%", .categories = "cpu,time", .unit = "%", .precision = 2,
	  .expr = "100 * stat.nice / " TOTAL, .help = "Time in user mode at lowered priority" },
	{ .name = "util.irq", .display = "HardIRQ%", .categories = "cpu,time", .unit = "%", .precision = 2,
	  .better = METRIC_LOWER, .expr = "100 * stat.irq / " TOTAL, .help = "Time in interrupt handlers" },
	{ .name = "util.softirq", .display = "SoftIRQ%", .categories = "cpu,time", .unit = "%", .precision = 2,
	  .better = METRIC_LOWER, .expr = "100 * stat.softirq / " TOTAL, .help = "Time in soft interrupts" },
	{ .name = "util.guest", .display = "Guest%", .categories = "cpu,time", .unit = "%", .precision = 2,
	  .expr = "100 * (stat.guest + stat.guest_nice) / " TOTAL, .help = "Time running guests of this machine" },
	{ .name = "util.idle", .display = "Idle%", .categories = "cpu,time,idle", .unit = "%", .precision = 2,
	  .expr = "100 * stat.idle / " TOTAL, .help = "Time idle without waiting for I/O" },
	{ .name = "cpus_busy", .display = "CPUsBusy", .categories = "cpu,time", .unit = "1", .precision = 2,
	  .expr = "aggr_nr(stat.idle) * " BUSY " / " TOTAL,
	  .help = "How many CPUs would have been busy all the time with that work" },
};
METRIC_TABLE_END(time);

const struct metric metric_scheduler[] = {
	{ .name = "ctxsw", .display = "CtxSw/s", .aliases = "cs", .categories = "scheduler", .unit = "1/s",
	  .scope = METRIC_SYSTEM, .better = METRIC_LOWER, .default_on = true, .expr = "rate(stat.ctxt)",
	  .help = "Context switches a second" },
	{ .name = "runq", .display = "RunQ", .categories = "scheduler", .unit = "1", .precision = 1,
	  .scope = METRIC_SYSTEM, .default_on = true, .expr = "mean(stat.procs_running)",
	  .help = "Tasks that run or are ready to run, at the times of reading" },
	{ .name = "blocked", .display = "Blocked", .categories = "scheduler", .unit = "1", .precision = 1,
	  .scope = METRIC_SYSTEM, .better = METRIC_LOWER, .expr = "mean(stat.procs_blocked)",
	  .help = "Tasks that wait for I/O, at the times of reading" },
	{ .name = "forks", .display = "Forks/s", .categories = "scheduler", .unit = "1/s", .precision = 1,
	  .scope = METRIC_SYSTEM, .expr = "rate(stat.processes)",
	  .help = "Processes and threads created a second" },
	{ .name = "sched.wait", .display = "Wait_us", .categories = "scheduler", .unit = "us", .precision = 1,
	  .better = METRIC_LOWER, .default_on = true, .expr = "1e6 * schedstat.wait_time / schedstat.timeslices",
	  .help = "How long a task waited for the CPU, on average, each time before it ran" },
	{ .name = "sched.slice", .display = "Slice_us", .categories = "scheduler", .unit = "us", .precision = 1,
	  .expr = "1e6 * schedstat.run_time / schedstat.timeslices",
	  .help = "How long a task ran, on average, before the CPU went to another" },
	{ .name = "sched.run", .display = "Run%", .categories = "scheduler,time", .unit = "%", .precision = 2,
	  .expr = "100 * schedstat.run_time / elapsed(schedstat.run_time)",
	  .help = "Time that tasks ran, as the scheduler measures it, to the nanosecond" },
	{ .name = "sched.waiting", .display = "Waiting", .categories = "scheduler", .unit = "1", .precision = 2,
	  .better = METRIC_LOWER, .expr = "rate(schedstat.wait_time)",
	  .help = "Tasks that waited for the CPU, on average over time" },
	{ .name = "sched.switches", .display = "Slices/s", .categories = "scheduler", .unit = "1/s",
	  .expr = "rate(schedstat.timeslices)", .help = "How often a second a task was given the CPU" },
	{ .name = "sched.wakeups", .display = "Wakeups/s", .categories = "scheduler", .unit = "1/s",
	  .expr = "rate(schedstat.wakeups)", .help = "Tasks that this CPU woke up, a second" },
	{ .name = "sched.remote", .display = "Remote%", .categories = "scheduler", .unit = "%", .precision = 2,
	  .better = METRIC_LOWER, .expr = "100 * (1 - schedstat.local_wakeups / schedstat.wakeups)",
	  .help = "Part of the wake-ups that woke a task up on another CPU" },
	{ .name = "sched.yields", .display = "Yields/s", .categories = "scheduler", .unit = "1/s",
	  .expr = "rate(schedstat.yields)", .help = "Calls of sched_yield() a second" },
	{ .name = "sched.idle", .display = "ToIdle%", .categories = "scheduler,idle", .unit = "%", .precision = 2,
	  .expr = "100 * schedstat.idle_schedules / schedstat.schedules",
	  .help = "Part of the scheduler's calls that left the CPU idle" },
};
METRIC_TABLE_END(scheduler);
