/* Whose recording it is: the facts of the header, decoded registers and refusals, as pairs of texts. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/number.h"
#include "report/decode.h"
#include "report/html.h"
#include "report/info.h"
#include "report/value_out.h"
#include "report/input.h"

static int add(struct html_recording *r, const char *name, const char *value, enum pm_privacy privacy, bool head)
{
	uint32_t cap = r->cap_facts ? r->cap_facts * 2 : 64;
	struct html_fact *f = r->fact;

	if (r->n_facts == r->cap_facts) {
		if (!(f = reallocarray(r->fact, cap, sizeof(*f))))
			return -ENOMEM;
		r->fact = f;
		r->cap_facts = cap;
	}
	f += r->n_facts;
	*f = (struct html_fact){
		.name = strdup(name), .value = strdup(value), .reveals = privacy_name(privacy), .head = head,
	};
	if (!f->name || !f->value) {
		free(f->name);
		free(f->value);
		return -ENOMEM;
	}
	r->n_facts++;
	return 0;
}

static int head(struct html_recording *r, const char *name)
{
	return add(r, name, "", PM_PRIVACY_TECHNICAL, true);
}

static int fact(struct html_recording *r, const char *name, const char *value)
{
	return add(r, name, value, PM_PRIVACY_TECHNICAL, false);
}

static int recording(struct html_recording *r)
{
	char text[64], number[NUMBER_MAX];
	int err = head(r, "Recording");

	if (!err)
		err = fact(r, "file", input_name(r->path));
	if (!err && r->start_wall_ns > 0) {
		text[number_time(text, (uint64_t)r->start_wall_ns, 0)] = '\0';
		err = add(r, "start", text, PM_PRIVACY_TIME, false);
	}
	number[number_fixed(number, r->duration_s, 3)] = '\0';
	snprintf(text, sizeof(text), "%s s", number);
	return err ? err : fact(r, "duration", text);
}

/* Everything of the header, so that a key of a later version is shown, too. */
static int host(struct html_recording *r, const struct pm_model *m)
{
	struct buf value = BUF_INIT;
	char name[16];
	int err = head(r, "Host and recorder");

	for (uint32_t i = 0; i < m->header.n && !err; i++) {
		const struct pm_field *f = &m->header.field[i];

		buf_clear(&value);
		if (f->key == PM_HEADER_INTERVAL && f->value.kind == PM_VALUE_U64)
			buf_printf(&value, "%g s", (double)f->value.u64 / 1e9);
		else if (f->key == PM_HEADER_MEMORY && f->value.kind == PM_VALUE_U64)
			buf_printf(&value, "%.1f GB", (double)f->value.u64 / 1e9);
		else
			value_text(&f->value, &value);
		err = value.err ? value.err :
				  add(r, key_name(pm_header_keys, f->key, name), buf_str(&value),
				      pm_key_privacy(f->key), false);
	}
	buf_release(&value);
	return err;
}

static int topology(struct html_recording *r, const struct pm_model *m)
{
	struct topology_counts c;
	int err = topology_count(&m->topology, &c);

	if (err || !m->topology.n)
		return err;
	const struct {
		const char *name;
		uint32_t n;
	} rows[] = {
		{ "packages", c.packages }, { "dies", c.dies }, { "nodes", c.nodes }, { "clusters", c.clusters },
		{ "cores", c.cores }, { "CPUs", c.cpus }, { "threads per core", c.threads ? c.threads : UINT32_MAX },
		{ "offline CPUs", c.offline },
	};

	err = head(r, "Topology (online CPUs)");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows) && !err; i++) {
		char text[16] = "-";

		if (rows[i].n != UINT32_MAX)
			snprintf(text, sizeof(text), "%u", rows[i].n);
		err = fact(r, rows[i].name, text);
	}
	return err;
}

static int take_decoded(void *ctx, const struct decoded *d)
{
	struct buf text = BUF_INIT;
	int err;

	decoded_text(d, &text);
	err = text.err ? text.err : fact(ctx, d->name, buf_str(&text));
	buf_release(&text);
	return err;
}

static int missing(struct html_recording *r, const struct pm_model *m)
{
	struct buf text = BUF_INIT;
	int err = m->n_probes ? head(r, "Not recorded") : 0;

	for (uint32_t i = 0; i < m->n_probes && !err; i++) {
		const struct pm_probe *p = &m->probe[i];

		buf_clear(&text);
		buf_addstr(&text, p->what);
		if (p->reason)
			buf_printf(&text, ": %s", pm_reason_text(p->reason));
		if (p->hint)
			buf_printf(&text, "; try: %s", p->hint);
		err = text.err ? text.err : fact(r, p->source, buf_str(&text));
	}
	buf_release(&text);
	return err;
}

/* Drops a head that nothing came behind. */
static void close_part(struct html_recording *r)
{
	struct html_fact *last = r->n_facts ? &r->fact[r->n_facts - 1] : NULL;

	if (!last || !last->head)
		return;
	free(last->name);
	free(last->value);
	r->n_facts--;
}

int html_facts(struct html_recording *r, const struct places *places)
{
	const struct pm_model *m = places->model;
	int err = recording(r);

	if (!err)
		err = host(r, m);
	if (!err)
		err = topology(r, m);
	if (!err)
		err = head(r, "Registers");
	if (!err)
		err = decode_all(m, take_decoded, r);
	close_part(r);
	if (!err)
		err = head(r, "Settings of the kernel");
	if (!err)
		err = decode_settings(m, take_decoded, r);
	close_part(r);
	return err ? err : missing(r, m);
}
