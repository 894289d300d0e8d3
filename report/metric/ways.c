#include "report/metric/ways.h"

#include <string.h>

#include "report/input/memory.h"
#include "report/metric/bind.h"

#define NAMED_MAX 3 /* counters of a metric; of more, only the number is given */

const char *const ways_name[WAYS] = { "registers", "kernel", "perf" };

/* "uncore_imc_3/cas_count_read/" without the number: PMUs of a kind are one. */
static void add_counter(struct buf *out, const char *name)
{
	const char *slash = strchr(name, '/'), *end = slash ? slash : name;

	while (end > name && end[-1] >= '0' && end[-1] <= '9')
		end--;
	if (end > name && end[-1] == '_')
		buf_printf(out, "%.*s%s", (int)(end - 1 - name), name, slash);
	else
		buf_addstr(out, name);
}

/* The text has it between its commas. */
static bool has(const char *list, const char *one)
{
	size_t len = strlen(one);

	for (const char *at = list; (at = strstr(at, one)); at += len)
		if ((at == list || at[-1] == ' ') && (!at[len] || at[len] == ','))
			return true;
	return false;
}

void ways_counters(const struct binding *b, const struct bound_metric *metric, struct buf *out)
{
	SCOPED(buf_release) struct buf one = BUF_INIT;
	size_t begin = out->len;
	unsigned n = 0, more = 0;

	for (uint32_t i = 0; i < metric->n_inputs; i++) {
		const struct bound_input *in = &b->input[metric->input[i]];

		for (uint32_t k = 0; k < in->n_counters && !in->constant; k++) {
			buf_clear(&one);
			add_counter(&one, pm_model_counter(b->index.model, in->counter[k])->name);
			memory_whole(&one);
			if (n && has(buf_str(out) + begin, buf_str(&one)))
				continue;
			if (n++ < NAMED_MAX)
				buf_printf(out, "%s%s", n > 1 ? ", " : "", buf_str(&one));
			else
				more++;
		}
	}
	if (more)
		buf_printf(out, " and %u more", more);
}

static bool takes_registers(const char *name)
{
	for (const struct metric_table *t = metric_tables; t->row; t++)
		for (const struct metric *row = t->row; row < t->row + t->n; row++)
			if (!strcmp(row->name, name))
				return strstr(row->expr, "msr.");
	return false;
}

/* WAYS: not a column of registers. */
static enum way ways_of(const struct binding *b, const struct bound_metric *metric)
{
	enum way way = WAYS;

	if (metric->vendor || metric->counter || metric->absent || metric->foreign || !takes_registers(metric->name))
		return WAYS;
	for (uint32_t i = 0; i < metric->n_inputs; i++) {
		const struct bound_input *in = &b->input[metric->input[i]];
		const char *source = in->n_counters && !in->constant ?
					     pm_model_counter(b->index.model, in->counter[0])->source :
					     NULL;

		/* A counter that perf replaced says more than the clock that all share. */
		if (source && !strcmp(source, "perf"))
			way = WAY_PERF;
		else if (source && way != WAY_PERF && !strcmp(source, "msr"))
			way = WAY_REGISTERS;
		else if (source && way == WAYS)
			way = WAY_KERNEL;
	}
	return way;
}

int ways_each(const struct pm_model *m, ways_fn tell, void *arg)
{
	struct bind_options options = { 0 };
	SCOPED(binding_release) struct binding b = { 0 };
	SCOPED(places_release) struct places p = { 0 };
	SCOPED(buf_release) struct buf from = BUF_INIT;
	struct error e;
	int err;

	places_update(&p, m);
	err = binding_build(&b, &p, &options, &e);
	for (size_t i = 0; i < b.n_metrics && !err; i++) {
		enum way way = ways_of(&b, &b.metric[i]);

		if (way == WAYS)
			continue;
		buf_clear(&from);
		ways_counters(&b, &b.metric[i], &from);
		memory_whole(&from);
		tell(arg, way, b.metric[i].display, buf_str(&from));
	}
	return err;
}
