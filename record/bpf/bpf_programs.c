#include "record/bpf/bpf_programs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/memory.h"
#include "format/model.h"

/* An entry in the map of leaders. */
struct entry {
	uint32_t link_id, differences_id;
};

/* perf creates the map with 16 elements, which fills up with leaders that have ended. */
enum { LEADERS_MAX = 1024, BPF_FS = (int)0xcafe4a11 };

/* ---- the map of leaders ---- */

static int make_map(const char *path, struct error *e)
{
	int map = bpf_map_new(&(struct bpf_map_shape){ .name = "perf_attr_map",
						       .type = BPF_MAP_TYPE_HASH,
						       .key_size = sizeof(struct perf_event_attr),
						       .value_size = sizeof(struct entry),
						       .entries = LEADERS_MAX }),
	    err;

	if (map < 0)
		return error_sys(e, -map, "the map of shared events");
	err = bpf_pin(map, path);
	if (!err)
		return map;
	close(map);
	/* Another process was faster. */
	map = err == -EEXIST ? bpf_pinned(path) : err;
	return map < 0 ? error_sys(e, -map, "%.200s", path) : map;
}

/* The directory for the name: it must be on a BPF file system. */
static int check_folder(const char *path, struct error *e)
{
	const char *slash = strrchr(path, '/');
	char folder[512];
	struct statfs fs;

	snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
	if (statfs(*folder ? folder : "/", &fs))
		return error_sys(e, errno, "%.200s", folder);
	if ((int)fs.f_type != BPF_FS)
		return error_set(e, ENOTSUP, "%.200s is not a BPF file system; mount -t bpf bpf /sys/fs/bpf", folder);
	/* Check with the caller's rights: pmrec may have more. */
	if (access(path, R_OK | W_OK) && (errno != ENOENT || access(*folder ? folder : "/", W_OK)))
		return error_sys(e, errno, "%.200s", path);
	return 0;
}

int bpf_leaders_open(struct bpf_leaders *l, const char *path, struct error *e)
{
	struct bpf_map_info info = { 0 };
	int err = check_folder(path, e);

	*l = (struct bpf_leaders){ .map = -1 };
	if (err)
		return err;
	l->map = bpf_pinned(path);
	if (l->map == -ENOENT)
		l->map = make_map(path, e);
	else if (l->map < 0)
		error_sys(e, -l->map, "%.200s", path);
	if (l->map < 0)
		return l->map;
	err = bpf_info(l->map, &info, sizeof(info));
	if (err) {
		error_sys(e, -err, "%.200s", path);
	} else if (info.type != BPF_MAP_TYPE_HASH || info.key_size < PERF_ATTR_SIZE_VER5 ||
		   info.key_size > PERF_ATTR_BYTES || info.value_size != sizeof(struct entry)) {
		err = error_set(e, EINVAL,
				"%.200s is not a map of shared events; name another one with --bpf-attr-map", path);
	} else if (flock(l->map, LOCK_EX)) {
		err = error_sys(e, errno, "locking %.200s", path);
	}
	l->key_size = info.key_size;
	if (err)
		bpf_leaders_close(l);
	return err;
}

void bpf_leaders_close(struct bpf_leaders *l)
{
	if (l->map < 0)
		return;
	flock(l->map, LOCK_UN);
	close(l->map);
	l->map = -1;
}

/* The event as all users share it: always enabled, without settings of any user, and with both times. */
static void common_attr(union perf_attr *to, const union perf_attr *from)
{
	*to = *from;
	to->a.disabled = 0;
	to->a.inherit = 0;
	to->a.enable_on_exec = 0;
	to->a.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
}

/* ---- the program ---- */

/* R6 = the previous reading, R7 = the difference to it; the current reading is at FP + NOW. */
enum { NOW = -32 };

static void write_leader(struct bpf_code *c, int events, int before, int differences)
{
	code_element_at(c, before, -4, 0);
	code_copy(c, R6, R0);
	code_element_at(c, differences, -4, 0);
	code_copy(c, R7, R0);
	/* What cannot be read adds nothing: otherwise followers would add the last difference again. */
	for (int16_t word = 0; word < (int16_t)sizeof(struct bpf_cell); word += 8)
		code_store_value(c, R7, word, 0);
	code_call(c, BPF_FUNC_get_smp_processor_id);
	code_read_event(c, events, R0, FP, NOW);
	code_exit_unless_zero(c, R0);
	code_differences(c, FP, NOW, R6, 0, R7, 0);
	code_exit(c);
}

static int load_leader(int events, int before, int differences, struct error *e)
{
	struct bpf_code c = { 0 };
	SCOPED(fd_close) int btf = btf_function("on_switch");

	if (btf < 0)
		return error_sys(e, -btf, "the BTF of a BPF program");
	write_leader(&c, events, before, differences);
	return bpf_program_load(&(struct bpf_program){ .name = "on_switch",
						       .type = BPF_PROG_TYPE_RAW_TRACEPOINT,
						       .btf = btf,
						       .function = BTF_FUNCTION },
				&c, e);
}

/* ---- leaders ---- */

/* Puts the event on a CPU into the map, which keeps it open. */
static int leader_event(int events, const union perf_attr *attr, const char *filter, uint32_t cpu)
{
	union perf_attr common;
	SCOPED(fd_close) int fd = -1;

	common_attr(&common, attr);
	fd = perf_open(&common, perf_on_cpu((int)cpu), -1);
	if (fd < 0)
		return fd;
	return filter && ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter) ? -errno : bpf_map_put_fd(events, &cpu, fd);
}

/* Some CPUs may lack the event, or have just gone offline, but not all. */
static int add_events(int events, const union perf_attr *attr, const char *filter, const struct cpulist *cpus,
		      struct error *e)
{
	int err = 0, last = -ENODEV;
	size_t n = 0;

	for (size_t i = 0; i < cpus->n && err != -EMFILE && err != -ENOMEM; i++) {
		err = leader_event(events, attr, filter, cpus->cpu[i]);
		last = err ? err : last;
		n += !err;
	}
	if (n && err != -EMFILE && err != -ENOMEM)
		return 0;
	return error_sys(e, -last, "opening the event on all CPUs");
}

static int make_leader(struct bpf_leader *l, const union perf_attr *attr, const char *filter,
		       const struct cpulist *cpus, uint32_t n_cpus, struct error *e)
{
	struct bpf_map_shape one = {
		.type = BPF_MAP_TYPE_PERCPU_ARRAY, .key_size = 4, .value_size = sizeof(struct bpf_cell), .entries = 1
	};
	struct bpf_map_shape events = { .name = "events",
					.type = BPF_MAP_TYPE_PERF_EVENT_ARRAY,
					.key_size = 4,
					.value_size = 4,
					.entries = n_cpus,
					.flags = BPF_KEEP_EVENTS };
	int err;

	l->events = bpf_map_new(&events);
	one.name = "prev_readings";
	l->readings = l->events < 0 ? l->events : bpf_map_new(&one);
	one.name = "diff_readings";
	l->differences = l->readings < 0 ? l->readings : bpf_map_new(&one);
	err = l->differences < 0 ? error_sys(e, -l->differences, "a BPF map") : 0;
	if (!err)
		err = l->program = load_leader(l->events, l->readings, l->differences, e);
	if (err >= 0)
		err = add_events(l->events, attr, filter, cpus, e);
	if (err >= 0) {
		err = l->link = bpf_program_attach(l->program, "sched_switch");
		if (err < 0)
			error_sys(e, -err, "attaching to sched_switch");
	}
	return err < 0 ? err : 0;
}

enum { MAPS_MAX = 8 };

/* A map of the leader with that type and another id. A descriptor or -errno. */
static int map_of(const struct bpf_leader *l, enum bpf_map_type type, uint32_t other)
{
	uint32_t id[MAPS_MAX];
	struct bpf_prog_info program = { .nr_map_ids = MAPS_MAX };
	int err = bpf_info_list(l->program, &program, sizeof(program), offsetof(struct bpf_prog_info, map_ids), id,
				sizeof(id));

	for (uint32_t i = 0; i < program.nr_map_ids && i < MAPS_MAX && !err; i++) {
		struct bpf_map_info info = { 0 };
		int map = bpf_by_id(BPF_MAP_GET_FD_BY_ID, id[i]);

		err = map < 0 ? map : bpf_info(map, &info, sizeof(info));
		if (!err && info.type == type && info.id != other)
			return map;
		if (map >= 0)
			close(map);
	}
	return err ? err : -ENOENT;
}

/* Joins the leader that the entry names; -ENOENT if it has ended. */
static int find_leader(struct bpf_leader *l, const struct entry *entry)
{
	struct bpf_link_info link = { 0 };
	int err;

	l->link = bpf_by_id(BPF_LINK_GET_FD_BY_ID, entry->link_id);
	if (l->link < 0)
		return l->link;
	err = bpf_info(l->link, &link, sizeof(link));
	if (!err)
		err = l->program = bpf_by_id(BPF_PROG_GET_FD_BY_ID, link.prog_id);
	if (err >= 0)
		err = l->differences = bpf_by_id(BPF_MAP_GET_FD_BY_ID, entry->differences_id);
	if (err >= 0)
		err = l->readings = map_of(l, BPF_MAP_TYPE_PERCPU_ARRAY, entry->differences_id);
	l->found = true;
	return err < 0 ? err : 0;
}

/* Drops the entries of leaders that have ended. */
static void sweep(const struct bpf_leaders *all)
{
	char key[PERF_ATTR_BYTES], next[PERF_ATTR_BYTES];
	bool more = !bpf_map_next(all->map, NULL, key);

	while (more) {
		struct entry entry;
		SCOPED(fd_close) int link = -1;

		more = !bpf_map_next(all->map, key, next);
		if (!bpf_map_get(all->map, key, &entry))
			link = bpf_by_id(BPF_LINK_GET_FD_BY_ID, entry.link_id);
		if (link == -ENOENT)
			bpf_map_drop(all->map, key);
		memcpy(key, next, sizeof(key));
	}
}

static int tell_leader(const struct bpf_leaders *all, const void *key, const struct bpf_leader *l, struct error *e)
{
	struct bpf_link_info link = { 0 };
	struct bpf_map_info map = { 0 };
	struct entry entry;
	int err = bpf_info(l->link, &link, sizeof(link));

	if (!err)
		err = bpf_info(l->differences, &map, sizeof(map));
	entry = (struct entry){ .link_id = link.id, .differences_id = map.id };
	if (!err)
		err = bpf_map_put(all->map, key, &entry);
	if (err == -E2BIG) {
		sweep(all);
		err = bpf_map_put(all->map, key, &entry);
	}
	return err ? error_sys(e, -err, "the map of shared events") : 0;
}

/* Keys that are too short for an event would take it for another one. */
static bool has_key(const struct bpf_leaders *all, const union perf_attr *key)
{
	bool has = all->map >= 0;

	for (uint32_t i = all->key_size; i < PERF_ATTR_BYTES; i++)
		has = has && !key->bytes[i];
	return has;
}

int bpf_leader_begin(struct bpf_leader *l, const struct bpf_leaders *all, const union perf_attr *attr,
		     const char *filter, const struct cpulist *cpus, uint32_t n_cpus, struct error *e)
{
	union perf_attr key;
	bool shared;
	struct entry entry;
	int err;

	*l = BPF_LEADER_NONE;
	common_attr(&key, attr);
	shared = l->shared = has_key(all, &key) && !filter;
	if (shared && !bpf_map_get(all->map, key.bytes, &entry)) {
		err = find_leader(l, &entry);
		if (!err)
			return 0;
		bpf_leader_release(l);
		if (err == -EPERM)
			return error_set(
				e, EPERM,
				"sharing an event that others count needs CAP_SYS_ADMIN; name another map with "
				"--bpf-attr-map, or setcap cap_sys_admin=ep \"$(command -v pmrec)\"");
	}
	err = make_leader(l, attr, filter, cpus, n_cpus, e);
	return err || !shared ? err : tell_leader(all, key.bytes, l, e);
}

void bpf_leader_release(struct bpf_leader *l)
{
	int *const fd[] = { &l->link, &l->program, &l->events, &l->readings, &l->differences };

	for (size_t i = 0; i < sizeof(fd) / sizeof(fd[0]); i++)
		fd_close(fd[i]);
	l->found = false;
}

int bpf_leader_add_cpu(const struct bpf_leader *l, const union perf_attr *attr, const char *filter, uint32_t cpu)
{
	int events = l->events < 0 ? map_of(l, BPF_MAP_TYPE_PERF_EVENT_ARRAY, 0) : l->events;
	int err = events < 0 ? events : leader_event(events, attr, filter, cpu);

	if (events >= 0 && events != l->events)
		close(events);
	return err;
}

/* Reads the event on the CPU now, so that followers know all that has been counted so far. */
static void bpf_leader_read(const struct bpf_leader *l, uint32_t cpu)
{
	/* Fails for a CPU that is offline, which has nothing new. */
	(void)bpf_program_run(l->program, cpu);
}

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

static int watch_tasks(const struct watch *w, int tasks, int32_t pid, struct error *e)
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
			err = t->link[i] = watch_tasks(&watches[i], t->map, pid, e);
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

enum { CELL = sizeof(struct bpf_cell) };

/* R6 = the leader's reading, R7 = its previous reading; stores the difference at FP + DIFFERENCE; R8 = the CPU. Then
 * the program ends if this follower is stopped, or if the task that leaves the CPU is not one of its own. */
static void write_follower(struct bpf_code *c, const struct bpf_follower *f, int readings, int tasks)
{
	enum { DIFFERENCE = -32 };

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
enum { AT_TAG = 0, AT_RUNS = 8, AT_TOTAL = 16 };

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
				   .link = memory_new((size_t)n_targets * 2, sizeof(*p->link)) };
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

enum { DEPTH_MAX = 64 };

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

static int load_switch(const struct bpf_cgroups *g, const struct offsets *at, struct error *e)
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
	g->reader = load_switch(g, NULL, e);
	program = g->reader < 0 ? g->reader : load_switch(g, &at, e);
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
