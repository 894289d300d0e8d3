#include "record/plan/refused.h"

#include <errno.h>
#include <string.h>

#include "common/table.h"

#define LINES_MAX 4

static bool is_permission(uint16_t reason)
{
	return reason == PM_REASON_NO_PERMISSION || reason == PM_REASON_ERRNO + EACCES ||
	       reason == PM_REASON_ERRNO + EPERM;
}

/* The request exceeds a limit. */
static bool is_shortage(uint16_t reason)
{
	return reason == PM_REASON_ERRNO + EMFILE || reason == PM_REASON_ERRNO + ENFILE ||
	       reason == PM_REASON_ERRNO + ENOMEM || reason == PM_REASON_ERRNO + EBUSY;
}

const struct pm_probe *refused_first(const struct pm_model *m)
{
	const struct pm_probe *refused = NULL;

	for (uint32_t i = 0; i < m->n_probes; i++) {
		if (is_shortage(m->probe[i].reason))
			return &m->probe[i];
		if (!refused && is_permission(m->probe[i].reason))
			refused = &m->probe[i];
	}
	return refused;
}

/* An event or counter that the user named: it is in the file as a counter without values. */
static bool is_named(const struct pm_model *m, const struct pm_probe *p)
{
	bool added = !strcmp(p->source, "add");
	const struct pm_counter *c = strcmp(p->source, "perf") ? NULL : pm_model_counter_named(m, p->what);

	return added || (c && pm_map_get(&c->attrs, PM_COUNTER_PERF_INVALID));
}

/* Nothing was refused: the request has a meaning that its user should know. */
static bool is_remark(const struct pm_probe *p)
{
	return p->reason == PM_OK;
}

static bool is_told(const struct pm_model *m, uint32_t i, bool all)
{
	if (is_remark(&m->probe[i]))
		return false;
	return all || is_permission(m->probe[i].reason) || is_shortage(m->probe[i].reason) ||
	       is_named(m, &m->probe[i]);
}

static bool same_cure(const struct pm_probe *a, const struct pm_probe *b)
{
	return a->hint && b->hint ? !strcmp(a->hint, b->hint) : a->hint == b->hint && !strcmp(a->source, b->source);
}

static void escaped(struct buf *out, const char *text)
{
	text_escape(out, text, strlen(text));
}

/* The first probe of each cure represents all that it would cure. */
static bool is_first(const struct pm_model *m, uint32_t i, bool all)
{
	for (uint32_t k = 0; k < i; k++)
		if (is_told(m, k, all) && same_cure(&m->probe[k], &m->probe[i]))
			return false;
	return true;
}

static void print_one(const struct pm_model *m, uint32_t i, bool all, struct buf *out)
{
	const struct pm_probe *p = &m->probe[i];
	const char *last = "";
	unsigned n = 0, named = 0;

	for (uint32_t k = i; k < m->n_probes; k++)
		n += is_told(m, k, all) && same_cure(&m->probe[k], p);
	buf_addstr(out, "pmrec: not recorded: ");
	for (uint32_t k = i; k < m->n_probes && named < 3; k++) {
		const struct pm_probe *q = &m->probe[k];

		if (!is_told(m, k, all) || !same_cure(q, p))
			continue;
		if (strcmp(last, q->source)) {
			buf_addstr(out, named ? "; " : "");
			escaped(out, q->source);
			buf_addstr(out, ": ");
		} else {
			buf_addstr(out, ", ");
		}
		escaped(out, pm_model_probe_name(m, q));
		last = q->source;
		named++;
	}
	if (n > named)
		buf_printf(out, " and %u more", n - named);
	buf_addstr(out, " (");
	escaped(out, pm_reason_text(p->reason));
	buf_addstr(out, ")");
	if (p->hint) {
		buf_addstr(out, "; try: ");
		escaped(out, p->hint);
	}
	buf_addch(out, '\n');
}

void refused_print(const struct pm_model *m, bool all, struct buf *out)
{
	unsigned lines = 0, left = 0;

	for (uint32_t i = 0; i < m->n_probes; i++) {
		if (!is_remark(&m->probe[i]))
			continue;
		buf_addstr(out, "pmrec: ");
		escaped(out, m->probe[i].what);
		buf_addch(out, '\n');
	}
	for (uint32_t i = 0; i < m->n_probes; i++) {
		if (!is_told(m, i, all) || !is_first(m, i, all))
			continue;
		if (all || lines++ < LINES_MAX)
			print_one(m, i, all, out);
		else
			left++;
	}
	if (left)
		buf_printf(out, "pmrec: and %u more; `pmrec doctor` lists them\n", left);
}
