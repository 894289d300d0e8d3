/* Tables for people: lists, info, diff, summaries. Returns text and never prints. */
#ifndef COMMON_TABLE_H
#define COMMON_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/buf.h"

struct table;

enum table_align { TABLE_LEFT, TABLE_RIGHT };

struct table *table_new(void); /* NULL without memory */
void table_free(struct table *t);
/* Columns first. `wrap`: lines of the column may be broken, between words, to fit the width. This and the next three
 * return 0 or -ENOMEM; -EINVAL for a cell of no column or row. */
int table_column(struct table *t, const char *head, enum table_align align, bool wrap);
/* A new row; cells that are not set stay empty. */
int table_row(struct table *t);
/* Copies the text, which may hold anything: control characters are shown, not obeyed. `color` is an SGR
 * parameter list such as "31" or NULL. */
int table_cell(struct table *t, size_t column, const char *text, const char *color);
/* Appends the table; nothing if it has no rows. `width` in columns of a terminal; 0: as wide as it is. It is wider
 * than asked for where what may be wrapped would be too narrow to read. */
int table_print(struct table *t, unsigned width, bool heads, bool colors, struct buf *out);

/* Appends `text` with control characters, escapes and broken UTF-8 made visible ("\x1b"): what a recording
 * holds never reaches a terminal unescaped. */
void text_escape(struct buf *out, const char *text, size_t len);
/* The same as a field of RFC 4180, between quotes if it holds one of them or the separator. */
void text_csv(struct buf *out, const char *text, const char *separator);
/* Likewise, as the head of a column: one that a spreadsheet would compute (= + - @) begins with an apostrophe. */
void text_csv_head(struct buf *out, const char *text, const char *separator);

#endif
