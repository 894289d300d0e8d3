/* From recordings to numbers: one per run for every metric at every place of the wanted levels. */
#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <string.h>

#include "common/memory.h"
#include "common/statistics.h"
#include "report/diff/diff.h"
#include "report/input/input.h"
#include "report/metric/bind.h"
#include "report/pipeline/pipeline.h"

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

void diff_data_release(struct diff_data *d)
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
	*d = (struct diff_data){ 0 };
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

int diff_collect(struct diff_data *d, struct diff_recordings *r, struct diff_options *o, struct error *e)
{
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
