/* Groups that do not get their counters: the kernel counts a group as a whole or not at all, and does not report a
 * group that another user's events keep out. Such a group is reported, and its events are then counted one by one, so
 * that they take turns on the remaining counters. Events that the kernel refused because a counter was taken, or gave
 * up because they were pinned, are retried until it is free. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "record/host/clocks.h"
#include "record/perf/perf_source.h"

/* Checked once a second, so reported within two; groups of one PMU take turns of some milliseconds. */
#define STARVED_NS 800000000u
#define TURN_NS    8000000u

/* How often a group is read to find out, if readers come less often. */
#define READS_MAX 16

/* How many of its members must stay together; all of them if the user wants exactly this. */
static uint32_t inseparable(const struct perf_source *s, struct perf_group *g)
{
	for (uint32_t k = 0; k < g->n; k++)
		if (g->member[k]->ev->mods & (EVENT_MOD_PINNED | EVENT_MOD_EXCLUSIVE))
			return g->n;
	return g->way == PERF_BY_READ ? perf_topdown_order(s, g) : g->n;
}

/* The result of a check, over the rows of one group. */
struct found {
	const struct perf_row *waits; /* one of them */
	uint32_t n_wait, n_count, n_given_up;
	bool counted; /* before */
	bool freed;   /* what was refused can be opened now */
};

/* Whether it is a counter that the row waits for. Descriptors and memory that are free again are kept for others. */
static bool lacks_counter(const struct perf_row *row)
{
	return row->missing[0] == perf_reason(-EBUSY) || row->missing[0] == perf_reason(-ENOSPC);
}

/* Whether the kernel now opens what it refused. */
static bool may_open(const struct perf_row *row)
{
	union perf_attr attr = row->group->member[0]->attr;
	SCOPED(fd_close) int fd = -1;

	attr.a.disabled = 1;
	fd = perf_open(&attr, row->at, -1);
	return fd >= 0;
}

static struct found look_at(struct perf_source *s, struct perf_group *g)
{
	struct found f = { 0 };
	uint32_t reads = READS_MAX;
	bool tried = false;

	for (uint32_t i = 0; i < g->n_rows; i++) {
		struct perf_row *row = g->row[i];

		if (row->shut && !lacks_counter(row))
			continue;
		if (row->shut) {
			f.freed = tried ? f.freed : may_open(row);
			tried = true;
			row->again = f.freed;
			continue;
		}
		switch (perf_row_state(row, STARVED_NS + (uint64_t)s->n_groups * TURN_NS, &reads)) {
		case PERF_WAITS:
			f.waits = row;
			f.n_wait++;
			f.counted |= row->seen.running > 0;
			break;
		case PERF_COUNTS:
			f.n_count++;
			break;
		case PERF_UNKNOWN:
			break;
		}
		if (atomic_exchange(&row->gave_up, false)) {
			f.n_given_up++;
			if ((s->on || s->from_exec) && !row->any_off)
				ioctl(row->leader, PERF_EVENT_IOC_ENABLE, 0);
		}
	}
	return f;
}

static void say_waits(struct buf *text, const struct perf_group *g, const struct found *f)
{
	buf_addstr(text, f->counted ? ": no longer counted" : ": not counted so far");
	if (f->n_wait < g->n_rows && f->n_wait == 1 && f->waits->at.cpu >= 0)
		buf_printf(text, " on CPU %d", f->waits->at.cpu);
	else if (f->n_wait < g->n_rows)
		buf_printf(text, " in %u of %u places", f->n_wait, g->n_rows);
	buf_addstr(text, ", because others hold the counters");
	if (g->starved)
		buf_addstr(text,
			   g->n > 1 ? "; from now on its events are counted one by one" : "; from now on it is read");
	else if (f->n_given_up)
		buf_addstr(text, "; retried each second");
}

/* True: there is something to report about the group. */
static bool judge(struct perf_source *s, struct perf_group *g, struct buf *text)
{
	struct found f = look_at(s, g);

	buf_clear(text);
	buf_printf(text, "%s%s", g->member[0]->ev->name, g->n > 1 ? " and the others of its group" : "");
	if (f.n_wait && !g->waits) {
		g->waits = true;
		/* If a clock takes samples, it stops with the group. */
		g->starved = inseparable(s, g) < g->n || g->sample_ns;
		say_waits(text, g, &f);
		return true;
	}
	if (f.freed || (g->waits && !f.n_wait && f.n_count)) {
		g->waits = false;
		buf_addstr(text, ": counted from now on, because others have released the counters");
		return true;
	}
	return false;
}

int perf_starving_look(struct perf_source *s, struct source *source, struct plan *p)
{
	SCOPED(buf_release) struct buf text = BUF_INIT;
	uint32_t told = 0;
	bool anew = false;
	int err = 0;

	for (uint32_t i = 0; i < s->n_groups && !err; i++) {
		struct perf_group *g = s->group[i];

		if (!judge(s, g, &text))
			continue;
		anew |= g->starved || !g->waits;
		err = text.err ? text.err : plan_note(p, g->n, buf_str(&text));
		/* One line for all of them. */
		if (!told++)
			snprintf(p->told, sizeof(p->told), "%s", buf_str(&text));
	}
	if (anew)
		atomic_store(&source->stale, true);
	if (told > 1)
		snprintf(p->told + strlen(p->told), sizeof(p->told) - strlen(p->told),
			 "; and %u more groups (pmrep info lists them)", told - 1);
	return err;
}

/* ---- while nothing is read ---- */

static bool has_starved(struct unit *u)
{
	const struct perf_row *row = perf_row_of(u);

	return row && row->group && row->group->starved && row->end == PERF_ENDED;
}

/* The counts of a group before it is reopened. */
struct past {
	struct perf_event **member; /* owned */
	struct past_row {
		struct perf_place at;
		uint32_t instance, cgroup;
		bool alive, fresh;
		uint64_t *base, base_enabled, base_running; /* base owned */
		uint64_t closed_ns;
	} * row; /* owned */
	uint32_t n, n_rows;
};

static void past_release(struct past *past)
{
	for (uint32_t i = 0; past->row && i < past->n_rows; i++)
		free(past->row[i].base);
	free(past->row);
	free(past->member);
}

/* Takes them from the rows, which are closed. */
static int past_take(struct past *past, struct perf_group *g)
{
	*past = (struct past){ .n = g->n, .n_rows = g->n_rows };
	past->member = calloc(g->n, sizeof(*past->member));
	past->row = calloc(g->n_rows + 1, sizeof(*past->row));
	if (!past->member || !past->row)
		return -ENOMEM;
	memcpy(past->member, g->member, g->n * sizeof(*past->member));
	for (uint32_t i = 0; i < g->n_rows; i++) {
		struct perf_row *row = g->row[i];

		perf_row_close(row, true);
		past->row[i] = (struct past_row){ .at = row->at,
						  .instance = row->instance,
						  .cgroup = row->cgroup,
						  .alive = row->end == PERF_ALIVE,
						  .fresh = row->fresh,
						  .base = row->base,
						  .base_enabled = row->base_enabled,
						  .base_running = row->base_running,
						  .closed_ns = clocks_monotonic() };
		row->base = NULL;
		row->end = PERF_ENDED;
	}
	return 0;
}

/* On a CPU its events were wanted all the time, including while they were closed. */
static void go_on(struct perf_row *row, const struct past *past, const struct past_row *before)
{
	uint64_t away = clocks_monotonic() - before->closed_ns, count, enabled = 0, running;

	(void)perf_row_count(row, 0, &count, &enabled, &running);
	row->base_enabled =
		before->base_enabled + (row->on && row->at.pid < 0 && away > enabled ? away - enabled : 0);
	row->base_running = before->base_running;
	row->fresh = before->fresh;
	for (uint32_t k = 0; k < row->n; k++)
		for (uint32_t j = 0; j < past->n; j++)
			if (row->group->member[k] == past->member[j])
				row->base[k] = before->base[j];
}

/* A row of a CPU that is offline: it is opened when the CPU is back. */
static int add_closed(struct plan *p, struct perf_group *g, const struct past_row *before)
{
	struct perf_row *row = perf_row_new(g, before->at, before->instance);

	if (!row)
		return -ENOMEM;
	row->cgroup = before->cgroup;
	return perf_rows_add(p, g, &row, 1);
}

/* Reopens the group; counts and times continue from those of the previous rows. */
static int open_again(struct perf_source *s, struct plan *p, struct perf_group *g, const struct past *past)
{
	int err = perf_rows_open(s, p, g);

	for (uint32_t k = 0; k < past->n_rows && !err; k++) {
		const struct past_row *before = &past->row[k];
		uint32_t i = 0;

		while (i < g->n_rows && g->row[i]->instance != before->instance)
			i++;
		if (i == g->n_rows && before->alive && before->at.cpu >= 0)
			err = add_closed(p, g, before);
		if (i < g->n_rows)
			go_on(g->row[i], past, before);
	}
	return err;
}

static int take_apart(struct perf_source *s, struct plan *p, struct perf_group *g)
{
	uint32_t keep = inseparable(s, g), first = s->n_groups;
	struct past past;
	int err = past_take(&past, g);

	if (!err) {
		plan_drop_units(p, has_starved);
		g->starved = false;
		g->sample_ns = 0;
	}
	while (g->n > keep && !err)
		err = perf_group_split(s, g, keep);
	if (!err)
		err = open_again(s, p, g, &past);
	for (uint32_t k = first; k < s->n_groups && !err; k++)
		err = open_again(s, p, s->group[k], &past);
	past_release(&past);
	return err;
}

int perf_starving_split(struct perf_source *s, struct plan *p)
{
	uint32_t asked = s->n_groups;
	int err = 0;

	for (uint32_t i = 0; i < asked && !err; i++)
		if (s->group[i]->starved)
			err = take_apart(s, p, s->group[i]);
	return err;
}
