#include "report/info/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "report/input/input.h"

static void samples_add(struct samples *s, uint64_t value)
{
	if (value > s->max)
		s->max = value;
	if (!s->v) {
		s->v = memory_new(SAMPLES_MAX, sizeof(*s->v));
		s->every = 1;
	}
	if (s->seen++ % s->every)
		return;
	if (s->n == SAMPLES_MAX) {
		for (size_t i = 0; i < SAMPLES_MAX / 2; i++)
			s->v[i] = s->v[2 * i];
		s->n = SAMPLES_MAX / 2;
		s->every *= 2;
	}
	s->v[s->n++] = value;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

uint64_t samples_median(struct samples *s)
{
	if (!s->n)
		return 0;
	qsort(s->v, s->n, sizeof(*s->v), compare);
	return s->v[s->n / 2];
}

static void samples_release(struct samples *s)
{
	free(s->v);
	*s = (struct samples){ 0 };
}

static struct scan_source *find_source(struct scan *s, const char *name)
{
	uint32_t i;

	if (names_get(&s->source_names, name, &i))
		return &s->source[i];
	memory_room(&s->source, s->n_sources, sizeof(*s->source));
	memory_done(names_set(&s->source_names, name, s->n_sources));
	s->source[s->n_sources] = (struct scan_source){ .name = memory_text(name) };
	return &s->source[s->n_sources++];
}

/* The spread of the begin times of a group's instances in each snapshot. */
static void add_skews(struct scan *s, const struct pm_group *g, const struct pm_chunk *c,
		      const struct pm_chunk_group *cg)
{
	uint32_t times = pm_group_times(g);
	struct scan_source *source;

	if (cg->absent || times < 2)
		return;
	source = find_source(s, g->source);
	for (uint32_t row = 0; row < c->rows; row++) {
		uint64_t first = UINT64_MAX, last = 0;

		for (uint32_t t = 0; t < times; t++) {
			uint64_t begin = cg->v[t * cg->stride + row];

			/* An instance that was not read has no time. */
			if (!begin)
				continue;
			if (begin < first)
				first = begin;
			if (begin > last)
				last = begin;
		}
		if (last > first)
			samples_add(&source->skew, last - first);
	}
}

/* When the first value of a snapshot was read. What was not due keeps an older time. */
static uint64_t first_begin(const struct pm_model *m, const struct pm_chunk *c, uint32_t row)
{
	uint64_t first = UINT64_MAX;

	for (uint32_t i = 0; i < c->n_groups; i++) {
		const struct pm_chunk_group *cg = &c->group[i];
		const struct pm_group *g = pm_model_group(m, cg->group);

		for (uint32_t t = 0; g && !cg->absent && t < pm_group_times(g); t++) {
			uint64_t begin = cg->v[t * cg->stride + row];

			if (begin >= c->tick[row] && begin < first)
				first = begin;
		}
	}
	return first;
}

static void add_times(struct scan *s, const struct pm_model *m, const struct pm_chunk *c)
{
	for (uint32_t row = 0; row < c->rows; row++) {
		uint64_t begin = first_begin(m, c, row);

		if (begin == UINT64_MAX) {
			s->last_begin = 0;
			continue;
		}
		if (c->flags[row] & PM_SNAPSHOT_BETWEEN)
			continue;
		if (s->last_begin && begin > s->last_begin)
			samples_add(&s->interval, begin - s->last_begin);
		samples_add(&s->late, begin - c->tick[row]);
		s->last_begin = begin;
	}
}

static void add_values(struct scan *s, const struct pm_chunk *c, unsigned flags)
{
	const struct pm_model *m = pm_reader_model(s->reader);

	if (flags & SCAN_TIMES)
		add_times(s, m, c);
	for (uint32_t i = 0; i < c->n_groups; i++) {
		const struct pm_group *g = pm_model_group(m, c->group[i].group);

		if (!g)
			continue;
		s->values += c->group[i].absent ? 0 : (uint64_t)pm_group_values(g) * c->rows;
		if (flags & SCAN_TIMES)
			add_skews(s, g, c, &c->group[i]);
	}
}

#define INDEX_CHUNKS  1000 /* from this many chunks on, SCAN_INDEX skips some: */
#define INDEX_STOPS   8    /* it stops this many times, ... */
#define INDEX_STRETCH 20   /* ... for this many chunks, and at the end */
/* Likewise from so many chunks and bytes on, in shorter stretches, where nobody asks whether all are whole. */
#define INDEX_LEAST 50
#define INDEX_BYTES (4 << 20)

/* The path through a recording; in a long one, stretches far apart, by its index. */
struct walk {
	struct pm_extent extent;
	bool on;
	uint64_t stretch;   /* chunks */
	unsigned stops;     /* so far */
	uint32_t segment;   /* of the last chunk */
	uint32_t segment_1; /* of the first one */
	bool news;          /* groups may have come or gone since the last chunk */
};

/* Counts living groups of every source; the counts at the last chunk are reported. */
static void count_groups(struct scan *s)
{
	const struct pm_model *m = pm_reader_model(s->reader);

	for (uint32_t i = 0; i < s->n_sources; i++)
		s->source[i].groups = s->source[i].columns = 0;
	for (uint32_t i = 0; i < m->n_groups; i++) {
		struct scan_source *source;

		if (m->group[i].retired)
			continue;
		source = find_source(s, m->group[i].source);
		source->groups++;
		source->columns += pm_group_values(&m->group[i]);
	}
}

static int add_chunk(struct scan *s, const struct pm_chunk_head *head, unsigned flags, struct walk *w)
{
	const struct pm_chunk *chunk;
	bool same = s->begun && w->segment == head->segment;
	size_t damages;
	int r;

	if (w->news)
		count_groups(s);
	w->news = false;
	if (!s->begun) {
		s->begun = true;
		s->first_ns = head->from_ns;
		s->clocks = head->clocks;
		w->segment_1 = head->segment;
	}
	if (!same) {
		s->segments++;
		s->last_begin = 0;
	}
	w->segment = head->segment;
	if (head->run > s->runs)
		s->runs = head->run;
	s->last_clocks = head->clocks;
	s->last_ns = head->to_ns;
	s->chunks++;
	s->snapshots += head->rows;
	if (!(flags & (SCAN_VALUES | SCAN_TIMES)))
		return 0;
	r = pm_reader_decode(s->reader, &chunk);
	(void)pm_reader_damage(s->reader, &damages);
	/* Damage also comes as an item of its own; if all definitions are lost, a chunk has no values. */
	if (r == -EBADMSG || (!r && !chunk->n_groups && damages)) {
		s->snapshots -= head->rows;
		s->last_begin = 0;
		return 0;
	}
	if (r)
		return r;
	s->decoded += head->rows;
	add_values(s, chunk, flags);
	return 0;
}

static void add_event(struct scan *s, const struct pm_event *event)
{
	struct pm_event *to;

	if (event->type == PM_EVENT_LOST)
		s->lost_ticks += pm_map_u64(&event->attrs, PM_EVENT_KEY_COUNT, 0);
	s->n_gone += event->type == PM_EVENT_GONE;
	/* Leaves room for rare events where tasks come and go. */
	if (s->n_events >= (event->type == PM_EVENT_GONE ? SCAN_EVENTS / 2 : SCAN_EVENTS)) {
		s->more_events++;
		return;
	}
	memory_room(&s->event, s->n_events, sizeof(*s->event));
	to = &s->event[s->n_events++];
	*to = (struct pm_event){ .type = event->type, .time_ns = event->time_ns };
	memory_done(pm_map_copy(&to->attrs, &event->attrs));
}

static void release_events(struct scan *s)
{
	for (uint32_t i = 0; i < s->n_events; i++)
		pm_event_release(&s->event[i]);
	free(s->event);
	s->event = NULL;
	s->n_events = 0;
	s->more_events = s->n_gone = 0;
}

/* Times of one recording mean nothing in another. */
static void next_recording(struct scan *s)
{
	s->recordings++;
	s->earlier_ns += s->last_ns - s->first_ns;
	s->first_ns = s->last_ns = s->last_begin = 0;
	s->last_instance = 0;
	s->clocks = s->last_clocks = (struct pm_clocks){ 0 };
	release_events(s);
	s->begun = false;
}

/* Counters of every source. */
static void count_counters(struct scan *s)
{
	const struct pm_model *m = pm_reader_model(s->reader);

	for (uint32_t i = 0; i < m->n_counters; i++)
		find_source(s, m->counter[i].source)->counters++;
}

/* After a chunk: moves to the next stretch, if this one has been long enough. */
static int walk_on(struct scan *s, struct walk *w)
{
	const struct pm_extent *x = &w->extent;
	uint64_t length = x->to_ns - x->from_ns;

	if (!w->on || s->chunks % w->stretch || w->stops > INDEX_STOPS)
		return 0;
	if (!w->stops && x->chunks < INDEX_CHUNKS && s->bytes / s->chunks * x->chunks < INDEX_BYTES) {
		w->on = false;
		return 0;
	}
	s->last_begin = 0;
	w->stops++;
	return pm_reader_seek(s->reader,
			      w->stops > INDEX_STOPS ? x->to_ns - length / x->chunks * w->stretch :
						       x->from_ns + length / (INDEX_STOPS + 1) * w->stops,
			      true);
}

/* The counts of what was skipped follow from the index, from the number of the last frame, and from its segment. */
static void walk_end(struct scan *s, const struct walk *w, uint64_t frames)
{
	uint64_t segments = (uint64_t)w->segment - w->segment_1 + 1;

	if (!w->stops)
		return;
	s->chunks = w->extent.chunks;
	s->snapshots = w->extent.snapshots;
	s->frames = frames;
	s->segments = segments > s->segments ? segments : s->segments;
}

static int scan_items(struct scan *s, const char *path, unsigned flags, struct error *e)
{
	struct walk w = { 0 };
	struct pm_item item = { 0 };
	int r;

	s->recordings = 1;
	w.on = flags & SCAN_INDEX && !pm_reader_extent(s->reader, &w.extent) && w.extent.indexed &&
	       w.extent.chunks >= (flags & SCAN_VALUES ? INDEX_CHUNKS : INDEX_LEAST);
	w.stretch =
		w.extent.chunks < INDEX_CHUNKS ? w.extent.chunks * INDEX_STRETCH / INDEX_CHUNKS + 1 : INDEX_STRETCH;
	while ((r = pm_reader_next(s->reader, &item)) > 0) {
		if (item.offset + item.length > s->bytes)
			s->bytes = item.offset + item.length;
		s->frames += item.length && item.kind != PM_ITEM_DAMAGE && item.kind != PM_ITEM_RECORDING;
		if (item.kind != PM_ITEM_DAMAGE)
			s->ended = item.kind == PM_ITEM_END;
		r = 0;
		w.news |= item.kind == PM_ITEM_MODEL;
		if (item.kind == PM_ITEM_CHUNK)
			r = add_chunk(s, &item.chunk, flags, &w);
		else if (item.kind == PM_ITEM_EVENT)
			add_event(s, item.event);
		else if (item.kind == PM_ITEM_RECORDING)
			next_recording(s);
		else if (item.kind == PM_ITEM_MODEL && flags & SCAN_TIMES)
			reveals_take_instances(s);
		if (!r && item.kind == PM_ITEM_CHUNK)
			r = walk_on(s, &w);
		if (r)
			return input_failed(e, r, path);
		if (item.kind == PM_ITEM_CHUNK)
			pm_reader_forget(s->reader, NULL, NULL);
	}
	walk_end(s, &w, item.sequence + 1);
	count_counters(s);
	if (!s->chunks)
		count_groups(s);
	s->damage = pm_reader_damage(s->reader, &s->n_damage);
	return r ? input_failed(e, r, path) : 0;
}

int scan_reader(struct scan *s, struct pm_reader *reader, const char *name, unsigned flags, struct error *e)
{
	*s = (struct scan){ .reader = reader };
	return scan_items(s, name, flags, e);
}

int scan_path(struct scan *s, const char *path, unsigned flags, struct error *e)
{
	/* Checked before reading: what is written meanwhile would otherwise look like a missing end. */
	bool being_written = input_being_written(path);
	struct pm_reader *reader;
	int r = input_open(&reader, path, false, e);

	*s = (struct scan){ 0 };
	if (!r)
		r = scan_reader(s, reader, path, flags, e);
	s->being_written = being_written;
	return r;
}

void scan_release(struct scan *s)
{
	release_events(s);
	for (uint32_t i = 0; i < s->n_sources; i++) {
		samples_release(&s->source[i].skew);
		free(s->source[i].name);
	}
	samples_release(&s->interval);
	samples_release(&s->late);
	reveals_release(&s->instances);
	free(s->source);
	names_release(&s->source_names);
	pm_reader_close(s->reader);
	*s = (struct scan){ 0 };
}

bool scan_damaged(const struct scan *s)
{
	return reader_damaged(s->reader, s->being_written);
}

bool reader_damaged(const struct pm_reader *reader, bool being_written)
{
	size_t n;
	const struct pm_damage *d = pm_reader_damage(reader, &n);

	for (size_t i = 0; i < n; i++) {
		bool open_end = d[i].kind == PM_DAMAGE_NO_END || (d[i].kind == PM_DAMAGE_CUT && i + 1 == n);

		if (!(open_end && being_written))
			return true;
	}
	return false;
}

bool scan_lacks_end(const struct scan *s)
{
	for (size_t i = 0; i < s->n_damage; i++)
		if (s->damage[i].kind != PM_DAMAGE_NO_END && s->damage[i].kind != PM_DAMAGE_CUT)
			return false;
	return s->n_damage > 0;
}

struct json *newer_json(const struct pm_reader *reader)
{
	struct json *list = json_new_array();
	SCOPED(buf_release) struct buf one = BUF_INIT;

	for (const char *line = pm_reader_newer(reader); *line; line += strcspn(line, "\n") + 1) {
		buf_clear(&one);
		buf_add(&one, line, strcspn(line, "\n"));
		json_push(list, json_new_buf(&one));
	}
	return list;
}

uint64_t scan_start(const struct scan *s)
{
	return s->begun ? pm_reader_realtime(s->reader, s->first_ns) : 0;
}
