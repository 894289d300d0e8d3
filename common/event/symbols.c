/* Names that need no PMU description: hardware, software and cache events, and modifier letters. */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/event/event.h"

/* The events that pmrec counts without -e, and those that -d adds. */

const struct event_default event_defaults[] = {
	{ "task-clock", .only = EVENT_DEFAULT_OF_TASKS },
	{ "cpu-clock", .only = EVENT_DEFAULT_OF_CPUS },
	{ "context-switches" },
	{ "cpu-migrations" },
	{ "page-faults" },
	{ "cycles" },
	{ "instructions" },
	{ "branches" },
	{ "branch-misses" },
	{ "slots", .beside = "slots" },
	{ "topdown-retiring", .beside = "slots" },
	{ "topdown-bad-spec", .beside = "slots" },
	{ "topdown-fe-bound", .beside = "slots" },
	{ "topdown-be-bound", .beside = "slots" },
	{ "topdown-heavy-ops", .beside = "slots" },
	{ "topdown-br-mispredict", .beside = "slots" },
	{ "topdown-fetch-lat", .beside = "slots" },
	{ "topdown-mem-bound", .beside = "slots" },
	{ "stalled-cycles-frontend", .if_described = true },
	{ "stalled-cycles-backend", .if_described = true },
	{ "cache-references", .if_described = true, .only = EVENT_DEFAULT_OF_TURBOSTAT },
	{ "cache-misses", .if_described = true, .only = EVENT_DEFAULT_OF_TURBOSTAT },
	{ "L1-dcache-loads", 1 },
	{ "L1-dcache-load-misses", 1 },
	{ "LLC-loads", 1 },
	{ "LLC-load-misses", 1 },
	{ "L1-icache-loads", 2 },
	{ "L1-icache-load-misses", 2 },
	{ "dTLB-loads", 2 },
	{ "dTLB-load-misses", 2 },
	{ "iTLB-loads", 2 },
	{ "iTLB-load-misses", 2 },
	{ "L1-dcache-prefetches", 3 },
	{ "L1-dcache-prefetch-misses", 3 },
	{ NULL },
};

/* Hardware and software events of the kernel. */
/* clang-format off */
const struct event_symbol event_symbols[] = {
	{ "cycles", "cpu-cycles", PERF_TYPE_HARDWARE, 0, "CPU clock cycles" },
	{ "instructions", NULL, PERF_TYPE_HARDWARE, 1, "retired instructions" },
	{ "cache-references", NULL, PERF_TYPE_HARDWARE, 2, "accesses to the last cache level" },
	{ "cache-misses", NULL, PERF_TYPE_HARDWARE, 3, "misses of the last cache level" },
	{ "branches", "branch-instructions", PERF_TYPE_HARDWARE, 4, "retired branch instructions" },
	{ "branch-misses", NULL, PERF_TYPE_HARDWARE, 5, "mispredicted branches" },
	{ "bus-cycles", NULL, PERF_TYPE_HARDWARE, 6, "cycles of the bus clock" },
	{ "stalled-cycles-frontend", "idle-cycles-frontend", PERF_TYPE_HARDWARE, 7,
	  "cycles without instruction issue" },
	{ "stalled-cycles-backend", "idle-cycles-backend", PERF_TYPE_HARDWARE, 8,
	  "cycles without instruction retirement" },
	{ "ref-cycles", NULL, PERF_TYPE_HARDWARE, 9, "cycles at a constant frequency" },
	{ "cpu-clock", NULL, PERF_TYPE_SOFTWARE, 0, "time of the CPU, by a high resolution timer", .scale = "1e-6",
	  .unit = "msec" },
	{ "task-clock", NULL, PERF_TYPE_SOFTWARE, 1, "CPU time of the task", .scale = "1e-6", .unit = "msec" },
	{ "page-faults", "faults", PERF_TYPE_SOFTWARE, 2, "page faults" },
	{ "context-switches", "cs", PERF_TYPE_SOFTWARE, 3, "context switches", .kernel_only = true },
	{ "cpu-migrations", "migrations", PERF_TYPE_SOFTWARE, 4, "tasks moved to another CPU", .kernel_only = true },
	{ "minor-faults", NULL, PERF_TYPE_SOFTWARE, 5, "page faults without I/O" },
	{ "major-faults", NULL, PERF_TYPE_SOFTWARE, 6, "page faults with I/O" },
	{ "alignment-faults", NULL, PERF_TYPE_SOFTWARE, 7, "unaligned accesses that the kernel handled" },
	{ "emulation-faults", NULL, PERF_TYPE_SOFTWARE, 8, "instructions that the kernel emulated" },
	{ "dummy", NULL, PERF_TYPE_SOFTWARE, 9, "counts nothing" },
	{ "bpf-output", NULL, PERF_TYPE_SOFTWARE, 10, "records written by BPF programs" },
	{ "cgroup-switches", NULL, PERF_TYPE_SOFTWARE, 11, "context switches to a task of another cgroup",
	  .kernel_only = true },
	{ NULL },
};
/* clang-format on */

const struct event_symbol *event_symbol_find(const char *name)
{
	for (const struct event_symbol *s = event_symbols; s->name; s++)
		if (!strcasecmp(name, s->name) || (s->alias && !strcasecmp(name, s->alias)))
			return s;
	return NULL;
}

/* ---- cache events: config = cache | operation << 8 | result << 16 ---- */

enum { OP_LOAD, OP_STORE, OP_PREFETCH, N_OPS };
enum { RESULT_REFS, RESULT_MISSES, N_RESULTS };

static const struct {
	const char *name[6]; /* the first is canonical */
	unsigned ops;        /* one bit for each valid operation */
} caches[] = {
	[0] = { { "L1-dcache", "l1-d", "l1d", "L1-data" }, 1 << OP_LOAD | 1 << OP_STORE | 1 << OP_PREFETCH },
	[1] = { { "L1-icache", "l1-i", "l1i", "L1-instruction" }, 1 << OP_LOAD | 1 << OP_PREFETCH },
	[2] = { { "LLC", "L2" }, 1 << OP_LOAD | 1 << OP_STORE | 1 << OP_PREFETCH },
	[3] = { { "dTLB", "d-tlb", "Data-TLB" }, 1 << OP_LOAD | 1 << OP_STORE | 1 << OP_PREFETCH },
	[4] = { { "iTLB", "i-tlb", "Instruction-TLB" }, 1 << OP_LOAD },
	[5] = { { "branch", "branches", "bpu", "btb", "bpc" }, 1 << OP_LOAD },
	[6] = { { "node" }, 1 << OP_LOAD | 1 << OP_STORE | 1 << OP_PREFETCH },
};
#define N_CACHES (sizeof(caches) / sizeof(caches[0]))

/* Canonical names have the plural for references ("loads"), and the singular before "-misses". */
static const char *const op_names[N_OPS][6] = {
	[OP_LOAD] = { "load", "loads", "read" },
	[OP_STORE] = { "store", "stores", "write" },
	[OP_PREFETCH] = { "prefetch", "prefetches", "speculative-read", "speculative-load" },
};
static const char *const result_names[N_RESULTS][6] = {
	[RESULT_REFS] = { "refs", "Reference", "ops", "access" },
	[RESULT_MISSES] = { "misses", "miss" },
};

/* Length of the longest of `names` at the start of the text, if '-' or the end follows; 0: none. */
static size_t longest(const char *text, const char *const names[6])
{
	size_t best = 0;

	for (int i = 0; i < 6 && names[i]; i++) {
		size_t len = strlen(names[i]);

		if (len > best && !strncasecmp(text, names[i], len) && (text[len] == '-' || !text[len]))
			best = len;
	}
	return best;
}

static size_t longest_of(const char *text, const char *const (*names)[6], int n, int *which)
{
	size_t best = 0;

	for (int i = 0; i < n; i++) {
		size_t len = longest(text, names[i]);

		if (len > best) {
			best = len;
			*which = i;
		}
	}
	return best;
}

int event_cache_parse(const char *name, uint64_t *config)
{
	size_t best = 0;
	int cache = 0, op = -1, result = -1;

	for (size_t i = 0; i < N_CACHES; i++) {
		size_t len = longest(name, caches[i].name);

		if (len > best) {
			best = len;
			cache = (int)i;
		}
	}
	if (!best)
		return -ENOENT;
	for (name += best; *name; name += best) {
		int which = 0;

		name++;
		if (op < 0 && (best = longest_of(name, op_names, N_OPS, &which)))
			op = which;
		else if (result < 0 && (best = longest_of(name, result_names, N_RESULTS, &which)))
			result = which;
		else
			return -ENOENT;
	}
	if (op < 0)
		op = OP_LOAD;
	if (result < 0)
		result = RESULT_REFS;
	if (!(caches[cache].ops & 1u << op))
		return -EINVAL;
	*config = (uint64_t)cache | (uint64_t)op << 8 | (uint64_t)result << 16;
	return 0;
}

void event_cache_name(uint64_t config, char *name, size_t size)
{
	unsigned cache = config & 0xff, op = config >> 8 & 0xff, result = config >> 16 & 0xff;

	if (cache >= N_CACHES || op >= N_OPS || result >= N_RESULTS)
		snprintf(name, size, "3:0x%llx", (unsigned long long)config);
	else if (result == RESULT_REFS)
		snprintf(name, size, "%s-%s", caches[cache].name[0], op_names[op][1]);
	else
		snprintf(name, size, "%s-%s-misses", caches[cache].name[0], op_names[op][0]);
}

int event_cache_each(int (*each)(void *arg, const char *name, uint64_t config), void *arg)
{
	for (uint64_t cache = 0; cache < N_CACHES; cache++)
		for (uint64_t op = 0; op < N_OPS; op++)
			for (uint64_t result = 0; caches[cache].ops & 1u << op && result < N_RESULTS; result++) {
				uint64_t config = cache | op << 8 | result << 16;
				char name[64];
				int r;

				event_cache_name(config, name, sizeof(name));
				if ((r = each(arg, name, config)))
					return r;
			}
	return 0;
}

/* ---- units ---- */

static const struct {
	const char *perf, *ucum;
	double bytes; /* 0: it is none of data */
} units[] = {
	{ "msec", "ms" },          { "Joules", "J" },         { "Bytes", "By", 1 },
	{ "KiB", "KiBy", 0x1p10 }, { "MiB", "MiBy", 0x1p20 }, { "GiB", "GiBy", 0x1p30 },
	{ "KB", "kBy", 1e3 },      { "MB", "MBy", 1e6 },      { "GB", "GBy", 1e9 },
};

double event_unit_bytes(const char *ucum)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(units[i].ucum, ucum))
			return units[i].bytes;
	return 0;
}

const char *event_unit_ucum(const char *perf)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(units[i].perf, perf))
			return units[i].ucum;
	return perf;
}

const char *event_unit_perf(const char *ucum)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(units[i].ucum, ucum))
			return units[i].perf;
	return ucum;
}

/* ---- modifiers ---- */

/* In the canonical order. */
static const struct {
	char letter;
	uint32_t bit;
} mod_letters[] = {
	{ 'u', EVENT_MOD_USER },      { 'k', EVENT_MOD_KERNEL },      { 'h', EVENT_MOD_HV },
	{ 'I', EVENT_MOD_NO_IDLE },   { 'G', EVENT_MOD_GUEST },       { 'H', EVENT_MOD_HOST },
	{ 'p', EVENT_MOD_PRECISE_1 }, { 'P', EVENT_MOD_MAX_PRECISE }, { 'S', EVENT_MOD_SAMPLE_READ },
	{ 'D', EVENT_MOD_PINNED },    { 'e', EVENT_MOD_EXCLUSIVE },   { 'W', EVENT_MOD_WEAK },
	{ 'b', EVENT_MOD_BPF },       { 'R', EVENT_MOD_RETIRE },      { 'X', EVENT_MOD_NO_REGROUP },
};
#define N_MODS (sizeof(mod_letters) / sizeof(mod_letters[0]))

void event_mods_print(uint32_t mods, struct buf *out)
{
	for (size_t i = 0; i < N_MODS; i++) {
		unsigned n = mods & mod_letters[i].bit ? 1 : 0;

		if (mod_letters[i].letter == 'p')
			n = event_mods_precise(mods);
		while (n--)
			buf_addch(out, mod_letters[i].letter);
	}
}

size_t event_mods_parse(const char *text, size_t len, uint32_t *mods)
{
	unsigned precise = 0;

	*mods = 0;
	for (size_t k = 0; k < len; k++) {
		size_t i = 0;

		while (i < N_MODS && mod_letters[i].letter != text[k])
			i++;
		if (i == N_MODS)
			return k + 1;
		if (text[k] == 'p') {
			if (++precise > 3)
				return k + 1;
			continue;
		}
		if (*mods & mod_letters[i].bit)
			return k + 1;
		*mods |= mod_letters[i].bit;
	}
	*mods |= (precise & 1 ? EVENT_MOD_PRECISE_1 : 0) | (precise & 2 ? EVENT_MOD_PRECISE_2 : 0);
	return 0;
}
