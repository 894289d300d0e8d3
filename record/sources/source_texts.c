/* Texts of /proc about the system and its CPUs: stat, schedstat, softirqs, vmstat, meminfo, the TCP of net/snmp, and
 * pressure. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/memory.h"
#include "common/parse.h"
#include "record/plan/plan.h"
#include "record/sources/textfile.h"

/* ---- a key and a number a line ---- */

#define KEY_MAX 64

/* The row of that key, or the pattern that matches it; NULL: it is not recorded. *part is what matches the pattern's
 * '*'. */
static const struct catalog_counter *row_of(const char *source, const char *key, const char **part)
{
	const struct catalog_counter *row = catalog_find(source, key);

	*part = key;
	if (row)
		return row;
	if (strcmp(source, "vmstat") || strncmp(key, "nr_", 3))
		return catalog_find(source, "*");
	*part = key + 3;
	return catalog_find("vmstat", "nr_*");
}

static bool learn_keys(struct textsource *t, struct plan *p)
{
	struct textcursor c = textfile_begin(&t->file);

	while (textcursor_line(&c)) {
		const struct catalog_counter *row;
		char key[KEY_MAX], clean[KEY_MAX];
		uint32_t tag = TEXTFILE_SINGLE + t->n_single;
		const char *part;
		uint64_t v;

		if (c.label_len + 4 >= sizeof(key) || !textcursor_u64(&c, &v))
			continue;
		textfile_name(&t->file, &c, key, sizeof(key));
		row = row_of(p->source->ops->name, key, &part);
		if (!row)
			continue;
		member_part(clean, sizeof(clean), part, strlen(part));
		textsource_cell(t, member_counter(p, row, &(struct member){ .part = clean }), p->system_instance,
				t->n_single++);
		textfile_add(&t->file, c.label, c.label_len, tag);
	}
	return true;
}

/* ---- a CPU and its numbers a line ---- */

#define CPU_KEY "cpu." /* how the keys of the per-CPU rows of /proc/stat begin */

/* Versions of /proc/schedstat whose cpu lines have these nine columns; they differ in the domain lines. */
#define VERSION_FIRST 15
#define VERSION_LAST  17
/* Columns up to this one stand still unless sysctl kernel.sched_schedstats is on; the last three always count. */
#define COLUMN_LAST_OPTIONAL 6
#define SCHEDSTAT_COLUMNS    9

/* Lines of CPUs have so many columns, of which the rows of the catalog name some. */
static void expect_cpus(struct textsource *t, const struct plan *p, uint32_t n_columns, uint32_t n_ids)
{
	textsource_cpus(t, p, n_columns);
	t->by_cpu = true;
	t->step = 1;
	t->n_ids = n_ids;
	t->id = memory_new(n_ids, sizeof(*t->id));
}

static void expect_column(struct textsource *t, struct plan *p, const struct catalog_counter *row, uint32_t k,
			  uint64_t column)
{
	t->id[k] = (uint32_t)plan_counter(p, row);
	t->column[column] = k * t->n_cpus;
}

static bool learn_stat(struct textsource *t, struct plan *p)
{
	size_t n;
	const struct catalog_counter *row = catalog_source("stat", &n);
	uint32_t n_cpu_rows = 0;

	while (n_cpu_rows < n && !strncmp(row[n_cpu_rows].key, CPU_KEY, strlen(CPU_KEY)))
		n_cpu_rows++;
	expect_cpus(t, p, n_cpu_rows, n_cpu_rows);
	t->n_single = (uint32_t)n - n_cpu_rows;
	for (uint32_t k = 0; k < n_cpu_rows; k++)
		expect_column(t, p, &row[k], k, k);
	for (uint32_t k = n_cpu_rows; k < n; k++) {
		textsource_cell(t, plan_counter(p, &row[k]), p->system_instance, k - n_cpu_rows);
		textfile_add(&t->file, row[k].key, strlen(row[k].key), TEXTFILE_SINGLE + k - n_cpu_rows);
	}
	return true;
}

static bool learn_schedstat(struct textsource *t, struct plan *p)
{
	size_t n;
	const struct catalog_counter *row = catalog_source("schedstat", &n);
	struct textcursor c = textfile_begin(&t->file);
	uint64_t version = 0, on = 1, column;

	if (!textcursor_line(&c) || c.label_len != 7 || memcmp(c.label, "version", 7) ||
	    !textcursor_u64(&c, &version) || version < VERSION_FIRST || version > VERSION_LAST) {
		plan_refused(p, PM_REASON_FORMAT, pm_remark(0),
			     pm_remark(PM_REMARK_SCHEDSTAT_VERSION, (unsigned)version));
		return false;
	}
	if (!root_u64(p->root, &on, "/proc/sys/kernel/sched_schedstats") && !on)
		plan_refused(p, PM_REASON_NOT_COUNTED, pm_remark(PM_REMEDY_SCHEDSTATS_ON),
			     pm_remark(PM_REMARK_SCHEDSTAT_OFF));
	expect_cpus(t, p, SCHEDSTAT_COLUMNS, (uint32_t)n);
	/* Keys are numbers of columns, from 1. */
	for (uint32_t k = 0; k < n; k++)
		if (!parse_u64(row[k].key, &column) && (column > COLUMN_LAST_OPTIONAL || on))
			expect_column(t, p, &row[k], k, column - 1);
	return true;
}

/* ---- a kind and a number of each CPU a line ---- */

static bool learn_softirqs(struct textsource *t, struct plan *p)
{
	size_t n;
	const struct catalog_counter *row = catalog_source("softirqs", &n);
	struct textcursor c;
	int err;

	textsource_cpus(t, p, 0);
	t->headed = true;
	t->step = t->n_cpus;
	err = textsource_begin(t, &c);
	while (!err && textcursor_line(&c)) {
		char part[32], shown[32];

		if (c.label_len + 4 >= sizeof(shown)) {
			err = -EINVAL;
			break;
		}
		textfile_name(&t->file, &c, shown, sizeof(shown));
		member_part(part, sizeof(part), shown, strlen(shown));
		memory_room(&t->id, t->n_ids, sizeof(*t->id));
		t->id[t->n_ids] = (uint32_t)member_counter(
			p, row, &(struct member){ .part = part, .shown = shown, .family = "softirqs.vec" });
		textfile_add(&t->file, c.label, c.label_len, t->n_ids++);
	}
	if (err)
		plan_refused(p, PM_REASON_FORMAT, pm_remark(0), pm_remark(PM_REMARK_FILE, "/proc/softirqs"));
	return !err;
}

/* ---- a line of names, and one of numbers ---- */

#define TCP "Tcp:"

static bool learn_tcp(struct textsource *t, struct plan *p)
{
	size_t n;
	const struct catalog_counter *row = catalog_source("tcp", &n);

	for (uint32_t k = 0; k < n; k++)
		textsource_cell(t, plan_counter(p, &row[k]), p->system_instance, k);
	textsource_resize(t, (uint32_t)n);
	return true;
}

static int tcp_refresh(struct textsource *t)
{
	size_t n, len;
	const struct catalog_counter *row = catalog_source("tcp", &n);
	int err = textfile_read(&t->file);
	const char *name = err ? NULL : strstr(t->file.data, TCP), *number = name ? strstr(name + 1, TCP) : NULL;

	if (!number)
		return err ? err : -ENODATA;
	for (uint32_t k = 0; k < n; k++)
		t->status[k] = PM_REASON_FORMAT;
	for (name += strlen(TCP), number += strlen(TCP); *name == ' ' && *number == ' ';
	     name += len, number += 1 + strcspn(number + 1, " \n")) {
		len = strcspn(++name, " \n");
		for (uint32_t k = 0; k < n; k++)
			if (!strncmp(row[k].key, name, len) && !row[k].key[len] &&
			    textcursor_u64(&(struct textcursor){ .at = number }, &t->value[k]))
				t->status[k] = PM_OK;
	}
	return 0;
}

/* ---- all of these ---- */

static const struct text {
	const char *source, *path;
	unsigned remedy;
	bool (*learn)(struct textsource *t, struct plan *p); /* false: it was refused */
	int (*refresh)(struct textsource *t);
	uint16_t single, row, number; /* why what is absent is missing */
} texts[] = {
	/* clang-format off */
	{ "stat", "/proc/stat", 0, learn_stat, textsource_refresh, PM_REASON_FORMAT, PM_REASON_OFFLINE, PM_REASON_NOT_SUPPORTED },
	{ "schedstat", "/proc/schedstat", PM_REMEDY_SCHEDSTATS, learn_schedstat, textsource_refresh,
	  0, PM_REASON_OFFLINE, PM_REASON_NOT_SUPPORTED },
	{ "softirqs", "/proc/softirqs", 0, learn_softirqs, textsource_refresh, 0, PM_REASON_OFFLINE, PM_REASON_FORMAT },
	{ "vmstat", "/proc/vmstat", 0, learn_keys, textsource_refresh, PM_REASON_GONE, 0, 0 },
	{ "meminfo", "/proc/meminfo", 0, learn_keys, textsource_refresh, PM_REASON_GONE, 0, 0 },
	{ "tcp", "/proc/net/snmp", 0, learn_tcp, tcp_refresh, 0, PM_REASON_FORMAT, PM_REASON_FORMAT },
	/* clang-format on */
};

static int text_plan(struct source *s, struct plan *p, struct error *e)
{
	const struct text *text = texts;
	struct textsource *t;

	while (strcmp(text->source, s->ops->name))
		text++;
	t = textsource_new(s, p, sizeof(*t), text->path, text->remedy);
	if (!t)
		return 0;
	t->refresh = text->refresh;
	t->absent_single = text->single;
	t->absent_row = text->row;
	t->absent_number = text->number;
	if (text->learn(t, p))
		textsource_plan(t, p);
	else
		source_release(s);
	return 0;
}

/* ---- pressure ---- */

enum { KINDS = 2 };
static const char *const kind_name[KINDS] = { "some", "full" };

static const char *const resource[] = { "cpu", "memory", "io", "irq" };
#define RESOURCES (sizeof(resource) / sizeof(resource[0]))

struct pressure {
	struct textsource text; /* first; its file is not open; slot = resource * KINDS + kind */
	struct textfile file[RESOURCES];
};

static int read_resource(struct pressure *d, size_t r)
{
	uint64_t *value = &d->text.value[r * KINDS];
	uint16_t *status = &d->text.status[r * KINDS];
	int err = d->file[r].fd >= 0 ? textfile_read(&d->file[r]) : -ENOENT;

	status[0] = status[1] = err ? pm_reason_errno(err) : PM_REASON_FORMAT;
	if (err)
		return err;
	for (int k = 0; k < KINDS; k++)
		if (text_sum(d->file[r].data, kind_name[k], " total=", &value[k]))
			status[k] = PM_OK;
	return status[0] == PM_OK || status[1] == PM_OK ? 0 : -ENODATA;
}

static int pressure_refresh(struct textsource *t)
{
	struct pressure *d = (struct pressure *)t;
	bool any = false;
	int err = 0;

	for (size_t r = 0; r < RESOURCES; r++) {
		int one = read_resource(d, r);

		any |= !one;
		/* A kernel may lack one of the files from the start: that does not explain why the others went. */
		err = one && one != -ENOENT ? one : err;
	}
	return any ? 0 : err;
}

static int pressure_plan(struct source *s, struct plan *p, struct error *e)
{
	struct pressure *d = s->data = memory_new(1, sizeof(*d));
	char path[32];
	int first = 0;

	d->text.file = TEXTFILE_INIT;
	d->text.refresh = pressure_refresh;
	for (size_t r = 0; r < RESOURCES; r++) {
		int err;

		snprintf(path, sizeof(path), "/proc/pressure/%s", resource[r]);
		err = textfile_open(&d->file[r], p->root, path);
		first = r ? first : err;
		/* Pressure by interrupts needs accounting of interrupt time, which few kernels have. */
		if (err && !first && strcmp(resource[r], "irq"))
			plan_refused(p, pm_reason_errno(err), pm_remark(0), pm_remark(PM_REMARK_FILE, path));
	}
	if (first)
		return plan_refused(p, pm_reason_errno(first),
				    pm_remark(first == -ENOENT     ? PM_REMEDY_PSI :
					      first == -EOPNOTSUPP ? PM_REMEDY_PSI_ON :
								     0),
				    pm_remark(PM_REMARK_FILE, "/proc/pressure"));
	textsource_resize(&d->text, RESOURCES * KINDS);
	first = pressure_refresh(&d->text);
	for (uint32_t slot = 0; slot < RESOURCES * KINDS && !first; slot++) {
		const char *what = resource[slot / KINDS], *kind = kind_name[slot % KINDS];
		const struct catalog_counter *row;

		snprintf(path, sizeof(path), "%s.%s", what, kind);
		row = catalog_find("pressure", path);
		if (row && d->text.status[slot] == PM_OK)
			textsource_cell(&d->text, plan_counter(p, row), p->system_instance, slot);
		else if (row && d->file[slot / KINDS].fd >= 0)
			plan_refused(p, PM_REASON_NOT_SUPPORTED, pm_remark(0),
				     pm_remark(PM_REMARK_PRESSURE_LINE, what, kind));
	}
	if (!first)
		textsource_unit(&d->text, p, 0);
	return first;
}

static void pressure_release(struct source *s)
{
	struct pressure *d = s->data;

	for (size_t r = 0; r < RESOURCES; r++)
		textfile_release(&d->file[r]);
	textsource_release(s);
}

/* clang-format off */
#define TEXT(name_, help_, update_) \
	const struct source_ops source_##name_ = { \
		.name = #name_, .help = help_, .plan = text_plan, .update = update_, .release = textsource_release }
/* clang-format on */

TEXT(stat, "CPU time by kind, context switches and tasks (/proc/stat)", textsource_update);
TEXT(schedstat, "what the scheduler did on each CPU (/proc/schedstat)", textsource_update);
TEXT(softirqs, "soft interrupts by kind (/proc/softirqs)", textsource_update);
TEXT(vmstat, "memory management: levels and events (/proc/vmstat)", NULL);
TEXT(meminfo, "memory by use (/proc/meminfo)", NULL);
TEXT(tcp, "TCP: connections, segments, retransmits (/proc/net/snmp)", NULL);

const struct source_ops source_pressure = {
	.name = "pressure",
	.help = "time that tasks were stalled for lack of CPU, memory or I/O (/proc/pressure)",
	.plan = pressure_plan,
	.release = pressure_release,
};
