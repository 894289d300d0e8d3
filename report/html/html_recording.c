/* What a page knows of a recording: its metrics and places, found by name while the model may still grow. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "report/html/html.h"

void html_recording_release(struct html_recording *r)
{
	incidents_release(&r->incidents);
	for (uint32_t i = 0; i < r->n_metrics; i++) {
		free(r->metric[i].name);
		free(r->metric[i].display);
		free(r->metric[i].unit);
		free(r->metric[i].help);
	}
	for (uint32_t i = 0; i < r->n_rows; i++) {
		free(r->row[i].label);
		free(r->row[i].place);
	}
	for (uint32_t i = 0; i < r->n_events; i++)
		free(r->event[i].text);
	for (uint32_t i = 0; i < r->n_facts; i++)
		free(r->fact[i].value);
	free(r->metric);
	free(r->row);
	free(r->event);
	free(r->fact);
	free(r->near_order);
	free(r->path);
	free(r->host);
	html_set_release(&r->near);
	html_set_release(&r->far);
	html_set_release(&r->totals);
	buf_release(&r->facts);
	pipeline_result_release(&r->result);
	*r = (struct html_recording){ 0 };
}

int html_find_metric(struct html_recording *r, struct names *names, const struct bound_metric *m, bool charted,
		     uint32_t *place)
{
	struct html_metric *h;

	if (names_get(names, m->name, place)) {
		r->metric[*place].charted |= charted;
		return 0;
	}
	if (array_room(&r->metric, r->n_metrics, sizeof(*h)))
		return -ENOMEM;
	h = &r->metric[r->n_metrics];
	*h = (struct html_metric){
		.name = strdup(m->name),
		.display = strdup(m->display),
		.unit = strdup(m->about->unit),
		.help = strdup(m->about->help ? m->about->help : ""),
		.precision = m->precision,
		.charted = charted,
	};
	*place = r->n_metrics++;
	if (!h->name || !h->display || !h->unit || !h->help)
		return -ENOMEM;
	return names_set(names, m->name, *place);
}

static bool is_far(enum pm_kind kind)
{
	return kind == PM_CPU || kind == PM_CORE || kind == PM_CLUSTER || kind == PM_TASK || kind == PM_CGROUP;
}

static void put_label(const struct places *places, const struct place *p, struct buf *out)
{
	size_t before = out->len;

	places_put_name(places, p, out);
	if (p->kind == PM_SYSTEM)
		buf_addstr(out, "system");
	else if (out->len == before)
		buf_printf(out, "%s #%u", pm_kind_name(p->kind), p->instance);
}

static void put_where(const struct place *p, struct buf *out)
{
	if (p->kind != PM_CPU)
		return;
	if (p->package != PM_NONE)
		buf_printf(out, "package %u", p->package);
	if (p->node != PM_NONE)
		buf_printf(out, "%snode %u", out->len ? ", " : "", p->node);
	if (p->core != PM_NONE)
		buf_printf(out, "%score %u", out->len ? ", " : "", p->core);
}

int html_find_row(struct html_recording *r, struct names *names, const struct places *places, const struct place *p,
		  uint32_t *place)
{
	SCOPED(buf_release) struct buf label = BUF_INIT, where = BUF_INIT, key = BUF_INIT;
	struct html_row *h;

	put_label(places, p, &label);
	buf_printf(&key, "%d:%s", (int)p->kind, buf_str(&label));
	if (label.err || key.err)
		return -ENOMEM;
	if (names_get(names, buf_str(&key), place))
		return 0;
	if (array_room(&r->row, r->n_rows, sizeof(*h)))
		return -ENOMEM;
	put_where(p, &where);
	if (where.err)
		return where.err;
	h = &r->row[r->n_rows];
	*h = (struct html_row){
		.label = strdup(buf_str(&label)),
		.place = strdup(buf_str(&where)),
		.kind = p->kind,
		.package = p->kind == PM_SYSTEM ? PM_NONE : p->package,
		.number = p->cpu,
		.far = is_far(p->kind),
	};
	*place = r->n_rows++;
	return h->label && h->place ? names_set(names, buf_str(&key), *place) : -ENOMEM;
}

static int order(uint32_t metric, uint32_t row, const struct html_series *s)
{
	return array_order(metric, s->metric, row, s->row);
}

static int by_metric(const void *a, const void *b, void *ctx)
{
	const struct html_set *set = ctx;
	const struct html_series *x = &set->series[*(const uint32_t *)a];

	return order(x->metric, x->row, &set->series[*(const uint32_t *)b]);
}

int html_index(struct html_recording *r)
{
	r->near_order = calloc((size_t)r->near.n + 1, sizeof(*r->near_order));
	if (!r->near_order)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->near.n; i++)
		r->near_order[i] = i;
	qsort_r(r->near_order, r->near.n, sizeof(*r->near_order), by_metric, &r->near);
	return 0;
}

/* The first series at or after that metric and row; near.n: none. */
static uint32_t find(const struct html_recording *r, uint32_t metric, uint32_t row)
{
	return (uint32_t)ARRAY_PLACE(r->near.n, at, order(metric, row, &r->near.series[r->near_order[at]]) > 0);
}

const struct html_series *html_near(const struct html_recording *r, uint32_t metric, uint32_t row)
{
	uint32_t at = find(r, metric, row);
	const struct html_series *s = at < r->near.n ? &r->near.series[r->near_order[at]] : NULL;

	return s && s->metric == metric && s->row == row ? s : NULL;
}

const struct html_series *html_main(const struct html_recording *r, uint32_t metric)
{
	const struct html_series *found = NULL;

	for (uint32_t at = find(r, metric, 0); at < r->near.n; at++) {
		const struct html_series *s = &r->near.series[r->near_order[at]];

		if (s->metric != metric)
			break;
		if (s->present && r->row[s->row].kind == PM_SYSTEM)
			return s;
		found = found || !s->present ? found : s;
	}
	return found;
}
