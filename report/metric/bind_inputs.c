/* Where a formula's inputs come from: counters, facts of the machine, times. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/metric/bind_private.h"
#include "common/array.h"
#include "common/event/vendor_events.h"
#include "report/replay/replay.h"
#include "report/machine/telemetry.h"

/* Takes ownership of an allocation, NULL included; returns it, or NULL without memory. */
void *bind_own(struct binding *b, void *data)
{
	if (data && array_room(&b->owned, b->n_owned, sizeof(*b->owned))) {
		free(data);
		return NULL;
	}
	if (data)
		b->owned[b->n_owned++] = data;
	return data;
}

char *bind_text(struct binding *b, const char *format, ...)
{
	char *text = NULL;
	va_list ap;

	va_start(ap, format);
	if (vasprintf(&text, format, ap) < 0)
		text = NULL;
	va_end(ap);
	return bind_own(b, text);
}

unsigned bound_input_aspects(const struct bound_input *i)
{
	if (i->constant || i->duration)
		return 0;
	if (i->rate || i->aspect == EXPR_RATE)
		return 1u << TRACK_RATE;
	if (i->more->op == INPUT_SPAN)
		return 1u << TRACK_SPAN;
	switch (i->aspect) {
	case EXPR_FIRST:
	case EXPR_LAST:
	case EXPR_MEAN:
	case EXPR_MAX:
	case EXPR_ELAPSED:
		return 1u << i->aspect;
	case EXPR_AGGR_NR:
		/* Those that were observed, whether or not their value can be trusted. */
		return 1u << TRACK_ELAPSED;
	default:
		return 1u << TRACK_VALUE;
	}
}

/* ---- inputs ---- */

bool bind_left_out(const struct builder *x, const struct pm_counter *c)
{
	return (x->options->no_msr && !strcmp(c->source, "msr")) ||
	       (x->options->no_perf && !strcmp(c->source, "perf"));
}

/* Removes counters of sources that the user does not want. */
static void leave_out(struct builder *x, struct bound_input *in)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < in->n_counters; i++)
		if (!bind_left_out(x, pm_model_counter(x->p->model, x->found[i])))
			x->found[n++] = x->found[i];
	in->n_counters = n;
}

/* Whether the number that an input needs is known anywhere. */
static bool knows_number(const struct builder *x, const struct bound_input *in)
{
	struct value v;

	return !in->more->fact || in->more->fixed != 0 || (bind_literal(x->p, in->more->fact, &v) && !v.reason);
}

static bool is_time(const char *name)
{
	const char *const names[] = { "user_time", "system_time", "tool/user_time/", "tool/system_time/" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

/* If the kernel has its own name for "instructions" on a kind of CPUs, its counter has that name. */
static uint32_t counters_of_kind(struct builder *x, const char *name)
{
	const struct pm_model *m = x->p->model;
	SCOPED(buf_release) struct buf full = BUF_INIT;
	uint32_t n, kept = 0;

	buf_printf(&full, "%s/%s/", x->pmu, name);
	n = bind_counters(&x->b->index, buf_str(&full), x->found, BIND_MAX_COUNTERS);
	if (n)
		return n;
	n = bind_counters(&x->b->index, name, x->found, BIND_MAX_COUNTERS);
	for (uint32_t i = 0; i < n && i < BIND_MAX_COUNTERS; i++)
		if (!strcmp(pm_map_text(&pm_model_counter(m, x->found[i])->attrs, PM_COUNTER_PERF_PMU, ""), x->pmu))
			x->found[kept++] = x->found[i];
	return kept;
}

/* What perf counts of registers. Energy is added up and in another unit, so it has formulas of its own. */
/* clang-format off */
static const struct {
	const char *counter, *event;
} stand_ins[] = {
	{ "msr.tsc", "msr/tsc/" },
	{ "msr.mperf", "msr/mperf/" },
	{ "msr.aperf", "msr/aperf/" },
	{ "msr.core_c1_res", "cstate_core/c1-residency/" },
	{ "msr.core_c3_res", "cstate_core/c3-residency/" },
	{ "msr.core_c6_res", "cstate_core/c6-residency/" },
	{ "msr.core_c7_res", "cstate_core/c7-residency/" },
	{ "msr.module_c6_res", "cstate_module/c6-residency/" },
	{ "msr.pkg_c2_res", "cstate_pkg/c2-residency/" },
	{ "msr.pkg_c3_res", "cstate_pkg/c3-residency/" },
	{ "msr.pkg_c6_res", "cstate_pkg/c6-residency/" },
	{ "msr.pkg_c7_res", "cstate_pkg/c7-residency/" },
	{ "msr.pkg_c8_res", "cstate_pkg/c8-residency/" },
	{ "msr.pkg_c9_res", "cstate_pkg/c9-residency/" },
	{ "msr.pkg_c10_res", "cstate_pkg/c10-residency/" },
};
/* clang-format on */

const char *bind_stand_in(const char *counter)
{
	for (size_t i = 0; i < sizeof(stand_ins) / sizeof(stand_ins[0]); i++)
		if (!strcmp(stand_ins[i].counter, counter))
			return stand_ins[i].event;
	return NULL;
}

/* If a register could not be read, uses the perf event that counts the same. */
static void stand_in(struct builder *x, struct bound_input *in, const char *counter)
{
	bool plain = !in->more->op || in->more->op == INPUT_OVER || in->more->op == INPUT_TIMES;
	const char *event = in->n_counters || !plain ? NULL : bind_stand_in(counter);

	if (event)
		in->n_counters = bind_counters(&x->b->index, event, x->found, BIND_MAX_COUNTERS);
	if (!event || !in->n_counters)
		return;
	in->more->op = in->more->op ? in->more->op : INPUT_RULE;
	in->more->own_rule = false;
	in->more->rule = PM_AGG_MEAN;
}

static int fill_input(struct builder *x, struct bound_input *in, const char *name)
{
	const struct pm_model *m = x->p->model;
	const char *reg;
	uint32_t ignored;
	int err;

	in->kind = PM_KINDS;
	if (in->aspect == EXPR_LITERAL && !strcmp(name, "tj_max") && x->options->tj_max > 0) {
		in->constant = true;
		in->more->value = value_of((double)x->options->tj_max);
		return 0;
	}
	if (in->aspect == EXPR_LITERAL) {
		in->constant = true;
		if (!bind_literal(x->p, name, &in->more->value))
			in->more->value = value_missing(VALUE_NO_INPUT);
		return 0;
	}
	if (in->aspect == EXPR_CPUID_MATCH) {
		in->constant = true;
		in->more->value = value_of(vendor_is_cpu(name, pm_map_text(&m->header, PM_HEADER_CPU_ID, "")));
		return 0;
	}
	if (in->aspect == EXPR_SYSTEM) {
		in->more->whole = in->more->name;
		in->constant = !names_get(&x->taken, name, &ignored);
		if (in->constant)
			in->more->value = value_missing(VALUE_NO_INPUT);
		return 0;
	}
	/* perf's formulas expect times in seconds, whatever unit they were counted in. */
	if (in->aspect == EXPR_VALUE && (!strcmp(name, "duration_time") || !strcmp(name, "tool/duration_time/"))) {
		in->duration = true;
		return 0;
	}
	reg = bind_field(name, in->more);
	if (in->more->fact && !strcmp(in->more->fact, "tj_max"))
		in->more->fixed = x->options->tj_max;
	in->n_counters = x->pmu && !reg && !strchr(name, '/') ? counters_of_kind(x, name) : 0;
	if (!in->n_counters)
		in->n_counters = bind_made_of(&x->b->index, reg ? reg : name, x->found, BIND_MAX_COUNTERS);
	stand_in(x, in, reg ? reg : name);
	if (!in->n_counters && !reg)
		in->n_counters = meaning_find(&x->meaning, x->options->events, name, x->found, BIND_MAX_COUNTERS);
	if (in->n_counters > BIND_MAX_COUNTERS)
		in->n_counters = BIND_MAX_COUNTERS;
	if (x->twice && !reg &&
	    (err = bind_of_groups(&x->b->index, name, x->formula, x->n_formula, x->found, in->n_counters)))
		return err;
	leave_out(x, in);
	if (!knows_number(x, in))
		in->n_counters = 0;
	for (uint32_t i = 0, n = in->n_counters; i < n; i++) {
		enum pm_kind k = (enum pm_kind)x->p->kind[x->found[i]];

		if (k != PM_KINDS)
			in->kind = in->kind == PM_KINDS ? k : kind_join(in->kind, k);
	}
	if (in->more->telemetry && in->kind != PM_KINDS && x->p->n)
		in->kind = telemetry_kind((enum telemetry)in->more->telemetry);
	if (in->aspect == EXPR_HAS_EVENT) {
		in->constant = true;
		in->more->value = value_of(in->kind != PM_KINDS);
		in->kind = PM_KINDS;
	} else if (in->kind != PM_KINDS && in->aspect == EXPR_SOURCE_COUNT) {
		in->constant = true;
		in->more->value = value_of(in->n_counters);
	} else if (in->kind == PM_KINDS) {
		in->constant = true;
		in->more->value = value_missing(VALUE_NO_INPUT);
	} else if (is_time(name) && !strcmp(pm_model_counter(m, x->found[0])->unit, "ns")) {
		in->more->op = INPUT_TIMES;
		in->more->own_rule = true;
		in->more->fixed = 1e-9;
	} else if (x->raw && !in->more->op && bind_unscale(pm_model_counter(m, x->found[0])) != 1) {
		in->more->op = INPUT_TIMES;
		in->more->own_rule = true;
		in->more->fixed = bind_unscale(pm_model_counter(m, x->found[0]));
	}
	return 0;
}

struct bound_input *bind_new_input(struct binding *b, struct input_more *more)
{
	if (!more && !(more = bind_own(b, calloc(1, sizeof(*more)))))
		return NULL;
	if (array_room(&b->input, b->n_inputs, sizeof(*b->input)))
		return NULL;
	b->input[b->n_inputs] = (struct bound_input){ .more = more };
	return &b->input[b->n_inputs++];
}

void bind_begin_formula(struct builder *x, const struct expr_input *in, size_t n)
{
	x->formula = in;
	x->n_formula = n;
	x->formulas++;
}

/* The index of the input; inputs that are requested twice are stored once. */
int64_t bind_input(struct builder *x, const char *name, enum expr_aspect aspect)
{
	struct binding *b = x->b;
	struct bound_input *in;
	uint32_t at;
	int err;

	buf_clear(&x->text);
	buf_printf(&x->text, "%u %s", (unsigned)aspect, name);
	if (x->twice || x->raw)
		buf_printf(&x->text, " %u %d", x->twice ? x->formulas : 0, x->raw);
	if (x->pmu)
		buf_printf(&x->text, " of %s", x->pmu);
	if (x->text.err)
		return -ENOMEM;
	if (names_get(&b->input_names, buf_str(&x->text), &at))
		return at;
	in = bind_new_input(b, NULL);
	if (!in || !(in->more->name = bind_own(b, strdup(name))))
		return -ENOMEM;
	in->aspect = aspect;
	if ((err = fill_input(x, in, name)))
		return err;
	if (!in->constant && !in->duration) {
		in->counter = bind_own(b, malloc(in->n_counters * sizeof(*in->counter)));
		if (!in->counter)
			return -ENOMEM;
		memcpy(in->counter, x->found, in->n_counters * sizeof(*in->counter));
	}
	at = (uint32_t)(in - b->input);
	if ((err = bind_shut(x, in)) || (err = names_set(&b->input_names, buf_str(&x->text), at)))
		return err;
	return at;
}

/* An input that has a clock beside each counter. */
static int64_t add_clocked(struct builder *x, const char *name, enum expr_aspect aspect, const uint32_t *counter,
			   const uint32_t *clock, uint32_t n)
{
	struct binding *b = x->b;
	struct bound_input *in;
	uint32_t at;
	int err;

	buf_clear(&x->text);
	buf_printf(&x->text, "clocked %u %d %s", (unsigned)aspect, x->raw, name);
	for (uint32_t i = 0; i < n; i++)
		buf_printf(&x->text, " %u:%u", counter[i], clock ? clock[i] : 0);
	if (x->text.err)
		return -ENOMEM;
	if (names_get(&b->input_names, buf_str(&x->text), &at))
		return at;
	in = bind_new_input(b, NULL);
	if (!in)
		return -ENOMEM;
	in->more->name = bind_own(b, strdup(name));
	in->counter = bind_own(b, malloc((n + 1) * sizeof(*in->counter)));
	in->more->clock = clock ? bind_own(b, malloc((n + 1) * sizeof(*in->more->clock))) : NULL;
	if (!in->more->name || !in->counter || (clock && !in->more->clock))
		return -ENOMEM;
	in->aspect = aspect;
	in->kind = PM_KINDS;
	for (uint32_t i = 0; i < n; i++) {
		enum pm_kind k = (enum pm_kind)x->p->kind[counter[i]];

		in->counter[in->n_counters++] = counter[i];
		if (clock)
			in->more->clock[i] = clock[i];
		if (k != PM_KINDS)
			in->kind = in->kind == PM_KINDS ? k : kind_join(in->kind, k);
	}
	if (aspect == EXPR_HAS_EVENT || aspect == EXPR_SOURCE_COUNT || in->kind == PM_KINDS) {
		in->constant = true;
		in->more->value = aspect == EXPR_HAS_EVENT         ? value_of(in->kind != PM_KINDS) :
				  aspect == EXPR_SOURCE_COUNT && n ? value_of(n) :
								     value_missing(VALUE_NO_INPUT);
		in->kind = PM_KINDS;
		in->more->clock = NULL;
	}
	at = (uint32_t)(in - b->input);
	err = bind_shut(x, in);
	if (!err)
		err = names_set(&b->input_names, buf_str(&x->text), at);
	return err ? err : (int64_t)at;
}

/* The readings of the clocks themselves, by which their companions are divided or judged. */
int bind_add_clocks(struct builder *x, struct bound_metric *m, const uint32_t *clock, uint32_t n)
{
	uint32_t *distinct = malloc((n + 1) * sizeof(*distinct)), k = 0;
	int64_t at = 0;

	for (uint32_t i = 0; distinct && i < n; i++)
		if (clock[i])
			distinct[k++] = clock[i];
	for (int elapsed = 0; elapsed < 2 && k && distinct && at >= 0; elapsed++) {
		bool have = false;

		at = add_clocked(x, "", elapsed ? EXPR_ELAPSED : EXPR_VALUE, distinct, NULL, k);
		for (uint32_t i = 0; i < m->n_inputs && at >= 0; i++)
			have |= m->input[i] == at;
		if (at >= 0 && !have)
			m->input[m->n_inputs++] = (uint32_t)at;
	}
	free(distinct);
	return !distinct ? -ENOMEM : at < 0 ? (int)at : 0;
}

/* seconds(x,y) of any two counters: each x is paired with the y at its place in the list, or with the only one. */
static uint32_t pair_clocks(struct builder *x, const struct expr_input *in, uint32_t *clock)
{
	uint32_t n = bind_counters(&x->b->index, in->by, clock, BIND_MAX_COUNTERS), k;

	k = bind_counters(&x->b->index, in->name, x->found, BIND_MAX_COUNTERS);
	if (!n || n > BIND_MAX_COUNTERS || k > BIND_MAX_COUNTERS || (n > 1 && n != k))
		return 0;
	for (uint32_t i = 1; n == 1 && i < k; i++)
		clock[i] = clock[0];
	return k;
}

/* Our formulas expect traffic in bytes. The kernel may give counts a scale and a unit of its own, or neither. */
static int set_bytes(struct builder *x, struct bound_input *in, unsigned bytes)
{
	in->more->bytes = bind_own(x->b, malloc((in->n_counters + 1) * sizeof(*in->more->bytes)));
	for (uint32_t i = 0; in->more->bytes && i < in->n_counters; i++) {
		const struct pm_counter *c = pm_model_counter(x->p->model, in->counter[i]);

		in->more->bytes[i] = c->scale.text || !strcmp(c->unit, "By") ? event_unit_bytes(c->unit) : 0;
		if (!(in->more->bytes[i] > 0))
			in->more->bytes[i] = bytes * bind_unscale(c);
	}
	return in->more->bytes ? 0 : -ENOMEM;
}

/* An input of a formula over a class of PMUs, or of seconds(). */
int64_t bind_clocked(struct builder *x, const struct expr_input *in, uint32_t *clock, uint32_t *n)
{
	const struct pmu_class *class;
	const struct pmu_class_event *event = x->choice ? class_event_named(in->name, &class) : NULL;
	bool counts = in->aspect == EXPR_VALUE || in->aspect == EXPR_RATE;
	int64_t at;

	if (event && class == x->choice->class)
		*n = class_counters(x->choice, event, x->found, clock, BIND_MAX_COUNTERS);
	else if (in->aspect == EXPR_SECONDS)
		*n = pair_clocks(x, in, clock);
	else
		return bind_input(x, in->name, in->aspect);
	at = add_clocked(x, in->name, in->aspect, x->found, clock, *n);
	if (at >= 0 && event && event->bytes && counts && !x->raw && !x->b->input[at].more->bytes &&
	    set_bytes(x, &x->b->input[at], event->bytes))
		return -ENOMEM;
	return at;
}

bool bind_lacks(const struct bound_input *in)
{
	return in->constant && in->more->value.reason;
}
