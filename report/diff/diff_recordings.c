/* The recordings of both sides, without their numbers: what the words of the command line stand for, facts, runs,
 * damage, the order in time, and in what the sides differ. */
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "common/memory.h"
#include "common/number.h"
#include "report/diff/diff.h"
#include "report/info/info.h"
#include "report/input/input.h"
#include "report/machine/value_out.h"
#include "report/metric/vendor_files.h"

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

void diff_options_release(struct diff_options *o)
{
	free(o->path[DIFF_BASE]);
	free(o->path[DIFF_NEW]);
	for (size_t i = 0; i < o->n_gates; i++)
		free(o->gate[i].word);
	free(o->gate);
	selection_release(&o->selection);
	vendor_files_free(o->vendor);
}

static const char *const side_name[] = { [DIFF_BASE] = "base", [DIFF_NEW] = "new" };

static int add(struct diff_recordings *r, const char *path, enum diff_side side)
{
	memory_room(&r->recording, r->n, sizeof(*r->recording));
	if (!strcmp(path, "-"))
		path = r->input.name;
	r->recording[r->n++] = (struct diff_recording){
		.path = path,
		.place = path == r->input.name ? r->input.path : path,
		.side = side,
	};
	return 0;
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
		return err ? err : add(r, path, side);
	}
	if (stat(path, &st))
		return error_sys(e, errno, "%s", path);
	if (!S_ISDIR(st.st_mode))
		return add(r, path, side);
	n = scandir(path, &entry, is_recording, alphasort);
	if (n < 0)
		return error_sys(e, errno, "%s", path);
	for (int i = 0; i < n; i++) {
		struct buf text = BUF_INIT;

		buf_printf(&text, "%s/%s", path, entry[i]->d_name);
		memory_room(&r->owned, r->n_owned, sizeof(*r->owned));
		r->owned[r->n_owned] = memory_checked(buf_detach(&text));
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

int diff_find(struct diff_recordings *r, const struct diff_options *o, struct error *e)
{
	int err = find_files(r, o, e);

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

void diff_recordings_release(struct diff_recordings *r)
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
	*r = (struct diff_recordings){ 0 };
}
