/*
 * The way of a recording to its incidents: all metrics at all levels become series of a bounded number of bins, of
 * which a recording with more intervals has longer ones; incident_scan.c finds in them what differs; the first ones
 * get the tasks that were busy then, by reading again; and all become sentences.
 */
#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/table.h"
#include "report/incident/incident_scan.h"
#include "report/input/input.h"
#include "report/machine/value_out.h"
#include "report/metric/bind.h"

/* ---- what people call a metric ---- */

#define CAUSE 0.25 /* of the best score; what has less is not taken for it */

enum rank {
	RANK_CAUSE, /* somebody did that */
	RANK_WORD,
	RANK_EFFECT, /* which comes of it */
	RANK_METRIC, /* it has no word */
	RANK_RAW,    /* a kernel counter, by its name there */
	RANK_AGAIN,  /* says what another one says */
};

/* What people call a metric, and from which change on anybody asks about it; an idle machine, and the recorder, do a
 * little of everything. A star in the word stands for what the metric's star matches. The first match counts. */
static const struct word {
	const char *metric, *word;
	enum rank rank;
	double least; /* in the metric's unit; 0: any that is clear */
	bool of_cpus; /* where a share is said, it is one of CPUs */
} words[] = {
	/* Hundreds of times a second on an idle machine: timers, and whoever looks at them. */
	{ "faults", "page faults", RANK_EFFECT, 100 },
	{ "ctxsw", "context switches", RANK_EFFECT, 100 },
	{ "irq", "interrupts", RANK_EFFECT, 100 },
	{ "irq.mce", "machine check exceptions", RANK_CAUSE },
	{ "irq.nmi", "non-maskable interrupts", RANK_METRIC, 100 },
	{ "irq.cal", "function call interrupts", RANK_METRIC, 100 },
	{ "irq.loc", "timer interrupts", RANK_METRIC, 100 },
	{ "irq.res", "rescheduling interrupts", RANK_METRIC, 100 },
	{ "irq.tlb", "TLB shootdowns", RANK_METRIC, 100 },
	{ "softirq.*", "soft interrupts for *", RANK_RAW, 100 },
	{ "sched.switches", "time slices", RANK_METRIC, 100 },
	{ "net.rx_packets", "packets received", RANK_METRIC, 100 },
	{ "net.tx_packets", "packets sent", RANK_METRIC, 100 },
	/* A process more or less each second, and what it brings along. */
	{ "forks", "forks", RANK_CAUSE, 10 },
	{ "exits", "processes that ended", RANK_METRIC, 10 },
	{ "tasks", "processes", RANK_METRIC, 10 },
	{ "migrations", "migrations", RANK_EFFECT, 10 },
	{ "faults.major", "major page faults", RANK_WORD, 5 },
	{ "runq", "runnable tasks", RANK_EFFECT },
	{ "blocked", "tasks blocked on I/O", RANK_EFFECT },
	/* A disk, or a network, moves a hundred times as much. */
	{ "disk.in", "read from disks", RANK_CAUSE, 0.5 },
	{ "disk.out", "written to disks", RANK_CAUSE, 0.5 },
	{ "net.rx", "received", RANK_CAUSE, 0.1 },
	{ "net.tx", "sent", RANK_CAUSE, 0.1 },
	{ "disk.reads", "reads", RANK_METRIC, 10 },
	{ "disk.writes", "writes", RANK_METRIC, 10 },
	{ "diskstats.reads_merged", "reads merged", RANK_METRIC, 10 },
	{ "diskstats.writes_merged", "writes merged", RANK_METRIC, 10 },
	{ "disk.read_await", "read latency", RANK_WORD, 0.2 },
	{ "disk.write_await", "write latency", RANK_WORD, 0.2 },
	{ "disk.discard_rate", "discarded", RANK_METRIC, 0.5 },
	{ "disk.discard_await", "discard latency", RANK_METRIC, 0.2 },
	{ "disk.flush_await", "flush latency", RANK_METRIC, 0.2 },
	{ "disk.queue", "disk queue", RANK_METRIC, 0.2 },
	{ "disk.busy", "disk busy", RANK_METRIC },
	{ "oom", "processes killed for memory", RANK_CAUSE },
	{ "swap.in", "pages swapped in", RANK_CAUSE, 10 },
	{ "swap.out", "pages swapped out", RANK_CAUSE, 10 },
	{ "vmstat.pgscan_*", "pages scanned to be reclaimed", RANK_RAW, 1000 },
	{ "vmstat.allocstall_*", "waits for free memory", RANK_RAW },
	{ "vmstat.workingset_refault_*", "reclaimed pages read again", RANK_RAW, 1000 },
	{ "psi.cpu", "pressure on CPUs", RANK_EFFECT, 2 },
	{ "psi.memory", "pressure on memory", RANK_EFFECT, 2 },
	{ "psi.io", "pressure on I/O", RANK_EFFECT, 2 },
	{ "util.user", "in user mode", RANK_WORD, 0, true },
	{ "util.system", "in the kernel", RANK_WORD, 0, true },
	{ "util.iowait", "waiting for I/O", RANK_EFFECT, 0, true },
	{ "util.steal", "taken by the hypervisor", RANK_WORD, 0, true },
	{ "util.softirq", "in soft interrupts", RANK_WORD, 0, true },
	{ "util.irq", "in interrupts", RANK_WORD, 0, true },
	{ "util.nice", "at low priority", RANK_WORD, 0, true },
	/* A scheduler gives everybody some milliseconds. */
	{ "sched.wait", "run queue wait", RANK_EFFECT, 5000 },
	{ "bzy_mhz", "busy frequency", RANK_WORD },
	{ "mhz", "frequency", RANK_WORD },
	{ "throttled.core", "core throttling events", RANK_CAUSE },
	{ "throttled.package", "package throttling events", RANK_CAUSE },
	{ "throttled.core.time", "core throttled", RANK_METRIC },
	{ "throttled.package.time", "package throttled", RANK_METRIC },
	{ "cycles_frequency", "frequency", RANK_METRIC },
	{ "pkgwatt", "power", RANK_METRIC },
	{ "cgroup.cpu", "CPU time", RANK_METRIC },
	{ "cgroup.throttled", "held up by its limit of CPU time", RANK_METRIC },
	{ "cgroup.memory", "memory", RANK_METRIC },
	{ "cgroup.cpu_waited", "waiting for CPUs", RANK_METRIC, 2 },
	{ "cgroup.memory_waited", "waiting for memory", RANK_METRIC, 2 },
	{ "cgroup.io_waited", "waiting for I/O", RANK_METRIC, 2 },
	{ "fs.used", "used space", RANK_METRIC },
	{ "fs.available", "free space", RANK_METRIC },
	{ "netdev.rx_dropped", "received packets dropped", RANK_METRIC },
	{ "netdev.tx_dropped", "packets to send dropped", RANK_METRIC },
	{ "netdev.rx_errors", "faulty packets received", RANK_METRIC },
	{ "netdev.tx_errors", "packets that could not be sent", RANK_METRIC },
	{ "tcp.in_segments", "TCP segments received", RANK_RAW, 100 },
	{ "tcp.out_segments", "TCP segments sent", RANK_RAW, 100 },
	{ "tcp.established", "TCP connections", RANK_METRIC },
	{ "tcp.retransmits", "TCP retransmissions", RANK_METRIC },
	{ "tcp.retransmit_share", "TCP segments retransmitted", RANK_METRIC },
	{ "memory.available", "available memory", RANK_METRIC },
	{ "memory.dirty", "dirty memory", RANK_METRIC },
	{ "meminfo.cached", "page cache", RANK_RAW },
	{ "meminfo.shmem", "shared memory", RANK_RAW },
	{ "meminfo.sreclaimable", "slab memory", RANK_RAW },
	{ "meminfo.committed_as", "committed memory", RANK_RAW },
	/* The rest says what one of those above says. */
	{ "throttle.core", "core throttling events", RANK_AGAIN },
	{ "throttle.package", "package throttling events", RANK_AGAIN },
	{ "net.bad", "bad packets", RANK_AGAIN },
	{ "memory.used", "memory in use", RANK_AGAIN },
	{ "vmstat.nr_free_pages", "free pages", RANK_AGAIN },
	{ "vmstat.nr_anon_pages", "pages of processes", RANK_AGAIN },
	{ "util", "busy", RANK_AGAIN, 0, true },
	{ "busy", "busy", RANK_AGAIN, 0, true },
	{ "util.idle", "idle", RANK_AGAIN, 0, true },
	{ "idle.*.residency", "in *", RANK_AGAIN, 10, true },
	{ "idle.*.requests", "entries into *", RANK_AGAIN, 100 },
	{ "cpus_*", "utilization", RANK_AGAIN, 0, true },
	{ "irq.count", "interrupts", RANK_AGAIN, 100 },
	{ "stat.intr", "interrupts", RANK_AGAIN, 100 },
	{ "irq.*", "interrupts of line *", RANK_METRIC, 50 },
	{ "context-switches", "context switches", RANK_AGAIN, 100 },
	{ "cs_per_second", "context switches", RANK_AGAIN, 100 },
	{ "cpu-migrations", "migrations", RANK_AGAIN, 10 },
	{ "migrations_per_second", "migrations", RANK_AGAIN, 10 },
	{ "page-faults", "page faults", RANK_AGAIN, 100 },
	{ "minor-faults", "page faults", RANK_AGAIN, 100 },
	{ "page_faults_per_second", "page faults", RANK_AGAIN, 100 },
	{ "disk.read_rate", "read from disks", RANK_AGAIN, 0.5 },
	{ "disk.write_rate", "written to disks", RANK_AGAIN, 0.5 },
	{ "avg_mhz", "mean frequency", RANK_AGAIN },
};

/* What a star matches. */
struct star {
	const char *at;
	size_t len;
};

static bool fits(const char *pattern, const char *metric, struct star *star)
{
	const char *at = strchr(pattern, '*');
	size_t head = at ? (size_t)(at - pattern) : 0, tail = at ? strlen(at + 1) : 0, all = strlen(metric);

	if (!at)
		return !strcmp(pattern, metric);
	*star = (struct star){ metric + head, all - head - tail };
	return all >= head + tail && !strncmp(pattern, metric, head) && !strcmp(at + 1, metric + all - tail);
}

/* NULL: there is none. `star` may be NULL. */
static const struct word *word_of(const char *metric, struct star *star)
{
	struct star none;

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (fits(words[i].metric, metric, star ? star : &none))
			return &words[i];
	return NULL;
}

static const struct word *row_of(const struct incident_series *s)
{
	return word_of(s->metric, NULL);
}

double incident_least(const char *metric)
{
	const struct word *w = word_of(metric, NULL);

	return w ? w->least : 0;
}

static enum rank rank_of(const struct incident_series *s)
{
	const struct word *w = row_of(s);

	return w ? w->rank : RANK_METRIC;
}

/* What has little of the best score is not taken for the cause. */
static enum rank rank_beside(const struct incident_series *s, double best)
{
	enum rank rank = rank_of(s);

	return rank < RANK_METRIC && s->score < CAUSE * best ? RANK_EFFECT : rank;
}

static int by_word(const void *a, const void *b, void *best)
{
	const struct incident_series *x = a, *y = b;
	enum rank i = rank_beside(x, *(double *)best), k = rank_beside(y, *(double *)best);

	if (i != k)
		return i < k ? -1 : 1;
	/* Of those that say the same, the first in the table is used. */
	if (i == RANK_AGAIN && strcmp(x->metric, y->metric) != 0)
		return (row_of(x) > row_of(y)) - (row_of(x) < row_of(y));
	return (x->score < y->score) - (x->score > y->score);
}

/* Puts what people know by name first. */
static void order(struct incident *i)
{
	double best = 0;

	for (uint32_t k = 0; k < i->n_series; k++)
		best = fmax(best, i->series[k].score);
	if (i->n_series)
		qsort_r(i->series, i->n_series, sizeof(*i->series), by_word, &best);
}

/* ---- series ---- */

#define MEMORY       (8u << 20) /* bytes of bins, about; four times as many if there are more series than foreseen */
#define BINS_MOST    16384
#define BINS_LEAST   64
#define REQUESTS_FEW 10
#define TIME_LITTLE  0.1 /* of the interval */
#define LOSSES_MOST  1000
#define TASKED       5 /* incidents whose tasks are looked for */

struct drawn {
	const struct sheet_cell *cell;
	const struct sheet_cell *count; /* the number of things that the cell is the mean of; NULL: not counted */
	uint32_t series;
};

struct collect {
	struct sink sink;
	struct incident_store *s;
	const struct places *places;
	bool *wanted;        /* owned: by metric */
	uint8_t *fault;      /* owned: by counter, of the metrics that consist of it */
	struct drawn *drawn; /* owned */
	size_t n_drawn;
	uint64_t origin_ns;
	double shift_s, end_s; /* where the current recording begins; the last time that was seen */
	/* Beside another sink intervals are those of the recorder, and join here: */
	uint64_t every_ns; /* so long a bin is; 0: an interval is one */
	uint64_t number;   /* of the bin that is open, of those of the recording */
	struct {
		uint32_t bin;
		double seconds; /* 0: says nothing */
	} * taken;              /* owned: by interval */
	uint32_t n_taken, layouts;
	size_t damages;
	int64_t start_wall_ns;
	bool back; /* a recording was made before the one that stands before it: one clock cannot tell both times */
};

/* ---- the store ---- */

static void store_release(struct incident_store *s)
{
	for (uint32_t i = 0; i < s->n_rows; i++)
		free(s->row[i].series);
	for (uint32_t i = 0; i < s->n_series; i++)
		free(s->series[i].v);
	for (uint32_t i = 0; i < s->n_losses; i++)
		free(s->loss[i].text);
	free(s->metric);
	free(s->row);
	free(s->series);
	free(s->loss);
	free(s->start);
	free(s->from_s);
	free(s->to_s);
	bins_release(&s->about);
	*s = (struct incident_store){ 0 };
}

static uint32_t bins_for(size_t cells)
{
	size_t fit = MEMORY / sizeof(float) / (cells ? cells : 1);

	return fit > BINS_MOST ? BINS_MOST : fit < BINS_LEAST ? BINS_LEAST : (uint32_t)fit;
}

static void more_bins(float **v, uint32_t old, uint32_t bins)
{
	*v = memory_resize(*v, bins, sizeof(**v));
	for (uint32_t i = old; i < bins; i++)
		(*v)[i] = NAN;
}

/* Makes room for more bins. */
static void store_bins(struct incident_store *s, uint32_t bins)
{
	s->from_s = memory_resize(s->from_s, bins, sizeof(*s->from_s));
	s->to_s = memory_resize(s->to_s, bins, sizeof(*s->to_s));
	for (uint32_t i = 0; i < s->n_series; i++)
		more_bins(&s->series[i].v, s->bins, bins);
	s->bins = bins;
}

/* The place of a series, from 1 on; 0: there is none. */
static uint32_t place_of(const struct incident_store *s, uint32_t metric, uint32_t row)
{
	return row < s->n_rows && metric < s->row[row].room ? s->row[row].series[metric] : 0;
}

/* The place of a series, added if new; PM_NONE: there is no room. */
static uint32_t store_series(struct incident_store *s, uint32_t metric, uint32_t row)
{
	uint32_t place = place_of(s, metric, row);
	struct incident_row *r;

	if (place)
		return place - 1;
	if ((uint64_t)s->n_series * s->bins * sizeof(float) > 4 * (uint64_t)MEMORY)
		return PM_NONE;
	memory_room(&s->series, s->n_series, sizeof(*s->series));
	s->series[s->n_series] = (struct incident_row_series){ .metric = metric, .row = row };
	more_bins(&s->series[s->n_series].v, 0, s->bins);
	memory_hold(&s->row, &s->n_rows, row + 1, sizeof(*s->row));
	r = &s->row[row];
	memory_hold(&r->series, &r->room, (size_t)metric + 1, sizeof(*r->series));
	r->series[metric] = ++s->n_series;
	return s->n_series - 1;
}

/* ---- laying out ---- */

static uint32_t find_metric(struct collect *c, const struct binding *b, const struct bound_metric *m)
{
	struct incident_store *s = c->s;
	uint32_t place = bins_metric(&s->about, m);
	const struct bins_metric *x = &s->about.metric[place];
	bool amount;

	memory_hold(&s->metric, &s->n_metrics, place + 1, sizeof(*s->metric));
	if (s->metric[place].name)
		return place;
	amount = metric_is_amount(b, m, c->places->model);
	s->metric[place] = (struct incident_metric){
		.name = x->name,
		.display = x->display,
		.unit = x->unit,
		.amount = amount,
		.counts = !strcmp(x->unit, "1/s") || (!strcmp(x->unit, "1") && amount),
		.fault = m->counter ? c->fault[m->counter] : m->fault,
	};
	return place;
}

/* Whether the metric shows exactly what one counter says. */
static uint32_t stands_for(const struct binding *b, const struct bound_metric *m)
{
	uint32_t counter = 0;

	for (uint32_t i = 0; i < m->n_inputs; i++) {
		const struct bound_input *in = &b->input[m->input[i]];

		if (in->constant || in->duration)
			continue;
		if (in->more->op || in->n_counters != 1 || (counter && in->counter[0] != counter))
			return 0;
		counter = in->counter[0];
	}
	return counter;
}

/* Whether others say more than a metric: of CPUs, clocks always run, and util says whether they are busy or idle; how
 * long a task or an idle state lasts at a time is anything on a machine that does little. */
static bool says_less(const struct bound_metric *m)
{
	static const char *const of_cpus[] = { "cpus_utilized", "cpus_utilized_clock", "cpus_busy", "util.idle" };

	for (size_t i = 0; i < sizeof(of_cpus) / sizeof(*of_cpus) && m->kind == PM_CPU; i++)
		if (!strcmp(of_cpus[i], m->name))
			return true;
	return !strcmp(m->name, "sched.slice") || !fnmatch("idle.*.duration", m->name, 0);
}

/* Omits counters that a metric shows or that are computed from the same time, and registers whose bits are not an
 * amount. */
static void choose(const struct sink_plan *plan, bool **wanted, uint8_t **fault)
{
	const struct binding *b = plan->binding;
	const struct pm_model *m = plan->places->model;
	SCOPED(scoped_free) bool *known = memory_new((size_t)m->n_counters + 1, sizeof(*known));

	free(*wanted);
	free(*fault);
	*wanted = memory_new(b->n_metrics, sizeof(**wanted));
	*fault = memory_new((size_t)m->n_counters + 1, sizeof(**fault));
	for (size_t i = 0; i < b->n_metrics; i++) {
		const struct bound_metric *x = &b->metric[i];
		uint32_t of = x->counter ? 0 : stands_for(b, x);

		if (x->counter || x->absent || x->estimate || x->kind == PM_TASK || (of && known[of]) || says_less(x))
			continue;
		(*wanted)[i] = true;
		if (of)
			known[of] = true;
		for (uint32_t k = 0; k < x->n_inputs; k++) {
			const struct bound_input *in = &b->input[x->input[k]];

			for (uint32_t n = 0; !in->constant && n < in->n_counters; n++) {
				if (strchr("sm", pm_model_counter(m, in->counter[n])->unit[0]))
					known[in->counter[n]] = true;
				if (x->fault && !in->duration)
					(*fault)[in->counter[n]] = x->fault;
			}
		}
	}
	for (size_t i = 0; i < b->n_metrics; i++) {
		const struct bound_metric *x = &b->metric[i];
		const struct pm_counter *k = x->counter ? pm_model_counter(m, x->counter) : NULL;

		/* What is left of these says how they were read; and most of what the kernel counts of memory is a
		 * part of something else. */
		if (!k || known[k->id] || x->digits || !strcmp(k->source, "tasks") || !strcmp(k->source, "cgroups") ||
		    k->type == PM_TEXT || k->type == PM_BYTES || k->semantics == PM_BITFIELD ||
		    k->semantics == PM_STATE ||
		    ((!strcmp(k->source, "vmstat") || !strcmp(k->source, "meminfo")) && !word_of(x->name, NULL)))
			continue;
		(*wanted)[i] = true;
	}
}

static bool has_packages(const struct places *p)
{
	for (uint32_t i = 1; i < p->n; i++)
		if (p->cpu[i].package != PM_NONE && p->cpu[i].package != p->cpu[0].package)
			return true;
	return false;
}

static void wish(struct sink_plan *plan, const bool *shown)
{
	static const struct sheet_config by_cpu = { .per = PM_CPU, .summary = true, .sum_tasks = true };
	static const struct sheet_config by_package = { .per = PM_PACKAGE, .sum_tasks = true };

	plan->sheet[plan->n_sheets++] = (struct sink_wish){ by_cpu, shown };
	if (has_packages(plan->places))
		plan->sheet[plan->n_sheets++] = (struct sink_wish){ by_package, shown };
}

/* The approximate number of series: there are about as many metrics as counters. */
static size_t cells_of(const struct pm_model *m)
{
	size_t n = 0;

	for (uint32_t i = 0; i < m->n_groups; i++)
		n += m->group[i].flags & PM_GROUP_LIST ?
			     m->group[i].n_counters :
			     (size_t)m->group[i].n_counters * (m->group[i].n_instances + 1);
	return n;
}

static int plan(struct sink *sink, struct sink_plan *plan)
{
	struct collect *c = (struct collect *)sink;

	c->places = plan->places;
	c->s->tasks |= pm_model_counter_named(plan->places->model, "tasks.user") != NULL;
	choose(plan, &c->wanted, &c->fault);
	wish(plan, c->wanted);
	return 0;
}

static const struct sheet_cell *count_of(const struct sheet *sheet, const struct sheet_row *row,
					 const struct bound_metric *mean)
{
	for (uint32_t k = 0; k < row->n_cells && mean->about->requests; k++)
		if (!strcmp(sheet->column[row->cell[k].column].metric->name, mean->about->requests))
			return &row->cell[k];
	return NULL;
}

static int shape(struct sink *sink, const struct sheet *sheet, size_t n)
{
	struct collect *c = (struct collect *)sink;
	size_t cells = 0;

	for (size_t i = 0; i < n; i++)
		for (uint32_t r = 0; r < sheet[i].n_rows; r++)
			cells += sheet[i].row[r].n_cells;
	free(c->drawn);
	c->n_drawn = 0;
	c->layouts++;
	c->drawn = memory_new(cells, sizeof(*c->drawn));
	for (size_t i = 0; i < n; i++)
		for (uint32_t r = 0; r < sheet[i].n_rows; r++) {
			const struct sheet_row *from = &sheet[i].row[r];
			bool only = c->places->n == 1 && from->place.kind == PM_CPU;
			uint32_t row = bins_row(&c->s->about, c->places, &from->place);

			for (uint32_t k = 0; k < from->n_cells; k++) {
				const struct bound_metric *m = sheet[i].column[from->cell[k].column].metric;
				uint32_t metric, series;

				if (!c->wanted[m - sheet[i].binding->metric])
					continue;
				metric = find_metric(c, sheet[i].binding, m);
				/* What the only CPU does, the system does, whose row is the first. */
				if (only && c->s->about.row[0].kind == PM_SYSTEM && place_of(c->s, metric, 0))
					continue;
				series = store_series(c->s, metric, row);
				if (series == PM_NONE)
					continue;
				/* Metrics of packages are in two sheets. */
				if (c->s->series[series].layout == c->layouts)
					continue;
				c->s->series[series].layout = c->layouts;
				c->drawn[c->n_drawn++] =
					(struct drawn){ &from->cell[k], count_of(&sheet[i], from, m), series };
			}
		}
	return 0;
}

/* ---- intervals ---- */

/* Milliseconds per request, where a few requests took next to no time together: their mean says nothing. */
static bool says_nothing(double mean, double rate, double seconds)
{
	return rate * seconds < REQUESTS_FEW && rate * mean < 1000 * TIME_LITTLE;
}

/* Series by series, because the values of each are adjacent, here and there. */
static void put_values(struct collect *c, size_t n)
{
	for (const struct drawn *d = c->drawn; d < c->drawn + c->n_drawn; d++) {
		struct incident_row_series *x = &c->s->series[d->series];
		const struct value *v = d->cell->value;
		bool amount = c->s->metric[x->metric].amount;

		for (size_t k = 0; k < n; k++) {
			double seconds = c->taken[k].seconds;

			/* It may have been away, so that this is not the bin that was open before. */
			if (x->bin != c->taken[k].bin)
				x->sum = x->weight = 0;
			x->bin = c->taken[k].bin;
			if (!v[k].reason && isfinite(v[k].v) && seconds > 0 &&
			    !(d->count && says_nothing(v[k].v, d->count->value[k].v, seconds))) {
				x->sum += amount ? v[k].v : v[k].v * seconds;
				x->weight += seconds;
			}
			if (x->weight > 0 && (k + 1 == n || c->taken[k + 1].bin != x->bin))
				x->v[x->bin] = (float)(x->sum / x->weight);
		}
	}
}

/* The beginning of a recording; what lies between two of them counts as time. */
static void find_origin(struct collect *c, const struct interval *interval)
{
	int64_t wall_ns = interval->wall_ns - (int64_t)(interval->to_ns - interval->from_ns);
	double at_s;

	c->number = UINT64_MAX;
	c->origin_ns = interval->from_ns;
	if (!interval->wall_ns)
		return;
	c->start_wall_ns = c->start_wall_ns ? c->start_wall_ns : wall_ns;
	at_s = (double)(wall_ns - c->start_wall_ns) / 1e9;
	c->back |= at_s < c->shift_s - 1;
	c->shift_s = fmax(c->shift_s, at_s);
}

static int intervals(struct sink *sink, const struct sheet *sheet, const struct interval *interval, size_t n)
{
	struct collect *c = (struct collect *)sink;
	struct incident_store *s = c->s;

	if (n && !c->origin_ns)
		find_origin(c, interval);
	memory_hold(&c->taken, &c->n_taken, n, sizeof(*c->taken));
	for (size_t k = 0; k < n; k++) {
		uint64_t middle = (interval[k].from_ns + interval[k].to_ns) / 2 - c->origin_ns;
		uint64_t number = c->every_ns ? middle / c->every_ns : 0;

		if (interval[k].duration_ns && (!c->every_ns || number != c->number)) {
			if (s->used == s->bins)
				store_bins(s, 2 * s->bins);
			s->from_s[s->used++] =
				c->shift_s + (double)(int64_t)(interval[k].from_ns - c->origin_ns) / 1e9;
		}
		c->taken[k].seconds = (double)interval[k].duration_ns / 1e9;
		c->taken[k].bin = s->used ? s->used - 1 : 0;
		if (!interval[k].duration_ns)
			continue;
		c->number = number;
		c->end_s = c->shift_s + (double)(int64_t)(interval[k].to_ns - c->origin_ns) / 1e9;
		s->to_s[s->used - 1] = c->end_s;
	}
	put_values(c, n);
	return 0;
}

/* ---- what is lost ---- */

/* What precedes the first interval counts as its beginning. */
static double seconds_at(const struct collect *c, uint64_t ns)
{
	return c->shift_s + (c->origin_ns && ns > c->origin_ns ? (double)(ns - c->origin_ns) / 1e9 : 0);
}

static void lose(struct collect *c, uint64_t from_ns, uint64_t to_ns, uint64_t ticks, const char *text)
{
	struct incident_store *s = c->s;
	struct incident_loss loss = { .from_s = seconds_at(c, from_ns),
				      .to_s = seconds_at(c, to_ns),
				      .ticks = ticks };

	if (s->n_losses == LOSSES_MOST)
		return;
	loss.text = memory_text(text);
	memory_room(&s->loss, s->n_losses, sizeof(*s->loss));
	s->loss[s->n_losses++] = loss;
}

static void event(struct sink *sink, const struct pm_event *e)
{
	static const char *const what[] = { [PM_EVENT_SUSPEND] = "the machine slept",
					    [PM_EVENT_CLOCK_STEP] = "the clock was set",
					    [PM_EVENT_CPU_OFFLINE] = "a CPU went offline",
					    [PM_EVENT_FAILED] = "a source stopped delivering" };
	struct collect *c = (struct collect *)sink;
	uint64_t since = pm_map_u64(&e->attrs, PM_EVENT_KEY_SINCE, e->time_ns);
	uint64_t cpu = pm_map_u64(&e->attrs, PM_EVENT_KEY_CPU, UINT64_MAX);
	uint64_t ticks = pm_map_u64(&e->attrs, PM_EVENT_KEY_COUNT, 0), to_ns = e->time_ns;
	uint64_t interval = pm_map_u64(&pm_reader_model(sink->reader)->header, PM_HEADER_INTERVAL, 0);
	char text[48];

	if (e->type == PM_EVENT_LOST) {
		/* A recorder may tell only when it began, and how many. */
		if (to_ns <= since)
			to_ns = since + (uint64_t)fmin((double)ticks * (double)interval, 1e18);
		lose(c, since < e->time_ns ? since : e->time_ns, to_ns, ticks, "");
	} else if (e->type == PM_EVENT_CPU_OFFLINE && cpu != UINT64_MAX) {
		snprintf(text, sizeof(text), "CPU %llu went offline", (unsigned long long)cpu);
		lose(c, e->time_ns, e->time_ns, 0, text);
	} else if (e->type < sizeof(what) / sizeof(*what) && what[e->type]) {
		lose(c, e->time_ns, e->time_ns, 0, what[e->type]);
	}
}

static int end(struct sink *sink)
{
	struct collect *c = (struct collect *)sink;
	size_t n;
	const struct pm_damage *d = pm_reader_damage(sink->reader, &n);

	for (; c->damages < n; c->damages++)
		if (d[c->damages].from_ns && !d[c->damages].harmless && d[c->damages].kind != PM_DAMAGE_NO_END &&
		    d[c->damages].kind != PM_DAMAGE_CUT)
			lose(c, d[c->damages].from_ns,
			     d[c->damages].to_ns ? d[c->damages].to_ns : d[c->damages].from_ns, 0,
			     "the recording is damaged");
	memory_room(&c->s->start, c->s->recordings, sizeof(*c->s->start));
	c->s->start[c->s->recordings++] = (struct incident_start){ c->shift_s, c->origin_ns };
	c->shift_s = c->end_s;
	c->origin_ns = 0;
	return 0;
}

static const struct sink_ops ops = {
	.plan = plan, .shape = shape, .intervals = intervals, .event = event, .end = end
};

/* Chooses the bins: a recording that has more intervals is read in longer ones. */
static int choose_bins(struct incident_store *s, struct pipeline_config *config, struct pm_reader *whole,
		       const char *path, struct error *e)
{
	struct pm_reader *reader;
	struct pm_item item = { 0 };
	struct pm_extent x;
	uint64_t interval;
	uint32_t most;
	int r = pm_reader_extent(whole, &x);

	s->per_bin = 1;
	/* A stream has no extent, nor have some damaged files. */
	if (r == -EIO)
		return input_failed(e, r, "reading");
	store_bins(s, BINS_LEAST);
	if (r)
		return 0;
	if ((r = input_open(&reader, path, false, e)))
		return r;
	do
		r = pm_reader_next(reader, &item);
	while (r == 1 && item.kind != PM_ITEM_CHUNK);
	interval = pm_map_u64(&pm_reader_model(reader)->header, PM_HEADER_INTERVAL, 0);
	most = bins_for(cells_of(pm_reader_model(reader)));
	if (x.snapshots > most && x.to_ns > x.from_ns) {
		s->per_bin = (uint32_t)((x.snapshots + most - 1) / most);
		config->mode = PIPELINE_EVERY;
		config->every_ns = s->per_bin * (interval ? interval : (x.to_ns - x.from_ns) / (x.snapshots - 1));
	}
	pm_reader_close(reader);
	if (r < 0)
		return input_failed(e, r, "reading");
	if (x.snapshots > BINS_LEAST)
		store_bins(s, x.snapshots < most ? (uint32_t)x.snapshots : most);
	return 0;
}

static void finish(struct collect *c, struct incidents *found)
{
	found->start_wall_ns = c->back ? 0 : c->start_wall_ns;
	found->duration_s = c->end_s;
	free(c->wanted);
	free(c->fault);
	free(c->drawn);
	free(c->taken);
}

/* ---- who did more then than before and after ---- */

#define TASKS      512
#define TASK_LEAST 0.02 /* of a CPU */
#define AROUND     5    /* intervals before and after, or as many as it lasted */
#define FIRST_S    0.5  /* after the start: only later readings show who comes */
#define RSS_LEAST  16e6 /* bytes; below it a task is not recorded for its memory */
#define RSS_OF     0.1  /* share of the memory that the incident took */

struct task {
	double cpu[2], bytes[2], ended; /* outside, inside */
	double grown, most;             /* bytes by which its memory grew; of one process, with this pid: */
	char *name, *parent_name;       /* owned; the parent's name only for short-lived ones */
	uint64_t pid, parent;           /* pid 0: all short-lived ones of that name and parent */
	uint64_t grower;
	bool several; /* processes of that name */
};

/* What counters say of a task. */
enum { USER, SYSTEM, READ, WRITTEN, ENDED, RSS, COUNTERS };
static const char *const counted[COUNTERS] = { "tasks.user",  "tasks.system", "tasks.read",
					       "tasks.write", "tasks.ended",  "tasks.rss" };

/* The last reading of an instance. */
struct last_reading {
	uint32_t id;
	uint64_t ns, v[COUNTERS];
	struct task *task; /* NULL: nobody's yet */
	double rss[2];     /* before, and the most since then */
};

/* One incident, whose tasks from `from_s` to `to_s` are examined. Values are taken as they were recorded: only
 * differences are wanted, and of few of the chunks. */
struct look {
	struct incident *i;
	double from_s, to_s;
	double inside_s, outside_s;
	struct task *task; /* owned */
	struct task rest;  /* of all for which there is no room */
	uint32_t n_tasks;
	struct pm_reader *reader;
	const struct pm_model *model;
	struct last_reading *reading; /* owned; by slot of the instance */
	uint32_t n_readings;
	struct incident_start start; /* of the recording that is being read */
	uint64_t first_ns;           /* the first snapshot that is read */
};

/* Processes of one name are one entry; short-lived ones are many, named by their parent, too. */
static struct task *task_of(struct look *l, const struct pm_instance *i)
{
	uint64_t pid = pm_map_u64(&i->attrs, PM_INSTANCE_PID, 0);
	uint64_t parent = pid ? 0 : pm_map_u64(&i->attrs, PM_INSTANCE_PARENT, 0);
	const char *name = pm_map_text(&i->attrs, PM_INSTANCE_COMM, "");
	struct task *t;

	if (!*name)
		name = pm_map_text(&i->attrs, PM_INSTANCE_NAME, "?");
	for (t = l->task; t < l->task + l->n_tasks; t++)
		if (!t->pid == !pid && t->parent == parent && t->name && !strcmp(t->name, name)) {
			t->several |= t->pid != pid;
			return t;
		}
	if (l->n_tasks == TASKS)
		return &l->rest;
	l->n_tasks++;
	*t = (struct task){ .name = memory_text(name),
			    .parent_name =
				    memory_text(pid ? "" : pm_map_text(&i->attrs, PM_INSTANCE_PARENT_COMM, "")),
			    .pid = pid,
			    .parent = parent };
	return t;
}

static bool is_of_tasks(void *ctx, const struct pm_group *g)
{
	const struct look *l = ctx;
	const struct pm_counter *c = g->n_counters ? pm_model_counter(l->model, g->counter[0]) : NULL;

	return c && !strcmp(c->source, "tasks");
}

static double task_seconds(const struct look *l, uint64_t ns)
{
	return l->start.at_s + (double)(int64_t)(ns - l->start.origin_ns) / 1e9;
}

/* By how much a process grew since its first reading, or, if it came in a stretch or shortly before, since 0: in a
 * drift it may only have been seen late. What has ended has no memory left. */
static void add_rss(struct task *t, uint64_t pid, double rss[2], double v, bool inside, bool drift, bool came)
{
	double had = fmax(rss[1] - rss[0], 0), grown;

	/* One byte is as little as none, but known. */
	if (!(rss[0] > 0))
		rss[0] = came && !drift ? 1 : v;
	if (v > 0 && inside)
		rss[1] = drift ? v : fmax(rss[1], v);
	grown = fmax(rss[1] - rss[0], 0);
	t->grown += grown - had;
	if (grown > t->most || pid == t->grower) {
		t->most = grown;
		t->grower = pid;
	}
}

static void add_value(struct look *l, struct last_reading *r, const struct pm_instance *i, int what, double v,
		      double middle)
{
	bool inside = middle > l->i->from_s && middle < l->i->to_s;

	if (middle < l->from_s || middle > l->to_s)
		return;
	if (!r->task)
		r->task = task_of(l, i);
	if (what == READ || what == WRITTEN)
		r->task->bytes[inside] += v;
	else if (what == ENDED)
		r->task->ended += inside ? v : 0;
	else if (what == RSS)
		add_rss(r->task, pm_map_u64(&i->attrs, PM_INSTANCE_PID, 0), r->rss, v, inside,
			l->i->kind == INCIDENT_DRIFT,
			task_seconds(l, i->added_ns) > fmax(l->from_s, l->start.at_s + FIRST_S));
	else
		r->task->cpu[inside] += v;
}

static struct last_reading *reading_of(struct look *l, const struct pm_instance *i)
{
	struct last_reading *r;

	if (i->slot >= l->n_readings) {
		uint32_t n = 2 * i->slot + 64;

		l->reading = memory_resize(l->reading, n, sizeof(*r));
		memset(l->reading + l->n_readings, 0, (n - l->n_readings) * sizeof(*r));
		l->n_readings = n;
	}
	r = &l->reading[i->slot];
	/* Who comes in the middle begins at 0. */
	if (r->id != i->id || r->ns < l->first_ns)
		*r = (struct last_reading){ .id = i->id, .ns = i->added_ns >= l->first_ns ? i->added_ns : 0 };
	return r;
}

static void take_group(struct look *l, const struct pm_chunk *c, const struct pm_chunk_group *values)
{
	const struct pm_group *g = pm_model_group(l->model, values->group);
	uint32_t n = g->n_instances, head = pm_group_head(g);

	for (uint32_t at = 0; at < n && !(g->flags & PM_GROUP_LIST); at++) {
		const struct pm_instance *i = pm_model_instance(l->model, g->instance[at]);
		struct last_reading *r;

		if (!i || i->kind != PM_TASK)
			continue;
		r = reading_of(l, i);
		for (uint32_t k = 0; k < g->n_counters; k++) {
			const struct pm_counter *counter = pm_model_counter(l->model, g->counter[k]);
			double unit = (double)counter->scale.num / (double)counter->scale.den;
			uint64_t ns = r->ns;
			int what = 0;

			while (what < COUNTERS && strcmp(counted[what], counter->name) != 0)
				what++;
			for (uint32_t row = 0; row < c->rows && what < COUNTERS; ns = c->tick[row++]) {
				double now = task_seconds(l, c->tick[row]),
				       middle = ns ? (task_seconds(l, ns) + now) / 2 : now;
				size_t place = (head + (size_t)k * n + at) * values->stride + row;
				uint64_t v = values->v[place], before = what == RSS ? 0 : r->v[what];

				if (values->status && values->status[place])
					continue;
				if (what == RSS || (ns && v > before && c->tick[row] > l->first_ns))
					add_value(l, r, i, what, (double)(v - before) * unit, middle);
				r->v[what] = v;
			}
		}
		r->ns = c->rows ? c->tick[c->rows - 1] : r->ns;
	}
}

/* The chunks that have something of its time. */
static int read_chunks(struct look *l)
{
	struct pm_item item;
	const struct pm_chunk *c;
	int err = 0, got;

	if (l->from_s > l->start.at_s)
		pm_reader_seek(l->reader, l->start.origin_ns + (uint64_t)((l->from_s - l->start.at_s) * 1e9), false);
	while (!err && (got = pm_reader_next(l->reader, &item)) != 0) {
		if (got < 0)
			return got;
		if (item.kind == PM_ITEM_RECORDING)
			break;
		if (item.kind != PM_ITEM_CHUNK)
			continue;
		if (task_seconds(l, item.chunk.from_ns) > l->to_s)
			break;
		got = pm_reader_decode(l->reader, &c);
		err = got == -EBADMSG ? 0 : got;
		if (!got && !l->first_ns)
			l->first_ns = c->tick[0];
		for (uint32_t k = 0; !got && k < c->n_groups; k++)
			if (!c->group[k].absent)
				take_group(l, c, &c->group[k]);
		pm_reader_forget(l->reader, NULL, NULL);
	}
	return err;
}

static double more_than_before(const struct look *l, const double v[2])
{
	return l->outside_s > 0 ? v[1] - v[0] / l->outside_s * l->inside_s : v[1];
}

struct kept {
	const struct task *of;
	struct incident_task task;
};

static int by_cpu(const void *a, const void *b)
{
	const struct incident_task *x = &((const struct kept *)a)->task, *y = &((const struct kept *)b)->task;

	/* Memory counts before all else, and each end as much as a millisecond. */
	double a_s = x->cpu + (double)x->ended / 1e3 + 1e6 * x->rss,
	       b_s = y->cpu + (double)y->ended / 1e3 + 1e6 * y->rss;

	return (a_s < b_s) - (a_s > b_s);
}

/* The index of the parent of short-lived tasks among the n; n: it is not there. */
static uint32_t parent_of(const struct kept *kept, uint32_t n, const struct task *of)
{
	uint32_t k = of->parent ? 0 : n;

	while (k < n && (kept[k].of->pid != of->parent || kept[k].of->several))
		k++;
	return k;
}

/* Names a parent before its children. */
static void parents_first(struct kept *kept, uint32_t n)
{
	for (uint32_t k = 0; k < n; k++) {
		uint32_t at = parent_of(kept, n, kept[k].of);

		if (at < n && at > k) {
			struct kept parent = kept[at];

			memmove(&kept[k + 1], &kept[k], (at - k) * sizeof(*kept));
			kept[k] = parent;
		}
	}
}

/* A number as people read it: "1,835", "68.2", "0.031"; of bytes "68.2 k". */
static void put_number(struct buf *out, double v, bool bytes)
{
	double size = fabs(v), unit = 1e15;
	char text[32];
	int n;

	for (const char *sign = "PTGMk"; *sign; sign++, unit /= 1e3)
		if (size >= 0.9995 * unit && (bytes || size >= 1e7)) {
			buf_printf(out, size < 999.5 * unit ? "%.3g %c" : "%.0f %c", v / unit, *sign);
			return;
		}
	if (size < 999.5) {
		buf_printf(out, "%.*g", size >= 1 ? 3 : 2, size < 1e-9 ? 0 : v);
		return;
	}
	n = snprintf(text, sizeof(text), "%.0f", size);
	if (v < 0)
		buf_addch(out, '-');
	for (int i = 0; i < n; i++) {
		if (i && !((n - i) % 3))
			buf_addch(out, ',');
		buf_addch(out, text[i]);
	}
}

static char *name_of(const struct kept *kept, uint32_t n, const struct kept *one)
{
	const struct task *t = one->of;
	struct buf name = BUF_INIT;

	if (t->pid || one->task.ended <= 1) {
		buf_addstr(&name, t->name ? t->name : "?");
	} else {
		put_number(&name, (double)one->task.ended, false);
		if (parent_of(kept, n, t) < n)
			buf_addstr(&name, " short-lived children");
		else
			buf_printf(&name, " short-lived %s", t->name ? t->name : "?");
	}
	if (t->several)
		buf_addstr(&name, " (several)");
	else if (t->pid)
		buf_printf(&name, " (pid %llu)", (unsigned long long)t->pid);
	else if (parent_of(kept, n, t) == n && t->parent_name && t->parent_name[0])
		buf_printf(&name, " of %s", t->parent_name);
	if (!t->pid && parent_of(kept, n, t) == n && t->parent)
		buf_printf(&name, " (pid %llu)", (unsigned long long)t->parent);
	return memory_checked(buf_detach(&name));
}

/* Whether other tasks have the name of one that ended: naming them once is enough. */
static bool lives_too(const struct look *l, const struct task *t)
{
	for (uint32_t k = 0; k < l->n_tasks && !t->pid; k++)
		if (l->task[k].pid && l->task[k].name && t->name && !strcmp(l->task[k].name, t->name))
			return true;
	return false;
}

/* How much memory a task has to have taken to be named for it. INFINITY: the incident is not about that. */
static double rss_least(const struct incident *i)
{
	static const char *const of[] = { "memory.available", "memory.used", "meminfo.anon", "vmstat.nr_anon",
					  "psi.memory",       "swap.",       "oom" };
	double least = INFINITY;

	for (uint32_t k = 0; k < i->n_series; k++) {
		const struct incident_series *s = &i->series[k];
		/* Or pages. */
		double unit = !strcmp(s->unit, "MB") ? 1e6 :
			      !strcmp(s->unit, "By") ? 1 :
			      !strcmp(s->unit, "1")  ? 4096 :
						       0;

		double taken = !strcmp(s->metric, of[0]) ? s->usual - s->value : s->value - s->usual;

		for (size_t m = 0; m < sizeof(of) / sizeof(*of) && taken > 0; m++)
			if (!strncmp(s->metric, of[m], strlen(of[m])))
				least = fmax(isinf(least) ? RSS_LEAST : least, RSS_OF * unit * taken);
	}
	return least;
}

/* Keeps those that did more then than before and after. */
static void keep_tasks(struct look *l)
{
	struct kept kept[INCIDENT_TASKS + 1];
	struct incident *i = l->i;
	uint32_t n = 0;

	for (uint32_t k = 0; k < l->n_tasks; k++) {
		struct task *t = &l->task[k];
		bool took = t->grown >= rss_least(i), one = took && t->most > t->grown / 2;
		struct incident_task new = { .ended = (uint64_t)llround(t->ended),
					     .cpu = fmax(more_than_before(l, t->cpu), 0),
					     .bytes = fmax(more_than_before(l, t->bytes), 0),
					     .rss = took ? one ? t->most : t->grown : 0 };

		if ((!took && (i->kind == INCIDENT_DRIFT || ((new.cpu < TASK_LEAST * l->inside_s) &&
							     (new.bytes < 1e6 * l->inside_s) && (new.ended < 10)))))
			continue;
		if (one) {
			t->pid = t->grower;
			t->several = false;
		}
		new.pid = t->several ? 0 : t->pid;
		if (new.ended <= 1 && lives_too(l, t))
			continue;
		kept[n++] = (struct kept){ t, new };
		qsort(kept, n, sizeof(*kept), by_cpu);
		if (n > INCIDENT_TASKS)
			n--;
	}
	parents_first(kept, n);
	for (uint32_t k = 0; k < n; k++) {
		i->task[k] = kept[k].task;
		i->task[k].name = name_of(kept, n, &kept[k]);
	}
	i->n_tasks = n;
}

/* The recordings before the one in which the incident began are skipped. */
static int skip_recordings(struct look *l, const struct incident_store *s)
{
	struct pm_item item;
	uint32_t r = 0;
	int got = 1;

	for (; r + 1 < s->recordings && s->start[r + 1].at_s <= l->i->from_s && got == 1; r++)
		do
			got = pm_reader_next(l->reader, &item);
		while (got == 1 && item.kind != PM_ITEM_RECORDING);
	l->start = s->start[r];
	return got < 0 ? got : 0;
}

static int look_at(struct incidents *found, struct incident *i, const char *path, struct error *e)
{
	double lasted = i->to_s - i->from_s, around = fmax(AROUND * found->bin_s, lasted);
	struct look l = { .i = i,
			  .from_s = i->from_s - around,
			  .to_s = i->to_s + around,
			  .inside_s = lasted,
			  .task = memory_new(TASKS, sizeof(*l.task)) };
	int err = input_open(&l.reader, path, false, e);

	l.outside_s = fmin(l.to_s, found->duration_s) - fmax(l.from_s, 0) - lasted;
	if (!err) {
		err = skip_recordings(&l, found->store);
		l.model = pm_reader_model(l.reader);
		pm_reader_select(l.reader, is_of_tasks, &l);
		err = err ? err : read_chunks(&l);
		if (!err)
			keep_tasks(&l);
		pm_reader_close(l.reader);
	}
	for (uint32_t k = 0; k < l.n_tasks; k++) {
		free(l.task[k].name);
		free(l.task[k].parent_name);
	}
	free(l.task);
	free(l.reading);
	return err;
}

/* The tasks of the first incidents. */
static int find_tasks(struct incidents *found, const char *path, struct error *e)
{
	uint32_t n = 0;
	int err = 0;

	for (uint32_t k = 0; k < found->n && n < TASKED && !err; k++) {
		struct incident *i = &found->incident[k];

		if (i->kind != INCIDENT_STRETCH && (i->kind != INCIDENT_DRIFT || isinf(rss_least(i))))
			continue;
		n++;
		err = look_at(found, i, path, e);
	}
	return err;
}

/* ---- a sentence ---- */

static void put_value(struct buf *out, double v, const char *unit)
{
	double size = !strncmp(unit, "By", 2) ? 1 : !strncmp(unit, "MB", 2) ? 1e6 : 0;

	if (size > 0) {
		/* "346 MB/s", "12 kB". */
		put_number(out, v * size, true);
		buf_addstr(out, fabs(v) * size < 999.5 ? " B" : "B");
		buf_addstr(out, unit + 2);
		return;
	}
	put_number(out, v, false);
	if (!strcmp(unit, "1/s"))
		buf_addstr(out, "/s");
	else if (unit[0] && strcmp(unit, "1")) {
		buf_addch(out, ' ');
		text_escape(out, unit, strlen(unit));
	}
}

static void put_name(struct buf *out, const struct incident_series *s)
{
	struct star star;
	const struct word *w = word_of(s->metric, &star);
	size_t len = strlen(s->display);

	if (w) {
		buf_add(out, w->word, strcspn(w->word, "*"));
		if (strchr(w->word, '*'))
			text_escape(out, star.at, star.len);
		return;
	}
	/* The unit follows the value. */
	if (len > 2 && !strcmp(s->display + len - 2, "/s"))
		len -= 2;
	else if (len > 1 && s->display[len - 1] == '%')
		len--;
	text_escape(out, s->display, len);
}

/* Where the first metric is said to be: at a single CPU or package that shows it, or any single place; in the system;
 * or at several places, and then at how many of what. */
static const struct incident_series *choose_place(const struct incident *i, uint32_t *several, const char **of)
{
	const struct incident_series *best[PM_KINDS] = { NULL }, *below = NULL;
	uint32_t n[PM_KINDS] = { 0 }, n_below = 0;

	*several = 0;
	for (uint32_t k = 0; k < i->n_series; k++) {
		const struct incident_series *s = &i->series[k];

		if (strcmp(s->metric, i->series->metric) != 0)
			continue;
		if (!n[s->kind]++)
			best[s->kind] = s;
		if (s->kind != PM_SYSTEM && !n_below++)
			below = s;
	}
	if (i->kind == INCIDENT_PEER)
		return i->series;
	if (n[PM_CPU] == 1 || n[PM_PACKAGE] == 1)
		return n[PM_CPU] == 1 ? best[PM_CPU] : best[PM_PACKAGE];
	if (n_below == 1 || n[PM_SYSTEM])
		return n_below == 1 ? below : best[PM_SYSTEM];
	*several = n_below;
	*of = n[i->series->kind] != n_below ? "place" :
	      i->series->kind == PM_CPU     ? "CPU" :
					      pm_kind_name(i->series->kind);
	return i->series;
}

/* What the first metric did. */
static void put_phrase(struct buf *out, const struct incident *i)
{
	uint32_t several;
	const char *of;
	static const char *const beside[] = {
		[INCIDENT_STRETCH] = "usually", [INCIDENT_DRIFT] = "at first", [INCIDENT_PEER] = "its peers"
	};
	const struct incident_series *s = choose_place(i, &several, &of);
	const struct word *w = row_of(s);

	if (several) {
		buf_printf(out, "%u %ss%s ", several, of, i->n_all > i->n_series ? " at least" : "");
	} else if (s->label[0]) {
		text_escape(out, s->label, strlen(s->label));
		buf_addch(out, ' ');
	} else if (!strcmp(s->unit, "%") && w && w->of_cpus) {
		buf_addstr(out, "CPUs ");
	}
	put_name(out, s);
	buf_addch(out, ' ');
	put_value(out, s->value, s->unit);
	buf_printf(out, " (%s ", beside[i->kind]);
	put_value(out, s->usual, s->usual == 0 ? "" : s->unit);
	buf_addch(out, ')');
}

bool incident_names_first(const struct incident *i, uint32_t k)
{
	for (uint32_t j = 0; j < k; j++)
		if (!strcmp(i->series[j].metric, i->series[k].metric))
			return false;
	return true;
}

static void put_tasks(struct buf *out, const struct incident *i)
{
	for (uint32_t k = 0; k < i->n_tasks && k < 3; k++) {
		buf_addstr(out, !k ? "; " : k + 1 == i->n_tasks || k == 2 ? " and " : ", ");
		text_escape(out, i->task[k].name, strlen(i->task[k].name));
		if (i->task[k].rss > 0) {
			buf_addstr(out, " +");
			buf_bytes(out, (uint64_t)i->task[k].rss);
		}
	}
}

/* Replaces the text of an incident by the sentence. */
static void say(struct incident *i)
{
	struct buf out = BUF_INIT;
	uint32_t more = 0;

	if (i->kind == INCIDENT_LOSS) {
		buf_addstr(&out, i->text);
		if (!i->text[0])
			buf_printf(&out, "%u tick%s lost while recording", i->times, plural(i->times));
		else if (i->times > 1)
			buf_printf(&out, ", %u times", i->times);
	} else {
		put_phrase(&out, i);
		for (uint32_t k = 1; k < i->n_series; k++)
			more += incident_names_first(i, k);
		if (more)
			buf_printf(&out, ", and %u more metric%s", more, plural(more));
	}
	put_tasks(&out, i);
	free(i->text);
	i->text = memory_checked(buf_detach(&out));
}

static int digits_of(double width)
{
	return width >= 0.9 ? 0 : width >= 0.09 ? 1 : width >= 0.009 ? 2 : 3;
}

void incident_put_time(const struct incidents *all, const struct incident *i, struct buf *out)
{
	double lasted = i->to_s - i->from_s;
	/* "for 0 s" says nothing. */
	int digits = digits_of(lasted > 0 ? fmin(all->bin_s, lasted) : all->bin_s);

	switch (i->kind) {
	case INCIDENT_DRIFT:
	case INCIDENT_PEER:
		buf_addstr(out, "throughout");
		return;
	default:
		buf_printf(out, "%+.*f s", digits, i->from_s);
		if (lasted > 0 && i->from_s > 0 && i->to_s > all->duration_s - all->bin_s / 2)
			buf_addstr(out, " to the end");
		else if (lasted > 0)
			buf_printf(out, " for %.*f s", digits, fmax(lasted, 0.001));
	}
}

/* ---- JSON ---- */

static struct json *number_or_null(uint32_t n)
{
	return n == PM_NONE ? json_new_null() : json_new_u64(n);
}

static struct json *wall(const struct incidents *all, double s)
{
	return time_json(all->start_wall_ns ? (uint64_t)(all->start_wall_ns + (int64_t)(s * 1e9)) : 0);
}

struct json *incident_json(const struct incidents *all, uint32_t rank)
{
	const struct incident *i = &all->incident[rank];
	struct json *j = json_new_object(), *list = json_new_array(), *tasks = json_new_array();
	struct buf text = BUF_INIT;

	incident_put_time(all, i, &text);
	buf_printf(&text, ": %s", i->text);
	for (uint32_t k = 0; k < i->n_series; k++) {
		const struct incident_series *s = &i->series[k];
		struct json *one = json_new_object();

		json_put(one, "metric", json_new_text(s->metric));
		json_put(one, "scope", json_new_text(pm_kind_name(s->kind)));
		json_put(one, "package", number_or_null(s->package));
		json_put(one, "cpu", number_or_null(s->cpu));
		json_put(one, "device", s->device[0] ? json_new_text(s->device) : json_new_null());
		json_put(one, "usual", json_new_f64(s->usual));
		json_put(one, "value", json_new_f64(s->value));
		json_push(list, one);
	}
	for (uint32_t k = 0; k < i->n_tasks; k++) {
		const struct incident_task *t = &i->task[k];
		struct json *one = json_new_object();

		json_put(one, "name", json_new_text(t->name));
		json_put(one, "pid", t->pid ? json_new_u64(t->pid) : json_new_null());
		json_put(one, "ended", json_new_u64(t->ended));
		json_put(one, "cpu_s", json_new_f64(t->cpu));
		json_put(one, "bytes", json_new_f64(t->bytes));
		json_put(one, "rss", json_new_f64(t->rss));
		json_push(tasks, one);
	}
	json_put(j, "rank", json_new_u64(rank + 1));
	json_put(j, "from", wall(all, i->from_s));
	json_put(j, "to", wall(all, i->to_s));
	json_put(j, "from_s", json_new_f64(round(i->from_s * 1e6) / 1e6));
	json_put(j, "to_s", json_new_f64(round(i->to_s * 1e6) / 1e6));
	json_put(j, "score", json_new_f64(round(i->score * 100) / 100));
	json_put(j, "text", json_new_buf(&text));
	json_put(j, "series", list);
	json_put(j, "tasks", tasks);
	buf_release(&text);
	return j;
}

/* ---- all of it ---- */

#define SCORE_LEAST 0.8 /* of an incident that is worth a line */

static void forget_from(struct incidents *found, uint32_t n)
{
	while (found->n > n) {
		struct incident *i = &found->incident[--found->n];

		free(i->text);
		free(i->series);
		while (i->n_tasks)
			free(i->task[--i->n_tasks].name);
	}
}

void incidents_release(struct incidents *found)
{
	forget_from(found, 0);
	free(found->incident);
	if (found->store)
		store_release(found->store);
	free(found->store);
	pipeline_result_release(&found->result);
	*found = (struct incidents){ 0 };
}

/* What was collected becomes sentences. */
static int conclude(struct incidents *found, const char *path, const char *name, struct error *e)
{
	struct incident_store *s = found->store;
	uint32_t n = 0;
	int err = 0;

	scan_all(s, found);
	found->n_scanned = s->n_series;
	found->bin_s = s->bin_s / s->per_bin;
	while (n < found->n && n < INCIDENTS_MOST && found->incident[n].score >= SCORE_LEAST)
		n++;
	forget_from(found, n);
	for (uint32_t i = 0; i < found->n; i++)
		order(&found->incident[i]);
	if (s->tasks)
		err = find_tasks(found, path, e);
	for (uint32_t i = 0; i < found->n && !err; i++)
		say(&found->incident[i]);
	return err && !e->text[0] ? error_sys(e, -err, "%s", name) : err;
}

int incidents_find(struct incidents *found, const char *path, const char *name, const struct pipeline_config *config,
		   struct error *e)
{
	struct pipeline_config own = *config;
	struct collect c = { .sink.ops = &ops };
	struct pm_reader *reader;
	int err;

	*found = (struct incidents){ .store = memory_new(1, sizeof(*found->store)) };
	c.s = found->store;
	own.mode = PIPELINE_EACH;
	own.bind.rate = true;
	own.selection = (struct selection){ 0 };
	if ((err = input_open_as(&reader, path, name, e)))
		return err;
	err = choose_bins(c.s, &own, reader, path, e);
	err = err ? err : pipeline_run(&own, reader, &c.sink, &found->result, e);
	if (err)
		error_prefix(e, "%s", name);
	finish(&c, found);
	pm_reader_close(reader);
	return err ? err : conclude(found, path, name, e);
}

int incidents_begin(struct incidents *found, struct sink **sink, struct pm_reader *reader, const char *path,
		    struct error *e)
{
	struct collect *c = memory_new(1, sizeof(*c));
	struct pipeline_config own = { 0 };
	int err;

	*found = (struct incidents){ .store = memory_new(1, sizeof(*found->store)) };
	*c = (struct collect){ .sink = { .ops = &ops, .reader = reader }, .s = found->store };
	*sink = &c->sink;
	err = choose_bins(c->s, &own, reader, path, e);
	c->every_ns = own.every_ns;
	return err;
}

int incidents_finish(struct incidents *found, struct sink *sink, const char *path, int err, struct error *e)
{
	finish((struct collect *)sink, found);
	free(sink);
	return err ? err : conclude(found, path, path, e);
}
