#include "report/diff/diff_collect.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"
#include "report/diff/diff_data.h"
#include "report/diff/diff_shown.h"
#include "report/diff/diff_stream.h"
#include "report/input/input.h"
#include "report/metric/amount.h"
#include "report/pipeline/pipeline.h"

/* What all threads share. */
struct collection {
	struct diff_data *data;
	struct diff_recordings *recordings;
	struct diff_options *o; /* its words are marked under the lock */
	bool within, rate;
	pthread_mutex_t lock; /* protects data, next and the error */
	size_t next;
	int err;
	struct error *e;
};

struct level {
	enum pm_kind kind;
	uint32_t *series; /* by cell */
	bool *amount;     /* by cell: grows with the length of the interval */
	size_t n_cells;
};

/* The values of a series in the current run, which go on when cells become others. */
struct gathered {
	struct diff_stream stream;
	bool total; /* was requested, too */
};

/* One pass over one recording, or over one run of it. */
struct pass {
	struct sink sink;
	struct collection *c;
	struct diff_recording *r;
	uint32_t recording; /* its place */
	bool each;          /* variation within it, not the total */
	const struct places *places;
	const struct binding *binding;
	bool *shown, *varying, *amount;
	bool varies; /* some metric must be averaged over intervals */
	struct level level[PM_KINDS];
	uint32_t n_levels;
	struct gathered *gathered; /* by series, if `each` */
	size_t n_gathered;
	uint32_t part, run; /* of the last interval; run 0: none yet */
};

/* ---- laying out ---- */

static void level_release(struct level *l)
{
	free(l->series);
	free(l->amount);
	*l = (struct level){ 0 };
}

static void forget(struct pass *p)
{
	for (uint32_t i = 0; i < p->n_levels; i++)
		level_release(&p->level[i]);
	p->n_levels = 0;
	free(p->shown);
	free(p->varying);
	free(p->amount);
	p->shown = p->varying = p->amount = NULL;
}

static void forget_gathered(struct pass *p)
{
	for (size_t i = 0; i < p->n_gathered; i++)
		diff_stream_release(&p->gathered[i].stream);
	free(p->gathered);
	p->gathered = NULL;
	p->n_gathered = 0;
}

static int gather(struct pass *p, uint32_t series, enum pm_kind kind, bool total)
{
	while (p->n_gathered <= series) {
		if (array_room(&p->gathered, p->n_gathered, sizeof(*p->gathered)))
			return -ENOMEM;
		p->gathered[p->n_gathered++] = (struct gathered){ 0 };
	}
	if (!p->gathered[series].stream.cap)
		diff_stream_init(&p->gathered[series].stream, kind == PM_SYSTEM ? 1024 : 64);
	p->gathered[series].total = total;
	return 0;
}

/* "package 1 core 3"; a device, task or cgroup by its name. */
static void put_where(struct buf *out, const struct places *places, const struct place *p)
{
	const struct {
		const char *name;
		uint32_t number;
	} part[] = {
		{ "package", p->kind == PM_NODE ? PM_NONE : p->package },
		/* Where there are several dies, cores are numbered in each. */
		{ "die", p->kind == PM_DIE || (p->kind == PM_CORE && p->die) ? p->die : PM_NONE },
		{ "cluster", p->kind == PM_CLUSTER ? p->cluster : PM_NONE },
		{ "cache", p->kind == PM_CACHE ? p->cache : PM_NONE },
		{ "node", p->kind == PM_NODE ? p->node : PM_NONE },
		{ "core", p->kind == PM_CORE ? p->core : PM_NONE },
	};
	const char *name = places_name(places, p);

	if (p->kind == PM_SYSTEM)
		return;
	if (*name) {
		places_put_name(places, p, out);
		return;
	}
	/* The kernel's number of a CPU is enough. */
	if (p->kind == PM_CPU) {
		buf_printf(out, "cpu %u", p->cpu);
		return;
	}
	for (size_t i = 0; i < sizeof(part) / sizeof(*part); i++)
		if (part[i].number != PM_NONE)
			buf_printf(out, "%s%s %u", out->len ? " " : "", part[i].name, part[i].number);
}

static int name_cells(struct pass *p, struct level *l, const struct sheet *sheet)
{
	SCOPED(buf_release) struct buf unit = BUF_INIT, where = BUF_INIT;
	int err = 0;

	for (uint32_t r = 0; r < sheet->n_rows; r++)
		l->n_cells += sheet->row[r].n_cells;
	l->series = calloc(l->n_cells + 1, sizeof(*l->series));
	l->amount = calloc(l->n_cells + 1, sizeof(*l->amount));
	if (!l->series || !l->amount)
		return -ENOMEM;
	pthread_mutex_lock(&p->c->lock);
	for (uint32_t r = 0, n = 0; r < sheet->n_rows && !err; r++) {
		const struct sheet_row *row = &sheet->row[r];

		buf_clear(&where);
		put_where(&where, p->places, &row->place);
		for (uint32_t k = 0; k < row->n_cells && !err; k++, n++) {
			const struct bound_metric *m = sheet->column[row->cell[k].column].metric;
			struct diff_series as = {
				.metric = (char *)m->name,
				.display = (char *)m->display,
				.where = (char *)buf_str(&where),
				.place = row->place,
				.margin = m->about->margin,
				.order = (uint32_t)(m - p->binding->metric),
				.better = m->better,
			};
			struct diff_name name = diff_name_of(p->binding, m);
			int64_t found;

			l->series[n] = UINT32_MAX;
			if (row->place.kind != l->kind)
				continue;
			l->amount[n] = p->amount[m - p->binding->metric];
			buf_clear(&unit);
			buf_printf(&unit, "%s%s", m->about->unit, l->amount[n] && p->c->rate ? "/s" : "");
			as.unit = (char *)buf_str(&unit);
			as.better = diff_better(p->c->o, p->binding, m, p->r->command && !p->c->rate);
			as.gate = diff_gate_of(p->c->o, &name);
			found = diff_series_find(p->c->data, &as);
			if (found < 0)
				err = (int)found;
			else
				l->series[n] = (uint32_t)found;
			if (!err && p->each)
				err = gather(p, l->series[n], l->kind, p->shown[m - p->binding->metric]);
		}
	}
	pthread_mutex_unlock(&p->c->lock);
	return err;
}

static void wish(struct pass *p, struct sink_plan *plan, enum pm_kind kind)
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
static bool has_field(const struct pass *p, const struct bound_metric *m, const struct pm_model *model)
{
	for (uint32_t i = 0; i < m->n_inputs; i++) {
		const struct bound_input *in = &p->binding->input[m->input[i]];

		if (in->more->op != INPUT_BITS && in->more->op != INPUT_BELOW)
			continue;
		for (uint32_t k = 0; k < in->n_counters; k++)
			if (pm_model_counter(model, in->counter[k])->semantics != PM_CUMULATIVE)
				return true;
	}
	return false;
}

static int plan(struct sink *sink, struct sink_plan *plan)
{
	struct pass *p = (struct pass *)sink;
	const enum pm_kind below[] = { PM_SYSTEM, PM_PACKAGE, PM_CORE };
	const struct binding *b = plan->binding;

	forget(p);
	p->places = plan->places;
	p->binding = plan->binding;
	p->shown = calloc(b->n_metrics + 1, sizeof(*p->shown));
	p->varying = calloc(b->n_metrics + 1, sizeof(*p->varying));
	p->amount = calloc(b->n_metrics + 1, sizeof(*p->amount));
	if (!p->shown || !p->varying || !p->amount)
		return error_sys(&sink->error, ENOMEM, "metrics");
	pthread_mutex_lock(&p->c->lock);
	for (size_t i = 0; i < b->n_metrics; i++) {
		const struct bound_metric *m = &b->metric[i];
		struct diff_name name = diff_name_of(b, m);
		bool field;

		diff_words_known(p->c->o, &name);
		p->shown[i] = diff_chooses(p->c->o, &name, m->default_on || m->added);
		field = p->shown[i] && has_field(p, m, plan->places->model);
		p->varying[i] = field || (p->shown[i] && p->c->within);
		p->shown[i] &= !field;
		p->varies |= p->varying[i];
		p->amount[i] = metric_is_amount(b, m, plan->places->model);
	}
	pthread_mutex_unlock(&p->c->lock);
	for (size_t i = 0; i < sizeof(below) / sizeof(*below); i++)
		if (!i || !p->c->o->per)
			wish(p, plan, below[i]);
	for (int k = PM_PACKAGE; k < PM_KINDS; k++)
		if (p->c->o->per >> k & 1)
			wish(p, plan, (enum pm_kind)k);
	return 0;
}

static int shape(struct sink *sink, const struct sheet *sheet, size_t n)
{
	struct pass *p = (struct pass *)sink;
	int err = 0;

	for (size_t i = 0; i < n && !err; i++)
		err = name_cells(p, &p->level[i], &sheet[i]);
	return err ? error_sys(&sink->error, -err, "laying out the comparison") : 0;
}

/* ---- numbers ---- */

static uint32_t run_of(const struct pass *p, uint32_t run)
{
	return p->part << 16 | (run & 0xffff);
}

/* Adds what the streams have gathered to the values of their run. */
static int end_streams(struct pass *p)
{
	int err = 0;

	pthread_mutex_lock(&p->c->lock);
	for (size_t i = 0; i < p->n_gathered && p->run; i++) {
		struct gathered *g = &p->gathered[i];
		struct diff_series *series = &p->c->data->series[i];
		struct diff_value *v;
		struct diff_within w;

		if (!g->stream.values)
			continue;
		v = diff_series_value(series, p->recording, p->run);
		/* The total is missing, so there is nothing to compare. */
		if (v && isnan(v->v) && g->total) {
			series->n--;
			diff_stream_clear(&g->stream);
			continue;
		}
		if (!v || diff_stream_end(&g->stream, &w)) {
			err = -ENOMEM;
			break;
		}
		/* A register field has no total: its mean is the value. */
		if (isnan(v->v)) {
			v->v = w.mean;
			p->r->values++;
		}
		v->error = w.mean < 0 || w.mean > 0 ? w.error * fabs(v->v / w.mean) : w.error;
		v->samples = w.samples;
		v->time = w.time;
		diff_stream_clear(&g->stream);
	}
	pthread_mutex_unlock(&p->c->lock);
	return err;
}

/* The number to compare: per second, if the runs may have any length. */
static double comparable(const struct pass *p, const struct level *l, uint32_t cell, double v, double seconds)
{
	return l->amount[cell] && p->c->rate ? v / seconds : v;
}

static int take_each(const struct pass *p, struct level *l, const struct sheet *sheet,
		     const struct interval *interval, size_t k)
{
	double weight = (double)interval[k].duration_ns / 1e9;
	int err = 0;

	for (uint32_t r = 0, n = 0; r < sheet->n_rows; r++)
		for (uint32_t c = 0; c < sheet->row[r].n_cells && !err; c++, n++) {
			const struct value *v = &sheet->row[r].cell[c].value[k];

			if (l->series[n] != UINT32_MAX && !v->reason && isfinite(v->v) && weight > 0)
				err = diff_stream_add(&p->gathered[l->series[n]].stream,
						      comparable(p, l, n, v->v, weight), weight);
		}
	return err;
}

static int take_total(struct pass *p, struct level *l, const struct sheet *sheet, const struct interval *interval,
		      size_t k)
{
	uint32_t run = run_of(p, interval[k].run);
	int err = 0;

	pthread_mutex_lock(&p->c->lock);
	for (uint32_t r = 0, n = 0; r < sheet->n_rows; r++)
		for (uint32_t c = 0; c < sheet->row[r].n_cells && !err; c++, n++) {
			const struct value *v = &sheet->row[r].cell[c].value[k];
			struct diff_value *out;

			if (l->series[n] == UINT32_MAX || v->reason || !isfinite(v->v))
				continue;
			/* Less was counted because less was seen. */
			if (l->amount[n] && interval[k].partial && !p->c->rate)
				continue;
			out = diff_series_value(&p->c->data->series[l->series[n]], p->recording, run);
			if (out)
				out->v = comparable(p, l, n, v->v, (double)interval[k].duration_ns / 1e9);
			else
				err = -ENOMEM;
			p->r->values++;
			p->r->doubtful += sheet_quality(&sheet->row[r].cell[c], k) == STATUS_DOUBTFUL;
		}
	pthread_mutex_unlock(&p->c->lock);
	return err;
}

static int intervals(struct sink *sink, const struct sheet *sheet, const struct interval *interval, size_t n)
{
	struct pass *p = (struct pass *)sink;
	int err = 0;

	for (size_t k = 0; k < n && !err; k++) {
		uint32_t run = run_of(p, interval[k].run);

		if (!interval[k].duration_ns)
			continue;
		if (p->each && run != p->run)
			err = end_streams(p);
		p->run = run;
		for (uint32_t i = 0; i < p->n_levels && !err; i++)
			err = p->each ? take_each(p, &p->level[i], &sheet[i], interval, k) :
					take_total(p, &p->level[i], &sheet[i], interval, k);
	}
	return err ? error_sys(&sink->error, -err, "values") : 0;
}

static int end(struct sink *sink)
{
	struct pass *p = (struct pass *)sink;
	int err = p->each ? end_streams(p) : 0;

	p->part++;
	p->run = 0;
	return err ? error_sys(&sink->error, -err, "values") : 0;
}

/* ---- recordings ---- */

static const struct sink_ops ops = { .plan = plan, .shape = shape, .intervals = intervals, .end = end };

/* Which part of a run counts. False: nothing of it; *from and *to 0: all. */
static bool window_of(const struct diff_options *o, struct diff_recording *r, const struct diff_run *run,
		      uint64_t *from, uint64_t *to)
{
	*from = *to = 0;
	if (o->from_marker && !(*from = run->from_marker_ns)) {
		buf_printf(&r->notes, "run %u has no marker '%s': left out\n", run->run & 0xffff, o->from_marker);
		return false;
	}
	if (o->to_marker && !(*to = run->to_marker_ns)) {
		buf_printf(&r->notes, "run %u has no marker '%s'%s: left out\n", run->run & 0xffff, o->to_marker,
			   o->from_marker ? " behind the first" : "");
		return false;
	}
	if (o->align_command && !(run->start_ns && run->exit_ns)) {
		buf_printf(&r->notes, "run %u has no start and exit of a command: left out\n", run->run & 0xffff);
		return false;
	}
	if (o->align_command && run->start_ns > *from)
		*from = run->start_ns;
	if (o->align_command && (!*to || run->exit_ns < *to))
		*to = run->exit_ns;
	if (!run->to_ns) {
		buf_printf(&r->notes, "run %u has no snapshot: left out\n", run->run & 0xffff);
		return false;
	}
	if (o->skip_ns)
		*from = (*from > run->from_ns ? *from : run->from_ns) + o->skip_ns;
	if (!*from && !*to)
		return true;
	if (!*from)
		*from = run->from_ns;
	if (!*to || *to > run->to_ns)
		*to = run->to_ns;
	if (*from >= *to) {
		buf_printf(&r->notes, "nothing of run %u remains: left out\n", run->run & 0xffff);
		return false;
	}
	return true;
}

static int read_part(struct pass *p, uint64_t from, uint64_t to, struct error *e)
{
	struct pipeline_config config = {
		.mode = p->each ? PIPELINE_EACH : PIPELINE_TOTAL,
		.bind = { .rate = p->c->rate, .files = p->c->o->vendor },
	};
	SCOPED(pipeline_result_release) struct pipeline_result result = { 0 };
	SCOPED(pm_reader_scoped) struct pm_reader *reader = NULL;
	int err = input_open_as(&reader, p->r->place, p->r->path, e);

	if (err)
		return err;
	/* Times of the recording itself, from its first snapshot. */
	if (from || to) {
		config.since = (struct moment){ MOMENT_FROM_START, from - p->r->first_ns };
		config.until = (struct moment){ MOMENT_FROM_START, to - p->r->first_ns };
	}
	p->part = p->run = 0;
	err = pipeline_run(&config, reader, &p->sink, &result, e);
	if (err && strncmp(e->text, p->r->path, strlen(p->r->path)))
		error_prefix(e, "%s", p->r->path);
	pthread_mutex_lock(&p->c->lock);
	p->r->damaged |= result.damaged;
	if (!err && !p->each && result.damaged)
		buf_add(&p->r->notes, result.notes.data, result.notes.len);
	pthread_mutex_unlock(&p->c->lock);
	forget(p);
	forget_gathered(p);
	return err;
}

static int read_recording(struct collection *c, size_t at, struct error *e)
{
	struct diff_recording *r = &c->recordings->recording[at];
	const struct diff_options *o = c->o;
	struct pass p = { .sink.ops = &ops, .c = c, .r = r, .recording = (uint32_t)at };
	bool windows = o->from_marker || o->to_marker || o->align_command || o->skip_ns;
	int err = 0;

	if (windows && r->parts > 1)
		return error_set(e, EINVAL, "%s holds %u recordings, so a part of it cannot be selected", r->path,
				 r->parts);
	for (uint32_t i = 0; i < (windows ? r->n_runs : 1) && !err; i++) {
		uint64_t from = 0, to = 0;

		if (windows && !window_of(o, r, &r->run[i], &from, &to))
			continue;
		for (int each = 0; each < 1 + p.varies && !err; each++) {
			p.each = each;
			err = read_part(&p, from, to, e);
		}
	}
	return err;
}

static void *work(void *ctx)
{
	struct collection *c = ctx;

	for (;;) {
		struct error e = { 0 };
		size_t at;
		int err;

		pthread_mutex_lock(&c->lock);
		at = c->err ? c->recordings->n : c->next;
		c->next += at < c->recordings->n;
		pthread_mutex_unlock(&c->lock);
		if (at >= c->recordings->n)
			return NULL;
		err = read_recording(c, at, &e);
		if (!err)
			continue;
		pthread_mutex_lock(&c->lock);
		if (!c->err) {
			c->err = err;
			*c->e = e;
		}
		pthread_mutex_unlock(&c->lock);
	}
}

int diff_collect(struct diff_data *d, struct diff_recordings *r, struct diff_options *o, bool within, struct error *e)
{
	struct collection c = {
		.data = d,
		.recordings = r,
		.o = o,
		.within = within,
		.e = e,
		.rate = o->rate,
		.lock = PTHREAD_MUTEX_INITIALIZER,
	};
	long cpus = o->jobs ? (long)o->jobs : sysconf(_SC_NPROCESSORS_ONLN);
	pthread_t thread[16];
	size_t n = 0, max = cpus > 16 ? 16 : cpus < 1 ? 1 : (size_t)cpus;
	int err;

	/* Counts over different periods cannot be compared: only a command is a fixed amount of work. */
	for (size_t i = 0; i < r->n; i++)
		c.rate |= !r->recording[i].command;
	while (n + 1 < max && n + 1 < r->n && !pthread_create(&thread[n], NULL, work, &c))
		n++;
	work(&c);
	while (n)
		pthread_join(thread[--n], NULL);
	if (c.err)
		return c.err;
	err = diff_add_command(d, r, o);
	diff_data_sort(d);
	return err ? error_sys(e, -err, "values") : 0;
}
