/*
 * What stands behind the numbers: rates and ratios of perf's own choice for an event, in the words of one or the other
 * generation of perf, and the metrics that were asked for with -M.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/event/event.h"
#include "common/metric/shadow.h"
#include "common/options.h"
#include "report/select.h"
#include "report/stat_formula.h"

/* The metrics of perf's Default group: the event whose line has it, in which unit and words, and the factor from our
 * unit to perf's. `bad`: bound, on the side that `below` tells, from which on perf calls it bad; 0: none. */
static const struct named {
	const char *event, *metric, *label, *unit;
	double factor, bad;
	bool below;
} named[] = {
	{ "task-clock", "cpus_utilized", "CPUs_utilized", "CPUs", 1, 0 },
	{ "cpu-clock", "cpus_utilized_clock", "CPUs_utilized", "CPUs", 1, 0 },
	{ "context-switches", "cs_per_second", "cs_per_second", "cs/sec", 1, 0 },
	{ "cpu-migrations", "migrations_per_second", "migrations_per_second", "migrations/sec", 1, 0 },
	{ "page-faults", "page_faults_per_second", "page_faults_per_second", "faults/sec", 1, 0 },
	{ "cycles", "cycles_frequency", "cycles_frequency", "GHz", 1, 0 },
	{ "instructions", "insn_per_cycle", "insn_per_cycle", "instructions", 1, 1, true },
	{ "stalled-cycles-frontend", "frontend_cycles_idle", "frontend_cycles_idle", "", 0.01, 0.1 },
	{ "stalled-cycles-backend", "backend_cycles_idle", "backend_cycles_idle", "", 0.01, 0.2 },
	{ "instructions", "stalled_cycles_per_instruction", "stalled_cycles_per_instruction", "", 1, 0 },
	{ "branches", "branch_frequency", "branch_frequency", "M/sec", 1e-6, 0 },
	{ "branch-misses", "branch_miss_rate", "branch_miss_rate", "%", 1, 5 },
	{ "L1-dcache-load-misses", "l1d_miss_rate", "l1d_miss_rate", "%", 1, 5 },
	{ "LLC-loads", "llc_miss_rate", "llc_miss_rate", "%", 1, 5 },
	{ "L1-icache-load-misses", "l1i_miss_rate", "l1i_miss_rate", "%", 1, 5 },
	{ "dTLB-load-misses", "dtlb_miss_rate", "dtlb_miss_rate", "%", 1, 5 },
	{ "iTLB-load-misses", "itlb_miss_rate", "itlb_miss_rate", "%", 1, 5 },
	{ "L1-dcache-prefetch-misses", "l1_prefetch_miss_rate", "l1_prefetch_miss_rate", "%", 1, 5 },
};

struct shown {
	uint32_t event;              /* whose line it stands behind; UINT32_MAX: a line of its own at the end of a row */
	const struct shadow *shadow; /* one of these two, or neither for -M */
	const struct named *named;
	const struct metric *metric;
	uint32_t cgroup;             /* of -M: whose events it is made of */
	char *words;                 /* owned: unit and name as they are printed */
	struct stat_formula value, threshold;
	bool rate;                   /* the count a second of the clock */
};

struct stat_shadow {
	struct shown *shown; /* owned, ordered by event */
	uint32_t n, cap;
	uint32_t *first;     /* owned: by event, n_events + 1 of them; then those without */
	uint32_t n_first;
};

void stat_shadow_release(struct stat_sheet *s)
{
	struct stat_shadow *sh = s->shadow;

	if (!sh)
		return;
	for (uint32_t i = 0; i < sh->n; i++) {
		stat_formula_release(&sh->shown[i].value);
		stat_formula_release(&sh->shown[i].threshold);
		free(sh->shown[i].words);
	}
	free(sh->shown);
	free(sh->first);
	free(sh);
	s->shadow = NULL;
}

/* ---- finding ---- */

static const struct metric *metric_named(const char *name)
{
	for (const struct metric_table *t = metric_tables; t->row; t++)
		for (size_t i = 0; i < t->n; i++)
			if (!strcmp(t->row[i].name, name))
				return &t->row[i];
	return NULL;
}

/* The formula, or the first of the others that the recording can feed. */
static int bind_metric(struct stat_sheet *s, struct stat_formula *f, const struct metric *m, const char *pmu, struct buf *lacks)
{
	const char *other = m->otherwise;
	int err = stat_formula_bind(s, f, m->expr, pmu, lacks);

	while (err == -ENOENT && other) {
		size_t len = strcspn(other, ";");
		char *text = strndup(other, len);

		if (!text)
			return -ENOMEM;
		err = stat_formula_bind(s, f, text, pmu, NULL);
		free(text);
		other = other[len] ? other + len + 1 : NULL;
	}
	return err;
}

static struct shown *add_shown(struct stat_shadow *sh)
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

/* The PMU of an event where there are several kinds of CPUs. */
static const char *hybrid_pmu(const struct stat_sheet *s, const struct stat_event *ev)
{
	const char *pmu = pm_map_text(&ev->first->attrs, PM_COUNTER_PERF_PMU, NULL);
	const struct pm_model *m = s->places->model;

	if (!pmu || ev->n_counters > 1)
		return NULL;
	if (!strcmp(pmu, "cpu_core") || !strcmp(pmu, "cpu_atom"))
		return pmu;
	for (uint32_t i = 0; i < m->n_pmus; i++)
		if (!strcmp(pm_map_text(&m->pmu[i].attrs, PM_PMU_NAME, ""), pmu) && pm_map_get(&m->pmu[i].attrs, PM_PMU_CPUS))
			return pmu;
	return NULL;
}

/* Type and config of the attr, in the byte order of the machine that was recorded. */
static bool attr_of(const struct stat_sheet *s, const struct pm_counter *c, uint32_t *type, uint64_t *config)
{
	const struct pm_value *v = pm_map_get(&c->attrs, PM_COUNTER_PERF_ATTR);
	bool little = pm_map_bool(&s->places->model->header, PM_HEADER_LITTLE_ENDIAN, true);
	const unsigned char *d;

	if (!v || v->kind != PM_VALUE_BYTES || v->str.len < 16)
		return false;
	d = (const unsigned char *)v->str.data;
	*type = 0;
	*config = 0;
	for (int i = 0; i < 4; i++)
		*type |= (uint32_t)d[i] << (little ? 8 * i : 24 - 8 * i);
	for (int i = 0; i < 8; i++)
		*config |= (uint64_t)d[8 + i] << (little ? 8 * i : 56 - 8 * i);
	return true;
}

/* The name that tables know an event by: "cycles" for cpu_core/cpu-cycles/u. */
static void plain_name(const struct stat_sheet *s, const struct stat_event *ev, char name[static 64], uint32_t *type,
		       uint64_t *config)
{
	const char *display = ev->first->display, *slash = strchr(display, '/'), *from = slash ? slash + 1 : display;
	const struct event_symbol *symbol;

	snprintf(name, 64, "%.*s", (int)strcspn(from, slash ? "/" : ":"), from);
	if (attr_of(s, ev->first, type, config)) {
		if (*type == PERF_TYPE_HW_CACHE)
			event_cache_name((uint32_t)*config, name, 64);
		for (symbol = event_symbols; symbol->name; symbol++)
			if (symbol->type == *type && symbol->config == (*type == PERF_TYPE_HARDWARE ? (uint32_t)*config : *config))
				break;
		if (symbol->name && *type <= PERF_TYPE_SOFTWARE)
			snprintf(name, 64, "%s", symbol->name);
		return;
	}
	*type = UINT32_MAX;
	if ((symbol = event_symbol_find(name))) {
		*type = symbol->type;
		*config = symbol->config;
		snprintf(name, 64, "%s", symbol->name);
	} else if (!event_cache_parse(name, config)) {
		*type = PERF_TYPE_HW_CACHE;
	}
}

/* perf counts cpu-clock in place of task-clock where it counts CPUs. */
static int bind_by_cpu_clock(struct stat_sheet *s, struct stat_formula *f, const char *text, const char *pmu)
{
	static const char task[] = "task\\-clock", cpu[] = "cpu\\-clock";
	struct buf other = BUF_INIT;
	const char *at;
	int err;

	while ((at = strstr(text, task))) {
		buf_add(&other, text, (size_t)(at - text));
		buf_addstr(&other, cpu);
		text = at + strlen(task);
	}
	buf_addstr(&other, text);
	err = other.err ? -ENOMEM : stat_formula_bind(s, f, buf_str(&other), pmu, NULL);
	buf_release(&other);
	return err;
}

/* A count a second of the CPU time that was counted beside it. */
static int add_rate(struct stat_sheet *s, uint32_t event)
{
	struct stat_formula clock;
	struct shown *shown;
	int err = stat_formula_bind(s, &clock, "task\\-clock", NULL, NULL);

	if (err == -ENOENT)
		err = stat_formula_bind(s, &clock, "cpu\\-clock", NULL, NULL);
	if (err)
		return err == -ENOENT ? 0 : err;
	if (!(shown = add_shown(s->shadow))) {
		stat_formula_release(&clock);
		return -ENOMEM;
	}
	*shown = (struct shown){ .event = event, .value = clock, .rate = true };
	return 0;
}

static int classic_of(struct stat_sheet *s, uint32_t event)
{
	const struct shadow *row = NULL;
	struct shown *shown;
	char name[64];
	uint32_t type;
	uint64_t config;
	size_t n;
	int err = 0;

	plain_name(s, &s->event[event], name, &type, &config);
	n = shadow_find(type, config, name, &row);
	for (size_t i = 0; i < n && !err; i++) {
		const struct metric *m = metric_named(row[i].metric);
		struct stat_formula f;

		if (!m)
			continue;
		err = bind_metric(s, &f, m, hybrid_pmu(s, &s->event[event]), NULL);
		if (err == -ENOENT)
			err = bind_by_cpu_clock(s, &f, m->expr, hybrid_pmu(s, &s->event[event]));
		if (err == -ENOENT || err == -EINVAL) {
			err = 0;
			continue;
		}
		if (err)
			return err;
		if (!(shown = add_shown(s->shadow))) {
			stat_formula_release(&f);
			return -ENOMEM;
		}
		*shown = (struct shown){ .event = event, .shadow = &row[i], .metric = m, .value = f, .words = strdup(row[i].label) };
		err = shown->words ? 0 : -ENOMEM;
	}
	if (n || err)
		return err;
	return add_rate(s, event);
}

static char *words_of(const char *unit, const char *name)
{
	struct buf words = BUF_INIT;

	buf_printf(&words, "%s%s%s", unit, unit[0] ? "  " : "", name);
	return buf_detach(&words);
}

static int named_of(struct stat_sheet *s, uint32_t event)
{
	char name[64];
	uint32_t type;
	uint64_t config;

	plain_name(s, &s->event[event], name, &type, &config);
	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
		const struct metric *m = metric_named(named[i].metric);
		struct shown *shown;
		struct stat_formula f;
		int err;

		if (!m || strcmp(named[i].event, name))
			continue;
		err = bind_metric(s, &f, m, hybrid_pmu(s, &s->event[event]), NULL);
		if (err == -ENOENT)
			err = bind_by_cpu_clock(s, &f, m->expr, hybrid_pmu(s, &s->event[event]));
		if (err == -ENOENT || err == -EINVAL)
			continue;
		if (err)
			return err;
		if (!(shown = add_shown(s->shadow))) {
			stat_formula_release(&f);
			return -ENOMEM;
		}
		*shown = (struct shown){ .event = event, .named = &named[i], .metric = m, .value = f,
					 .words = words_of(named[i].unit, named[i].label) };
		if (!shown->words)
			return -ENOMEM;
	}
	return 0;
}

/* ---- -M ---- */

static int add_metric(struct stat_sheet *s, const struct metric *m, struct buf *lacks)
{
	const char *unit = m->unit && strcmp(m->unit, "1") ? m->unit : "", *name = m->display;
	struct shown *shown;
	struct stat_formula f;
	int err;

	for (uint32_t i = 0; i < s->shadow->n; i++)
		if (s->shadow->shown[i].metric == m && s->shadow->shown[i].cgroup == s->binding_cgroup)
			return 0;
	if (m->each)
		return -ENOENT;
	if ((err = bind_metric(s, &f, m, NULL, lacks)))
		return err;
	if (!(shown = add_shown(s->shadow))) {
		stat_formula_release(&f);
		return -ENOMEM;
	}
	/* Without -e the lines are those that the metrics are made of. */
	for (size_t i = 0; !s->config->events.n && i < f.n; i++)
		for (uint32_t k = 0; k < f.in[i].n; k++)
			s->event[f.in[i].event[k]].hidden = false;
	shown->metric = m;
	shown->cgroup = s->binding_cgroup;
	shown->value = f;
	shown->event = stat_formula_event(s, &f);
	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++)
		if (!strcmp(named[i].metric, m->name)) {
			shown->named = &named[i];
			unit = named[i].unit;
			name = named[i].label;
		}
	shown->words = words_of(unit, !strncmp(m->name, "tma_", 4) ? m->name : name);
	if (!shown->words)
		return -ENOMEM;
	if (m->threshold && !s->config->no_threshold) {
		err = stat_formula_bind(s, &shown->threshold, m->threshold, NULL, NULL);
		return err == -ENOENT || err == -EINVAL ? 0 : err;
	}
	return 0;
}

static bool matches(const struct metric *m, const char *word)
{
	return selection_matches(word, m->name, m->display, m->aliases ? m->aliases : "", m->categories ? m->categories : "");
}

/* All metrics that the word names, of tables and vendors' files. */
static int add_word(struct stat_sheet *s, const char *word, struct buf *notes, struct error *e)
{
	struct buf lacks = BUF_INIT;
	bool known = false, any = false;
	const char *last = word;
	int err = 0;

	for (size_t v = 0; v < s->config->n_vendor; v++)
		for (size_t i = 0; i < s->config->vendor[v].n && !err; i++) {
			const struct metric *m = &s->config->vendor[v].row[i];

			if (!matches(m, word))
				continue;
			known = true;
			buf_clear(&lacks);
			err = add_metric(s, m, &lacks);
			any |= !err;
			err = err == -ENOENT || err == -EINVAL ? 0 : err;
		}
	for (const struct metric_table *t = metric_tables; t->row && !any; t++)
		for (size_t i = 0; i < t->n && !err; i++) {
			if (!matches(&t->row[i], word))
				continue;
			known = true;
			buf_clear(&lacks);
			err = add_metric(s, &t->row[i], &lacks);
			any |= !err;
			err = err == -ENOENT || err == -EINVAL ? 0 : err;
		}
	if (err)
		error_sys(e, -err, "-M");
	else if (!known)
		err = error_set(e, ENOENT, "-M: there is no metric or group '%s'", last);
	else if (!any && notes)
		buf_printf(notes, "-M %s: the recording lacks %s\n", word, lacks.len ? buf_str(&lacks) : "what it is made of");
	buf_release(&lacks);
	return err;
}

static int by_event(const void *a, const void *b)
{
	const struct shown *x = a, *y = b;

	return (x->event > y->event) - (x->event < y->event);
}

static enum stat_style style_of(const struct stat_sheet *s)
{
	if (s->config->style != STAT_STYLE_AUTO)
		return s->config->style;
	return s->config->form == STAT_TEXT || s->config->metric_only ? STAT_STYLE_CLASSIC : STAT_STYLE_NAMED;
}

static int index_events(struct stat_sheet *s)
{
	struct stat_shadow *sh = s->shadow;
	uint32_t at = 0;

	if (sh->n)
		qsort(sh->shown, sh->n, sizeof(*sh->shown), by_event);
	sh->n_first = s->n_events;
	sh->first = calloc((size_t)s->n_events + 1, sizeof(*sh->first));
	if (!sh->first)
		return -ENOMEM;
	for (uint32_t i = 0; i <= s->n_events; i++) {
		while (at < sh->n && sh->shown[at].event < i)
			at++;
		sh->first[i] = at;
	}
	return 0;
}

/* A metric of events that were counted in cgroups is one for each of them. */
static int add_in_cgroups(struct stat_sheet *s, const char *word, struct buf *notes, struct error *e)
{
	const struct pm_model *m = s->places->model;
	struct cpulist in = { 0 };
	int err = 0;

	for (uint32_t i = 0; i < m->n_instances && !err && s->config->aggr != STAT_CGROUP; i++)
		if (m->instance[i].kind == PM_CGROUP)
			err = cpulist_add(&in, m->instance[i].number);
	if (err)
		return error_sys(e, -err, "-M");
	s->binding_cgroup = s->config->aggr == STAT_CGROUP ? PM_NONE : 0;
	if (!in.n)
		return add_word(s, word, notes, e);
	for (size_t i = 0; i < in.n && !err; i++) {
		s->binding_cgroup = in.cpu[i];
		err = add_word(s, word, notes, e);
	}
	cpulist_release(&in);
	return err;
}

int stat_shadow_bind(struct stat_sheet *s, struct buf *notes, struct error *e)
{
	enum stat_style style = style_of(s);
	uint32_t n = s->n_events;
	int err = 0;

	stat_shadow_release(s);
	s->shadow = calloc(1, sizeof(*s->shadow));
	if (!s->shadow)
		return error_sys(e, ENOMEM, "metrics");
	for (size_t i = 0; i < s->config->metrics.n && !err; i++)
		if ((err = add_in_cgroups(s, s->config->metrics.word[i], notes, e)))
			return err;
	s->binding_cgroup = s->config->aggr == STAT_CGROUP ? PM_NONE : 0;
	for (uint32_t i = 0; i < n && !err && !s->config->metrics.n; i++) {
		s->binding_cgroup = s->event[i].in_cgroup;
		if (style == STAT_STYLE_CLASSIC)
			err = classic_of(s, i);
		/* The newer perf has metrics for its own choice of events only. */
		else if (style == STAT_STYLE_NAMED && (!s->event[i].asked || s->config->style == STAT_STYLE_NAMED))
			err = named_of(s, i);
	}
	err = err ? err : index_events(s);
	return err ? error_sys(e, -err, "metrics") : 0;
}

/* ---- values ---- */

static void judge(const struct stat_sheet *s, const struct shown *x, uint32_t row, struct stat_metric *out)
{
	static const char *const color[] = { [SHADOW_LESS_GOOD] = "33", [SHADOW_NEARLY_BAD] = "35", [SHADOW_BAD] = "31" };
	enum shadow_level level;

	if (s->config->no_threshold)
		return;
	if (x->shadow) {
		level = shadow_judge(x->shadow, out->value);
		out->color = level == SHADOW_GOOD && x->shadow->lower ? "32" : level <= SHADOW_BAD ? color[level] : NULL;
		return;
	}
	if (x->named && x->named->bad > 0) {
		bool bad = x->named->below ? out->value < x->named->bad : out->value > x->named->bad;

		out->threshold = isnan(out->value) ? "unknown" : bad ? "bad" : "good";
	} else if (x->threshold.expr) {
		struct value v = stat_formula_value(s, &x->threshold, row);

		out->threshold = v.reason ? "unknown" : v.v != 0 ? "bad" : "good";
	}
	if (out->threshold && !strcmp(out->threshold, "bad"))
		out->color = "31";
}

/* A second of CPU time; NaN: that is not known. */
static double rate_of(const struct stat_sheet *s, const struct shown *x, const struct stat_line *l)
{
	struct value clock = stat_formula_value(s, &x->value, l->row);

	if (l->now.reason || clock.reason || clock.v <= 0)
		return (double)NAN;
	return stat_value(&s->event[l->event], &l->now) / (clock.v / 1000);
}

/* "1.732 K/sec": below a thousand of the largest unit that it reaches. */
static bool take_rate(const struct stat_sheet *s, const struct shown *x, const struct stat_line *l, struct stat_metric *out)
{
	static const struct {
		double size;
		const char *unit;
	} units[] = { { 1e9, "G/sec" }, { 1e6, "M/sec" }, { 1e3, "K/sec" }, { 1, "/sec" } };
	double rate = rate_of(s, x, l);
	size_t i = 0;

	if (isnan(rate))
		return false;
	while (i < 3 && rate < units[i].size)
		i++;
	*out = (struct stat_metric){ .value = rate / units[i].size, .width = 8, .precision = 3, .unit = units[i].unit,
				     .name = units[i].unit };
	return true;
}

static void take_metric(const struct stat_sheet *s, const struct shown *x, uint32_t row, struct stat_metric *out)
{
	struct value v = stat_formula_value(s, &x->value, row);

	*out = (struct stat_metric){
		.value = v.reason ? (double)NAN : v.v, .reason = v.reason, .unit = x->words, .name = x->metric->name,
		.width = 8, .precision = 1, .id = (uint32_t)(x - s->shadow->shown),
	};
	if (x->named) {
		out->value *= x->named->factor;
		out->precision = x->named->unit[0] ? 1 : 2;
	} else if (x->shadow) {
		out->width = x->shadow->width;
		out->precision = x->shadow->decimals;
		out->percent = x->shadow->percent;
	} else if (x->metric->unit && !strcmp(x->metric->unit, "1")) {
		out->precision = 2;
	}
	judge(s, x, row, out);
}

/* perf prints what it cannot compute where it was asked for, and nothing where it was its own idea. */
static bool is_wanted(const struct shown *x, const struct stat_metric *m, const struct stat_sheet *s)
{
	return !m->reason || s->config->metrics.n;
}

size_t stat_shadow(const struct stat_sheet *s, const struct stat_line *l, struct stat_metric out[static STAT_METRICS])
{
	const struct stat_shadow *sh = s->shadow;
	size_t n = 0;

	if (!sh->n || l->now.reason)
		return 0;
	for (uint32_t i = sh->first[l->event]; i < sh->first[l->event + 1] && n < STAT_METRICS; i++) {
		const struct shown *x = &sh->shown[i];

		if (x->rate) {
			n += take_rate(s, x, l, &out[n]);
			continue;
		}
		take_metric(s, x, l->row, &out[n]);
		n += is_wanted(x, &out[n], s);
	}
	return n;
}

size_t stat_shadow_alone(const struct stat_sheet *s, uint32_t row, struct stat_metric out[static STAT_METRICS])
{
	const struct stat_shadow *sh = s->shadow;
	size_t n = 0;

	for (uint32_t i = sh->first[sh->n_first]; i < sh->n && n < STAT_METRICS; i++)
		take_metric(s, &sh->shown[i], row, &out[n++]);
	return n;
}

uint32_t stat_shadow_heads(const struct stat_sheet *s)
{
	return s->shadow->n;
}

void stat_shadow_head(const struct stat_sheet *s, uint32_t id, struct buf *out)
{
	const struct shown *x = &s->shadow->shown[id];

	if (x->rate)
		buf_printf(out, "/sec %s", s->event[x->event].name);
	else
		buf_printf(out, "%s%s", x->shadow && x->shadow->percent ? "%  " : "", x->words);
}

void stat_shadow_cell(const struct stat_sheet *s, uint32_t row, uint32_t id, struct stat_metric *out)
{
	const struct shown *x = &s->shadow->shown[id];
	const struct stat_line *l = x->rate ? stat_line_at(s, row, x->event) : NULL;

	*out = (struct stat_metric){ .value = (double)NAN, .reason = VALUE_NO_INPUT, .unit = "", .name = "" };
	if (!x->rate)
		take_metric(s, x, row, out);
	else if (l && !isnan(rate_of(s, x, l)))
		*out = (struct stat_metric){ .value = rate_of(s, x, l), .width = 8, .precision = 3, .unit = "/sec", .name = "/sec" };
	out->id = id;
}
