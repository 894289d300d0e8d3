/* Tables without libsmartcols: columns as wide as their widest cell, cut where the width asks for it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/table.h"
#include "common/utf8.h"

#define WRAP_MIN 8 /* characters that a column is never cut below */

struct cell {
	char *text;  /* owned, escaped; or NULL */
	char *color; /* owned or NULL */
};

struct column {
	struct cell head;
	enum table_align align;
	bool wrap;
	size_t width; /* characters of the widest cell; while printing, of the column */
};

struct table {
	struct column *column; /* owned */
	struct cell **row;     /* owned, as each row is */
	size_t n_columns, n_rows;
};

struct table *table_new(void)
{
	return calloc(1, sizeof(struct table));
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

static int cell_set(struct cell *c, const char *text, const char *color)
{
	struct buf b = BUF_INIT;
	struct cell made = { 0 };

	text_escape(&b, text, strlen(text));
	made.text = buf_detach(&b);
	buf_release(&b);
	made.color = color ? strdup(color) : NULL;
	if (!made.text || (color && !made.color)) {
		cell_release(&made);
		return -ENOMEM;
	}
	cell_release(c);
	*c = made;
	return 0;
}

static size_t cell_width(const struct cell *c)
{
	return c->text ? utf8_count(c->text, strlen(c->text)) : 0;
}

int table_column(struct table *t, const char *head, enum table_align align, bool wrap)
{
	struct column *grown;

	if (t->n_rows)
		return -EINVAL;
	grown = realloc(t->column, (t->n_columns + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	t->column = grown;
	grown += t->n_columns;
	*grown = (struct column){ .align = align, .wrap = wrap };
	if (cell_set(&grown->head, head, NULL))
		return -ENOMEM;
	t->n_columns++;
	return 0;
}

int table_row(struct table *t)
{
	struct cell **grown = realloc(t->row, (t->n_rows + 1) * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	t->row = grown;
	t->row[t->n_rows] = calloc(t->n_columns ? t->n_columns : 1, sizeof(**t->row));
	if (!t->row[t->n_rows])
		return -ENOMEM;
	t->n_rows++;
	return 0;
}

int table_cell(struct table *t, size_t column, const char *text, const char *color)
{
	if (!t->n_rows || column >= t->n_columns)
		return -EINVAL;
	return cell_set(&t->row[t->n_rows - 1][column], text, color);
}

/* Takes what is too much from the columns that may be cut, always from the widest. */
static void fit(struct table *t, bool heads, size_t width)
{
	size_t total = t->n_columns ? t->n_columns - 1 : 0;

	for (size_t c = 0; c < t->n_columns; c++) {
		struct column *k = &t->column[c];

		k->width = heads ? cell_width(&k->head) : 0;
		for (size_t r = 0; r < t->n_rows; r++) {
			size_t w = cell_width(&t->row[r][c]);

			if (w > k->width)
				k->width = w;
		}
		total += k->width;
	}
	while (width && total > width) {
		struct column *widest = NULL;

		for (size_t c = 0; c < t->n_columns; c++) {
			struct column *k = &t->column[c];

			if (k->wrap && k->width > WRAP_MIN && (!widest || k->width > widest->width))
				widest = k;
		}
		if (!widest)
			return;
		widest->width--;
		total--;
	}
}

static void pad(struct buf *out, size_t n)
{
	while (n--)
		buf_addch(out, ' ');
}

/* Bytes of the first `characters` of the text. */
static size_t cut(const char *text, size_t len, size_t characters)
{
	size_t i = 0;
	uint32_t code;

	while (i < len && characters--) {
		size_t n = utf8_decode(text + i, len - i, &code);

		i += n ? n : 1;
	}
	return i;
}

static void print_cell(const struct column *k, const struct cell *c, bool last, bool colors, struct buf *out)
{
	const char *text = c->text ? c->text : "";
	size_t bytes = cut(text, strlen(text), k->width), gap = k->width - utf8_count(text, bytes);

	if (k->align == TABLE_RIGHT)
		pad(out, gap);
	if (colors && c->color)
		buf_printf(out, "\033[%sm", c->color);
	buf_add(out, text, bytes);
	if (colors && c->color)
		buf_addstr(out, "\033[0m");
	if (k->align == TABLE_LEFT && !last)
		pad(out, gap);
	buf_addch(out, last ? '\n' : ' ');
}

int table_print(struct table *t, unsigned width, bool heads, bool colors, struct buf *out)
{
	if (!t->n_rows)
		return out->err;
	fit(t, heads, width);
	for (size_t c = 0; heads && c < t->n_columns; c++)
		print_cell(&t->column[c], &t->column[c].head, c + 1 == t->n_columns, false, out);
	for (size_t r = 0; r < t->n_rows; r++)
		for (size_t c = 0; c < t->n_columns; c++)
			print_cell(&t->column[c], &t->row[r][c], c + 1 == t->n_columns, colors, out);
	return out->err;
}
