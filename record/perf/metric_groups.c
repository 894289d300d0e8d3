/* Which events of metrics are counted together. A metric's events of one PMU stay in one group, so that its formula
 * covers one period; metrics share a group while the PMU has counters for all of it, so that few groups take turns.
 * A metric whose events are part of those of one without room is parted if it would open any of them again.
 * Only the kernel knows what fits (fixed counters, slot shares that need none, which event can use which counter), so
 * a trial group is opened. In this check the kernel ignores the counter of the NMI watchdog, so the trial includes an
 * event for it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/array.h"
#include "record/perf/metric_pick.h"
#include "record/perf/perf_class.h"

struct bin {
	const char *pmu; /* that of each member's first event */
	struct want *want[PERF_GROUP_MAX];
	size_t n;
	size_t refused; /* number of additional events that did not fit */
};

static const char *pmu_of(const struct want *w)
{
	return w->set.event[0].pmu;
}

static bool may_group(const char *pmu)
{
	return strcmp(pmu, "software") && strcmp(pmu, "tracepoint") && strcmp(pmu, "tool");
}

static bool holds(const struct bin *b, const struct want *w)
{
	for (size_t i = 0; i < b->n; i++)
		if (!strcasecmp(b->want[i]->text, w->text))
			return true;
	return false;
}

/* ---- what fits ---- */

struct trial {
	struct perf_place at;
	int fd[PERF_GROUP_MAX + 2];
	size_t n;
	bool whole; /* nothing was refused */
};

/* Exclusions do not affect which counter an event gets, and user mode is always permitted. */
static void try_event(struct trial *t, const struct event *ev)
{
	union perf_attr attr;
	int fd;

	perf_attr_fill(&attr, ev);
	if (ev->core) {
		attr.a.exclude_user = 0;
		attr.a.exclude_kernel = attr.a.exclude_hv = 1;
	}
	/* On Arm the kernel accepts members as if a stopped leader needed no counter. */
	attr.a.disabled = 0;
	fd = t->whole ? perf_open_relaxed(&attr, t->at, t->n ? t->fd[0] : -1) : -1;
	if (fd >= 0) {
		t->fd[t->n++] = fd;
	} else if (t->whole && t->n && (fd = perf_open_relaxed(&attr, t->at, -1)) >= 0) {
		/* An event that the kernel cannot count even alone takes no room. */
		close(fd);
		t->whole = false;
	}
}

/* The first event of the PMU that the text stands for; NULL: none. */
static const struct event *event_on(const struct want *w, uint32_t pmu)
{
	for (size_t i = 0; i < w->set.n; i++)
		if (w->set.event[i].pmu_index == pmu)
			return &w->set.event[i];
	return NULL;
}

/* The first event of the group there that is such a one; NULL: none. */
static const struct event *find(struct metrics *m, const struct bin *b, uint32_t pmu,
				bool (*is)(const struct perf_source *s, const struct event *ev))
{
	const struct event *ev;

	for (size_t i = 0; i < b->n; i++)
		if ((ev = event_on(b->want[i], pmu)) && is(m->s, ev))
			return ev;
	return NULL;
}

static void try_leader(struct metrics *m, struct trial *t, const struct bin *b, uint32_t pmu)
{
	const struct event *slots = find(m, b, pmu, perf_is_slots), *share = find(m, b, pmu, perf_is_share);
	struct event added;

	/* They will be added (perf_events_read()). */
	if (share && !slots) {
		added = *share;
		added.config[0] = PERF_SLOTS;
		slots = &added;
	}
	if (slots)
		try_event(t, slots);
}

static bool fits_on(struct metrics *m, const struct bin *b, uint32_t pmu)
{
	static const struct event watchdog = { .type = PERF_TYPE_HARDWARE,
					       .config = { PERF_COUNT_HW_CPU_CYCLES },
					       .core = true };
	const struct event_pmu *p = pmu == EVENT_NONE ? NULL : &m->s->pmus.pmu[pmu];
	struct trial t = { .at = perf_on_task(0), .whole = true };
	SCOPED(cpulist_release) struct cpulist cpus = { 0 };
	const struct event *ev;

	if (p && p->cpus && !p->core && !cpulist_parse(&cpus, p->cpus, false, NULL) && cpus.n)
		t.at = perf_on_cpu((int)cpus.cpu[0]);
	try_leader(m, &t, b, pmu);
	for (size_t i = 0; i < b->n; i++)
		if ((ev = event_on(b->want[i], pmu)) && !(t.n && perf_is_slots(m->s, ev)))
			try_event(&t, ev);
	if (m->watchdog && p && p->core)
		try_event(&t, &watchdog);
	for (size_t i = 0; i < t.n; i++)
		close(t.fd[t.n - 1 - i]);
	return t.whole;
}

/* Whether they fit, on every kind of core that has the events; of equal PMUs outside the cores, on one. Under --root
 * there is no kernel to ask. */
static bool fits(struct metrics *m, const struct bin *b)
{
	const struct event_set *set = &b->want[0]->set;
	bool all = true;

	if (m->p->root->emulated)
		return true;
	for (size_t i = 0; i < set->n && all && (!i || set->event[i].core); i++)
		all = fits_on(m, b, set->event[i].pmu_index);
	return all;
}

/* ---- metrics into groups ---- */

struct packing {
	struct metrics *m;
	struct bin *bin; /* owned */
	size_t n;
	/* The metric is part of one that had no room: perf counts each of its events once, and so may we. */
	bool once;
};

static bool held(const struct packing *k, const char *pmu, const struct want *w)
{
	for (size_t i = 0; i < k->n; i++)
		if (!strcmp(k->bin[i].pmu, pmu) && holds(&k->bin[i], w))
			return true;
	return false;
}

/* The metric's events of the PMU that are not open yet. */
static struct bin take(const struct picked *one, const char *pmu, bool extra)
{
	struct bin b = { .pmu = pmu, .refused = SIZE_MAX };

	for (size_t i = 0; i < one->n && b.n < PERF_GROUP_MAX; i++)
		if (!one->want[i].done && !one->want[i].alone && !strcmp(pmu_of(&one->want[i]), pmu) &&
		    (extra || !one->want[i].extra))
			b.want[b.n++] = &one->want[i];
	return b;
}

static size_t growth(const struct bin *b, const struct bin *by)
{
	size_t n = 0;

	for (size_t i = 0; i < by->n; i++)
		n += !holds(b, by->want[i]);
	return n;
}

/* Whether they are more than this kind of PMU has counters for, although its driver does not say so: only a single
 * formula may try that. */
static bool exceeds(const struct metrics *m, const struct bin *b, size_t n)
{
	uint32_t pmu = b->want[0]->set.event[0].pmu_index;
	const struct pmu_class *c = pmu == EVENT_NONE ? NULL : perf_class(&m->s->pmus.pmu[pmu]);

	return c && c->unchecked && n > c->counters;
}

/* Adds them to the group that can take all of them and grows the least. */
static bool join(struct packing *k, const struct bin *by)
{
	/* A single event has no partners, but may share a group anyway. */
	size_t most = by->n < 2 || k->m->p->root->emulated ? 0 : by->n;

	for (size_t i = 0; i < by->n && k->once && most; i++)
		most -= held(k, by->pmu, by->want[i]);
	for (size_t more = 0; more <= most; more++)
		for (size_t i = 0; i < k->n; i++) {
			struct bin *b = &k->bin[i], both;

			if (strcmp(b->pmu, by->pmu) || growth(b, by) != more || more >= b->refused ||
			    b->n + more > PERF_GROUP_MAX || (more && exceeds(k->m, b, b->n + more)))
				continue;
			both = *b;
			for (size_t w = 0; w < by->n; w++)
				if (!holds(b, by->want[w]))
					both.want[both.n++] = by->want[w];
			if (!more || fits(k->m, &both)) {
				*b = both;
				return true;
			}
			b->refused = more;
		}
	return false;
}

/* Removes what is already in a group, and from a formula what only its threshold needs; returns whether nothing is
 * left. */
static bool stands(const struct packing *k, struct bin *b, bool formula)
{
	size_t kept = 0;

	for (size_t w = 0; w < b->n; w++) {
		bool here = (!formula || b->want[w]->extra) && held(k, b->pmu, b->want[w]);

		b->want[w]->alone |= here;
		if (!here)
			b->want[kept++] = b->want[w];
	}
	b->n = kept;
	return !kept;
}

/* Whether all events of a metric are among those of another. */
static bool is_part(const struct picked *one, const struct picked *of)
{
	size_t i = 0, k = 0;

	for (; i < one->n && k < of->n; i++)
		for (k = 0; k < of->n && strcasecmp(of->want[k].text, one->want[i].text);)
			k++;
	return k < of->n;
}

/* Adds them to an existing group or a new one; false: they do not fit, or there is only one. */
static bool place(struct packing *k, const struct bin *b, int *err)
{
	bool placed = !k->m->p->options->perf.metric_no_merge && join(k, b);
	struct bin rest = *b;

	if (!placed && b->n > 1 && fits(k->m, b) && !(k->once && (stands(k, &rest, false) || rest.n < 2))) {
		*err = array_room(&k->bin, k->n, sizeof(*k->bin)) ? -ENOMEM : 0;
		placed = !*err;
		if (placed)
			k->bin[k->n++] = rest;
	}
	for (size_t i = 0; i < b->n && placed; i++)
		b->want[i]->done = true;
	return placed;
}

/* Slot shares, and the slots that lead them, need no counter here; in another group, shares would need their slots
 * there. */
static struct bin add_shares(const struct metrics *m, struct bin b, const struct bin *of)
{
	for (size_t i = 0; i < of->n; i++) {
		const struct event *ev = &of->want[i]->set.event[0];

		if (!holds(&b, of->want[i]) && (perf_is_share(m->s, ev) || perf_is_slots(m->s, ev)))
			b.want[b.n++] = of->want[i];
	}
	return b;
}

static int pack(struct packing *k, struct picked *one, const char *pmu, bool thresholds)
{
	struct bin whole = take(one, pmu, true), formula = take(one, pmu, false),
		   none = { .pmu = pmu, .refused = SIZE_MAX };
	struct bin led, with;
	/* The threshold's additional events must not split the formula. What does not fit together takes turns one by
	 * one, once for all metrics. */
	const struct bin *tries[] = { &whole, &with, &formula, &led };
	int err = 0;

	/* Thresholds use what is counted elsewhere, so those without a formula left come last. */
	if ((!formula.n && !thresholds) || stands(k, &whole, formula.n))
		return 0;
	led = add_shares(k->m, none, &whole);
	with = add_shares(k->m, formula, &whole);
	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]) && !err; i++, one->parted = true)
		if (tries[i]->n && (!i || tries[i]->n != tries[i - 1]->n) && place(k, tries[i], &err))
			return 0;
	for (size_t i = 0; i < whole.n; i++)
		whole.want[i]->alone = true;
	return err;
}

static int open_bin(struct metrics *m, const struct bin *b)
{
	SCOPED(buf_release) struct buf text = BUF_INIT;

	for (size_t i = 0; i < b->n; i++) {
		buf_printf(&text, "%s%s", i ? "," : "{", b->want[i]->text);
		b->want[i]->done = true;
	}
	buf_addstr(&text, "}:W");
	return text.err ? metrics_no_memory(m) : metrics_open(m, buf_str(&text));
}

/* Largest first, so that part of another comes after it. */
static int compare_sizes(const void *left, const void *right)
{
	const struct picked *const *a = left, *const *b = right;

	if ((*a)->n != (*b)->n)
		return (*a)->n < (*b)->n ? 1 : -1;
	return (*a > *b) - (*a < *b);
}

int metric_groups_open(struct metrics *m)
{
	struct packing k = { .m = m };
	SCOPED(scoped_free) struct picked **list = calloc(m->n + 1, sizeof(*list));
	int err = list ? 0 : -ENOMEM;

	for (size_t i = 0; i < m->n && !err; i++)
		list[i] = &m->picked[i];
	if (!err)
		qsort(list, m->n, sizeof(*list), compare_sizes);
	for (size_t i = 0; i < 2 * m->n && !err; i++) {
		struct picked *one = list[i % m->n];

		k.once = false;
		for (size_t larger = 0; larger < i % m->n && !k.once && !m->p->options->perf.metric_no_merge;
		     larger++)
			k.once = list[larger]->parted && is_part(one, list[larger]);
		for (size_t w = 0; w < one->n && !err && !one->ungrouped; w++) {
			const struct want *first = &one->want[w];

			if (!first->done && !first->alone && may_group(pmu_of(first)))
				err = pack(&k, one, pmu_of(first), i >= m->n);
		}
	}
	if (err)
		metrics_no_memory(m);
	for (size_t i = 0; i < k.n && !err; i++)
		err = open_bin(m, &k.bin[i]);
	free(k.bin);
	return err;
}
