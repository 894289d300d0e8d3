/* Texts about the whole system. /proc/vmstat: every key; /proc/meminfo: those of the catalog; TCP of the network
 * namespace (/proc/net/snmp): a line of names and one of numbers. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/plan/plan.h"
#include "record/sources/textfile.h"

#define KEY_MAX 64

static int vmstat_refresh(struct textstore *s)
{
	struct textsource *d = (struct textsource *)s;
	struct textcursor c;
	uint32_t tag;
	int err;

	err = textfile_read(&d->file);
	/* On a live kernel it always has lines. */
	if (!err && !d->file.len)
		err = -ENODATA;
	if (err)
		return err;
	for (uint32_t i = 0; i < s->n; i++)
		s->status[i] = PM_REASON_GONE;
	c = textfile_begin(&d->file);
	while (textfile_next(&d->file, &c, &tag))
		if (tag < s->n)
			s->status[tag] = textcursor_u64(&c, &s->value[tag]) ? PM_OK : PM_REASON_FORMAT;
	return 0;
}

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

/* Its id; 0: it is not recorded; or -errno. */
static int64_t key_counter(struct plan *p, const char *key)
{
	const struct catalog_counter *row;
	char clean[KEY_MAX];
	const char *part;

	row = row_of(p->source->ops->name, key, &part);
	if (!row)
		return 0;
	member_part(clean, sizeof(clean), part, strlen(part));
	return member_counter(p, row, &(struct member){ .part = clean });
}

static int learn_keys(struct textsource *d, struct plan *p)
{
	struct textcursor c = textfile_begin(&d->file);
	char key[KEY_MAX];
	int err = 0;

	while (!err && textcursor_line(&c)) {
		uint32_t slot = d->store.n_cells;
		int64_t counter;
		uint64_t v;

		if (c.label_len + 4 >= sizeof(key) || !textcursor_u64(&c, &v))
			continue;
		textfile_name(&d->file, &c, key, sizeof(key));
		counter = key_counter(p, key);
		if (!counter)
			continue;
		err = textstore_cell(&d->store, counter, p->system_instance, slot);
		if (!err)
			err = textfile_add(&d->file, c.label, c.label_len, slot);
	}
	return err ? err : textstore_resize(&d->store, d->store.n_cells);
}

static int vmstat_plan(struct source *s, struct plan *p, struct error *e)
{
	struct textsource *d;
	char path[32];
	int err;

	snprintf(path, sizeof(path), "/proc/%s", s->ops->name);
	err = textsource_new(s, p, sizeof(*d), path, NULL, vmstat_refresh);
	d = s->data;
	if (err || !d)
		return err;
	err = learn_keys(d, p);
	return err ? err : textunit_add(p, &d->store, 0);
}

/* ---- TCP ---- */

struct tcp {
	struct textsource text; /* first; slot: row of the catalog */
	const struct catalog_counter *row;
};

static int tcp_refresh(struct textstore *s)
{
	struct tcp *d = (struct tcp *)s;
	int err = textfile_read(&d->text.file);
	const char *names = err ? NULL : strstr(d->text.file.data, "Tcp: "),
		   *at = names ? strstr(names + 1, "\nTcp: ") : NULL;

	if (err)
		return err;
	for (uint32_t i = 0; i < s->n; i++)
		s->status[i] = PM_REASON_FORMAT;
	if (!at)
		return -ENODATA;
	names += 5;
	at += 6;
	while (*names != '\n' && *at && *at != '\n') {
		size_t name = strcspn(names, " \n"), number = strcspn(at, " \n");

		for (uint32_t i = 0; i < s->n; i++) {
			char *end;

			if (strncmp(d->row[i].key, names, name) || d->row[i].key[name])
				continue;
			s->value[i] = strtoull(at, &end, 10);
			s->status[i] = end == at + number ? PM_OK : PM_REASON_FORMAT;
		}
		names += name + (names[name] == ' ');
		at += number + (at[number] == ' ');
	}
	return 0;
}

static int tcp_plan(struct source *s, struct plan *p, struct error *e)
{
	struct tcp *d;
	size_t n;
	int err = textsource_new(s, p, sizeof(*d), "/proc/net/snmp", NULL, tcp_refresh);

	d = s->data;
	if (err || !d)
		return err;
	d->row = catalog_source("tcp", &n);
	err = textstore_resize(&d->text.store, (uint32_t)n);
	for (uint32_t i = 0; i < n && !err; i++)
		err = textstore_cell(&d->text.store, plan_counter(p, &d->row[i]), p->system_instance, i);
	return err ? err : textunit_add(p, &d->text.store, 0);
}

const struct source_ops source_vmstat = {
	.name = "vmstat",
	.help = "memory management: levels and events (/proc/vmstat)",
	.plan = vmstat_plan,
	.release = textsource_release,
};

const struct source_ops source_meminfo = {
	.name = "meminfo",
	.help = "memory by use (/proc/meminfo)",
	.plan = vmstat_plan,
	.release = textsource_release,
};

const struct source_ops source_tcp = {
	.name = "tcp",
	.help = "TCP: connections, segments, retransmits (/proc/net/snmp)",
	.plan = tcp_plan,
	.release = textsource_release,
};
