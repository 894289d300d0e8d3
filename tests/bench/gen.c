/* Numbers like those of a machine, for benchmarks: the same at every run. */
#include "tests/bench/gen.h"

#include <math.h>
#include <stdlib.h>

#define TSC_HZ    2.6e9
#define USER_HZ_S 0.01 /* /proc/stat counts hundredths of seconds */
#define PACKAGE   64   /* CPUs of a package */

enum {
	TSC,
	MPERF,
	APERF,
	INSTRUCTIONS,
	CYCLES,
	REF_CYCLES,
	TASK_CLOCK,
	CONTEXT_SWITCHES,
	BRANCHES,
	BRANCH_MISSES,
	CACHE_REFERENCES,
	CACHE_MISSES,
	TLB_MISSES,
	STALLED,
	MIGRATIONS,
	PAGE_FAULTS,
	C1_MSR,
	C6_MSR,
	POLL_TIME,
	C1_TIME,
	C1E_TIME,
	C6_TIME,
	POLL_USAGE,
	C1_USAGE,
	C1E_USAGE,
	C6_USAGE,
	CORE_ENERGY,
	PKG_ENERGY,
	THERM,
	SMI,
	USER,
	SYSTEM,
	IDLE,
	SOFTIRQ_TIME,
	IRQ_TIMER,
	IRQ_RESCHED,
	IRQ_TOTAL,
	SOFTIRQ_TIMER,
	SOFTIRQ_SCHED,
	SOFTIRQ_RCU,
};

const struct gen_counter gen_counter[GEN_COUNTERS] = {
	[TSC] = { "msr.tsc", "msr", "1", 64, false },
	[MPERF] = { "msr.mperf", "msr", "1", 64, false },
	[APERF] = { "msr.aperf", "msr", "1", 64, false },
	[INSTRUCTIONS] = { "instructions", "perf", "1", 64, false },
	[CYCLES] = { "cycles", "perf", "1", 64, false },
	[REF_CYCLES] = { "ref-cycles", "perf", "1", 64, false },
	[TASK_CLOCK] = { "task-clock", "perf", "ns", 64, false },
	[CONTEXT_SWITCHES] = { "context-switches", "perf", "1", 64, false },
	[BRANCHES] = { "branches", "perf", "1", 64, false },
	[BRANCH_MISSES] = { "branch-misses", "perf", "1", 64, false },
	[CACHE_REFERENCES] = { "cache-references", "perf", "1", 64, false },
	[CACHE_MISSES] = { "cache-misses", "perf", "1", 64, false },
	[TLB_MISSES] = { "dTLB-load-misses", "perf", "1", 64, false },
	[STALLED] = { "stalled-cycles-frontend", "perf", "1", 64, false },
	[MIGRATIONS] = { "cpu-migrations", "perf", "1", 64, false },
	[PAGE_FAULTS] = { "page-faults", "perf", "1", 64, false },
	[C1_MSR] = { "msr.core_c1_residency", "msr", "1", 64, false },
	[C6_MSR] = { "msr.core_c6_residency", "msr", "1", 64, false },
	[POLL_TIME] = { "cpuidle.poll.time", "cpuidle", "us", 64, false },
	[C1_TIME] = { "cpuidle.c1.time", "cpuidle", "us", 64, false },
	[C1E_TIME] = { "cpuidle.c1e.time", "cpuidle", "us", 64, false },
	[C6_TIME] = { "cpuidle.c6.time", "cpuidle", "us", 64, false },
	[POLL_USAGE] = { "cpuidle.poll.usage", "cpuidle", "1", 64, false },
	[C1_USAGE] = { "cpuidle.c1.usage", "cpuidle", "1", 64, false },
	[C1E_USAGE] = { "cpuidle.c1e.usage", "cpuidle", "1", 64, false },
	[C6_USAGE] = { "cpuidle.c6.usage", "cpuidle", "1", 64, false },
	[CORE_ENERGY] = { "msr.core_energy_status", "msr", "J", 32, false },
	[PKG_ENERGY] = { "msr.pkg_energy_status", "msr", "J", 32, false },
	[THERM] = { "msr.therm_status", "msr", "1", 64, true },
	[SMI] = { "msr.smi_count", "msr", "1", 32, false },
	[USER] = { "stat.user", "stat", "s", 64, false },
	[SYSTEM] = { "stat.system", "stat", "s", 64, false },
	[IDLE] = { "stat.idle", "stat", "s", 64, false },
	[SOFTIRQ_TIME] = { "stat.softirq", "stat", "s", 64, false },
	[IRQ_TIMER] = { "interrupts.loc", "interrupts", "1", 64, false },
	[IRQ_RESCHED] = { "interrupts.res", "interrupts", "1", 64, false },
	[IRQ_TOTAL] = { "interrupts.total", "interrupts", "1", 64, false },
	[SOFTIRQ_TIMER] = { "softirqs.timer", "softirqs", "1", 64, false },
	[SOFTIRQ_SCHED] = { "softirqs.sched", "softirqs", "1", 64, false },
	[SOFTIRQ_RCU] = { "softirqs.rcu", "softirqs", "1", 64, false },
};

struct cpu {
	double level;     /* around which the load moves */
	double load, ipc; /* now */
	double freq;      /* Hz */
	double heat;      /* degrees below the limit */
	double read_ns;   /* when it was read last */
	double sum[GEN_COUNTERS];
	uint64_t start[GEN_COUNTERS];
};

struct gen {
	struct gen_config config;
	uint64_t random, tick;
	struct cpu *cpu;
	double *energy; /* J, a package */
};

static uint64_t next_random(struct gen *g)
{
	uint64_t z = g->random += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static double uniform(struct gen *g)
{
	return (double)(next_random(g) >> 11) * 0x1p-53;
}

static double normal(struct gen *g)
{
	return sqrt(-2 * log(1 - uniform(g))) * cos(6.283185307179586 * uniform(g));
}

/* A count of rare things: Poisson, from many on the normal approximation of it. */
static double count(struct gen *g, double mean)
{
	double limit, product = 1, n = -1;

	if (mean > 30)
		return fmax(0, floor(mean + sqrt(mean) * normal(g) + 0.5));
	limit = exp(-mean);
	do {
		product *= uniform(g);
		n++;
	} while (product > limit);
	return n;
}

static double clamp(double x, double low, double high)
{
	return x < low ? low : x > high ? high : x;
}

struct gen *gen_new(const struct gen_config *config)
{
	struct gen *g = calloc(1, sizeof(*g));
	uint32_t packages = config->cpus / PACKAGE + 1;

	if (!g)
		return NULL;
	g->config = *config;
	g->random = config->seed;
	g->tick = 86400000000000u;
	g->cpu = calloc(config->cpus, sizeof(*g->cpu));
	g->energy = calloc(packages, sizeof(*g->energy));
	if (!g->cpu || !g->energy) {
		gen_free(g);
		return NULL;
	}
	for (uint32_t c = 0; c < config->cpus; c++) {
		struct cpu *cpu = &g->cpu[c];

		/* A quarter each idle and busy, the rest between. */
		cpu->level = c % 4 == 0 ? 0.02 : c % 4 == 3 ? 0.95 : 0.1 + 0.7 * uniform(g);
		cpu->load = cpu->level;
		cpu->ipc = 0.6 + 1.4 * uniform(g);
		cpu->freq = 3e9;
		cpu->heat = 40;
		cpu->read_ns = (double)g->tick;
		/* A day of uptime, more or less. */
		for (unsigned k = 0; k < GEN_COUNTERS; k++)
			cpu->start[k] = next_random(g) >> 24 & UINT64_MAX >> (64 - gen_counter[k].width);
		cpu->start[TSC] = (uint64_t)(c / PACKAGE) * 1234567;
		cpu->start[PKG_ENERGY] = UINT32_MAX - 100000;
		cpu->start[SMI] = 17;
	}
	return g;
}

void gen_free(struct gen *g)
{
	if (!g)
		return;
	free(g->cpu);
	free(g->energy);
	free(g);
}

size_t gen_columns(const struct gen_config *config)
{
	return (size_t)config->cpus * (2 + config->counters);
}

/* Lets dt seconds pass on a CPU. */
static void advance(struct gen *g, struct cpu *cpu, double dt)
{
	double memory = exp(-dt / 0.2), fresh = sqrt(1 - memory * memory), busy, idle, cycles, instructions, c1, c1e,
	       c6;
	double *s = cpu->sum;

	cpu->load = clamp(cpu->level + (cpu->load - cpu->level) * memory +
				  0.25 * sqrt(cpu->level * (1 - cpu->level)) * fresh * normal(g),
			  0.001, 1);
	cpu->ipc = clamp(cpu->ipc + (1.2 - cpu->ipc) * 0.01 + 0.03 * normal(g), 0.2, 4);
	cpu->freq =
		clamp(cpu->freq + ((2.2e9 + 1.4e9 * cpu->load) - cpu->freq) * 0.1 + 1e7 * normal(g), 1.2e9, 3.8e9);
	cpu->heat += ((55 - 40 * cpu->load) - cpu->heat) * 0.02 + 0.1 * normal(g);
	busy = cpu->load * dt;
	idle = dt - busy;
	cycles = busy * cpu->freq;
	instructions = cycles * cpu->ipc;

	s[MPERF] += busy * TSC_HZ;
	s[APERF] += cycles;
	s[CYCLES] += cycles * (1 + 1e-5 * normal(g));
	s[REF_CYCLES] += busy * TSC_HZ * (1 + 1e-5 * normal(g));
	s[TASK_CLOCK] += busy * 1e9;
	s[INSTRUCTIONS] += instructions;
	s[BRANCHES] += instructions * (0.18 + 0.002 * normal(g));
	s[BRANCH_MISSES] += count(g, instructions * 0.001);
	s[CACHE_REFERENCES] += count(g, instructions * 0.008);
	s[CACHE_MISSES] += count(g, instructions * 0.001 * (1 + 0.2 * normal(g)));
	s[TLB_MISSES] += count(g, instructions * 0.0004);
	s[STALLED] += cycles * clamp(0.2 + 0.02 * normal(g), 0, 1);
	s[MIGRATIONS] += count(g, 3 * dt);
	s[PAGE_FAULTS] += count(g, 300 * busy);
	s[CONTEXT_SWITCHES] += count(g, (50 + 1500 * cpu->load) * dt);

	c1 = idle * clamp(0.1 + 0.03 * normal(g), 0, 1);
	c1e = idle * clamp(0.1 + 0.03 * normal(g), 0, 1);
	c6 = idle - c1 - c1e;
	s[C1_MSR] += (c1 + c1e) * TSC_HZ;
	s[C6_MSR] += c6 * TSC_HZ * 0.97;
	s[POLL_TIME] += count(g, 20 * idle);
	s[C1_TIME] += c1 * 1e6;
	s[C1E_TIME] += c1e * 1e6;
	s[C6_TIME] += c6 * 1e6;
	s[POLL_USAGE] += count(g, 10 * idle);
	s[C1_USAGE] += count(g, c1 * 3000);
	s[C1E_USAGE] += count(g, c1e * 2000);
	s[C6_USAGE] += count(g, c6 * 800);

	s[USER] += busy * 0.8 / USER_HZ_S;
	s[SYSTEM] += busy * 0.2 / USER_HZ_S;
	s[IDLE] += idle / USER_HZ_S;
	s[SOFTIRQ_TIME] += busy * 0.01 / USER_HZ_S;
	s[IRQ_TIMER] += count(g, dt * (50 + 200 * cpu->load));
	s[IRQ_RESCHED] += count(g, dt * 100);
	s[IRQ_TOTAL] = s[IRQ_TIMER] + s[IRQ_RESCHED];
	s[SOFTIRQ_TIMER] += count(g, dt * 100 * cpu->load);
	s[SOFTIRQ_SCHED] += count(g, dt * 150 * cpu->load);
	s[SOFTIRQ_RCU] += count(g, dt * 80);
	/* 2^-14 J */
	s[CORE_ENERGY] += (0.3 * dt + 6 * busy) * 16384;
}

static uint64_t read_counter(const struct gen *g, const struct cpu *cpu, uint32_t c, unsigned k, double at_ns)
{
	uint64_t x;

	switch (k) {
	case TSC:
		x = cpu->start[k] + (uint64_t)(at_ns * (TSC_HZ / 1e9));
		break;
	case PKG_ENERGY: /* one register, read by all CPUs of the package; updated every millisecond */
		x = cpu->start[k] + (uint64_t)(g->energy[c / PACKAGE] * 16384);
		break;
	case THERM:
		x = 0x88000000u | (uint64_t)clamp(cpu->heat, 0, 127) << 16;
		break;
	default:
		x = cpu->start[k] + (uint64_t)cpu->sum[k];
	}
	return x & UINT64_MAX >> (64 - gen_counter[k].width);
}

void gen_row(struct gen *g, uint64_t *tick, uint64_t *v, size_t stride)
{
	const struct gen_config *config = &g->config;

	g->tick += config->period_ns;
	*tick = g->tick;
	for (uint32_t p = 0; p * PACKAGE < config->cpus; p++)
		g->energy[p] += (double)config->period_ns * 1e-9 * (120 + 10 * normal(g));
	for (uint32_t c = 0; c < config->cpus; c++) {
		struct cpu *cpu = &g->cpu[c];
		double begin = (double)g->tick + floor((double)(config->jitter_ns + 1) * uniform(g));
		double end = begin + 3000 + floor(fabs(200 * normal(g))), at = (begin + end) / 2;
		uint64_t *row = v + c * stride;

		advance(g, cpu, (at - cpu->read_ns) * 1e-9);
		cpu->read_ns = at;
		row[0] = (uint64_t)begin;
		row[config->cpus * stride] = (uint64_t)end;
		for (uint32_t k = 0; k < config->counters; k++)
			row[(size_t)config->cpus * (2 + k) * stride] = read_counter(g, cpu, c, k, at);
	}
}
