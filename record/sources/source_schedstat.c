/* /proc/schedstat: what the scheduler did on each CPU. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/catalog/catalog.h"
#include "common/parse.h"
#include "record/sources/cputext.h"
#include "record/plan/plan.h"
#include "record/plan/source.h"

/* Versions whose cpu lines have the same nine columns; they differ in the domain lines. */
#define VERSION_FIRST 15
#define VERSION_LAST  17
#define COLUMNS       9
/* Columns up to here stand still unless sysctl kernel.sched_schedstats is on; the last three always count. */
#define COLUMN_LAST_OPTIONAL 6

struct schedstat {
	struct cputext cpus;             /* first, for cputext_update() */
	uint8_t counter_of[COLUMNS + 1]; /* by column, from 1; counter + 1, 0: not wanted */
};

static int schedstat_refresh(struct textstore *s)
{
	struct schedstat *d = (struct schedstat *)s;
	struct cputext *t = &d->cpus;
	struct textcursor c;
	bool cpus = false;
	uint32_t tag;
	uint64_t v;
	int err;

	err = textfile_read(&t->text.file);
	if (err)
		return err;
	for (uint32_t i = 0; i < s->n; i++)
		s->status[i] = PM_REASON_OFFLINE;
	c = textfile_begin(&t->text.file);
	while (textfile_next(&t->text.file, &c, &tag)) {
		if (tag >= t->n_cpus)
			continue;
		cpus = true;
		for (unsigned column = 1; column <= COLUMNS && textcursor_u64(&c, &v); column++) {
			uint32_t slot;

			if (!d->counter_of[column])
				continue;
			slot = cputext_slot(t, d->counter_of[column] - 1u, tag);
			s->value[slot] = v;
			s->status[slot] = PM_OK;
		}
	}
	/* Not all CPUs can be offline. */
	return cpus ? 0 : -EINVAL;
}

/* The version the file states; 0 if it states none. */
static uint64_t version_of(const struct textfile *f)
{
	struct textcursor c = textfile_begin(f);
	uint64_t v;

	if (!textcursor_line(&c) || c.label_len != 7 || memcmp(c.label, "version", 7) || !textcursor_u64(&c, &v))
		return 0;
	return v;
}

static int learn_lines(struct cputext *t)
{
	struct textcursor c = textfile_begin(&t->text.file);
	uint32_t next = 0, cpu, index;
	char label[16];
	int err = 0;

	while (!err && textcursor_line(&c)) {
		if (!cputext_label(c.label, c.label_len, &cpu)) {
			err = textfile_add(&t->text.file, c.label, c.label_len, TEXTFILE_IGNORED);
			continue;
		}
		index = cputext_index(t, cpu);
		if (index == UINT32_MAX)
			continue;
		/* Those in between are offline and may come. */
		for (; next <= index && !err; next++) {
			int len = snprintf(label, sizeof(label), "cpu%u", t->cpu[next]);

			err = textfile_add(&t->text.file, label, (size_t)len, next);
		}
	}
	for (; next < t->n_cpus && !err; next++) {
		int len = snprintf(label, sizeof(label), "cpu%u", t->cpu[next]);

		err = textfile_add(&t->text.file, label, (size_t)len, next);
	}
	return err;
}

static int add_counters(struct schedstat *d, struct plan *p)
{
	const struct catalog_counter *row;
	uint64_t on = 1;
	int64_t id;
	size_t n;

	if (!root_u64(p->root, &on, "/proc/sys/kernel/sched_schedstats") && !on)
		plan_refused(p, PM_REASON_NOT_COUNTED, "sysctl kernel.sched_schedstats=1",
			     "schedstat: yields, schedules and wakeups are switched off");
	row = catalog_source("schedstat", &n);
	for (uint32_t k = 0; k < n; k++) {
		uint64_t column = 0;

		if (parse_u64(row[k].key, &column) || column > COLUMNS)
			return -EINVAL;
		if (column <= COLUMN_LAST_OPTIONAL && !on)
			continue;
		id = plan_counter(p, &row[k]);
		if (id < 0)
			return (int)id;
		d->cpus.counter[k] = (uint32_t)id;
		d->counter_of[column] = (uint8_t)(k + 1);
	}
	return 0;
}

static int schedstat_plan(struct source *s, struct plan *p, struct error *e)
{
	struct schedstat *d;
	uint64_t version;
	size_t n;
	int err;

	catalog_source("schedstat", &n);
	err = cputext_new(s, p, sizeof(*d), "/proc/schedstat", "a kernel with CONFIG_SCHEDSTATS", 0, (uint32_t)n,
			  schedstat_refresh);
	d = s->data;
	if (err || !d)
		return err ? error_sys(e, -err, "schedstat") : 0;
	version = version_of(&d->cpus.text.file);
	if (version < VERSION_FIRST || version > VERSION_LAST) {
		cputext_release(s);
		return plan_refused(p, PM_REASON_FORMAT, NULL, "/proc/schedstat: version %llu",
				    (unsigned long long)version);
	}
	err = learn_lines(&d->cpus);
	if (!err)
		err = add_counters(d, p);
	if (!err)
		err = cputext_plan(&d->cpus, p, 0);
	return err ? error_sys(e, -err, "schedstat") : 0;
}

const struct source_ops source_schedstat = {
	.name = "schedstat",
	.help = "what the scheduler did on each CPU (/proc/schedstat)",
	.default_on = true,
	.plan = schedstat_plan,
	.update = cputext_update,
	.release = cputext_release,
};
