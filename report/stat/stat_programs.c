/* Events that were counted while BPF programs ran. */
#include <stdlib.h>
#include <string.h>

#include "report/stat/stat.h"

/* "12" of "program 12" */
static const char *program_of(const struct pm_counter *c)
{
	const char *text = pm_map_text(&c->attrs, PM_COUNTER_PERF_BPF, "");

	return strncmp(text, "program ", 8) ? NULL : text + 8;
}

void stat_programs_put(const struct pm_counter *c, struct buf *out)
{
	const char *name = pm_map_text(&c->attrs, PM_COUNTER_PERF_PROGRAM, NULL);

	if (program_of(c))
		buf_printf(out, " [%s%s%s]", program_of(c), name ? " " : "", name ? name : "");
}

bool stat_programs_same(const struct pm_counter *a, const struct pm_counter *b)
{
	const char *pa = program_of(a), *pb = program_of(b);

	/* The same event may occur twice, each with a number of its own. */
	return pa && pb && strcmp(pa, pb) &&
	       pm_map_u64(&a->attrs, PM_COUNTER_PERF_WILDCARD, 0) ==
		       pm_map_u64(&b->attrs, PM_COUNTER_PERF_WILDCARD, 0) &&
	       !strcmp(pm_map_text(&a->attrs, PM_COUNTER_PERF_EVENT, ""),
		       pm_map_text(&b->attrs, PM_COUNTER_PERF_EVENT, ""));
}

bool stat_programs_wanted(const struct stat_words *wanted, const struct pm_counter *c)
{
	const char *program = program_of(c);

	for (size_t i = 0; i < wanted->n && program; i++)
		if (strtoul(program, NULL, 10) == strtoul(wanted->word[i], NULL, 10))
			return true;
	return !wanted->n;
}

bool stat_programs_list(const struct stat_sheet *s, struct buf *out)
{
	const struct pm_model *m = s->places->model;
	const char *last = NULL;
	size_t begin = out->len;

	/* Programs are counted one after the other. */
	for (uint32_t i = 0; i < m->n_counters; i++) {
		const char *program = program_of(&m->counter[i]);

		if (!program || (last && !strcmp(program, last)) ||
		    !stat_programs_wanted(&s->config->programs, &m->counter[i]))
			continue;
		buf_printf(out, "%s%lu", last ? "," : "", strtoul(program, NULL, 10));
		last = program;
	}
	return out->len > begin;
}
