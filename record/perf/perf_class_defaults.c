/* The default events of PMUs that have a class, packed into as few groups as their counters allow. */
#include <string.h>
#include <strings.h>

#include "record/perf/perf_class.h"

#define DEFAULT_COUNTERS 4 /* used where it cannot be found out */

#define DEFAULTS_MAX 64
struct packing {
	const struct event_pmu *pmu;
	struct {
		const char *name;
		size_t len;
		unsigned group;
	} event[DEFAULTS_MAX];
	unsigned n, groups, used[DEFAULTS_MAX + 1]; /* of each group */
};

static bool holds(const struct packing *k, unsigned group, const char *name, size_t len)
{
	for (unsigned i = 0; i < k->n; i++)
		if (k->event[i].group == group && k->event[i].len == len && !strncmp(k->event[i].name, name, len))
			return true;
	return false;
}

/* Events besides the clock that fit one group. */
static unsigned room(const struct event_pmu *pmu)
{
	unsigned n = perf_class_counters(pmu);

	return perf_class(pmu)->fixed ? PERF_CLASS_COUNTERS - 1 : n ? n : DEFAULT_COUNTERS;
}

/* Counts, or adds, the events of a bundle that the PMU has and the group does not; returns their number. */
static unsigned place(struct packing *k, const char *bundle, size_t len, unsigned group, bool put)
{
	unsigned n = 0;

	for (size_t at = 0, one; at < len; at += one + 1) {
		one = strcspn(bundle + at, ",;");
		if (at + one > len)
			one = len - at;
		/* The clock joins every group. */
		if (!event_pmu_alias(k->pmu, bundle + at, one) || holds(k, group, bundle + at, one) ||
		    (one == strlen(PMU_CLASS_CLOCK) && !strncasecmp(bundle + at, PMU_CLASS_CLOCK, one)))
			continue;
		n++;
		if (!put || k->n == DEFAULTS_MAX)
			continue;
		k->event[k->n].name = bundle + at;
		k->event[k->n].len = one;
		k->event[k->n++].group = group;
		k->used[group]++;
	}
	return n;
}

int perf_class_groups(const struct event_pmu *pmu, const char *bundles, const char *called, struct buf *out)
{
	struct packing k = { .pmu = pmu };
	unsigned counters = room(pmu);

	for (const char *b = bundles; b && *b;) {
		bool optional = *b == '?';
		size_t len;
		unsigned g = 1, need;

		b += optional;
		len = strcspn(b, ";");
		while (g <= k.groups && k.used[g] + place(&k, b, len, g, false) > counters)
			g++;
		need = place(&k, b, len, g, false);
		if (need && (g <= k.groups || !optional) && g < DEFAULTS_MAX) {
			k.groups = g > k.groups ? g : k.groups;
			place(&k, b, len, g, true);
		}
		b += len + (b[len] == ';');
	}
	for (unsigned g = 1; g <= k.groups; g++) {
		buf_addstr(out, g > 1 ? ",{" : "{");
		for (unsigned i = 0; i < k.n; i++)
			if (k.event[i].group == g)
				buf_printf(out, "%s/%.*s/,", called, (int)k.event[i].len, k.event[i].name);
		if (event_pmu_alias(pmu, PMU_CLASS_CLOCK, strlen(PMU_CLASS_CLOCK)))
			buf_printf(out, "%s/" PMU_CLASS_CLOCK "/", called);
		else if (out->len)
			out->len--;
		buf_addstr(out, "}:W");
	}
	if (!k.groups && event_pmu_alias(pmu, PMU_CLASS_CLOCK, strlen(PMU_CLASS_CLOCK)))
		buf_printf(out, "%s/" PMU_CLASS_CLOCK "/", called);
	return out->err;
}

/* Whether the machine has better PMUs for the same numbers, by the names that they have here. */
static bool has_instead(const struct perf_pmus *p, const struct pmu_class *c)
{
	const struct pmu_class *better = c->instead ? pmu_class_named(c->instead) : NULL;

	for (size_t i = 0; better && i < p->n; i++) {
		struct packing k = { .pmu = &p->pmu[i] };

		if (perf_class(k.pmu) == better && place(&k, better->defaults, strlen(better->defaults), 0, false))
			return true;
	}
	return false;
}

/* Whether all PMUs of a kind have the default events of one: their counts are added up. */
static bool has_all(const struct perf_pmus *p, const struct event_pmu *pmu, const char *bundles)
{
	for (size_t i = 0; i < p->n; i++)
		for (const char *b = bundles; perf_class(&p->pmu[i]) == perf_class(pmu) && *b;
		     b += strcspn(b, ",;")) {
			size_t len;

			b += strspn(b, ",;?");
			len = strcspn(b, ",;");
			if (event_pmu_alias(&p->pmu[i], b, len) && !event_pmu_alias(pmu, b, len))
				return false;
		}
	return true;
}

int perf_classes_defaults(struct perf_pmus *p, const struct root *root,
			  int (*add)(void *arg, const struct event_pmu *pmu, const char *text, struct error *e),
			  void *arg, struct error *e)
{
	int err = 0;

	for (size_t i = 0; i < p->n && !err; i++) {
		const struct event_pmu *pmu = &p->pmu[i];
		const struct pmu_class *c = perf_class(pmu);
		const char *bundles = c ? c->defaults : NULL;
		SCOPED(buf_release) struct buf text = BUF_INIT;

		/* A mask has one CPU of each socket. */
		if (c && has_instead(p, c))
			bundles = pmu->cpus && strpbrk(pmu->cpus, ",-") ? c->sockets : NULL;
		if (!bundles)
			continue;
		if (!has_all(p, pmu, bundles))
			perf_class_refuse(pmu, PM_REASON_NOT_SUPPORTED);
		err = perf_class_probe(p, pmu, root);
		if (!err)
			err = perf_class_groups(pmu, bundles, pmu->name, &text);
		if (!err && text.len)
			err = add(arg, pmu, buf_str(&text), e);
	}
	return err;
}
