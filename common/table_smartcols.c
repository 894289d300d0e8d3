/* Tables for people, by libsmartcols. table_plain.c takes its place in a minimal build. */
#include <errno.h>
#include <libsmartcols.h>
#include <stdlib.h>
#include <string.h>

#include "common/table.h"
#include "common/utf8.h"

/* A column is not made narrower than that: what would be left of a sentence cannot be read. */
#define WRAP_MIN 24

struct table {
	struct libscols_table *scols;
	struct libscols_line *line; /* the newest row, owned by scols */
};

struct table *table_new(void)
{
	struct table *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->scols = scols_new_table();
	if (!t->scols) {
		free(t);
		return NULL;
	}
	/* Cells are escaped here, and would be escaped twice. */
	scols_table_enable_noencoding(t->scols, 1);
	return t;
}

void table_free(struct table *t)
{
	if (!t)
		return;
	scols_unref_table(t->scols);
	free(t);
}

/* NULL without memory. */
static char *escaped(const char *text)
{
	struct buf b = BUF_INIT;
	char *copy;

	text_escape(&b, text, strlen(text));
	copy = buf_detach(&b);
	buf_release(&b);
	return copy;
}

int table_column(struct table *t, const char *head, enum table_align align, bool wrap)
{
	int flags = (align == TABLE_RIGHT ? SCOLS_FL_RIGHT : 0) | (wrap ? SCOLS_FL_WRAP : 0);
	char *text = escaped(head);
	struct libscols_column *c = text ? scols_table_new_column(t->scols, text, 0, flags) : NULL;

	free(text);
	/* The library would break lines within words; here lines are broken before it sees them. */
	return c && !(wrap && scols_column_set_wrapfunc(c, scols_wrapnl_chunksize, scols_wrapnl_nextchunk, NULL)) ?
		       0 :
		       -ENOMEM;
}

int table_row(struct table *t)
{
	t->line = scols_table_new_line(t->scols, NULL);
	return t->line ? 0 : -ENOMEM;
}

int table_cell(struct table *t, size_t column, const char *text, const char *color)
{
	struct libscols_column *c = scols_table_get_column(t->scols, column);
	struct libscols_cell *cell = t->line && c ? scols_line_get_column_cell(t->line, c) : NULL;
	char sgr[40], *copy;
	int err;

	if (!cell)
		return -EINVAL;
	copy = escaped(text);
	if (!copy)
		return -ENOMEM;
	err = scols_cell_refer_data(cell, copy);
	if (err) {
		free(copy);
		return err;
	}
	if (!color || strlen(color) > sizeof(sgr) - 4)
		return 0;
	stpcpy(stpcpy(stpcpy(sgr, "\033["), color), "m");
	return scols_cell_set_color(cell, sgr);
}

/* ---- width ---- */

static size_t cell_width(struct libscols_cell *cell)
{
	const char *text = cell ? scols_cell_get_data(cell) : NULL;

	return text ? utf8_count(text, strlen(text)) : 0;
}

static size_t column_width(struct table *t, struct libscols_column *c, bool heads)
{
	size_t width = heads ? cell_width(scols_column_get_header(c)) : 0;

	for (size_t r = 0; r < scols_table_get_nlines(t->scols); r++) {
		size_t w = cell_width(scols_line_get_column_cell(scols_table_get_line(t->scols, r), c));

		width = w > width ? w : width;
	}
	return width;
}

/* Bytes up to the last blank within `width` characters, or behind the last slash, or as many as there is room for. */
static size_t line_end(const char *text, size_t width)
{
	size_t len = strlen(text), at = 0, blank = 0, slash = 0, n;
	uint32_t code;

	for (size_t i = 0; i < width && at < len; i++, at += n) {
		if (text[at] == ' ')
			blank = at;
		else if (text[at] == '/')
			slash = at + 1;
		n = utf8_decode(text + at, len - at, &code);
		n = n ? n : 1;
	}
	if (at == len || text[at] == ' ')
		return at;
	return blank ? blank : slash > 1 ? slash : at;
}

static int wrap_cell(struct libscols_cell *cell, size_t width)
{
	const char *text = scols_cell_get_data(cell);
	struct buf b = BUF_INIT;
	char *lines;
	int err;

	while (utf8_count(text, strlen(text)) > width) {
		size_t end = line_end(text, width);

		buf_add(&b, text, end);
		buf_addch(&b, '\n');
		text += end + strspn(text + end, " ");
	}
	buf_addstr(&b, text);
	lines = buf_detach(&b);
	buf_release(&b);
	err = lines ? scols_cell_refer_data(cell, lines) : -ENOMEM;
	if (err)
		free(lines);
	return err;
}

static int wrap_column(struct table *t, struct libscols_column *c, size_t width)
{
	int err = 0;

	for (size_t r = 0; r < scols_table_get_nlines(t->scols) && !err; r++) {
		struct libscols_cell *cell = scols_line_get_column_cell(scols_table_get_line(t->scols, r), c);

		if (cell_width(cell) > width)
			err = wrap_cell(cell, width);
	}
	return err;
}

/* Breaks the lines of columns that may be wrapped, the widest most, where the table would not fit otherwise. */
static int fit(struct table *t, size_t width, bool heads)
{
	size_t n = scols_table_get_ncols(t->scols), total = n ? n - 1 : 0, *wide = calloc(n + 1, sizeof(*wide));
	int err = wide ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && !err; i++)
		total += wide[i] = column_width(t, scols_table_get_column(t->scols, i), heads);
	for (size_t widest; !err && total > width; total--, wide[widest]--) {
		widest = n;
		for (size_t i = 0; i < n; i++)
			if (scols_column_is_wrap(scols_table_get_column(t->scols, i)) && wide[i] > WRAP_MIN &&
			    (widest == n || wide[i] > wide[widest]))
				widest = i;
		if (widest == n)
			break;
	}
	for (size_t i = 0; i < n && !err && total <= width; i++)
		if (scols_column_is_wrap(scols_table_get_column(t->scols, i)))
			err = wrap_column(t, scols_table_get_column(t->scols, i), wide[i]);
	free(wide);
	return err;
}

/* Blanks at the ends of lines would make them wider than the terminal, or than what they say. */
static void add_trimmed(struct buf *out, const char *text)
{
	while (*text) {
		size_t len = strcspn(text, "\n"), end = len;

		while (end && text[end - 1] == ' ')
			end--;
		buf_add(out, text, end);
		buf_addch(out, '\n');
		text += len + (text[len] == '\n');
	}
}

int table_print(struct table *t, unsigned width, bool heads, bool colors, struct buf *out)
{
	char *text = NULL;
	int err;

	if (!t->line)
		return out->err; /* no rows, no heads */
	scols_table_enable_noheadings(t->scols, !heads);
	scols_table_enable_colors(t->scols, colors);
	scols_table_set_termforce(t->scols, SCOLS_TERMFORCE_NEVER);
	err = width ? fit(t, width, heads) : 0;
	if (!err)
		err = scols_print_table_to_string(t->scols, &text);
	if (!err && text)
		add_trimmed(out, text);
	free(text);
	return err ? err : out->err;
}
