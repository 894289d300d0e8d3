/* Joins what happens at one time into an incident; ranks by surprise, size, and how much it accounts for. */
#include "report/incident/incident.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/incident/incident_private.h"

#define GROUPS_MOST 4096
#define BEAT        3   /* bins, or a tenth of a rhythm: by so much it may be early or late */
#define TOGETHER_S  60  /* what recurs so soon is the same incident */
#define CLEAR       1.2 /* score */
#define NEARLY      0.5 /* of the best score: shows it as well */
#define SHARED      0.4 /* of the time of both together: then it is the same */

struct group {
	struct incident i;              /* that it becomes */
	uint32_t from, to;              /* bins */
	float period, most;             /* of a rhythm; the best score */
	uint32_t first;                 /* its first series */
	uint32_t metric[16], n_metrics; /* that its score counts */
	bool usual;                     /* whatever shows it clearly recurs at any time, and is no fault */
};

static int by_score(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;

	if (x->score != y->score)
		return x->score < y->score ? 1 : -1;
	return x->series < y->series ? -1 : x->series > y->series;
}

/* However surely it differs, nobody asks why: of anything, not for less than a thirtieth, or what the metric matters
 * from; of a level (pages, tasks, memory), not for less than a tenth, and not for less than half where it is what a
 * recording began with; of a rate, not for less than a fifth, or an eighth that is clear. */
static bool is_trifle(const struct incident_metric *m, const struct finding *f)
{
	double moved = fabs((double)f->value - (double)f->usual), usual = fabs((double)f->usual), least = usual / 30;
	bool counted = !strcmp(m->unit, "1"), bytes = !strcmp(m->unit, "By") && !m->amount;
	bool megabytes = !strcmp(m->unit, "MB");

	if (!strcmp(m->unit, "%"))
		least = fmax(1, fmin(3, 0.15 * usual));
	else if ((counted || bytes || megabytes) && f->kind != INCIDENT_DRIFT)
		least = (f->from || m->amount ? 0.1 : 0.5) * usual;
	/* The recorder itself takes some memory: a megabyte, or as many pages. */
	if (bytes || megabytes || (counted && !m->amount && (usual > 1000 || !strncmp(m->name, "vmstat.nr_", 10))))
		least = fmax(least, bytes ? 1 << 20 : megabytes ? 1 : 256);
	if (m->counts && f->kind == INCIDENT_STRETCH)
		least = fmax(least, usual / ((double)f->score < CLEAR ? 5 : 8));
	least = fmax(least, say_least(m->name));
	return moved <= 1e-6 * usual || (m->fault == METRIC_GRAVE ? f->value < f->usual : moved < least);
}

static bool is_memory(const struct incident_metric *m)
{
	return !m->amount &&
	       (!strcmp(m->unit, "By") || !strcmp(m->unit, "MB") || !strncmp(m->name, "vmstat.nr_", 10));
}

/* Everything drifts at the same time: what shares a name, or is memory, is one incident. */
static bool same_drift(const struct incident_store *s, uint32_t a, uint32_t b)
{
	const struct incident_metric *m = &s->metric[s->series[a].metric];
	const struct incident_metric *n = &s->metric[s->series[b].metric];
	size_t first = strcspn(m->name, ".");

	return (first == strcspn(n->name, ".") && !strncmp(m->name, n->name, first)) ||
	       (is_memory(m) && is_memory(n));
}

static bool same_time(const struct incident_store *s, const struct group *g, const struct finding *f)
{
	double from = fmax(g->from, f->from), to = fmin(g->to, f->to);
	double first = fmin(g->from, f->from), last = fmax(g->to, f->to), least, times;

	if (g->i.kind != f->kind)
		return false;
	switch (f->kind) {
	case INCIDENT_DRIFT:
		return same_drift(s, g->first, f->series);
	case INCIDENT_RHYTHM:
		/* Of a series that shows it weakly only every second or third time is found. */
		least = fmin(g->period, f->period);
		times = fmax(g->period, f->period) / least;
		return fabs(times - round(times)) < 0.15 &&
		       (times < 1.5 || fabs(remainder(f->from - (double)g->from, least)) < fmax(BEAT, least / 10));
	case INCIDENT_PEER:
		return s->series[g->first].row == s->series[f->series].row;
	default:
		break;
	}
	if (to - from >= SHARED * (last - first))
		return true;
	/* The bins before and after are those in which it began and ended. */
	return f->to - f->from <= 2 && to - from >= -1;
}

/* How far the value moved, relative to what is usual: 1 for twice as much. */
static double size_of(const struct finding *f)
{
	double usual = fabs((double)f->usual), moved = fabs((double)f->value - (double)f->usual);

	return fmin(0.6 + 0.4 * log10(1 + 9 * (usual > 0 ? moved / usual : 1000)), 1.6);
}

static double gain(const struct incident_store *s, const struct finding *f)
{
	const struct incident_metric *m = &s->metric[s->series[f->series].metric];
	double weight = f->kind == INCIDENT_RHYTHM ? 0.5 : 1;

	if (m->fault == METRIC_NO_FAULT)
		weight /= 1 + (double)f->recurs;
	return log2(1 + (double)f->score) * size_of(f) * weight * (m->fault == METRIC_GRAVE ? 2 : 1);
}

/* What a series did then is said once: by the clearest of the stretches in which it was seen, which comes first. Each
 * further metric adds less to the score that is new, and further places of one metric nearly nothing. */
static void add_to(struct group *g, const struct incident_store *s, const struct finding *f)
{
	const struct incident_row_series *of = &s->series[f->series];
	const struct incident_metric *m = &s->metric[of->metric];
	const struct incident_row *row = &s->row[of->row];
	bool named = row->kind == PM_DEVICE || row->kind == PM_PMU || row->kind == PM_CGROUP;
	struct incident *i = &g->i;
	uint32_t k = 0;

	for (uint32_t n = 0; n < i->n_series; n++)
		if (i->series[n].id == f->series)
			return;
	while (k < g->n_metrics && g->metric[k] != of->metric)
		k++;
	if (k == g->n_metrics && k < sizeof(g->metric) / sizeof(*g->metric)) {
		g->metric[g->n_metrics++] = of->metric;
		i->score += gain(s, f) / g->n_metrics;
	}
	if (i->n_all++ >= INCIDENT_SERIES)
		return;
	memory_room(&i->series, i->n_series, sizeof(*i->series));
	i->series[i->n_series++] = (struct incident_series){
		.id = f->series,
		.metric = m->name,
		.display = m->display,
		.unit = m->amount ? !strcmp(m->unit, "1") ? "1/s" : m->unit : m->unit,
		.label = row->label,
		.device = named ? row->label : "",
		.kind = row->kind,
		.package = row->package,
		.cpu = row->cpu,
		.usual = (double)f->usual,
		.value = (double)f->value,
		.score = gain(s, f),
	};
}

static void end_group(struct group *g, const struct incident_store *s)
{
	struct incident *i = &g->i;

	i->from_s = s->from_s[g->from];
	i->to_s = s->to_s[g->to ? g->to - 1 : 0];
	i->every_s = (double)g->period * s->bin_s;
	i->times = i->every_s > 0 ? (uint32_t)lround((i->to_s - i->from_s) / i->every_s) : 0;
	i->score = g->usual ? 0 : i->score + 0.1 * log2(1 + i->n_all);
	say_order(i);
}

static int by_rank(const void *a, const void *b)
{
	const struct incident *x = a, *y = b;

	if (x->score != y->score)
		return x->score < y->score ? 1 : -1;
	return (x->from_s > y->from_s) - (x->from_s < y->from_s);
}

/* Adjacent losses of one kind become one. */
static void add_losses(const struct incident_store *s, struct incidents *out)
{
	uint32_t first = out->n;

	for (uint32_t i = 0; i < s->n_losses && out->n < 2 * INCIDENTS_MOST; i++) {
		const struct incident_loss *l = &s->loss[i];
		double apart = l->text[0] ? TOGETHER_S : 10 * s->bin_s;
		struct incident *last;
		uint32_t at = out->n;

		while (at > first && strcmp(out->incident[at - 1].text, l->text) != 0)
			at--;
		last = at > first ? &out->incident[at - 1] : NULL;
		if (last && l->from_s <= last->to_s + apart) {
			last->to_s = fmax(last->to_s, l->to_s);
			last->times += l->text[0] ? 1 : (uint32_t)l->ticks;
		} else {
			last = &out->incident[out->n++];
			*last = (struct incident){ .kind = INCIDENT_LOSS,
						   .from_s = l->from_s,
						   .to_s = l->to_s,
						   .times = l->text[0] ? 1 : (uint32_t)l->ticks,
						   .text = memory_text(l->text) };
		}
		last->score = l->text[0] ? 1.5 : fmin(0.4 + 0.25 * log2(1 + last->times), 3);
	}
}

void merge_all(struct incident_store *s, struct findings *f, struct incidents *out)
{
	struct group *g = memory_new(GROUPS_MOST, sizeof(*g));
	uint32_t n = 0;

	if (f->n)
		qsort(f->f, f->n, sizeof(*f->f), by_score);
	for (uint32_t i = 0; i < f->n; i++) {
		struct group *to;

		if (is_trifle(&s->metric[s->series[f->f[i].series].metric], &f->f[i]))
			continue;
		for (to = g; to < g + n && !same_time(s, to, &f->f[i]);)
			to++;
		if (to == g + GROUPS_MOST)
			continue;
		if (to == g + n) {
			n++;
			*to = (struct group){ .i.kind = f->f[i].kind,
					      .first = f->f[i].series,
					      .from = f->f[i].from,
					      .to = f->f[i].to,
					      .period = f->f[i].period,
					      .most = f->f[i].score,
					      .usual = true };
		}
		if (f->f[i].kind == INCIDENT_RHYTHM && f->f[i].period * 1.5F < to->period)
			to->period = f->f[i].period;
		to->usual &= gain(s, &f->f[i]) == 0 ||
			     (to->i.n_all && (f->f[i].recurs > 1 || f->f[i].score < NEARLY * to->most));
		add_to(to, s, &f->f[i]);
	}
	for (uint32_t i = 0; i < n; i++)
		end_group(&g[i], s);
	if (n)
		qsort(g, n, sizeof(*g), by_rank);
	out->incident = memory_new((size_t)3 * INCIDENTS_MOST, sizeof(*out->incident));
	for (uint32_t i = 0; i < n; i++)
		if (out->n < INCIDENTS_MOST)
			out->incident[out->n++] = g[i].i;
		else
			free(g[i].i.series);
	add_losses(s, out);
	if (out->n)
		qsort(out->incident, out->n, sizeof(*out->incident), by_rank);
	free(g);
}

static void forget_from(struct incidents *found, uint32_t n)
{
	while (found->n > n) {
		struct incident *i = &found->incident[--found->n];

		free(i->text);
		free(i->series);
		while (i->n_tasks)
			free(i->task[--i->n_tasks].name);
	}
}

void incidents_release(struct incidents *found)
{
	forget_from(found, 0);
	free(found->incident);
	if (found->store)
		store_release(found->store);
	free(found->store);
	buf_release(&found->result.notes);
	buf_release(&found->result.remarks);
	*found = (struct incidents){ 0 };
}

int incidents_find(struct incidents *found, const char *path, const char *name, const struct pipeline_config *config,
		   const struct pipeline_part *along, struct error *e)
{
	struct incident_store *s = memory_new(1, sizeof(*s));
	struct findings f = { 0 };
	uint32_t n = 0;
	int err;

	*found = (struct incidents){ .store = s };
	err = store_collect(s, found, path, name, config, along, e);
	if (!err) {
		scan_all(s, &f);
		merge_all(s, &f, found);
	}
	free(f.f);
	found->n_scanned = s->n_series;
	found->bin_s = s->bin_s / s->per_bin;
	while (n < found->n && n < INCIDENTS_MOST && found->incident[n].score >= SCORE_LEAST)
		n++;
	forget_from(found, n);
	/* Times in a file with several recordings do not identify a place in it. */
	for (uint32_t i = 0; i < found->n && i < INCIDENTS_REFINED && !err; i++)
		if (found->incident[i].kind == INCIDENT_STRETCH && s->joined && s->recordings == 1)
			err = store_refine(s, &found->incident[i], path, config, e);
	if (!err && s->tasks)
		err = find_tasks(found, path, e);
	for (uint32_t i = 0; i < found->n && !err; i++)
		say(found, &found->incident[i]);
	return err && !e->text[0] ? error_sys(e, -err, "%s", name) : err;
}
