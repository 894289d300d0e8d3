#include "record/plan/readout.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "common/memory.h"
#include "record/host/process.h"
#include "record/host/clocks.h"

#define CHUNK_BYTES (4u << 20)
/* How far apart the times of CPUs in one snapshot may be when one reader reads them in turn. */
#define SKEW_NS 1000000u

void readout_release(struct readout *l)
{
	free(l->group);
	free(l->slot);
	free(l->reader);
	*l = (struct readout){ 0 };
}

static bool whole(const struct pm_group *g)
{
	return g->flags & (PM_GROUP_LIST | PM_GROUP_SHARED_TIME);
}

static uint32_t places(const struct pm_group *g)
{
	return whole(g) ? 1 : g->n_instances;
}

static void place_slot(struct slot *s, const struct pm_group *g, uint32_t group, uint32_t place)
{
	uint32_t times = pm_group_times(g);

	s->group = group;
	s->n = whole(g) ? pm_group_values(g) : g->n_counters;
	s->step = whole(g) ? 1 : g->n_instances;
	s->value = pm_group_head(g) + place;
	s->begin = place;
	s->end = times + place;
	s->enabled = g->flags & PM_GROUP_PERF_TIMES ? 2 * times + place : PM_NONE;
	s->running = g->flags & PM_GROUP_PERF_TIMES ? 3 * times + place : PM_NONE;
}

/* The reader of a unit: that of its CPU, or the first one of its kind. */
static uint32_t reader_of(const struct readout *l, const struct unit *u)
{
	uint32_t lo = u->sampling ? l->n_reading : 0, hi = u->sampling ? l->n_readers : l->n_own, first = lo;

	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (l->reader[mid].cpu <= u->cpu)
			lo = mid;
		else
			hi = mid;
	}
	return u->cpu != PM_NONE && l->reader[lo].cpu == u->cpu ? lo : first;
}

/* `offline` may be NULL. */
static bool is_off(const struct unit *u, const struct cpulist *offline)
{
	return u->cpu != PM_NONE && offline && cpulist_has(offline, u->cpu);
}

/* What empties rings runs once a second: one thread does it for many CPUs. */
#define RINGS_A_READER 64

/* A reader takes about a millisecond for the files of so many CPUs. */
#define SPREAD_A_READER 64

/* The number of readers for units that are spread: at most as many as can run at once. 0: none of their own. */
static uint32_t spread_readers(const struct plan *p)
{
	uint32_t n = 0, most = affinity_cpus();

	for (const struct unit *u = p->units; u; u = u->next)
		n += u->spread;
	n = (n + SPREAD_A_READER - 1) / SPREAD_A_READER;
	n = n < most ? n : most;
	return n > 1 && p->options->sample.threads != THREADS_ONE ? n : 0;
}

static void add_readers(struct readout *l, const struct plan *p, bool per_cpu, const struct cpulist *offline)
{
	struct cpulist cpus[2] = { 0 };
	uint32_t spread = spread_readers(p);
	bool any[2] = { false };

	for (const struct unit *u = p->units; u; u = u->next) {
		bool sampled = u->sampling;

		any[sampled] |= !(spread && u->spread);
		if (u->cpu != PM_NONE && !is_off(u, offline))
			memory_must(cpulist_add(&cpus[sampled], u->cpu));
	}
	l->n_own = per_cpu && cpus[0].n ? (uint32_t)cpus[0].n : any[0] || !(any[1] || spread);
	l->n_reading = l->n_own + spread;
	l->n_readers = l->n_reading + (cpus[1].n > RINGS_A_READER ? (uint32_t)cpus[1].n : any[1]);
	l->reader = memory_new(l->n_readers, sizeof(*l->reader));
	for (uint32_t i = 0; i < l->n_readers; i++) {
		bool sampled = i >= l->n_reading;
		uint32_t k = sampled ? i - l->n_reading : i;
		bool pinned = sampled ? cpus[1].n > RINGS_A_READER : i < l->n_own && cpus[0].n;

		l->reader[i].sampled = sampled;
		/* A reader that follows a command or the whole system, or reads spread units, has no CPU of its own:
		 * the scheduler finds an idle one. */
		l->reader[i].cpu = pinned ? cpus[sampled].cpu[k] : PM_NONE;
	}
	cpulist_release(&cpus[0]);
	cpulist_release(&cpus[1]);
}

/* Adds a slot for each place of every group that has a unit; in the order of groups. */
static int add_groups(struct readout *l, const struct plan *p, struct slot **slots, uint32_t **first_slot,
		      struct error *e)
{
	const struct pm_model *m = p->model;
	SCOPED(scoped_free) bool *used = memory_new(m->last_group + 1ull, sizeof(*used));
	uint32_t *first = *first_slot = memory_new(m->last_group + 1ull, sizeof(*first));
	uint32_t n = 0, n_groups = 0;
	struct slot *s;

	for (const struct unit *u = p->units; u; u = u->next) {
		const struct pm_group *g = pm_model_group(m, u->group);

		if (!g || u->instance >= places(g))
			return error_set(e, EINVAL, "a unit of %s has no place in group %u", u->source->ops->name,
					 u->group);
		used[g->id] = true;
	}
	for (uint32_t i = 0; i < m->n_groups; i++) {
		n += used[m->group[i].id] ? places(&m->group[i]) : 0;
		n_groups += used[m->group[i].id];
	}
	l->group = memory_new(n_groups, sizeof(*l->group));
	s = *slots = memory_new(n, sizeof(*s));
	l->n_slots = n;
	n = 0;
	for (uint32_t k = 0; k < m->n_groups; k++) {
		const struct pm_group *g = &m->group[k];

		if (!used[g->id])
			continue;
		first[g->id] = n;
		for (uint32_t i = 0; i < places(g); i++) {
			place_slot(&s[n], g, l->n_groups, i);
			s[n++].absent = PM_REASON_GONE;
		}
		l->group[l->n_groups++] = (struct readout_group){ .id = g->id,
								  .columns = pm_group_columns(g),
								  .head = pm_group_head(g) };
		l->row_bytes += pm_group_columns(g) * sizeof(uint64_t);
	}
	return 0;
}

static uint32_t every(const struct unit *u, uint64_t interval_ns)
{
	uint64_t n = 1;

	if (interval_ns && u->min_period_ns > interval_ns)
		n = (u->min_period_ns + interval_ns - 1) / interval_ns;
	return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

/* Copies the slots reader by reader, each reader's in the plan's order; those without a unit follow. */
static void sort_slots(struct readout *l, const struct plan *p, struct slot *slots, const uint32_t *first,
		       const struct cpulist *offline)
{
	uint32_t n = 0, n_spread = 0, spread = 0;

	for (const struct unit *u = p->units; u; u = u->next)
		n_spread += u->spread;
	for (struct unit *u = p->units; u; u = u->next) {
		struct slot *s = &slots[first[u->group] + u->instance];

		if (is_off(u, offline)) {
			s->absent = PM_REASON_OFFLINE;
			continue;
		}
		s->unit = u;
		s->source = u->source ? u->source->ops->name : "pmrec";
		s->cpu = u->cpu;
		s->reader = u->spread && l->n_reading > l->n_own ?
				    l->n_own + (uint32_t)((uint64_t)spread++ * (l->n_reading - l->n_own) / n_spread) :
				    reader_of(l, u);
		s->every = every(u, l->interval_ns);
	}
	l->slot = memory_new(l->n_slots, sizeof(*l->slot));
	for (uint32_t i = 0; i < l->n_slots; i++)
		l->reader[slots[i].reader].n += slots[i].unit != NULL;
	for (uint32_t r = 0; r < l->n_readers; r++) {
		l->reader[r].first = n;
		n += l->reader[r].n;
		l->reader[r].n = 0;
	}
	/* What belongs to a CPU comes first, so that its times are close to those of the other CPUs. */
	for (int system = 0; system < 2; system++) {
		for (const struct unit *u = p->units; u; u = u->next) {
			const struct slot *s = &slots[first[u->group] + u->instance];
			struct readout_reader *r = &l->reader[s->reader];

			if (s->unit == u && (u->cpu == PM_NONE) == system)
				l->slot[r->first + r->n++] = *s;
		}
	}
	for (uint32_t i = 0; i < l->n_slots; i++)
		if (!slots[i].unit)
			l->slot[n++] = slots[i];
}

int readout_init(struct readout *l, const struct plan *p, uint64_t interval_ns, uint64_t chunk_ns, bool per_cpu,
		 const struct cpulist *offline, struct error *e)
{
	SCOPED(scoped_free) struct slot *slots = NULL;
	SCOPED(scoped_free) uint32_t *first = NULL;
	uint64_t rows;
	int err;

	*l = (struct readout){ .interval_ns = interval_ns, .unit_changes = p->unit_changes };
	add_readers(l, p, per_cpu, offline);
	err = add_groups(l, p, &slots, &first, e);
	if (err) {
		readout_release(l);
		return err;
	}
	sort_slots(l, p, slots, first, offline);
	rows = interval_ns && interval_ns < chunk_ns ? chunk_ns / interval_ns : 1;
	if (rows > PM_CHUNK_ROWS)
		rows = PM_CHUNK_ROWS;
	if (l->row_bytes && rows > CHUNK_BYTES / l->row_bytes)
		rows = CHUNK_BYTES / l->row_bytes;
	l->rows = rows ? (uint32_t)rows : 1;
	return 0;
}

/* Whether each unit still exists, where its slot says. */
static bool still_fits(const struct readout *l, const struct plan *p, const struct cpulist *offline)
{
	if (l->unit_changes != p->unit_changes)
		return false;
	for (uint32_t i = 0; i < l->n_slots; i++) {
		const struct slot *s = &l->slot[i];

		if (s->unit && !is_off(s->unit, offline) &&
		    (l->reader[s->reader].sampled != (s->unit->sampling != NULL) || s->cpu != s->unit->cpu))
			return false;
	}
	return true;
}

bool readout_switch(struct readout *l, const struct plan *p, const struct cpulist *offline)
{
	if (!still_fits(l, p, offline))
		return false;
	for (uint32_t i = 0; i < l->n_slots; i++) {
		struct slot *s = &l->slot[i];
		bool off = s->unit && is_off(s->unit, offline);

		if (s->away && !off) {
			atomic_store(&s->dead, 0);
			atomic_store(&s->told, false);
		}
		s->away = off;
	}
	return true;
}

/* Reads once into scratch memory; returns the ns that it took. */
static uint64_t trial_read(struct unit *u, const struct pm_group *g, uint64_t *scratch, uint16_t *status)
{
	uint64_t before, times[2];
	bool missing = false;
	struct cells c = { .v = scratch,
			   .status = status,
			   .step = 1,
			   .any_missing = &missing,
			   .n = whole(g) ? pm_group_values(g) : g->n_counters };

	if (g->flags & PM_GROUP_PERF_TIMES) {
		c.enabled = &times[0];
		c.running = &times[1];
	}
	before = clocks_monotonic();
	u->read(u, &c);
	return clocks_monotonic() - before;
}

/* CPU time of one timer wake-up, which on virtual machines is most of a reader's cost. */
static uint64_t wakeup_ns(void)
{
	const struct timespec t = { .tv_nsec = 200000 };
	uint64_t before;

	prctl(PR_SET_TIMERSLACK, 1);
	before = clocks_ns(CLOCK_THREAD_CPUTIME_ID);
	for (int i = 0; i < 8; i++)
		clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
	before = clocks_ns(CLOCK_THREAD_CPUTIME_ID) - before;
	prctl(PR_SET_TIMERSLACK, 0);
	return before / 8;
}

bool readout_measure_per_cpu(const struct plan *p, uint64_t interval_ns)
{
	SCOPED(scoped_free) uint64_t *scratch = NULL;
	SCOPED(scoped_free) uint16_t *status = NULL;
	SCOPED(cpulist_release) struct cpulist cpus = { 0 };
	SCOPED(affinity_restore) struct affinity before = { 0 };
	uint64_t all = 0, own = 0, wake, limit = SKEW_NS;
	uint32_t values = 1, here = (uint32_t)sched_getcpu();

	for (const struct unit *u = p->units; u; u = u->next) {
		const struct pm_group *g = pm_model_group(p->model, u->group);

		if (g && pm_group_values(g) > values)
			values = pm_group_values(g);
		if (u->cpu != PM_NONE && !u->sampling)
			memory_must(cpulist_add(&cpus, u->cpu));
	}
	scratch = memory_new(values, sizeof(*scratch));
	status = memory_new(values, sizeof(*status));
	if (cpus.n < 2)
		return false;
	if (!cpulist_has(&cpus, here))
		here = cpus.cpu[0];
	if (affinity_save(&before) || affinity_pin(here))
		return false;
	for (int pass = 0; pass < 2; pass++) {
		all = own = 0; /* the first pass warms the caches */
		for (struct unit *u = p->units; u; u = u->next) {
			const struct pm_group *g = pm_model_group(p->model, u->group);
			uint64_t ns;

			if (u->cpu == PM_NONE || !g || u->sampling)
				continue;
			ns = trial_read(u, g, scratch, status);
			all += ns;
			own += u->cpu == here ? ns : 0;
		}
	}
	wake = wakeup_ns();
	if (interval_ns && interval_ns / 10 < limit)
		limit = interval_ns / 10;
	/* A slightly higher cost is accepted: with several readers the CPUs' times are closer together, and a late
	 * reader delays only its own. */
	return (wake + own) * cpus.n <= (wake + all) * 3 / 2 || all > limit;
}
