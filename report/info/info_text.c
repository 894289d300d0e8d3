/* pmrep info as text: parts as tables, one below the other. */
#include "report/info/info.h"

#include "common/table.h"
#include "report/input/memory.h"
#include "report/machine/value_out.h"

/* Parts as tables, one below the other. */
struct page {
	struct table *t; /* NULL: no row yet */
	const struct info_column *column;
	size_t n;
	struct buf *out;
	unsigned width;
	bool color;
};

static void end_table(struct page *p)
{
	if (p->t)
		memory_done(table_print(p->t, p->width, p->column[0].name[0], p->color, p->out));
	table_free(p->t);
	p->t = NULL;
}

static void part(void *ctx, const char *title, const struct info_column *column, size_t n)
{
	struct page *p = ctx;

	end_table(p);
	buf_printf(p->out, "%s%s%s%s\n", p->out->len ? "\n" : "", p->color ? "\033[1m" : "", title,
		   p->color ? "\033[0m" : "");
	p->column = column;
	p->n = n;
}

static void begin_table(struct page *p)
{
	p->t = memory_checked(table_new());
	for (size_t i = 0; i < p->n; i++)
		table_column(p->t, p->column[i].name, p->column[i].right ? TABLE_RIGHT : TABLE_LEFT,
			     p->column[i].wraps);
}

static void row(void *ctx, const char *const *cell, size_t n, enum pm_privacy privacy)
{
	struct page *p = ctx;
	const char *what = privacy_name(privacy);
	SCOPED(buf_release) struct buf marked = BUF_INIT;

	if (!p->t)
		begin_table(p);
	table_row(p->t);
	for (size_t i = 0; i < n; i++) {
		buf_addstr(&marked, cell[i] ? cell[i] : "");
		if (what && i + 1 == n)
			buf_printf(&marked, "  [%s]", what);
		table_cell_buf(p->t, &marked, NULL);
	}
}

static void remark(void *ctx, const char *text)
{
	struct page *p = ctx;

	end_table(p);
	buf_printf(p->out, "%s\n", text);
}

void info_text(const char *path, struct scan *s, bool all, unsigned width, bool color, struct buf *out)
{
	struct page p = { .out = out, .width = width, .color = color };
	const struct info_sink to = { .ctx = &p, .part = part, .row = row, .remark = remark };

	info_say(path, s, all, &to);
	end_table(&p);
}
