/* The table of a machine, as machine.py writes it for fakepmu.so: what counts, at which rate, and where there is room. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { TABLE_PMUS = 128, TABLE_CPUS = 64, TABLE_RATES = 512 };

struct table_pmu {
	char name[48];
	uint32_t type;
	unsigned general; /* counters */
	unsigned held;    /* of them, by other users' pinned events: nothing that an open() reckons with */
	bool core;        /* one a CPU; else one a package, opened on any CPU of it */
	uint64_t cpus;    /* of a core PMU: on which CPUs it is */
	bool checks;      /* a group that can never fit is refused with EINVAL, as most drivers do */
	int package;      /* the only one that has it, or -1 */
	uint64_t mask;    /* bits of config that tell events apart */
	uint64_t filter;  /* those of a filter that it has once: events that differ there do not count at a time */
	bool alone;       /* beside another user's pinned event nothing is opened: EBUSY */
};

struct table_event {
	const struct table_pmu *pmu;
	uint64_t config;
	double rate;             /* a second, on CPU or package 0; each further one counts 1 % or 10 % more */
	int fixed;               /* number of the fixed counter, or -1 */
	bool only_fixed, metric; /* a metric is a share of the slots, and needs them as the leader */
};

struct table {
	struct table_pmu pmu[TABLE_PMUS];
	struct table_event event[TABLE_RATES];
	unsigned n_pmus, n_events, n_cpus;
	unsigned package[TABLE_CPUS];
	uint64_t offline;      /* CPUs that are not there now */
	uint64_t hardware[16]; /* config of PERF_COUNT_HW_*; ~0 where there is none */
	int paranoid;
	bool privileged;
};

/* False, with a message on stderr, if the file cannot be read or has a line that is no part of a table. */
bool table_load(struct table *t, const char *path);

/* The PMU of a type; RAW, HARDWARE and HW_CACHE are the first core's, or that of the type above bit 32 of config. NULL: there is
 * none. */
const struct table_pmu *table_pmu(const struct table *t, uint32_t type, uint64_t config);

/* What CONFIG counts there: a row, or one with a rate that follows from the number, so that every event has one. */
struct table_event table_event(const struct table *t, const struct table_pmu *pmu, uint64_t config);
