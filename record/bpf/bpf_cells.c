#include "record/bpf/bpf_cells.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "record/bpf/bpf_call.h"

int bpf_cells_init(struct bpf_cells *c, const char *name, uint32_t size, uint32_t n)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	*c = (struct bpf_cells){ .element = size, .size = ((size_t)size * n + page - 1) / page * page };
	c->map = bpf_map_new(&(struct bpf_map_shape){ .name = name,
						      .type = BPF_MAP_TYPE_ARRAY,
						      .key_size = 4,
						      .value_size = size,
						      .entries = n,
						      .flags = BPF_MMAPABLE });
	if (c->map < 0)
		return c->map;
	c->memory = mmap(NULL, c->size, PROT_READ | PROT_WRITE, MAP_SHARED, c->map, 0);
	if (c->memory == MAP_FAILED) {
		int err = errno;

		close(c->map);
		*c = BPF_CELLS_NONE;
		return -err;
	}
	return 0;
}

void bpf_cells_release(struct bpf_cells *c)
{
	if (c->map < 0)
		return;
	munmap(c->memory, c->size);
	close(c->map);
	*c = BPF_CELLS_NONE;
}

struct bpf_cell bpf_sum_read(const struct bpf_sum *s)
{
	struct bpf_cell sum = { 0 };

	for (uint32_t i = 0; i < s->n; i++) {
		const struct bpf_cell *c = (const void *)((const char *)s->first + i * s->step);

		/* In the reverse order of writing: an event has never run for longer than it was enabled. */
		sum.running += __atomic_load_n(&c->running, __ATOMIC_ACQUIRE);
		sum.enabled += __atomic_load_n(&c->enabled, __ATOMIC_ACQUIRE);
		sum.value += __atomic_load_n(&c->value, __ATOMIC_ACQUIRE);
	}
	return sum;
}

void bpf_sum_clear(const struct bpf_sum *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		*(struct bpf_cell *)((char *)(uintptr_t)s->first + i * s->step) = (struct bpf_cell){ 0 };
}
