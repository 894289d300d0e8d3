/* Where events are counted, and what becomes of that: CPUs of -C and units, CPUs that go and come, PMUs that go. The
 * machine is a folder, and its kernel that of perf_kernel.h. */
#include "record/perf/perf_pmu.c"
#include "record/perf/source_perf.c"
#include "tests/unit/lib/remark.h"
#include "tests/unit/lib/perf_kernel.h"
#include "tests/unit/lib/perf_world.h"
#include "tests/unit/lib/sysroot.h"

#define PMU "/sys/bus/event_source/devices/"

struct fixture {
	char dir[32];
	struct world *w;
	struct perf_source *s;
};

static void put_pmu(struct fixture *f, const char *name, unsigned type, const char *mask, const char *cpus)
{
	char path[96];

	snprintf(path, sizeof(path), PMU "%s/type", name);
	sysroot_put(f->dir, path, "%u\n", type);
	snprintf(path, sizeof(path), PMU "%s/format/event", name);
	sysroot_put(f->dir, path, "config:0-7\n");
	snprintf(path, sizeof(path), PMU "%s/%s", name, cpus ? "cpus" : "cpumask");
	sysroot_put(f->dir, path, "%s\n", cpus ? cpus : mask);
}

/* Two packages of two dies of two cores. */
static void begin(struct fixture *f, const char *online, const char *a, const char *b)
{
	struct pm_topology *t;

	kernel_begin();
	sysroot_make(f->dir, NULL);
	sysroot_put(f->dir, "/sys/devices/system/cpu/online", "%s\n", online);
	put_pmu(f, "mem_0", 20, "0", NULL);
	put_pmu(f, "mem_1", 21, "4", NULL);
	put_pmu(f, "die", 22, "0,2,4,6", NULL);
	put_pmu(f, "cpu_core", 4, NULL, "0-3");
	put_pmu(f, "cpu_none", 8, NULL, "");
	put_pmu(f, "cpu_away", 9, NULL, "9");
	sysroot_put(f->dir, PMU "software/type", "1\n");
	f->w = world_new(TARGET_SYSTEM, a, b, NULL);
	world_begin(f->w, f->dir);
	t = &f->w->model.topology;
	t->cpu = calloc(8, sizeof(*t->cpu));
	assert_non_null(t->cpu);
	t->n = 8;
	for (uint32_t i = 0; i < t->n; i++) {
		t->cpu[i] = (struct pm_cpu){
			.cpu = i, .package = i / 4, .die = i / 2 % 2, .cluster = PM_NONE, .core = i, .online = true
		};
		for (int k = 0; k < PM_CACHES; k++)
			t->cpu[i].cache[k] = PM_NONE;
	}
	f->s = calloc(1, sizeof(*f->s));
	assert_non_null(f->s);
	f->w->source.data = f->s;
	f->s->ends = f->s->follow.epoll = -1;
	perf_pmus_read(&f->s->pmus, &f->w->root);
}

/* -C; the CPUs that are left of it. */
static void only(struct fixture *f, const char *text)
{
	f->w->options.cpus = (char *)(uintptr_t)text;
	cpulist_release(&f->w->plan.cpus);
	assert_int_equal(cpulist_parse(&f->w->plan.cpus, text, false, NULL), 0);
}

static void settle(struct fixture *f)
{
	if (perf_events_read(f->s, &f->w->plan, "", &f->w->e) || perf_groups_settle(f->s, &f->w->plan, &f->w->e))
		fail_msg("%s", f->w->e.text);
}

static void open_all(struct fixture *f)
{
	settle(f);
	perf_counters_add(f->s, &f->w->plan);
	for (uint32_t i = 0; i < f->s->n_groups; i++)
		perf_rows_open(f->s, &f->w->plan, f->s->group[i]);
	perf_held_close(f->s);
	n_opened = n_told = 0;
}

static void end(struct fixture *f)
{
	world_end(f->w, false);
	free(f->w);
	sysroot_remove(f->dir);
	kernel_end();
}

/* The CPUs of all groups: "0 2,4". */
static void at(const struct fixture *f, const char *want)
{
	SCOPED(buf_release) struct buf got = BUF_INIT;

	for (uint32_t i = 0; i < f->s->n_groups; i++) {
		if (i)
			buf_addch(&got, ' ');
		cpulist_print(&f->s->group[i]->cpus, &got);
	}
	assert_string_equal(buf_str(&got), want);
}

/* ---- which CPUs ---- */

/* A CPU stands for the largest part of the machine in which it is the only one of the mask. */
static void units_count_for_the_cpus_of_an_option(void **state)
{
	static const struct {
		const char *cpus, *events, *at, *said;
	} cases[] = {
		{ NULL, "mem_0/event=1/,die/event=2/", "0 0,2,4,6", NULL },
		{ "0", "mem_0/event=1/", "0", NULL },
		{ "2-3", "mem_0/event=1/", "0", "-C 2-3: these count whole packages or units, by CPU 0: mem_0" },
		{ "3,5", "mem_0/event=1/,mem_1/event=1/", "0 4",
		  "-C 3,5: these count whole packages or units, by CPU 0,4: mem_0, mem_1" },
		/* Of another package, but nothing else is meant. */
		{ "3", "mem_1/event=1/", "4", "-C 3: these count whole packages or units, by CPU 4: mem_1" },
		/* One of several is. */
		{ "3", "mem/event=1/", "0", "-C 3: these count whole packages or units, by CPU 0: mem" },
		{ "3,7", "mem/event=1/", "0 4", "-C 3,7: these count whole packages or units, by CPU 0,4: mem" },
		{ "3", "die/event=1/", "2", "-C 3: these count whole packages or units, by CPU 2: die" },
		{ "2,6", "die/event=1/", "2,6", NULL },
		{ "1,4", "die/event=1/,die/event=2/", "0,4 0,4",
		  "-C 1,4: these count whole packages or units, by CPU 0: die" },
		{ "1,4", "cpu_core/event=1/,cs", "1 1,4", NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fixture f;

		begin(&f, "0-7", cases[i].events, NULL);
		if (cases[i].cpus)
			only(&f, cases[i].cpus);
		settle(&f);
		at(&f, cases[i].at);
		assert_int_equal(f.w->model.n_probes, cases[i].said != NULL);
		if (cases[i].said)
			assert_string_equal(said(&f.w->model.probe[0].what), cases[i].said);
		perf_held_close(f.s);
		end(&f);
	}
}

static void what_has_no_cpu_says_why(void **state)
{
	struct fixture f;

	begin(&f, "0-3", "cpu_none/event=1/,cpu_away/event=1/,mem_1/event=1/,cs", NULL);
	put_pmu(&f, "mem_1", 21, "x", NULL);
	perf_pmus_release(&f.s->pmus);
	perf_pmus_read(&f.s->pmus, &f.w->root);
	settle(&f);
	assert_int_equal(f.s->n_groups, 1);
	for (int i = 0; i < 3; i++)
		assert_int_equal(f.s->event[i].err, ENODEV);
	assert_int_equal(f.s->event[3].err, 0);
	assert_int_equal(f.s->event[0].reason, PM_REASON_OFFLINE);
	assert_int_equal(f.s->event[0].remedy, PM_REMEDY_CPUS_ONLINE);
	assert_int_equal(f.s->event[1].reason, PM_REASON_NOT_COUNTED);
	assert_int_equal(f.s->event[1].remedy, PM_REMEDY_ANOTHER_CPU);
	assert_int_equal(f.s->event[2].reason, PM_REASON_NOT_SUPPORTED);
	assert_true(f.s->event[2].incurable);
	perf_held_close(f.s);
	end(&f);
	/* Tasks that are all gone. */
	begin(&f, "0-3", "cs", NULL);
	f.w->options.target = TARGET_COMMAND;
	f.w->plan.child = 70;
	assert_int_equal(perf_tasks_add(f.s, &f.w->plan, &f.w->e), 0);
	refuse[PERF_COUNT_SW_CONTEXT_SWITCHES] = ESRCH;
	settle(&f);
	assert_int_equal(f.s->n_groups, 0);
	assert_int_equal(f.s->event[0].err, ESRCH);
	assert_int_equal(f.s->event[0].reason, 0);
	assert_int_equal(f.s->event[0].remedy, 0);
	end(&f);
}

/* Opening groups shows how many events fit into one; for all PMUs of the class, and for no other. */
static void counters_of_a_unit_are_found_by_opening(void **state)
{
	struct fixture f;
	size_t seen = 0;

	begin(&f, "0-3", "cs", NULL);
	put_pmu(&f, "nvidia_ucf_pmu_0", 30, "0", NULL);
	put_pmu(&f, "nvidia_ucf_pmu_1", 31, "2", NULL);
	put_pmu(&f, "nvidia_nvlink_c2c_pmu_0", 32, "0", NULL);
	sysroot_put(f.dir, PMU "nvidia_ucf_pmu_0/events/cycles", "event=0x1\n");
	sysroot_put(f.dir, PMU "nvidia_ucf_pmu_0/events/mem_bytes_rd", "event=0x2\n");
	perf_pmus_release(&f.s->pmus);
	perf_pmus_read(&f.s->pmus, &f.w->root);
	/* On a folder nothing is opened, unless it may pass for the machine. */
	for (size_t i = 0; i < f.s->pmus.n; i++)
		perf_class_probe(&f.s->pmus, &f.s->pmus.pmu[i], &f.w->root);
	assert_int_equal(n_opened, 0);
	f.w->root.emulated = false;
	room_for = 6;
	for (size_t i = 0; i < f.s->pmus.n && !n_opened; i++)
		if (!strcmp(f.s->pmus.pmu[i].name, "nvidia_ucf_pmu_0"))
			perf_class_probe(&f.s->pmus, &f.s->pmus.pmu[i], &f.w->root);
	f.w->root.emulated = true;
	assert_int_equal(n_opened, 7);
	for (unsigned k = 0; k < 7; k++) {
		assert_int_equal(opened[k].attr.a.type, 30);
		assert_int_equal(opened[k].attr.a.config, 2);
		assert_int_equal(opened[k].attr.a.disabled, !k);
		assert_int_equal(opened[k].cpu, 0);
		assert_int_equal(opened[k].leader, k ? opened[0].fd : -1);
	}
	for (size_t i = 0; i < f.s->pmus.n; i++) {
		const struct event_pmu *pmu = &f.s->pmus.pmu[i];
		bool same = !strncmp(pmu->name, "nvidia_ucf", 10);

		if (!pmu->class)
			continue;
		assert_int_equal(perf_class_counters(pmu) == 6, same);
		seen += same;
	}
	assert_int_equal(seen, 2);
	end(&f);
}

/* ---- CPUs that go and come ---- */

static void update(struct fixture *f, uint32_t cpu, bool online)
{
	n_opened = n_told = 0;
	source_perf.update(&f->w->source, &f->w->plan, cpu, online);
}

static void rows_follow_their_cpus(void **state)
{
	struct fixture f;
	struct perf_group *core, *mem, *soft;

	begin(&f, "0-1", "cpu_core/event=1/,mem_0/event=1/", "cs");
	open_all(&f);
	assert_int_equal(f.s->n_groups, 3);
	core = f.s->group[0];
	mem = f.s->group[1];
	soft = f.s->group[2];
	assert_int_equal(core->n_rows, 2);
	update(&f, 1, false);
	assert_int_equal(n_opened, 0);
	assert_int_equal(core->row[1]->leader, -1);
	assert_int_equal(soft->row[1]->leader, -1);
	assert_true(core->row[0]->leader >= 0 && soft->row[0]->leader >= 0);
	update(&f, 1, true);
	assert_int_equal(n_opened, 2);
	assert_int_equal(opened[0].cpu, 1);
	assert_true(core->row[1]->leader >= 0);
	assert_int_equal(core->n_rows, 2);
	/* One that was never there, of this kind of cores and of another one. */
	update(&f, 2, true);
	assert_int_equal(n_opened, 2);
	assert_int_equal(core->n_rows, 3);
	assert_int_equal(soft->n_rows, 3);
	assert_true(core->row[2]->unit.group > core->row[1]->unit.group);
	update(&f, 4, true);
	assert_int_equal(n_opened, 1);
	assert_int_equal(core->n_rows, 3);
	assert_int_equal(soft->n_rows, 4);
	/* It was away before anything was opened there. */
	update(&f, 5, false);
	assert_int_equal(n_opened, 0);
	/* The kernel moves what counts a unit. */
	assert_int_equal(mem->n_rows, 1);
	assert_int_equal(mem->row[0]->unit.cpu, 0);
	put_pmu(&f, "mem_0", 20, "1", NULL);
	update(&f, 0, false);
	assert_int_equal(mem->row[0]->unit.cpu, 1);
	assert_int_equal(mem->row[0]->at.cpu, 0);
	assert_true(mem->row[0]->leader >= 0);
	update(&f, 0, true);
	assert_int_equal(n_opened, 2);
	assert_int_equal(mem->n_rows, 1);
	/* Which of several is not known. */
	put_pmu(&f, "mem_0", 20, "1-2", NULL);
	update(&f, 1, false);
	assert_int_equal(mem->row[0]->unit.cpu, PM_NONE);
	end(&f);
	/* Others than those of -C are nobody's. */
	begin(&f, "0-3", "cs", NULL);
	only(&f, "0-1");
	open_all(&f);
	update(&f, 2, true);
	assert_int_equal(n_opened, 0);
	update(&f, 1, false);
	assert_int_equal(f.s->group[0]->row[1]->leader, -1);
	end(&f);
}

/* A CPU that was away too briefly to be noticed. */
static void rows_that_stopped_are_opened_anew(void **state)
{
	struct perf_row **row;
	struct fixture f;

	begin(&f, "0-2", "cs", NULL);
	open_all(&f);
	f.s->on = true;
	row = f.s->group[0]->row;
	row[1]->stood = true;
	update(&f, PM_NONE, true);
	assert_int_equal(n_opened, 1);
	assert_int_equal(opened[0].cpu, 1);
	assert_int_equal(f.w->plan.n_events, 1);
	assert_string_equal(said(pm_map_get(&f.w->plan.event[0].attrs, PM_EVENT_KEY_NOTE)),
			    "groups of events on CPUs that were briefly offline");
	assert_int_equal(pm_map_u64(&f.w->plan.event[0].attrs, PM_EVENT_KEY_COUNT, 0), 1);
	row[0]->stood = row[1]->stood = row[2]->stood = false;
	/* Refused again, it stays shut; what is away still is not opened. */
	row[2]->stood = row[2]->shut = true;
	refuse[PERF_COUNT_SW_CONTEXT_SWITCHES] = EBUSY;
	row[0]->stood = true;
	sysroot_put(f.dir, "/sys/devices/system/cpu/online", "1-2\n");
	update(&f, PM_NONE, true);
	assert_int_equal(n_opened, 1);
	assert_int_equal(opened[0].cpu, 2);
	assert_true(row[2]->shut);
	assert_int_equal(f.w->plan.n_events, 2);
	end(&f);
}

/* A CPU that is there again, but not all that its events need: their values are missing for that. */
static void rows_lack_what_is_short(void **state)
{
	static const struct {
		int number;
		bool told;
	} cases[] = { { EMFILE, true }, { ENFILE, true }, { ENOMEM, true },
		      { ENOSPC, true }, { EBUSY, true },  { ENODEV, false } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (int noticed = 0; noticed < 2; noticed++) {
			struct perf_row *row;
			struct reading r;
			struct fixture f;

			begin(&f, "0-1", "cs", NULL);
			open_all(&f);
			row = f.s->group[0]->row[1];
			refuse[PERF_COUNT_SW_CONTEXT_SWITCHES] = cases[i].number;
			row->stood = !noticed;
			if (noticed)
				update(&f, 1, false);
			update(&f, noticed ? 1 : PM_NONE, true);
			assert_int_equal(n_opened, 1);
			read_unit(&row->unit, &f.w->model, &r);
			assert_int_equal(r.status[0],
					 cases[i].told ? perf_reason(-cases[i].number) : PM_REASON_OFFLINE);
			assert_int_equal(row->shut, cases[i].told);
			end(&f);
		}
}

/* A driver that was removed: its events stand still, and that is their end. */
static void rows_end_with_their_pmu(void **state)
{
	char command[128];
	struct fixture f;

	begin(&f, "0-7", "mem/event=1/", "cs");
	open_all(&f);
	assert_int_equal(f.s->n_groups, 3);
	perf_look(&f.w->source, &f.w->plan);
	snprintf(command, sizeof(command), "rm -r %s" PMU "mem_1", f.dir);
	assert_int_equal(system(command), 0);
	perf_look(&f.w->source, &f.w->plan);
	for (uint32_t i = 0; i < 3; i++) {
		const struct perf_group *g = f.s->group[i];
		bool gone = !strcmp(g->member[0]->ev->pmu, "mem_1");

		assert_int_equal(g->row[0]->end, gone ? PERF_ENDED : PERF_ALIVE);
		assert_int_equal(pm_model_instance(&f.w->model, g->row[0]->instance)->retired_ns > 0, gone);
	}
	assert_int_equal(f.w->plan.n_events, 0);
	end(&f);
}

/* At the end: units that never counted, and clocks that stood, each with what that may be. */
static void what_stood_still_is_told(void **state)
{
	static const struct {
		const char *events;
		uint64_t value, enabled, running;
		const char *says;
	} cases[] = {
		{ "mem_0/event=1/", 5, 100, 0,
		  "mem_0/event=0x1/ never got a counter: others hold them, or the unit is not in use" },
		{ "mem_0/event=1/", 0, 100, 50, NULL },
		{ "mem_0/event=1/", 5, 0, 0, NULL },
		/* Not of a unit. */
		{ "cs", 5, 100, 0, NULL },
		{ "nvidia_ucf_pmu_0/cycles/", 0, 100, 50, "nvidia_ucf_pmu_0: its clock does not run: " },
		{ "nvidia_ucf_pmu_0/CYCLES/", 0, 100, 50, "nvidia_ucf_pmu_0: its clock does not run: " },
		{ "nvidia_ucf_pmu_0/cycles/", 1, 100, 50, NULL },
		{ "nvidia_ucf_pmu_0/cycles_more/", 0, 100, 50, NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (int over = 0; over < 2; over++) {
			uint64_t words[] = { cases[i].value, cases[i].enabled, cases[i].running };
			const char *says = over ? NULL : cases[i].says;
			struct fixture f;

			begin(&f, "0", cases[i].events, NULL);
			put_pmu(&f, "nvidia_ucf_pmu_0", 30, "0", NULL);
			sysroot_put(f.dir, PMU "nvidia_ucf_pmu_0/events/cycles", "event=0x1\n");
			sysroot_put(f.dir, PMU "nvidia_ucf_pmu_0/events/cycles_more", "event=0x2\n");
			perf_pmus_release(&f.s->pmus);
			perf_pmus_read(&f.s->pmus, &f.w->root);
			open_all(&f);
			/* One that is gone needs no explanation. */
			f.s->group[0]->row[0]->end = over ? PERF_ENDED : PERF_ALIVE;
			assert_int_equal(write(ends[1], words, sizeof(words)), sizeof(words));
			source_perf.finish(&f.w->source, &f.w->plan);
			assert_int_equal(f.w->model.n_probes, says != NULL);
			if (says) {
				assert_non_null(strstr(said(&f.w->model.probe[0].what), says));
				assert_int_equal(f.w->model.probe[0].reason, PM_REASON_NOT_COUNTED);
			}
			end(&f);
		}
}

/* What `pmrec doctor` says of events. */
static void the_doctor_knows_the_machine(void **state)
{
	SCOPED(buf_release) struct buf out = BUF_INIT;
	struct source none = { .ops = &source_perf };
	struct fixture f;

	begin(&f, "0-1", "cs", "mem_0/event=1/");
	open_all(&f);
	sysroot_put(f.dir, "/proc/sys/kernel/perf_event_paranoid", "3\n");
	sysroot_put(f.dir, PMU "cpu/freeze_on_smi", "1\n");
	sysroot_put(f.dir, "/proc/sys/kernel/nmi_watchdog", "1\n");
	assert_int_equal(plan_refused(&f.w->plan, PM_REASON_NOT_SUPPORTED, remark_of("modprobe nvidia_cspmu"),
				      remark_of("units")),
			 0);
	assert_int_equal(
		plan_refused(&f.w->plan, PM_REASON_NOT_SUPPORTED, remark_of("modprobe other"), remark_of("others")),
		0);
	perf_doctor(&f.w->source, &f.w->plan, &out);
	assert_string_equal(buf_str(&out),
			    "2 events in 2 groups, 3 reads per snapshot; 8 PMUs\n"
			    "units: modprobe nvidia_cspmu\n"
			    "memory bandwidth: no PMU counts it: no event is known for this processor\n"
			    "kernel.perf_event_paranoid is 3\n"
			    "core counters are frozen in firmware interrupts; unless somebody is recording with "
			    "--smi-cost, echo 0 >/sys/bus/event_source/devices/cpu/freeze_on_smi\n"
			    "the NMI watchdog may hold one counter on each CPU: sysctl kernel.nmi_watchdog=0\n");
	sysroot_put(f.dir, PMU "cpu/freeze_on_smi", "0\n");
	sysroot_put(f.dir, "/proc/sys/kernel/nmi_watchdog", "0\n");
	buf_clear(&out);
	f.w->plan.model->n_probes = 1;
	f.s->n_groups = 1;
	perf_doctor(&f.w->source, &f.w->plan, &out);
	assert_string_equal(buf_str(&out),
			    "1 event in 1 group, 2 reads per snapshot; 8 PMUs\n"
			    "units: modprobe nvidia_cspmu\n"
			    "memory bandwidth: no PMU counts it: no event is known for this processor\n"
			    "kernel.perf_event_paranoid is 3\n");
	f.w->plan.model->n_probes = 2;
	f.s->n_groups = 2;
	/* Whom to listen to. */
	assert_null(perf_among(&none, 1));
	assert_ptr_equal(perf_among(&f.w->source, 1), &f.w->source);
	assert_int_equal(perf_watch(&f.w->source), -1);
	f.s->ends = 500;
	assert_int_equal(perf_watch(&f.w->source), 500);
	f.s->follow.epoll = 400;
	assert_int_equal(perf_watch(&f.w->source), 400);
	f.s->ends = f.s->follow.epoll = -1;
	/* Metrics that need no event. */
	assert_null(perf_no_event(&f.w->source));
	buf_addstr(&f.s->no_event, "a b");
	assert_string_equal(perf_no_event(&f.w->source), "a b");
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(units_count_for_the_cpus_of_an_option),
		cmocka_unit_test(what_has_no_cpu_says_why),
		cmocka_unit_test(counters_of_a_unit_are_found_by_opening),
		cmocka_unit_test(rows_follow_their_cpus),
		cmocka_unit_test(rows_that_stopped_are_opened_anew),
		cmocka_unit_test(rows_lack_what_is_short),
		cmocka_unit_test(rows_end_with_their_pmu),
		cmocka_unit_test(what_stood_still_is_told),
		cmocka_unit_test(the_doctor_knows_the_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
