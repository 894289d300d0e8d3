/* Puts an incident into a sentence, and into an object of JSON. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/table.h"
#include "report/incident/incident_private.h"
#include "report/machine/value_out.h"

#define SAID   5    /* metrics that a sentence names */
#define CAUSE  0.25 /* of the best score; what has less is not taken for it */
#define LITTLE 0.05 /* of the bytes that others move */
#define FEW    0.1  /* MB/s */

enum rank {
	RANK_CAUSE, /* somebody did that */
	RANK_WORD,
	RANK_EFFECT, /* which comes of it; and what moved little beside the rest */
	RANK_METRIC, /* it has no word */
	RANK_RAW,    /* a kernel counter, by its name there */
	RANK_AGAIN,  /* says what another one says */
};

#define CPU_TIME "CPU time"

/* What people call a metric, and from which change on anybody asks about it; an idle machine, and the recorder, do a
 * little of everything. A star in the word stands for what the metric's star matches. The first match counts. */
static const struct word {
	const char *metric, *word;
	enum rank rank;
	double least;      /* in the metric's unit; 0: any that is clear */
	const char *about; /* what it is about; NULL: the word */
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
	{ "util.user", "in user mode", RANK_WORD, 0, CPU_TIME },
	{ "util.system", "in the kernel", RANK_WORD, 0, CPU_TIME },
	{ "util.iowait", "waiting for I/O", RANK_EFFECT, 0, CPU_TIME },
	{ "util.steal", "taken by the hypervisor", RANK_WORD, 0, CPU_TIME },
	{ "util.softirq", "in soft interrupts", RANK_WORD, 0, CPU_TIME },
	{ "util.irq", "in interrupts", RANK_WORD, 0, CPU_TIME },
	{ "util.nice", "at low priority", RANK_WORD, 0, CPU_TIME },
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
	{ "netdev.rx_dropped", "received packets dropped", RANK_METRIC, 0, "bad packets" },
	{ "netdev.tx_dropped", "packets to send dropped", RANK_METRIC, 0, "bad packets" },
	{ "netdev.rx_errors", "faulty packets received", RANK_METRIC, 0, "bad packets" },
	{ "netdev.tx_errors", "packets that could not be sent", RANK_METRIC, 0, "bad packets" },
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
	{ "memory.used", "memory in use", RANK_AGAIN, 0, "available memory" },
	{ "vmstat.nr_free_pages", "free pages", RANK_AGAIN, 0, "available memory" },
	{ "vmstat.nr_anon_pages", "pages of processes", RANK_AGAIN, 0, "available memory" },
	{ "util", "busy", RANK_AGAIN, 0, CPU_TIME },
	{ "busy", "busy", RANK_AGAIN, 0, CPU_TIME },
	{ "util.idle", "idle", RANK_AGAIN, 0, CPU_TIME },
	{ "idle.*.residency", "in *", RANK_AGAIN, 10, CPU_TIME },
	{ "idle.*.requests", "entries into *", RANK_AGAIN, 100, "interrupts" },
	{ "cpus_*", "utilization", RANK_AGAIN, 0, CPU_TIME },
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

/* NULL: there is none. */
static const struct word *word_of(const char *metric, struct star *star)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (fits(words[i].metric, metric, star))
			return &words[i];
	return NULL;
}

static const struct word *row_of(const struct incident_series *s)
{
	return word_of(s->metric, &(struct star){ 0 });
}

bool say_knows(const char *metric)
{
	return word_of(metric, &(struct star){ 0 });
}

double say_least(const char *metric)
{
	const struct word *w = word_of(metric, &(struct star){ 0 });

	return w ? w->least : 0;
}

static enum rank rank_of(const struct incident_series *s)
{
	const struct word *w = row_of(s);

	return w ? w->rank : RANK_METRIC;
}

/* What the series of an incident are compared with. */
struct best {
	double score, bytes; /* of MB/s, by how much one moved most */
};

static double moved(const struct incident_series *s)
{
	return fabs(s->value - s->usual);
}

static enum rank rank_beside(const struct incident_series *s, const struct best *best)
{
	enum rank rank = rank_of(s);
	bool little = s->score < CAUSE * best->score ||
		      (!strcmp(s->unit, "MB/s") && moved(s) < fmax(LITTLE * best->bytes, FEW));

	return rank < RANK_METRIC && little ? RANK_EFFECT : rank;
}

static int by_word(const void *a, const void *b, void *best)
{
	const struct incident_series *x = a, *y = b;
	enum rank i = rank_beside(x, best), k = rank_beside(y, best);

	if (i != k)
		return i < k ? -1 : 1;
	/* Of those that say the same, the first in the table is used. */
	if (i == RANK_AGAIN && strcmp(x->metric, y->metric) != 0)
		return (row_of(x) > row_of(y)) - (row_of(x) < row_of(y));
	return (x->score < y->score) - (x->score > y->score);
}

void say_order(struct incident *i)
{
	struct best best = { 0 };

	for (uint32_t k = 0; k < i->n_series; k++) {
		best.score = fmax(best.score, i->series[k].score);
		if (!strcmp(i->series[k].unit, "MB/s"))
			best.bytes = fmax(best.bytes, moved(&i->series[k]));
	}
	if (i->n_series)
		qsort_r(i->series, i->n_series, sizeof(*i->series), by_word, &best);
}

void incident_put_number(struct buf *out, double v)
{
	static const struct {
		double from, size;
		const char *sign;
	} scale[] = { { 9.995e14, 1e15, "P" }, { 9.995e11, 1e12, "T" }, { 9.995e8, 1e9, "G" }, { 1e7, 1e6, "M" } };
	double size = fabs(v);
	char text[32];
	int n;

	for (size_t i = 0; i < sizeof(scale) / sizeof(*scale); i++)
		if (size >= scale[i].from) {
			buf_printf(out, size < 999.5 * scale[i].size ? "%.3g %s" : "%.0f %s", v / scale[i].size,
				   scale[i].sign);
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

static void put_value(struct buf *out, double v, const char *unit)
{
	double size = !strncmp(unit, "By", 2) ? 1 : !strncmp(unit, "MB", 2) ? 1e6 : 0;

	if (size > 0) {
		/* "346 MB/s", "12 kB". */
		uint64_t n = (uint64_t)llround(fmin(fabs(v) * size, 9e18));

		if (v < 0 && n)
			buf_addch(out, '-');
		buf_bytes(out, n);
		buf_addstr(out, unit + 2);
		return;
	}
	incident_put_number(out, v);
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

/* Whether both values read the same, so that only their difference says something: 1.26 and 1.31 GB. */
static bool reads_same(const struct incident_series *s)
{
	SCOPED(buf_release) struct buf usual = BUF_INIT;
	SCOPED(buf_release) struct buf value = BUF_INIT;

	put_value(&usual, s->usual, s->unit);
	put_value(&value, s->value, s->unit);
	return s->usual != s->value && !strcmp(buf_str(&usual), buf_str(&value));
}

static void put_move(struct buf *out, const struct incident_series *s)
{
	double times = s->usual > 0 ? s->value / s->usual : 0;

	if (reads_same(s)) {
		buf_addstr(out, s->value < s->usual ? " " : " +");
		put_value(out, s->value - s->usual, s->unit);
		buf_addstr(out, " (usually ");
		put_value(out, s->usual, s->unit);
		buf_addch(out, ')');
		return;
	}
	if (strcmp(s->unit, "%") && times >= 2 && times < 1e4) {
		buf_addstr(out, " x");
		incident_put_number(out, times >= 10 ? round(times) : round(times * 10) / 10);
		buf_addstr(out, " (");
		put_value(out, s->value, s->unit);
		buf_addch(out, ')');
		return;
	}
	buf_addch(out, ' ');
	put_value(out, s->value, s->unit);
	if (strcmp(s->unit, "%") || s->usual >= 1 || s->value < s->usual) {
		buf_addstr(out, " (usually ");
		put_value(out, s->usual, s->usual == 0 ? "" : s->unit);
		buf_addch(out, ')');
	}
}

/* For a kind of place, how many show the metric, and the best of them; below the system: how many. */
struct places_said {
	uint32_t n[PM_KINDS], below;
	const struct incident_series *best[PM_KINDS];
};

static void find_places(const struct incident *i, uint32_t first, struct places_said *out)
{
	*out = (struct places_said){ 0 };
	for (uint32_t k = first; k < i->n_series; k++) {
		const struct incident_series *s = &i->series[k];

		if (strcmp(s->metric, i->series[first].metric))
			continue;
		if (!out->n[s->kind]++)
			out->best[s->kind] = s;
		out->below += s->kind != PM_SYSTEM;
	}
}

/* What is said about a metric: at one place, or at how many. */
struct item {
	const struct incident_series *s;
	uint32_t several; /* 0: one, or the system */
	const char *kind; /* of several places */
};

static struct item choose_item(const struct incident *i, uint32_t first)
{
	const struct incident_series *s = &i->series[first], *one = NULL;
	struct places_said places;

	find_places(i, first, &places);
	/* The single place that shows it: a CPU; a package, if its CPUs do; or any. */
	for (int kind = 0; kind < PM_KINDS && !one; kind++)
		if (kind != PM_SYSTEM && places.n[kind] == 1 && (places.below == 1 || kind == PM_PACKAGE))
			one = places.best[kind];
	if (places.n[PM_CPU] == 1)
		one = places.best[PM_CPU];
	if (i->kind == INCIDENT_PEER || one || places.n[PM_SYSTEM])
		return (struct item){ .s = i->kind == INCIDENT_PEER ? s : one ? one : places.best[PM_SYSTEM] };
	return (struct item){ s, places.below > 1 ? places.below : 0,
			      places.n[s->kind] != places.below ? "place" :
			      s->kind == PM_CPU                 ? "CPU" :
								  pm_kind_name(s->kind) };
}

static void put_item(struct buf *out, const struct incident *i, const struct item *item, bool named)
{
	const struct incident_series *s = item->s;

	if (item->several) {
		buf_printf(out, "%u %ss%s ", item->several, item->kind, i->n_all > i->n_series ? " at least" : "");
	} else if (s->label[0] && named) {
		text_escape(out, s->label, strlen(s->label));
		buf_addch(out, ' ');
	} else if (!s->label[0] && !strcmp(s->unit, "%") && row_of(s) && row_of(s)->about &&
		   !strcmp(row_of(s)->about, CPU_TIME)) {
		buf_addstr(out, "CPUs ");
	}
	put_name(out, s);
	if (i->kind == INCIDENT_DRIFT && reads_same(s)) {
		buf_addstr(out, s->value < s->usual ? " fell by " : " rose by ");
		put_value(out, fabs(s->value - s->usual), s->unit);
		buf_addstr(out, " to ");
		put_value(out, s->value, s->unit);
	} else if (i->kind == INCIDENT_DRIFT) {
		buf_addstr(out, " from ");
		put_value(out, s->usual, s->unit);
		buf_addstr(out, " to ");
		put_value(out, s->value, s->unit);
	} else if (i->kind == INCIDENT_PEER) {
		buf_addch(out, ' ');
		put_value(out, s->value, s->unit);
		buf_addstr(out, ", its peers ");
		put_value(out, s->usual, s->unit);
	} else {
		put_move(out, s);
	}
}

/* One place for all is named once. */
static bool is_same_place(const struct item *item, uint32_t n)
{
	for (uint32_t k = 0; k < n; k++)
		if (item[k].several || !item[k].s->label[0] || strcmp(item[k].s->label, item[0].s->label) != 0)
			return false;
	return true;
}

bool incident_names_first(const struct incident *i, uint32_t k)
{
	for (uint32_t j = 0; j < k; j++)
		if (!strcmp(i->series[j].metric, i->series[k].metric))
			return false;
	return true;
}

static const char *topic_of(const struct incident_series *s)
{
	const struct word *w = row_of(s);

	return !w ? s->display : w->about ? w->about : w->word;
}

/* Whether a better series has said it. */
static bool said_before(const struct incident *i, uint32_t k)
{
	for (uint32_t j = 0; j < k && rank_of(&i->series[k]) == RANK_AGAIN; j++)
		if (!strcmp(topic_of(&i->series[j]), topic_of(&i->series[k])))
			return true;
	return false;
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

void say(const struct incidents *all, struct incident *i)
{
	struct buf out = BUF_INIT;
	struct item item[SAID];
	uint32_t n = 0, metrics = 0;

	if (i->kind == INCIDENT_LOSS) {
		buf_addstr(&out, i->text);
		if (!i->text[0])
			buf_printf(&out, "%u tick%s lost while recording", i->times, plural(i->times));
		else if (i->times > 1)
			buf_printf(&out, ", %u times", i->times);
	} else {
		for (uint32_t k = 0; k < i->n_series; k++) {
			if (!incident_names_first(i, k) || said_before(i, k))
				continue;
			metrics++;
			/* Kernel names only if nothing better is left. */
			if (n < SAID && (n <= 2 || rank_of(&i->series[k]) != RANK_RAW))
				item[n++] = choose_item(i, k);
		}
		for (uint32_t k = 0; k < n; k++) {
			buf_addstr(&out, k ? ", " : "");
			put_item(&out, i, &item[k], !k || !is_same_place(item, n));
		}
		if (metrics > n)
			buf_printf(&out, ", and %u more metric%s", metrics - n, plural(metrics - n));
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
	case INCIDENT_RHYTHM:
		buf_printf(out, "every %.*f s", digits_of(all->bin_s), i->every_s);
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
		json_put(one, "tid", t->tid ? json_new_u64(t->tid) : json_new_null());
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
