/* -M: the events that metrics need. Each metric's events of a PMU are counted in one group, so that they cover the
 * same time; metric_groups.c decides which metrics share one. What cannot be in a group (software events, and what a
 * vendor excludes) is counted alone, once for all metrics. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/metric/expr.h"
#include "record/perf/metric_pick.h"
#include "record/perf/perf_class.h"
#include "record/perf/perf_tool.h"

#define MAX_PARAMETER 1024 /* chips, or cores of one, that '?' is replaced by */
#define HV_24X7       "/sys/bus/event_source/devices/hv_24x7/interface/"

static void release_wants(struct picked *one)
{
	for (size_t i = 0; i < one->n; i++) {
		free(one->want[i].text);
		event_set_release(&one->want[i].set);
	}
	free(one->want);
	one->want = NULL;
	one->n = 0;
}

static void release_picked(struct picked *one)
{
	release_wants(one);
	free(one->word);
	*one = (struct picked){ 0 };
}

static void release(struct metrics *m)
{
	for (size_t i = 0; i < m->n; i++)
		release_picked(&m->picked[i]);
	free(m->picked);
	for (size_t i = 0; i < m->n_sets; i++)
		metric_set_release(&m->set[i]);
	free(m->set);
}

/* ---- which events ---- */

/* Whether another source records that counter, such as "stat.user". */
static bool is_counter(const struct plan *p, const char *name)
{
	size_t len = strcspn(name, ".");

	for (size_t i = 0; i < p->n_sources; i++) {
		const char *source = p->sources[i].ops->name;

		if (name[len] && strlen(source) == len && !strncmp(source, name, len))
			return true;
	}
	return false;
}

/* Finds the events that the text stands for here; false and *e: none. */
static bool find_events_of(struct metrics *m, const char *text, struct event_set *set, struct error *e)
{
	SCOPED(buf_release) struct buf notes = BUF_INIT;
	int err = perf_events_of(&m->s->pmus, m->p->root, text, set, &notes, e);

	if (err)
		event_error_plain(e);
	return !err && set->n;
}

static int add_want(struct metrics *m, struct picked *one, const char *text, struct event_set *set)
{
	struct want *new;

	for (size_t i = 0; i < one->n; i++)
		if (!strcasecmp(one->want[i].text, text)) {
			event_set_release(set);
			return 0;
		}
	if (array_room(&one->want, one->n, sizeof(*one->want))) {
		event_set_release(set);
		return metrics_no_memory(m);
	}
	new = &one->want[one->n++];
	*new = (struct want){ .text = strdup(text), .set = *set, .extra = one->extra };
	return new->text ? 0 : metrics_no_memory(m);
}

/* Returns 0 also if the event is absent and the formula copes; -ENOENT if it does not. */
static int want_event(struct metrics *m, struct picked *one, const char *name, bool optional, struct error *e)
{
	unsigned values = one->row->scope == METRIC_PACKAGE ? m->chips : m->cores;
	int err = 0;

	for (unsigned n = 0; n < (strchr(name, '?') ? values : 1) && !err; n++) {
		struct event_set set = { 0 };
		SCOPED(buf_release) struct buf text = BUF_INIT;

		for (const char *c = name; *c; c++)
			if (*c == '?')
				buf_printf(&text, "%u", n);
			else
				buf_addch(&text, *c);
		if (text.err)
			err = metrics_no_memory(m);
		else if (find_events_of(m, buf_str(&text), &set, e))
			err = add_want(m, one, buf_str(&text), &set);
		else if (!optional)
			err = -ENOENT;
	}
	return err;
}

static bool asks_first(const struct expr_input *in, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (in[i].aspect == EXPR_HAS_EVENT && !strcmp(in[i].name, name))
			return true;
	return false;
}

/* Literals that stay the same for the whole recording; whoever switches the threads of cores meanwhile loses the
 * metrics that then need other events, but nobody pays for both ways of computing them. */
static bool literal(void *ctx, const char *name, double *v)
{
	static const struct {
		const char *name;
		enum event_tool what;
	} rows[] = { { "has_pmem", EVENT_TOOL_HAS_PMEM },
		     { "num_packages", EVENT_TOOL_NUM_PACKAGES },
		     { "num_dies", EVENT_TOOL_NUM_DIES },
		     { "smt_on", EVENT_TOOL_SMT_ON },
		     { "core_wide", EVENT_TOOL_CORE_WIDE } };
	uint64_t value;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!strcmp(rows[i].name, name) &&
		    perf_tool_value(((struct metrics *)ctx)->p, rows[i].what, &value)) {
			*v = (double)value;
			/* The reader of a recording may undo what -C leaves out. */
			return value || rows[i].what != EVENT_TOOL_CORE_WIDE;
		}
	return false;
}

static int want_formula(struct metrics *m, struct picked *one, const char *text, struct error *e)
{
	const struct expr_input *in;
	struct expr *x;
	size_t n;
	int err = expr_parse(&x, text, e);

	if (err)
		return err;
	if (expr_fold(x, literal, m)) {
		expr_free(x);
		return metrics_no_memory(m);
	}
	in = expr_inputs(x, &n);
	for (size_t i = 0; i < n && !err; i++) {
		/* Elapsed time is in every recording; a metric of the system is requested by its own name. */
		if (in[i].aspect == EXPR_LITERAL || in[i].aspect == EXPR_CPUID_MATCH || in[i].aspect == EXPR_SYSTEM ||
		    is_counter(m->p, in[i].name) || !strcmp(in[i].name, "duration_time"))
			continue;
		/* When CPUs are counted, there are no tasks whose clock it could be. */
		if (!one->vendor && one->row->otherwise && m->p->options->target == TARGET_SYSTEM &&
		    !strcmp(in[i].name, "task-clock")) {
			err = -ENOENT;
			break;
		}
		err = want_event(m, one, in[i].name, asks_first(in, n, in[i].name), e);
		if (!err && in[i].by)
			err = want_event(m, one, in[i].by, false, e);
	}
	expr_free(x);
	return err;
}

/* Takes the first of the row's formulas that the machine can feed. */
static int want_row(struct metrics *m, struct picked *one, struct error *e)
{
	const struct metric *row = one->row;
	const char *list = row->otherwise;
	int err = want_formula(m, one, row->expr, e);

	while (err == -ENOENT && list && *list) {
		size_t len = strcspn(list, ";");
		char *text = strndup(list, len);
		struct error other = { 0 };

		release_wants(one);
		err = text ? want_formula(m, one, text, &other) : metrics_no_memory(m);
		free(text);
		list += len + (list[len] == ';');
	}
	/* The additional events of a threshold are worth less than the metric. */
	if (!err && row->threshold && !m->p->options->perf.metric_no_threshold) {
		struct error other = { 0 };

		one->extra = true;
		err = want_formula(m, one, row->threshold, &other);
		one->extra = false;
		err = err == -ENOENT ? 0 : err;
	}
	return err;
}

static bool is_ungrouped(const struct metrics *m, const struct picked *one)
{
	const struct record_options *o = m->p->options;

	if (o->perf.metric_no_group || (one->by_group && metric_in_list(one->row->ungrouped_in, one->word)))
		return true;
	switch (one->row->grouping) {
	case METRIC_UNGROUPED:
		return true;
	case METRIC_UNGROUPED_NMI:
		return m->watchdog;
	case METRIC_UNGROUPED_THRESHOLD_NMI:
		return m->watchdog && !o->perf.metric_no_threshold;
	case METRIC_UNGROUPED_SMT:
		return m->smt;
	case METRIC_GROUPED:
		break;
	}
	return false;
}

/* A metric over PMUs that this machine lacks belongs to other machines: nobody misses it. */
static bool is_elsewhere(const struct metrics *m, const struct metric *row)
{
	for (const struct pmu_class *c = pmu_classes; c->name; c++) {
		const char *at = strstr(row->expr, c->name);

		if (at && at[strlen(c->name)] == '@')
			return !perf_class_first(&m->s->pmus, c);
	}
	return false;
}

/* Metrics of a group that this machine cannot feed are left out; if a metric was named, or nothing of a group is
 * left, that is an error. */
static int find_events(struct metrics *m)
{
	size_t kept = 0, all = m->n;

	for (size_t i = 0; i < all; i++) {
		struct picked one = m->picked[i];
		struct error e = { 0 };
		int err = want_row(m, &one, &e);

		m->picked[i].want = one.want;
		m->picked[i].n = one.n;
		if (err == -ENOMEM)
			return metrics_no_memory(m);
		if (err && one.by_group && i + 1 == all && !kept)
			return error_set(m->error, e.number ? e.number : ENOENT,
					 "-M: none of the metrics of %.80s can be computed here, such as %s: %s",
					 one.word, one.row->display, e.text);
		if (err == -ENOENT && !one.by_group && one.row->otherwise && is_elsewhere(m, one.row))
			return error_set(m->error, ENOENT,
					 "-M: metric %s: no PMU of this machine counts it; see pmrec doctor",
					 one.row->display);
		if (err && !one.by_group)
			return error_set(m->error, e.number ? e.number : ENOENT, "-M: metric %s: %s%s",
					 one.row->display, e.text,
					 one.vendor || m->n_sets || m->s->packed ? "" : "; " PERF_VENDOR_HINT);
		if (err) {
			release_picked(&m->picked[i]);
			if (is_elsewhere(m, one.row))
				continue;
			if (plan_refused(m->p, PM_REASON_NOT_SUPPORTED, NULL, "metric %s: %s", one.row->display,
					 e.text))
				return metrics_no_memory(m);
			continue;
		}
		if (!one.n)
			buf_printf(&m->s->no_event, "%s%s", m->s->no_event.len ? ", " : "", one.row->display);
		one.ungrouped = is_ungrouped(m, &one);
		m->picked[i] = (struct picked){ 0 };
		m->picked[kept++] = one;
	}
	m->n = kept;
	return 0;
}

/* ---- opening ---- */

int metrics_open(struct metrics *m, const char *text)
{
	size_t first = m->s->set.n;
	int err = perf_events_add(m->s, m->p, text, m->error);

	for (size_t i = first; i < m->s->set.n && !err; i++) {
		struct event *ev = &m->s->set.event[i];

		if (ev->metric_id)
			continue;
		ev->metric_id = strdup(ev->text);
		if (!ev->metric_id)
			err = metrics_no_memory(m);
	}
	return err;
}

/* The event of "nvidia_ucf/mem_bytes_rd/", if the text belongs to that class. */
static const char *class_event(const struct pmu_class *c, const char *text, size_t *len)
{
	size_t name = strlen(c->name);

	if (strncmp(text, c->name, name) || text[name] != '/')
		return NULL;
	*len = strcspn(text + name + 1, "/,=");
	return text[name + 1 + *len] == '/' && !text[name + *len + 2] ? text + name + 1 : NULL;
}

/* Metrics over a class of PMUs: what each needs at once stays together, in as few groups as the hardware allows. */
static int open_class(struct metrics *m, const struct pmu_class *c)
{
	SCOPED(buf_release) struct buf bundles = BUF_INIT, text = BUF_INIT;
	const struct event_pmu *pmu = perf_class_first(&m->s->pmus, c);
	int err = 0;

	for (size_t k = 0; k < m->n && pmu; k++) {
		bool first = true;

		for (size_t i = 0; i < m->picked[k].n; i++) {
			struct want *w = &m->picked[k].want[i];
			size_t len;
			const char *event = class_event(c, w->text, &len);

			if (!event)
				continue;
			w->done = true;
			buf_printf(&bundles, "%s%.*s",
				   !first && !c->apart ? "," :
				   bundles.len         ? ";" :
							 "",
				   (int)len, event);
			first = false;
		}
	}
	if (bundles.len)
		err = perf_class_probe(&m->s->pmus, pmu, m->p->root);
	if (bundles.len && !err)
		err = perf_class_groups(pmu, buf_str(&bundles), c->name, &text);
	if (text.len && !err)
		err = metrics_open(m, buf_str(&text));
	if (bundles.err || text.err)
		err = -ENOMEM;
	return err == -ENOMEM ? metrics_no_memory(m) : err;
}

/* What stands in no group: once for all metrics, unless each is to have its own. */
static int open_rest(struct metrics *m)
{
	bool merge = !m->p->options->perf.metric_no_merge;
	SCOPED(names_release) struct names seen = { 0 };
	uint32_t ignored;
	int err = 0;

	for (size_t k = 0; k < m->n && !err; k++)
		for (size_t i = 0; i < m->picked[k].n && merge && !err; i++)
			if (m->picked[k].want[i].done)
				err = names_set(&seen, m->picked[k].want[i].text, 0);
	for (size_t k = 0; k < m->n && !err; k++)
		for (size_t i = 0; i < m->picked[k].n && !err; i++) {
			struct want *w = &m->picked[k].want[i];

			if (w->done || (merge && names_get(&seen, w->text, &ignored)))
				continue;
			err = names_set(&seen, w->text, 0) ? metrics_no_memory(m) : metrics_open(m, w->text);
		}
	return err;
}

/* ---- what the recording says ---- */

static struct pm_value definition(const struct metric *row)
{
	const char *const texts[] = {
		row->display, row->unit, row->expr, row->threshold, row->categories, row->help
	};
	struct pm_value v = pm_array(sizeof(texts) / sizeof(texts[0]));

	for (uint32_t i = 0; v.array.item && i < v.array.n; i++)
		v.array.item[i] = pm_text(texts[i] ? texts[i] : "");
	return v;
}

/* What was requested in words: a report is laid out by them. */
static int record_words(struct metrics *m)
{
	SCOPED(buf_release) struct buf all = BUF_INIT;
	struct pm_value v;
	uint32_t n = 0;
	char *rest, *word;

	for (char **list = m->p->options->perf.metrics; *list; list++)
		buf_printf(&all, "%s%s", all.len ? "," : "", *list);
	for (const char *c = buf_str(&all); *c; c++)
		n += *c == ',';
	v = pm_array(n + 1);
	v.array.n = 0;
	rest = all.data ? (char *)all.data : NULL;
	while (v.array.item && (word = strsep(&rest, ",")))
		if (*word)
			v.array.item[v.array.n++] = pm_text(word);
	if (all.err || pm_map_set(&m->p->model->header, PM_HEADER_METRIC_WORDS, v))
		return metrics_no_memory(m);
	return 0;
}

/* All that were picked, in the order of asking; a vendor's with its definition, because the file will not be
 * there. */
static int record_metrics(struct metrics *m)
{
	struct pm_value v = pm_array((uint32_t)m->n);

	for (uint32_t i = 0; v.array.item && i < v.array.n; i++) {
		const struct picked *one = &m->picked[i];

		v.array.item[i] = one->vendor ? definition(one->row) : pm_text(one->row->name);
	}
	return pm_map_set(&m->p->model->header, PM_HEADER_METRICS, v) ? metrics_no_memory(m) : record_words(m);
}

/* What a '?' runs over, from 0; one value where the machine does not say. */
static unsigned how_many(const struct root *root, const char *path)
{
	char line[16];
	int n = root_line(root, line, sizeof(line), "%s", path) ? 1 : atoi(line);

	return n < 1 || n > MAX_PARAMETER ? 1 : (unsigned)n;
}

static void look_around(struct metrics *m)
{
	char line[64];
	const struct root *root = m->p->root;

	m->watchdog = perf_nmi_watchdog(root);
	m->smt = !root_line(root, line, sizeof(line), "/sys/devices/system/cpu/smt/active") && !strcmp(line, "1");
	m->chips = how_many(root, HV_24X7 "sockets");
	m->cores = how_many(root, HV_24X7 "coresperchip");
}

int perf_metrics_read(struct perf_source *s, struct plan *p, struct error *e)
{
	struct metrics m = { .s = s, .p = p, .error = e };
	int err;

	if (!p->options->perf.metrics)
		return 0;
	look_around(&m);
	/* Files of cores do not know that the cache after them may have events of the same names. */
	s->pmus.cores_first = true;
	err = metric_sets_load(&m);
	if (!err)
		err = metrics_pick(&m);
	if (!err)
		err = find_events(&m);
	for (const struct pmu_class *c = pmu_classes; c->name && !err; c++)
		err = open_class(&m, c);
	if (!err)
		err = metric_groups_open(&m);
	if (!err)
		err = open_rest(&m);
	/* Where nothing else is counted, time is, so that what needs no event has intervals. */
	if (!err && !s->set.n)
		err = metrics_open(&m, "duration_time");
	if (!err)
		err = record_metrics(&m);
	s->pmus.cores_first = false;
	release(&m);
	return err;
}
