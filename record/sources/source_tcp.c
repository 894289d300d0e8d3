/* TCP of the network namespace (/proc/net/snmp): a line of names and one of numbers. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/catalog/catalog.h"
#include "record/plan/plan.h"
#include "record/sources/textunit.h"

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
			if (strncmp(d->row[i].key, names, name) || d->row[i].key[name])
				continue;
			s->value[i] = strtoull(at, NULL, 10);
			s->status[i] = PM_OK;
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

const struct source_ops source_tcp = {
	.name = "tcp",
	.help = "TCP: connections, segments, retransmits (/proc/net/snmp)",
	.plan = tcp_plan,
	.release = textsource_release,
};
