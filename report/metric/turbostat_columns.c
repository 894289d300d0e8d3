/* turbostat's columns in its order. */
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "report/metric/bind.h"

/* Where a column is shown without being asked for: in turbostat's text, in our table. */
enum { TEXT = 1, TABLE = 2, BOTH = TEXT | TABLE };

#define TURBOSTAT_ADDED "+" /* as a name: counters that the user added at that level */

#include "report/metric/turbostat_columns.inc"

/* Whether `name` is the column's; '*' is a member. */
static bool is_column(const char *column, const char *name)
{
	const char *star = strchr(column, '*');
	size_t before = star ? (size_t)(star - column) : 0, len = strlen(name), after;

	if (!star)
		return !strcmp(column, name);
	after = strlen(star + 1);
	return len > before + after && !strncmp(column, name, before) && !strcmp(star + 1, name + len - after);
}

/* The row of a metric, or the table's last one. */
static const struct turbostat_column *row_of(const struct bound_metric *m)
{
	const struct turbostat_column *c = columns;

	for (; c->name; c++)
		if (!strcmp(c->name, TURBOSTAT_ADDED) ?
			    m->added && m->kind == c->level :
			    !m->counter && is_column(c->name, m->name) && (!c->own || m->kind == PM_CORE))
			break;
	return c;
}

const struct turbostat_column *turbostat_column(const struct bound_metric *m)
{
	const struct turbostat_column *c = row_of(m);

	return c->name ? c : NULL;
}

bool turbostat_shows(const struct bound_metric *m)
{
	return row_of(m)->on;
}

struct ranked {
	uint32_t rank, place, within;
};

/* The counter that the user added; the last added comes first. */
static uint32_t added_id(const struct binding *b, const struct pm_model *m, const struct bound_metric *x)
{
	for (uint32_t i = 0; i < x->n_inputs; i++) {
		const struct bound_input *in = &b->input[x->input[i]];

		if (in->n_counters && !strcmp(pm_model_counter(m, in->counter[0])->source, "add"))
			return in->counter[0];
	}
	return 0;
}

static int compare_ranks(const void *left, const void *right)
{
	const struct ranked *a = left, *b = right;

	return a->rank != b->rank ? (a->rank > b->rank ? 1 : -1) : (a->within > b->within) - (a->within < b->within);
}

static bool has_registers(const struct binding *b, const struct pm_model *m)
{
	for (size_t i = 0; i < b->n_inputs; i++) {
		const struct bound_input *in = &b->input[i];
		const struct pm_counter *c =
			in->n_counters && !in->constant ? pm_model_counter(m, in->counter[0]) : NULL;

		/* Or perf shows those of the clocks. */
		if (c && (!strcmp(c->source, "msr") || !strcmp(c->name, "msr/aperf/")))
			return true;
	}
	return false;
}

/* Puts metric[order[i].place] at i, along each cycle of the permutation: there may be very many. */
static void reorder(struct bound_metric *metric, struct ranked *order, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct bound_metric first = metric[i];
		size_t to = i;

		if (order[i].place == i)
			continue;
		while (order[to].place != i) {
			size_t from = order[to].place;

			metric[to] = metric[from];
			order[to].place = (uint32_t)to;
			to = from;
		}
		metric[to] = first;
		order[to].place = (uint32_t)to;
	}
}

void binding_order(struct binding *b, const struct pm_model *m, const struct bind_options *options)
{
	bool text = options->columns == COLUMNS_TURBOSTAT;
	SCOPED(scoped_free) struct ranked *order = NULL;

	if (options->columns == COLUMNS_OWN || (options->columns == COLUMNS_AUTO && !has_registers(b, m)))
		return;
	order = memory_new(b->n_metrics, sizeof(*order));
	for (size_t i = 0; i < b->n_metrics; i++) {
		struct bound_metric *x = &b->metric[i];
		const struct turbostat_column *c = row_of(x);
		const char *groups = !c->groups && strstr(x->about->categories, "hwidle") ? "idle" : c->groups;

		order[i] = (struct ranked){ (uint32_t)(c - columns), (uint32_t)i,
					    text && x->added ? UINT32_MAX - added_id(b, m, x) : (uint32_t)i };
		if (text && groups) {
			struct metric_about about = *x->about;

			about.categories = groups;
			x->about = bind_keep_about(b, &about);
		}
		/* turbostat does not show what the model lacks, even if named; columns of ours have to be named. */
		x->absent |= text && x->unlikely;
		x->foreign = text && (!c->in || x->absent) && !x->added;
		if (!x->vendor && !x->counter && !x->added)
			x->default_on = c->on & (text ? TEXT : TABLE) && !x->unlikely && !x->absent;
	}
	qsort(order, b->n_metrics, sizeof(*order), compare_ranks);
	reorder(b->metric, order, b->n_metrics);
}
