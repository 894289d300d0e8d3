#include "record/bpf/bpf_cgroups.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "record/bpf/bpf_btf.h"
#include "record/bpf/bpf_call.h"

enum { CELL = sizeof(struct bpf_cell), DEPTH_MAX = 64 };

/* ---- the programs ---- */

/* Elements of `state`: the last reading, then the differences to it. */
static int16_t at_last(uint32_t event)
{
	return (int16_t)(event * CELL);
}

static int16_t at_difference(const struct bpf_cgroups *g, uint32_t event)
{
	return at_last(g->n_events + event);
}

/* Offsets of the kernel's fields that the programs read. */
struct offsets {
	int32_t cgroups;       /* in a task: its set of cgroups */
	uint32_t sched_switch; /* type of the tracepoint */
};

/* A switch within one set of cgroups changes nothing: sched_switch(preempted, from, to). */
static void write_same_set(struct bpf_code *c, const struct offsets *at)
{
	code_load(c, R2, R1, 8);
	code_load(c, R3, R1, 16);
	code_load(c, R2, R2, (int16_t)at->cgroups);
	code_load(c, R3, R3, (int16_t)at->cgroups);
	code_exit_if_equal(c, R2, R3);
}

/* R6 = the state, R8 = the CPU. Replaces the previous reading by the current one. An event that could not be read
 * adds nothing; one that was enabled for less time than before is a new one. */
static void write_differences(struct bpf_code *c, const struct bpf_cgroups *g)
{
	enum { NOW = -32 };

	code_copy(c, R9, R8);
	for (uint32_t i = 0; i < g->n_events; i++) {
		uint32_t unread;

		code_read_event(c, g->events, R9, FP, NOW);
		code_add_value(c, R9, (int32_t)g->n_cpus);
		for (int16_t word = 0; word < CELL; word += 8)
			code_store_value(c, R6, (int16_t)(at_difference(g, i) + word), 0);
		code_load(c, R1, FP, NOW + (int16_t)offsetof(struct bpf_cell, enabled));
		unread = code_skip_if_zero(c, R1);
		code_differences(c, FP, NOW, R6, at_last(i), R6, at_difference(g, i));
		code_here(c, unread);
	}
}

/* Adds the differences to each cgroup from the root to that of the running task: R9 = the depth. */
static void write_additions(struct bpf_code *c, const struct bpf_cgroups *g)
{
	uint32_t top, unknown, none;

	code_set(c, R9, 0);
	top = c->n;
	code_copy(c, R1, R9);
	code_call(c, BPF_FUNC_get_current_ancestor_cgroup_id);
	code_exit_if_zero(c, R0);
	code_store(c, FP, -16, R0);
	code_copy(c, R2, FP);
	code_add_value(c, R2, -16);
	code_map(c, R1, g->places);
	code_call(c, BPF_FUNC_map_lookup_elem);
	unknown = code_skip_if_zero(c, R0);
	code_load32(c, R1, R0, 0);
	code_copy(c, R2, R8);
	code_multiply(c, R2, (int32_t)g->n_cgroups);
	code_add(c, R1, R2);
	code_store32(c, FP, -4, R1);
	code_copy(c, R2, FP);
	code_add_value(c, R2, -4);
	code_map(c, R1, g->cells.map);
	code_call(c, BPF_FUNC_map_lookup_elem);
	none = code_skip_if_zero(c, R0);
	for (int16_t word = 0; word < (int16_t)(g->n_events * CELL); word += 8) {
		code_load(c, R1, R0, word);
		code_load(c, R2, R6, (int16_t)(at_difference(g, 0) + word));
		code_add(c, R1, R2);
		code_store(c, R0, word, R1);
	}
	code_here(c, unknown);
	code_here(c, none);
	code_add_value(c, R9, 1);
	code_again_if_below(c, R9, DEPTH_MAX, top);
	code_exit(c);
}

static void write_program(struct bpf_code *c, const struct bpf_cgroups *g, const struct offsets *at)
{
	if (at)
		write_same_set(c, at);
	code_call(c, BPF_FUNC_get_smp_processor_id);
	code_copy(c, R8, R0);
	code_add_value(c, R0, 1);
	code_element_of(c, g->state.map, -4, R0);
	code_copy(c, R6, R0);
	write_differences(c, g);
	code_element_at(c, g->state.map, -4, 0);
	code_load(c, R1, R0, 0);
	code_exit_if_zero(c, R1);
	write_additions(c, g);
}

static int load(const struct bpf_cgroups *g, const struct offsets *at, struct error *e)
{
	struct bpf_program p = { .name = "pmrec_cgroups", .type = BPF_PROG_TYPE_RAW_TRACEPOINT };
	struct bpf_code c = { 0 };

	write_program(&c, g, at);
	if (at) {
		p.type = BPF_PROG_TYPE_TRACING;
		p.attach = BPF_TRACE_RAW_TP;
		p.target_type = at->sched_switch;
	}
	return bpf_program_load(&p, &c, e);
}

/* ---- all together ---- */

static int find_offsets(struct offsets *at, const struct root *root, struct error *e)
{
	struct btf b;
	int err = btf_read_kernel(&b, root);

	if (!err) {
		at->cgroups = btf_member(&b, "task_struct", "cgroups");
		at->sched_switch = btf_typedef(&b, "btf_trace_sched_switch");
	}
	btf_release(&b);
	if (err || at->cgroups < 0 || at->cgroups > INT16_MAX || !at->sched_switch)
		return error_set(e, ENOTSUP,
				 "counting cgroups with BPF needs /sys/kernel/btf/vmlinux, a kernel with "
				 "CONFIG_DEBUG_INFO_BTF=y and CONFIG_CGROUPS=y");
	return 0;
}

/* The type that statfs() reports for a version 2 hierarchy. */
#define VERSION_2 0x63677270u

/* The id of a version 2 cgroup is its directory's inode number. */
static int put_places(const struct bpf_cgroups *g, const int *directory, struct error *e)
{
	for (uint32_t i = 0; i < g->n_cgroups; i++) {
		struct statfs fs;
		struct stat st;
		uint64_t id;
		int err = fstat(directory[i], &st) || fstatfs(directory[i], &fs) ? -errno : 0;

		if (!err && (uint32_t)fs.f_type != VERSION_2)
			return error_set(e, ENOTSUP,
					 "BPF programs see only version 2 cgroups, and perf_event is in version 1 "
					 "here; boot with cgroup_no_v1=perf_event, or count without --bpf-counters");
		id = st.st_ino;
		if (!err)
			err = bpf_map_put(g->places, &id, &i);
		if (err)
			return error_sys(e, -err, "cgroup %u", i + 1);
	}
	return 0;
}

static int make_maps(struct bpf_cgroups *g, struct error *e)
{
	int err;

	g->events = bpf_map_new(&(struct bpf_map_shape){ .name = "pmrec_events",
							 .type = BPF_MAP_TYPE_PERF_EVENT_ARRAY,
							 .key_size = 4,
							 .value_size = 4,
							 .entries = g->n_events * g->n_cpus,
							 .flags = BPF_KEEP_EVENTS });
	err = g->events < 0 ? g->events : 0;
	if (!err)
		err = g->places = bpf_map_new(&(struct bpf_map_shape){ .name = "pmrec_places",
								       .type = BPF_MAP_TYPE_HASH,
								       .key_size = 8,
								       .value_size = 4,
								       .entries = g->n_cgroups });
	if (err >= 0)
		err = bpf_cells_init(&g->state, "pmrec_state", 2 * CELL * g->n_events, g->n_cpus + 1);
	if (err >= 0)
		err = bpf_cells_init(&g->cells, "pmrec_counts", CELL * g->n_events, g->n_cpus * g->n_cgroups);
	return err < 0 ? error_sys(e, -err, "a BPF map") : 0;
}

int bpf_cgroups_init(struct bpf_cgroups *g, const struct root *root, const int *directory, uint32_t n_cgroups,
		     uint32_t n_events, uint32_t n_cpus, struct error *e)
{
	struct offsets at = { 0 };
	SCOPED(fd_close) int program = -1;
	int err;

	*g = BPF_CGROUPS_NONE;
	g->n_events = n_events;
	g->n_cgroups = n_cgroups;
	g->n_cpus = n_cpus;
	if (n_events > BPF_CGROUPS_EVENTS_MAX)
		return error_set(e, E2BIG, "--bpf-counters: more than %d events in cgroups", BPF_CGROUPS_EVENTS_MAX);
	err = find_offsets(&at, root, e);
	if (!err)
		err = make_maps(g, e);
	if (!err)
		err = put_places(g, directory, e);
	if (err)
		return err;
	g->reader = load(g, NULL, e);
	program = g->reader < 0 ? g->reader : load(g, &at, e);
	if (program < 0)
		return program;
	g->link = bpf_program_attach(program, NULL);
	return g->link < 0 ? error_sys(e, -g->link, "attaching to sched_switch") : 0;
}

void bpf_cgroups_release(struct bpf_cgroups *g)
{
	int *const fd[] = { &g->link, &g->reader, &g->places, &g->events };

	for (size_t i = 0; i < sizeof(fd) / sizeof(fd[0]); i++)
		fd_close(fd[i]);
	bpf_cells_release(&g->state);
	bpf_cells_release(&g->cells);
	*g = BPF_CGROUPS_NONE;
}

int bpf_cgroups_put(const struct bpf_cgroups *g, uint32_t event, uint32_t cpu, int fd)
{
	uint32_t key = event * g->n_cpus + cpu;

	return bpf_map_put_fd(g->events, &key, fd);
}

void bpf_cgroups_enable(const struct bpf_cgroups *g, bool on)
{
	uint64_t *word = bpf_cells_at(&g->state, 0);

	__atomic_store_n(word, on, __ATOMIC_RELEASE);
}

void bpf_cgroups_read(const struct bpf_cgroups *g, uint32_t cpu)
{
	(void)bpf_program_run(g->reader, cpu);
}

struct bpf_sum bpf_cgroups_sum(const struct bpf_cgroups *g, uint32_t event, uint32_t cgroup, uint32_t cpu)
{
	const char *element = bpf_cells_at(&g->cells, (size_t)cpu * g->n_cgroups + cgroup);

	return (struct bpf_sum){ .first = (const void *)(element + event * CELL), .n = 1 };
}
