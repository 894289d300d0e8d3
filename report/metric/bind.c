#include "report/metric/bind_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/metric/recorded_metrics.h"

#define MAX_PARAMETER 1024 /* chips, or cores of one, for which a metric is repeated */

static char *with_parameter(const char *text, const char *number)
{
	struct buf out = BUF_INIT;

	for (; *text; text++)
		if (*text == '?')
			buf_addstr(&out, number);
		else
			buf_addch(&out, *text);
	return buf_detach(&out);
}

/* Binds a metric over a class of PMUs, once for each set of filters that was recorded. */
static int bind_class_row(struct builder *x, const struct metric *row, const struct pmu_class *class, bool vendor)
{
	const struct expr_input *in;
	struct expr *parsed;
	size_t n;
	int err = expr_parse(&parsed, row->expr, x->error);

	if (err)
		return error_prefix(x->error, "metric %s", row->name);
	in = expr_inputs(parsed, &n);
	for (uint32_t f = 0; f < x->classes.n_filters && !err; f++) {
		SCOPED(class_choice_release) struct class_choice choice = { 0 };
		struct metric one = *row;

		err = class_choose(&choice, &x->classes, class, f, in, n);
		if (!err && choice.n && f) {
			one.name = bind_text(x->b, "%s/%s/", row->name, x->classes.filter[f]);
			one.display = bind_text(x->b, "%s %s", row->display, x->classes.filter[f]);
			one.aliases = bind_text(x->b, "%s%s%s", row->name, row->aliases ? "," : "",
						row->aliases ? row->aliases : "");
			err = one.name && one.display && one.aliases ? 0 : -ENOMEM;
		}
		x->choice = &choice;
		if (!err && choice.n)
			err = bind_row(x, &one, NULL, NULL, vendor);
		x->choice = NULL;
	}
	expr_free(parsed);
	return err;
}

/* The member in a counter's name: what follows the family, or its first part ("softirqs.vec" has members such as
 * "softirqs.timer"). */
static const char *own_part(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot ? dot + 1 : name;
}

static int bind_family(struct builder *x, const struct metric *row)
{
	const struct pm_model *m = x->p->model;
	int err;

	for (uint32_t i = 0; i < m->n_counters; i++) {
		const struct pm_counter *c = &m->counter[i];
		const char *member, *part;

		if (strcmp(pm_map_text(&c->attrs, PM_COUNTER_FAMILY, ""), row->each))
			continue;
		part = own_part(c->name);
		member = pm_map_text(&c->attrs, PM_COUNTER_MEMBER, part);
		/* If no formula can contain the member's name, it is still available as a counter. */
		err = bind_row(x, row, member, part, false);
		if (err && err != -EINVAL)
			return err;
	}
	return 0;
}

/* ---- counters as metrics ---- */

static unsigned char precision_of(const struct pm_counter *c, bool rate)
{
	bool whole = !strcmp(c->unit, "1") || !strcmp(c->unit, "By") || !strcmp(c->unit, "Hz") || !c->unit[0];

	if (whole && c->type != PM_F64)
		return rate ? 1 : 0;
	return !strcmp(c->unit, "s") ? 3 : 2;
}

/* Whether an added counter is shown as a share of time, by a formula. */
static bool is_share(const struct pm_counter *c)
{
	return !strcmp(pm_map_text(&c->attrs, PM_COUNTER_ADD_FORMAT, ""), "percent");
}

/* Its formula: cycles of the TSC, microseconds, or ticks of a clock. */
static int bind_share(struct builder *x, const struct pm_counter *c)
{
	/* '*' is the counter. The clock of a module's telemetry runs at 800 MHz. */
	static const struct {
		const char *type, *expr;
	} formula[] = {
		{ "usec", "percent(rate(*), 1e6)" },
		{ "txtal_time", "percent(rate(*), #crystal_hz)" },
		{ "tcore_clock", "percent(rate(*), 800e6)" },
		{ NULL, "percent(rate(*), rate(msr.tsc))" },
	};
	const char *type = pm_map_text(&c->attrs, PM_COUNTER_ADD_TYPE, "");
	struct metric row = {
		.name = c->name, .display = c->display, .unit = "%", .precision = 2, .default_on = true
	};
	size_t i = 0;
	char *text;
	int err;

	while (formula[i].type && strcmp(formula[i].type, type))
		i++;
	text = bind_with_member(formula[i].expr, c->name, false, true);
	if (!text)
		return -ENOMEM;
	row.expr = bind_own(x->b, text);
	err = row.expr ? bind_row(x, &row, NULL, NULL, false) : -ENOMEM;
	if (!err && x->b->n_metrics && x->b->metric[x->b->n_metrics - 1].name == row.name)
		x->b->metric[x->b->n_metrics - 1].added = true;
	return err == -EINVAL ? 0 : err;
}

/* What counters as metrics have in common. */
struct alike {
	uint32_t *number; /* number[i] is i: what points to an id or a place needs no memory of its own */
	struct input_more *more;
	const char *unit, *rate; /* of the last one: its counter's, and that per second */
};

static int bind_counter(struct builder *x, const struct pm_counter *c, struct alike *alike)
{
	bool rate = x->options->rate && (c->semantics == PM_CUMULATIVE || c->semantics == PM_DELTA);
	struct metric_about about = { .unit = c->unit, .aliases = "", .categories = c->source };
	struct bound_metric *m;
	struct bound_input *in;
	uint32_t ignored;

	if (pm_counter_texts(c) || x->p->kind[c->id] == PM_KINDS || bind_left_out(x, c))
		return 0;
	about.help = pm_map_text(&c->attrs, PM_COUNTER_HELP, "");
	if (rate && c->unit != alike->unit && !(alike->rate = bind_text(x->b, "%s/s", c->unit[0] ? c->unit : "1")))
		return -ENOMEM;
	if (rate) {
		alike->unit = c->unit;
		about.unit = alike->rate;
	}
	in = bind_new_input(x->b, alike->more);
	m = bind_new_metric(x->b, &about);
	if (!in || !m)
		return -ENOMEM;
	in->aspect = EXPR_VALUE;
	in->rate = rate;
	in->counter = &alike->number[c->id];
	in->n_counters = 1;
	in->kind = m->kind = (enum pm_kind)x->p->kind[c->id];
	m->name = c->name;
	/* An event may be called like a metric ("migrations"); every other raw counter has its source in its name. */
	if (names_get(&x->taken, c->name, &ignored) && !(m->name = bind_text(x->b, "%s.%s", c->source, c->name)))
		return -ENOMEM;
	m->display = c->display && c->display[0] ? c->display : c->name;
	m->input = &alike->number[x->b->n_inputs - 1];
	m->n_inputs = 1;
	m->counter = c->id;
	m->precision = precision_of(c, rate);
	m->default_on = pm_map_bool(&c->attrs, PM_COUNTER_REQUESTED, false) && !is_share(c) && !x->twin[c->id];
	m->added = pm_map_get(&c->attrs, PM_COUNTER_ADDED) && !is_share(c);
	if (!strcmp(pm_map_text(&c->attrs, PM_COUNTER_ADD_FORMAT, ""), "raw"))
		m->digits = c->width <= 32 ? 8 : 16;
	return 0;
}

static int bind_all_counters(struct builder *x)
{
	const struct pm_model *m = x->p->model;
	struct binding *b = x->b;
	size_t inputs = b->n_inputs + m->n_counters;
	struct alike alike = { .number = bind_own(b, malloc((inputs + 1) * sizeof(*alike.number))),
			       .more = bind_own(b, calloc(1, sizeof(*alike.more))) };
	int err = alike.number && alike.more ? 0 : -ENOMEM;

	for (size_t i = 0; i <= inputs && !err; i++)
		alike.number[i] = (uint32_t)i;
	for (uint32_t i = 0; i < m->n_counters && !err; i++)
		err = bind_counter(x, &m->counter[i], &alike);
	return err;
}

/* A '?' in an event's name stands for a number that counts from 0: binds a metric for each that was recorded. */
static int bind_parameters(struct builder *x, const struct metric *row)
{
	const struct pmu_class *class = class_of_formula(row->expr);
	struct binding *b = x->b;
	size_t before = b->n_metrics;
	int err = class ? bind_class_row(x, row, class, true) : 0;

	/* Events that are not in the class's table are found by what the user or the kernel calls them. */
	if (err || b->n_metrics != before)
		return err;
	if (!strchr(row->expr, '?'))
		return bind_row(x, row, NULL, NULL, true);
	for (unsigned n = 0; n < MAX_PARAMETER && !err; n++) {
		struct metric one = *row;
		char number[12];

		snprintf(number, sizeof(number), "%u", n);
		one.name = bind_text(b, "%s_%u", row->name, n);
		one.display = bind_text(b, "%s_%u", row->display, n);
		one.aliases = one.display;
		one.expr = bind_own(b, with_parameter(row->expr, number));
		one.threshold = row->threshold ? bind_own(b, with_parameter(row->threshold, number)) : NULL;
		if (!one.name || !one.display || !one.expr || (row->threshold && !one.threshold))
			return -ENOMEM;
		before = b->n_metrics;
		err = bind_row(x, &one, NULL, NULL, true);
		if (b->n_metrics == before)
			break;
	}
	return err;
}

/* Binds a metric over classes of PMUs: the first of its formulas that the recording can feed. */
static int bind_classes(struct builder *x, const struct metric *row)
{
	struct metric one = *row;
	size_t before = x->b->n_metrics;
	const char *next = row->otherwise;
	int err = 0;

	one.otherwise = NULL;
	while (x->classes.n && one.expr && !err && x->b->n_metrics == before) {
		const struct pmu_class *class = class_of_formula(one.expr);
		size_t len = next ? strcspn(next, ";") : 0;

		err = class ? bind_class_row(x, &one, class, false) : bind_row(x, &one, NULL, NULL, false);
		one.expr = len ? bind_own(x->b, strndup(next, len)) : NULL;
		if (len && !one.expr)
			return -ENOMEM;
		next = len && next[len] ? next + len + 1 : NULL;
	}
	return err;
}

static int bind_built_in(struct builder *x, const struct metric *row)
{
	uint32_t ignored;

	if (row->of && !names_get(&x->taken, row->of, &ignored))
		return 0;
	if (class_of_formula(row->expr))
		return bind_classes(x, row);
	return row->each ? bind_family(x, row) : bind_row(x, row, NULL, NULL, false);
}

/* perf's formulas use counts in the hardware's units. */
static int bind_vendor(struct builder *x, const struct metric *row)
{
	int err;

	x->raw = true;
	err = bind_parameters(x, row);
	x->raw = false;
	return err;
}

/* What concerns CPUs becomes one metric for each kind of them, if requested. */
static int bind_kinds(struct builder *x, const struct metric *row,
		      int (*bind)(struct builder *x, const struct metric *row))
{
	size_t before = x->b->n_metrics;
	int err = 0;

	for (uint32_t i = 0; x->options->per_kind && !err && (x->pmu = bind_core_pmu(x->p->model, i)); i++)
		err = bind(x, row);
	x->pmu = NULL;
	return err || x->b->n_metrics > before ? err : bind(x, row);
}

static int bind_sets(struct builder *x, size_t from, size_t to)
{
	int err = 0;

	for (size_t k = from; k < to && !err; k++)
		for (size_t i = 0; i < x->options->vendor[k].n && !err; i++)
			err = bind_kinds(x, &x->options->vendor[k].row[i], bind_vendor);
	return err;
}

static int bind_all(struct builder *x)
{
	bool (*wanted)(const struct metric *row) = recorded_name(x->p->model, 0) ? NULL : x->options->wanted;
	size_t own = x->options->n_vendor - x->options->n_packed;
	int err;

	if (x->options->counters_only)
		return bind_all_counters(x);
	/* The user's own come first: if a name is taken, theirs is meant. A pack's come after what was meant when the
	 * recording was made. */
	if ((err = bind_sets(x, 0, own)))
		return err;
	for (size_t i = 0; i < x->b->recorded.n; i++)
		if ((err = bind_kinds(x, &x->b->recorded.row[i], bind_vendor)))
			return err;
	if ((err = bind_sets(x, own, x->options->n_vendor)))
		return err;
	for (const struct metric_table *t = metric_tables; t->row; t++)
		for (size_t i = 0; i < t->n; i++)
			if ((!wanted || wanted(&t->row[i])) && (err = bind_kinds(x, &t->row[i], bind_built_in)))
				return err;
	for (uint32_t i = 0; i < x->p->model->n_counters; i++)
		if (is_share(&x->p->model->counter[i]) && (err = bind_share(x, &x->p->model->counter[i])))
			return err;
	for (uint32_t i = 0; i < x->p->model->n_counters; i++)
		if ((err = bind_merged(x, &x->p->model->counter[i])))
			return err;
	if (x->options->absent && (err = bind_absent(x)))
		return err;
	return bind_all_counters(x);
}

/* Chooses what applies to the recording's CPU from files for many. */
static int choose_vendor(struct bind_options *options, const struct pm_model *m, struct error *e)
{
	struct vendor_choice choice;
	int err;

	if (!options->files)
		return 0;
	err = vendor_files_choose(options->files, m, &choice, e);
	options->vendor = choice.set;
	options->n_vendor = choice.n;
	options->n_packed = choice.n_packed;
	options->events = choice.events;
	return err;
}

int binding_build(struct binding *b, const struct places *p, const struct bind_options *wanted, struct error *e)
{
	struct bind_options options = *wanted;
	struct builder x = { .b = b, .p = p, .options = &options, .error = e };
	int err;

	binding_release(b);
	err = choose_vendor(&options, p->model, e);
	if (err)
		return err;
	b->vendor = options.vendor;
	b->n_vendor = options.n_vendor;
	meaning_init(&x.meaning, p->model);
	x.twice = bind_twice(p->model);
	x.found = malloc(BIND_MAX_COUNTERS * sizeof(*x.found));
	x.clock = malloc(BIND_MAX_COUNTERS * sizeof(*x.clock));
	err = x.found && x.clock ? 0 : -ENOMEM;
	if (!err)
		err = bind_index_build(&b->index, p->model);
	if (!err)
		err = recorded_metrics(&b->recorded, p->model);
	if (!err)
		err = class_index_build(&x.classes, p->model);
	if (!err)
		err = bind_find_twins(&x);
	if (!err)
		err = bind_all(&x);
	if (!err)
		err = binding_order(b, p->model, &options);
	meaning_release(&x.meaning);
	free(x.found);
	free(x.clock);
	free(x.twin);
	class_index_release(&x.classes);
	buf_release(&x.text);
	names_release(&x.taken);
	if (err == -ENOMEM)
		error_sys(e, ENOMEM, "metrics");
	return err;
}
