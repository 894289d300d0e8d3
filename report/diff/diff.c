/*
 * From two sets of recordings to verdicts: which recordings they are, without their numbers, and in what the sides
 * differ; a number per run for every metric at every place of the wanted levels; and what these say, by rules of each
 * metric, levels below flagged parents, and the false discovery rate.
 */
#include "report/diff/diff.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/memory.h"
#include "common/number.h"
#include "report/info/info.h"
#include "report/input/input.h"
#include "report/machine/value_out.h"
#include "report/metric/bind.h"
#include "report/metric/vendor_files.h"
#include "report/numbers/statistics.h"
#include "report/pipeline/pipeline.h"

static const struct {
	const char *name;
	bool meaningless;
	uint32_t key;       /* 0: not of the header alone */
	const char *config; /* NULL: not of one-time readings */
} facts[DIFF_FACTS] = {
#define ROW(fact, name, meaningless, key, config) [DIFF_##fact] = { name, meaningless, key, config },
	DIFF_EACH_FACT(ROW)
};

/* ---- the command line ---- */

static const char *const side_name[] = { [DIFF_BASE] = "base", [DIFF_NEW] = "new" };

static void add(struct diff_recordings *r, const char *path, enum diff_side side)
{
	memory_room(&r->recording, r->n, sizeof(*r->recording));
	if (!strcmp(path, "-"))
		path = r->input.name;
	r->recording[r->n++] = (struct diff_recording){
		.path = path,
		.place = path == r->input.name ? r->input.path : path,
		.side = side,
	};
}

static int is_recording(const struct dirent *d)
{
	return !fnmatch("?*.pmr", d->d_name, 0) || !fnmatch("?*.pmr.gz", d->d_name, 0);
}

/* Adds the file, or every recording of a directory in the order of their names. */
static int expand(struct diff_recordings *r, const char *path, enum diff_side side, struct error *e)
{
	struct dirent **entry = NULL;
	struct stat st;
	int n, err;

	if (!strcmp(path, "-")) {
		if (r->input.name)
			return error_set(e, EINVAL, "standard input is given twice");
		/* Recordings are read more than once. */
		err = spool_open(&r->input, "-", SPOOL_TWICE, e);
		if (!err)
			add(r, path, side);
		return err;
	}
	if (stat(path, &st))
		return error_sys(e, errno, "%s", path);
	if (!S_ISDIR(st.st_mode)) {
		add(r, path, side);
		return 0;
	}
	n = scandir(path, &entry, is_recording, alphasort);
	if (n < 0)
		return error_sys(e, errno, "%s", path);
	for (int i = 0; i < n; i++) {
		memory_room(&r->owned, r->n_owned, sizeof(*r->owned));
		r->owned[r->n_owned] = memory_format("%s/%s", path, entry[i]->d_name);
		add(r, r->owned[r->n_owned++], side);
		free(entry[i]);
	}
	free(entry);
	return n ? 0 : error_set(e, ENOENT, "%s: a directory without recordings (*.pmr)", path);
}

/* Adds the recordings of both sides, those of the base first, each side in the order given. */
static int find_files(struct diff_recordings *r, const struct diff_options *o, struct error *e)
{
	char *const *word[DIFF_SIDES] = { o->path[DIFF_BASE], o->path[DIFF_NEW] };
	bool sides = word[DIFF_BASE] || word[DIFF_NEW];
	int err = 0;

	if (!sides && o->n_places != 2)
		return error_set(e, EINVAL,
				 "diff takes two recordings or directories, BASE and NEW; for more use "
				 "--base A1 A2 ... --new B1 B2 ...");
	if (sides && o->n_places)
		return error_set(e, EINVAL, "%s belongs to no side; recordings follow --base or --new", o->place[0]);
	for (int s = 0; s < DIFF_SIDES && !err; s++) {
		if (sides && !word[s])
			return error_set(e, EINVAL, "the %s side has no recording: --%s FILE...", side_name[s],
					 side_name[s]);
		for (size_t i = 0; (sides ? word[s][i] != NULL : !i) && !err; i++)
			err = expand(r, sides ? word[s][i] : o->place[s], (enum diff_side)s, e);
	}
	return err;
}

/* ---- facts ---- */

struct scanner {
	struct diff_recording *r;
	struct pm_reader *reader;
	uint32_t part;
	uint32_t *run_at; /* owned; by number of a run: where the last one of that number is, from 1 on */
	bool known;       /* the facts were taken */
};

/* Keeps the text, unless it is empty. */
static void set_fact(struct diff_recording *r, enum diff_fact f, struct buf *text)
{
	memory_whole(text);
	if (text->len) {
		free(r->fact[f]);
		r->fact[f] = memory_checked(buf_detach(text));
	}
	buf_release(text);
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* All values of a one-time reading, over its places. */
static void put_config(const struct pm_model *m, const char *name, struct buf *out)
{
	const char *seen[16];
	size_t n = 0;

	for (uint32_t i = 0; i < m->n_configs && n < sizeof(seen) / sizeof(*seen); i++) {
		const struct pm_config *c = &m->config[i];
		bool old = strcmp(c->name, name) || c->reason || c->value.kind != PM_VALUE_TEXT;

		for (size_t k = 0; k < n && !old; k++)
			old = !strcmp(seen[k], c->value.str.data);
		if (!old)
			seen[n++] = c->value.str.data;
	}
	qsort(seen, n, sizeof(*seen), compare_texts);
	for (size_t i = 0; i < n; i++)
		buf_printf(out, "%s%s", i ? "," : "", seen[i]);
}

/* The events of perf. */
static void put_events(const struct pm_model *m, struct buf *out)
{
	SCOPED(scoped_free) const char **name = memory_new(m->n_counters, sizeof(*name));
	size_t n = 0;

	for (uint32_t i = 0; i < m->n_counters; i++)
		if (!strcmp(m->counter[i].source, "perf"))
			name[n++] = m->counter[i].name;
	if (n)
		qsort(name, n, sizeof(*name), compare_texts);
	for (size_t i = 0; i < n; i++)
		buf_printf(out, "%s%s", i ? ", " : "", name[i]);
}

static void take_facts(struct scanner *s)
{
	const struct pm_model *m = pm_reader_model(s->reader);
	const struct pm_map *header = &m->header;
	struct diff_recording *r = s->r;
	struct buf text = BUF_INIT;

	s->known = true;
	memcpy(r->id, m->recording_id, sizeof(r->id));
	if (pm_map_get(header, PM_HEADER_BOOT_ID))
		r->boot = memory_text(pm_map_text(header, PM_HEADER_BOOT_ID, ""));
	for (int f = 0; f < DIFF_FACTS; f++) {
		if (facts[f].key && pm_map_get(header, facts[f].key))
			value_text(pm_map_get(header, facts[f].key), &text);
		if (facts[f].config)
			put_config(m, facts[f].config, &text);
		set_fact(r, (enum diff_fact)f, &text);
	}
	topology_put(topology_count(&m->topology), &text);
	set_fact(r, DIFF_TOPOLOGY, &text);
	/* Kernels differ slightly in what they leave. */
	if (pm_map_get(header, PM_HEADER_MEMORY))
		buf_printf(&text, "%.6g GiB",
			   rint((double)pm_map_u64(header, PM_HEADER_MEMORY, 0) / 0x1p30 * 10) / 10);
	set_fact(r, DIFF_MEMORY, &text);
	if (pm_map_u64(header, PM_HEADER_INTERVAL, 0))
		buf_printf(&text, "%.9g s", (double)pm_map_u64(header, PM_HEADER_INTERVAL, 0) / 1e9);
	else if (pm_map_get(header, PM_HEADER_INTERVAL))
		buf_addstr(&text, "start and end only");
	set_fact(r, DIFF_INTERVAL, &text);
	r->command |= pm_map_get(header, PM_HEADER_COMMAND) ||
		      !strcmp(pm_map_text(header, PM_HEADER_TARGET, ""), "command");
	put_events(m, &text);
	set_fact(r, DIFF_EVENTS, &text);
}

/* ---- runs ---- */

#define RUNS 0x10000 /* of a recording */

/* Runs of a second recording in the file are numbered on. */
static struct diff_run *find_run(struct scanner *s, uint32_t run)
{
	struct diff_recording *r = s->r;
	uint32_t number = s->part * RUNS + run % RUNS, *at;

	if (!s->run_at)
		s->run_at = memory_new(RUNS, sizeof(*s->run_at));
	at = &s->run_at[run % RUNS];
	if (!*at || r->run[*at - 1].run != number) {
		memory_room(&r->run, r->n_runs, sizeof(*r->run));
		r->run[r->n_runs] = (struct diff_run){ .run = number };
		*at = ++r->n_runs;
	}
	return &r->run[*at - 1];
}

static void take_chunk(struct scanner *s, const struct pm_chunk_head *head)
{
	struct diff_run *run = find_run(s, head->run);

	if (!s->known)
		take_facts(s);
	if (!s->r->first_ns)
		s->r->first_ns = head->from_ns;
	if (!run->from_ns) {
		run->from_ns = head->from_ns;
		run->wall_ns = head->clocks.realtime;
	}
	run->to_ns = head->to_ns;
	s->r->snapshots += head->rows;
}

static void take_exit(struct diff_recording *r, struct diff_run *run, const struct pm_map *a)
{
	uint64_t user = pm_map_u64(a, PM_EVENT_KEY_USER_NS, 0), system = pm_map_u64(a, PM_EVENT_KEY_SYSTEM_NS, 0);
	const struct pm_value *signal = pm_map_get(a, PM_EVENT_KEY_SIGNAL);
	struct buf text = BUF_INIT;

	run->exited = true;
	run->command[DIFF_ELAPSED] = (double)pm_map_u64(a, PM_EVENT_KEY_ELAPSED_NS, 0) * 1e-9;
	run->command[DIFF_CPU] = (double)(user + system) * 1e-9;
	run->command[DIFF_USER] = (double)user * 1e-9;
	run->command[DIFF_SYSTEM] = (double)system * 1e-9;
	run->command[DIFF_MAX_RSS] = (double)pm_map_u64(a, PM_EVENT_KEY_MAXRSS, 0);
	run->failed = signal || pm_map_u64(a, PM_EVENT_KEY_EXIT, 0);
	buf_printf(&text, "%s%" PRIu64, signal ? "signal " : "",
		   pm_map_u64(a, signal ? PM_EVENT_KEY_SIGNAL : PM_EVENT_KEY_EXIT, 0));
	/* The worst of the runs. */
	if (!r->fact[DIFF_EXIT] || !strcmp(r->fact[DIFF_EXIT], "0"))
		set_fact(r, DIFF_EXIT, &text);
	buf_release(&text);
}

static void take_event(struct scanner *s, const struct pm_event *e)
{
	struct diff_recording *r = s->r;
	uint32_t last = r->n_runs ? r->run[r->n_runs - 1].run % RUNS : 1;
	struct diff_run *run;

	if (e->type == PM_EVENT_LOST)
		r->lost_ticks += pm_map_u64(&e->attrs, PM_EVENT_KEY_COUNT, 1);
	if (e->type != PM_EVENT_CHILD_START && e->type != PM_EVENT_CHILD_EXIT)
		return;
	r->command = true;
	run = find_run(s, (uint32_t)pm_map_u64(&e->attrs, PM_EVENT_KEY_RUN, last));
	if (e->type == PM_EVENT_CHILD_EXIT)
		take_exit(r, run, &e->attrs);
}

static void put_gaps(struct diff_recording *r)
{
	struct buf text = BUF_INIT;

	buf_addstr(&text, r->damaged ? "damaged" : r->cut ? "cut" : "");
	if (r->lost_ticks)
		buf_printf(&text, "%s%" PRIu64 " of %" PRIu64 " ticks lost", text.len ? ", " : "", r->lost_ticks,
			   r->lost_ticks + r->snapshots);
	if (!text.len)
		buf_addstr(&text, "none");
	set_fact(r, DIFF_GAPS, &text);
}

static int scan(struct diff_recording *r, struct error *e)
{
	struct scanner s = { .r = r };
	struct pm_item item = { 0 };
	int got = input_open_as(&s.reader, r->place, r->path, e);

	if (got)
		return got;
	while ((got = pm_reader_next(s.reader, &item)) == 1) {
		if (item.kind == PM_ITEM_CHUNK)
			take_chunk(&s, &item.chunk);
		else if (item.kind == PM_ITEM_EVENT)
			take_event(&s, item.event);
		else if (item.kind == PM_ITEM_DAMAGE)
			*(item.damage->kind == PM_DAMAGE_NO_END || item.damage->kind == PM_DAMAGE_CUT ? &r->cut :
													&r->damaged) =
				true;
		else if (item.kind == PM_ITEM_RECORDING)
			s.part++;
	}
	free(s.run_at);
	if (got < 0 && got != -EAGAIN) {
		pm_reader_close(s.reader);
		return error_sys(e, -got, "%s: reading", r->path);
	}
	if (!s.known)
		take_facts(&s);
	pm_reader_close(s.reader);
	/* A recording without an end that is still being written is intact, but not finished. */
	r->open = r->cut && !r->damaged && input_being_written(r->place);
	if (r->open)
		buf_addstr(&r->notes, "still being written: using what is there\n");
	put_gaps(r);
	return 0;
}

static int refuse_twice(const struct diff_recordings *r, struct error *e)
{
	for (size_t i = 0; i < r->n; i++)
		for (size_t k = 0; k < i; k++) {
			const struct diff_recording *a = &r->recording[k], *b = &r->recording[i];

			const char *where = a->side == b->side ? "twice on one side" : "on both sides";

			if (!b->first_ns || a->first_ns != b->first_ns || memcmp(a->id, b->id, sizeof(a->id)))
				continue;
			if (!strcmp(a->path, b->path))
				return error_set(e, EINVAL, "%s is given %s", a->path, where);
			return error_set(e, EINVAL, "%s and %s are the same recording, %s", a->path, b->path, where);
		}
	return 0;
}

/* ---- the environment ---- */

static const char *say(const struct diff_recording *r, enum diff_fact f)
{
	return r->fact[f] ? r->fact[f] : "unknown";
}

/* How many of the first `n` recordings are of the side, and have the value; NULL: any. */
static size_t alike(const struct diff_recordings *all, size_t n, enum diff_side side, enum diff_fact f,
		    const char *value)
{
	size_t found = 0;

	for (size_t i = 0; i < n; i++)
		found += all->recording[i].side == side && (!value || !strcmp(say(&all->recording[i], f), value));
	return found;
}

/* The values of a side, each once; if there are several, with the number of recordings that have it. */
static char *describe(const struct diff_recordings *all, enum diff_side side, enum diff_fact f)
{
	size_t whole = alike(all, all->n, side, f, NULL);
	struct buf text = BUF_INIT;

	for (size_t i = 0; i < all->n; i++) {
		const char *value = say(&all->recording[i], f);
		size_t n = alike(all, all->n, side, f, value);

		if (all->recording[i].side != side || alike(all, i, side, f, value))
			continue;
		buf_printf(&text, "%s%s", text.len ? "; " : "", value);
		if (n < whole)
			buf_printf(&text, " (%zu)", n);
	}
	return memory_checked(buf_detach(&text));
}

static bool differ(const struct diff_recordings *all, enum diff_fact f)
{
	bool differ = false;

	/* Damage is told even if all have it. */
	for (size_t i = 0; i < all->n && !differ; i++)
		differ =
			strcmp(say(&all->recording[i], f), f == DIFF_GAPS ? "none" : say(&all->recording[0], f)) != 0;
	return differ;
}

static void compare_environment(struct diff_recordings *r)
{
	struct diff_environment *env = &r->environment;

	for (enum diff_fact f = 0; f < DIFF_FACTS; f++) {
		struct diff_difference *d = &env->difference[env->n];

		if (!differ(r, f))
			continue;
		d->name = facts[f].name;
		d->meaningless = facts[f].meaningless;
		for (enum diff_side s = 0; s < DIFF_SIDES; s++)
			d->side[s] = describe(r, s, f);
		env->n++;
		env->meaningless += d->meaningless;
	}
}

/* ---- order and boots ---- */

struct dated {
	uint64_t wall_ns;
	enum diff_side side;
};

static int by_time(const void *a, const void *b)
{
	const struct dated *x = a, *y = b;

	return (x->wall_ns > y->wall_ns) - (x->wall_ns < y->wall_ns);
}

/* The sides took turns if they changed at least as often as the smaller one has runs. */
static enum diff_order order_of(const struct dated *run, size_t n)
{
	size_t runs[DIFF_SIDES] = { 0 }, changes = 0;

	for (size_t i = 0; i < n; i++) {
		runs[run[i].side]++;
		if (!run[i].wall_ns || (i && run[i].wall_ns == run[i - 1].wall_ns))
			return DIFF_ORDER_UNKNOWN;
		changes += i && run[i].side != run[i - 1].side;
	}
	if (runs[DIFF_BASE] < 2 || runs[DIFF_NEW] < 2)
		return DIFF_ORDER_UNKNOWN;
	if (changes == 1)
		return run[0].side == DIFF_BASE ? DIFF_BASE_FIRST : DIFF_NEW_FIRST;
	return changes >= (runs[DIFF_BASE] < runs[DIFF_NEW] ? runs[DIFF_BASE] : runs[DIFF_NEW]) ? DIFF_TURNS :
												  DIFF_MIXED;
}

static void find_order(struct diff_recordings *r)
{
	struct dated *dated = NULL;
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		for (uint32_t k = 0; k < r->recording[i].n_runs; k++) {
			const struct diff_run *run = &r->recording[i].run[k];

			if (run->failed)
				continue;
			memory_room(&dated, n, sizeof(*dated));
			dated[n++] = (struct dated){ run->wall_ns, r->recording[i].side };
		}
	if (n)
		qsort(dated, n, sizeof(*dated), by_time);
	r->order = order_of(dated, n);
	free(dated);
}

/* If one does not name its boot, all are taken to be of one. */
static void number_boots(struct diff_recordings *r)
{
	uint32_t next = 1;

	for (size_t i = 0; i < r->n; i++)
		if (!r->recording[i].boot)
			return;
	for (size_t i = 0; i < r->n; i++) {
		struct diff_recording *one = &r->recording[i];
		bool seen[DIFF_SIDES] = { false };

		for (size_t k = 0; k < i; k++)
			if (!strcmp(r->recording[k].boot, one->boot)) {
				one->session = r->recording[k].session;
				seen[r->recording[k].side] = true;
			}
		if (seen[one->side])
			continue;
		if (!one->session)
			one->session = next++;
		r->boots[one->side]++;
		r->boots_shared += seen[!one->side];
	}
}

int diff_find(struct diff *d, struct error *e)
{
	struct diff_recordings *r = &d->recordings;
	int err = find_files(r, &d->o, e);

	for (size_t i = 0; i < r->n && !err; i++)
		err = scan(&r->recording[i], e);
	if (!err)
		err = refuse_twice(r, e);
	if (err)
		return err;
	compare_environment(r);
	find_order(r);
	number_boots(r);
	return 0;
}

/* ---- streams ---- */

/* A series of any length in little memory, for a mean and its error. Neighboring values are joined into blocks, and
 * these into longer ones, at most a few hundred. */
struct stream {
	struct {
		double sum, weight; /* sum of value x weight */
	} * block;                  /* owned */
	uint32_t n, cap;            /* blocks; the last may not be full. `cap` is even, and at least 20 */
	uint32_t per, in;           /* values a block, and in the last one */
	double mean, weights;       /* of the values themselves */
	bool total;                 /* the run's total was requested, too */
};

#define BATCHES 10

/* A value that held for `weight` > 0. */
static void stream_add(struct stream *s, double value, double weight)
{
	if (!s->block)
		s->block = memory_new(s->cap, sizeof(*s->block));
	if (s->n == s->cap && s->in == s->per) {
		for (uint32_t i = 0; i < s->cap / 2; i++) {
			s->block[i].sum = s->block[2 * i].sum + s->block[2 * i + 1].sum;
			s->block[i].weight = s->block[2 * i].weight + s->block[2 * i + 1].weight;
		}
		s->n = s->cap / 2;
		s->per *= 2;
		s->in = s->per;
	}
	if (!s->n || s->in == s->per) {
		s->block[s->n].sum = s->block[s->n].weight = 0;
		s->n++;
		s->in = 0;
	}
	s->block[s->n - 1].sum += value * weight;
	s->block[s->n - 1].weight += weight;
	s->in++;
	s->weights += weight;
	s->mean += (value - s->mean) * weight / s->weights;
}

/* Sets what the values, of which there is one or more, say about the error of their run. A value without a
 * total is their mean. */
static void stream_end(struct stream *s, struct diff_value *v)
{
	/* An incomplete block varies more than the others. */
	uint32_t n = s->in < s->per ? s->n - 1 : s->n;
	SCOPED(scoped_free) double *mean = memory_new(n, sizeof(*mean));

	for (uint32_t i = 0; i < n; i++)
		mean[i] = s->block[i].sum / s->block[i].weight;
	v->error = statistics_batch_means(mean, n, BATCHES).error;
	if (isnan(v->v))
		v->v = s->mean;
	if (s->mean < 0 || s->mean > 0)
		v->error *= fabs(v->v / s->mean);
}

/* ---- which metrics are compared, and which direction is better ---- */

struct name {
	const char *metric, *display, *aliases, *categories;
	const struct binding *binding; /* the metrics beside it; NULL: none */
};

/* Events that cost time or are caused by it: for the same work, fewer are better. Ends with NULL. */
static const char *const costs[] = {
	"cycles*",           "cpu-cycles*",     "ref-cycles*", "instructions*", "task-clock*",
	"cpu-clock*",        "duration_time",   "user_time",   "system_time",   "*faults*",
	"context-switches*", "cpu-migrations*", "*misses*",    "stalled-*",     NULL,
};

static struct name name_of(const struct binding *b, const struct bound_metric *m)
{
	return (struct name){ m->name, m->display, m->about->aliases ? m->about->aliases : "",
			      m->about->categories ? m->about->categories : "", b };
}

/* Words are names, heads, aliases, globs or categories. A word that is exactly the name or head of a metric means
 * only that one, even if it matches others in another case. */
static bool fits(const char *word, const struct name *n)
{
	bool others = false;

	if (!strcmp(word, n->metric) || !strcmp(word, n->display))
		return true;
	if (!selection_matches(word, n->metric, n->display, n->aliases, n->categories))
		return false;
	for (size_t i = 0; n->binding && i < n->binding->n_metrics && !others; i++)
		others = !strcmp(word, n->binding->metric[i].name) || !strcmp(word, n->binding->metric[i].display);
	return !others;
}

static struct diff_gate *gate_of(const struct diff_options *o, const struct name *n)
{
	for (size_t i = 0; i < o->n_gates; i++)
		if (fits(o->gate[i].word, n))
			return &o->gate[i];
	return NULL;
}

/* Whether the options select the metric; `listed`: it is compared by default. Marks the words that name it. */
static bool chosen(const struct diff_options *o, const struct name *n, bool listed)
{
	bool chosen = o->all || (listed && !o->selection.has_show);

	for (size_t i = 0; i < o->selection.n; i++) {
		struct selection_word *word = &o->selection.word[i];

		if (fits(word->word, n)) {
			word->known = true;
			chosen = word->verb != SELECT_HIDE;
		}
	}
	return o->n_gates ? gate_of(o, n) != NULL : chosen;
}

/* For a fixed amount of work (`work`), counts of events are costs. */
static enum metric_better better_of(const struct bound_metric *m, bool work)
{
	for (size_t i = 0; costs[i] && work && m->counter && m->better == METRIC_NEUTRAL; i++)
		if (!fnmatch(costs[i], m->name, FNM_CASEFOLD))
			return METRIC_LOWER;
	return m->better;
}

/* ---- series ---- */

/* The index of the series with the metric, unit and place of `as`, of which it adds a copy if new. */
static uint32_t find_series(struct diff_data *d, const struct diff_series *as)
{
	SCOPED(buf_release) struct buf key = BUF_INIT;
	struct diff_series *more;
	uint32_t found;

	buf_printf(&key, "%s\n%s\n%d %s", as->metric, as->unit, as->place.kind, as->where);
	if (names_get(&d->names, buf_str(&key), &found)) {
		/* Whichever recording comes first. */
		if (as->order < d->series[found].order)
			d->series[found].order = as->order;
		return found;
	}
	memory_whole(&key);
	memory_done(names_set(&d->names, buf_str(&key), (uint32_t)d->n));
	memory_room(&d->series, d->n, sizeof(*d->series));
	more = &d->series[d->n];
	*more = *as;
	more->metric = memory_text(as->metric);
	more->display = memory_text(as->display);
	more->unit = memory_text(as->unit);
	more->where = memory_text(as->where);
	return (uint32_t)d->n++;
}

/* The value of the run, added if new; valid until another is added. */
static struct diff_value *run_value(struct diff_series *s, uint32_t recording, uint32_t run)
{
	/* From the back: nearly always it is the last one. */
	for (uint32_t i = s->n; i; i--)
		if (s->value[i - 1].recording == recording && s->value[i - 1].run == run)
			return &s->value[i - 1];
	memory_room(&s->value, s->n, sizeof(*s->value));
	s->value[s->n] = (struct diff_value){ recording, run, .v = NAN, .error = NAN };
	return &s->value[s->n++];
}

static int compare_series(const void *a, const void *b)
{
	const struct diff_series *x = a, *y = b;
	int c = (int)x->place.kind - (int)y->place.kind;

	c = c ? c : strcmp(x->metric, y->metric);
	c = c ? c : strcmp(x->unit, y->unit);
	return c ? c : strcmp(x->where, y->where);
}

/* The kernel's numbers for a recorded command, as metrics. */
static void add_command(struct diff_data *d, const struct diff_recordings *all, const struct diff_options *o)
{
	static const struct {
		const char *name, *display, *unit;
	} row[DIFF_NUMBERS] = {
		[DIFF_ELAPSED] = { "command.elapsed", "Elapsed", "s" },
		[DIFF_CPU] = { "command.cpu", "CPU", "s" },
		[DIFF_USER] = { "command.user", "User", "s" },
		[DIFF_SYSTEM] = { "command.system", "System", "s" },
		[DIFF_MAX_RSS] = { "command.max_rss", "MaxRSS", "By" },
	};

	for (int m = 0; m < DIFF_NUMBERS; m++) {
		struct name name = { row[m].name, row[m].display, row[m].name + strlen("command."), "command", NULL };
		struct diff_series as = {
			.metric = (char *)row[m].name,
			.display = (char *)row[m].display,
			.unit = (char *)row[m].unit,
			.where = (char *)"",
			.place = { .kind = PM_SYSTEM },
			.better = METRIC_LOWER,
			.gate = gate_of(o, &name),
		};

		if (!chosen(o, &name, true))
			continue;
		for (size_t i = 0; i < all->n; i++)
			for (uint32_t k = 0; k < all->recording[i].n_runs; k++) {
				const struct diff_run *run = &all->recording[i].run[k];
				uint32_t s = run->exited ? find_series(d, &as) : 0;

				if (run->exited)
					run_value(&d->series[s], (uint32_t)i, run->run)->v = run->command[m];
			}
	}
}

/* ---- laying out ---- */

struct level {
	enum pm_kind kind;
	uint32_t *series; /* owned; by cell; UINT32_MAX: none */
};

/* One pass over one recording. */
struct pass {
	struct sink sink;
	struct diff_data *data;
	struct diff_options *o;
	struct diff_recording *r;
	uint32_t recording; /* its place */
	bool within;        /* variation within runs is wanted */
	bool rate;          /* amounts are compared per second */
	bool each;          /* this pass takes the variation, not the total */
	const struct places *places;
	const struct binding *binding;
	bool *shown, *varying; /* owned; by metric */
	bool *amount;          /* owned; by metric: it grows with the length of the interval */
	bool varies;           /* some metric must be averaged over intervals */
	struct level level[PM_KINDS];
	uint32_t n_levels;
	struct stream *stream; /* owned; by series, if `each`: of the current run, also when cells become others */
	size_t n_streams;
	uint32_t part, run; /* of the last interval; run 0: none yet */
};

static void forget_layout(struct pass *p)
{
	while (p->n_levels)
		free(p->level[--p->n_levels].series);
	free(p->shown);
	free(p->varying);
	free(p->amount);
	p->shown = p->varying = p->amount = NULL;
}

static void forget_streams(struct pass *p)
{
	while (p->n_streams)
		free(p->stream[--p->n_streams].block);
	free(p->stream);
	p->stream = NULL;
}

static void begin_stream(struct pass *p, uint32_t series, enum pm_kind kind, bool total)
{
	for (; p->n_streams <= series; p->n_streams++) {
		memory_room(&p->stream, p->n_streams, sizeof(*p->stream));
		p->stream[p->n_streams] = (struct stream){ .per = 1 };
	}
	if (!p->stream[series].cap)
		p->stream[series].cap = kind == PM_SYSTEM ? 1024 : 64;
	p->stream[series].total = total;
}

/* The series of a metric at a place. */
static uint32_t series_at(struct pass *p, const struct bound_metric *m, const struct place *place, char *where)
{
	struct name name = name_of(p->binding, m);
	SCOPED(buf_release) struct buf unit = BUF_INIT;
	struct diff_series as = {
		.metric = (char *)m->name,
		.display = (char *)m->display,
		.where = where,
		.place = *place,
		.margin = m->about->margin,
		.order = (uint32_t)(m - p->binding->metric),
		.better = better_of(m, p->r->command && !p->rate),
		.gate = gate_of(p->o, &name),
	};

	buf_printf(&unit, "%s%s", m->about->unit, p->amount[as.order] && p->rate ? "/s" : "");
	memory_whole(&unit);
	as.unit = (char *)buf_str(&unit);
	return find_series(p->data, &as);
}

static void name_cells(struct pass *p, struct level *l, const struct sheet *sheet)
{
	SCOPED(buf_release) struct buf where = BUF_INIT;
	size_t n = 0;

	for (uint32_t r = 0; r < sheet->n_rows; r++)
		n += sheet->row[r].n_cells;
	l->series = memory_new(n, sizeof(*l->series));
	n = 0;
	for (uint32_t r = 0; r < sheet->n_rows; r++) {
		const struct sheet_row *row = &sheet->row[r];

		buf_clear(&where);
		places_put_name(p->places, &row->place, &where);
		memory_whole(&where);
		for (uint32_t k = 0; k < row->n_cells; k++, n++) {
			const struct bound_metric *m = sheet->column[row->cell[k].column].metric;
			size_t at = (size_t)(m - p->binding->metric);

			l->series[n] = UINT32_MAX;
			if (row->place.kind != l->kind)
				continue;
			l->series[n] = series_at(p, m, &row->place, (char *)buf_str(&where));
			if (p->each)
				begin_stream(p, l->series[n], l->kind, p->shown[at]);
		}
	}
}

static void want_level(struct pass *p, struct sink_plan *plan, enum pm_kind kind)
{
	p->level[p->n_levels++] = (struct level){ .kind = kind };
	plan->sheet[plan->n_sheets++] = (struct sink_wish){
		.config = { .per = kind,
			    .only_per = true,
			    .summary = kind == PM_SYSTEM,
			    .summary_only = kind == PM_SYSTEM },
		.shown = p->each ? p->varying : p->shown,
	};
}

/* A register field has no value over longer intervals except the mean. */
static bool has_field(const struct pass *p, const struct bound_metric *m)
{
	for (uint32_t i = 0; i < m->n_inputs; i++) {
		const struct bound_input *in = &p->binding->input[m->input[i]];

		if (in->more->op != INPUT_BITS && in->more->op != INPUT_BELOW)
			continue;
		for (uint32_t k = 0; k < in->n_counters; k++)
			if (pm_model_counter(p->places->model, in->counter[k])->semantics != PM_CUMULATIVE)
				return true;
	}
	return false;
}

static int plan(struct sink *sink, struct sink_plan *plan)
{
	struct pass *p = (struct pass *)sink;
	const struct binding *b = plan->binding;
	struct diff_options *o = p->o;

	forget_layout(p);
	p->places = plan->places;
	p->binding = b;
	p->shown = memory_new(b->n_metrics, sizeof(*p->shown));
	p->varying = memory_new(b->n_metrics, sizeof(*p->varying));
	p->amount = memory_new(b->n_metrics, sizeof(*p->amount));
	for (size_t i = 0; i < b->n_metrics; i++) {
		const struct bound_metric *m = &b->metric[i];
		struct name name = name_of(b, m);
		bool field;

		p->shown[i] = chosen(o, &name, m->default_on || m->added);
		field = p->shown[i] && has_field(p, m);
		p->varying[i] = field || (p->shown[i] && p->within);
		p->shown[i] &= !field;
		p->varies |= p->varying[i];
		p->amount[i] = metric_is_amount(b, m, plan->places->model);
	}
	want_level(p, plan, PM_SYSTEM);
	for (int k = PM_PACKAGE; k < PM_KINDS; k++)
		if (o->per ? o->per >> k & 1 : k == PM_PACKAGE || k == PM_CORE)
			want_level(p, plan, (enum pm_kind)k);
	return 0;
}

static int shape(struct sink *sink, const struct sheet *sheet, size_t n)
{
	struct pass *p = (struct pass *)sink;

	for (size_t i = 0; i < n; i++)
		name_cells(p, &p->level[i], &sheet[i]);
	return 0;
}

/* ---- numbers ---- */

static uint32_t run_of(const struct pass *p, uint32_t run)
{
	return p->part << 16 | (run & 0xffff);
}

/* Adds what the streams have gathered to the values of their run. */
static void end_streams(struct pass *p)
{
	for (size_t i = 0; i < p->n_streams && p->run; i++) {
		struct stream *s = &p->stream[i];
		struct diff_series *series = &p->data->series[i];
		struct diff_value *v;

		if (!s->n)
			continue;
		v = run_value(series, p->recording, p->run);
		/* A register field has no total: its mean is the value. Where the total is missing, there is nothing
		 * to compare. */
		if (isnan(v->v) && s->total)
			series->n--;
		else
			stream_end(s, v);
		*s = (struct stream){ .block = s->block, .cap = s->cap, .per = 1, .total = s->total };
	}
}

/* Takes the numbers of interval k: for the streams, or as the run's. */
static void take_interval(struct pass *p, struct level *l, const struct sheet *sheet, const struct interval *interval,
			  size_t k)
{
	double seconds = (double)interval[k].duration_ns / 1e9;

	for (uint32_t r = 0, n = 0; r < sheet->n_rows; r++)
		for (uint32_t c = 0; c < sheet->row[r].n_cells; c++, n++) {
			const struct sheet_cell *cell = &sheet->row[r].cell[c];
			const struct value *v = &cell->value[k];
			/* Per second, if the runs may have any length. */
			bool amount = p->amount[sheet->column[cell->column].metric - p->binding->metric];
			double number = amount && p->rate ? v->v / seconds : v->v;

			if (l->series[n] == UINT32_MAX || v->reason || !isfinite(v->v))
				continue;
			if (p->each) {
				stream_add(&p->stream[l->series[n]], number, seconds);
				continue;
			}
			/* Less was counted because less was seen. */
			if (amount && interval[k].partial && !p->rate)
				continue;
			run_value(&p->data->series[l->series[n]], p->recording, p->run)->v = number;
			p->r->doubtful += sheet_quality(cell, k) == STATUS_DOUBTFUL;
		}
}

static int intervals(struct sink *sink, const struct sheet *sheet, const struct interval *interval, size_t n)
{
	struct pass *p = (struct pass *)sink;

	for (size_t k = 0; k < n; k++) {
		uint32_t run = run_of(p, interval[k].run);

		if (!interval[k].duration_ns)
			continue;
		if (p->each && run != p->run)
			end_streams(p);
		p->run = run;
		for (uint32_t i = 0; i < p->n_levels; i++)
			take_interval(p, &p->level[i], &sheet[i], interval, k);
	}
	return 0;
}

static int end(struct sink *sink)
{
	struct pass *p = (struct pass *)sink;

	if (p->each)
		end_streams(p);
	p->part++;
	p->run = 0;
	return 0;
}

/* ---- recordings ---- */

static const struct sink_ops ops = { .plan = plan, .shape = shape, .intervals = intervals, .end = end };

/* Reads the recording: the totals of its runs, or what varies within them. */
static int read_recording(struct pass *p, struct error *e)
{
	struct pipeline_config config = {
		.mode = p->each ? PIPELINE_EACH : PIPELINE_TOTAL,
		.bind = { .rate = p->rate, .files = p->o->vendor },
	};
	SCOPED(pipeline_result_release) struct pipeline_result result = { 0 };
	SCOPED(pm_reader_scoped) struct pm_reader *reader = NULL;
	int err = input_open_as(&reader, p->r->place, p->r->path, e);

	if (err)
		return err;
	p->part = p->run = 0;
	err = pipeline_run(&config, reader, &p->sink, &result, e);
	if (err && strncmp(e->text, p->r->path, strlen(p->r->path)))
		error_prefix(e, "%s", p->r->path);
	p->r->damaged |= result.damaged;
	if (!err && !p->each && result.damaged)
		buf_add(&p->r->notes, result.notes.data, result.notes.len);
	forget_layout(p);
	forget_streams(p);
	return err;
}

int diff_collect(struct diff *diff, struct error *e)
{
	struct diff_data *d = &diff->data;
	struct diff_recordings *r = &diff->recordings;
	struct diff_options *o = &diff->o;
	uint32_t runs[DIFF_SIDES] = { 0 };
	bool rate = o->rate;
	int err = 0;

	/* Counts over different periods cannot be compared: only a command is a fixed amount of work. */
	for (size_t i = 0; i < r->n; i++) {
		rate |= !r->recording[i].command;
		runs[r->recording[i].side] += r->recording[i].n_runs;
	}
	for (size_t i = 0; i < r->n && !err; i++) {
		struct pass p = {
			.sink.ops = &ops,
			.data = d,
			.o = o,
			.r = &r->recording[i],
			.recording = (uint32_t)i,
			.within = runs[DIFF_BASE] < VERDICT_RUNS || runs[DIFF_NEW] < VERDICT_RUNS,
			.rate = rate,
		};

		for (int each = 0; each < 1 + p.varies && !err; each++) {
			p.each = each;
			err = read_recording(&p, e);
		}
	}
	if (err)
		return err;
	add_command(d, r, o);
	names_release(&d->names);
	if (d->n)
		qsort(d->series, d->n, sizeof(*d->series), compare_series);
	return 0;
}

/* ---- verdicts ---- */

#define MARGIN 0.02

static struct diff_result begin_result(const struct diff_series *s, const struct diff_options *o)
{
	return (struct diff_result){
		.series = s,
		.gated = s->gate,
		.rules = {
			.margin = s->gate && !isnan(s->gate->margin) ? s->gate->margin :
				  !isnan(o->margin)                  ? o->margin :
				  s->margin > 0                      ? s->margin :
								       MARGIN,
			.alpha = o->alpha,
			.pairs = o->pairs,
			.run_sd = o->run_sd,
			.better = s->better,
		},
	};
}

/* Whether the command of the run failed. */
static bool has_failed(const struct diff_recording *r, uint32_t run)
{
	for (uint32_t k = 0; k < r->n_runs; k++)
		if (r->run[k].run == run)
			return r->run[k].failed;
	return false;
}

/* The numbers of one side, and what is known of each within its run. */
static size_t take_side(struct diff_result *x, const struct diff_recordings *r, enum diff_side side, double *value,
			double *error, uint32_t *session)
{
	const struct diff_series *s = x->series;
	size_t n = 0;

	for (uint32_t i = 0; i < s->n; i++) {
		const struct diff_value *v = &s->value[i];
		const struct diff_recording *from = &r->recording[v->recording];

		if (from->side != side || isnan(v->v) || has_failed(from, v->run))
			continue;
		value[n] = v->v;
		session[n] = from->session;
		error[n++] = v->error;
	}
	return n;
}

static void measure(struct diff_result *x, const struct diff_recordings *r, const struct diff_options *o)
{
	size_t n = x->series->n, base, units[DIFF_SIDES];
	SCOPED(scoped_free) double *error = memory_new(n, sizeof(*error)), *unit = memory_new(n, sizeof(*unit));
	SCOPED(scoped_free) uint32_t *session = memory_new(n, sizeof(*session));
	struct verdict_side side[DIFF_SIDES];

	free(x->value);
	x->value = memory_new(n, sizeof(*x->value));
	base = units[DIFF_BASE] = take_side(x, r, DIFF_BASE, x->value, error, session);
	units[DIFF_NEW] = take_side(x, r, DIFF_NEW, x->value + base, error + base, session + base);
	memcpy(x->n, units, sizeof(units));
	memcpy(unit, x->value, (base + units[DIFF_NEW]) * sizeof(*unit));
	if (!o->pairs)
		x->rules.sessions = verdict_sessions(unit, session, units);
	x->rules.by_session = units[DIFF_BASE] < base || units[DIFF_NEW] < x->n[DIFF_NEW];
	for (int s = 0; s < DIFF_SIDES; s++)
		side[s] = (struct verdict_side){ unit + s * base, x->rules.by_session ? NULL : error + s * base,
						 units[s] };
	x->v = verdict_measure(&side[DIFF_BASE], &side[DIFF_NEW], &x->rules);
}

/* What a command is judged by, most important first. */
static int importance(const struct diff_series *s)
{
	static const char *const first[] = { "command.elapsed", "command.cpu",  "command.user", "command.system",
					     "command.max_rss", "instructions", "cycles" };
	int i = 0, n = sizeof(first) / sizeof(*first);

	while (i < n && (strncmp(s->metric, first[i], strlen(first[i])) ||
			 (s->metric[strlen(first[i])] && s->metric[strlen(first[i])] != ':')))
		i++;
	return i;
}

static bool is_default_gate(const struct diff_result *x)
{
	int at = importance(x->series);

	return x->series->place.kind == PM_SYSTEM && at < 7 && at != 2 && at != 3;
}

/* Results that are tested together: gates, given or default; other metrics with a better direction; those without
 * one. The more there are, the clearer each must be; so what decides does not suffer from the rest. */
enum family { FAMILY_GATES, FAMILY_BETTER, FAMILY_NEUTRAL, FAMILIES };

static enum family family_of(const struct diff_result *x, const struct diff_options *o)
{
	if (o->n_gates || is_default_gate(x))
		return FAMILY_GATES;
	return x->rules.better == METRIC_NEUTRAL ? FAMILY_NEUTRAL : FAMILY_BETTER;
}

/* Adjusts p to q for those of n results that are of a family. */
static void discover(struct diff_result *x, size_t n, enum family family, const struct diff_options *o)
{
	SCOPED(scoped_free) double *q = memory_new(n, sizeof(*q)), *p = memory_new(n, sizeof(*p));

	for (size_t i = 0; i < n; i++)
		p[i] = family_of(&x[i], o) == family ? x[i].v.p_tested : NAN;
	statistics_false_discovery(p, q, n);
	for (size_t i = 0; i < n; i++)
		if (!isnan(q[i]))
			x[i].v.q = q[i];
}

/* If the sides did not take turns, each run of a family may resemble the previous one; then they are tested again. */
static void look_at_order(struct diff_result *x, size_t n, enum family family, const struct diff_recordings *r,
			  const struct diff_options *o)
{
	SCOPED(scoped_free) struct verdict_side(*side)[DIFF_SIDES] = memory_new(n, sizeof(*side));
	struct verdict_order order;
	size_t found = 0;

	for (size_t i = 0; i < n; i++) {
		if (family_of(&x[i], o) != family || x[i].rules.sessions || x[i].rules.by_session)
			continue;
		side[found][DIFF_BASE] = (struct verdict_side){ .value = x[i].value, .n = x[i].n[DIFF_BASE] };
		side[found++][DIFF_NEW] =
			(struct verdict_side){ .value = x[i].value + x[i].n[DIFF_BASE], .n = x[i].n[DIFF_NEW] };
	}
	order = verdict_order(side, found);
	for (size_t i = 0; i < n; i++)
		if (family_of(&x[i], o) == family && !x[i].rules.sessions && !x[i].rules.by_session) {
			x[i].rules.order = order;
			measure(&x[i], r, o);
		}
}

static void explain(struct diff_result *x, const size_t runs[DIFF_SIDES])
{
	const struct verdict *v = &x->v;
	SCOPED(buf_release) struct buf text = BUF_INIT;

	if (v->capped && v->kind == VERDICT_CHANGED && !isnan(v->spread))
		buf_printf(&text, "chance only if %s vary by more than %.*f %%", diff_unit(x), v->spread < 1 ? 1 : 0,
			   100 * v->spread);
	else if (v->why)
		buf_addstr(&text, v->why);
	else if (v->needed)
		buf_printf(&text, "about %zu %s per side would settle it", v->needed, diff_unit(x));
	else if (v->kind == VERDICT_INCONCLUSIVE)
		buf_addstr(&text, v->low > 0 ? "it would take more than 10000 runs per side, or another margin" :
					       "runs vary too much to say how many would be needed");
	if (v->kind != VERDICT_ABSENT && (x->n[DIFF_BASE] < runs[DIFF_BASE] || x->n[DIFF_NEW] < runs[DIFF_NEW]))
		buf_printf(&text, "%sin %zu of %zu and %zu of %zu runs", text.len ? "; " : "", x->n[DIFF_BASE],
			   runs[DIFF_BASE], x->n[DIFF_NEW], runs[DIFF_NEW]);
	memory_whole(&text);
	snprintf(x->why, sizeof(x->why), "%s", buf_str(&text));
}

/* The distance of the new side, in either direction. */
static double effect(const struct diff_result *x)
{
	if (x->v.kind == VERDICT_ABSENT)
		return -1;
	if (isnan(x->v.ratio) || x->v.ratio <= 0)
		return x->v.p < x->rules.alpha ? INFINITY : -0.5;
	return fabs(log(x->v.ratio));
}

/* Worse ones first, then by subject, then by the size of the effect. */
static int compare_results(const void *a, const void *b)
{
	static const unsigned char loud[] = {
		[VERDICT_REGRESSED] = 0,    [VERDICT_CHANGED] = 1, [VERDICT_IMPROVED] = 2,
		[VERDICT_INCONCLUSIVE] = 3, [VERDICT_ABSENT] = 4,  [VERDICT_SAME] = 5
	};
	const struct diff_result *x = a, *y = b;
	double dx = effect(x), dy = effect(y);
	int d = loud[x->v.kind] - loud[y->v.kind];

	d = d ? d : importance(x->series) - importance(y->series);
	if (d)
		return d;
	if (dx > dy || dx < dy)
		return dx > dy ? -1 : 1;
	if (x->series->order != y->series->order)
		return x->series->order < y->series->order ? -1 : 1;
	return strcmp(x->series->metric, y->series->metric);
}

/* Whether the level above the series was tested and flagged, in the first n results. */
static bool below_flagged(const struct diff_result *x, size_t n, const struct diff_series *s, enum pm_kind above)
{
	for (size_t i = 0; i < n; i++) {
		const struct diff_series *parent = x[i].series;

		if (parent->place.kind == above && !strcmp(parent->metric, s->metric) &&
		    !strcmp(parent->unit, s->unit) &&
		    (above == PM_SYSTEM || parent->place.package == s->place.package))
			return !x[i].v.capped && (x[i].v.kind == VERDICT_REGRESSED ||
						  x[i].v.kind == VERDICT_IMPROVED || x[i].v.kind == VERDICT_CHANGED);
	}
	return false;
}

/* Whether the data have more than one place of that level. */
static bool has_places(const struct diff_data *d, enum pm_kind kind)
{
	const char *first = NULL;

	for (size_t i = 0; i < d->n; i++) {
		if (d->series[i].place.kind != kind)
			continue;
		if (first && strcmp(first, d->series[i].where))
			return true;
		first = d->series[i].where;
	}
	return false;
}

/* Judges all places of the level, or those whose place `above` is flagged. */
static void judge_level(struct diff_results *out, const struct diff_data *d, const struct diff_recordings *r,
			const struct diff_options *o, enum pm_kind kind, enum pm_kind above)
{
	size_t before = out->n, n, runs[DIFF_SIDES] = { 0 };
	struct diff_result *x;

	for (size_t i = 0; i < r->n; i++)
		for (uint32_t k = 0; k < r->recording[i].n_runs; k++)
			runs[r->recording[i].side] += !r->recording[i].run[k].failed;
	for (size_t i = 0; i < d->n; i++) {
		const struct diff_series *s = &d->series[i];

		if (s->place.kind != kind || (above != PM_KINDS && !below_flagged(out->result, before, s, above)))
			continue;
		memory_room(&out->result, out->n, sizeof(*out->result));
		out->result[out->n] = begin_result(s, o);
		measure(&out->result[out->n++], r, o);
	}
	x = out->result + before;
	n = out->n - before;
	for (enum family k = 0; k < FAMILIES && n; k++) {
		if (!o->pairs && r->order != DIFF_TURNS)
			look_at_order(x, n, k, r, o);
		discover(x, n, k, o);
	}
	for (size_t i = 0; i < n; i++) {
		verdict_decide(&x[i].v, &x[i].rules);
		explain(&x[i], runs);
	}
	if (n)
		qsort(x, n, sizeof(*x), compare_results);
}

const char *diff_why_of_all(const struct diff_results *all)
{
	for (size_t i = 0; i < all->n; i++)
		if (!all->result[i].why[0] || strcmp(all->result[i].why, all->result[0].why))
			return NULL;
	return all->n > 1 ? all->result[0].why : NULL;
}

static void conclude(struct diff_results *out, const struct diff_options *o)
{
	size_t open = 0, decided = 0;
	bool command = false;

	for (size_t i = 0; i < out->n && !o->n_gates; i++)
		command |= importance(out->result[i].series) < 5;
	for (size_t i = 0; i < out->n; i++) {
		struct diff_result *x = &out->result[i];
		enum verdict_kind kind = x->v.kind;
		bool undecided = diff_open(x), system = x->series->place.kind == PM_SYSTEM;

		if (o->n_gates ? !x->gated : x->rules.better == METRIC_NEUTRAL) {
			out->neutral += system && !o->n_gates;
			continue;
		}
		/* Places below a flagged metric say where the change comes from, and are part of it. */
		if (!system && !o->per)
			continue;
		out->count[kind]++;
		out->failed |= kind == VERDICT_REGRESSED || (o->n_gates && kind == VERDICT_CHANGED && !undecided);
		x->decides = o->n_gates ? system : command && is_default_gate(x);
		open += x->decides && undecided;
		/* What is zero on both sides decides nothing. */
		decided += !undecided && (x->v.base < 0 || x->v.base > 0 || x->v.fresh < 0 || x->v.fresh > 0);
	}
	/* A gate holds if each of its metrics is shown to hold, and a command has default gates; without gates
	 * nothing was learned if nothing was decided. */
	out->inconclusive = o->n_gates || command ? open : !decided;
}

void diff_judge(struct diff *diff)
{
	struct diff_results *out = &diff->results;
	const struct diff_data *d = &diff->data;
	const struct diff_recordings *r = &diff->recordings;
	const struct diff_options *o = &diff->o;
	/* A single package is the system. */
	bool packages = has_places(d, PM_PACKAGE);

	judge_level(out, d, r, o, PM_SYSTEM, PM_KINDS);
	if (!o->per && packages)
		judge_level(out, d, r, o, PM_PACKAGE, PM_SYSTEM);
	if (!o->per && has_places(d, PM_CORE))
		judge_level(out, d, r, o, PM_CORE, packages ? PM_PACKAGE : PM_SYSTEM);
	for (int k = PM_PACKAGE; k < PM_KINDS; k++)
		if (o->per >> k & 1)
			judge_level(out, d, r, o, (enum pm_kind)k, PM_KINDS);
	conclude(out, o);
}

static void release_series(struct diff_data *d)
{
	for (size_t i = 0; i < d->n; i++) {
		free(d->series[i].metric);
		free(d->series[i].display);
		free(d->series[i].unit);
		free(d->series[i].where);
		free(d->series[i].value);
	}
	free(d->series);
	names_release(&d->names);
}

static void release_recordings(struct diff_recordings *r)
{
	for (size_t i = 0; i < r->n; i++) {
		struct diff_recording *one = &r->recording[i];

		for (int f = 0; f < DIFF_FACTS; f++)
			free(one->fact[f]);
		free(one->boot);
		free(one->run);
		buf_release(&one->notes);
	}
	free(r->recording);
	for (size_t i = 0; i < r->n_owned; i++)
		free(r->owned[i]);
	free(r->owned);
	for (size_t i = 0; i < r->environment.n; i++)
		for (int s = 0; s < DIFF_SIDES; s++)
			free(r->environment.difference[i].side[s]);
	if (r->input.name)
		spool_close(&r->input);
}

void diff_release(struct diff *d)
{
	struct diff_options *o = &d->o;

	for (size_t i = 0; i < d->results.n; i++)
		free(d->results.result[i].value);
	free(d->results.result);
	release_series(&d->data);
	release_recordings(&d->recordings);
	free(o->path[DIFF_BASE]);
	free(o->path[DIFF_NEW]);
	for (size_t i = 0; i < o->n_gates; i++)
		free(o->gate[i].word);
	free(o->gate);
	selection_release(&o->selection);
	vendor_files_free(o->vendor);
}
