/* The facts of a recording: what `pmrep info` prints, as markup, and the lines at the top of the page. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/number.h"
#include "report/html/html.h"
#include "report/html/html_text.h"
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
			 "</summary><div class=scroll tabindex=0 role=group aria-label=\"{}\"><table class=facts>",
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

static int part(void *ctx, const char *title, const struct info_column *column, size_t n)
{
	struct facts *f = ctx;

	end_part(f);
	f->title = strdup(title);
	f->column = column;
	f->n = n;
	return f->title ? 0 : -ENOMEM;
}

static int row(void *ctx, const char *const *cell, size_t n, enum pm_privacy privacy)
{
	struct facts *f = ctx;
	const char *what = privacy_name(privacy);

	if (f->n_rows++ >= ROWS_MOST)
		return 0;
	buf_addstr(&f->rows, "<tr>");
	for (size_t i = 0; i < n; i++) {
		buf_addstr(&f->rows, !i ? "<th scope=row>" : f->column[i].right ? "<td class=n>" : "<td>");
		text_markup(&f->rows, cell[i] ? cell[i] : "");
		if (what && i + 1 == n)
			buf_printf(&f->rows, " <span class=reveals title=\"reveals the %s\">%s</span>", what, what);
		buf_addstr(&f->rows, i ? "</td>" : "</th>");
	}
	buf_addstr(&f->rows, "</tr>\n");
	return f->rows.err;
}

static int remark(void *ctx, const char *text)
{
	return 0;
}

/* ---- the head ---- */

static int add(struct html_recording *r, const char *name, struct buf *value)
{
	struct html_fact *f;
	int err = value->err;

	if (!value->len)
		return err;
	if (array_room(&r->fact, r->n_facts, sizeof(*f)))
		return -ENOMEM;
	f = &r->fact[r->n_facts++];
	*f = (struct html_fact){ .name = name, .value = buf_detach(value) };
	return err ? err : f->value ? 0 : -ENOMEM;
}

static const char *word(const struct pm_model *m, uint32_t key)
{
	return pm_map_text(&m->header, key, "");
}

/* A number of things, if the kernel reports it: "2 packages". */
static void put_things(struct buf *out, uint32_t n, const char *thing)
{
	if (n != UINT32_MAX && n)
		buf_printf(out, "%s%u %s%s", out->len ? ", " : "", n, thing, plural(n));
}

static int put_machine(struct html_recording *r, const struct pm_model *m)
{
	uint64_t memory = pm_map_u64(&m->header, PM_HEADER_MEMORY, 0);
	const char *hypervisor = word(m, PM_HEADER_HYPERVISOR);
	struct topology_counts c;
	struct buf text = BUF_INIT;
	int err = topology_count(&m->topology, &c);

	if (!err) {
		buf_addstr(&text, word(m, PM_HEADER_CPU_MODEL));
		if (!text.len)
			buf_addstr(&text, word(m, PM_HEADER_ARCH));
		err = add(r, "Processor", &text);
	}
	if (!err) {
		put_things(&text, c.cpus, "CPU");
		put_things(&text, c.cores, "core");
		put_things(&text, c.packages, "package");
		put_things(&text, c.nodes, "node");
		put_things(&text, c.offline, "offline CPU");
		if (memory)
			buf_printf(&text, "%s%.1f GB of memory", text.len ? ", " : "", (double)memory / 1e9);
		err = add(r, "Size", &text);
	}
	buf_addstr(&text, word(m, PM_HEADER_OS));
	if (word(m, PM_HEADER_KERNEL)[0])
		buf_printf(&text, "%sLinux %s", text.len ? ", " : "", word(m, PM_HEADER_KERNEL));
	if (hypervisor[0])
		buf_printf(&text, "%sguest of %s", text.len ? ", " : "", hypervisor);
	return err ? err : add(r, "System", &text);
}

static void put_span(struct buf *out, uint64_t ns)
{
	char number[NUMBER_MAX];

	buf_add(out, number, number_double(number, ns < 1000000000 ? (double)ns / 1e6 : (double)ns / 1e9));
	buf_addstr(out, ns < 1000000000 ? " ms" : " s");
}

static int put_when(struct html_recording *r, const struct pm_model *m)
{
	uint64_t interval = pm_map_u64(&m->header, PM_HEADER_INTERVAL, 0);
	struct buf text = BUF_INIT;
	char when[64], number[NUMBER_MAX];

	if (r->start_wall_ns > 0) {
		when[number_time(when, (uint64_t)r->start_wall_ns / 1000000000 * 1000000000, 0)] = '\0';
		/* 2026-01-31T12:00:00Z, for people. */
		buf_printf(&text, "%.10s %.8s UTC, ", when, when + 11);
	}
	number[number_fixed(number, r->duration_s, 3)] = '\0';
	buf_printf(&text, "%s s in %llu interval%s", number, (unsigned long long)r->intervals, plural(r->intervals));
	if (interval) {
		buf_addstr(&text, " of ");
		put_span(&text, interval);
	}
	return add(r, "Recorded", &text);
}

/* What was counted, and how a command ended. */
static int put_target(struct html_recording *r, const struct pm_model *m, const struct scan *s)
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
		const struct pm_map *a = &s->event[i].attrs;

		if (s->event[i].type != PM_EVENT_CHILD_EXIT)
			continue;
		signal = pm_map_u64(a, PM_EVENT_KEY_SIGNAL, 0);
		status = pm_map_u64(a, PM_EVENT_KEY_EXIT, 0);
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
	return add(r, "Counted", &text);
}

static int put_plain(struct html_recording *r, const struct pm_model *m, uint32_t key, const char *name)
{
	const struct pm_value *v = pm_map_get(&m->header, key);
	struct buf text = BUF_INIT;

	if (v)
		value_text(v, &text);
	return add(r, name, &text);
}

static int put_identity(struct html_recording *r, const struct pm_model *m, const struct scan *s)
{
	int err = put_plain(r, m, PM_HEADER_HOST, "Host");

	err = err ? err : put_plain(r, m, PM_HEADER_PRODUCT, "Product");
	err = err ? err : put_machine(r, m);
	err = err ? err : put_when(r, m);
	err = err ? err : put_target(r, m, s);
	err = err ? err : put_plain(r, m, PM_HEADER_LABELS, "Labels");
	return err ? err : put_plain(r, m, PM_HEADER_HISTORY, "History");
}

int html_facts(struct html_recording *r, const char *path, struct error *e)
{
	struct facts f = { .out = &r->facts };
	const struct info_sink to = { .ctx = &f, .part = part, .row = row, .remark = remark };
	SCOPED(scan_release) struct scan s = { 0 };
	/* Everything was read before; what is damaged is read again, to say so. */
	int err = scan_path(&s, path, SCAN_TIMES | (r->result.damaged ? 0 : SCAN_INDEX), e);

	if (err)
		return err;
	err = put_identity(r, pm_reader_model(s.reader), &s);
	if (!err)
		err = info_say(input_name(r->path), &s, true, &to);
	end_part(&f);
	if (f.in_cards)
		buf_addstr(&r->facts, "</div>\n");
	r->interval_s = (double)pm_map_u64(&pm_reader_model(s.reader)->header, PM_HEADER_INTERVAL, 0) / 1e9;
	r->lost_ticks = s.lost_ticks;
	r->n_refused = pm_reader_model(s.reader)->n_probes;
	buf_release(&f.rows);
	if (!err)
		err = r->facts.err;
	return err ? error_sys(e, -err, "identity of the machine") : 0;
}
