/* /proc/stat: time by kind a CPU, and a few numbers of the whole system. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/catalog/catalog.h"
#include "record/sources/cputext.h"
#include "record/plan/plan.h"
#include "record/plan/source.h"

#define CPU_KEY "cpu." /* how the keys of the per-CPU rows begin */

/* Tags of the lines: a CPU's index, or this plus the number of the system counter. */
#define TAG_SYSTEM 0x80000000u

static int stat_refresh(struct textstore *s)
{
	struct cputext *t = (struct cputext *)s;
	struct textcursor c;
	bool cpus = false;
	uint32_t tag;
	uint64_t v;
	int err;

	err = textfile_read(&t->text.file);
	if (err)
		return err;
	for (uint32_t i = 0; i < t->n_system; i++)
		s->status[i] = PM_REASON_FORMAT;
	for (uint32_t i = t->n_system; i < s->n; i++)
		s->status[i] = PM_REASON_OFFLINE;
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
		for (uint32_t k = 0; k < t->n_counters; k++) {
			uint32_t slot = cputext_slot(t, k, tag);
			bool there = textcursor_u64(&c, &v);

			s->status[slot] = there ? PM_OK : PM_REASON_NOT_SUPPORTED;
			if (there)
				s->value[slot] = v;
		}
	}
	/* Not all CPUs can be offline. */
	return cpus ? 0 : -EINVAL;
}

static int learn_lines(struct cputext *t, const struct catalog_counter *row, uint32_t n_cpu_rows, uint32_t n_rows)
{
	struct textcursor c = textfile_begin(&t->text.file);
	char label[16];
	uint32_t cpu;
	int err = 0;

	/* All CPUs, so that one that is offline now is known when it comes. */
	err = textfile_add(&t->text.file, "cpu", 3, TEXTFILE_IGNORED);
	for (uint32_t i = 0; i < t->n_cpus && !err; i++) {
		int len = snprintf(label, sizeof(label), "cpu%u", t->cpu[i]);

		err = textfile_add(&t->text.file, label, (size_t)len, i);
	}
	while (!err && textcursor_line(&c)) {
		uint32_t tag = TEXTFILE_IGNORED;

		if (cputext_label(c.label, c.label_len, &cpu) || (c.label_len == 3 && !memcmp(c.label, "cpu", 3)))
			continue;
		for (uint32_t k = n_cpu_rows; k < n_rows; k++)
			if (strlen(row[k].key) == c.label_len && !memcmp(row[k].key, c.label, c.label_len))
				tag = TAG_SYSTEM + (k - n_cpu_rows);
		err = textfile_add(&t->text.file, c.label, c.label_len, tag);
	}
	return err;
}

static int add_counters(struct cputext *t, struct plan *p, const struct catalog_counter *row)
{
	for (uint32_t k = 0; k < t->n_counters + t->n_system; k++) {
		int64_t id = plan_counter(p, &row[k]);

		if (id < 0)
			return (int)id;
		*(k < t->n_counters ? &t->counter[k] : &t->system[k - t->n_counters]) = (uint32_t)id;
	}
	return 0;
}

static int stat_plan(struct source *s, struct plan *p, struct error *e)
{
	const struct catalog_counter *row;
	uint32_t n_cpu_rows = 0;
	struct cputext *t;
	size_t n;
	int err;

	row = catalog_source("stat", &n);
	while (n_cpu_rows < n && !strncmp(row[n_cpu_rows].key, CPU_KEY, strlen(CPU_KEY)))
		n_cpu_rows++;
	err = cputext_new(s, p, sizeof(*t), "/proc/stat", NULL, (uint32_t)n - n_cpu_rows, n_cpu_rows, stat_refresh);
	t = s->data;
	if (!err && !t)
		return 0;
	if (!err)
		err = learn_lines(t, row, n_cpu_rows, (uint32_t)n);
	if (!err)
		err = add_counters(t, p, row);
	if (!err)
		err = cputext_plan(t, p, 0);
	return err ? error_sys(e, -err, "stat") : 0;
}

const struct source_ops source_stat = {
	.name = "stat",
	.help = "CPU time by kind, context switches and tasks (/proc/stat)",
	.default_on = true,
	.plan = stat_plan,
	.update = cputext_update,
	.release = cputext_release,
};
