/* Metrics that were asked for with -M, of our tables and of vendors' files. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/options.h"
#include "report/metric/recorded_metrics.h"
#include "report/metric/select.h"
#include "report/stat/stat_shadow.h"

struct shown *stat_shown_add(struct stat_shadow *sh)
{
	if (sh->n == sh->cap) {
		uint32_t cap = sh->cap ? 2 * sh->cap : 16;
		struct shown *more = realloc(sh->shown, cap * sizeof(*more));

		if (!more)
			return NULL;
		sh->shown = more;
		sh->cap = cap;
	}
	sh->shown[sh->n] = (struct shown){ 0 };
	return &sh->shown[sh->n++];
}

char *stat_words_of(const char *unit, const char *name, const char *filter)
{
	struct buf words = BUF_INIT;

	buf_printf(&words, "%s%s%s%s%s", unit, unit[0] ? "  " : "", name, filter[0] ? " " : "", filter);
	return buf_detach(&words);
}

/* The text, or the first of the others, behind ';', that the recording can feed. */
static int bind_first(struct stat_sheet *s, const struct stat_scope *at, struct stat_formula *f, const char *text,
		      const char *other, struct buf *lacks)
{
	int err = stat_formula_bind(s, at, f, text, lacks);

	while (err == -ENOENT && other) {
		size_t len = strcspn(other, ";");
		char *one = strndup(other, len);

		if (!one)
			return -ENOMEM;
		err = stat_formula_bind(s, at, f, one, NULL);
		free(one);
		other = other[len] ? other + len + 1 : NULL;
	}
	return err;
}

int stat_metric_bind(struct stat_sheet *s, const struct stat_scope *at, struct stat_formula *f,
		     const struct metric *m, struct buf *lacks)
{
	return bind_first(s, at, f, m->expr, m->otherwise, lacks);
}

/* The group that perf names in place of the events, when the Default metrics are asked for together. */
static const char *default_group(const struct stat_scope *at, const struct metric *m)
{
	static const char *const group[] = { "TopdownL1", "TopdownL2", "TopdownL3", "TopdownL4" };

	for (size_t i = 0; at->in_default && i < sizeof(group) / sizeof(group[0]); i++)
		if (m->categories && strstr(m->categories, group[i]))
			return group[i];
	return NULL;
}

/* The PMU of all events that are of CPUs, where there are several kinds of these. NULL: of none, or of several. */
static const char *pmu_of(const struct stat_sheet *s, const struct stat_formula *f)
{
	const char *pmu = NULL;

	for (size_t i = 0; i < f->n; i++)
		for (uint32_t k = 0; k < f->in[i].n; k++) {
			const char *own = stat_hybrid_pmu(s, &s->event[f->in[i].event[k]]);

			if (own && pmu && strcmp(own, pmu))
				return NULL;
			pmu = own ? own : pmu;
		}
	return pmu;
}

/* PMUs of several kinds of CPUs in one machine; NULL if there is but one kind, and behind the last. */
static const char *core_pmu(const struct pm_model *m, uint32_t want)
{
	const char *found = NULL;
	uint32_t n = 0;

	for (uint32_t i = 0; i < m->n_pmus; i++) {
		if (!pm_map_get(&m->pmu[i].attrs, PM_PMU_CPUS))
			continue;
		if (n++ == want)
			found = pm_map_text(&m->pmu[i].attrs, PM_PMU_NAME, "");
	}
	return n > 1 ? found : NULL;
}

/* One event for all metrics of a group and a kind of CPUs. */
static uint32_t find_head(const struct stat_sheet *s, const struct shown *shown)
{
	uint32_t head = UINT32_MAX, event;

	for (uint32_t i = 0; i < s->shadow->n; i++) {
		const struct shown *other = &s->shadow->shown[i];

		if (other != shown && other->group && other->pmu == shown->pmu && other->cgroup == shown->cgroup &&
		    !strcmp(other->group, shown->group))
			return other->head;
	}
	for (size_t i = 0; i < shown->value.n; i++)
		for (uint32_t k = 0; k < shown->value.in[i].n; k++) {
			event = shown->value.in[i].event[k];
			if (head == UINT32_MAX || stat_rank(&s->event[event]) < stat_rank(&s->event[head]))
				head = event;
		}
	return head;
}

/* "TopdownL1", or "TopdownL1 (cpu_core)" where there are several kinds of CPUs. */
static char *head_of(const struct stat_sheet *s, const char *group, const char *pmu)
{
	struct buf text = BUF_INIT;

	buf_addstr(&text, group);
	if (pmu && core_pmu(s->places->model, 0))
		buf_printf(&text, " (%s)", pmu);
	return buf_detach(&text);
}

/* With `pmu` only if all its events of CPUs are of that kind. */
static int add_metric_of(struct stat_sheet *s, const struct stat_scope *at, const struct metric *m, uint32_t filter,
			 struct buf *lacks)
{
	const char *unit = m->unit && strcmp(m->unit, "1") ? m->unit : "", *name = m->display;
	const char *group = default_group(at, m), *own;
	const char *pmu = at->pmu;
	struct shown *shown;
	struct stat_formula f;
	int err = stat_metric_bind(s, at, &f, m, lacks);

	if (err)
		return err;
	own = pmu_of(s, &f);
	if (pmu && (!own || strcmp(own, pmu))) {
		stat_formula_release(&f);
		return -ENOENT;
	}
	if (!(shown = stat_shown_add(s->shadow))) {
		stat_formula_release(&f);
		return -ENOMEM;
	}
	/* Without -e the lines are those that the metrics are made of. */
	for (size_t i = 0; !s->config->events.n && !group && i < f.n; i++)
		for (uint32_t k = 0; k < f.in[i].n; k++)
			s->event[f.in[i].event[k]].hidden = false;
	shown->metric = m;
	shown->cgroup = at->cgroup;
	shown->filter = filter;
	shown->value = f;
	shown->event = UINT32_MAX;
	shown->pmu = pmu;
	shown->group = group ? head_of(s, group, own) : NULL;
	if (group && !shown->group)
		return -ENOMEM;
	shown->head = group ? find_head(s, shown) : UINT32_MAX;
	shown->rank = shown->head != UINT32_MAX ? stat_rank(&s->event[shown->head]) : 0;
	for (size_t i = 0; i < stat_named_n; i++)
		if (!strcmp(stat_named[i].metric, m->name)) {
			shown->named = &stat_named[i];
			unit = stat_named[i].unit;
			name = stat_named[i].label;
		}
	/* Ours have heads of columns for a name; a vendor's name is what the file says. */
	if (!strncmp(m->name, "tma_", 4) && strncasecmp(name, "tma_", 4))
		name = m->name;
	shown->words = stat_words_of(unit, name, filter ? s->classes.filter[filter] : "");
	if (!shown->words)
		return -ENOMEM;
	if (m->threshold && !s->config->no_threshold) {
		err = bind_first(s, at, &shown->threshold, m->threshold, m->threshold_otherwise, NULL);
		return err == -ENOENT || err == -EINVAL ? 0 : err;
	}
	return 0;
}

/* What has to do with CPUs is one metric for each kind of them. */
static int add_metric_filtered(struct stat_sheet *s, const struct stat_scope *at, const struct metric *m,
			       uint32_t filter, struct buf *lacks)
{
	struct stat_scope one = *at;
	bool any = false;
	int err = 0;

	for (uint32_t i = 0; i < s->shadow->n; i++)
		if (s->shadow->shown[i].metric == m && s->shadow->shown[i].cgroup == at->cgroup &&
		    s->shadow->shown[i].filter == filter)
			return 0;
	if (m->each)
		return -ENOENT;
	for (uint32_t i = 0; !err && (one.pmu = core_pmu(s->places->model, i)); i++) {
		err = add_metric_of(s, &one, m, filter, NULL);
		any |= !err;
		err = err == -ENOENT ? 0 : err;
	}
	if (!err && !any)
		err = add_metric_of(s, at, m, filter, lacks);
	/* Of events that could not be opened it is no number, and says so where they stand. */
	if (err == -ENOENT && !default_group(at, m)) {
		one.pmu = NULL;
		one.refused = true;
		err = add_metric_of(s, &one, m, filter, NULL);
	}
	return err;
}

/* A metric over a class of PMUs: once for each set of filters that was recorded. */
static int add_class_metric(struct stat_sheet *s, const struct stat_scope *at, const struct metric *m,
			    const struct pmu_class *class, struct buf *lacks)
{
	const struct expr_input *in;
	struct stat_scope one = *at;
	struct expr *parsed;
	bool any = false;
	size_t n;
	int err = expr_parse(&parsed, m->expr, NULL);

	if (err)
		return err;
	in = expr_inputs(parsed, &n);
	for (uint32_t f = 0; f < s->classes.n_filters && !err; f++) {
		struct class_choice choice;

		err = class_choose(&choice, &s->classes, class, f, in, n);
		one.class = &choice;
		if (!err && choice.n) {
			err = add_metric_filtered(s, &one, m, f, lacks);
			any |= !err;
			err = err == -ENOENT ? 0 : err;
		}
		class_choice_release(&choice);
	}
	if (!err && !any && lacks)
		buf_printf(lacks, "the recording lacks %s", m->expr);
	expr_free(parsed);
	return err || any ? err : -ENOENT;
}

static int add_metric(struct stat_sheet *s, const struct stat_scope *at, const struct metric *m, struct buf *lacks)
{
	const struct pmu_class *class = class_of_formula(m->expr);

	return class ? add_class_metric(s, at, m, class, lacks) : add_metric_filtered(s, at, m, 0, lacks);
}

static bool matches(const struct metric *m, const char *word)
{
	return selection_matches(word, m->name, m->display, m->aliases ? m->aliases : "",
				 m->categories ? m->categories : "");
}

static bool is_shown(const struct stat_sheet *s, const struct stat_scope *at, const char *name)
{
	for (uint32_t i = 0; i < s->shadow->n; i++)
		if (s->shadow->shown[i].metric && s->shadow->shown[i].cgroup == at->cgroup &&
		    (!strcmp(s->shadow->shown[i].metric->name, name) ||
		     !strcasecmp(s->shadow->shown[i].metric->display, name)))
			return true;
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

	for (size_t v = 0; v < s->vendor.n; v++)
		for (size_t i = 0; i < s->vendor.set[v].n; i++)
			near = (found = nearer(word, near, &s->vendor.set[v].row[i])) ? found : near;
	for (const struct metric_table *t = metric_tables; t->row; t++)
		for (size_t i = 0; i < t->n; i++)
			near = !t->row[i].each && (found = nearer(word, near, &t->row[i])) ? found : near;
	return error_set(e, ENOENT, "-M: there is no metric and no group of metrics '%.80s'%s%s%s%s", word,
			 near ? ", did you mean " : "", near ? near : "", near ? "?" : "",
			 s->vendor.n ? "" : " (--metrics-file=FILE adds those of a CPU's vendor)");
}

/* All metrics that the word names, of tables and vendors' files. */
static int add_word(struct stat_sheet *s, const struct stat_scope *at, const char *word, struct buf *notes,
		    struct error *e)
{
	struct stat_scope raw = *at;
	struct buf lacks = BUF_INIT;
	bool known = false, any = false, all = !strcmp(word, "Default");
	int err = 0;

	for (size_t v = 0; v <= s->vendor.n && (!any || all); v++) {
		const struct metric_set *set = v < s->vendor.n ? &s->vendor.set[v] : &s->recorded;

		for (size_t i = 0; i < set->n && !err; i++) {
			const struct metric *m = &set->row[i];

			if (!matches(m, word))
				continue;
			known = true;
			buf_clear(&lacks);
			/* perf's formulas have the counts as the hardware has them. */
			raw.raw = true;
			err = add_metric(s, &raw, m, &lacks);
			any |= !err;
			err = err == -ENOENT || err == -EINVAL ? 0 : err;
		}
	}
	/* perf's Default group has the metrics of all CPUs, and those of the one at hand. */
	for (const struct metric_table *t = metric_tables; t->row && (!any || all); t++)
		for (size_t i = 0; i < t->n && !err; i++) {
			if (!matches(&t->row[i], word) || (any && is_shown(s, at, t->row[i].name)))
				continue;
			known = true;
			buf_clear(&lacks);
			err = add_metric(s, at, &t->row[i], &lacks);
			any |= !err;
			err = err == -ENOENT || err == -EINVAL ? 0 : err;
		}
	if (err)
		error_sys(e, -err, "-M");
	else if (!known)
		err = no_metric(s, word, e);
	else if (!any && notes)
		buf_printf(notes, "-M %s: %s\n", word,
			   lacks.len ? buf_str(&lacks) : "the recording lacks what it is made of");
	buf_release(&lacks);
	return err;
}

/* A metric of events that were counted in cgroups is one for each of them. */
int stat_metrics_add(struct stat_sheet *s, const char *word, bool in_default, struct buf *notes, struct error *e)
{
	struct stat_scope at = { .in_default = in_default };
	const struct pm_model *m = s->places->model;
	struct cpulist in = { 0 };
	int err = 0;

	for (uint32_t i = 0; i < m->n_instances && !err && s->config->aggr != STAT_CGROUP; i++)
		if (m->instance[i].kind == PM_CGROUP && stat_wants_cgroup(s, m->instance[i].number))
			err = cpulist_add(&in, m->instance[i].number);
	if (!err && !s->recorded.row)
		err = recorded_metrics(&s->recorded, m);
	if (err)
		return error_sys(e, -err, "-M");
	at.cgroup = s->config->aggr == STAT_CGROUP ? PM_NONE : 0;
	if (!in.n)
		return add_word(s, &at, word, notes, e);
	for (size_t i = 0; i < in.n && !err; i++) {
		at.cgroup = in.cpu[i];
		err = add_word(s, &at, word, notes, e);
	}
	cpulist_release(&in);
	return err;
}
