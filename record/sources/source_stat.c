/* /proc/stat and /proc/schedstat: a line per CPU with a number in each column, and in /proc/stat a few numbers of the
 * whole system. /proc/softirqs: a line per kind, a column per CPU. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/parse.h"
#include "record/plan/plan.h"
#include "record/sources/cputext.h"
#include "record/sources/source_stat.h"

#define STOLEN  7      /* its column: user, nice, system, idle, iowait, irq, softirq, steal */
#define CPU_KEY "cpu." /* how the keys of the per-CPU rows of /proc/stat begin */

/* Versions of /proc/schedstat whose cpu lines have these nine columns; they differ in the domain lines. */
#define VERSION_FIRST 15
#define VERSION_LAST  17
/* Columns up to this one stand still unless sysctl kernel.sched_schedstats is on; the last three always count. */
#define COLUMN_LAST_OPTIONAL 6
#define COLUMNS_MAX          16

/* Tags of the lines: a CPU's index, or this plus the number of the system counter. */
#define TAG_SYSTEM 0x80000000u

struct cpulines {
	struct cputext cpus; /* first, for cputext_update() */
	unsigned columns;
	uint8_t counter_of[COLUMNS_MAX]; /* by column; counter + 1, 0: not wanted */
	_Atomic uint64_t *stolen;        /* owned; by CPU index; NULL: of schedstat */
};

static int refresh(struct textstore *s)
{
	struct cpulines *d = (struct cpulines *)s;
	struct cputext *t = &d->cpus;
	struct textcursor c;
	bool cpus = false;
	uint32_t tag;
	int err;

	err = textfile_read(&t->text.file);
	if (err)
		return err;
	for (uint32_t i = 0; i < s->n; i++)
		s->status[i] = i < t->n_system ? PM_REASON_FORMAT : PM_REASON_OFFLINE;
	c = textfile_begin(&t->text.file);
	while (textfile_next(&t->text.file, &c, &tag)) {
		if (tag >= TEXTFILE_IGNORED)
			continue;
		if (tag & TAG_SYSTEM) {
			tag -= TAG_SYSTEM;
			if (textcursor_u64(&c, &s->value[tag]))
				s->status[tag] = PM_OK;
			continue;
		}
		cpus = true;
		for (unsigned column = 0; column < d->columns; column++) {
			uint64_t v = 0;
			bool there = textcursor_u64(&c, &v);
			uint32_t slot;

			if (!d->counter_of[column])
				continue;
			slot = cputext_slot(t, d->counter_of[column] - 1u, tag);
			s->status[slot] = there ? PM_OK : PM_REASON_NOT_SUPPORTED;
			if (there)
				s->value[slot] = v;
			if (there && column == STOLEN && d->stolen)
				atomic_store_explicit(&d->stolen[tag], v, memory_order_relaxed);
		}
	}
	/* Not all CPUs can be offline. */
	for (uint32_t i = t->n_system; i < s->n && !cpus; i++)
		s->status[i] = PM_REASON_FORMAT;
	return t->text.file.len ? 0 : -ENODATA;
}

/* Adds the CPUs before `end` that are not known yet: offline ones may come online. */
static int learn_cpus(struct cputext *t, uint32_t *next, uint32_t end)
{
	char label[16];
	int err = 0;

	for (; *next < end && !err; ++*next) {
		int len = snprintf(label, sizeof(label), "cpu%u", t->cpu[*next]);

		err = textfile_add(&t->text.file, label, (size_t)len, *next);
	}
	return err;
}

/* `system`: the n_system rows of the catalog for lines that are not about a CPU. */
static int learn_lines(struct cputext *t, const struct catalog_counter *system)
{
	struct textcursor c = textfile_begin(&t->text.file);
	uint32_t next = 0, cpu, index;
	int err = 0;

	while (!err && textcursor_line(&c)) {
		uint32_t tag = TEXTFILE_IGNORED;

		if (cputext_label(c.label, c.label_len, &cpu)) {
			index = cputext_index(t, cpu);
			if (index != UINT32_MAX)
				err = learn_cpus(t, &next, index + 1);
			continue;
		}
		for (uint32_t k = 0; k < t->n_system; k++)
			if (strlen(system[k].key) == c.label_len && !memcmp(system[k].key, c.label, c.label_len))
				tag = TAG_SYSTEM + k;
		err = textfile_add(&t->text.file, c.label, c.label_len, tag);
	}
	return err ? err : learn_cpus(t, &next, t->n_cpus);
}

/* In the line of a CPU: kernels before 2.6.33 have fewer. */
static uint32_t count_columns(struct textfile *f)
{
	struct textcursor c = textfile_begin(f);
	uint32_t n = 0, cpu;
	uint64_t v;

	while (!n && textcursor_line(&c))
		while (cputext_label(c.label, c.label_len, &cpu) && textcursor_u64(&c, &v))
			n++;
	return n;
}

static int stat_plan(struct source *s, struct plan *p, struct error *e)
{
	const struct catalog_counter *row;
	uint32_t n_cpu_rows = 0, n_columns;
	struct cpulines *d;
	size_t n;
	int err;

	row = catalog_source("stat", &n);
	while (n_cpu_rows < n && !strncmp(row[n_cpu_rows].key, CPU_KEY, strlen(CPU_KEY)))
		n_cpu_rows++;
	err = cputext_new(s, p, sizeof(*d), "/proc/stat", NULL, (uint32_t)n - n_cpu_rows, n_cpu_rows, refresh);
	d = s->data;
	if (err || !d)
		return err;
	d->columns = n_cpu_rows;
	n_columns = count_columns(&d->cpus.text.file);
	if (n_columns && n_columns < n_cpu_rows)
		plan_refused(p, PM_REASON_NOT_SUPPORTED, NULL, "/proc/stat: times of each CPU but the first %u",
			     n_columns);
	for (uint32_t k = 0; k < n; k++) {
		bool there = !n_columns || k < n_columns || k >= n_cpu_rows;
		int64_t id = there ? plan_counter(p, &row[k]) : 0;

		if (id < 0)
			return (int)id;
		if (!id)
			continue;
		if (k >= n_cpu_rows) {
			d->cpus.system[k - n_cpu_rows] = (uint32_t)id;
			continue;
		}
		d->cpus.counter[k] = (uint32_t)id;
		d->counter_of[k] = (uint8_t)(k + 1);
	}
	d->stolen = calloc(d->cpus.n_cpus + 1, sizeof(*d->stolen));
	err = d->stolen ? learn_lines(&d->cpus, row + n_cpu_rows) : -ENOMEM;
	return err ? err : cputext_plan(&d->cpus, p);
}

bool stat_stolen(const struct source *s, uint32_t index, uint32_t *cpu, uint64_t *stolen)
{
	const struct cpulines *d = s->data;

	if (!d || !d->stolen || index >= d->cpus.n_cpus)
		return false;
	*cpu = d->cpus.cpu[index];
	*stolen = atomic_load_explicit(&d->stolen[index], memory_order_relaxed);
	return true;
}

static void stat_release(struct source *s)
{
	struct cpulines *d = s->data;

	free(d->stolen);
	cputext_release(s);
}

/* The version that the file states; 0 if none. */
static uint64_t version_of(struct textfile *f)
{
	struct textcursor c = textfile_begin(f);
	uint64_t v;

	if (!textcursor_line(&c) || c.label_len != 7 || memcmp(c.label, "version", 7) || !textcursor_u64(&c, &v))
		return 0;
	return v;
}

static int schedstat_plan(struct source *s, struct plan *p, struct error *e)
{
	const struct catalog_counter *row;
	uint64_t version, on = 1;
	struct cpulines *d;
	size_t n;
	int err;

	row = catalog_source("schedstat", &n);
	err = cputext_new(s, p, sizeof(*d), "/proc/schedstat", "a kernel with CONFIG_SCHEDSTATS", 0, (uint32_t)n,
			  refresh);
	d = s->data;
	if (err || !d)
		return err;
	version = version_of(&d->cpus.text.file);
	if (version < VERSION_FIRST || version > VERSION_LAST) {
		source_release(s);
		return plan_refused(p, PM_REASON_FORMAT, NULL, "/proc/schedstat: version %llu",
				    (unsigned long long)version);
	}
	err = learn_lines(&d->cpus, NULL);
	if (!root_u64(p->root, &on, "/proc/sys/kernel/sched_schedstats") && !on)
		plan_refused(p, PM_REASON_NOT_COUNTED, "sysctl kernel.sched_schedstats=1",
			     "schedstat: yields, schedules and wakeups are switched off");
	for (uint32_t k = 0; k < n && !err; k++) {
		uint64_t column = 0; /* from 1 */
		int64_t id;

		if (parse_u64(row[k].key, &column) || !column || column > COLUMNS_MAX)
			return -EINVAL;
		d->columns = column > d->columns ? (unsigned)column : d->columns;
		if (column <= COLUMN_LAST_OPTIONAL && !on)
			continue;
		id = plan_counter(p, &row[k]);
		err = id < 0 ? (int)id : 0;
		d->cpus.counter[k] = (uint32_t)id;
		d->counter_of[column - 1] = (uint8_t)(k + 1);
	}
	return err ? err : cputext_plan(&d->cpus, p);
}

/* ---- softirqs ---- */

static int softirqs_refresh(struct textstore *s)
{
	struct cputext *t = (struct cputext *)s;
	struct textcursor c;
	bool changed;
	uint32_t tag;
	uint64_t v;
	int err;

	err = textfile_read(&t->text.file);
	if (err)
		return err;
	err = cputext_begin(t, &c, &changed);
	if (err)
		return err;
	/* CPUs without a column keep this; there are few rows, so it is set each time. */
	for (uint32_t i = 0; i < s->n; i++)
		s->status[i] = PM_REASON_OFFLINE;
	while (textfile_next(&t->text.file, &c, &tag)) {
		if (tag >= t->n_counters)
			continue;
		for (uint32_t k = 0; k < t->n_columns; k++) {
			bool there = textcursor_u64(&c, &v);
			uint32_t slot;

			if (t->column[k] == UINT32_MAX)
				continue;
			slot = cputext_slot(t, tag, t->column[k]);
			s->value[slot] = there ? v : s->value[slot];
			s->status[slot] = there ? PM_OK : PM_REASON_FORMAT;
		}
	}
	return 0;
}

static int64_t kind_counter(const struct textfile *t, struct plan *p, const struct textcursor *c)
{
	char part[32], shown[32];
	size_t n;

	if (c->label_len + 4 >= sizeof(shown))
		return -EINVAL;
	textfile_name(t, c, shown, sizeof(shown));
	member_part(part, sizeof(part), shown, strlen(shown));
	return member_counter(p, catalog_source("softirqs", &n),
			      &(struct member){ .part = part, .shown = shown, .family = "softirqs.vec" });
}

static int learn_kinds(struct cputext *t, struct plan *p)
{
	struct textcursor c;
	uint32_t n = 0;
	bool changed;
	int err = cputext_begin(t, &c, &changed);

	while (!err && textcursor_line(&c)) {
		int64_t counter = kind_counter(&t->text.file, p, &c);

		if (counter < 0)
			return (int)counter;
		err = cputext_resize(t, n + 1);
		if (!err)
			err = textfile_add(&t->text.file, c.label, c.label_len, n);
		if (!err)
			t->counter[n++] = (uint32_t)counter;
	}
	return err;
}

static int softirqs_plan(struct source *s, struct plan *p, struct error *e)
{
	struct cputext *t;
	int err = cputext_new(s, p, sizeof(*t), "/proc/softirqs", NULL, 0, 0, softirqs_refresh);

	t = s->data;
	if (!err && !t)
		return 0;
	if (!err)
		err = learn_kinds(t, p);
	if (err == -EINVAL) {
		source_release(s);
		return plan_refused(p, PM_REASON_FORMAT, NULL, "/proc/softirqs");
	}
	if (!err)
		err = cputext_plan(t, p);
	return err;
}

const struct source_ops source_stat = {
	.name = "stat",
	.help = "CPU time by kind, context switches and tasks (/proc/stat)",
	.plan = stat_plan,
	.update = cputext_update,
	.release = stat_release,
};

const struct source_ops source_schedstat = {
	.name = "schedstat",
	.help = "what the scheduler did on each CPU (/proc/schedstat)",
	.plan = schedstat_plan,
	.update = cputext_update,
	.release = cputext_release,
};

const struct source_ops source_softirqs = {
	.name = "softirqs",
	.help = "soft interrupts by kind (/proc/softirqs)",
	.plan = softirqs_plan,
	.update = cputext_update,
	.release = cputext_release,
};
