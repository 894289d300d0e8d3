/* Binds one row of the tables, or of a file, to the recording; and undoes it. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/metric/bind_private.h"
#include "common/array.h"
#include "report/metric/recorded_metrics.h"

static void release_metric(struct bound_metric *m)
{
	expr_free(m->expr);
	if (m->threshold) {
		expr_free(m->threshold->expr);
		free(m->threshold->input);
		free(m->threshold);
	}
}

void binding_release(struct binding *b)
{
	for (size_t i = 0; i < b->n_metrics; i++)
		release_metric(&b->metric[i]);
	for (size_t i = 0; i < b->n_owned; i++)
		free(b->owned[i]);
	free(b->owned);
	free(b->metric);
	free(b->input);
	names_release(&b->input_names);
	bind_index_release(&b->index);
	metric_set_release(&b->recorded);
	*b = (struct binding){ 0 };
}

static enum pm_kind scope_kind(enum metric_scope scope)
{
	static const unsigned char kind[] = {
		[METRIC_CPU] = PM_CPU,       [METRIC_CORE] = PM_CORE,       [METRIC_CLUSTER] = PM_CLUSTER,
		[METRIC_DIE] = PM_DIE,       [METRIC_PACKAGE] = PM_PACKAGE, [METRIC_NODE] = PM_NODE,
		[METRIC_DEVICE] = PM_DEVICE, [METRIC_SYSTEM] = PM_SYSTEM,
	};

	return (enum pm_kind)kind[scope];
}

const struct metric_about *bind_keep_about(struct binding *b, const struct metric_about *about)
{
	const struct metric_about *last = b->n_metrics ? b->metric[b->n_metrics - 1].about : NULL;
	struct metric_about *copy;

	if (last && !memcmp(last, about, sizeof(*about)))
		return last;
	copy = bind_own(b, malloc(sizeof(*copy)));
	if (copy)
		*copy = *about;
	return copy;
}

struct bound_metric *bind_new_metric(struct binding *b, const struct metric_about *about)
{
	about = bind_keep_about(b, about);
	if (!about || array_room(&b->metric, b->n_metrics, sizeof(*b->metric)))
		return NULL;
	b->metric[b->n_metrics] = (struct bound_metric){ .about = about };
	return &b->metric[b->n_metrics++];
}

/* What pmrec went by when it chose events: all of literal() in record/perf/perf_metrics.c. */
static bool literal(void *ctx, const char *name, double *v)
{
	static const char *const lasting[] = { "has_pmem", "num_packages", "num_dies", "smt_on", "core_wide" };
	struct builder *x = ctx;
	struct value value;
	size_t i = 0, n = sizeof(lasting) / sizeof(lasting[0]);

	while (i < n && strcmp(name, lasting[i]))
		i++;
	if (i == n || !bind_literal(x->p, name, &value) || value.reason)
		return false;
	*v = value.v;
	return value.v || strcmp(name, "core_wide");
}

/* 1: kept, 0: the recording cannot feed it, or -errno. */
static int bind_formula(struct builder *x, struct bound_metric *m, const char *text, const struct metric *row)
{
	const struct expr_input *in;
	enum pm_kind kind = PM_KINDS;
	size_t n;
	int err = expr_parse(&m->expr, text, x->error);

	if (err)
		return error_prefix(x->error, "metric %s", m->name);
	if (expr_fold(m->expr, literal, x))
		return -ENOMEM;
	in = expr_inputs(m->expr, &n);
	/* Each may get two clocks. */
	m->input = bind_own(x->b, malloc((3 * n + 1) * sizeof(*m->input)));
	if (!m->input)
		return -ENOMEM;
	bind_begin_formula(x, in, n);
	for (size_t i = 0; i < n; i++) {
		bool clocked = x->choice || in[i].aspect == EXPR_SECONDS;
		int64_t at = clocked ? bind_clocked(x, &in[i], x->clock, &x->n_clocks) :
				       bind_input(x, in[i].name, in[i].aspect);
		const struct bound_input *bound;

		if (at < 0)
			return (int)at;
		m->input[m->n_inputs++] = (uint32_t)at;
		bound = &x->b->input[at];
		if (bind_lacks(bound) && !bind_is_optional(in, n, i))
			return 0;
		if (bound->kind != PM_KINDS)
			kind = kind == PM_KINDS ? bound->kind : kind_join(kind, bound->kind);
	}
	for (size_t i = 0; i < n; i++) {
		const struct bound_input *bound = &x->b->input[m->input[i]];

		if (bound->more->clock && (err = bind_add_clocks(x, m, bound->more->clock, bound->n_counters)))
			return err;
	}
	if (kind == PM_KINDS)
		kind = PM_SYSTEM;
	if (row->scope == METRIC_ANY)
		m->kind = kind;
	else
		m->kind = row->inherits ? scope_kind(row->scope) : kind_join(kind, scope_kind(row->scope));
	return 1;
}

/* The other formulas of a row, one after the other. */
static int bind_otherwise(struct builder *x, struct bound_metric *m, const struct metric *row)
{
	const char *from = row->otherwise;
	int kept = 0;

	while (!kept && *from) {
		size_t len = strcspn(from, ";");
		SCOPED(scoped_free) char *text = strndup(from, len);

		if (!text)
			return -ENOMEM;
		expr_free(m->expr);
		m->expr = NULL;
		m->n_inputs = 0;
		kept = bind_formula(x, m, text, row);
		from += len + (from[len] == ';');
	}
	return kept;
}

bool bind_is_zero(const struct places *p, const char *literal)
{
	struct value v;

	return bind_literal(p, literal, &v) && !v.reason && v.v == 0;
}

/* `text` with every '*' replaced. `escape`: as an id of a formula, where a '*' that stands alone multiplies. */
char *bind_with_member(const char *text, const char *member, bool lower, bool escape)
{
	struct buf out = BUF_INIT;

	for (const char *c = text ? text : ""; *c; c++) {
		if (*c != '*' || (escape && (c == text || c[-1] == ' '))) {
			buf_addch(&out, *c);
			continue;
		}
		for (const char *k = member; *k; k++) {
			unsigned char ch = (unsigned char)*k;

			if (escape && !isalnum(ch) && ch != '_' && ch != '.' && ch != ':')
				buf_addch(&out, '\\');
			if (lower)
				ch = (unsigned char)tolower(ch);
			if (lower && !isalnum(ch) && ch != '.')
				ch = '_';
			buf_addch(&out, (char)ch);
		}
	}
	buf_addch(&out, 0);
	return buf_detach(&out);
}

/* Whether an earlier metric has the name; each kind of CPUs has its own. */
static bool is_taken(struct builder *x, const char *name, bool take)
{
	uint32_t ignored;

	buf_clear(&x->text);
	buf_printf(&x->text, "%s\n%s", name, x->pmu ? x->pmu : "");
	if (take)
		return names_set(&x->taken, x->pmu ? buf_str(&x->text) : name, 0) != 0;
	return names_get(&x->taken, name, &ignored) || names_get(&x->taken, buf_str(&x->text), &ignored);
}

struct metric_about bind_about(const struct builder *x, const struct metric *row)
{
	return (struct metric_about){ .unit = row->unit ? row->unit : "",
				      .help = row->help ? row->help : "",
				      .aliases = row->aliases ? row->aliases : "",
				      .categories = row->categories ? row->categories : "",
				      .requests = row->requests,
				      .pmu = x->pmu,
				      .margin = row->margin };
}

int bind_row(struct builder *x, const struct metric *row, const char *member, const char *part, bool vendor)
{
	struct metric_about about = bind_about(x, row);
	struct bound_metric *m;
	const char *text;
	int kept;

	if (member && !(about.help = bind_own(x->b, bind_with_member(row->help, member, false, false))))
		return -ENOMEM;
	m = bind_new_metric(x->b, &about);
	if (!m)
		return -ENOMEM;
	if (member) {
		m->name = bind_own(x->b, bind_with_member(row->name, member, true, false));
		m->display = bind_own(x->b, bind_with_member(row->display, member, false, false));
		text = bind_own(x->b, bind_with_member(row->expr, part, false, true));
	} else {
		m->name = row->name;
		m->display = row->display ? row->display : row->name;
		text = row->expr;
		/* turbostat of 2022 computes it from the other states, even if a register counts C1. */
		if (x->options->columns == COLUMNS_TURBOSTAT && !strcmp(row->name, "cpu.c1"))
			text = row->otherwise;
	}
	if (!m->name || !m->display || !text)
		return -ENOMEM;
	m->precision = row->precision;
	m->better = row->better;
	m->fault = row->fault;
	m->default_on =
		row->default_on || recorded_asks(x->p->model, m->name) || recorded_asks(x->p->model, m->display);
	m->vendor = vendor;
	m->estimate = row->estimate;
	kept = is_taken(x, m->name, false) ? 0 : bind_formula(x, m, text, row);
	if (!kept && row->otherwise && !is_taken(x, m->name, false))
		kept = bind_otherwise(x, m, row);
	if (kept == 1 && x->pmu && !bind_is_of_kind(x, m, x->pmu))
		kept = 0;
	m->unlikely = kept == 1 && row->when && bind_is_zero(x->p, row->when);
	m->default_on &= !m->unlikely;
	if (kept == 1) {
		kept = bind_threshold(x, m, row);
		return kept ? kept : is_taken(x, m->name, true) ? -ENOMEM : 0;
	}
	release_metric(&x->b->metric[--x->b->n_metrics]);
	return kept;
}
