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
	bool along;                 /* it is read while incidents are looked for, */
	bool later;                 /* which has to be done before: they may concern metrics that are not shown */
	bool *charted, *others;     /* owned: metrics that are charted, and those that are not */
	size_t n_sheets, n_charted; /* what is not charted is in the last sheet, if it is one more */
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

static int plan(struct sink *sink, struct sink_plan *plan)
{
	static const struct sheet_config system_only = { .per = PM_SYSTEM, .summary = true, .summary_only = true };
	struct collect *c = (struct collect *)sink;
	bool any = false;

	c->places = plan->places;
	free(c->others);
	free(c->charted);
	c->others = memory_new(plan->binding->n_metrics, sizeof(*c->others));
	c->charted = memory_new(plan->binding->n_metrics, sizeof(*c->charted));
	for (size_t i = 0; i < plan->binding->n_metrics; i++) {
		c->charted[i] = plan->shown[i] || html_incident_metric(c->r, plan->binding->metric[i].name);
		c->others[i] = !c->charted[i];
		any |= c->others[i];
	}
	c->later |= c->along && !incidents_within(plan, c->charted);
	if (c->later)
		return 0;
	incident_wish(plan, c->charted);
	c->n_charted = plan->n_sheets;
	if (any)
		plan->sheet[plan->n_sheets++] = (struct sink_wish){ system_only, c->others };
	c->n_sheets = plan->n_sheets;
	return 0;
}

static int shape(struct sink *sink, const struct sheet *sheet, size_t n)
{
	struct collect *c = (struct collect *)sink;
	bool whole = c->config->since.kind == MOMENT_NONE && c->config->until.kind == MOMENT_NONE;

	if (!c->later)
		bins_shape(&c->r->bins, sink, sheet, n, c->n_charted, whole);
	return 0;
}

static int intervals(struct sink *sink, const struct sheet *sheet, const struct interval *interval, size_t n)
{
	struct collect *c = (struct collect *)sink;

	if (!c->later)
		bins_intervals(&c->r->bins, interval, n);
	return 0;
}

static int totals(struct sink *sink, const struct sheet *sheet, const struct interval *interval, size_t n)
{
	struct collect *c = (struct collect *)sink;

	if (!c->later)
		bins_totals(&c->r->bins, sheet, c->n_sheets, c->n_charted, interval, n);
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
	return 0;
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

/* Reads again, now that the incidents are known. */
static int read_again(struct html_recording *r, const struct pipeline_part *part, const char *path, struct error *e)
{
	struct incidents found = r->incidents;
	struct pm_reader *reader;
	char *named = r->path;
	int err;

	r->incidents = (struct incidents){ 0 };
	r->path = NULL;
	html_recording_release(r);
	r->incidents = found;
	r->path = named;
	if ((err = input_open(&reader, path, false, e)))
		return err;
	err = pipeline_run_all(part, 1, reader, e);
	pm_reader_close(reader);
	return err;
}

int html_collect(struct html_recording *r, const char *path, const char *name, const struct pipeline_config *config,
		 struct error *e)
{
	struct pipeline_config own = *config;
	struct collect c = { .sink.ops = &ops, .r = r, .config = config, .along = true };
	struct pipeline_part part = { &own, &c.sink, &r->result };
	int err;

	*r = (struct html_recording){ .path = memory_text(name) };
	own.mode = PIPELINE_EACH;
	err = incidents_find(&r->incidents, path, path, config, &part, e);
	if (!err && c.later) {
		c.along = c.later = false;
		c.damages = c.placed_events = 0;
		err = read_again(r, &part, path, e);
	}
	if (err && !strstr(e->text, path))
		error_prefix(e, "%s", path);
	bins_close(&r->bins);
	r->snapshots = r->result.snapshots;
	r->intervals = r->result.intervals;
	free(c.charted);
	free(c.others);
	return err;
}
