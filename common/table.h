/* Tables for people: lists, info, diff, summaries. Returns text and never prints. */
#ifndef COMMON_TABLE_H
#define COMMON_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/buf.h"

struct table;

enum table_align { TABLE_LEFT, TABLE_RIGHT };

/* NULL without memory, which all others take: what fails is kept, as a struct buf does, for table_print() to say. */
struct table *table_new(void);
void table_free(struct table *t);
/* Columns first. `wrap`: lines of the column may be broken, between words, to fit the width. */
void table_column(struct table *t, const char *head, enum table_align align, bool wrap);
/* A new row; cells that are not set stay empty. */
void table_row(struct table *t);
/* The next cell of the row. Copies the text, which may hold anything: control characters are shown, not obeyed; NULL is
 * an empty cell. `color` is an SGR parameter list such as "31" or NULL. */
void table_cell(struct table *t, const char *text, const char *color);
/* A row of n texts. */
void table_texts(struct table *t, const char *const *cell, size_t n);
/* Appends the table; nothing if it has no rows. `width` in columns of a terminal; 0: as wide as it is. It is wider
 * than asked for where what may be wrapped would be too narrow to read. -ENOMEM; -EINVAL where there was a cell of no
 * column or row, or a column behind a row. */
int table_print(struct table *t, unsigned width, bool heads, bool colors, struct buf *out);

/* Appends `text` with control characters, escapes and broken UTF-8 made visible ("\x1b"): what a recording
 * holds never reaches a terminal unescaped. */
void text_escape(struct buf *out, const char *text, size_t len);
/* The same as a field of RFC 4180, between quotes if it holds one of them or the separator. */
void text_csv(struct buf *out, const char *text, const char *separator);
/* Likewise, as the head of a column: one that a spreadsheet would compute (= + - @) begins with an apostrophe. */
void text_csv_head(struct buf *out, const char *text, const char *separator);

#endif
