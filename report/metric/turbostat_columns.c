/* turbostat's columns in its order, by generation. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/metric/bind.h"

#define T22  TURBOSTAT_2022
#define T26  TURBOSTAT_2026
#define TALL (T22 | T26)

#define TURBOSTAT_ADDED "+" /* as a name: counters that the user added at that level */

/* Ends with name NULL. */
/* clang-format off */
static const struct turbostat_column columns[] = {
	{ "usec", 0, TALL, PM_CPU },
	{ "time_of_day", 0, TALL, PM_CPU },
	{ "apic_id", 0, TALL, PM_CPU },
	{ "x2apic_id", 0, TALL, PM_CPU },
	{ "avg_mhz", TALL, TALL, PM_CPU },
	{ "busy", TALL, TALL, PM_CPU, .groups_2022 = "frequency" },
	{ "bzy_mhz", TALL, TALL, PM_CPU },
	{ "tsc_mhz", TALL, TALL, PM_CPU },
	{ "insn_per_cycle", TALL, TALL, PM_CPU },
	{ "irq.count", TALL, TALL, PM_CPU },
	{ "nmi", T26, T26, PM_CPU },
	{ "smi", TALL, TALL, PM_CPU },
	{ "llc.references", T26, T26, PM_CPU },
	{ "llc.hit", T26, T26, PM_CPU },
	{ "l2.references", T26, T26, PM_CPU },
	{ "l2.hit", T26, T26, PM_CPU },
	{ "idle.*.requests", T22, TALL, PM_CPU },
	{ "idle.*.below", 0, T26, PM_CPU },
	{ "idle.*.above", 0, T26, PM_CPU },
	{ "idle.*.residency", TALL, TALL, PM_CPU },
	{ TURBOSTAT_ADDED, TALL, TALL, PM_CPU },
	{ "cpu.c1e", T26, T26, PM_CPU },
	{ "cpu.c1", TALL, TALL, PM_CPU },
	{ "cpu.c3", TALL, TALL, PM_CORE },
	{ "cpu.c6", TALL, TALL, PM_CORE },
	{ "cpu.c7", TALL, TALL, PM_CORE },
	{ "module.c6", TALL, TALL, PM_CORE },
	{ "core.temp", TALL, TALL, PM_CORE },
	{ "throttled.core", TALL, TALL, PM_CORE, .groups_2022 = "" },
	{ TURBOSTAT_ADDED, TALL, TALL, PM_CORE },
	{ "corwatt", TALL, TALL, PM_CORE, .own = true },
	{ "cor_j", 0, 0, PM_CORE, .own = true },
	{ "package.temp", TALL, TALL, PM_PACKAGE, .groups_2022 = "power" },
	{ "graphics.rc6", TALL, TALL, PM_PACKAGE },
	{ "graphics.mhz", TALL, TALL, PM_PACKAGE },
	{ "graphics.mhz.actual", TALL, TALL, PM_PACKAGE },
	{ "media.mc6", T26, T26, PM_PACKAGE },
	{ "media.mhz", T26, T26, PM_PACKAGE },
	{ "media.mhz.actual", T26, T26, PM_PACKAGE },
	{ "package.c0.total", TALL, TALL, PM_PACKAGE },
	{ "package.c0.any", TALL, TALL, PM_PACKAGE },
	{ "package.c0.gfx", TALL, TALL, PM_PACKAGE },
	{ "package.c0.both", TALL, TALL, PM_PACKAGE },
	{ "package.c2", TALL, TALL, PM_PACKAGE },
	{ "package.c3", TALL, TALL, PM_PACKAGE },
	{ "package.c6", TALL, TALL, PM_PACKAGE },
	{ "package.c7", TALL, TALL, PM_PACKAGE },
	{ "package.c8", TALL, TALL, PM_PACKAGE },
	{ "package.c9", TALL, TALL, PM_PACKAGE },
	{ "package.c10", TALL, TALL, PM_PACKAGE },
	{ "die.c6", T26, T26, PM_PACKAGE },
	{ "idle.cpus", TALL, TALL, PM_PACKAGE },
	{ "idle.system", TALL, TALL, PM_PACKAGE },
	{ "pkgwatt", TALL, TALL, PM_PACKAGE },
	{ "pkg_j", 0, 0, PM_PACKAGE },
	{ "corwatt", TALL, TALL, PM_PACKAGE },
	{ "cor_j", 0, 0, PM_PACKAGE },
	{ "gfxwatt", TALL, TALL, PM_PACKAGE },
	{ "gfx_j", 0, 0, PM_PACKAGE },
	{ "ramwatt", TALL, TALL, PM_PACKAGE },
	{ "ram_j", 0, 0, PM_PACKAGE },
	{ "package.throttled", TALL, TALL, PM_PACKAGE, .sum = true },
	{ "memory.throttled", TALL, TALL, PM_PACKAGE, .sum = true },
	{ "uncore.mhz", TALL, TALL, PM_PACKAGE },
	{ "uncore.cluster.*.mhz", T26, T26, PM_PACKAGE },
	{ TURBOSTAT_ADDED, TALL, TALL, PM_PACKAGE },
	{ "syswatt", T26, T26, PM_SYSTEM },
	{ "sys_j", 0, 0, PM_SYSTEM },
	{ .name = NULL },
};
/* clang-format on */

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

/* The row of a metric: that with the end of the table if it has none. */
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

static int compare_ranks(const void *left, const void *right)
{
	const struct ranked *a = left, *b = right;

	return a->rank != b->rank ? (a->rank > b->rank ? 1 : -1) : (a->within > b->within) - (a->within < b->within);
}

static bool has_registers(const struct binding *b, const struct pm_model *m)
{
	for (size_t i = 0; i < b->n_inputs; i++)
		if (b->input[i].n_counters && !b->input[i].constant &&
		    !strcmp(pm_model_counter(m, b->input[i].counter[0])->source, "msr"))
			return true;
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

int binding_order(struct binding *b, const struct pm_model *m, const struct bind_options *options)
{
	bool tabs = options->columns >= COLUMNS_TURBOSTAT;
	unsigned generation = options->columns == COLUMNS_TURBOSTAT ? TURBOSTAT_2022 : TURBOSTAT_2026;
	struct ranked *order;

	if (options->columns == COLUMNS_OWN || (options->columns == COLUMNS_AUTO && !has_registers(b, m)))
		return 0;
	order = malloc((b->n_metrics + 1) * sizeof(*order));
	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < b->n_metrics; i++) {
		struct bound_metric *x = &b->metric[i];
		const struct turbostat_column *c = row_of(x);

		/* Of added ones the last comes first. */
		order[i] = (struct ranked){ (uint32_t)(c - columns), (uint32_t)i,
					    tabs && x->added ? (uint32_t)-i : (uint32_t)i };
		if (tabs && generation == TURBOSTAT_2022 && c->groups_2022)
			x->categories = c->groups_2022;
		x->foreign = tabs && (!(c->in & generation) || x->absent) && !x->added;
		if (!x->vendor && !x->counter && !x->added)
			x->default_on = c->on & generation && !x->unlikely && !x->absent;
	}
	qsort(order, b->n_metrics, sizeof(*order), compare_ranks);
	reorder(b->metric, order, b->n_metrics);
	free(order);
	return 0;
}
