#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "common/table.h"
#include "common/utf8.h"

/* Columns do not become narrower than this: a sentence in less cannot be read. */
#define WRAP_MIN 24

struct cell {
	char *text;  /* owned, escaped; or NULL */
	char *color; /* owned or NULL */
};

struct column {
	struct cell head;
	enum table_align align;
	bool wrap;
	/* While printing: characters of the widest line, and the rest of the row's cell. */
	size_t width;
	const char *rest;
};

struct table {
	struct column *column; /* owned */
	struct cell **row;     /* owned, as each row is */
	size_t n_columns, n_rows;
	size_t at; /* the next cell of the last row */
};

struct table *table_new(void)
{
	return memory_new(1, sizeof(struct table));
}

static void cell_release(struct cell *c)
{
	free(c->text);
	free(c->color);
}

void table_free(struct table *t)
{
	if (!t)
		return;
	for (size_t r = 0; r < t->n_rows; r++) {
		for (size_t c = 0; c < t->n_columns; c++)
			cell_release(&t->row[r][c]);
		free(t->row[r]);
	}
	for (size_t c = 0; c < t->n_columns; c++)
		cell_release(&t->column[c].head);
	free(t->row);
	free(t->column);
	free(t);
}

static void cell_set(struct cell *c, const char *text, const char *color)
{
	struct buf b = BUF_INIT;

	text_escape(&b, text, strlen(text));
	c->text = memory_checked(buf_detach(&b));
	c->color = color ? memory_text(color) : NULL;
}

static size_t cell_width(const struct cell *c)
{
	return c->text ? utf8_count(c->text, strlen(c->text)) : 0;
}

void table_column(struct table *t, const char *head, enum table_align align, bool wrap)
{
	if (!t || t->n_rows)
		return;
	memory_room(&t->column, t->n_columns, sizeof(*t->column));
	t->column[t->n_columns] = (struct column){ .align = align, .wrap = wrap };
	cell_set(&t->column[t->n_columns++].head, head, NULL);
}

void table_row(struct table *t)
{
	if (!t)
		return;
	memory_room(&t->row, t->n_rows, sizeof(*t->row));
	t->row[t->n_rows++] = memory_new(t->n_columns, sizeof(**t->row));
	t->at = 0;
}

void table_cell(struct table *t, const char *text, const char *color)
{
	if (!t || !t->n_rows || t->at >= t->n_columns)
		return;
	if (text)
		cell_set(&t->row[t->n_rows - 1][t->at], text, color);
	t->at++;
}

void table_cell_buf(struct table *t, struct buf *text, const char *color)
{
	const char *whole = buf_str(text);

	memory_whole(text);
	table_cell(t, whole, color);
	buf_clear(text);
}

void table_texts(struct table *t, const char *const *cell, size_t n)
{
	table_row(t);
	for (size_t i = 0; i < n; i++)
		table_cell(t, cell[i], NULL);
}

static void measure(struct table *t, bool heads)
{
	for (size_t c = 0; c < t->n_columns; c++) {
		struct column *k = &t->column[c];

		k->width = heads ? cell_width(&k->head) : 0;
		for (size_t r = 0; r < t->n_rows; r++) {
			size_t w = cell_width(&t->row[r][c]);

			k->width = w > k->width ? w : k->width;
		}
	}
}

/* Bytes up to the last blank within `width` characters, or to the last slash, or as many as fit. */
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

/* Returns the length of the cell's next line of at most `width` characters; *rest moves past it. */
static size_t next_line(const char **rest, size_t width)
{
	size_t len = line_end(*rest, width);

	*rest += len;
	*rest += strspn(*rest, " ");
	return len;
}

/* The width that a column needs when its lines are wrapped to its limit. */
static void settle_width(struct table *t, size_t column, bool heads)
{
	struct column *k = &t->column[column];
	size_t widest = heads ? cell_width(&k->head) : 0;

	for (size_t r = 0; r < t->n_rows; r++) {
		const char *rest = t->row[r][column].text ? t->row[r][column].text : "";

		while (*rest) {
			const char *line = rest;
			size_t bytes = next_line(&rest, k->width), w = utf8_count(line, bytes);

			widest = w > widest ? w : widest;
		}
	}
	k->width = widest;
}

/* Blanks before a column; two between columns of prose, where one would let sentences run together. */
static size_t space_before(const struct table *t, size_t c)
{
	return c ? 1 + (t->column[c].wrap && t->column[c - 1].wrap) : 0;
}

/* Narrows the columns that may wrap, the widest first, until the table fits; if it cannot fit, changes nothing. */
static void fit(struct table *t, bool heads, size_t width)
{
	size_t total = 0;

	measure(t, heads);
	for (size_t c = 0; c < t->n_columns; c++)
		total += space_before(t, c) + t->column[c].width;
	for (; width && total > width; total--) {
		struct column *widest = NULL;

		for (size_t c = 0; c < t->n_columns; c++) {
			struct column *k = &t->column[c];

			if (k->wrap && k->width > WRAP_MIN && (!widest || k->width > widest->width))
				widest = k;
		}
		if (!widest) {
			measure(t, heads);
			return;
		}
		widest->width--;
	}
	for (size_t c = 0; c < t->n_columns; c++)
		if (t->column[c].wrap)
			settle_width(t, c, heads);
}

static void print_line(struct table *t, const struct cell *row, bool colors, struct buf *out)
{
	size_t blanks = 0;

	for (size_t c = 0; c < t->n_columns; c++) {
		struct column *k = &t->column[c];
		const char *text = k->rest, *color = colors && row ? row[c].color : NULL;
		size_t bytes = next_line(&k->rest, k->width), gap = k->width - utf8_count(text, bytes);

		blanks += space_before(t, c);
		blanks += k->align == TABLE_RIGHT ? gap : 0;
		/* Trailing blanks would make lines wider than their text. */
		if (bytes) {
			buf_printf(out, "%*s", (int)blanks, "");
			blanks = 0;
			buf_printf(out, "%s%s%s", color ? "\033[" : "", color ? color : "", color ? "m" : "");
			buf_add(out, text, bytes);
			buf_addstr(out, color ? "\033[0m" : "");
		}
		blanks += k->align == TABLE_LEFT ? gap : 0;
	}
	buf_addch(out, '\n');
}

/* `row` NULL: the heads. */
static void print_row(struct table *t, const struct cell *row, bool colors, struct buf *out)
{
	bool more = true;

	for (size_t c = 0; c < t->n_columns; c++) {
		const struct cell *cell = row ? &row[c] : &t->column[c].head;

		t->column[c].rest = cell->text ? cell->text : "";
	}
	while (more) {
		print_line(t, row, colors, out);
		more = false;
		for (size_t c = 0; c < t->n_columns; c++)
			more |= *t->column[c].rest != '\0';
	}
}

void table_print(struct table *t, unsigned width, bool heads, bool colors, struct buf *out)
{
	if (!t->n_rows)
		return;
	fit(t, heads, width);
	if (heads)
		print_row(t, NULL, false, out);
	for (size_t r = 0; r < t->n_rows; r++)
		print_row(t, t->row[r], colors, out);
	memory_whole(out);
}

void table_markdown(const struct table *t, struct buf *out)
{
	if (!t->n_rows)
		return;
	for (size_t c = 0; c < t->n_columns; c++)
		buf_printf(out, "%s %s |", c ? "" : "|", t->column[c].head.text);
	for (size_t c = 0; c < t->n_columns; c++)
		buf_printf(out, "%s%s|", c ? "" : "\n|", t->column[c].align == TABLE_RIGHT ? "--:" : "---");
	for (size_t r = 0; r < t->n_rows; r++)
		for (size_t c = 0; c < t->n_columns; c++) {
			buf_addstr(out, c ? " " : "\n| ");
			text_markdown(out, t->row[r][c].text ? t->row[r][c].text : "");
			buf_addstr(out, " |");
		}
	buf_addch(out, '\n');
	memory_whole(out);
}
