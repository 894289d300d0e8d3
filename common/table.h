/* Tables for people, as text: lists, info, diff, summaries. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/buf.h"

struct table;

enum table_align { TABLE_LEFT, TABLE_RIGHT };

/* What builds it accepts NULL, and drops a cell without a place and a column after a row. */
struct table *table_new(void);
void table_free(struct table *t);
/* Add all columns before the first row. `wrap`: the column may break lines between words to fit the width. */
void table_column(struct table *t, const char *head, enum table_align align, bool wrap);
/* Begins a row; cells that are not set are empty. */
void table_row(struct table *t);
/* Sets the next cell of the row to a copy of the text, with control characters made visible; NULL: an empty cell.
 * `color` is an SGR parameter list such as "31", or NULL. */
void table_cell(struct table *t, const char *text, const char *color);
/* The same with a text that was combined, and is emptied. */
void table_cell_buf(struct table *t, struct buf *text, const char *color);
/* A row of n texts. */
void table_texts(struct table *t, const char *const *cell, size_t n);
/* Appends the table, or nothing if it has no rows. `width` is in columns of a terminal; 0: no limit. The table is
 * wider if wrapped columns would become too narrow to read. */
void table_print(struct table *t, unsigned width, bool heads, bool colors, struct buf *out);
/* The same in markdown. */
void table_markdown(const struct table *t, struct buf *out);

/* Appends `text` with control characters, escapes and broken UTF-8 made visible ("\x1b"). All text of a recording
 * must pass through this on its way to a terminal. */
void text_escape(struct buf *out, const char *text, size_t len);
/* The same with a backslash before what markdown would take for its own. */
void text_markdown(struct buf *out, const char *text);
/* The same as text of HTML or XML, or the value of a quoted attribute: U+FFFD replaces what is not UTF-8; line ends
 * and TABs stay. */
void text_markup(struct buf *out, const char *text);
/* The same as a field of RFC 4180, quoted if it holds a quote or the separator. */
void text_csv(struct buf *out, const char *text, const char *separator);
/* The same for heads and names; an apostrophe precedes what a spreadsheet would compute (= + - @ and more). */
void text_csv_name(struct buf *out, const char *text, const char *separator);
