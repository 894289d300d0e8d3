/* Shared by text files with numbers per CPU: /proc/stat, schedstat, softirqs, interrupts. */
#pragma once

#include "record/sources/textfile.h"

/*
 * Slots of the store: first n_system numbers of the whole system, then counter by counter one slot for each CPU that
 * is there or may be added, online or not.
 */
struct cputext {
	struct textsource text; /* first, so that refresh() can find the rest */
	uint32_t n_cpus;
	uint32_t *cpu;    /* owned: CPU numbers, ascending */
	bool *planned;    /* owned: the CPU has cells */
	uint32_t *column; /* owned: in files with a head line, index into cpu[] of each column; UINT32_MAX: none */
	uint32_t n_columns, columns_most;
	char *head; /* owned: the head line that column[] was made from */
	size_t head_len, head_size;
	uint32_t *system;  /* owned: counter ids, n_system */
	uint32_t *counter; /* owned: counter ids, n_counters; 0: not recorded */
	uint32_t n_system, n_counters;
};

/* Slot of a CPU's number of a counter, both by their indexes. */
static inline uint32_t cputext_slot(const struct cputext *t, uint32_t counter, uint32_t cpu_index)
{
	return t->n_system + counter * t->n_cpus + cpu_index;
}

/* textsource_new() for `size` bytes that begin with a struct cputext, with room for so many counters. */
int cputext_new(struct source *s, struct plan *p, size_t size, const char *path, const char *hint, uint32_t n_system,
		uint32_t n_counters, int (*refresh)(struct textstore *s));
/* Appends counters. 0 or -ENOMEM. */
int cputext_resize(struct cputext *t, uint32_t n_counters);
/* Index of a CPU number in cpu[]; UINT32_MAX if it is not known. */
uint32_t cputext_index(const struct cputext *t, uint32_t cpu);

/* CPU number of a label like "cpu12"; false for other labels. */
bool cputext_label(const char *label, uint32_t len, uint32_t *cpu);
/* Sets the cursor before what was read last, and takes its first line, a head ("CPU0 CPU1 ..."). *changed: column[]
 * is new. 0, or -EINVAL for another line. Allocates nothing. */
int cputext_begin(struct cputext *t, struct textcursor *c, bool *changed);

/* Adds one group with all system counters and those of the CPUs of the plan. Call once. 0 or -errno. */
int cputext_plan(struct cputext *t, struct plan *p);

/* update() and release() of sources whose data begins with a struct cputext, or is NULL: a CPU gets its cells when it
 * comes online for the first time. */
int cputext_update(struct source *s, struct plan *p, uint32_t cpu, bool online);
void cputext_release(struct source *s);
