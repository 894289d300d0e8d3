#include "record/bpf/bpf_profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "record/bpf/bpf_btf.h"
#include "record/bpf/bpf_call.h"
#include "record/bpf/bpf_check.h"

/* ---- programs to be counted ---- */

static void name_target(struct bpf_target *t, uint32_t btf_id)
{
	SCOPED(fd_close) int fd = bpf_by_id(BPF_BTF_GET_FD_BY_ID, btf_id);
	SCOPED(btf_release) struct btf b = { 0 };

	if (fd < 0)
		return;
	if (!btf_read(&b, fd) && *btf_name(&b, t->function))
		snprintf(t->name, sizeof(t->name), "%s", btf_name(&b, t->function));
}

int bpf_target_find(struct bpf_target *t, uint32_t id, struct error *e)
{
	struct bpf_func_info function = { 0 };
	struct bpf_prog_info info = { 0 };
	uint32_t btf;
	int err;

	*t = (struct bpf_target){ .id = id, .fd = bpf_by_id(BPF_PROG_GET_FD_BY_ID, id) };
	if (t->fd == -ENOENT)
		return error_set(e, ENOENT, "-b %u: there is no such BPF program; `bpftool prog` lists them", id);
	if (t->fd == -EPERM)
		return error_set(e, EPERM,
				 "-b %u: finding BPF programs needs CAP_SYS_ADMIN; run pmrec as root, or setcap "
				 "cap_sys_admin=ep \"$(command -v pmrec)\"",
				 id);
	if (t->fd < 0)
		return error_sys(e, -t->fd, "-b %u", id);
	err = bpf_info(t->fd, &info, sizeof(info));
	if (err)
		return error_sys(e, -err, "-b %u", id);
	snprintf(t->name, sizeof(t->name), "%s", info.name);
	if (!info.btf_id || !info.nr_func_info)
		return error_set(e, EINVAL,
				 "-b %u: the BPF program %s was loaded without BTF, so nothing can attach to it; "
				 "build it with clang -g and load it with libbpf",
				 id, t->name);
	if (!info.jited_prog_len)
		return error_set(
			e, EPROTO,
			"-b %u: the BPF program %s is interpreted; reload it after sysctl net.core.bpf_jit_enable=1",
			id, t->name);
	btf = info.btf_id;
	info = (struct bpf_prog_info){ .func_info_rec_size = sizeof(function), .nr_func_info = 1 };
	err = bpf_info_list(t->fd, &info, sizeof(info), offsetof(struct bpf_prog_info, func_info), &function,
			    sizeof(function));
	if (err)
		return error_sys(e, -err, "-b %u", id);
	t->function = function.type_id;
	name_target(t, btf);
	return 0;
}

void bpf_target_release(struct bpf_target *t)
{
	fd_close(&t->fd);
}

/* ---- the two programs around it ---- */

/* An element of the cells: the run that has begun on the CPU, how many have ended, and three cells for each event. */
enum { AT_TAG = 0, AT_RUNS = 8, AT_TOTAL = 16, CELL = sizeof(struct bpf_cell) };

static int16_t at_total(uint32_t event)
{
	return (int16_t)(AT_TOTAL + event * CELL);
}

static int16_t at_before(const struct bpf_profile *p, uint32_t event)
{
	return at_total(p->n_events + event);
}

static int16_t at_after(const struct bpf_profile *p, uint32_t event)
{
	return at_total(2 * p->n_events + event);
}

/* R6 = the element of this CPU, R7 = the CPU. */
static void find_element(struct bpf_code *c, const struct bpf_profile *p, uint32_t target)
{
	code_call(c, BPF_FUNC_get_smp_processor_id);
	code_copy(c, R7, R0);
	code_add_value(c, R0, (int32_t)(target * p->n_cpus));
	code_element_of(c, p->cells.map, -4, R0);
	code_copy(c, R6, R0);
}

static void read_events(struct bpf_code *c, const struct bpf_profile *p, int16_t first)
{
	for (uint32_t i = 0; i < p->n_events; i++) {
		code_read_event(c, p->events, R7, R6, (int16_t)(first + i * CELL));
		code_add_value(c, R7, (int32_t)p->n_cpus);
	}
}

/* R0 = an identification of the running task: if the program is preempted, another task may begin it meanwhile. Never
 * 0. */
static void tag(struct bpf_code *c)
{
	code_call(c, BPF_FUNC_get_current_pid_tgid);
	code_add_value(c, R0, 1);
}

static void write_entry(struct bpf_code *c, const struct bpf_profile *p, uint32_t target)
{
	find_element(c, p, target);
	tag(c);
	code_store(c, R6, AT_TAG, R0);
	read_events(c, p, at_before(p, 0));
	code_exit(c);
}

/* A cell that could not be read is all zero; one that was read has been enabled for some time. */
static void add_difference(struct bpf_code *c, const struct bpf_profile *p, uint32_t event)
{
	int16_t enabled = offsetof(struct bpf_cell, enabled);
	uint32_t unread, unread_before;

	code_load(c, R1, R6, (int16_t)(at_after(p, event) + enabled));
	unread = code_skip_if_zero(c, R1);
	code_load(c, R1, R6, (int16_t)(at_before(p, event) + enabled));
	unread_before = code_skip_if_zero(c, R1);
	for (int16_t word = 0; word < CELL; word += 8) {
		code_load(c, R1, R6, (int16_t)(at_after(p, event) + word));
		code_load(c, R2, R6, (int16_t)(at_before(p, event) + word));
		code_subtract(c, R1, R2);
		code_load(c, R2, R6, (int16_t)(at_total(event) + word));
		code_add(c, R1, R2);
		code_store(c, R6, (int16_t)(at_total(event) + word), R1);
	}
	code_here(c, unread);
	code_here(c, unread_before);
}

static void write_exit(struct bpf_code *c, const struct bpf_profile *p, uint32_t target)
{
	find_element(c, p, target);
	read_events(c, p, at_after(p, 0));
	tag(c);
	code_load(c, R1, R6, AT_TAG);
	code_exit_unless_equal(c, R0, R1);
	code_store_value(c, R6, AT_TAG, 0);
	code_load(c, R1, R6, AT_RUNS);
	code_add_value(c, R1, 1);
	code_store(c, R6, AT_RUNS, R1);
	for (uint32_t i = 0; i < p->n_events; i++)
		add_difference(c, p, i);
	code_exit(c);
}

/* ---- the profile ---- */

static int attach(const struct bpf_profile *p, uint32_t target, bool entry, struct error *e)
{
	const struct bpf_target *t = &p->target[target];
	struct bpf_code c = { 0 };
	SCOPED(fd_close) int fd = -1;
	int link;

	(entry ? write_entry : write_exit)(&c, p, target);
	fd = bpf_program_load(&(struct bpf_program){ .name = entry ? "pmrec_entry" : "pmrec_exit",
						     .type = BPF_PROG_TYPE_TRACING,
						     .attach = entry ? BPF_TRACE_FENTRY : BPF_TRACE_FEXIT,
						     .target = t->fd,
						     .target_type = t->function },
			      &c, e);
	if (fd < 0) {
		bpf_attach_refused(fd, e);
		return error_prefix(e, "-b %u (%s)", t->id, t->name);
	}
	link = bpf_program_attach(fd, NULL);
	if (link == -E2BIG)
		return error_set(e, E2BIG,
				 "-b %u (%s): the kernel attaches no more programs to it; stop what else profiles it",
				 t->id, t->name);
	if (link < 0) {
		error_sys(e, -link, "attaching to it");
		bpf_attach_refused(link, e);
		return error_prefix(e, "-b %u (%s)", t->id, t->name);
	}
	return link;
}

int bpf_profile_init(struct bpf_profile *p, const struct bpf_target *target, uint32_t n_targets, uint32_t n_events,
		     uint32_t n_cpus, struct error *e)
{
	uint32_t size = AT_TOTAL + 3 * CELL * n_events;
	int err;

	*p = (struct bpf_profile){ .target = target,
				   .n_targets = n_targets,
				   .n_events = n_events,
				   .n_cpus = n_cpus,
				   .events = -1,
				   .cells = BPF_CELLS_NONE,
				   .link = malloc((size_t)n_targets * 2 * sizeof(*p->link)) };
	if (!p->link)
		return error_sys(e, ENOMEM, "-b");
	for (uint32_t i = 0; i < 2 * n_targets; i++)
		p->link[i] = -1;
	if (n_events > BPF_PROFILE_EVENTS_MAX)
		return error_set(e, E2BIG, "-b: more than %d events", BPF_PROFILE_EVENTS_MAX);
	p->events = bpf_map_new(&(struct bpf_map_shape){ .name = "pmrec_events",
							 .type = BPF_MAP_TYPE_PERF_EVENT_ARRAY,
							 .key_size = 4,
							 .value_size = 4,
							 .entries = n_events * n_cpus });
	err = p->events < 0 ? p->events : bpf_cells_init(&p->cells, "pmrec_runs", size, n_targets * n_cpus);
	if (err)
		return error_sys(e, -err, "a BPF map");
	/* Without an entry nothing is counted: attach to the exits first, so that no run is measured by half. */
	for (uint32_t i = 0; i < 2 * n_targets && err >= 0; i++)
		err = p->link[i] = attach(p, i % n_targets, i >= n_targets, e);
	return err < 0 ? err : 0;
}

void bpf_profile_release(struct bpf_profile *p)
{
	for (uint32_t i = 0; p->link && i < 2 * p->n_targets; i++)
		fd_close(&p->link[i]);
	free(p->link);
	fd_close(&p->events);
	bpf_cells_release(&p->cells);
	*p = (struct bpf_profile){ .events = -1, .cells = BPF_CELLS_NONE };
}

int bpf_profile_put(const struct bpf_profile *p, uint32_t event, uint32_t cpu, int fd)
{
	uint32_t key = event * p->n_cpus + cpu;

	return fd < 0 ? bpf_map_drop(p->events, &key) : bpf_map_put_fd(p->events, &key, fd);
}

struct bpf_sum bpf_profile_sum(const struct bpf_profile *p, uint32_t target, uint32_t event, uint32_t cpu)
{
	const char *element = bpf_cells_at(&p->cells, (size_t)target * p->n_cpus + cpu);

	return (struct bpf_sum){ .first = (const void *)(element + at_total(event)), .n = 1 };
}
