/* The facts of a recording: what `pmrep info` prints, as markup, and the lines at the top of the page. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "common/number.h"
#include "common/table.h"
#include "report/html/html.h"
#include "report/info/info.h"
#include "report/input/input.h"
#include "report/machine/value_out.h"

#define ROWS_MOST 1000 /* per part: a large machine has very many one-time values */

/* ---- all of it ---- */

struct facts {
	struct buf *out, rows; /* rows: of the current part */
	char *title;           /* of it, or NULL */
	const struct info_column *column;
	size_t n;
	uint64_t n_rows;
	bool in_cards;
};

/* Short parts are side by side, and open. */
static bool is_card(const char *title)
{
	static const char *const card[] = { "Recording", "Host and recorder", "Topology (online CPUs)", "Clocks" };

	for (size_t i = 0; i < sizeof(card) / sizeof(*card); i++)
		if (!strcmp(title, card[i]))
			return true;
	return false;
}

static void put_head(struct facts *f)
{
	if (!f->column[0].name[0])
		return;
	buf_addstr(f->out, "<thead><tr>");
	for (size_t i = 0; i < f->n; i++)
		buf_printf(f->out, "<th scope=col%s>%s</th>", f->column[i].right ? " class=n" : "",
			   f->column[i].name);
	buf_addstr(f->out, "</tr></thead>");
}

static void end_part(struct facts *f)
{
	bool card = f->title && is_card(f->title), open = card || (f->title && !strcmp(f->title, "Sources"));

	/* Events have a place of their own, where they can be clicked. */
	if (f->title && f->rows.len && strcmp(f->title, "Events")) {
		if (card != f->in_cards)
			buf_addstr(f->out, card ? "<div class=cards>\n" : "</div>\n");
		f->in_cards = card;
		buf_printf(f->out, "<details class=\"facts%s\"%s><summary>", card ? " card" : "",
			   open ? " open" : "");
		text_markup(f->out, f->title);
		if (!card)
			buf_printf(f->out, " <span class=count>%llu</span>", (unsigned long long)f->n_rows);
		html_put(f->out,
			 "</summary><div class=scroll tabindex=0 role=group aria-label=\"%s\"><table class=facts>",
			 f->title);
		put_head(f);
		buf_addstr(f->out, "<tbody>\n");
		buf_add(f->out, f->rows.data, f->rows.len);
		buf_addstr(f->out, "</tbody></table></div>");
		if (f->n_rows > ROWS_MOST)
			buf_printf(f->out, "<p class=hint>%llu more: pmrep info --all has them.</p>",
				   (unsigned long long)(f->n_rows - ROWS_MOST));
		buf_addstr(f->out, "</details>\n");
	}
	buf_clear(&f->rows);
	free(f->title);
	f->title = NULL;
	f->n_rows = 0;
}

static void part(void *ctx, const char *title, const struct info_column *column, size_t n)
{
	struct facts *f = ctx;

	end_part(f);
	f->title = memory_text(title);
	f->column = column;
	f->n = n;
}

static void row(void *ctx, const char *const *cell, size_t n, enum pm_privacy privacy)
{
	struct facts *f = ctx;
	const char *what = privacy_name(privacy);

	if (f->n_rows++ >= ROWS_MOST)
		return;
	buf_addstr(&f->rows, "<tr>");
	for (size_t i = 0; i < n; i++) {
		buf_addstr(&f->rows, !i ? "<th scope=row>" : f->column[i].right ? "<td class=n>" : "<td>");
		text_markup(&f->rows, cell[i] ? cell[i] : "");
		if (what && i + 1 == n)
			buf_printf(&f->rows, " <span class=reveals title=\"reveals the %s\">%s</span>", what, what);
		buf_addstr(&f->rows, i ? "</td>" : "</th>");
	}
	buf_addstr(&f->rows, "</tr>\n");
	memory_whole(&f->rows);
}

static void remark(void *ctx, const char *text)
{
}

/* ---- the head ---- */

/* Adds a line, unless it is empty. */
static void add(struct html_recording *r, const char *name, struct buf *value)
{
	memory_whole(value);
	if (!value->len)
		return;
	memory_room(&r->fact, r->n_facts, sizeof(*r->fact));
	r->fact[r->n_facts++] = (struct html_fact){ .name = name, .value = memory_checked(buf_detach(value)) };
}

static void add_plain(struct html_recording *r, const struct pm_model *m, uint32_t key, const char *name)
{
	const struct pm_value *v = pm_map_get(&m->header, key);
	struct buf text = BUF_INIT;

	if (v)
		value_text(v, &text);
	add(r, name, &text);
}

static const char *word(const struct pm_model *m, uint32_t key)
{
	return pm_map_text(&m->header, key, "");
}

static void add_machine(struct html_recording *r, const struct pm_model *m)
{
	uint64_t memory = pm_map_u64(&m->header, PM_HEADER_MEMORY, 0);
	struct topology_counts c = topology_count(&m->topology);
	struct buf text = BUF_INIT;

	buf_addstr(&text, word(m, word(m, PM_HEADER_CPU_MODEL)[0] ? PM_HEADER_CPU_MODEL : PM_HEADER_ARCH));
	add(r, "Processor", &text);
	topology_put(c, &text);
	if (c.offline)
		buf_printf(&text, "%s%u offline CPU%s", text.len ? ", " : "", c.offline, plural(c.offline));
	if (memory)
		buf_printf(&text, "%s%.1f GB of memory", text.len ? ", " : "", (double)memory / 1e9);
	add(r, "Size", &text);
	buf_addstr(&text, word(m, PM_HEADER_OS));
	if (word(m, PM_HEADER_KERNEL)[0])
		buf_printf(&text, "%sLinux %s", text.len ? ", " : "", word(m, PM_HEADER_KERNEL));
	if (word(m, PM_HEADER_HYPERVISOR)[0])
		buf_printf(&text, "%sguest of %s", text.len ? ", " : "", word(m, PM_HEADER_HYPERVISOR));
	add(r, "System", &text);
}

static void add_when(struct html_recording *r, const struct pm_model *m)
{
	uint64_t interval = pm_map_u64(&m->header, PM_HEADER_INTERVAL, 0);
	struct buf text = BUF_INIT;
	char when[64];

	if (r->bins.start_wall_ns > 0) {
		when[number_time(when, (uint64_t)r->bins.start_wall_ns / 1000000000 * 1000000000, 0)] = '\0';
		/* 2026-01-31T12:00:00Z, for people. */
		buf_printf(&text, "%.10s %.8s UTC, ", when, when + 11);
	}
	buf_printf(&text, "%.3f s in %llu interval%s", r->bins.duration_s, (unsigned long long)r->intervals,
		   plural(r->intervals));
	if (interval)
		html_put(&text, interval < 1000000000 ? " of %g ms" : " of %g s",
			 (double)interval / (interval < 1000000000 ? 1e6 : 1e9));
	add(r, "Recorded", &text);
}

/* What was counted, and how a command ended. */
static void add_target(struct html_recording *r, const struct pm_model *m, const struct scan *s)
{
	const struct pm_value *arguments = pm_map_get(&m->header, PM_HEADER_ARGUMENTS);
	const char *target = word(m, PM_HEADER_TARGET), *command = word(m, PM_HEADER_COMMAND);
	struct buf text = BUF_INIT;
	uint64_t signal = 0, status = 0;
	unsigned runs = 0, failed = 0;

	buf_addstr(&text, !strcmp(target, "system") ? "the whole system" : target);
	if (command[0])
		buf_printf(&text, "%s%s", text.len ? ": " : "", command);
	for (uint32_t i = 0; arguments && arguments->kind == PM_VALUE_ARRAY && i < arguments->array.n; i++) {
		buf_addch(&text, ' ');
		value_text(&arguments->array.item[i], &text);
	}
	for (uint32_t i = 0; i < s->n_events; i++) {
		if (s->event[i].type != PM_EVENT_CHILD_EXIT)
			continue;
		signal = pm_map_u64(&s->event[i].attrs, PM_EVENT_KEY_SIGNAL, 0);
		status = pm_map_u64(&s->event[i].attrs, PM_EVENT_KEY_EXIT, 0);
		failed += signal || status;
		runs++;
	}
	if (runs > 1 && failed)
		buf_printf(&text, ", %u runs, %u of which failed", runs, failed);
	else if (runs > 1)
		buf_printf(&text, ", %u runs, each with exit status 0", runs);
	else if (runs)
		buf_printf(&text, signal ? ", killed by signal %llu" : ", exit status %llu",
			   (unsigned long long)(signal ? signal : status));
	add(r, "Counted", &text);
}

int html_facts(struct html_recording *r, const char *path, struct error *e)
{
	struct facts f = { .out = &r->facts };
	const struct info_sink to = { .ctx = &f, .part = part, .row = row, .remark = remark };
	SCOPED(scan_release) struct scan s = { 0 };
	/* Everything was read before; what is damaged is read again, to say so. */
	int err = scan_path(&s, path, SCAN_TIMES | (r->result.damaged ? 0 : SCAN_INDEX), e);
	const struct pm_model *m;

	if (err)
		return err;
	m = pm_reader_model(s.reader);
	add_plain(r, m, PM_HEADER_HOST, "Host");
	add_plain(r, m, PM_HEADER_PRODUCT, "Product");
	add_machine(r, m);
	add_when(r, m);
	add_target(r, m, &s);
	add_plain(r, m, PM_HEADER_LABELS, "Labels");
	add_plain(r, m, PM_HEADER_HISTORY, "History");
	info_say(input_name(r->path), &s, true, &to);
	end_part(&f);
	if (f.in_cards)
		buf_addstr(&r->facts, "</div>\n");
	r->interval_s = (double)pm_map_u64(&m->header, PM_HEADER_INTERVAL, 0) / 1e9;
	r->lost_ticks = s.lost_ticks;
	r->n_refused = m->n_probes;
	buf_release(&f.rows);
	memory_whole(&r->facts);
	return 0;
}
