/* turbostat's columns in the order of its newest version. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/metric/bind.h"

const struct turbostat_column turbostat_columns[] = {
	{ "usec", false },
	{ "time_of_day", false },
	{ "apic_id", false },
	{ "x2apic_id", false },
	{ "avg_mhz", true },
	{ "busy", true },
	{ "bzy_mhz", true },
	{ "tsc_mhz", true },
	{ "insn_per_cycle", true },
	{ "irq.count", true },
	{ "nmi", true },
	{ "smi", true },
	{ "llc.references", true },
	{ "llc.hit", true },
	{ "l2.references", true },
	{ "l2.hit", true },
	{ "idle.*.requests", false },
	{ "idle.*.below", false },
	{ "idle.*.above", false },
	{ "idle.*.residency", true },
	{ "cpu.c1e", true },
	{ "cpu.c1", true },
	{ "cpu.c3", true },
	{ "cpu.c6", true },
	{ "cpu.c7", true },
	{ "module.c6", true },
	{ "core.temp", true },
	{ "throttled.core", true },
	{ "package.temp", true },
	{ "graphics.rc6", true },
	{ "graphics.mhz", true },
	{ "graphics.mhz.actual", true },
	{ "media.mc6", true },
	{ "media.mhz", true },
	{ "media.mhz.actual", true },
	{ "package.c0.total", true },
	{ "package.c0.any", true },
	{ "package.c0.gfx", true },
	{ "package.c0.both", true },
	{ "package.c2", true },
	{ "package.c3", true },
	{ "package.c6", true },
	{ "package.c7", true },
	{ "package.c8", true },
	{ "package.c9", true },
	{ "package.c10", true },
	{ "die.c6", true },
	{ "idle.cpus", true },
	{ "idle.system", true },
	{ "pkgwatt", true },
	{ "pkg_j", false },
	{ "corwatt", true },
	{ "cor_j", false },
	{ "gfxwatt", true },
	{ "gfx_j", false },
	{ "ramwatt", true },
	{ "ram_j", false },
	{ "package.throttled", true },
	{ "memory.throttled", true },
	{ "uncore.mhz", true },
	{ "uncore.cluster.*.mhz", true },
	{ "syswatt", true },
	{ "sys_j", false },
	{ .name = NULL },
};

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

bool turbostat_shows(const char *metric)
{
	for (const struct turbostat_column *c = turbostat_columns; c->name; c++)
		if (is_column(c->name, metric))
			return c->on;
	return false;
}

struct ranked {
	uint32_t rank, place;
};

static int compare_ranks(const void *left, const void *right)
{
	const struct ranked *a = left, *b = right;

	return a->rank != b->rank ? (a->rank > b->rank ? 1 : -1) : (a->place > b->place) - (a->place < b->place);
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
	struct ranked *order;

	if (options->columns == COLUMNS_OWN || (options->columns == COLUMNS_AUTO && !has_registers(b, m)))
		return 0;
	order = malloc((b->n_metrics + 1) * sizeof(*order));
	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < b->n_metrics; i++) {
		struct bound_metric *x = &b->metric[i];
		uint32_t rank = 0;

		/* Added counters stand behind all that are built in. */
		while (turbostat_columns[rank].name &&
		       (x->counter || !is_column(turbostat_columns[rank].name, x->name)))
			rank++;
		order[i] = (struct ranked){ rank, (uint32_t)i };
		if (!x->vendor && !x->counter && !x->added)
			x->default_on = turbostat_columns[rank].name && turbostat_columns[rank].on && !x->unlikely &&
					!x->absent;
	}
	qsort(order, b->n_metrics, sizeof(*order), compare_ranks);
	reorder(b->metric, order, b->n_metrics);
	free(order);
	return 0;
}
