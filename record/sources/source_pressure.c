/* /proc/pressure: the time that tasks waited for CPU, memory or I/O. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/plan/plan.h"
#include "record/sources/textfile.h"

enum { KINDS = 2 };
static const char *const kind_name[KINDS] = { "some", "full" };

static const char *const resource[] = { "cpu", "memory", "io", "irq" };
#define RESOURCES (sizeof(resource) / sizeof(resource[0]))

struct pressure {
	struct textstore store; /* first; slot = resource * KINDS + kind */
	struct textfile file[RESOURCES];
};

static int read_resource(struct pressure *d, size_t r)
{
	uint64_t *value = &d->store.value[r * KINDS];
	uint16_t *status = &d->store.status[r * KINDS];
	int err = d->file[r].fd >= 0 ? textfile_read(&d->file[r]) : -ENOENT;
	struct textcursor c;

	status[0] = status[1] = err ? pm_reason_errno(err) : PM_REASON_FORMAT;
	if (err)
		return err;
	c = textfile_begin(&d->file[r]);
	while (textcursor_line(&c))
		for (int k = 0; k < KINDS; k++)
			if (c.label_len == 4 && !memcmp(c.label, kind_name[k], 4) && textcursor_find(&c, "total=") &&
			    textcursor_u64(&c, &value[k]))
				status[k] = PM_OK;
	return status[0] == PM_OK || status[1] == PM_OK ? 0 : -ENODATA;
}

static int pressure_refresh(struct textstore *s)
{
	struct pressure *d = (struct pressure *)s;

	int err = 0, one;
	bool any = false;

	for (size_t r = 0; r < RESOURCES; r++) {
		one = read_resource(d, r);
		any |= !one;
		/* A kernel may lack one of the files from the start: that does not explain why the others went. */
		err = one && one != -ENOENT ? one : err;
	}
	return any ? 0 : err;
}

static int open_files(struct pressure *d, struct plan *p)
{
	char path[32];
	int err, first = 0;

	for (size_t r = 0; r < RESOURCES; r++) {
		snprintf(path, sizeof(path), "/proc/pressure/%s", resource[r]);
		err = textfile_open(&d->file[r], p->root, path);
		if (r == 0)
			first = err;
		/* Pressure by interrupts needs accounting of interrupt time, which few kernels have. */
		if (err && !first && strcmp(resource[r], "irq"))
			plan_refused(p, pm_reason_errno(err), NULL, "%s", path);
	}
	return first;
}

static int add_counters(struct pressure *d, struct plan *p)
{
	char key[32];
	int err = 0;

	for (uint32_t slot = 0; slot < d->store.n && !err; slot++) {
		const struct catalog_counter *row;

		snprintf(key, sizeof(key), "%s.%s", resource[slot / KINDS], kind_name[slot % KINDS]);
		row = catalog_find("pressure", key);
		if (row && d->store.status[slot] == PM_OK)
			err = textstore_cell(&d->store, plan_counter(p, row), p->system_instance, slot);
		else if (row && d->file[slot / KINDS].fd >= 0)
			err = plan_refused(p, PM_REASON_NOT_SUPPORTED, NULL, "/proc/pressure/%s: %s",
					   resource[slot / KINDS], kind_name[slot % KINDS]);
	}
	return err ? err : textunit_add(p, &d->store, 0);
}

static int pressure_plan(struct source *s, struct plan *p, struct error *e)
{
	struct pressure *d = calloc(1, sizeof(*d));
	int err;

	if (!d)
		return -ENOMEM;
	s->data = d;
	for (size_t r = 0; r < RESOURCES; r++)
		d->file[r] = TEXTFILE_INIT;
	err = open_files(d, p);
	if (err)
		return plan_refused(p, pm_reason_errno(err),
				    err == -ENOENT     ? "a kernel with CONFIG_PSI, and psi=1 on its command line" :
				    err == -EOPNOTSUPP ? "psi=1 on the kernel's command line" :
							 NULL,
				    "/proc/pressure");
	d->store.refresh = pressure_refresh;
	err = textstore_resize(&d->store, RESOURCES * KINDS);
	if (!err)
		err = pressure_refresh(&d->store);
	if (!err)
		err = add_counters(d, p);
	return err;
}

static void pressure_release(struct source *s)
{
	struct pressure *d = s->data;

	textstore_release(&d->store);
	for (size_t r = 0; r < RESOURCES; r++)
		textfile_release(&d->file[r]);
}

const struct source_ops source_pressure = {
	.name = "pressure",
	.help = "time that tasks were stalled for lack of CPU, memory or I/O (/proc/pressure)",
	.plan = pressure_plan,
	.release = pressure_release,
};
