/* Collects a recording for the page: its metrics over time, incidents, and events. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/html/html.h"
#include "report/input/input.h"
#include "common/memory.h"

struct collect {
	struct sink sink;
	struct html_recording *r;
	const struct pipeline_config *config;
	const struct places *places;
	struct sink *search; /* owned: finds incidents in the same numbers */
	/* Owned, by metric: what has bins; of that what is not shown; the others. */
	bool *charted, *few, *others;
	size_t n_sheets, n_charted; /* the others are in the last sheet, if it is one more */
	size_t damages;             /* that have become events */
	uint32_t placed_events;     /* whose times are seconds from the start */
};

void html_recording_release(struct html_recording *r)
{
	incidents_release(&r->incidents);
	bins_release(&r->bins);
	for (uint32_t i = 0; i < r->n_events; i++)
		free(r->event[i].text);
	for (uint32_t i = 0; i < r->n_facts; i++)
		free(r->fact[i].value);
	free(r->event);
	free(r->fact);
	free(r->path);
	free(r->host);
	buf_release(&r->facts);
	pipeline_result_release(&r->result);
	*r = (struct html_recording){ 0 };
}

static void forget_plan(struct collect *c)
{
	free(c->charted);
	free(c->few);
	free(c->others);
}

/* Incidents are looked for in metrics that are not shown, too. */
static int plan(struct sink *sink, struct sink_plan *plan)
{
	static const struct sheet_config system_only = { .per = PM_SYSTEM, .summary = true, .summary_only = true };
	struct collect *c = (struct collect *)sink;
	const bool *wanted;
	bool any = false;
	int err = c->search->ops->plan(c->search, plan);

	if (err)
		return err;
	c->places = plan->places;
	wanted = plan->sheet[0].shown;
	forget_plan(c);
	c->charted = memory_new(plan->binding->n_metrics, sizeof(*c->charted));
	c->few = memory_new(plan->binding->n_metrics, sizeof(*c->few));
	c->others = memory_new(plan->binding->n_metrics, sizeof(*c->others));
	for (size_t i = 0; i < plan->binding->n_metrics; i++) {
		c->charted[i] = plan->shown[i] || wanted[i];
		c->few[i] = !plan->shown[i];
		c->others[i] = !c->charted[i];
		any |= c->others[i];
	}
	c->n_charted = plan->n_sheets;
	for (size_t i = 0; i < c->n_charted; i++)
		plan->sheet[i].shown = c->charted;
	if (any)
		plan->sheet[plan->n_sheets++] = (struct sink_wish){ system_only, c->others };
	c->n_sheets = plan->n_sheets;
	return 0;
}

static int shape(struct sink *sink, const struct sheet *sheet, size_t n)
{
	struct collect *c = (struct collect *)sink;
	bool whole = c->config->since.kind == MOMENT_NONE && c->config->until.kind == MOMENT_NONE;

	bins_shape(&c->r->bins, sink, sheet, n, &(struct bins_view){ c->n_charted, c->few, whole });
	return c->search->ops->shape(c->search, sheet, c->n_charted);
}

static int intervals(struct sink *sink, const struct sheet *sheet, const struct interval *interval, size_t n)
{
	struct collect *c = (struct collect *)sink;

	bins_intervals(&c->r->bins, interval, n);
	return c->search->ops->intervals(c->search, sheet, interval, n);
}

static int totals(struct sink *sink, const struct sheet *sheet, const struct interval *interval, size_t n)
{
	struct collect *c = (struct collect *)sink;

	bins_totals(&c->r->bins, sheet, c->n_sheets, interval, n);
	return 0;
}

/* ---- events ---- */

/* Times are CLOCK_MONOTONIC until the end, when the origin is known. */
static void add_event(struct collect *c, enum pm_event_type type, uint64_t since_ns, uint64_t time_ns, uint32_t cpu,
		      char *text)
{
	struct html_recording *r = c->r;

	if (r->n_events == HTML_EVENTS) {
		r->more_events++;
		free(text);
		return;
	}
	memory_room(&r->event, r->n_events, sizeof(*r->event));
	r->event[r->n_events++] = (struct html_event){
		.type = type,
		.at_s = (double)since_ns,
		.until_s = (double)time_ns,
		.cpu = cpu,
		.text = text,
	};
}

static void event(struct sink *sink, const struct pm_event *e)
{
	struct collect *c = (struct collect *)sink;
	const struct pm_instance *instance = pm_model_instance(
		pm_reader_model(sink->reader), (uint32_t)pm_map_u64(&e->attrs, PM_EVENT_KEY_INSTANCE, PM_NONE));
	uint64_t since = pm_map_u64(&e->attrs, PM_EVENT_KEY_SINCE, e->time_ns);
	struct buf text = BUF_INIT;

	c->search->ops->event(c->search, e);
	/* Tasks end by the hundred. */
	if (e->type == PM_EVENT_GONE && instance && instance->kind == PM_TASK)
		return;
	event_text(e, &text);
	add_event(c, e->type, since < e->time_ns ? since : e->time_ns, e->time_ns,
		  (uint32_t)pm_map_u64(&e->attrs, PM_EVENT_KEY_CPU, PM_NONE), memory_checked(buf_detach(&text)));
}

/* ---- the end ---- */

/* Damage is a stretch without values, as lost ticks are. */
static void add_damage(struct collect *c)
{
	size_t n;
	const struct pm_damage *d = pm_reader_damage(c->sink.reader, &n);

	for (d += c->damages; c->damages < n; c->damages++, d++) {
		if (!d->from_ns || d->harmless)
			continue;
		add_event(c, PM_EVENT_LOST, d->from_ns, d->to_ns ? d->to_ns : d->from_ns, PM_NONE,
			  memory_format("damaged: %s", d->text));
	}
}

static int end(struct sink *sink)
{
	struct collect *c = (struct collect *)sink;
	struct html_recording *r = c->r;

	add_damage(c);
	/* Of several recordings in one file, the first defines the series. */
	if (!r->host)
		r->host = memory_text(pm_map_text(&c->places->model->header, PM_HEADER_HOST, ""));
	for (; c->placed_events < r->n_events; c->placed_events++) {
		struct html_event *h = &r->event[c->placed_events];

		h->at_s = bins_at(&r->bins, (uint64_t)h->at_s);
		h->until_s = bins_at(&r->bins, (uint64_t)h->until_s);
	}
	bins_end(&r->bins);
	return c->search->ops->end(c->search);
}

static const struct sink_ops ops = {
	.roomy = true,
	.plan = plan,
	.shape = shape,
	.intervals = intervals,
	.totals = totals,
	.forgets = true,
	.event = event,
	.end = end,
};

int html_collect(struct html_recording *r, const char *path, const char *name, const struct pipeline_config *config,
		 struct error *e)
{
	struct pipeline_config own = *config;
	struct collect c = { .sink.ops = &ops, .r = r, .config = config };
	SCOPED(pm_reader_scoped) struct pm_reader *reader = NULL;
	int err;

	*r = (struct html_recording){ .path = memory_text(name) };
	own.mode = PIPELINE_EACH;
	if ((err = input_open(&reader, path, false, e)))
		return err;
	err = incidents_begin(&r->incidents, &c.search, reader, path, e);
	if (!err)
		err = pipeline_run(&own, reader, &c.sink, &r->result, e);
	forget_plan(&c);
	bins_close(&r->bins);
	err = incidents_finish(&r->incidents, c.search, path, config, err, e);
	if (err && !strstr(e->text, path))
		error_prefix(e, "%s", path);
	for (uint32_t i = 0; i < r->bins.n_metrics; i++)
		r->bins.metric[i].charted |= html_incident_metric(r, r->bins.metric[i].name);
	bins_sort(&r->bins);
	r->snapshots = r->result.snapshots;
	r->intervals = r->result.intervals;
	return err;
}
