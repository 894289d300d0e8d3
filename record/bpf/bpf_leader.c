#include "record/bpf/bpf_leader.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "record/bpf/bpf_btf.h"
#include "record/bpf/bpf_call.h"

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
static int add_event(int events, const union perf_attr *attr, const char *filter, uint32_t cpu)
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
		err = add_event(events, attr, filter, cpus->cpu[i]);
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
	int err = events < 0 ? events : add_event(events, attr, filter, cpu);

	if (events >= 0 && events != l->events)
		close(events);
	return err;
}

void bpf_leader_read(const struct bpf_leader *l, uint32_t cpu)
{
	/* Fails for a CPU that is offline, which has nothing new. */
	(void)bpf_program_run(l->program, cpu);
}
