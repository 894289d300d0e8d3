/* Tables for people, by libsmartcols. table_plain.c takes its place in a minimal build. */
#include <errno.h>
#include <libsmartcols.h>
#include <stdlib.h>
#include <string.h>

#include "common/table.h"

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
	return c ? 0 : -ENOMEM;
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

int table_print(struct table *t, unsigned width, bool heads, bool colors, struct buf *out)
{
	char *text = NULL;
	int err;

	if (!t->line)
		return out->err; /* no rows, no heads */
	scols_table_enable_noheadings(t->scols, !heads);
	scols_table_enable_colors(t->scols, colors);
	scols_table_set_termforce(t->scols, width ? SCOLS_TERMFORCE_ALWAYS : SCOLS_TERMFORCE_NEVER);
	if (width)
		scols_table_set_termwidth(t->scols, width);
	err = scols_print_table_to_string(t->scols, &text);
	if (!err && text && *text) {
		buf_addstr(out, text);
		if (text[strlen(text) - 1] != '\n')
			buf_addch(out, '\n');
	}
	free(text);
	return err ? err : out->err;
}
