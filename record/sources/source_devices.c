/* Block devices (/proc/diskstats) and network interfaces (/proc/net/dev): a line per device, with numbers in columns.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/memory.h"
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
	const char *folder, *below;                       /* its files that begin so name what the device stands on */
};

/* Sysfs has '!' for the '/' of a name. */
static const char *file_of(char file[64], const char *name)
{
	snprintf(file, 64, "%.60s", name);
	for (char *slash = file; (slash = strchr(slash, '/'));)
		*slash = '!';
	return file;
}

/* A partition's traffic is part of its disk's. */
static bool is_disk(struct plan *p, const char *name)
{
	char file[64];

	return root_exists(p->root, "/sys/block/%s", file_of(file, name));
}

/* nvme0n1 stands on its paths, which are nvme0c0n1, nvme0c1n1 ... */
static bool has_paths(struct plan *p, const char *name)
{
	SCOPED(root_list_free) char **entry = NULL;
	unsigned number, of;
	int rest = 0, n, path = 0;

	if (sscanf(name, "nvme%un%n", &number, &rest) != 1 || !rest)
		return false;
	n = root_list(p->root, &entry, "/sys/block");
	for (int i = 0; i < n; i++, path = 0)
		if (sscanf(entry[i], "nvme%uc%*un%n", &of, &path) == 1 && path && of == number &&
		    !strcmp(entry[i] + path, name + rest))
			return true;
	return false;
}

/* A loop device stands on a file, and so on a disk; volumes of ZFS and DRBD do not say what they stand on. */
static bool stands_on_disks(struct plan *p, const char *name, const char *file)
{
	unsigned number;

	return sscanf(name, "zd%u", &number) == 1 || sscanf(name, "drbd%u", &number) == 1 || has_paths(p, name) ||
	       root_exists(p->root, "/sys/block/%s/loop/backing_file", file);
}

static bool is_layer(struct plan *p, const struct kind *kind, const char *name)
{
	SCOPED(root_list_free) char **entry = NULL;
	char file[64];
	int n = root_list(p->root, &entry, kind->folder, file_of(file, name));

	for (int i = 0; i < n; i++)
		if (!strncmp(entry[i], kind->below, strlen(kind->below)))
			return true;
	return kind->wanted && stands_on_disks(p, name, file);
}

static const struct kind disks = {
	.path = "/proc/diskstats",
	.words = 2,
	.key = { "reads", "reads_merged", "read_bytes", "read_time", "writes", "writes_merged", "write_bytes",
		 "write_time", "in_flight", "busy_time", "weighted_time", "discards", "", "discard_bytes",
		 "discard_time", "flushes", "flush_time" },
	.wanted = is_disk,
	.folder = "/sys/block/%s/slaves",
	.below = "",
};

static const struct kind interfaces = {
	.path = "/proc/net/dev",
	.key = { "rx_bytes", "rx_packets", "rx_errors", "rx_dropped", "", "", "", "", "tx_bytes", "tx_packets",
		 "tx_errors", "tx_dropped" },
	.folder = "/sys/class/net/%s",
	.below = "lower_",
};

struct devices {
	struct textsource text; /* first; a row is a device, of n_keys slots */
	const struct kind *kind;
	uint32_t n, counter[COLUMNS];
	bool level[COLUMNS]; /* by key: a gauge */
	uint32_t n_before;   /* devices from this one on have counted since their last reading, which was 0 */
	uint64_t updated_ns;
};

/* Heads have no numbers. */
static bool is_device(const struct textcursor *c)
{
	size_t len;
	const char *numbers = textcursor_rest(c, &len);

	return len && *numbers >= '0' && *numbers <= '9';
}

/* Devices that have been idle since the boot are skipped until they count: mostly loop devices. */
static bool is_active(const struct textcursor *c)
{
	size_t len;
	const char *numbers = textcursor_rest(c, &len);

	return is_device(c) && strspn(numbers, " 0") < len;
}

/* An idle one becomes active once, so it need not wait. */
static void notice(struct textsource *t, const struct textcursor *c, uint32_t tag)
{
	const struct devices *d = (struct devices *)t;

	if ((tag == TEXTFILE_IDLE || (tag == TEXTFILE_UNKNOWN && clocks_monotonic() > d->updated_ns + CALM_NS)) &&
	    is_active(c))
		atomic_store(&t->source->stale, true);
}

static int refresh(struct textsource *t)
{
	struct devices *d = (struct devices *)t;
	int err = textsource_refresh(t);

	/* So many are new that nothing is read until there is room. */
	if (err == -EFBIG)
		atomic_store(&t->source->stale, true);
	if (err)
		return err;
	for (uint32_t slot = d->n_before * t->step; slot < t->n; slot++)
		if (!d->level[slot % t->step])
			t->value[slot] = 0;
	d->n_before = d->n;
	return 0;
}

/* Adds the cells of a device, and room for its numbers. */
static void add_device(struct devices *d, struct plan *p, const char *name)
{
	int64_t instance = device_named(p, name, d->n, is_layer(p, d->kind, name));
	uint32_t slot = d->n++ * d->text.step;

	textsource_resize(&d->text, slot + d->text.step);
	for (uint32_t k = 0; k < d->text.step; k++)
		textsource_cell(&d->text, d->counter[k], instance, slot + k);
}

/* Adds the devices with that tag that count, and takes a note of idle ones. */
static void learn_tagged(struct devices *d, struct plan *p, uint32_t wanted_tag)
{
	struct textcursor c = textfile_begin(&d->text.file);
	uint32_t tag;

	while (textfile_next(&d->text.file, &c, &tag)) {
		uint32_t becomes = is_active(&c) ? d->n : TEXTFILE_IDLE;
		char name[64];

		if (tag != wanted_tag || becomes == tag || !is_device(&c))
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)c.label_len, c.label);
		if (d->kind->wanted && !d->kind->wanted(p, name))
			becomes = TEXTFILE_IGNORED;
		if (tag == TEXTFILE_IDLE)
			d->text.file.line[c.last].tag = becomes;
		else
			textfile_add(&d->text.file, c.label, c.label_len, becomes);
		if (becomes == d->n)
			add_device(d, p, name);
	}
}

static void learn(struct devices *d, struct plan *p)
{
	learn_tagged(d, p, TEXTFILE_UNKNOWN);
	/* What an idle device has counted meanwhile is not lost if its first reading is still 0. */
	d->n_before = d->n;
	learn_tagged(d, p, TEXTFILE_IDLE);
	d->updated_ns = clocks_monotonic();
	textsource_unit(&d->text, p, 0);
}

static void update(struct source *s, struct plan *p, uint32_t cpu, bool online)
{
	struct devices *d = s->data;

	/* If it cannot be read, its readings say so. */
	if (cpu == PM_NONE && !textfile_grow(&d->text.file))
		learn(d, p);
}

static int devices_plan(struct source *s, struct plan *p, struct error *e)
{
	const struct kind *kind = strcmp(s->ops->name, "netdev") ? &disks : &interfaces;
	struct devices *d = textsource_new(s, p, sizeof(*d), kind->path, 0);
	struct textsource *t;
	struct textcursor c;
	uint32_t keys = 0;
	uint64_t v;

	if (!d)
		return 0;
	t = &d->text;
	d->kind = kind;
	s->restless = true;
	t->refresh = refresh;
	t->notice = notice;
	t->absent_row = t->absent_number = PM_REASON_GONE;
	t->file.words = kind->words;
	while (keys < COLUMNS && kind->key[keys])
		keys++;
	/* Later kernels have more columns. Without a line their number is unknown: assume all. */
	for (c = textfile_begin(&t->file); !t->n_columns && textcursor_line(&c);)
		while (t->n_columns < keys && textcursor_u64(&c, &v))
			t->n_columns++;
	t->n_columns = t->n_columns ? t->n_columns : keys;
	t->column = memory_new(keys, sizeof(*t->column));
	for (uint32_t k = 0; k < t->n_columns; k++) {
		const struct catalog_counter *row = *kind->key[k] ? catalog_find(s->ops->name, kind->key[k]) : NULL;

		t->column[k] = row ? t->step : UINT32_MAX;
		if (!row)
			continue;
		d->level[t->step] = row->semantics == CATALOG_GAUGE;
		d->counter[t->step++] = (uint32_t)plan_counter(p, row);
	}
	learn(d, p);
	return 0;
}

const struct source_ops source_diskstats = {
	.name = "diskstats",
	.help = "block devices: requests, bytes, times (/proc/diskstats)",
	.plan = devices_plan,
	.update = update,
	.release = textsource_release,
};

const struct source_ops source_netdev = {
	.name = "netdev",
	.help = "network interfaces: bytes, packets, errors (/proc/net/dev)",
	.plan = devices_plan,
	.update = update,
	.release = textsource_release,
};
