/* Block devices (/proc/diskstats) and network interfaces (/proc/net/dev): a line a device, with numbers in columns. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/catalog/catalog.h"
#include "record/host/clocks.h"
#include "record/plan/device.h"
#include "record/plan/plan.h"
#include "record/sources/textunit.h"

#define COLUMNS 20
/* What comes and goes all the time must not hold up the recording all the time. */
#define CALM_NS 10000000000u

struct kind {
	const char *path;
	unsigned words;           /* before the name */
	const char *key[COLUMNS]; /* of the catalog, in the order of the file; "": of no interest */
	bool (*wanted)(struct plan *p, const char *name);
};

/* Partitions are a part of what their disk does. */
static bool is_disk(struct plan *p, const char *name)
{
	char file[64];

	snprintf(file, sizeof(file), "%.60s", name);
	for (char *slash = file; (slash = strchr(slash, '/'));)
		*slash = '!';
	return root_exists(p->root, "/sys/block/%s", file);
}

static bool is_interface(struct plan *p, const char *name)
{
	return *name != '\0';
}

static const struct kind disks = {
	.path = "/proc/diskstats",
	.words = 2,
	.key = { "reads", "reads_merged", "read_bytes", "read_time", "writes", "writes_merged", "write_bytes",
		 "write_time", "in_flight", "busy_time", "weighted_time", "discards", "", "discard_bytes",
		 "discard_time", "flushes", "flush_time" },
	.wanted = is_disk,
};

static const struct kind interfaces = {
	.path = "/proc/net/dev",
	.key = { "rx_bytes", "rx_packets", "rx_errors", "rx_dropped", "", "", "", "", "tx_bytes", "tx_packets",
		 "tx_errors", "tx_dropped" },
	.wanted = is_interface,
};

struct device {
	char name[48];
	bool ignored, placed;
	uint32_t instance;
};

struct devices {
	struct textsource text; /* first; slot = device * n_keys + key */
	const struct kind *kind;
	struct source *source;
	struct device *device;
	uint32_t n, n_keys, counter[COLUMNS];
	int n_columns; /* that this kernel has, up to the last of the kind */
	uint64_t updated_ns;
};

struct line {
	const char *name;
	size_t len;
	const char *numbers;
};

/* The next line that has a name; *at goes after it. */
static bool next_line(const struct kind *kind, const char **at, struct line *l)
{
	while (**at) {
		const char *p = *at, *end = strchr(p, '\n');

		*at = end ? end + 1 : p + strlen(p);
		for (unsigned w = 0; w < kind->words; w++) {
			p += strspn(p, " ");
			p += strcspn(p, " \n");
		}
		p += strspn(p, " ");
		l->name = p;
		l->len = strcspn(p, kind->words ? " \n" : ":\n");
		l->numbers = p + l->len + (p[l->len] == ':');
		/* Heads have bars. */
		if (l->len && l->len < sizeof(((struct device *)0)->name) && *l->numbers && *l->numbers != '\n' &&
		    !memchr(l->name, '|', l->len))
			return true;
	}
	return false;
}

static uint32_t find(const struct devices *d, const struct line *l, uint32_t guess)
{
	for (uint32_t i = 0; i < d->n; i++) {
		uint32_t k = (guess + i) % d->n;

		if (!strncmp(d->device[k].name, l->name, l->len) && !d->device[k].name[l->len])
			return k;
	}
	return PM_NONE;
}

static bool is_idle(const char *numbers)
{
	return numbers[strspn(numbers, " 0")] == '\n' || !numbers[strspn(numbers, " 0")];
}

static int refresh(struct textstore *s)
{
	struct devices *d = (struct devices *)s;
	int err = textfile_read(&d->text.file);
	const char *at = d->text.file.data;
	uint32_t next = 0;
	struct line l;

	if (err)
		return err;
	for (uint32_t i = 0; i < s->n; i++)
		s->status[i] = PM_REASON_GONE;
	while (next_line(d->kind, &at, &l)) {
		uint32_t k = find(d, &l, next), n = 0;
		const char *p = l.numbers;

		if (k == PM_NONE) {
			if (!is_idle(l.numbers) && clocks_monotonic() > d->updated_ns + CALM_NS)
				atomic_store(&d->source->stale, true);
			continue;
		}
		next = k + 1;
		for (int c = 0; c < d->n_columns && !d->device[k].ignored; c++) {
			char *end;
			uint64_t v = strtoull(p, &end, 10);

			if (end == p)
				break;
			p = end;
			if (*d->kind->key[c]) {
				s->value[k * d->n_keys + n] = v;
				s->status[k * d->n_keys + n++] = PM_OK;
			}
		}
	}
	return 0;
}

/* Units for those that have none yet. */
static int place_new(struct devices *d, struct plan *p)
{
	int err = textstore_resize(&d->text.store, d->n * d->n_keys);

	for (uint32_t i = 0; i < d->n && !err; i++) {
		int64_t id;

		if (d->device[i].ignored || d->device[i].placed)
			continue;
		id = device_named(p, d->device[i].name, i);
		d->device[i].placed = true;
		for (uint32_t k = 0; k < d->n_keys && !err; k++)
			err = textstore_cell(&d->text.store, d->counter[k], id, i * d->n_keys + k);
	}
	return err ? err : textunit_add(p, &d->text.store, 0);
}

/* What has been idle ever since the machine was started is not there: loop devices, for the most part. */
static int learn(struct devices *d, struct plan *p)
{
	const char *at = d->text.file.data;
	struct line l;

	while (next_line(d->kind, &at, &l)) {
		struct device *new;

		if (is_idle(l.numbers) || find(d, &l, 0) != PM_NONE)
			continue;
		if (array_room(&d->device, d->n, sizeof(*d->device)))
			return -ENOMEM;
		new = &d->device[d->n++];
		*new = (struct device){ 0 };
		memcpy(new->name, l.name, l.len);
		new->ignored = !d->kind->wanted(p, new->name);
	}
	d->updated_ns = clocks_monotonic();
	return place_new(d, p);
}

static int update(struct source *s, struct plan *p, uint32_t cpu, bool online)
{
	struct devices *d = s->data;
	int err;

	if (!d || cpu != PM_NONE)
		return 0;
	err = textfile_grow(&d->text.file);
	return err ? err : learn(d, p);
}

/* Later kernels have more. Without a line there is no telling: all of them. */
static int count_columns(const struct devices *d)
{
	const char *at = d->text.file.data;
	struct line l;
	bool any = next_line(d->kind, &at, &l);
	int n = 0;

	for (const char *p = any ? l.numbers : ""; n < COLUMNS && d->kind->key[n]; n++) {
		p += strspn(p, " ");
		if (any && (!*p || *p == '\n'))
			break;
		p += strcspn(p, " \n");
	}
	return n;
}

static int plan_kind(struct source *s, struct plan *p, const struct kind *kind, struct error *e)
{
	struct devices *d;
	int err = textsource_new(s, p, sizeof(*d), kind->path, NULL, refresh);

	d = s->data;
	if (err || !d)
		return err;
	d->kind = kind;
	d->source = s;
	d->n_columns = count_columns(d);
	for (int c = 0; c < d->n_columns; c++) {
		const struct catalog_counter *row = *kind->key[c] ? catalog_find(s->ops->name, kind->key[c]) : NULL;
		int64_t id = row ? plan_counter(p, row) : 0;

		if (id < 0)
			return (int)id;
		if (id)
			d->counter[d->n_keys++] = (uint32_t)id;
	}
	return learn(d, p);
}

static int disk_plan(struct source *s, struct plan *p, struct error *e)
{
	return plan_kind(s, p, &disks, e);
}

static int net_plan(struct source *s, struct plan *p, struct error *e)
{
	return plan_kind(s, p, &interfaces, e);
}

static void devices_release(struct source *s)
{
	struct devices *d = s->data;

	free(d->device);
	textsource_release(s);
}

const struct source_ops source_diskstats = {
	.name = "diskstats",
	.help = "block devices: requests, bytes, times (/proc/diskstats)",
	.plan = disk_plan,
	.update = update,
	.release = devices_release,
};

const struct source_ops source_netdev = {
	.name = "netdev",
	.help = "network interfaces: bytes, packets, errors (/proc/net/dev)",
	.plan = net_plan,
	.update = update,
	.release = devices_release,
};
