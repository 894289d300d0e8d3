#include "report/diff/diff_environment.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	bool meaningless; /* if the sides differ in this, their numbers do not compare */
} facts[DIFF_FACTS] = {
	[DIFF_ARCH] = { "architecture", true },
	[DIFF_CPU_MODEL] = { "CPU model", true },
	[DIFF_CPU_ID] = { "CPU identification", false },
	[DIFF_MICROCODE] = { "microcode", false },
	[DIFF_TOPOLOGY] = { "topology (online)", true },
	[DIFF_SMT] = { "SMT", false },
	[DIFF_HYPERVISOR] = { "hypervisor", false },
	[DIFF_EMULATED] = { "emulated", true },
	[DIFF_MEMORY] = { "memory", false },
	[DIFF_BIOS] = { "BIOS", false },
	[DIFF_KERNEL] = { "kernel", false },
	[DIFF_OS] = { "operating system", false },
	[DIFF_GOVERNOR] = { "governor", false },
	[DIFF_DRIVER] = { "frequency driver", false },
	[DIFF_WATCHDOG] = { "NMI watchdog", false },
	[DIFF_TARGET] = { "what was recorded", true },
	[DIFF_COMMAND] = { "command", false },
	[DIFF_EXIT] = { "exit status", false },
	[DIFF_INTERVAL] = { "interval", false },
	[DIFF_SOURCES] = { "sources", false },
	[DIFF_EVENTS] = { "events", false },
	[DIFF_MULTIPLEXING] = { "multiplexing", false },
	[DIFF_COST] = { "cost of recording", false },
	[DIFF_GAPS] = { "gaps", false },
	[DIFF_TOOL] = { "recorded by", false },
};

static const char *say(const struct diff_recording *r, enum diff_fact f)
{
	return r->fact[f] ? r->fact[f] : "unknown";
}

/* The values of a side, each once; if there are several, with the number of recordings that have it. */
static char *describe(const struct diff_recordings *all, enum diff_side side, enum diff_fact f)
{
	struct buf text = BUF_INIT;
	size_t distinct = 0;

	for (int print = 0; print < 2; print++)
		for (size_t i = 0; i < all->n; i++) {
			const struct diff_recording *r = &all->recording[i];
			bool old = r->side != side;
			size_t n = 0;

			for (size_t k = 0; k < i && !old; k++)
				old = all->recording[k].side == side &&
				      !strcmp(say(&all->recording[k], f), say(r, f));
			if (old)
				continue;
			distinct += !print;
			for (size_t k = i; k < all->n; k++)
				n += all->recording[k].side == side && !strcmp(say(&all->recording[k], f), say(r, f));
			if (!print)
				continue;
			buf_printf(&text, "%s%s", text.len ? "; " : "", say(r, f));
			if (distinct > 1)
				buf_printf(&text, " (%zu)", n);
		}
	return buf_detach(&text);
}

static bool has_event(const struct diff_recording *r, const char *name)
{
	for (uint32_t i = 0; i < r->n_events; i++)
		if (!strcmp(r->event[i], name))
			return true;
	return false;
}

/* Events that some recordings of either side lack, as far as this side has them. */
static char *describe_events(const struct diff_recordings *all, enum diff_side side)
{
	struct buf text = BUF_INIT;

	for (size_t i = 0; i < all->n; i++) {
		const struct diff_recording *r = &all->recording[i];

		for (uint32_t k = 0; r->side == side && k < r->n_events; k++) {
			bool old = false;
			size_t has = 0;

			for (size_t j = 0; j < i && !old; j++)
				old = all->recording[j].side == side && has_event(&all->recording[j], r->event[k]);
			if (old)
				continue;
			for (size_t j = 0; j < all->n; j++)
				has += has_event(&all->recording[j], r->event[k]);
			if (has == all->n)
				continue;
			buf_printf(&text, "%s%s", text.len ? ", " : "also ", r->event[k]);
		}
	}
	if (!text.len)
		buf_addstr(&text, "nothing that the other lacks");
	return buf_detach(&text);
}

/* Whether recording costs differ: by a percent of a CPU and half as much again on one side, on average. */
static bool costs_differ(const struct diff_recordings *all)
{
	double sum[DIFF_SIDES] = { 0 }, n[DIFF_SIDES] = { 0 }, least, most;

	for (size_t i = 0; i < all->n; i++) {
		sum[all->recording[i].side] += all->recording[i].cost;
		n[all->recording[i].side] += all->recording[i].fact[DIFF_COST] != NULL;
	}
	if (!n[DIFF_BASE] || !n[DIFF_NEW])
		return false;
	least = fmin(sum[DIFF_BASE] / n[DIFF_BASE], sum[DIFF_NEW] / n[DIFF_NEW]);
	most = fmax(sum[DIFF_BASE] / n[DIFF_BASE], sum[DIFF_NEW] / n[DIFF_NEW]);
	return most - least > 0.01 && most > 1.5 * least;
}

static bool differ(const struct diff_recordings *all, enum diff_fact f)
{
	if (f == DIFF_COST)
		return costs_differ(all);
	for (size_t i = 1; i < all->n; i++) {
		const struct diff_recording *a = &all->recording[0], *b = &all->recording[i];

		if (f != DIFF_EVENTS) {
			if (strcmp(say(a, f), say(b, f)))
				return true;
			continue;
		}
		if (a->n_events != b->n_events)
			return true;
		for (uint32_t k = 0; k < a->n_events; k++)
			if (strcmp(a->event[k], b->event[k]))
				return true;
	}
	return false;
}

/* Damage is reported even if all have it. */
static bool all_whole(const struct diff_recordings *all)
{
	for (size_t i = 0; i < all->n; i++)
		if (strcmp(say(&all->recording[i], DIFF_GAPS), "none"))
			return false;
	return true;
}

int diff_environment_compare(struct diff_environment *env, const struct diff_recordings *r)
{
	env->difference = calloc(DIFF_FACTS, sizeof(*env->difference));
	if (!env->difference)
		return -ENOMEM;
	for (int f = 0; f < DIFF_FACTS; f++) {
		struct diff_difference *d = &env->difference[env->n];

		if (!differ(r, (enum diff_fact)f) && (f != DIFF_GAPS || all_whole(r)))
			continue;
		*d = (struct diff_difference){
			.fact = (enum diff_fact)f,
			.name = facts[f].name,
			.meaningless = facts[f].meaningless,
		};
		env->n++;
		env->meaningless += d->meaningless;
		for (int s = 0; s < DIFF_SIDES; s++) {
			d->side[s] = f == DIFF_EVENTS ? describe_events(r, (enum diff_side)s) :
							describe(r, (enum diff_side)s, (enum diff_fact)f);
			if (!d->side[s])
				return -ENOMEM;
		}
	}
	return 0;
}

void diff_environment_release(struct diff_environment *env)
{
	for (size_t i = 0; env->difference && i < env->n; i++)
		for (int s = 0; s < DIFF_SIDES; s++)
			free(env->difference[i].side[s]);
	free(env->difference);
	*env = (struct diff_environment){ 0 };
}
