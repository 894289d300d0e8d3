/*
 * What programs of counting by BPF compute, run by an interpreter of their instructions (as the kernel's documentation
 * has them) on events, tasks and CPUs that a test makes up. The linker puts a bpf(2) of our own in the place of the
 * kernel's.
 */
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include "format/model.h"
#include "record/perf/perf_bpf.c"
#include "tests/unit/lib/kernel_types.h"
#include "tests/unit/lib/sysroot.h"
#include "tests/unit/lib/test.h"

enum { CPUS = 2, THINGS = 32, STEPS = 20000 };

/* ---- what the kernel keeps ---- */

struct map {
	int fd;
	uint32_t type, key_size, value_size, entries;
	char *data;                    /* elements in rows, CPU by CPU where it has them for each */
	char key[64][PERF_ATTR_BYTES]; /* of a hash, by place */
	bool used[64];
};

struct program {
	int fd;
	char name[16];
	struct bpf_insn insn[512];
	uint32_t n;
};

static struct map maps[THINGS];
static struct program programs[THINGS];
static struct {
	int fd, program;
	bool ended;
	char tracepoint[32];
} links[THINGS];
static unsigned n_maps, n_programs, n_links;
static int pinned = -1; /* what has a name in the BPF file system */
static int faster = -1; /* what another process gives a name first; -1: nobody does */
static int refused[2];  /* errno for loading programs, and for maps */

/* ---- the world of the programs ---- */

static uint32_t cpu;                   /* the one that runs */
static uint64_t task;                  /* pid << 32 | tid of the task that leaves it */
static struct bpf_cell event[4][CPUS]; /* what the events of a map read, in its order */
static bool broken[4][CPUS];           /* cannot be read */
static uint32_t n_cpus_of_map;         /* index = event * this + CPU */
static uint64_t around[4];             /* ids of the cgroups of the task, from the root; 0: no more */

/* Descriptors that were made of ids, and those that they stand for. */
static struct {
	int fd, of;
} alias[THINGS];
static unsigned n_aliases;

static int original(int fd)
{
	for (unsigned i = n_aliases; i-- > 0;)
		if (alias[i].fd == fd)
			return alias[i].of;
	return fd;
}

static int another(int of)
{
	assert_true(n_aliases < THINGS);
	alias[n_aliases].of = of;
	alias[n_aliases].fd = fcntl(of, F_DUPFD_CLOEXEC, 100 + (int)n_aliases);
	return alias[n_aliases++].fd;
}

static struct map *map_at(int fd)
{
	fd = original(fd);
	/* The newest with that number. */
	for (unsigned i = n_maps; i-- > 0;)
		if (maps[i].fd == fd)
			return &maps[i];
	fail_msg("there is no map %d", fd);
	return NULL;
}

static char *element(struct map *m, const void *key, uint32_t on)
{
	uint32_t k;

	if (m->type == BPF_MAP_TYPE_HASH) {
		for (unsigned i = 0; i < 64; i++)
			if (m->used[i] && !memcmp(m->key[i], key, m->key_size))
				return m->data + i * m->value_size;
		return NULL;
	}
	memcpy(&k, key, sizeof(k));
	if (k >= m->entries)
		return NULL;
	if (m->type == BPF_MAP_TYPE_PERCPU_ARRAY)
		k = k * CPUS + on;
	return m->data + (size_t)k * m->value_size;
}

static long update(struct map *m, const void *key, const void *value, uint64_t flags)
{
	char *at = element(m, key, 0);
	unsigned i = 0;

	if (m->type == BPF_MAP_TYPE_PERF_EVENT_ARRAY)
		return 0;
	if (at && flags == BPF_NOEXIST)
		return -EEXIST;
	if (!at) {
		while (i < m->entries && m->used[i])
			i++;
		if (i == m->entries)
			return -E2BIG;
		m->used[i] = true;
		memcpy(m->key[i], key, m->key_size);
		at = m->data + i * m->value_size;
	}
	memcpy(at, value, m->value_size);
	return 0;
}

static long drop(struct map *m, const void *key)
{
	for (unsigned i = 0; i < 64; i++)
		if (m->used[i] && !memcmp(m->key[i], key, m->key_size)) {
			m->used[i] = false;
			return 0;
		}
	return -ENOENT;
}

/* ---- the interpreter ---- */

static void *pointer(uint64_t v)
{
	return (void *)(uintptr_t)v;
}

static uint64_t call_helper(int32_t id, const uint64_t *r)
{
	struct bpf_cell *to = pointer(r[3]);
	uint32_t of;

	switch (id) {
	case BPF_FUNC_map_lookup_elem:
		return (uintptr_t)element(map_at((int)r[1]), pointer(r[2]), cpu);
	case BPF_FUNC_map_update_elem:
		return (uint64_t)update(map_at((int)r[1]), pointer(r[2]), pointer(r[3]), r[4]);
	case BPF_FUNC_map_delete_elem:
		return (uint64_t)drop(map_at((int)r[1]), pointer(r[2]));
	case BPF_FUNC_get_smp_processor_id:
		return cpu;
	case BPF_FUNC_get_current_pid_tgid:
		return task;
	case BPF_FUNC_probe_read_kernel:
		memcpy(pointer(r[1]), pointer(r[3]), r[2]);
		return 0;
	case BPF_FUNC_get_current_ancestor_cgroup_id:
		return r[1] < 4 ? around[r[1]] : 0;
	case BPF_FUNC_perf_event_read_value:
		assert_int_equal(map_at((int)r[1])->type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
		assert_int_equal(r[4], sizeof(*to));
		assert_true(r[2] < map_at((int)r[1])->entries);
		of = (uint32_t)r[2] / n_cpus_of_map;
		/* Only on the CPU on which it counts. */
		assert_int_equal(r[2] % n_cpus_of_map, cpu);
		*to = broken[of][cpu] ? (struct bpf_cell){ 0 } : event[of][cpu];
		return broken[of][cpu] ? (uint64_t)-ENOENT : 0;
	}
	fail_msg("call %d", id);
	return 0;
}

static uint64_t run(const struct program *p, void *context)
{
	uint64_t r[11] = { 0 }, stack[64];
	uint32_t at = 0;

	memset(stack, 0xa5, sizeof(stack));
	r[1] = (uintptr_t)context;
	r[10] = (uintptr_t)(stack + 64);
	for (unsigned step = 0; step < STEPS; step++) {
		const struct bpf_insn *i = &p->insn[at];
		uint64_t *d = &r[i->dst_reg], s = r[i->src_reg];
		uint64_t k = BPF_SRC(i->code) == BPF_X ? s : (uint64_t)(int64_t)i->imm;
		void *to = pointer(*d + (uint64_t)(int64_t)i->off), *from = pointer(s + (uint64_t)(int64_t)i->off);
		bool jump = false;

		assert_true(at < p->n);
		at++;
		switch (i->code) {
		case BPF_ALU64 | BPF_MOV | BPF_K:
		case BPF_ALU64 | BPF_MOV | BPF_X:
			*d = k;
			break;
		case BPF_ALU64 | BPF_ADD | BPF_K:
		case BPF_ALU64 | BPF_ADD | BPF_X:
			*d += k;
			break;
		case BPF_ALU64 | BPF_SUB | BPF_X:
			*d -= k;
			break;
		case BPF_ALU64 | BPF_MUL | BPF_K:
			*d *= k;
			break;
		case BPF_LDX | BPF_MEM | BPF_DW:
			memcpy(d, from, 8);
			break;
		case BPF_LDX | BPF_MEM | BPF_W:
			*d = 0;
			memcpy(d, from, 4);
			break;
		case BPF_STX | BPF_MEM | BPF_DW:
			memcpy(to, &s, 8);
			break;
		case BPF_STX | BPF_MEM | BPF_W:
			memcpy(to, &s, 4);
			break;
		case BPF_ST | BPF_MEM | BPF_DW:
			k = (uint64_t)(int64_t)i->imm;
			memcpy(to, &k, 8);
			break;
		case BPF_ST | BPF_MEM | BPF_W:
			memcpy(to, &i->imm, 4);
			break;
		case BPF_LD | BPF_IMM | BPF_DW:
			assert_int_equal(i->src_reg, BPF_PSEUDO_MAP_FD);
			assert_int_equal(i[1].code, 0);
			*d = (uint64_t)i->imm;
			at++;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
		case BPF_JMP | BPF_JEQ | BPF_X:
			jump = *d == k;
			break;
		case BPF_JMP | BPF_JNE | BPF_K:
		case BPF_JMP | BPF_JNE | BPF_X:
			jump = *d != k;
			break;
		case BPF_JMP | BPF_JGE | BPF_X:
			jump = *d >= k;
			break;
		case BPF_JMP | BPF_JLT | BPF_K:
			jump = *d < k;
			break;
		case BPF_JMP | BPF_CALL:
			r[0] = call_helper(i->imm, r);
			/* They do not survive. */
			for (unsigned a = 1; a <= 5; a++)
				r[a] = 0xdead;
			break;
		case BPF_JMP | BPF_EXIT:
			return r[0];
		default:
			fail_msg("instruction %u: %#x", at - 1, i->code);
		}
		if (jump)
			at = (uint32_t)((int32_t)at + i->off);
	}
	fail_msg("%s does not end", p->name);
	return 0;
}

/* ---- bpf(2) ---- */

static const struct bpf_prog_info *described; /* what is said of programs; NULL: the maps that there are */

/* Ids are places from 1: of maps, of programs, of links. */
static long tell(int fd, void *info)
{
	struct bpf_prog_info *program = info;
	struct bpf_link_info *link = info;
	struct bpf_map_info *map = info;

	fd = original(fd);
	for (unsigned i = n_maps; i-- > 0;)
		if (maps[i].fd == fd) {
			*map = (struct bpf_map_info){ .type = maps[i].type,
						      .id = i + 1,
						      .key_size = maps[i].key_size,
						      .value_size = maps[i].value_size };
			return 0;
		}
	for (unsigned i = 0; i < n_links; i++)
		for (unsigned k = 0; k < n_programs && links[i].fd == fd; k++)
			if (programs[k].fd == links[i].program) {
				*link = (struct bpf_link_info){ .id = i + 1, .prog_id = k + 1 };
				return 0;
			}
	for (unsigned i = 0; i < n_programs; i++)
		if (programs[i].fd == fd && described) {
			*program = *described;
			return 0;
		} else if (programs[i].fd == fd) {
			uint32_t *ids = pointer(program->map_ids);

			program->nr_map_ids = n_maps < program->nr_map_ids ? n_maps : program->nr_map_ids;
			for (uint32_t k = 0; k < program->nr_map_ids; k++)
				ids[k] = k + 1;
			return 0;
		}
	return -EBADF;
}

static unsigned fails_at; /* which map, program or link is the first that cannot be made; 0: none */

static long bpf(int command, union bpf_attr *a)
{
	struct map *m;
	struct program *p;
	char *at;

	if ((command == BPF_MAP_CREATE || command == BPF_PROG_LOAD || command == BPF_RAW_TRACEPOINT_OPEN) &&
	    fails_at && !--fails_at) {
		fails_at = 1;
		return -ENOSPC;
	}
	switch (command) {
	case BPF_MAP_CREATE:
		if (refused[1])
			return -refused[1];
		m = &maps[n_maps++];
		assert_true(n_maps < THINGS);
		*m = (struct map){ .fd = memfd_create("map", MFD_CLOEXEC),
				   .type = a->map_type,
				   .key_size = a->key_size,
				   .value_size = a->value_size,
				   .entries = a->max_entries };
		assert_int_equal(ftruncate(m->fd, 1 << 20), 0);
		m->data = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0);
		return m->fd;
	case BPF_MAP_LOOKUP_ELEM:
		at = element(map_at((int)a->map_fd), pointer(a->key), 0);
		if (!at)
			return -ENOENT;
		memcpy(pointer(a->value), at, map_at((int)a->map_fd)->value_size);
		return 0;
	case BPF_MAP_UPDATE_ELEM:
		return update(map_at((int)a->map_fd), pointer(a->key), pointer(a->value), a->flags);
	case BPF_MAP_DELETE_ELEM:
		return drop(map_at((int)a->map_fd), pointer(a->key));
	case BPF_PROG_LOAD:
		if (refused[0])
			return -refused[0];
		/* What has types of its own says of which function. */
		if (a->prog_btf_fd) {
			const struct bpf_func_info *function = pointer(a->func_info);

			assert_int_equal(a->func_info_cnt, 1);
			assert_int_equal(a->func_info_rec_size, sizeof(*function));
			assert_int_equal(function->insn_off, 0);
			assert_int_equal(function->type_id, BTF_FUNCTION);
		}
		p = &programs[n_programs++];
		assert_true(a->insn_cnt <= 512 && n_programs < THINGS);
		p->fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		p->n = a->insn_cnt;
		memcpy(p->insn, pointer(a->insns), p->n * sizeof(*p->insn));
		snprintf(p->name, sizeof(p->name), "%s", a->prog_name);
		return p->fd;
	case BPF_RAW_TRACEPOINT_OPEN:
		links[n_links].fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		links[n_links].program = (int)a->raw_tracepoint.prog_fd;
		snprintf(links[n_links].tracepoint, 32, "%s",
			 a->raw_tracepoint.name ? (char *)pointer(a->raw_tracepoint.name) : "");
		return links[n_links++].fd;
	case BPF_PROG_TEST_RUN:
		cpu = a->test.cpu;
		for (unsigned i = 0; i < n_programs; i++)
			if (programs[i].fd == (int)a->test.prog_fd)
				return run(&programs[i], NULL) ? -EINVAL : 0;
		return -EBADF;
	case BPF_MAP_GET_NEXT_KEY: {
		unsigned i = 0;

		m = map_at((int)a->map_fd);
		while (a->key && i < 64 && !(m->used[i] && !memcmp(m->key[i], pointer(a->key), m->key_size)))
			i++;
		i += a->key != 0;
		while (i < 64 && !m->used[i])
			i++;
		if (i >= 64)
			return -ENOENT;
		memcpy(pointer(a->next_key), m->key[i], m->key_size);
		return 0;
	}
	case BPF_LINK_GET_FD_BY_ID:
		return !a->link_id || a->link_id > n_links || links[a->link_id - 1].ended ?
			       -ENOENT :
			       another(links[a->link_id - 1].fd);
	case BPF_PROG_GET_FD_BY_ID:
		if (!a->prog_id || a->prog_id > n_programs)
			return -ENOENT;
		return another(programs[a->prog_id - 1].fd);
	case BPF_MAP_GET_FD_BY_ID:
		return another(maps[a->map_id - 1].fd);
	case BPF_OBJ_GET_INFO_BY_FD:
		return tell((int)a->info.bpf_fd, pointer(a->info.info));
	case BPF_BTF_LOAD:
		return open("/dev/null", O_RDONLY | O_CLOEXEC);
	case BPF_OBJ_GET:
		return pinned < 0 ? -ENOENT : another(pinned);
	case BPF_OBJ_PIN:
		if (faster < 0)
			pinned = (int)a->bpf_fd;
		else
			pinned = faster;
		return faster < 0 ? 0 : -EEXIST;
	}
	return -EINVAL;
}

static bool is_bpf_fs;

int __real_statfs(const char *path, struct statfs *s);
int __wrap_statfs(const char *path, struct statfs *s);
int __real_fstatfs(int fd, struct statfs *s);
int __wrap_fstatfs(int fd, struct statfs *s);

int __wrap_statfs(const char *path, struct statfs *s)
{
	int err = __real_statfs(path, s);

	if (is_bpf_fs)
		s->f_type = (typeof(s->f_type))0xcafe4a11;
	return err;
}

/* All cgroups are of version 2. */
int __wrap_fstatfs(int fd, struct statfs *s)
{
	int err = __real_fstatfs(fd, s);

	s->f_type = 0x63677270;
	return err;
}

static union perf_attr opened[THINGS];
static unsigned n_opened;
static int refused_on[CPUS]; /* errno for events there */

long __real_syscall(long number, long a, long b, long c, long d, long e);
long __wrap_syscall(long number, long a, long b, long c, long d, long e);

long __wrap_syscall(long number, long a, long b, long c, long d, long e)
{
	long result;

	if (number == SYS_perf_event_open && n_opened < THINGS)
		opened[n_opened++] = *(const union perf_attr *)pointer((uint64_t)a);
	if (number == SYS_perf_event_open && c < CPUS && refused_on[c]) {
		errno = refused_on[c];
		return -1;
	}
	if (number == SYS_perf_event_open)
		return open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (number != SYS_bpf)
		return __real_syscall(number, a, b, c, d, e);
	result = bpf((int)a, pointer((uint64_t)b));
	errno = result < 0 ? (int)-result : 0;
	return result < 0 ? -1 : result;
}

static int begin(void **state)
{
	n_maps = n_programs = n_links = n_opened = n_aliases = 0;
	memset(event, 0, sizeof(event));
	memset(broken, 0, sizeof(broken));
	memset(refused, 0, sizeof(refused));
	memset(refused_on, 0, sizeof(refused_on));
	pinned = faster = -1;
	n_cpus_of_map = CPUS;
	return 0;
}

static int end(void **state)
{
	for (unsigned i = 0; i < n_maps; i++)
		munmap(maps[i].data, 1 << 20);
	return 0;
}

static const struct program *named(const char *name, unsigned skip)
{
	for (unsigned i = 0; i < n_programs; i++)
		if (!strcmp(programs[i].name, name) && !skip--)
			return &programs[i];
	fail_msg("no program %s", name);
	return NULL;
}

static void assert_cell(struct bpf_sum sum, uint64_t value, uint64_t enabled, uint64_t running)
{
	struct bpf_cell c = bpf_sum_read(&sum);

	assert_int_equal(c.value, value);
	assert_int_equal(c.enabled, enabled);
	assert_int_equal(c.running, running);
}

/* ---- leaders and followers ---- */

static struct bpf_leader leader;
static struct bpf_follower follower;

static void lead(void)
{
	static const struct bpf_leaders alone = { .map = -1 };
	union perf_attr attr = { .a = { .size = 64 } };
	struct cpulist cpus = { 0 };
	struct error e = { 0 };

	for (uint32_t i = 0; i < CPUS; i++)
		assert_int_equal(cpulist_add(&cpus, i), 0);
	if (bpf_leader_begin(&leader, &alone, &attr, NULL, &cpus, CPUS, &e))
		fail_msg("%s", e.text);
	cpulist_release(&cpus);
	assert_int_equal(n_links, 1);
	assert_string_equal(links[0].tracepoint, "sched_switch");
	assert_int_equal(links[0].program, leader.program);
}

/* A task with this id leaves the CPU. */
static void leave(uint32_t on, uint64_t tid)
{
	cpu = on;
	task = 77ull << 32 | tid;
	assert_int_equal(run(named("on_switch", 0), NULL), 0);
	assert_int_equal(run(named("pmrec_follower", 0), NULL), 0);
}

static void unlead(void)
{
	bpf_follower_release(&follower);
	bpf_leader_release(&leader);
}

static void tasks_have_places_and_so_have_their_children(void **state)
{
	struct {
		int32_t state, pad[2], pid;
	} child = { .pid = 31 };
	uint64_t context[] = { (uintptr_t)&child, 0 };
	struct bpf_places tasks;
	struct error e = { 0 };
	struct root root;
	char dir[32];

	sysroot_make(dir, NULL);
	kernel_types_put(dir);
	root_init(&root, dir);
	if (bpf_tasks_init(&tasks, &root, 3, true, &e))
		fail_msg("%s", e.text);
	assert_int_equal(n_links, 2);
	assert_string_equal(links[0].tracepoint, "task_newtask");
	assert_string_equal(links[1].tracepoint, "sched_process_free");
	n_links = 0;
	lead();
	assert_int_equal(bpf_follower_init(&follower, &leader, &tasks, CPUS, &e), 0);
	bpf_cells_enable(&follower.cells, true);
	assert_int_equal(bpf_map_put(tasks.map, &(uint32_t){ 30 }, &(uint32_t){ 2 }), 0);
	assert_int_equal(bpf_map_put(tasks.map, &(uint32_t){ 40 }, &(uint32_t){ 0 }), 0);
	event[0][0] = (struct bpf_cell){ 1, 10, 10 };
	leave(0, 30);
	event[0][0] = (struct bpf_cell){ 3, 30, 30 };
	leave(0, 99); /* somebody else */
	event[0][0] = (struct bpf_cell){ 7, 70, 70 };
	leave(0, 40);
	event[0][1] = (struct bpf_cell){ 100, 100, 100 };
	leave(1, 30);
	assert_cell(bpf_follower_sum(&follower, 2, PM_NONE), 101, 110, 110);
	assert_cell(bpf_follower_sum(&follower, 2, 1), 100, 100, 100);
	assert_cell(bpf_follower_sum(&follower, 1, PM_NONE), 0, 0, 0);
	assert_cell(bpf_follower_sum(&follower, 0, PM_NONE), 4, 40, 40);
	/* 30 begins 31, which counts where it does; a stranger's child is a stranger. */
	task = 77ull << 32 | 30;
	run(named("pmrec_begin", 0), context);
	event[0][1].value = 150;
	leave(1, 31);
	assert_cell(bpf_follower_sum(&follower, 2, 1), 150, 100, 100);
	child.pid = 32;
	task = 99;
	run(named("pmrec_begin", 0), context);
	event[0][1].value = 170;
	leave(1, 32);
	assert_cell(bpf_follower_sum(&follower, 2, 1), 150, 100, 100);
	/* A place that it has already is not taken from it. */
	child.pid = 40;
	task = 77ull << 32 | 30;
	run(named("pmrec_begin", 0), context);
	event[0][1].value = 180;
	leave(1, 40);
	assert_cell(bpf_follower_sum(&follower, 0, 1), 10, 0, 0);
	/* When it is freed its number is nobody's. */
	child.pid = 31;
	run(named("pmrec_end", 0), context);
	event[0][1].value = 190;
	leave(1, 31);
	assert_cell(bpf_follower_sum(&follower, 2, 1), 150, 100, 100);
	assert_int_equal(bpf_map_drop(tasks.map, &(uint32_t){ 30 }), 0);
	leave(1, 30);
	assert_cell(bpf_follower_sum(&follower, 2, 1), 150, 100, 100);
	unlead();
	bpf_places_release(&tasks);
	/* Without inheritance nobody looks at who begins. */
	n_links = 0;
	assert_int_equal(bpf_tasks_init(&tasks, &root, 3, false, &e), 0);
	assert_int_equal(n_links, 1);
	assert_string_equal(links[0].tracepoint, "sched_process_free");
	bpf_places_release(&tasks);
	/* Nor without knowing where a task's number is. */
	sysroot_put(dir, "/sys/kernel/btf/vmlinux", "x");
	assert_int_equal(bpf_tasks_init(&tasks, &root, 3, true, &e), -ENOTSUP);
	root_release(&root);
	sysroot_remove(dir);
}

/* What the event of a CPU has counted belongs to the cgroup of the task that leaves it, and to all around that. */
static void cgroups_count_with_those_around_them(void **state)
{
	struct perf_cgroup cgroup[2] = { { .name = (char *)(uintptr_t) "a" }, { .name = (char *)(uintptr_t) "b" } };
	struct bpf_places places;
	struct error e = { 0 };
	struct stat st;
	char dir[32], path[64];

	sysroot_make(dir, NULL);
	memset(around, 0, sizeof(around));
	around[0] = 1;
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%d", dir, i);
		assert_int_equal(mkdir(path, 0700), 0);
		cgroup[i].fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_int_equal(fstat(cgroup[i].fd, &st), 0);
		around[i + 1] = st.st_ino;
	}
	assert_int_equal(bpf_cgroups_init(&places, cgroup, 2, &e), 0);
	lead();
	assert_int_equal(bpf_follower_init(&follower, &leader, &places, CPUS, &e), 0);
	/* Nothing while it is stopped, and nothing of that later. */
	event[0][0] = (struct bpf_cell){ 100, 1000, 500 };
	leave(0, 1);
	assert_cell(bpf_follower_sum(&follower, 0, 0), 0, 0, 0);
	bpf_cells_enable(&follower.cells, true);
	event[0][0] = (struct bpf_cell){ 104, 1020, 510 };
	leave(0, 1);
	for (uint32_t i = 0; i < 2; i++)
		assert_cell(bpf_follower_sum(&follower, i, 0), 4, 20, 10);
	/* Of a task that is not in the inner one. */
	around[2] = 0;
	event[0][0].value = 109;
	bpf_follower_read(&follower, &leader, 0);
	assert_cell(bpf_follower_sum(&follower, 0, 0), 9, 20, 10);
	assert_cell(bpf_follower_sum(&follower, 1, 0), 4, 20, 10);
	/* The other CPU has counts of its own. */
	event[0][1] = (struct bpf_cell){ 7, 8, 4 };
	bpf_follower_read(&follower, &leader, 1);
	assert_cell(bpf_follower_sum(&follower, 0, 0), 9, 20, 10);
	assert_cell(bpf_follower_sum(&follower, 0, 1), 7, 8, 4);
	unlead();
	bpf_places_release(&places);
	for (int i = 0; i < 2; i++)
		close(cgroup[i].fd);
	sysroot_remove(dir);
}

/* Who counts the same event finds the leader that there is, until it ends. */
static void leaders_are_shared(void **state)
{
	union perf_attr attr = { .a = { .size = 64, .config = 5, .disabled = 1, .inherit = 1, .enable_on_exec = 1 } };
	struct bpf_leaders all = { .map = bpf_map_new("all", BPF_MAP_TYPE_HASH, PERF_ATTR_BYTES, 8, 2, 0),
				   .key_size = PERF_ATTR_BYTES };
	struct bpf_leader one, two, three, four;
	struct cpulist cpus = { 0 };
	struct error e = { 0 };

	assert_int_equal(cpulist_add(&cpus, 0), 0);
	assert_int_equal(cpulist_add(&cpus, 1), 0);
	assert_int_equal(bpf_leader_begin(&one, &all, &attr, NULL, &cpus, CPUS, &e), 0);
	assert_true(one.events >= 0);
	assert_int_equal(n_opened, 2);
	/* As all of its users may have it. */
	assert_int_equal(opened[0].a.config, 5);
	assert_int_equal(opened[0].a.disabled, 0);
	assert_int_equal(opened[0].a.inherit, 0);
	assert_int_equal(opened[0].a.enable_on_exec, 0);
	assert_int_equal(opened[0].a.read_format, PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING);
	attr.a.disabled = attr.a.inherit = attr.a.enable_on_exec = 0;
	assert_int_equal(bpf_leader_begin(&two, &all, &attr, NULL, &cpus, CPUS, &e), 0);
	assert_int_equal(two.events, -1);
	assert_int_equal(n_opened, 2);
	assert_int_equal(n_programs, 1);
	assert_int_equal(original(two.link), one.link);
	assert_int_equal(original(two.program), one.program);
	assert_int_equal(original(two.readings), one.readings);
	assert_int_equal(original(two.differences), one.differences);
	assert_int_equal(two.events, -1);
	/* Of a CPU that comes online later whoever notices it first opens the event. */
	assert_int_equal(bpf_leader_add_cpu(&two, &attr, NULL, 1), 0);
	assert_int_equal(n_opened, 3);
	/* Another event has another leader. */
	attr.a.config = 6;
	assert_int_equal(bpf_leader_begin(&three, &all, &attr, NULL, &cpus, CPUS, &e), 0);
	assert_true(three.events >= 0);
	bpf_leader_release(&two);
	/* The first has ended: its entry makes room for a third in a map of two. */
	links[0].ended = true;
	attr.a.config = 7;
	assert_int_equal(bpf_leader_begin(&four, &all, &attr, NULL, &cpus, CPUS, &e), 0);
	assert_true(four.events >= 0);
	attr.a.config = 6;
	assert_int_equal(bpf_leader_begin(&two, &all, &attr, NULL, &cpus, CPUS, &e), 0);
	assert_int_equal(two.events, -1);
	assert_int_equal(original(two.link), three.link);
	bpf_leader_release(&two);
	/* What the keys of an older kernel's leave out could be another event, so it is shared with nobody. */
	all.key_size = PERF_ATTR_BYTES - 8;
	for (unsigned at = PERF_ATTR_BYTES - 8; at < PERF_ATTR_BYTES; at += 7) {
		attr.bytes[at] = 1;
		assert_int_equal(bpf_leader_begin(&two, &all, &attr, NULL, &cpus, CPUS, &e), 0);
		assert_true(two.events >= 0 && !two.shared);
		bpf_leader_release(&two);
		attr.bytes[at] = 0;
	}
	assert_int_equal(bpf_leader_begin(&two, &all, &attr, NULL, &cpus, CPUS, &e), 0);
	assert_true(two.events < 0 && two.shared);
	bpf_leader_release(&two);
	all.key_size = PERF_ATTR_BYTES;
	attr.a.config = 5;
	links[2].ended = true;
	assert_int_equal(bpf_leader_begin(&two, &all, &attr, NULL, &cpus, CPUS, &e), 0);
	assert_true(two.events >= 0);
	bpf_leader_release(&one);
	bpf_leader_release(&two);
	bpf_leader_release(&three);
	bpf_leader_release(&four);
	assert_int_equal(four.link, -1);
	cpulist_release(&cpus);
}

/* CPUs may lack the event, or have gone; not all of them, and what is short is short for all. */
static void an_event_is_opened_where_it_can_be(void **state)
{
	static const struct {
		int on[CPUS], err;
	} cases[] = {
		{ { 0, ENODEV }, 0 },       { { ENOENT, 0 }, 0 },       { { ENODEV, ENOENT }, -ENOENT },
		{ { EMFILE, 0 }, -EMFILE }, { { ENOMEM, 0 }, -ENOMEM }, { { 0, EMFILE }, -EMFILE },
		{ { 0, ENOMEM }, -ENOMEM },
	};
	static const struct bpf_leaders alone = { .map = -1 };
	union perf_attr attr = { .a = { .size = 64 } };
	struct cpulist cpus = { 0 };

	assert_int_equal(cpulist_add(&cpus, 0), 0);
	assert_int_equal(cpulist_add(&cpus, 1), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bpf_leader l;
		struct error e = { 0 };

		memcpy(refused_on, cases[i].on, sizeof(refused_on));
		n_links = 0;
		assert_int_equal(bpf_leader_begin(&l, &alone, &attr, NULL, &cpus, CPUS, &e), cases[i].err);
		assert_int_equal(n_links, !cases[i].err);
		if (cases[i].err)
			assert_non_null(strstr(e.text, "opening the event on all CPUs: "));
		bpf_leader_release(&l);
	}
	cpulist_release(&cpus);
}

static int new_map(uint32_t type, uint32_t key_size, uint32_t value_size)
{
	return bpf_map_new("x", type, key_size, value_size, 2, 0);
}

/* The map by which recorders find each other has a name in a BPF file system. */
static void leaders_are_found_by_name(void **state)
{
	static const struct {
		uint32_t type, key_size, value_size;
		int err;
	} cases[] = {
		{ BPF_MAP_TYPE_HASH, PERF_ATTR_SIZE_VER5, 8, 0 },
		{ BPF_MAP_TYPE_HASH, PERF_ATTR_BYTES, 8, 0 },
		{ BPF_MAP_TYPE_HASH, PERF_ATTR_SIZE_VER5 - 1, 8, -EINVAL },
		{ BPF_MAP_TYPE_HASH, PERF_ATTR_BYTES + 1, 8, -EINVAL },
		{ BPF_MAP_TYPE_HASH, PERF_ATTR_BYTES, 4, -EINVAL },
		{ BPF_MAP_TYPE_ARRAY, PERF_ATTR_BYTES, 8, -EINVAL },
	};
	struct bpf_leaders l;
	struct error e = { 0 };
	char dir[32], path[64];

	sysroot_make(dir, NULL);
	snprintf(path, sizeof(path), "%s/map", dir);
	is_bpf_fs = false;
	assert_int_equal(bpf_leaders_open(&l, path, &e), -ENOTSUP);
	assert_int_equal(l.map, -1);
	assert_non_null(strstr(e.text, "is not a BPF file system"));
	is_bpf_fs = true;
	assert_int_equal(bpf_leaders_open(&l, "/none/at/all", &e), -ENOENT);
	/* Made by whoever needs it first. */
	assert_int_equal(bpf_leaders_open(&l, path, &e), 0);
	assert_int_equal(n_maps, 1);
	assert_int_equal(maps[0].type, BPF_MAP_TYPE_HASH);
	assert_int_equal(maps[0].key_size, sizeof(struct perf_event_attr));
	assert_int_equal(maps[0].value_size, 8);
	assert_int_equal(maps[0].entries, 1024);
	assert_int_equal(l.map, maps[0].fd);
	assert_int_equal(l.key_size, sizeof(struct perf_event_attr));
	/* One that another process has made meanwhile is taken. */
	faster = new_map(BPF_MAP_TYPE_HASH, PERF_ATTR_BYTES, 8);
	pinned = -1;
	assert_int_equal(bpf_leaders_open(&l, path, &e), 0);
	assert_int_equal(original(l.map), faster);
	bpf_leaders_close(&l);
	assert_int_equal(l.map, -1);
	bpf_leaders_close(&l);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		pinned = new_map(cases[i].type, cases[i].key_size, cases[i].value_size);
		assert_int_equal(bpf_leaders_open(&l, path, &e), cases[i].err);
		if (cases[i].err)
			assert_non_null(strstr(e.text, "is not a map of shared events"));
		else
			assert_int_equal(l.key_size, cases[i].key_size);
		assert_int_equal(l.map >= 0, !cases[i].err);
		bpf_leaders_close(&l);
	}
	is_bpf_fs = false;
	sysroot_remove(dir);
}

/* ---- refusals ---- */

static int try_profile(const struct root *root, const int *fd, struct error *e)
{
	static const struct bpf_target target[2] = { { .id = 5, .fd = 50, .name = "a" },
						     { .id = 6, .fd = 60, .name = "b" } };
	struct bpf_profile p;
	int err = bpf_profile_init(&p, target, 2, 2, CPUS, e);

	bpf_profile_release(&p);
	return err;
}

static int try_cgroups(const struct root *root, const int *fd, struct error *e)
{
	const struct perf_cgroup cgroup[2] = { { .fd = fd[0] }, { .fd = fd[1] } };
	struct bpf_places t;
	int err = bpf_cgroups_init(&t, cgroup, 2, e);

	bpf_places_release(&t);
	return err;
}

static int try_tasks(const struct root *root, const int *fd, struct error *e)
{
	struct bpf_places t;
	int err = bpf_tasks_init(&t, root, 1, true, e);

	bpf_places_release(&t);
	return err;
}

static int try_leader(const struct root *root, const int *fd, struct error *e)
{
	static const struct bpf_leaders alone = { .map = -1 };
	const union perf_attr attr = { .a = { .size = 64 } };
	uint32_t first = 0;
	const struct cpulist cpus = { .cpu = &first, .n = 1 };
	struct bpf_follower f = BPF_FOLLOWER_NONE;
	struct bpf_leader l;
	int err = bpf_leader_begin(&l, &alone, &attr, NULL, &cpus, CPUS, e);

	if (!err)
		err = bpf_follower_init(&f, &l, NULL, CPUS, e);
	bpf_follower_release(&f);
	bpf_leader_release(&l);
	return err;
}

/* Whatever cannot be made: that is the error, with a text, and nothing stays open. */
static void any_part_may_be_refused(void **state)
{
	static const struct {
		int (*begin)(const struct root *root, const int *fd, struct error *e);
		unsigned parts;
	} all[] = { { try_profile, 2 + 2 * 2 * 2 },
		    { try_cgroups, 1 },
		    { try_tasks, 1 + 2 * 2 },
		    { try_leader, 3 + 2 + 1 + 2 } };
	struct root root;
	char dir[32];
	int fd[2];

	sysroot_make(dir, NULL);
	kernel_types_put(dir);
	root_init(&root, dir);
	fd[0] = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fd[1] = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		for (unsigned part = 1; part <= all[i].parts + 1; part++) {
			unsigned before = open_files();
			struct error e = { 0 };
			int err;

			n_maps = n_programs = n_links = n_aliases = 0;
			fails_at = part;
			err = all[i].begin(&root, fd, &e);
			if (err != (part <= all[i].parts ? -ENOSPC : 0))
				fail_msg("%zu, part %u: %d", i, part, err);
			assert_int_equal(!*e.text, !err);
			assert_int_equal(open_files(), before);
			for (unsigned k = 0; k < n_maps; k++)
				munmap(maps[k].data, 1 << 20);
			n_maps = 0;
			fails_at = 0;
		}
	close(fd[0]);
	close(fd[1]);
	root_release(&root);
	sysroot_remove(dir);
}

static void refusals_say_what_helps(void **state)
{
	const struct {
		int tracepoint, check;
		const char *says;
		int map;
	} cases[] = {
		{ 0, 0, "" },
		{ ENOSYS, -ENOSYS, "CONFIG_BPF_SYSCALL" },
		{ EPERM, -EPERM, geteuid() ? "CAP_BPF" : "outside the container" },
		{ EACCES, -EPERM, "run pmrec " },
		{ ENOMEM, -ENOMEM, "" },
		/* Linux before 5.11, where the limit of locked memory is low. */
		{ 0, -EPERM, "ulimit -l", EPERM },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct error e = { 0 };

		n_programs = 0;
		refused[0] = cases[i].tracepoint;
		refused[1] = cases[i].map;
		assert_int_equal(bpf_check(&e), cases[i].check);
		assert_non_null(strstr(e.text, cases[i].says));
	}
	memset(refused, 0, sizeof(refused));
}

UNIT_TESTS(cmocka_unit_test_setup_teardown(tasks_have_places_and_so_have_their_children, begin, end),
	   cmocka_unit_test_setup_teardown(leaders_are_shared, begin, end),
	   cmocka_unit_test_setup_teardown(an_event_is_opened_where_it_can_be, begin, end),
	   cmocka_unit_test_setup_teardown(leaders_are_found_by_name, begin, end),
	   cmocka_unit_test_setup_teardown(cgroups_count_with_those_around_them, begin, end),
	   cmocka_unit_test_setup_teardown(any_part_may_be_refused, begin, end),
	   cmocka_unit_test_setup_teardown(refusals_say_what_helps, begin, end))
