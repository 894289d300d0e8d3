/* Metric files in perf's JSON schema: an array of objects, of which those with MetricName and MetricExpr are metrics;
 * the others describe events. A reference to another metric is replaced by its formula, so that evaluation sees only
 * counters. */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/event/event.h"
#include "common/json.h"
#include "common/memory.h"
#include "common/metric/expr.h"
#include "common/metric/metric.h"
#include "common/names.h"
#include "common/number.h"
#include "common/parse.h"
#include "common/table.h"
#include "common/vendor_docs.h"

#define MAX_TOTAL (64u << 20) /* bytes of all formulas written out; the largest set of perf has one million */
#define MAX_CHAIN 64          /* metrics that refer to metrics that ...; the longest known chain has about ten */

struct entry {
	struct vendor_object object;
	const char *name;  /* MetricName, owned by the JSON */
	struct expr *expr; /* owned: MetricExpr as written */
	char *expanded;    /* owned: counters only, without ScaleUnit; NULL until expanded */
	bool busy, twins;  /* the first of its name, which another kind of cores has too */
};

struct loader {
	struct entry *entry; /* owned */
	size_t n;
	struct names by_name; /* "Unit MetricName", and MetricName, -> entry; the first of that name */
	size_t total;         /* bytes written out so far */
	struct error *error;
};

static const char *entry_text(const struct entry *entry, const char *key)
{
	return vendor_field(&entry->object, key);
}

static void left_out(struct buf *skipped, const struct entry *entry, const struct error *e)
{
	buf_addstr(skipped, "metric ");
	text_escape(skipped, entry->name, strlen(entry->name));
	buf_addstr(skipped, " left out: ");
	text_escape(skipped, e->text, strlen(e->text));
	buf_addch(skipped, '\n');
}

static void key_of(struct buf *key, const char *unit, const char *name)
{
	buf_printf(key, "%s%s%s", unit ? unit : "", unit ? " " : "", name);
	memory_whole(key);
}

/* Adds the last entry to the names, if it is the first of its name. */
static void remember(struct loader *l, const char *unit, const char *name)
{
	SCOPED(buf_release) struct buf key = BUF_INIT;
	uint32_t known;

	key_of(&key, unit, name);
	if (!names_get(&l->by_name, buf_str(&key), &known))
		memory_done(names_set(&l->by_name, buf_str(&key), (uint32_t)(l->n - 1)));
	else if (!unit)
		l->entry[known].twins = true;
}

/* The metric that a metric of `unit` means by the name: on hybrid processors each kind of cores may have one. */
static bool is_metric_known(struct loader *l, const char *unit, const char *name, uint32_t *at)
{
	SCOPED(buf_release) struct buf key = BUF_INIT;
	bool found;

	key_of(&key, unit, name);
	found = names_get(&l->by_name, buf_str(&key), at);
	return found || (unit && names_get(&l->by_name, name, at));
}

static void collect_one(struct loader *l, struct vendor_object object, struct error *first, struct buf *skipped)
{
	struct entry *entry;
	struct error e = { 0 };
	const char *text;

	memory_room(&l->entry, l->n, sizeof(*l->entry));
	entry = &l->entry[l->n];
	*entry = (struct entry){ .object = object, .name = vendor_field(&object, "MetricName") };
	text = entry_text(entry, "MetricExpr");
	if (!entry->name || !text)
		return;
	if (expr_parse(&entry->expr, text, &e)) {
		if (!first->number) {
			*first = e;
			error_prefix(first, "metric %s", entry->name);
		}
		left_out(skipped, entry, &e);
		return;
	}
	l->n++;
	remember(l, entry_text(entry, "Unit"), entry->name);
	remember(l, NULL, entry->name);
}

static int expand(struct loader *l, size_t i, size_t level);

/* For a metric of one kind of cores, names an event that other kinds have, too, on that kind's PMU. */
static char *on_core(const char *unit, const char *event)
{
	const struct event_symbol *symbol = event_symbol_find(event);

	if (!unit || strncmp(unit, "cpu_", 4) || strchr(event, '/') || !strcmp(event, "duration_time") ||
	    (symbol && symbol->type != PERF_TYPE_HARDWARE))
		return NULL;
	return memory_format("%s@%s@", unit, event);
}

/* Prints `x`, whose text is `formula`, with other metrics replaced by theirs; `level` is its place in the chain. */
static int print_expanded(struct loader *l, const struct expr *x, const char *formula, const char *unit, size_t level,
			  char **out)
{
	SCOPED(buf_release) struct buf text = BUF_INIT;
	SCOPED(scoped_free) const char **replacement = NULL;
	char **owned;
	size_t n;
	const struct expr_input *in = expr_inputs(x, &n);
	int err = 0;

	replacement = memory_new(2 * n, sizeof(*replacement));
	owned = (char **)(uintptr_t)replacement + n;
	for (size_t i = 0; i < n && !err; i++) {
		uint32_t other;

		if (in[i].aspect != EXPR_VALUE)
			continue;
		if (is_metric_known(l, unit, in[i].name, &other)) {
			err = expand(l, other, level);
			replacement[i] = l->entry[other].expanded;
		} else {
			replacement[i] = owned[i] = on_core(unit, in[i].name);
		}
	}
	if (!err && expr_replace(x, formula, replacement, &text))
		err = error_set(l->error, E2BIG, "longer than %d characters without references to other metrics",
				EXPR_MAX_TEXT);
	if (!err && l->total > MAX_TOTAL)
		err = error_set(l->error, E2BIG, "its set has more than %u bytes of formulas", MAX_TOTAL);
	if (!err) {
		l->total += text.len;
		*out = memory_checked(buf_detach(&text));
	}
	for (size_t i = 0; i < n; i++)
		free(owned[i]);
	return err;
}

static int expand(struct loader *l, size_t i, size_t level)
{
	struct entry *entry = &l->entry[i];
	int err;

	if (entry->expanded)
		return 0;
	if (entry->busy)
		return error_set(l->error, ELOOP, "metrics that refer to themselves: %s", entry->name);
	if (level == MAX_CHAIN)
		return error_set(l->error, E2BIG, "metric %s: a chain of more than %d metrics refers to it",
				 entry->name, MAX_CHAIN);
	entry->busy = true;
	err = print_expanded(l, entry->expr, entry_text(entry, "MetricExpr"), entry_text(entry, "Unit"), level + 1,
			     &entry->expanded);
	entry->busy = false;
	return err;
}

/* Splits "100%", "1e9ns" or "64MiB/s" into factor and unit. Without a number the factor is 1. */
static int split_scale(const char *scale, double *factor, const char **unit)
{
	size_t len = parse_number_length(scale, "eE", "+-");
	SCOPED(scoped_free) char *number = memory_format("%.*s", (int)len, scale);

	*factor = 1;
	*unit = scale + len + strspn(scale + len, " ");
	return len ? parse_double(number, factor) : 0;
}

/* MetricGroup is separated, and may be terminated, by ';'. */
static char *categories_of(const char *groups)
{
	SCOPED(scoped_free) char *copy = memory_text(groups);
	struct buf out = BUF_INIT;
	char *rest = copy;

	for (const char *group; (group = strsep(&rest, ";,"));)
		if (*group)
			buf_printf(&out, "%s%s", out.len ? "," : "", group);
	return memory_checked(buf_detach(&out));
}

/* The id of a name; later ones of the same id get "_2", "_3" ... */
static char *id_of(struct names *used, const char *name)
{
	SCOPED(scoped_free) char *base = metric_id(name);
	char *id = memory_text(base);
	uint32_t count, unused;

	if (names_get(used, base, &count)) {
		/* Remember the last number of each name, or a thousand equal ones would take a million lookups. */
		do {
			free(id);
			id = memory_format("%s_%u", base, ++count);
		} while (names_get(used, id, &unused));
		memory_done(names_set(used, base, count));
	}
	memory_done(names_set(used, id, 1));
	return id;
}

static int fill_expr(struct loader *l, struct entry *entry, struct metric *row)
{
	const char *scale = entry_text(entry, "ScaleUnit"), *unit = "";
	char number[NUMBER_MAX];
	double factor = 1;

	if (scale && split_scale(scale, &factor, &unit))
		return error_set(l->error, EINVAL, "metric %s: ScaleUnit %.40s is not a number and unit", entry->name,
				 scale);
	row->unit = memory_text(unit);
	row->expr = factor == 1 ?
			    memory_text(entry->expanded) :
			    memory_format("(%s) * %.*s", entry->expanded, (int)number_double(number, factor), number);
	return 0;
}

/* The metric's own name means its value without ScaleUnit, as in perf. */
static int fill_threshold(struct loader *l, struct entry *entry, struct metric *row)
{
	const char *text = entry_text(entry, "MetricThreshold");
	struct expr *x;
	char *expanded = NULL;
	int err;

	if (!text)
		return 0;
	err = expr_parse(&x, text, l->error);
	if (!err) {
		err = print_expanded(l, x, text, entry_text(entry, "Unit"), 0, &expanded);
		expr_free(x);
	}
	row->threshold = expanded;
	return err ? error_prefix(l->error, "MetricThreshold of %s", entry->name) : 0;
}

static enum metric_grouping grouping_of(const char *constraint)
{
	static const struct {
		const char *text;
		enum metric_grouping grouping;
	} rows[] = {
		{ "NO_GROUP_EVENTS", METRIC_UNGROUPED },
		{ "NO_GROUP_EVENTS_NMI", METRIC_UNGROUPED_NMI },
		{ "NO_NMI_WATCHDOG", METRIC_UNGROUPED_NMI },
		{ "NO_GROUP_EVENTS_SMT", METRIC_UNGROUPED_SMT },
		{ "NO_THRESHOLD_AND_NMI", METRIC_UNGROUPED_THRESHOLD_NMI },
	};

	for (size_t i = 0; constraint && i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!strcmp(constraint, rows[i].text))
			return rows[i].grouping;
	return METRIC_GROUPED;
}

static int fill_row(struct loader *l, struct names *used, struct entry *entry, struct metric *row)
{
	const char *groups = entry_text(entry, "MetricGroup"), *help = entry_text(entry, "BriefDescription");
	const char *mode = entry_text(entry, "AggregationMode");
	const char *ungrouped = entry_text(entry, "MetricgroupNoGroup"), *unit = entry_text(entry, "Unit");
	const char *compat = entry_text(entry, "Compat");
	uint32_t first = 0;
	int err = fill_expr(l, entry, row);

	if (!err)
		err = fill_threshold(l, entry, row);
	if (err)
		return err;
	if (!help)
		help = entry_text(entry, "PublicDescription");
	/* Hybrid processors have metrics of one name for each kind of cores. */
	(void)names_get(&l->by_name, entry->name, &first);
	row->display =
		unit && l->entry[first].twins ? memory_format("%s %s", entry->name, unit) : memory_text(entry->name);
	row->name = id_of(used, row->display);
	row->aliases = memory_text(entry->name);
	row->categories = groups ? categories_of(groups) : NULL;
	row->ungrouped_in = ungrouped ? categories_of(ungrouped) : NULL;
	row->help = memory_text(help ? help : entry->name);
	row->board = compat && unit ? memory_format("%s=%s", unit, compat) : NULL;
	row->precision = 2;
	row->grouping = grouping_of(entry_text(entry, "MetricConstraint"));
	row->scope = mode && !strcmp(mode, "PerChip") ? METRIC_PACKAGE :
		     mode && !strcmp(mode, "PerCore") ? METRIC_CORE :
							METRIC_ANY;
	return 0;
}

/* A metric that cannot be used is left out with those that refer to it; each metric of a cycle is named. */
static void fill(struct loader *l, struct metric_set *set, struct error *first)
{
	struct names used = { 0 };
	struct error *error = l->error;

	set->row = memory_new(l->n, sizeof(*set->row));
	for (size_t i = 0; i < l->n; i++) {
		struct error e = { 0 };
		int err;

		l->error = &e;
		err = expand(l, i, 0);
		if (err && err != -ELOOP)
			error_prefix(&e, "metric %s", l->entry[i].name);
		if (!err)
			err = fill_row(l, &used, &l->entry[i], &set->row[set->n]);
		if (!err) {
			set->n++;
			continue;
		}
		metric_row_release(&set->row[set->n]);
		left_out(&set->skipped, &l->entry[i], &e);
		if (!first->number)
			*first = e;
	}
	l->error = error;
	names_release(&used);
	memory_whole(&set->skipped);
}

static int load_set(struct metric_set *set, const struct vendor_docs *docs, struct error *e)
{
	struct loader l = { .error = e };
	struct error first = { 0 };
	int err = 0;

	for (size_t i = 0; i < docs->n; i++)
		collect_one(&l, vendor_docs_at(docs, i), &first, &set->skipped);
	fill(&l, set, &first);
	/* If every object is a mistake, this is probably not a file of metrics. */
	if (!set->n && first.number)
		err = error_set(e, first.number, "%s", first.text);
	else if (!set->n)
		err = error_set(e, EINVAL, "no object in it has MetricName and MetricExpr");
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

int metric_set_load(struct metric_set *set, const char *path, const char *cpuid, struct error *e)
{
	SCOPED(vendor_docs_release) struct vendor_docs docs = { 0 };
	int err = vendor_docs_load(&docs, path, NULL, cpuid, e);

	*set = (struct metric_set){ 0 };
	if (err)
		return err;
	return load_set(set, &docs, e) ? error_prefix(e, "%s", path) : 0;
}

int metric_set_load_text(struct metric_set *set, const char *text, size_t len, struct error *e)
{
	SCOPED(vendor_docs_release) struct vendor_docs docs = { 0 };
	int err = vendor_docs_parse(&docs, text, len, e);

	*set = (struct metric_set){ 0 };
	return err ? err : load_set(set, &docs, e);
}
