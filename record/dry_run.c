/* --dry-run: which groups would be counted, and what share of the time each has its counters. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "record/perf/perf_group.h"
#include "record/recorder.h"

#define TRIAL_MS 200

static void print_group(const struct perf_group *g)
{
	uint64_t enabled = 0, running = 0;

	for (uint32_t i = 0; i < g->n_rows; i++) {
		uint64_t count, on, ran;

		if (perf_row_count(g->row[i], 0, &count, &on, &ran))
			continue;
		enabled += on;
		running += ran;
	}
	printf("%3u  ", g->number);
	if (enabled)
		printf("%5.1f %%", 100. * (double)running / (double)enabled);
	else
		printf("      -");
	printf("  %s%s", g->member[0]->ev->pmu, g->n > 1 ? " {" : " ");
	for (uint32_t k = 0; k < g->n; k++)
		printf("%s%s", k ? ", " : "", g->member[k]->ev->display);
	printf("%s\n", g->n > 1 ? "}" : "");
}

/* What pmrec counts itself takes no turns. */
static void print_tools(const struct pm_model *m, const struct pm_group *g)
{
	printf("  -  100.0 %%  tool%s", g->n_counters > 1 ? " {" : " ");
	for (uint32_t k = 0; k < g->n_counters; k++)
		printf("%s%s", k ? ", " : "", pm_model_counter(m, g->counter[k])->display);
	printf("%s\n", g->n_counters > 1 ? "}" : "");
}

void dry_run(struct session *s)
{
	const struct timespec trial = { .tv_nsec = TRIAL_MS * 1000000L };
	const struct perf_group *last = NULL;
	const char *metrics;
	struct error e = { 0 }; /* a group that cannot count has counted 0 */

	(void)session_enable(s, true, &e);
	nanosleep(&trial, NULL);
	(void)session_enable(s, false, &e);
	printf("GROUP COUNTS  EVENTS\n");
	for (struct unit *u = s->plan.units; u; u = u->next) {
		const struct perf_row *row = perf_row_of(u);

		/* The rows of a group are adjacent. */
		if (row && row->group != last)
			print_group(row->group);
		last = row ? row->group : last;
		if (!row && !strcmp(u->source->ops->name, "perf"))
			print_tools(&s->model, pm_model_group(&s->model, u->group));
	}
	for (size_t i = 0; i < s->n_sources; i++)
		if ((metrics = perf_no_event(&s->source[i])))
			printf("no event: %s\n", metrics);
}
