/*
 * Counts of BPF programs: a kernel array mapped into pmrec's memory, so reading it needs neither a system call nor a
 * capability. Elements are written on one CPU each, as three plain words. A reader on that CPU sees them
 * consistently; a reader on another CPU may see one word that is a task switch newer than the others.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* As struct bpf_perf_event_value has them; times in ns. */
struct bpf_cell {
	uint64_t value, enabled, running;
};
enum { CELL_WORDS = 3 };

struct bpf_cells {
	int map; /* -1: none */
	void *memory;
	size_t size;    /* of memory */
	size_t element; /* bytes from one element to the next */
};
#define BPF_CELLS_NONE ((struct bpf_cells){ .map = -1 })

/* `n` elements of `size` bytes, a multiple of 8, all zero. 0 or -errno; nothing is to be released then. */
int bpf_cells_init(struct bpf_cells *c, const char *name, uint32_t size, uint32_t n);
void bpf_cells_release(struct bpf_cells *c);

static inline void *bpf_cells_at(const struct bpf_cells *c, size_t index)
{
	return (char *)c->memory + index * c->element;
}

/* What has been counted in cells that lie `step` bytes apart. */
struct bpf_sum {
	const struct bpf_cell *first;
	size_t step;
	uint32_t n;
};
struct bpf_cell bpf_sum_read(const struct bpf_sum *s);
/* Starts again from 0; nobody may be counting there. */
void bpf_sum_clear(const struct bpf_sum *s);
