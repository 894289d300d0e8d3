/*
 * Metric files in perf's JSON schema: an array of objects, of which those with MetricName and MetricExpr are
 * metrics; the others describe events, or take their formula from a file that is not here. References from
 * metric to metric are resolved by writing the referred formula in their place, so that whoever evaluates sees
 * counters only.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/metric/expr_internal.h"
#include "common/metric/metric.h"
#include "common/names.h"
#include "common/parse.h"

#define MAX_METRICS 20000
#define MAX_CHAIN   64 /* metrics that refer to metrics that ...; the longest known chain has about ten */

struct entry {
	const struct json *object;
	const char *name;      /* MetricName, owned by the JSON */
	struct expr *expr;     /* owned: MetricExpr as it stands */
	char *expanded;        /* owned: counters only, without ScaleUnit; NULL until it is made */
	size_t place;          /* in the chain, while `busy` */
	bool busy;
};

struct loader {
	struct entry *entry;   /* owned */
	size_t n;
	struct names by_name;  /* MetricName -> entry; the first of that name */
	size_t chain[MAX_CHAIN];
	struct error *error;
};

static int no_memory(struct loader *l)
{
	return error_set(l->error, ENOMEM, "out of memory");
}

static const char *field(const struct json *object, const char *key)
{
	const char *text = json_text(json_get(object, key), "");

	return *text ? text : NULL;
}

static int collect(struct loader *l, const struct json *list, struct buf *skipped)
{
	size_t count = json_count(list);
	struct error first = { 0 };
	int err;

	l->entry = calloc(count + 1, sizeof(*l->entry));
	if (!l->entry)
		return no_memory(l);
	for (size_t i = 0; i < count; i++) {
		const struct json *object = json_at(list, i);
		const char *name = field(object, "MetricName"), *text = field(object, "MetricExpr");
		struct entry *entry = &l->entry[l->n];
		struct error e = { 0 };
		uint32_t known;

		if (!name || !text)
			continue;
		if (l->n == MAX_METRICS)
			return error_set(l->error, E2BIG, "more than %d metrics", MAX_METRICS);
		*entry = (struct entry){ .object = object, .name = name };
		err = expr_parse(&entry->expr, text, &e);
		if (err == -ENOMEM)
			return no_memory(l);
		if (err) {
			buf_printf(skipped, "metric %s is left out: %s\n", name, e.text);
			if (!first.number) {
				first = e;
				error_prefix(&first, "metric %s", name);
			}
			continue;
		}
		l->n++;
		if (!names_get(&l->by_name, name, &known) && names_set(&l->by_name, name, (uint32_t)(l->n - 1)))
			return no_memory(l);
	}
	/* Nothing but mistakes is rather not a file of metrics. */
	if (!l->n && first.number)
		return error_set(l->error, first.number, "%s", first.text);
	return skipped->err ? no_memory(l) : 0;
}

static int cycle(struct loader *l, size_t from, size_t to)
{
	struct buf text = BUF_INIT;
	int err;

	for (size_t i = from; i < to; i++)
		buf_printf(&text, "%s -> ", l->entry[l->chain[i]].name);
	buf_addstr(&text, l->entry[l->chain[from]].name);
	err = error_set(l->error, ELOOP, "metrics that refer to themselves: %s", buf_str(&text));
	buf_release(&text);
	return err;
}

static int expand(struct loader *l, size_t i, size_t level);

/* To be known before printing: a hostile file multiplies lengths with every reference. */
static bool fits(const struct expr *x, const char *const *replacement)
{
	size_t total = 0;

	for (size_t i = 0; i < x->n_steps && total <= EXPR_MAX_TEXT; i++)
		if (x->step[i].op == OP_INPUT && replacement[x->step[i].input])
			total += strnlen(replacement[x->step[i].input], EXPR_MAX_TEXT + 1);
	return total <= EXPR_MAX_TEXT;
}

/* Prints `x` with the formulas of other metrics in place of their names; `level` is its place in the chain. */
static int print_expanded(struct loader *l, const struct expr *x, size_t level, char **out)
{
	struct buf text = BUF_INIT;
	const char **replacement;
	size_t n;
	const struct expr_input *in = expr_inputs(x, &n);
	int err = 0;

	replacement = calloc(n + 1, sizeof(*replacement));
	if (!replacement)
		return no_memory(l);
	for (size_t i = 0; i < n && !err; i++) {
		uint32_t other;

		if (in[i].aspect != EXPR_VALUE || !names_get(&l->by_name, in[i].name, &other))
			continue;
		err = expand(l, other, level);
		replacement[i] = l->entry[other].expanded;
	}
	if (!err && !fits(x, replacement))
		err = error_set(l->error, E2BIG, "longer than %d characters without references to other metrics",
				EXPR_MAX_TEXT);
	if (!err) {
		expr_print_replaced(x, replacement, &text);
		*out = buf_detach(&text);
		if (!*out)
			err = no_memory(l);
	}
	buf_release(&text);
	free(replacement);
	return err;
}

static int expand(struct loader *l, size_t i, size_t level)
{
	struct entry *entry = &l->entry[i];
	int err;

	if (entry->expanded)
		return 0;
	if (entry->busy)
		return cycle(l, entry->place, level);
	if (level == MAX_CHAIN)
		return error_set(l->error, E2BIG, "metric %s: a chain of more than %d metrics refers to it",
				 entry->name, MAX_CHAIN);
	entry->busy = true;
	entry->place = level;
	l->chain[level] = i;
	err = print_expanded(l, entry->expr, level + 1, &entry->expanded);
	entry->busy = false;
	return err;
}

/* "100%", "1e9ns", "64MiB/s": a factor and a unit. Without a number the factor is 1. */
static int split_scale(const char *scale, char factor[static 32], const char **unit)
{
	size_t len = lexer_number_length(scale, strlen(scale));
	double v = 1;

	if (len >= 32)
		return -EINVAL;
	memcpy(factor, scale, len);
	factor[len] = '\0';
	*unit = scale + len + strspn(scale + len, " ");
	if (len && parse_double(factor, &v))
		return -EINVAL;
	if (v == 1)
		factor[0] = '\0';
	return 0;
}

static char *printed(const char *before, const char *text, const char *after)
{
	struct buf b = BUF_INIT;
	char *out;

	buf_addstr(&b, before);
	buf_addstr(&b, text);
	buf_addstr(&b, after);
	out = buf_detach(&b);
	buf_release(&b);
	return out;
}

/* MetricGroup separates by ';' and so may end. */
static char *categories_of(const char *groups)
{
	char *copy = strdup(groups), *to = copy;

	for (const char *c = groups; copy && *c; c++) {
		bool separator = *c == ';' || *c == ',';

		if (separator && (to == copy || to[-1] == ','))
			continue;
		*to++ = separator ? ',' : *c;
	}
	if (copy) {
		while (to > copy && to[-1] == ',')
			to--;
		*to = '\0';
	}
	return copy;
}

/* A stable id [a-z0-9_.]+ from MetricName; later ones of the same id get "_2", "_3" ... */
static char *id_of(struct names *used, const char *name)
{
	struct buf id = BUF_INIT;
	uint32_t count, unused;
	size_t len;
	char *out;

	for (const char *c = name; *c; c++) {
		char lower = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
		bool keep = (lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9') || lower == '.';

		buf_addch(&id, keep ? lower : '_');
	}
	len = id.len;
	if (names_get(used, buf_str(&id), &count)) {
		/* Remember how far that name has got, or a thousand of the same would take a million looks. */
		char *base = strdup(buf_str(&id));

		do {
			id.len = len;
			buf_printf(&id, "_%u", ++count);
		} while (!id.err && names_get(used, buf_str(&id), &unused));
		if (!base || names_set(used, base, count))
			id.err = -ENOMEM;
		free(base);
	}
	out = id.err || names_set(used, buf_str(&id), 1) ? NULL : buf_detach(&id);
	buf_release(&id);
	return out;
}

static int fill_expr(struct loader *l, struct entry *entry, struct metric *row)
{
	const char *scale = field(entry->object, "ScaleUnit"), *unit = "";
	char factor[32] = "", after[40];

	if (scale && split_scale(scale, factor, &unit))
		return error_set(l->error, EINVAL, "metric %s: ScaleUnit %.40s is no number and unit", entry->name,
				 scale);
	stpcpy(stpcpy(after, ") * "), factor);
	row->unit = strdup(unit);
	row->expr = *factor ? printed("(", entry->expanded, after) : strdup(entry->expanded);
	return row->unit && row->expr ? 0 : no_memory(l);
}

/* The metric's own name means its value without ScaleUnit, as in perf. */
static int fill_threshold(struct loader *l, struct entry *entry, struct metric *row)
{
	const char *text = field(entry->object, "MetricThreshold");
	struct expr *x;
	char *expanded = NULL;
	int err;

	if (!text)
		return 0;
	err = expr_parse(&x, text, l->error);
	if (!err) {
		err = print_expanded(l, x, 0, &expanded);
		expr_free(x);
	}
	row->threshold = expanded;
	return err ? error_prefix(l->error, "MetricThreshold of %s", entry->name) : 0;
}

static int fill_row(struct loader *l, struct names *used, struct entry *entry, struct metric *row)
{
	const char *groups = field(entry->object, "MetricGroup"), *help = field(entry->object, "BriefDescription");
	const char *mode = json_text(json_get(entry->object, "AggregationMode"), "");
	int err = fill_expr(l, entry, row);

	if (!err)
		err = fill_threshold(l, entry, row);
	if (err)
		return err;
	if (!help)
		help = field(entry->object, "PublicDescription");
	row->name = id_of(used, entry->name);
	row->display = strdup(entry->name);
	row->aliases = strdup(entry->name);
	row->categories = groups ? categories_of(groups) : NULL;
	row->help = strdup(help ? help : entry->name);
	row->precision = 2;
	row->scope = !strcmp(mode, "PerChip") ? METRIC_PACKAGE : !strcmp(mode, "PerCore") ? METRIC_CORE : METRIC_ANY;
	if (!row->name || !row->display || !row->aliases || (groups && !row->categories) || !row->help)
		return no_memory(l);
	return 0;
}

static int fill(struct loader *l, struct metric_set *set)
{
	struct names used = { 0 };
	int err = 0;

	set->row = calloc(l->n + 1, sizeof(*set->row));
	if (!set->row)
		return no_memory(l);
	for (size_t i = 0; i < l->n && !err; i++) {
		err = expand(l, i, 0);
		if (err && err != -ELOOP)
			error_prefix(l->error, "metric %s", l->entry[i].name);
		if (!err) {
			set->n++;
			err = fill_row(l, &used, &l->entry[i], &set->row[i]);
		}
	}
	names_release(&used);
	return err;
}

static int load(struct metric_set *set, const struct json *j, struct error *e)
{
	struct loader l = { .error = e };
	const struct json *list = json_is_array(j) ? j : json_get(j, "Metrics");
	int err;

	*set = (struct metric_set){ 0 };
	if (!json_is_array(list))
		return error_set(
		    e, EINVAL,
		    "not a metric file: it should hold an array of objects with MetricName and MetricExpr");
	err = collect(&l, list, &set->skipped);
	if (!err && !l.n && json_get(json_at(list, 0), "Formula"))
		err = error_set(
		    e, EINVAL,
		    "formulas in Intel's own schema; the file in its folder perf/ has them as MetricExpr");
	else if (!err && !l.n)
		err = error_set(e, EINVAL, "no object in it has MetricName and MetricExpr");
	if (!err)
		err = fill(&l, set);
	for (size_t i = 0; i < l.n; i++) {
		expr_free(l.entry[i].expr);
		free(l.entry[i].expanded);
	}
	free(l.entry);
	names_release(&l.by_name);
	if (err)
		metric_set_release(set);
	return err;
}

int metric_set_load_text(struct metric_set *set, const char *text, size_t len, struct error *e)
{
	struct error own = { 0 };
	struct json *j = json_parse(text, len, &own);
	int err;

	*set = (struct metric_set){ 0 };
	if (!j)
		return error_set(e, own.number ? own.number : EINVAL, "%s", own.text);
	err = load(set, j, e);
	json_free(j);
	return err;
}

int metric_set_load(struct metric_set *set, const char *path, struct error *e)
{
	struct error own = { 0 };
	struct json *j = json_load(path, &own);
	int err;

	*set = (struct metric_set){ 0 };
	if (!j)
		return error_set(e, own.number ? own.number : EINVAL, "%s", own.text);
	err = load(set, j, e);
	if (err)
		error_prefix(e, "%s", path);
	json_free(j);
	return err;
}

void metric_set_release(struct metric_set *set)
{
	for (size_t i = 0; i < set->n; i++) {
		struct metric *row = &set->row[i];
		const char *owned[] = { row->name, row->display, row->aliases, row->categories,
					row->unit, row->expr,	 row->help,    row->threshold };

		for (size_t k = 0; k < sizeof(owned) / sizeof(owned[0]); k++)
			free((void *)(uintptr_t)owned[k]);
	}
	free(set->row);
	buf_release(&set->skipped);
	*set = (struct metric_set){ 0 };
}
