#include "report/stat/stat_class.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#define MOST 1024 /* counters that a name may stand for */

void stat_formula_release(struct stat_formula *f)
{
	for (size_t i = 0; i < f->n; i++) {
		free(f->in[i].event);
		free(f->in[i].pair);
	}
	free(f->in);
	free(f->arg);
	expr_free(f->expr);
	*f = (struct stat_formula){ 0 };
}

static bool is_there(const struct stat_sheet *s, const struct stat_scope *at, uint32_t counter)
{
	const struct pm_counter *c = pm_model_counter(s->places->model, counter);

	return at->refused || !pm_map_get(&c->attrs, PM_COUNTER_PERF_INVALID);
}

/* A gauge of another source than perf, whose snapshot events stat knows how to add up. */
static bool is_reading(const struct stat_sheet *s, uint32_t counter)
{
	const struct pm_counter *c = pm_model_counter(s->places->model, counter);

	return strcmp(c->source, "perf") && c->semantics != PM_CUMULATIVE && c->semantics != PM_DELTA;
}

static uint32_t find_counters(struct stat_sheet *s, const char *name, const char *pmu, uint32_t *found)
{
	struct buf full = BUF_INIT;
	uint32_t n = 0;

	if (pmu && !strchr(name, '/')) {
		buf_printf(&full, "%s/%s/", pmu, name);
		n = bind_counters(s->places->model, buf_str(&full), found, MOST);
	}
	buf_release(&full);
	if (!n)
		n = bind_counters(s->places->model, name, found, MOST);
	if (!n && !s->meaning.model)
		meaning_init(&s->meaning, s->places->model);
	return n ? n : meaning_find(&s->meaning, s->vendor.events, name, found, MOST);
}

static int add_events(struct stat_sheet *s, const struct stat_scope *at, struct stat_input *in,
		      const uint32_t *counter, uint32_t n)
{
	in->event = calloc(n, sizeof(*in->event));
	if (!in->event)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		bool usable = is_there(s, at, counter[i]) && !is_reading(s, counter[i]);
		int64_t event = usable ? stat_event_of(s, counter[i], at->cgroup) : -ENOENT;
		bool have = false;

		if (event == -ENOENT)
			continue;
		if (event < 0)
			return (int)event;
		for (uint32_t k = 0; k < in->n; k++)
			have |= in->event[k] == event;
		if (!have)
			in->event[in->n++] = (uint32_t)event;
	}
	return in->n ? 0 : -ENOENT;
}

static int bind_input(struct stat_sheet *s, const struct stat_scope *at, struct stat_input *in,
		      const struct stat_formula *f, const struct expr_input *x, bool twice, bool optional)
{
	uint32_t found[MOST], n;
	int err;

	switch (x->aspect) {
	case EXPR_LITERAL:
		return bind_literal(s->places, x->name, &in->value) ? 0 : -ENOENT;
	case EXPR_CPUID_MATCH:
		in->value = value_of(bind_cpuid_matches(s->places->model, x->name));
		return 0;
	default:
		break;
	}
	if (x->aspect == EXPR_VALUE &&
	    (!strcmp(x->name, "duration_time") || !strcmp(x->name, "user_time") || !strcmp(x->name, "system_time"))) {
		in->kind = x->name[0] == 'd' ? STAT_IN_SECONDS : x->name[0] == 'u' ? STAT_IN_USER : STAT_IN_SYSTEM;
		return 0;
	}
	if (stat_class_takes(at, x)) {
		err = stat_class_bind(s, at, in, x);
		if (err == -ENOENT && optional) {
			in->value = value_missing(VALUE_NO_INPUT);
			err = 0;
		}
		return err;
	}
	n = find_counters(s, x->name, at->pmu, found);
	n = n > MOST ? MOST : n;
	for (uint32_t i = 0; twice && i < n; i++)
		found[i] = bind_of_group(s->places->model, found[i], x->name, expr_inputs(f->expr, &(size_t){ 0 }),
					 f->n);
	in->factor = n && at->raw ? bind_unscale(pm_model_counter(s->places->model, found[0])) : 1;
	if (x->aspect == EXPR_HAS_EVENT) {
		bool any = false;

		for (uint32_t i = 0; i < n; i++)
			any |= is_there(s, at, found[i]);
		in->value = value_of(any);
		return 0;
	}
	if (x->aspect == EXPR_SOURCE_COUNT) {
		in->value = n ? value_of(n) : value_missing(VALUE_NO_INPUT);
		return n ? 0 : -ENOENT;
	}
	if (x->aspect != EXPR_VALUE && x->aspect != EXPR_RATE && x->aspect != EXPR_ELAPSED &&
	    x->aspect != EXPR_AGGR_NR)
		return -ENOENT;
	err = n ? add_events(s, at, in, found, n) : -ENOENT;
	in->kind = x->aspect == EXPR_ELAPSED ? STAT_IN_ELAPSED : x->aspect == EXPR_AGGR_NR ? STAT_IN_NR : STAT_IN_SUM;
	in->aspect = x->aspect;
	if (err != -ENOENT || !optional)
		return err;
	in->kind = STAT_IN_CONSTANT;
	in->value = value_missing(VALUE_NO_INPUT);
	return 0;
}

/* What stat has are counts: differences, no readings. */
static void say_why(struct stat_sheet *s, const struct expr_input *x, struct buf *lacks)
{
	static const char *const readings[] = {
		[EXPR_FIRST] = "first", [EXPR_LAST] = "last", [EXPR_MEAN] = "mean", [EXPR_MAX] = "max_of"
	};
	bool reading = x->aspect >= EXPR_FIRST && x->aspect <= EXPR_MAX;
	struct bound_input in = { 0 };
	const char *of = bind_field(x->name, &in);
	uint32_t one;

	if (x->aspect == EXPR_VALUE && bind_counters(s->places->model, x->name, &one, 1) && is_reading(s, one))
		buf_printf(lacks, "%s is read, not counted, and stat has counts; pmrep show has it", x->name);
	else if (reading && bind_counters(s->places->model, x->name, &one, 1))
		buf_printf(lacks, "%s(%s) is made of readings, and stat has counts; pmrep show has it",
			   readings[x->aspect], x->name);
	else if (of && bind_made_of(s->places->model, of, &one, 1))
		buf_printf(lacks, "%s is made of readings of a register, and stat has counts; pmrep show has it",
			   x->name);
	else
		buf_printf(lacks, "the recording lacks %s%s", x->aspect == EXPR_LITERAL ? "#" : "", x->name);
}

int stat_formula_bind(struct stat_sheet *s, const struct stat_scope *at, struct stat_formula *f, const char *text,
		      struct buf *lacks)
{
	const struct expr_input *x;
	bool twice;
	int err;

	*f = (struct stat_formula){ 0 };
	if ((err = expr_parse(&f->expr, text, NULL)))
		return err;
	x = expr_inputs(f->expr, &f->n);
	f->in = calloc(f->n + 1, sizeof(*f->in));
	f->arg = calloc(f->n + 1, sizeof(*f->arg));
	if (!f->in || !f->arg)
		err = -ENOMEM;
	twice = bind_twice(s->places->model);
	for (size_t i = 0; i < f->n && !err; i++) {
		err = bind_input(s, at, &f->in[i], f, &x[i], twice, bind_is_optional(x, f->n, i));
		if (err == -ENOENT && lacks)
			say_why(s, &x[i], lacks);
	}
	if (err && f->in && f->arg)
		stat_formula_release(f);
	else if (err)
		f->n = 0, stat_formula_release(f);
	return err;
}

static struct value input_value(const struct stat_sheet *s, const struct stat_input *in, uint32_t row)
{
	double sum = 0, nr = 0;

	switch (in->kind) {
	case STAT_IN_CONSTANT:
		return in->value;
	case STAT_IN_PAIRS:
		return stat_class_value(s, in, row);
	case STAT_IN_SECONDS:
		return value_of(s->seconds);
	case STAT_IN_USER:
		return s->user.n > 0 ? value_of(s->user.mean / 1e9) : value_missing(VALUE_NO_INPUT);
	case STAT_IN_SYSTEM:
		return s->system.n > 0 ? value_of(s->system.mean / 1e9) : value_missing(VALUE_NO_INPUT);
	default:
		break;
	}
	for (uint32_t i = 0; i < in->n; i++) {
		const struct stat_line *l = stat_line_at(s, row, in->event[i]);

		if (!l)
			continue;
		if (l->now.reason)
			return value_missing(l->now.reason);
		sum += stat_value(&s->event[l->event], &l->now);
		nr += l->now.nr;
	}
	if (nr == 0)
		return value_missing(VALUE_NO_INPUT);
	if (in->aspect == EXPR_RATE)
		return s->seconds > 0 ? value_of(sum * in->factor / s->seconds) : value_missing(VALUE_NO_INPUT);
	return value_of(in->kind == STAT_IN_SUM ? sum * in->factor : in->kind == STAT_IN_NR ? nr : nr * s->seconds);
}

struct value stat_formula_value(const struct stat_sheet *s, const struct stat_formula *f, uint32_t row)
{
	for (size_t i = 0; i < f->n; i++)
		f->arg[i] = input_value(s, &f->in[i], row);
	return expr_eval(f->expr, f->arg);
}

uint32_t stat_formula_event(const struct stat_sheet *s, const struct stat_formula *f, const uint32_t *uses)
{
	uint32_t first = UINT32_MAX;

	for (size_t i = 0; i < f->n; i++)
		for (uint32_t k = 0; k < f->in[i].n; k++) {
			uint32_t event = f->in[i].event[k];

			if (!s->event[event].hidden && (first == UINT32_MAX || uses[event] < uses[first] ||
							(uses[event] == uses[first] &&
							 stat_rank(&s->event[event]) < stat_rank(&s->event[first]))))
				first = event;
		}
	return first;
}
