#include "record/bpf/bpf_follower.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "format/model.h"
#include "record/bpf/bpf_btf.h"
#include "record/bpf/bpf_call.h"

/* ---- tasks ---- */

/* The kernel's number for the initial PID namespace. */
#define FIRST_PID_NAMESPACE "pid:[4026531836]"

/* A task starts, and its parent runs: task_newtask(task, clone_flags). */
static void write_begin(struct bpf_code *c, int tasks, int32_t pid)
{
	code_load(c, R6, R1, 0);
	code_call(c, BPF_FUNC_get_current_pid_tgid);
	code_element_of(c, tasks, -4, R0);
	code_load32(c, R7, R0, 0);
	code_peek32(c, R6, pid, -8);
	code_store32(c, FP, -12, R7);
	code_copy(c, R2, FP);
	code_add_value(c, R2, -8);
	code_copy(c, R3, FP);
	code_add_value(c, R3, -12);
	code_set(c, R4, BPF_NOEXIST);
	code_map(c, R1, tasks);
	code_call(c, BPF_FUNC_map_update_elem);
	code_exit(c);
}

/* A task has been freed, long after it last ran, and so has its id: sched_process_free(task). */
static void write_end(struct bpf_code *c, int tasks, int32_t pid)
{
	code_load(c, R6, R1, 0);
	code_peek32(c, R6, pid, -4);
	code_copy(c, R2, FP);
	code_add_value(c, R2, -4);
	code_map(c, R1, tasks);
	code_call(c, BPF_FUNC_map_delete_elem);
	code_exit(c);
}

static const struct watch {
	const char *name, *tracepoint;
	void (*write)(struct bpf_code *c, int tasks, int32_t pid);
	bool if_inherited;
} watches[] = {
	{ "pmrec_begin", "task_newtask", write_begin, true },
	{ "pmrec_end", "sched_process_free", write_end, false },
};

static int watch(const struct watch *w, int tasks, int32_t pid, struct error *e)
{
	struct bpf_code c = { 0 };
	SCOPED(fd_close) int fd = -1;
	int link;

	w->write(&c, tasks, pid);
	fd = bpf_program_load(&(struct bpf_program){ .name = w->name, .type = BPF_PROG_TYPE_RAW_TRACEPOINT }, &c, e);
	if (fd < 0)
		return fd;
	link = bpf_program_attach(fd, w->tracepoint);
	return link < 0 ? error_sys(e, -link, "attaching to %s", w->tracepoint) : link;
}

static int find_pid(const struct root *root, struct error *e)
{
	struct btf b;
	int err = btf_read_kernel(&b, root);
	int32_t pid = err ? -1 : btf_member(&b, "task_struct", "pid");

	btf_release(&b);
	if (err || pid < 0)
		return error_set(e, ENOTSUP,
				 "counting tasks with BPF needs /sys/kernel/btf/vmlinux, a kernel with "
				 "CONFIG_DEBUG_INFO_BTF=y");
	return pid;
}

int bpf_tasks_init(struct bpf_tasks *t, const struct root *root, bool inherit, struct error *e)
{
	char space[64];
	uint64_t most;
	int pid, err = 0;

	*t = BPF_TASKS_NONE;
	if (!root_link_name(root, space, sizeof(space), "/proc/self/ns/pid") && strcmp(space, FIRST_PID_NAMESPACE))
		return error_set(e, ENOTSUP,
				 "BPF programs see process ids other than those in this container; count with -a or "
				 "--for-each-cgroup, or outside the container");
	pid = find_pid(root, e);
	if (pid < 0)
		return pid;
	if (root_u64(root, &most, "/proc/sys/kernel/pid_max") || most > UINT32_MAX)
		most = 1 << 22;
	t->map = bpf_map_new(&(struct bpf_map_shape){ .name = "pmrec_tasks",
						      .type = BPF_MAP_TYPE_HASH,
						      .key_size = 4,
						      .value_size = 4,
						      .entries = (uint32_t)most,
						      .flags = BPF_F_NO_PREALLOC });
	if (t->map < 0)
		return error_sys(e, -t->map, "a BPF map");
	for (size_t i = 0; i < sizeof(watches) / sizeof(watches[0]) && err >= 0; i++)
		if (inherit || !watches[i].if_inherited)
			err = t->link[i] = watch(&watches[i], t->map, pid, e);
	return err < 0 ? err : 0;
}

void bpf_tasks_release(struct bpf_tasks *t)
{
	for (size_t i = 0; i < 2; i++)
		fd_close(&t->link[i]);
	fd_close(&t->map);
	*t = BPF_TASKS_NONE;
}

int bpf_tasks_put(const struct bpf_tasks *t, uint32_t tid, uint32_t place)
{
	return bpf_map_put(t->map, &tid, &place);
}

int bpf_tasks_drop(const struct bpf_tasks *t, uint32_t tid)
{
	return bpf_map_drop(t->map, &tid);
}

/* ---- followers ---- */

/* Cells before the counts. */
static uint32_t first_count(const struct bpf_follower *f)
{
	return 1 + f->n_cpus;
}

/* R6 = the leader's reading, R7 = its previous reading; stores the difference at FP + DIFFERENCE; R8 = the CPU. Then
 * the program ends if this follower is stopped, or if the task that leaves the CPU is not one of its own. */
static void write_follower(struct bpf_code *c, const struct bpf_follower *f, int readings, int tasks)
{
	enum { DIFFERENCE = -32, CELL = sizeof(struct bpf_cell) };

	code_call(c, BPF_FUNC_get_smp_processor_id);
	code_copy(c, R8, R0);
	code_element_at(c, readings, -4, 0);
	code_copy(c, R6, R0);
	code_copy(c, R1, R8);
	code_add_value(c, R1, 1);
	code_element_of(c, f->cells.map, -4, R1);
	code_copy(c, R7, R0);
	code_differences(c, R6, 0, R7, 0, FP, DIFFERENCE);
	code_element_at(c, f->cells.map, -4, 0);
	code_load(c, R1, R0, 0);
	code_exit_if_zero(c, R1);
	code_set(c, R7, (int32_t)first_count(f));
	if (tasks >= 0) {
		code_call(c, BPF_FUNC_get_current_pid_tgid);
		code_element_of(c, tasks, -4, R0);
		code_load32(c, R1, R0, 0);
		code_add(c, R7, R1);
	}
	code_multiply(c, R8, (int32_t)f->n_places);
	code_add(c, R7, R8);
	code_element_of(c, f->cells.map, -4, R7);
	for (int16_t word = 0; word < CELL; word += 8) {
		code_load(c, R1, R0, word);
		code_load(c, R2, FP, (int16_t)(DIFFERENCE + word));
		code_add(c, R1, R2);
		code_store(c, R0, word, R1);
	}
	code_exit(c);
}

int bpf_follower_init(struct bpf_follower *f, const struct bpf_leader *l, const struct bpf_tasks *tasks,
		      uint32_t n_places, uint32_t n_cpus, struct error *e)
{
	struct bpf_code c = { 0 };
	int err;

	*f = BPF_FOLLOWER_NONE;
	f->n_places = n_places;
	f->n_cpus = n_cpus;
	err = bpf_cells_init(&f->cells, "pmrec_counts", sizeof(struct bpf_cell), first_count(f) + n_places * n_cpus);
	if (err)
		return error_sys(e, -err, "a BPF map");
	write_follower(&c, f, l->readings, tasks ? tasks->map : -1);
	f->program = bpf_program_load(
		&(struct bpf_program){ .name = "pmrec_follower", .type = BPF_PROG_TYPE_RAW_TRACEPOINT }, &c, e);
	if (f->program < 0)
		return f->program;
	/* What attaches to a tracepoint later runs later: the leader is already attached. */
	f->link = bpf_program_attach(f->program, "sched_switch");
	return f->link < 0 ? error_sys(e, -f->link, "attaching to sched_switch") : 0;
}

void bpf_follower_release(struct bpf_follower *f)
{
	fd_close(&f->link);
	fd_close(&f->program);
	bpf_cells_release(&f->cells);
	*f = BPF_FOLLOWER_NONE;
}

void bpf_follower_enable(const struct bpf_follower *f, bool on)
{
	uint64_t *word = bpf_cells_at(&f->cells, 0);

	__atomic_store_n(word, on, __ATOMIC_RELEASE);
}

void bpf_follower_read(const struct bpf_follower *f, const struct bpf_leader *l, uint32_t cpu)
{
	bpf_leader_read(l, cpu);
	(void)bpf_program_run(f->program, cpu);
}

struct bpf_sum bpf_follower_sum(const struct bpf_follower *f, uint32_t place, uint32_t cpu)
{
	size_t index = first_count(f) + (size_t)(cpu == PM_NONE ? 0 : cpu) * f->n_places + place;

	return (struct bpf_sum){ .first = bpf_cells_at(&f->cells, index),
				 .step = f->n_places * sizeof(struct bpf_cell),
				 .n = cpu == PM_NONE ? f->n_cpus : 1 };
}
