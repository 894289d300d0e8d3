/* Block devices (/proc/diskstats) and network interfaces (/proc/net/dev): a line per device, with numbers in columns.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "record/host/clocks.h"
#include "record/plan/plan.h"
#include "record/sources/textfile.h"

#define COLUMNS 20
/* What comes and goes all the time must not keep interrupting the recording. */
#define CALM_NS 10000000000u

struct kind {
	const char *path;
	uint32_t words;                                   /* before the name */
	const char *key[COLUMNS];                         /* of the catalog, in the file's order; "": ignored */
	bool (*wanted)(struct plan *p, const char *name); /* NULL: all are */
};

/* A partition's traffic is part of its disk's. */
static bool is_disk(struct plan *p, const char *name)
{
	char file[64];

	snprintf(file, sizeof(file), "%.60s", name);
	for (char *slash = file; (slash = strchr(slash, '/'));)
		*slash = '!';
	return root_exists(p->root, "/sys/block/%s", file);
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
};

struct devices {
	struct textsource text; /* first; slot = device * n_keys + key; the tag of a line is its device */
	const struct kind *kind;
	struct source *source;
	uint32_t n, n_keys, counter[COLUMNS];
	int n_columns; /* that this kernel has, up to the last of the kind */
	uint64_t updated_ns;
};

/* Devices that have been idle since the boot are skipped: mostly loop devices. Heads have no numbers. */
static bool is_there(const struct textcursor *c)
{
	size_t len;
	const char *numbers = textcursor_rest(c, &len);

	return len && *numbers >= '0' && *numbers <= '9' && strspn(numbers, " 0") < len;
}

static int refresh(struct textstore *s)
{
	struct devices *d = (struct devices *)s;
	int err = textfile_read(&d->text.file);
	struct textcursor c;
	uint32_t tag;
	uint64_t v;

	/* So many are new that nothing is read until there is room. */
	if (err == -EFBIG)
		atomic_store(&d->source->stale, true);
	if (err)
		return err;
	for (uint32_t i = 0; i < s->n; i++)
		s->status[i] = PM_REASON_GONE;
	c = textfile_begin(&d->text.file);
	while (textfile_next(&d->text.file, &c, &tag)) {
		uint32_t slot = tag * d->n_keys;

		if (tag == TEXTFILE_UNKNOWN && is_there(&c) && clocks_monotonic() > d->updated_ns + CALM_NS)
			atomic_store(&d->source->stale, true);
		for (int k = 0; tag < d->n && k < d->n_columns && textcursor_u64(&c, &v); k++)
			if (*d->kind->key[k]) {
				s->value[slot] = v;
				s->status[slot++] = PM_OK;
			}
	}
	return 0;
}

/* Adds the cells of a device, and room for its numbers. */
static int add_device(struct devices *d, struct plan *p, const char *name)
{
	int64_t instance = device_named(p, name, d->n);
	uint32_t slot = d->n++ * d->n_keys;
	int err = textstore_resize(&d->text.store, slot + d->n_keys);

	for (uint32_t k = 0; k < d->n_keys && !err; k++)
		err = textstore_cell(&d->text.store, d->counter[k], instance, slot + k);
	return err;
}

static int learn(struct devices *d, struct plan *p)
{
	struct textcursor c = textfile_begin(&d->text.file);
	uint32_t tag;
	int err = 0;

	while (!err && textfile_next(&d->text.file, &c, &tag)) {
		char name[64];
		bool wanted;

		if (tag != TEXTFILE_UNKNOWN || !is_there(&c))
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)c.label_len, c.label);
		wanted = !d->kind->wanted || d->kind->wanted(p, name);
		err = textfile_add(&d->text.file, c.label, c.label_len, wanted ? d->n : TEXTFILE_IGNORED);
		if (!err && wanted)
			err = add_device(d, p, name);
	}
	d->updated_ns = clocks_monotonic();
	return err ? err : textunit_add(p, &d->text.store, 0);
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

/* Later kernels have more. Without a line their number is unknown: assume all. */
static int count_columns(const struct devices *d)
{
	struct textcursor c = textfile_begin(&d->text.file);
	int keys = 0, n = 0;
	uint64_t v;

	while (keys < COLUMNS && d->kind->key[keys])
		keys++;
	while (!n && textcursor_line(&c))
		while (n < keys && textcursor_u64(&c, &v))
			n++;
	return n ? n : keys;
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
	s->restless = true;
	d->text.file.words = kind->words;
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

const struct source_ops source_diskstats = {
	.name = "diskstats",
	.help = "block devices: requests, bytes, times (/proc/diskstats)",
	.plan = disk_plan,
	.update = update,
	.release = textsource_release,
};

const struct source_ops source_netdev = {
	.name = "netdev",
	.help = "network interfaces: bytes, packets, errors (/proc/net/dev)",
	.plan = net_plan,
	.update = update,
	.release = textsource_release,
};
