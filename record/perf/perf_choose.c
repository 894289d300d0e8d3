/* Who reads the groups of CPUs at each tick: a reader, which a timer wakes, or the kernel in the timer's interrupt.
 * Both are tried for some milliseconds with the largest group on one CPU; the one that takes less CPU time is chosen.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "record/host/affinity.h"
#include "record/host/clocks.h"
#include "record/host/privileges.h"
#include "record/perf/perf_source.h"

/* At longer intervals the cost of a reader's wake-ups is not measurable, and it reads without delay. */
#define SAMPLE_MAX_NS 50000000u
/* As requested. */
#define SAMPLE_LIMIT_NS 500000000u
/* The kernel's clock is not faster. */
#define SAMPLE_MIN_NS 10000u

/* Short, so that others rarely take the CPU meanwhile; trials in which they did do not count, and are repeated. */
#define TRIAL_NS    100000u
#define TRIAL_TICKS 16
#define TRIALS      4
#define TRIALS_MAX  16

/* Whether a clock of the CPU can lead the group: system-wide events, in software or in the core. */
static bool can_be_sampled(const struct perf_group *g)
{
	bool can = !g->tasks && !g->n_cgroups && !g->bpf && g->way == PERF_BY_READ && g->n > 0;

	for (uint32_t k = 0; k < g->n && can; k++) {
		const struct event *ev = g->member[k]->ev;

		can = !(ev->mods & (EVENT_MOD_PINNED | EVENT_MOD_EXCLUSIVE)) && !ev->uncore &&
		      (ev->core || ev->type == PERF_TYPE_SOFTWARE || ev->type == PERF_TYPE_TRACEPOINT ||
		       !strcmp(ev->pmu, "msr"));
	}
	return can;
}

static int descending(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x < *y) - (*x > *y);
}

/* The longest gaps of a thread that only looks at the clock while ticks come: with as many gaps as ticks, their
 * median is what a tick takes of this CPU. False: the thread was preempted, and gaps of that time were not seen. */
static bool find_gaps(uint64_t gap[TRIAL_TICKS])
{
	const uint64_t window = (uint64_t)TRIAL_TICKS * TRIAL_NS, used = clocks_ns(CLOCK_PROCESS_CPUTIME_ID);
	uint64_t now, before = clocks_monotonic();
	const uint64_t end = before + window;

	memset(gap, 0, TRIAL_TICKS * sizeof(*gap));
	while (before < end) {
		now = clocks_monotonic();
		if (now - before > gap[TRIAL_TICKS - 1]) {
			gap[TRIAL_TICKS - 1] = now - before;
			qsort(gap, TRIAL_TICKS, sizeof(*gap), descending);
			now = clocks_monotonic();
		}
		before = now;
	}
	return clocks_ns(CLOCK_PROCESS_CPUTIME_ID) - used > window * 3 / 4;
}

static uint64_t sampled_tick(struct perf_row *row)
{
	uint64_t gap[TRIAL_TICKS], emptied, time, n = 0;
	bool alone;

	row->unit.sampling->start(&row->unit);
	alone = find_gaps(gap);
	emptied = clocks_monotonic();
	while (n < TRIAL_TICKS && row->unit.sampling->peek(&row->unit, &time)) {
		row->unit.sampling->take(&row->unit, NULL);
		n++;
	}
	return alone && n ? gap[n / 2] + (clocks_monotonic() - emptied) / n : 0;
}

struct trial {
	struct perf_row *row;
	uint32_t groups;
	_Atomic uint64_t done;
	_Atomic bool stop;
};

static void *reader_main(void *arg)
{
	const struct timespec interval = { .tv_nsec = TRIAL_NS };
	struct trial *t = arg;
	const struct perf_row *row = t->row;
	bool ok = true;

	prctl(PR_SET_TIMERSLACK, 1);
	while (ok && !t->stop && t->done < TRIAL_TICKS) {
		clock_nanosleep(CLOCK_MONOTONIC, 0, &interval, NULL);
		for (uint32_t k = 0; k < t->groups && ok; k++)
			ok = read(row->leader, row->got, (PERF_READ_HEAD + 1 + row->n) * sizeof(*row->got)) > 0;
		t->done += ok;
	}
	return NULL;
}

static uint64_t read_tick(struct perf_row *row, uint32_t groups)
{
	struct trial t = { .row = row, .groups = groups };
	pthread_t thread;
	uint64_t gap[TRIAL_TICKS], n;
	bool alone;

	if (pthread_create(&thread, NULL, reader_main, &t))
		return 0;
	alone = find_gaps(gap);
	n = t.done;
	t.stop = true;
	pthread_join(thread, NULL);
	return alone && n ? gap[n / 2] : 0;
}

/* The least of some trials, and how many there were. */
struct least {
	uint64_t ns;
	unsigned n;
};

static void take_less(struct least *least, uint64_t ns)
{
	least->n += ns != 0;
	least->ns = ns && (!least->ns || ns < least->ns) ? ns : least->ns;
}

/* Tries both for so many groups like this one, above ordinary work, as readers are, and takes the minimum of some
 * trials, because the machine may be busy. False: one of them cannot be tried. */
static bool try_both(struct perf_group *g, uint32_t groups, uint64_t *kernel_ns, uint64_t *reader_ns)
{
	SCOPED(affinity_restore) struct affinity before = { 0 };
	struct least kernel = { 0 }, reader = { 0 };
	int nice = getpriority(PRIO_PROCESS, 0);
	struct perf_row *row;

	if (affinity_save(&before))
		return false;
	g->sample_ns = TRIAL_NS;
	row = affinity_pin(g->cpus.cpu[0]) ? NULL : perf_row_new(g, perf_on_cpu((int)g->cpus.cpu[0]), 0);
	if (row && !perf_row_open(row, (struct perf_start){ .on = true }) && row->unit.sampling) {
		privileges_hurry();
		for (int i = 0; i < TRIALS_MAX && (kernel.n < TRIALS || reader.n < TRIALS); i++) {
			if (kernel.n < TRIALS)
				take_less(&kernel, sampled_tick(row) * groups);
			if (reader.n < TRIALS)
				take_less(&reader, read_tick(row, groups));
		}
		setpriority(PRIO_PROCESS, 0, nice);
	}
	if (row)
		row->unit.release(&row->unit);
	g->sample_ns = 0;
	*kernel_ns = kernel.ns;
	*reader_ns = reader.ns;
	return kernel.n && reader.n;
}

int perf_choose_sampling(struct perf_source *s, struct plan *p)
{
	const struct sample_options *o = &p->options->sample;
	struct perf_group *largest = NULL;
	uint64_t kernel_ns, reader_ns;
	uint32_t n = 0;
	int err = 0;

	if (o->sampling == SAMPLING_READER || o->interval_ns < SAMPLE_MIN_NS ||
	    o->interval_ns > (o->sampling == SAMPLING_KERNEL ? SAMPLE_LIMIT_NS : SAMPLE_MAX_NS))
		return 0;
	for (uint32_t i = 0; i < s->n_groups; i++) {
		struct perf_group *g = s->group[i];

		if (!can_be_sampled(g) || !g->cpus.n)
			continue;
		n++;
		largest = largest && largest->n >= g->n ? largest : g;
	}
	if (!largest)
		return 0;
	if (o->sampling == SAMPLING_AUTO && try_both(largest, n, &kernel_ns, &reader_ns)) {
		err = plan_fact(p, pm_u64(kernel_ns), "pmrec.sampling.kernel_ns");
		if (!err)
			err = plan_fact(p, pm_u64(reader_ns), "pmrec.sampling.reader_ns");
		if (err || reader_ns < kernel_ns)
			return err;
	}
	for (uint32_t i = 0; i < s->n_groups; i++)
		if (can_be_sampled(s->group[i]))
			s->group[i]->sample_ns = o->interval_ns;
	return 0;
}
