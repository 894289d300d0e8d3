/* Metrics that were requested with -M, from our tables and vendors' files. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/array.h"
#include "common/options.h"
#include "report/metric/bind_class.h"
#include "report/metric/select.h"
#include "report/stat/stat_shadow.h"

struct shown *stat_shown_add(struct stat_shadow *sh)
{
	if (array_room(&sh->shown, sh->n, sizeof(*sh->shown)))
		return NULL;
	sh->shown[sh->n] = (struct shown){ 0 };
	return &sh->shown[sh->n++];
}

char *stat_words_of(const char *unit, const char *name)
{
	struct buf words = BUF_INIT;

	buf_printf(&words, "%s%s%s", unit, unit[0] ? "  " : "", name);
	return buf_detach(&words);
}

uint32_t stat_home(const struct stat_sheet *s, const struct shown *x, const uint32_t *uses)
{
	uint32_t first = UINT32_MAX;

	for (uint32_t i = 0; i < x->n_events; i++) {
		uint32_t event = x->events[i];

		if (!s->event[event].hidden &&
		    (first == UINT32_MAX || uses[event] < uses[first] ||
		     (uses[event] == uses[first] && stat_rank(&s->event[event]) < stat_rank(&s->event[first]))))
			first = event;
	}
	return first;
}

const struct bound_metric *stat_metric_named(const struct stat_sheet *s, const char *name, const char *pmu)
{
	const struct bound_metric *any = NULL;

	for (size_t i = 0; i < s->binding->n_metrics; i++) {
		const struct bound_metric *m = &s->binding->metric[i];

		if (m->counter || m->absent || strcmp(m->name, name))
			continue;
		if (m->about->pmu && pmu && !strcmp(m->about->pmu, pmu))
			return m;
		any = !m->about->pmu || !pmu ? m : any;
	}
	return any;
}

/* Adds the event of a counter to those that the metric uses. */
static int add_event(struct stat_sheet *s, struct shown *x, uint32_t counter)
{
	int64_t event = stat_event_of(s, counter, x->cgroup);
	uint32_t *more;

	if (event < 0)
		return (int)event;
	for (uint32_t i = 0; i < x->n_events; i++)
		if (x->events[i] == event)
			return 0;
	if (!(more = reallocarray(x->events, x->n_events + 1, sizeof(*more))))
		return -ENOMEM;
	x->events = more;
	x->events[x->n_events++] = (uint32_t)event;
	return 0;
}

/* Only counts that could be opened have lines; what is read beside them has none. */
static bool has_line(const struct pm_counter *c)
{
	return (!strcmp(c->source, "perf") || c->semantics == PM_CUMULATIVE || c->semantics == PM_DELTA) &&
	       !pm_map_get(&c->attrs, PM_COUNTER_PERF_INVALID);
}

int stat_take_metric(struct stat_sheet *s, struct shown *x, const struct bound_metric *m)
{
	int err = 0;

	x->metric = m;
	x->name = m->name;
	x->unit = m->about->unit;
	x->precision = m->precision;
	x->judged = m->threshold != NULL;
	for (uint32_t i = 0; i < m->n_inputs && !err; i++) {
		const struct bound_input *in = &s->binding->input[m->input[i]];
		const struct pmu_class *class;
		/* Without a name it is a clock that accompanies others. */
		if (in->constant || in->duration || !in->more->name[0])
			continue;
		x->of_pmus |= in->more->clock || class_event_named(in->more->name, &class);
		for (uint32_t k = 0; k < in->n_counters && !err; k++) {
			const struct pm_counter *c = pm_model_counter(s->places->model, in->counter[k]);

			if (has_line(c) && stat_programs_wanted(&s->config->programs, c))
				err = add_event(s, x, c->id);
		}
	}
	return err;
}

/* Adds a metric to those that are printed, once its events are known. */
static int finish(struct stat_sheet *s, struct shown *what, const char *display, const char *categories)
{
	const char *unit = strcmp(what->unit, "1") ? what->unit : "";
	struct shown *shown = stat_shown_add(s->shadow);

	if (!shown)
		return -ENOMEM;
	*shown = *what;
	*what = (struct shown){ 0 };
	/* Without -e the lines are those that the metrics use. */
	for (uint32_t i = 0; !s->config->events.n && i < shown->n_events; i++)
		s->event[shown->events[i]].hidden = false;
	shown->event = UINT32_MAX;
	/* Our names are column heads, or perf's; a vendor's name is that in its file. */
	if ((!strncmp(shown->name, "tma_", 4) && strncasecmp(display, "tma_", 4)) ||
	    !strncmp(categories, "perf,", strlen("perf,")))
		display = shown->name;
	shown->words = stat_words_of(unit, display);
	return shown->words ? 0 : -ENOMEM;
}

static int add_metric(struct stat_sheet *s, const struct bound_metric *m, uint32_t cgroup)
{
	struct shown what = { .cgroup = cgroup, .pmu = m->about->pmu };
	int err;

	for (uint32_t i = 0; i < s->shadow->n; i++)
		if (s->shadow->shown[i].metric == m && s->shadow->shown[i].cgroup == cgroup)
			return 0;
	err = stat_take_metric(s, &what, m);
	if (!err)
		err = finish(s, &what, m->display, m->about->categories);
	free(what.events);
	return err;
}

/* If its events could not be opened it has no number, and says so in their place. -ENOENT: some were not requested.
 */
static int add_refused(struct stat_sheet *s, const struct metric *row, uint32_t cgroup)
{
	struct shown what = { .cgroup = cgroup,
			      .name = row->name,
			      .unit = row->unit ? row->unit : "",
			      .judged = row->threshold != NULL };
	const struct expr_input *in;
	struct expr *expr;
	uint32_t counter;
	size_t n;
	int err = expr_parse(&expr, row->expr, NULL);

	if (err)
		return err == -ENOMEM ? err : -ENOENT;
	in = expr_inputs(expr, &n);
	for (size_t i = 0; i < n && !err; i++) {
		if (in[i].aspect == EXPR_LITERAL || in[i].aspect == EXPR_CPUID_MATCH ||
		    in[i].aspect == EXPR_HAS_EVENT)
			continue;
		err = bind_counters(&s->binding->index, in[i].name, &counter, 1) ? add_event(s, &what, counter) :
										   -ENOENT;
	}
	if (!err && what.n_events)
		err = finish(s, &what, row->display ? row->display : row->name,
			     row->categories ? row->categories : "");
	else if (!err)
		err = -ENOENT;
	expr_free(expr);
	free(what.events);
	return err;
}

static bool matches(const struct metric *m, const char *word)
{
	return selection_matches(word, m->name, m->display, m->aliases ? m->aliases : "",
				 m->categories ? m->categories : "");
}

static bool is_shown(const struct stat_sheet *s, uint32_t cgroup, const struct bound_metric *m)
{
	for (uint32_t i = 0; i < s->shadow->n; i++) {
		const struct shown *x = &s->shadow->shown[i];

		/* A vendor's metric whose name several kinds of CPUs have is followed by its kind. */
		size_t len = strlen(m->name);
		bool twin = x->metric && x->pmu == m->about->pmu && x->pmu && !strncmp(x->name, m->name, len) &&
			    strchr("._ ", x->name[len]) && !strcmp(x->name + len + (x->name[len] != 0), x->pmu);

		if (twin && x->cgroup == cgroup)
			return true;
		if (x->metric && x->cgroup == cgroup && x->pmu == m->about->pmu &&
		    (!strcmp(x->name, m->name) || !strcasecmp(x->metric->display, m->display)))
			return true;
	}
	return false;
}

static const char *nearer(const char *word, const char *best, const struct metric *row)
{
	const char *const names[] = { best ? best : row->name, row->name, row->display };

	return options_nearest(word, names, sizeof(names) / sizeof(names[0]));
}

static int no_metric(const struct stat_sheet *s, const char *word, struct error *e)
{
	const char *near = NULL, *found;

	for (size_t v = 0; v < s->binding->n_vendor; v++)
		for (size_t i = 0; i < s->binding->vendor[v].n; i++)
			near = (found = nearer(word, near, &s->binding->vendor[v].row[i])) ? found : near;
	for (const struct metric_table *t = metric_tables; t->row; t++)
		for (size_t i = 0; i < t->n; i++)
			near = !t->row[i].each && (found = nearer(word, near, &t->row[i])) ? found : near;
	return error_set(e, ENOENT, "-M: there is no metric or metric group '%.80s'%s%s%s%s", word,
			 near ? ", did you mean " : "", near ? near : "", near ? "?" : "",
			 s->binding->n_vendor ? "" : " (`pmrec vendor import DIR` adds the CPU vendor's)");
}

/* What a word needed that the recording lacks. */
struct unfed {
	uint32_t cgroup;
	bool known, any;
	struct buf lacks;
};

static int try_unfed(struct stat_sheet *s, const struct metric *row, const char *word, struct unfed *u)
{
	SCOPED(buf_release) struct buf scratch = BUF_INIT;
	const char *lacks;
	int err;

	if (row->each || !matches(row, word) || stat_metric_named(s, row->name, NULL))
		return 0;
	u->known = true;
	err = add_refused(s, row, u->cgroup);
	u->any |= !err;
	if (err == -ENOENT && (lacks = bind_missing(s->binding, s->places, row, &scratch))) {
		buf_clear(&u->lacks);
		buf_printf(&u->lacks, "the recording lacks %s", lacks);
	}
	return err == -ENOENT ? 0 : err;
}

static int try_set(struct stat_sheet *s, const struct metric *row, size_t n, const char *word, struct unfed *u)
{
	int err = 0;

	for (size_t i = 0; i < n && !err; i++)
		err = try_unfed(s, &row[i], word, u);
	return err;
}

/* Adds all metrics that the word names, of vendors' files and of tables. */
static int add_word(struct stat_sheet *s, const char *word, struct unfed *u, struct buf *notes, struct error *e)
{
	const struct binding *b = s->binding;
	bool all = !strcmp(word, "Default");
	int err = 0;

	/* perf's Default group has the metrics of all CPUs, and those of the recorded one. */
	for (int vendor = 1; vendor >= 0 && (!u->any || all); vendor--) {
		for (size_t i = 0; i < b->n_metrics && !err; i++) {
			const struct bound_metric *m = &b->metric[i];

			if (m->vendor != vendor || m->counter || m->absent ||
			    !selection_matches(word, m->name, m->display, m->about->aliases, m->about->categories) ||
			    (!vendor && u->any && is_shown(s, u->cgroup, m)))
				continue;
			err = add_metric(s, m, u->cgroup);
			u->known = true;
			u->any |= !err;
		}
		for (size_t v = 0; vendor && v < b->n_vendor && !err; v++)
			err = try_set(s, b->vendor[v].row, b->vendor[v].n, word, u);
		if (vendor && !err)
			err = try_set(s, b->recorded.row, b->recorded.n, word, u);
		for (const struct metric_table *t = metric_tables; !vendor && t->row && !err; t++)
			err = try_set(s, t->row, t->n, word, u);
	}
	if (err)
		error_sys(e, -err, "-M");
	else if (!u->known)
		err = no_metric(s, word, e);
	else if (!u->any && notes)
		buf_printf(notes, "-M %s: %s\n", word,
			   u->lacks.len ? buf_str(&u->lacks) : "the recording lacks what it needs");
	buf_release(&u->lacks);
	return err;
}

/* A metric whose events were counted in cgroups is printed for each of them. */
int stat_metrics_add(struct stat_sheet *s, const char *word, struct buf *notes, struct error *e)
{
	const struct pm_model *m = s->places->model;
	struct unfed u = { .cgroup = s->config->aggr == STAT_CGROUP ? PM_NONE : 0 };
	struct cpulist in = { 0 };
	int err = 0;

	for (uint32_t i = 0; i < m->n_instances && !err && s->config->aggr != STAT_CGROUP; i++)
		if (stat_cgroup_of(&m->instance[i]) &&
		    stat_wants_cgroup(s->config, stat_cgroup_name(&m->instance[i])))
			err = cpulist_add(&in, m->instance[i].number);
	if (err)
		return error_sys(e, -err, "-M");
	if (!in.n)
		return add_word(s, word, &u, notes, e);
	for (size_t i = 0; i < in.n && !err; i++) {
		u = (struct unfed){ .cgroup = in.cpu[i] };
		err = add_word(s, word, &u, notes, e);
	}
	cpulist_release(&in);
	return err;
}
