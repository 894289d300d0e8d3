/*
 * A Parquet file as it is being written: columns, row groups, dictionaries, statistics; it knows nothing of
 * recordings. Only the parts of the format that pay off: one page per column of a row group, dictionaries for
 * everything but measured values, differences for long series of integers, zstd. The facts are those of
 * parquet-format 2.10.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/names.h"
#include "report/export/output.h"

enum parquet_type {
	PARQUET_INT,    /* 64 bits, signed */
	PARQUET_TIME,   /* microseconds since 1970, UTC */
	PARQUET_DOUBLE, /* its bits; few distinct ones */
	PARQUET_VALUE,  /* likewise, measured: no dictionary */
	PARQUET_TEXT,   /* UTF-8; the number that parquet_text() gave */
};

struct parquet;

/* Writes to `out`, which is borrowed, and begins with the magic. NULL: no memory. */
struct parquet *parquet_new(struct output *out);
void parquet_free(struct parquet *p);
/* One more column, numbered from 0; its values may be missing. They come in this order, but the last ones may come
 * after all row groups. The number, or -ENOMEM. */
int parquet_add(struct parquet *p, const char *name, enum parquet_type type);

/* A number for the text, which it copies, repairing UTF-8. A lack of memory shows at the end. */
uint64_t parquet_text(struct parquet *p, const char *text);
const char *parquet_text_of(const struct parquet *p, uint64_t text);
/* Invalidates those numbers. */
void parquet_forget(struct parquet *p);

/* A row group of so many rows: its number. Then for each column: values, and parquet_column(). 0 or -errno. */
int parquet_group(struct parquet *p, uint64_t rows);
/* The next `count` rows have this value, or none. */
void parquet_put(struct parquet *p, uint64_t value, size_t count);
void parquet_null(struct parquet *p, size_t count);
/* The next `n` rows of a column of PARQUET_VALUE. */
void parquet_values(struct parquet *p, const double *v, size_t n);
int parquet_column(struct parquet *p, int group, int column);
/* The footer. 0 or -errno. */
int parquet_end(struct parquet *p);
