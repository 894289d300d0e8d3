/* What the table for people consists of: export_table_shape.c chooses rows and columns, export_table.c writes it. */
#pragma once

#include "report/export/exporter.h"

/* In turbostat's order. */
enum topology_column { BY_PACKAGE, BY_DIE, BY_L3, BY_NODE, BY_MODULE, BY_CORE, BY_CPU, BY_NAME, TOPOLOGY_COLUMNS };

/* A piece of table_data.text. */
struct text {
	size_t at, len;
};

struct table_data {
	const struct sheet *sheet;
	uint32_t *row; /* rows of the sheet that are printed */
	uint32_t n_rows;
	uint32_t *column; /* columns of the sheet that have a cell in some of them */
	uint32_t n_columns;
	uint32_t n_first; /* of them stand before the places */
	bool utc;         /* times of day are in the first column */
	/* turbostat's text, by place in column[]: packages of which the machine's value is the sum; else 0. */
	uint8_t *times;
	uint32_t *order;                /* of an interval: the places in row[] to be printed */
	double *rank, *among;           /* to find it: by place in row[]; values of a column */
	const struct sheet_cell **cell; /* row by row; NULL: empty */
	bool topology[TOPOLOGY_COLUMNS];
	struct buf text;   /* heads and names, made when the shape is known: the model may go before the rows */
	struct text *head; /* by place in column[] */
	struct text *name; /* by place in row[] */
	unsigned *width;   /* time, run, topology columns, then metrics */
	bool sized;
	uint32_t since_heads; /* intervals */
	bool heads_due;
	const char *decoded; /* the recording with the registers last printed */
	const char *named;   /* the recording last named */
};

enum { WIDTH_TIME, WIDTH_RUN, WIDTH_TOPOLOGY, WIDTH_METRICS = WIDTH_TOPOLOGY + TOPOLOGY_COLUMNS };

/* turbostat's text, with TABs, and not the table. */
static inline bool table_has_tabs(const struct exporter *x)
{
	return x->sink.ops->tabs;
}

/* There is one interval only, which needs no time. */
static inline bool table_is_one(const struct exporter *x)
{
	return x->sink.one && x->config.time == EXPORT_TIME_DEFAULT;
}

/* Puts the rows of interval k that are printed into t->order. Returns their number. */
uint32_t table_order(struct exporter *x, struct table_data *t, size_t k);
/* As struct sink_ops has them. */
int table_shape(struct sink *sink, const struct sheet *s, size_t n_sheets);
void table_release(struct sink *sink);
