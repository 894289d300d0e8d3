/* pmrep stat as a sink: intervals, runs and totals of a recording become lines. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/memory.h"
#include "report/stat/stat.h"

static void forget(struct stat_sheet *s)
{
	stat_forget_layout(s);
	stat_events_release(s);
	stat_shadow_release(s);
	stat_forget_history(s);
	listed_release(&s->lost);
	listed_release(&s->lost_at);
	buf_release(&s->stamp);
	free(s->off);
	s->off = NULL;
	s->n_off = 0;
	free(s->run_wall);
	s->run_wall = NULL;
	s->n_runs = 0;
}

void stat_release(struct stat_sheet *s)
{
	forget(s);
	buf_release(&s->notes);
}

static void print_lines(struct stat_sheet *s)
{
	stat_sort_lines(s);
	if (s->config->form == STAT_TEXT)
		stat_text(s);
	else if (s->config->iostat && s->config->form == STAT_CSV)
		stat_put_ports(s);
	else
		stat_fields(s);
}

/* ---- intervals ---- */

static int plan(struct sink *sink, struct sink_plan *plan)
{
	struct stat_sheet *s = (struct stat_sheet *)sink;
	const struct places *places = plan->places;
	int err;

	s->begins = !s->replay;
	s->places = places;
	s->replay = plan->replay;
	/* perf prints a line per cgroup if metrics have columns. */
	for (uint32_t i = 0; i < places->model->n_instances && s->config->metric_only && s->aggr == STAT_GLOBAL; i++)
		if (stat_cgroup_of(&places->model->instance[i]))
			s->aggr = STAT_CGROUP;
	s->system_wide = !strcmp(pm_map_text(&places->model->header, PM_HEADER_TARGET, ""), "system");
	/* Of runs without end perf prints each, without the command's own times. */
	s->each = !pm_map_u64(&places->model->header, PM_HEADER_RUNS, 1);
	s->runs = pm_map_u64(&places->model->header, PM_HEADER_RUNS, 1) != 1;
	s->binding = plan->binding;
	s->laid_out = s->shaped = false;
	if ((err = stat_events_find(s, &sink->error)) || (err = stat_shadow_bind(s, sink->notes, &sink->error)))
		return err;
	if (!s->n_events && !s->n_heads && places->model->n_counters)
		return error_set(&sink->error, ENOENT,
				 "the recording has none of the events that these metrics need");
	for (uint32_t i = 0; i < s->n_events; i++)
		for (uint32_t k = 0; k < s->event[i].n_counters; k++)
			replay_want(s->replay, s->event[i].counter[k], 1u << TRACK_VALUE);
	stat_shadow_plan(s, plan);
	return 0;
}

static int shape(struct sink *sink, const struct sheet *sheet, size_t n)
{
	struct stat_sheet *s = (struct stat_sheet *)sink;
	int err;

	if (!s->laid_out && (err = stat_lay_out(s, sink->notes, &sink->error)))
		return err;
	stat_shadow_shape(s, sheet, n);
	s->shaped = true;
	stat_fields_shape(s);
	if (s->begins)
		stat_fields_begin(s);
	return 0;
}

/* For how much of the interval events were disabled. */
static uint64_t off_ns(const struct stat_sheet *s, const struct interval *i)
{
	uint64_t sum = 0;

	for (size_t k = 0; k < s->n_off; k++) {
		uint64_t from = s->off[k].from_ns > i->from_ns ? s->off[k].from_ns : i->from_ns;
		uint64_t to = s->off[k].to_ns < i->to_ns ? s->off[k].to_ns : i->to_ns;

		sum += to > from ? to - from : 0;
	}
	return sum < i->to_ns - i->from_ns ? sum : i->to_ns - i->from_ns;
}

/* JSON has no comments. */
static void put_started(struct stat_sheet *s, const struct interval *i)
{
	time_t t = (time_t)((i->wall_ns - (int64_t)(i->to_ns - i->from_ns)) / 1000000000);
	char text[64];
	struct tm tm;

	if (i->wall_ns && localtime_r(&t, &tm) && strftime(text, sizeof(text), "%a %b %e %H:%M:%S %Y", &tm))
		buf_printf(s->text, "# started on %s\n\n", text);
}

static void one_interval(struct stat_sheet *s, const struct interval *i, size_t k)
{
	const struct stat_config *c = s->config;
	int64_t since = (int64_t)(i->to_ns - s->sink.origin_ns);
	uint64_t counted;

	s->off_ns = off_ns(s, i);
	/* pmrec omits most of the time with events disabled, and what it omitted is not part of the duration. */
	counted = i->to_ns - i->from_ns - s->off_ns;
	counted = counted < i->duration_ns ? counted : i->duration_ns;

	if (c->started && c->form != STAT_JSON && !s->intervals)
		put_started(s, i);
	s->intervals++;
	s->counted_ns += counted;
	s->seconds = (double)counted / 1e9;
	stat_count(s, k);
	if (c->stats)
		stat_keep_values(s);
	if (c->intervals) {
		snprintf(s->time, sizeof(s->time), "%*" PRIu64 ".%09" PRIu64, c->form == STAT_CSV ? 6 : 0,
			 (uint64_t)since / 1000000000, (uint64_t)since % 1000000000);
		if (!c->stats)
			print_lines(s);
	} else if (s->runs) {
		/* The command's own time, if known, not that of the snapshots around it. */
		counted = s->elapsed_ns && !s->switched ? s->elapsed_ns : counted;
		s->seconds = (double)counted / 1e9;
		s->elapsed_ns = 0;
		s->user = s->each ? (struct stat_spread){ 0 } : s->user;
		if (s->each)
			print_lines(s);
		else
			stat_add_run(s, (double)counted);
	}
	if (!s->runs || c->intervals)
		stat_add_total(s);
}

static int intervals(struct sink *sink, const struct sheet *sheet, const struct interval *interval, size_t n)
{
	struct stat_sheet *s = (struct stat_sheet *)sink;
	int err = 0;

	for (size_t k = 0; k < n && !err; k++) {
		stat_shadow_take(s, sheet, k);
		one_interval(s, &interval[k], k);
		if ((err = output_pace(s->out)))
			sink->error = s->out->error;
	}
	return err;
}

static void event(struct sink *sink, const struct pm_event *event)
{
	struct stat_sheet *s = (struct stat_sheet *)sink;
	bool off = s->n_off && s->off[s->n_off - 1].to_ns == UINT64_MAX;

	/* A single event: the time of the others continues. */
	if (pm_map_get(&event->attrs, PM_EVENT_KEY_COUNTER))
		return;
	switch (event->type) {
	case PM_EVENT_CHILD_START:
		s->child = true;
		break;
	case PM_EVENT_CHILD_EXIT:
		s->child = true;
		s->elapsed_ns = pm_map_u64(&event->attrs, PM_EVENT_KEY_ELAPSED_NS, 0);
		stat_spread_add(&s->user, (double)pm_map_u64(&event->attrs, PM_EVENT_KEY_USER_NS, 0));
		stat_spread_add(&s->system, (double)pm_map_u64(&event->attrs, PM_EVENT_KEY_SYSTEM_NS, 0));
		break;
	case PM_EVENT_DISABLE:
		s->switched = true;
		if (off)
			break;
		memory_room(&s->off, s->n_off, sizeof(*s->off));
		s->off[s->n_off++] = (struct stat_off){ event->time_ns, UINT64_MAX };
		break;
	case PM_EVENT_ENABLE:
		s->switched = true;
		if (off)
			s->off[s->n_off - 1].to_ns = event->time_ns;
		break;
	default:
		break;
	}
}

static int end(struct sink *sink)
{
	struct stat_sheet *s = (struct stat_sheet *)sink;
	int err = 0;

	if (!s->replay)
		return 0;
	s->time[0] = '\0';
	/* There may have been no interval since the model grew. */
	if (s->intervals && !s->shaped && (err = shape(sink, NULL, 0)))
		return err;
	if (s->intervals && s->config->stats) {
		stat_print_stats(s);
	} else if (s->intervals && !s->each && (!s->config->intervals || s->config->summary)) {
		/* perf's CSV says so of any totals, if it was asked for them. */
		s->summing = s->config->intervals || (s->config->summary && s->config->form == STAT_CSV);
		s->seconds = (double)s->counted_ns / 1e9;
		if (s->n_runs) {
			stat_take_means(s);
			s->seconds = s->wall.mean / 1e9;
		} else {
			/* For a command beside other things, clocks and counts cover a little more. */
			if (s->elapsed_ns && !s->switched && !s->config->window && !s->config->intervals &&
			    !strcmp(pm_map_text(&s->places->model->header, PM_HEADER_TARGET, ""), "command"))
				s->seconds = (double)s->elapsed_ns / 1e9;
			stat_take_totals(s);
		}
		print_lines(s);
		s->summing = false;
	}
	stat_note_lost(s);
	if (s->config->table && s->n_runs < 2)
		buf_addstr(&s->notes, "--table: the recording has only one run\n");
	forget(s);
	s->replay = NULL;
	s->intervals = s->counted_ns = s->elapsed_ns = 0;
	s->user = s->system = s->wall = (struct stat_spread){ 0 };
	s->child = s->switched = false;
	if ((err = output_flush(s->out)))
		sink->error = s->out->error;
	return err;
}

/* For the summary after intervals, and the means of runs. */
static int totals(struct sink *sink, const struct sheet *sheet, const struct interval *interval, size_t n)
{
	struct stat_sheet *s = (struct stat_sheet *)sink;
	int err = s->shaped ? 0 : shape(sink, sheet, 1);

	if (n && !err)
		stat_shadow_take(s, sheet, n - 1);
	return err;
}

static const struct sink_ops ops = {
	.counts = true,
	.plan = plan,
	.shape = shape,
	.intervals = intervals,
	.totals = totals,
	.event = event,
	.end = end,
};

void stat_init(struct stat_sheet *s, const struct stat_config *config, struct output *out)
{
	*s = (struct stat_sheet){ .sink = { .ops = &ops,
					    .recording = "",
					    .whole = config->intervals && !config->summary ? SINK_NO_TOTALS :
											     SINK_ALL_RUNS },
				  .config = config,
				  .aggr = config->aggr,
				  .out = out,
				  .text = out ? &out->text : NULL };
}
