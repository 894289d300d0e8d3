/* Events that BPF programs count: what is read when, what a CPU, a task, a cgroup that comes or goes changes, and what
 * --control does to them. The kernel is that of perf_kernel.h, and a bpf(2) that runs no program but says which one. */
#include "tests/unit/lib/remark.h"
#include "tests/unit/lib/perf_kernel.h"
#include "tests/unit/lib/perf_world.h"

#include "record/perf/perf_bpf.c"
#include "record/perf/source_perf.c"
#include "tests/unit/lib/kernel_types.h"
#include "tests/unit/lib/sysroot.h"

enum { THINGS = 64 };

/* ---- bpf(2) ---- */

/* Programs by descriptor; what was run where; what was put into maps of events, -1: taken out. */
static struct {
	int fd;
	char name[16];
} programs[THINGS];
static struct {
	int program;
	uint32_t cpu;
} runs[THINGS];
static struct {
	int map, fd;
	uint32_t key;
} given[THINGS];
static unsigned n_programs, n_runs, n_given;
static int refuse_load;                    /* errno for programs */
static int refuse_put;                     /* errno for what is put into maps */
static uint32_t functions = 1, btf_id = 1; /* of programs that are found by their id */

static int something(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static long put(const union bpf_attr *a, int fd)
{
	assert_true(n_given < THINGS);
	given[n_given].map = (int)a->map_fd;
	memcpy(&given[n_given].key, (void *)(uintptr_t)a->key, sizeof(uint32_t));
	given[n_given++].fd = fd;
	return -refuse_put;
}

static long bpf(int command, void *attr)
{
	union bpf_attr *a = attr;
	int fd;

	switch (command) {
	case BPF_MAP_CREATE:
		fd = memfd_create("map", MFD_CLOEXEC);
		assert_int_equal(ftruncate(fd, 1 << 20), 0);
		return fd;
	case BPF_MAP_UPDATE_ELEM:
		memcpy(&fd, (void *)(uintptr_t)a->value, sizeof(fd));
		return put(a, fd);
	case BPF_MAP_DELETE_ELEM:
		return put(a, -1);
	case BPF_PROG_LOAD:
		assert_true(n_programs < THINGS);
		if (refuse_load)
			return -refuse_load;
		programs[n_programs].fd = something();
		memcpy(programs[n_programs].name, a->prog_name, sizeof(programs[0].name));
		return programs[n_programs++].fd;
	case BPF_PROG_TEST_RUN:
		assert_true(n_runs < THINGS);
		runs[n_runs].program = (int)a->test.prog_fd;
		runs[n_runs++].cpu = a->test.cpu;
		return 0;
	case BPF_OBJ_GET_INFO_BY_FD: {
		struct bpf_prog_info *info = (void *)(uintptr_t)a->info.info;

		*info = (struct bpf_prog_info){
			.name = "target", .btf_id = btf_id, .nr_func_info = functions, .jited_prog_len = 1
		};
		return 0;
	}
	case BPF_RAW_TRACEPOINT_OPEN:
	case BPF_PROG_GET_FD_BY_ID:
	case BPF_BTF_LOAD:
		return something();
	}
	return -ENOENT;
}

int __real_fstatfs(int fd, struct statfs *s);
int __wrap_fstatfs(int fd, struct statfs *s);

int __wrap_fstatfs(int fd, struct statfs *s)
{
	int err = __real_fstatfs(fd, s);

	s->f_type = 0x63677270; /* version 2 */
	return err;
}

static unsigned runs_of(const char *name, uint32_t cpu)
{
	unsigned n = 0;

	for (unsigned i = 0; i < n_runs; i++)
		for (unsigned k = 0; k < n_programs; k++)
			n += runs[i].program == programs[k].fd && runs[i].cpu == cpu &&
			     !strcmp(programs[k].name, name);
	return n;
}

/* ---- the machine ---- */

struct fixture {
	char dir[32], *cgroups;
	struct world *w;
	struct perf_source *s;
};

/* CPUs 0 and 1 of 4. */
static void begin(struct fixture *f, enum target_kind target, const char *events)
{
	kernel_begin();
	n_programs = n_runs = n_given = 0;
	refuse_put = 0;
	functions = btf_id = 1;
	refuse_load = 0;
	kernel_bpf = bpf;
	sysroot_make(f->dir, NULL);
	sysroot_put(f->dir, "/sys/devices/system/cpu/online", "0-1\n");
	sysroot_put(f->dir, "/sys/devices/system/cpu/possible", "0-3\n");
	sysroot_put(f->dir, "/sys/bus/event_source/devices/software/type", "1\n");
	sysroot_put(f->dir, "/proc/mounts", "none /cg cgroup2 rw 0 0\n");
	sysroot_put(f->dir, "/proc/70/task/70/x", "\n");
	sysroot_put(f->dir, "/proc/71/task/71/x", "\n");
	sysroot_put(f->dir, "/cg/a/cgroup.procs", "\n");
	sysroot_put(f->dir, "/cg/b/cgroup.procs", "\n");
	kernel_types_put(f->dir);
	f->w = world_new(target, events, NULL, NULL);
	f->w->options.perf.bpf_counters = true;
	world_begin(f->w, f->dir);
	f->s = calloc(1, sizeof(*f->s));
	assert_non_null(f->s);
	f->w->source.data = f->s;
	f->s->ends = f->s->follow.epoll = -1;
	f->s->on = true;
	perf_pmus_read(&f->s->pmus, &f->w->root);
}

static int open_all(struct fixture *f)
{
	struct plan *p = &f->w->plan;
	struct error *e = &f->w->e;
	int err = perf_events_read(f->s, p, "", e);

	err = err ? err : perf_tasks_add(f->s, p, e);
	err = err ? err : perf_bpf_check(f->s, p, e);
	err = err ? err : perf_groups_settle(f->s, p, e);
	err = err ? err : perf_bpf_begin(f->s, p, e);
	if (!err)
		perf_counters_add(f->s, p);
	for (uint32_t i = 0; i < f->s->n_groups && !err; i++)
		perf_rows_open(f->s, p, f->s->group[i]);
	perf_held_close(f->s);
	n_opened = n_told = n_runs = n_given = 0;
	return err;
}

static void open_good(struct fixture *f)
{
	if (open_all(f))
		fail_msg("%s", f->w->e.text);
}

static void end(struct fixture *f)
{
	world_end(f->w, false);
	free(f->w);
	sysroot_remove(f->dir);
	kernel_bpf = NULL;
	kernel_end();
}

static void read_row(struct fixture *f, struct perf_row *row, struct reading *r)
{
	n_runs = 0;
	read_unit(&row->unit, &f->w->model, r);
}

static struct bpf_cell *cell(const struct perf_row *row, uint32_t k)
{
	return (struct bpf_cell *)(uintptr_t)row->sum[k].first;
}

static void update(struct fixture *f, uint32_t cpu, bool online)
{
	n_opened = n_given = 0;
	source_perf.update(&f->w->source, &f->w->plan, cpu, online);
}

/* ---- through leaders ---- */

/* CPUs that come online later count from then on: one that was away, and one that is new. */
static void events_are_opened_on_cpus_that_come(void **state)
{
	struct perf_group *g;
	struct reading r;
	struct fixture f;

	begin(&f, TARGET_SYSTEM, "cs,faults");
	open_good(&f);
	g = f.s->group[0];
	update(&f, 1, false);
	assert_int_equal(n_opened, 0);
	read_row(&f, g->row[1], &r);
	assert_int_equal(r.status[0], PM_REASON_OFFLINE);
	for (uint32_t cpu = 1; cpu < 3; cpu++) {
		update(&f, cpu, true);
		assert_int_equal(n_opened, 2);
		for (unsigned i = 0; i < 2; i++) {
			assert_int_equal(opened[i].cpu, cpu);
			assert_int_equal(opened[i].attr.a.config, g->member[i]->attr.a.config);
			assert_int_equal(given[i].map, g->bpf->member[i].leader.events);
			assert_int_equal(given[i].key, cpu);
		}
		read_row(&f, g->row[cpu], &r);
		assert_int_equal(r.status[0], PM_OK);
	}
	/* Nobody asked for that one. */
	f.w->options.cpus = (char *)(uintptr_t) "0-1";
	update(&f, 3, true);
	assert_int_equal(n_opened, 0);
	assert_int_equal(g->n_rows, 3);
	end(&f);
	/* Tasks get there, too. */
	begin(&f, TARGET_TASKS, "cs");
	f.w->options.perf.pids = (char *)(uintptr_t) "70,71";
	open_good(&f);
	update(&f, 2, true);
	assert_int_equal(n_opened, 1);
	assert_int_equal(opened[0].cpu, 2);
	read_row(&f, f.s->group[0]->row[0], &r);
	for (uint32_t cpu = 0; cpu < 3; cpu++)
		assert_int_equal(runs_of("pmrec_follower", cpu), 1);
	end(&f);
}

/* ---- for cgroups ---- */

static void open_cgroups(struct fixture *f)
{
	begin(f, TARGET_SYSTEM, "cs,faults");
	f->w->options.perf.each_cgroup = (char *)(uintptr_t) "a,b";
	open_good(f);
	assert_int_equal(f->s->n_groups, 1);
	assert_int_equal(f->s->group[0]->n_rows, 4);
	assert_string_equal(f->s->group[0]->bpf->text, "alone");
}

static void one_row_of_a_cpu_reads_for_all_cgroups(void **state)
{
	struct perf_row **row;
	struct reading r;
	struct fixture f;

	open_cgroups(&f);
	row = f.s->group[0]->row;
	for (uint32_t i = 0; i < 4; i++) {
		cell(row[i], 0)->value = 10 * i;
		cell(row[i], 1)->value = 10 * i + 1;
	}
	for (unsigned gone = 0; gone < 2; gone++)
		for (uint32_t i = 0; i < 4; i++) {
			row[i]->end = gone && i < 2 ? PERF_ENDED : PERF_ALIVE;
			read_row(&f, row[i], &r);
			assert_int_equal(runs_of("on_switch", i % 2), i < 2 ? 2 : 0);
			assert_int_equal(runs_of("pmrec_follower", i % 2), i < 2 ? 2 : 0);
			assert_int_equal(n_runs, i < 2 ? 4 : 0);
			assert_int_equal(r.status[0], row[i]->end ? PM_REASON_GONE : PM_OK);
			if (row[i]->end)
				continue;
			assert_int_equal(r.v[0], 10 * i);
			assert_int_equal(r.v[1], 10 * i + 1);
		}
	/* Opened once for all of them. */
	update(&f, 1, false);
	update(&f, 1, true);
	assert_int_equal(n_opened, 2);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(opened[i].cpu, 1);
		assert_int_equal(opened[i].attr.a.disabled, 0);
		assert_int_equal(given[i].map, f.s->group[0]->bpf->member[i].leader.events);
		assert_int_equal(given[i].key, 1);
	}
	end(&f);
}

static void switch_all(struct fixture *f, bool on)
{
	n_runs = 0;
	assert_int_equal(perf_enable(&f->w->source, on), 0);
	for (uint32_t k = 0; k < 2; k++)
		assert_int_equal(*(uint64_t *)bpf_cells_at(&f->s->group[0]->bpf->member[k].follower.cells, 0), on);
	/* Up to date when it stops or goes on. */
	assert_int_equal(runs_of("pmrec_follower", 0), 2);
	assert_int_equal(runs_of("pmrec_follower", 1), 2);
}

static void cgroups_are_stopped_and_go_on(void **state)
{
	struct fixture f;

	open_cgroups(&f);
	switch_all(&f, false);
	switch_all(&f, true);
	end(&f);
}

/* ---- in programs ---- */

static void open_programs(struct fixture *f, const char *list)
{
	begin(f, TARGET_SYSTEM, "cs,faults");
	f->w->options.perf.bpf_programs = (char *)(uintptr_t)list;
	open_good(f);
}

static void each_program_has_its_counts(void **state)
{
	static const char *const text[] = { "program 7", "program 9" };
	struct perf_group **g;
	struct reading r;
	struct fixture f;

	open_programs(&f, "7,9");
	assert_int_equal(f.s->n_groups, 2);
	g = f.s->group;
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(g[i]->n_rows, 2);
		assert_int_equal(g[i]->bpf->opens, !i);
		assert_string_equal(g[i]->bpf->text, text[i]);
		assert_string_equal(g[i]->bpf->name, "target");
		for (uint32_t c = 0; c < 2; c++)
			for (uint32_t k = 0; k < 2; k++)
				*cell(g[i]->row[c], k) = (struct bpf_cell){ 1000 * i + 100 * c + k, 50 + k, 40 };
	}
	for (uint32_t i = 0; i < 2; i++)
		for (uint32_t c = 0; c < 2; c++) {
			read_row(&f, g[i]->row[c], &r);
			assert_int_equal(n_runs, 0);
			for (uint32_t k = 0; k < 2; k++) {
				assert_int_equal(r.status[k], PM_OK);
				assert_int_equal(r.v[k], 1000 * i + 100 * c + k);
			}
			assert_int_equal(r.enabled, 50);
		}
	/* They are added up. */
	assert_true(g[0]->member[0]->ev->wildcard > 0);
	assert_int_not_equal(g[0]->member[0]->ev->wildcard, g[0]->member[1]->ev->wildcard);
	assert_int_not_equal(g[0]->member[0]->counter, g[1]->member[0]->counter);
	/* The map keeps what is in it, so what is closed is taken out. */
	update(&f, 1, false);
	assert_int_equal(n_given, 2);
	for (uint32_t k = 0; k < 2; k++) {
		assert_int_equal(given[k].map, f.s->bpf->profile.events);
		assert_int_equal(given[k].key, 4 * k + 1);
		assert_int_equal(given[k].fd, -1);
	}
	update(&f, 1, true);
	assert_int_equal(n_opened, 2);
	assert_int_equal(given[0].fd, g[0]->row[1]->fd[0]);
	assert_int_equal(given[1].fd, g[0]->row[1]->fd[1]);
	end(&f);
	open_programs(&f, "7");
	assert_int_equal(f.s->n_groups, 1);
	assert_int_equal(f.s->group[0]->member[0]->ev->wildcard, 0);
	end(&f);
}

/* What the programs cannot be given is not counted, and its reason is no number. */
static void what_is_refused_has_no_counts(void **state)
{
	struct perf_row *row;
	struct reading r;
	struct fixture f;

	open_programs(&f, "7");
	row = f.s->group[0]->row[1];
	perf_row_close(row, true);
	refuse_put = ENOMEM;
	assert_int_equal(perf_row_open(row, (struct perf_start){ .on = true }), -ENOMEM);
	assert_int_equal(row->n_open, 0);
	assert_int_equal(row->fd[0], -1);
	row->shut = true;
	read_row(&f, row, &r);
	for (uint32_t k = 0; k < 2; k++)
		assert_int_equal(r.status[k], PM_REASON_ERRNO + ENOMEM);
	end(&f);
	/* Without a place among the tasks. */
	begin(&f, TARGET_TASKS, "cs,faults");
	f.w->options.perf.pids = (char *)(uintptr_t) "70";
	open_good(&f);
	row = f.s->group[0]->row[0];
	perf_row_close(row, true);
	refuse_put = ENOMEM;
	assert_int_equal(perf_row_open(row, (struct perf_start){ .on = true }), -ENOMEM);
	row->shut = true;
	read_row(&f, row, &r);
	for (uint32_t k = 0; k < 2; k++)
		assert_int_equal(r.status[k], PM_REASON_ERRNO + ENOMEM);
	end(&f);
}

/* What `pmrec doctor` says of it. */
static void the_doctor_knows_what_works(void **state)
{
	static const struct {
		int load;
		bool emulated;
		const char *begins;
	} cases[] = {
		{ 0, true, "" },
		{ 0, false, "--bpf-counters works here" },
		{ ENOSYS, false, "no --bpf-counters, no -b: this kernel has no BPF" },
	};
	struct fixture f;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		SCOPED(buf_release) struct buf out = BUF_INIT;

		begin(&f, TARGET_SYSTEM, "cs");
		refuse_load = cases[i].load;
		f.w->root.emulated = cases[i].emulated;
		perf_bpf_doctor(&f.w->plan, &out);
		f.w->root.emulated = true;
		assert_int_equal(strncmp(buf_str(&out), cases[i].begins, strlen(cases[i].begins)), 0);
		if (cases[i].emulated)
			assert_int_equal(out.len, 0);
		end(&f);
	}
}

/* Before anything is opened: whether it works at all, and that groups mean nothing to it. */
static void requests_are_checked(void **state)
{
	static const struct {
		const char *events;
		bool counters;
		int load, err;
		bool remark;
	} cases[] = {
		{ "{cs,faults}", true, 0, 0, true },    { "{cs,faults}:W", true, 0, 0, false },
		{ "cs,faults", true, 0, 0, false },     { "{cs:b,faults}", false, 0, 0, true },
		{ "{cs,faults}", false, 0, 0, false },  { "{cs,faults}", false, ENOSYS, 0, false },
		{ "cs", true, ENOSYS, -ENOSYS, false }, { "cs:b", false, ENOSYS, -ENOSYS, false },
	};
	struct fixture f;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin(&f, TARGET_SYSTEM, cases[i].events);
		f.w->options.perf.bpf_counters = cases[i].counters;
		refuse_load = cases[i].load;
		assert_int_equal(perf_events_read(f.s, &f.w->plan, "", &f.w->e), 0);
		assert_int_equal(perf_bpf_check(f.s, &f.w->plan, &f.w->e), cases[i].err);
		assert_int_equal(f.w->model.n_probes, cases[i].remark);
		if (cases[i].remark)
			assert_string_equal(said(&f.w->model.probe[0].what),
					    "BPF counts events of a group one by one, not together");
		end(&f);
	}
	/* A map that was named has to be there; the usual one need not. */
	begin(&f, TARGET_SYSTEM, "cs");
	f.w->options.perf.bpf_attr_map = (char *)(uintptr_t) "/none/at/all";
	assert_int_equal(open_all(&f), -ENOENT);
	assert_non_null(strstr(f.w->e.text, "--bpf-attr-map: /none/at"));
	end(&f);
	begin(&f, TARGET_SYSTEM, "cs,faults");
	open_good(&f);
	assert_string_equal(f.s->group[0]->bpf->text, "alone");
	assert_int_equal(f.w->model.n_probes, 1);
	assert_non_null(strstr(said(&f.w->model.probe[0].what), "events are not shared with other recorders: "));
	end(&f);
}

/* What units count has nothing to do with the programs that run. */
static void units_are_not_counted_in_programs(void **state)
{
	struct fixture f;

	begin(&f, TARGET_SYSTEM, "cs,mem/config=1/");
	sysroot_put(f.dir, "/sys/bus/event_source/devices/mem/type", "30\n");
	sysroot_put(f.dir, "/sys/bus/event_source/devices/mem/cpumask", "0\n");
	perf_pmus_release(&f.s->pmus);
	perf_pmus_read(&f.s->pmus, &f.w->root);
	f.w->options.perf.bpf_programs = (char *)(uintptr_t) "7";
	assert_int_equal(perf_events_read(f.s, &f.w->plan, "", &f.w->e), 0);
	assert_int_equal(f.s->event[0].err, 0);
	assert_int_equal(f.s->event[1].err, EOPNOTSUPP);
	assert_int_equal(f.s->event[1].remedy, PM_REMEDY_NO_BPF);
	end(&f);
}

static void programs_that_cannot_be_profiled_are_named(void **state)
{
	struct fixture f;

	begin(&f, TARGET_SYSTEM, "cs");
	f.w->options.perf.bpf_programs = (char *)(uintptr_t) "7,8";
	btf_id = 0;
	assert_int_equal(open_all(&f), -EINVAL);
	assert_non_null(strstr(f.w->e.text, "-b 7: the BPF program target was loaded without BTF"));
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_are_opened_on_cpus_that_come),
		cmocka_unit_test(one_row_of_a_cpu_reads_for_all_cgroups),
		cmocka_unit_test(cgroups_are_stopped_and_go_on),
		cmocka_unit_test(each_program_has_its_counts),
		cmocka_unit_test(what_is_refused_has_no_counts),
		cmocka_unit_test(units_are_not_counted_in_programs),
		cmocka_unit_test(programs_that_cannot_be_profiled_are_named),
		cmocka_unit_test(the_doctor_knows_what_works),
		cmocka_unit_test(requests_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
