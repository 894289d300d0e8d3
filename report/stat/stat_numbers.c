/* The numbers of pmrep stat: what the replay counted in the columns of each line, over intervals and runs. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/memory.h"
#include "report/machine/status.h"
#include "report/stat/stat.h"

/* Whether no earlier column counted the same event of the same package. */
static bool is_first(const struct stat_sheet *s, const struct stat_line *l, uint32_t i, size_t k)
{
	const struct stat_column *c = &s->column[l->first + i];

	for (uint32_t j = 0; j < i; j++) {
		const struct stat_column *other = &s->column[l->first + j];

		if (other->package == c->package && other->die == c->die && other->counter == c->counter &&
		    !replay_counts(s->replay, other->track)[k].reason)
			return false;
	}
	return true;
}

/* Time in which a column was not observed lowers the percentage. The next reading may include the count of a missed
 * one, so sums of intervals lack only what none has included. Waiting for a counter is part of its own times. */
static void take_lost(const struct stat_sheet *s, struct stat_line *l, struct stat_column *c, bool counted, size_t k)
{
	const struct support *u = replay_support(s->replay, c->track);
	uint64_t lost = u ? (uint64_t)(u[k].lost * 1e9) : 0;

	/* Nor is a disabled event observed. */
	lost = lost > s->off_ns && u[k].why != PM_REASON_NOT_COUNTED ? lost - s->off_ns : 0;
	l->now.lost += lost;
	l->total.lost -= c->unseen_ns;
	c->unseen_ns = counted ? 0 : c->unseen_ns;
	/* What the reader itself found to be lost is never included: gaps, resets. */
	if (lost && u[k].why >= VALUE_DIVISION_BY_ZERO)
		l->total.lost += lost;
	else
		c->unseen_ns += lost;
	l->total.lost += c->unseen_ns;
}

static void count_line(struct stat_sheet *s, struct stat_line *l, size_t k)
{
	bool package = s->event[l->event].per_pkg && s->aggr != STAT_THREAD;
	uint32_t missing = 0, n = 0;
	uint16_t why = 0;

	for (uint32_t i = 0; i < l->n; i++) {
		struct stat_column *column = &s->column[l->first + i];
		const struct count *c = replay_counts(s->replay, column->track) + k;

		if (!package)
			take_lost(s, l, column, !c->reason, k);
		else if (!c->reason && !is_first(s, l, i, k))
			continue;
		if (__builtin_expect(c->reason, 0)) {
			missing++;
			why = c->reason;
			/* What waited for a counter all the time lowers the percentage. */
			if (c->reason == PM_REASON_NOT_COUNTED && !package)
				l->now.enabled += c->enabled;
			continue;
		}
		l->now.v += c->made;
		l->now.raw += c->v;
		l->now.enabled += c->enabled;
		l->now.running += c->running;
		n++;
	}
	l->now.enabled += l->now.lost;
	l->now.nr = package && n ? n : l->n;
	if (!missing || (package && n))
		return;
	if (missing == l->n) {
		l->now.reason = why;
		return;
	}
	for (uint32_t i = 0; i < l->n; i++) {
		const struct stat_column *column = &s->column[l->first + i];
		const struct count *c = replay_counts(s->replay, column->track) + k;
		const struct support *u = replay_support(s->replay, column->track);

		/* A CPU that is offline, and a task that does not exist, have no part in the sum; nor does an event
		 * while it is not enabled, which is known to count nothing. */
		if (!c->reason || status_absent(c->reason) ||
		    (c->reason == PM_REASON_NOT_COUNTED && (!c->enabled || (u && u[k].known > 0))))
			continue;
		listed_add(&s->lost, s->event[l->event].name);
		listed_add_instance(&s->lost_at, pm_model_instance(s->places->model, column->instance));
		s->why_lost = c->reason;
		s->partial = true;
		/* Nothing of it is known at any time: the sum is not a number, here as everywhere. In a line of
		 * several intervals, the next one may include what this one lacks. */
		if (!s->config->intervals)
			l->now.reason = c->reason;
	}
}

void stat_count(struct stat_sheet *s, size_t k)
{
	for (uint32_t i = 0; i < s->n_lines; i++) {
		struct stat_line *l = &s->line[i];
		const struct stat_event *e = &s->event[l->event];

		l->now = (struct stat_sum){ .nr = e->invalid != 0,
					    .reason = e->invalid ? e->invalid : PM_REASON_NOT_COUNTED };
		if (!l->n)
			continue;
		l->now = (struct stat_sum){ 0 };
		count_line(s, l, k);
	}
}

void stat_add_total(struct stat_sheet *s)
{
	for (uint32_t i = 0; i < s->n_lines; i++) {
		struct stat_line *l = &s->line[i];
		bool first = !l->total.nr;

		l->total.nr = l->now.nr;
		l->total.enabled += l->now.enabled - (s->config->intervals ? l->now.lost : 0);
		if (l->now.reason) {
			l->total.reason = first ? l->now.reason : l->total.reason;
			continue;
		}
		l->total.reason = 0;
		l->total.v += l->now.v;
		l->total.raw += l->now.raw;
		l->total.running += l->now.running;
	}
}

void stat_take_totals(struct stat_sheet *s)
{
	for (uint32_t i = 0; i < s->n_lines; i++) {
		s->line[i].now = s->line[i].total;
		if (s->config->intervals)
			s->line[i].now.enabled += s->line[i].total.lost;
		if (s->line[i].now.reason)
			s->line[i].now.v = s->line[i].now.running = 0;
	}
}

void stat_spread_add(struct stat_spread *w, double v)
{
	double delta = v - w->mean;

	w->n++;
	w->mean += delta / w->n;
	w->m2 += delta * (v - w->mean);
}

double stat_spread_error(const struct stat_spread *w)
{
	return w->n < 2 ? 0 : sqrt(w->m2 / (w->n - 1) / w->n);
}

double stat_spread_percent(const struct stat_spread *w)
{
	return w->mean != 0 ? 100 * stat_spread_error(w) / w->mean : 0;
}

void stat_add_run(struct stat_sheet *s, double wall_ns)
{
	memory_room(&s->run_wall, s->n_runs, sizeof(*s->run_wall));
	s->run_wall[s->n_runs++] = wall_ns;
	stat_spread_add(&s->wall, wall_ns);
	for (uint32_t i = 0; i < s->n_lines; i++) {
		struct stat_line *l = &s->line[i];

		l->total.nr = l->now.nr;
		if (l->now.reason) {
			l->total.reason = l->value.n > 0 ? 0 : l->now.reason;
			l->total.enabled = l->now.enabled;
			continue;
		}
		l->total.reason = 0;
		stat_spread_add(&l->value, (double)l->now.v);
		stat_spread_add(&l->enabled, (double)l->now.enabled);
		stat_spread_add(&l->running, (double)l->now.running);
	}
}

void stat_take_means(struct stat_sheet *s)
{
	for (uint32_t i = 0; i < s->n_lines; i++) {
		struct stat_line *l = &s->line[i];

		l->now = (struct stat_sum){ .nr = l->total.nr,
					    .reason = l->total.reason,
					    .enabled = l->total.enabled };
		if (l->now.reason)
			continue;
		l->now.v = l->now.raw = (uint64_t)l->value.mean;
		l->now.rest = l->value.mean - (double)l->now.v;
		l->now.enabled = (uint64_t)l->enabled.mean;
		l->now.running = (uint64_t)l->running.mean;
	}
}

bool stat_is_shared(const struct stat_sum *sum)
{
	return sum->reason ? sum->reason == PM_REASON_NOT_COUNTED && sum->enabled : sum->running < sum->enabled;
}

unsigned stat_percent(const struct stat_sum *sum)
{
	/* A thousand CPUs have more hundredths of nanoseconds in three days than 64 bits hold. */
	return !stat_is_shared(sum) ? 100 :
	       sum->reason          ? 0 :
				      (unsigned)((unsigned __int128)100 * sum->running / sum->enabled);
}

double stat_value(const struct stat_event *e, const struct stat_sum *sum)
{
	return ((double)sum->v + sum->rest) * e->mul / e->div;
}

const char *stat_missing(uint16_t reason)
{
	return reason == PM_REASON_NOT_SUPPORTED || reason == pm_reason_errno(2) || reason == pm_reason_errno(95) ||
			       reason == pm_reason_errno(22) || reason == pm_reason_errno(19) ||
			       reason == pm_reason_errno(6) || reason == PM_REASON_NO_PERMISSION ||
			       reason == pm_reason_errno(13) || reason == pm_reason_errno(1) ?
		       "<not supported>" :
		       "<not counted>";
}

/* Says that -C cannot be honoured. */
static void note_tasks(struct stat_sheet *s)
{
	for (uint32_t i = 0; s->config->cpus.n && i < s->n_columns; i++) {
		const struct pm_instance *in = pm_model_instance(s->places->model, s->column[i].instance);

		if (!in || in->kind != PM_TASK)
			continue;
		buf_addstr(&s->notes,
			   "-C: events of tasks were counted wherever the tasks ran; their lines are for all CPUs\n");
		return;
	}
}

/* A run without a number does not count for the mean. */
static void note_runs(struct stat_sheet *s)
{
	for (uint32_t i = 0; i < s->n_lines; i++) {
		const struct stat_line *l = &s->line[i];
		const char *place = s->row[l->row].label;
		uint32_t n = (uint32_t)l->value.n;

		if (n && n < s->n_runs && !s->event[l->event].hidden)
			buf_printf(&s->notes, "%s%s%s: not counted in %u of %u runs; the mean is of the others\n",
				   s->event[l->event].name, place[0] ? " of " : "", place, s->n_runs - n, s->n_runs);
	}
}

void stat_note_lost(struct stat_sheet *s)
{
	note_tasks(s);
	note_runs(s);
	if (s->lost.have.n) {
		char word[16];

		listed_put(&s->lost, &s->notes);
		buf_addstr(&s->notes, " of ");
		listed_put(&s->lost_at, &s->notes);
		buf_printf(&s->notes, ": %s in some intervals%s\n", status_word(s->why_lost, STATUS_WHOLE, word),
			   s->config->intervals ? "; sums cover the others" :
						  ", so there is no sum; -A shows the others");
	}
	if (s->doubtful)
		buf_addstr(&s->notes, "metrics are doubtful: a reading took longer than 1 % of its interval, or a "
				      "share exceeds 101 %\n");
}
