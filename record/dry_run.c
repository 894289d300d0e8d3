/* --dry-run: which groups would be counted, and what share of the time each has its counters. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "record/perf/perf_group.h"
#include "record/recorder.h"

#define TRIAL_MS 200

/* Groups of equal PMUs that follow one another have one line. */
struct fold {
	const struct perf_group *first, *last;
	char share[16];
	bool starved; /* some group had no counter all the time */
};

static void measure(const struct perf_group *g, char *share, size_t size)
{
	uint64_t enabled = 0, running = 0;

	for (uint32_t i = 0; i < g->n_rows; i++) {
		uint64_t count, on, ran;

		if (perf_row_count(g->row[i], 0, &count, &on, &ran))
			continue;
		enabled += on;
		running += ran;
	}
	snprintf(share, size, enabled ? "%5.1f %%" : "      -",
		 enabled ? 100. * (double)running / (double)enabled : 0);
}

/* Its words behind the PMU's name. */
static const char *own_words(const struct event *ev)
{
	size_t len = strlen(ev->pmu);

	return !strncmp(ev->display, ev->pmu, len) && ev->display[len] == '/' ? ev->display + len + 1 : ev->display;
}

/* Names that differ in digits alone: uncore_imc_0, uncore_imc_10. */
static bool are_kin(const char *a, const char *b)
{
	static const char digits[] = "0123456789";

	while (*a && *a == *b) {
		a += strspn(a + 1, digits) + 1;
		b += strspn(b + 1, digits) + 1;
	}
	return !*a && !*b;
}

static bool are_equal(const struct perf_group *a, const struct perf_group *b)
{
	bool equal = a->n == b->n && are_kin(a->member[0]->ev->pmu, b->member[0]->ev->pmu);

	for (uint32_t k = 0; equal && k < a->n; k++)
		equal = !strcmp(own_words(a->member[k]->ev), own_words(b->member[k]->ev));
	return equal;
}

static void print_fold(struct fold *f)
{
	const struct perf_group *g = f->first;
	bool many = f->last != g;
	char number[32];

	if (!g)
		return;
	f->starved |= !strcmp(f->share, "  0.0 %");
	snprintf(number, sizeof(number), many ? "%u-%u" : "%u", g->number, f->last->number);
	printf("%5s  %s  %s%s%s%s", number, f->share, g->member[0]->ev->pmu, many ? " to " : "",
	       many ? f->last->member[0]->ev->pmu : "", g->n > 1 ? " {" : " ");
	for (uint32_t k = 0; k < g->n; k++) {
		const char *words = many ? own_words(g->member[k]->ev) : g->member[k]->ev->display;
		size_t len = strlen(words);

		printf("%s%.*s", k ? ", " : "", (int)(many && len && words[len - 1] == '/' ? len - 1 : len), words);
	}
	printf("%s\n", g->n > 1 ? "}" : "");
	f->first = NULL;
}

static void print_group(struct fold *f, const struct perf_group *g)
{
	char share[sizeof(f->share)];

	measure(g, share, sizeof(share));
	if (!f->first || strcmp(share, f->share) != 0 || !are_equal(f->first, g)) {
		print_fold(f);
		f->first = g;
		memcpy(f->share, share, sizeof(share));
	}
	f->last = g;
}

/* What pmrec counts itself takes no turns. */
static void print_tools(const struct pm_model *m, const struct pm_group *g)
{
	printf("    -  100.0 %%  tool%s", g->n_counters > 1 ? " {" : " ");
	for (uint32_t k = 0; k < g->n_counters; k++)
		printf("%s%s", k ? ", " : "", pm_model_counter(m, g->counter[k])->display);
	printf("%s\n", g->n_counters > 1 ? "}" : "");
}

void dry_run(struct session *s)
{
	const struct timespec trial = { .tv_nsec = TRIAL_MS * 1000000L };
	const struct perf_group *last = NULL;
	struct fold fold = { 0 };
	const char *metrics;
	struct error e = { 0 }; /* a group that cannot count has counted 0 */

	(void)session_enable(s, true, &e);
	nanosleep(&trial, NULL);
	(void)session_enable(s, false, &e);
	printf("GROUP   COUNTS  EVENTS\n");
	for (struct unit *u = s->plan.units; u; u = u->next) {
		const struct perf_row *row = perf_row_of(u);

		/* The rows of a group are adjacent. */
		if (row && row->group != last)
			print_group(&fold, row->group);
		last = row ? row->group : last;
		if (row || strcmp(u->source->ops->name, "perf") != 0)
			continue;
		print_fold(&fold);
		print_tools(&s->model, pm_model_group(&s->model, u->group));
	}
	print_fold(&fold);
	if (fold.starved)
		printf("0.0 %%: there was no counter for the group in %u ms: others hold them, or groups take turns "
		       "(pmrec doctor "
		       "says who may)\n",
		       TRIAL_MS);
	for (size_t i = 0; i < s->n_sources; i++)
		if ((metrics = perf_no_event(&s->source[i])))
			printf("no event: %s\n", metrics);
}
