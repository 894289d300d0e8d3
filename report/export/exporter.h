/*
 * Output formats: sinks that write a sheet as text. One export_X.c each, and one row in exporters[] (exporters.c).
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/memory.h"
#include "report/export/output.h"
#include "report/machine/status.h"
#include "report/pipeline/sink.h"

enum export_layout { EXPORT_LONG, EXPORT_WIDE };
enum export_time {
	EXPORT_TIME_DEFAULT,
	EXPORT_TIME_RFC3339,
	EXPORT_TIME_EPOCH_NS,
	EXPORT_TIME_RELATIVE,
	EXPORT_TIME_LOCAL
};

#define EXPORT_TOP_FOLDED UINT32_MAX

struct export_config {
	int fd;
	enum export_layout layout;
	enum export_time time;
	const char *columns; /* csv and json, long: these, in this order, commas between; NULL: the tidy ones */
	const char *replace; /* openmetrics: the file that every interval replaces; NULL: everything goes to fd */
	unsigned overwrite;  /* OUTFILE_OVERWRITE: also one that was there before */
	bool no_heads;       /* no column heads, whatever the format */
	/* Table: this many rows an interval, of tasks and the like the largest by the first column, of CPUs and other
	 * places those that stand out; 0: all; EXPORT_TOP_FOLDED: few where they are many. */
	uint32_t top;
	uint32_t heads_every; /* table: head lines every N intervals; 0: with every block of rows, or once */
	unsigned width;       /* table: columns of the terminal; other columns follow below; 0: no limit */
	bool clear;           /* table on a terminal: clear the screen before every interval */
	bool flush;           /* write after every interval that arrives */
	bool name_files;      /* table: name the recording */
	bool color;           /* table: red for bad and green for good by thresholds */
	bool registers;       /* table: decoded registers come first */
	bool full_header;     /* turbostat's text: all that is known of the machine, not the main facts alone */
	bool list;            /* turbostat's text: the heads alone, with commas between */
	bool debug;           /* turbostat's text: also where each CPU is, as with its -d */
	unsigned no_place;    /* table: bits of the unwanted ones of Package, Die, L3, Node, Module, Core, CPU */
	unsigned place;       /* likewise: those that were requested by name */
};

/* Pieces of text, one after another: piece i ends at end[i]. What is printed again and again is made once. */
#define PIECE_BEHIND 32 /* bytes that may be read behind the last one */
struct pieces {
	struct buf text;
	struct buf end; /* uint32_t */
	size_t longest;
};

struct exporter {
	struct sink sink;
	struct export_config config;
	struct output out;
	uint64_t elapsed_ns; /* table: run time of the recorded command; 0: there was none, or it still runs */
	bool folded;         /* a table left out rows because they are many */
	bool partial;        /* a value was printed that lacks a part, or a lost one was left out */
	bool begun;          /* heads were printed */
	uint8_t marks;       /* table: those printed since the last legend */
	void *data;          /* the format's own */
};

/* Formats by name; ends with NULL; the first is the default. */
extern const struct sink_ops *const exporters[];

/* Writes nothing yet, and borrows what the configuration points to. */
void exporter_init(struct exporter *x, const struct sink_ops *ops, const struct export_config *config);
/* Writes what a format has after the last recording. 0 or -errno with the text in sink.error. */
int exporter_close(struct exporter *x);
void exporter_release(struct exporter *x);

/* ---- for the formats ---- */

/* The end of the interval by --time, or else `fallback`, the format's default. At most 48 bytes. */
size_t export_time_text(const struct exporter *x, const struct interval *i, enum export_time fallback, char *out,
			bool *quoted);
/* The value exactly: integers as they are, others shortest. At most NUMBER_MAX bytes. */
size_t export_number(char *out, double v);
/* Appends `text` as a field of RFC 4180, with control characters made visible ("\x1b"), for terminals, and so that a
 * row is one line. */
void export_csv_field(struct buf *out, const char *text);
/* Columns of the long form. The tidy ones stay in their order forever; the others are printed on request. */
enum export_column {
	EXPORT_RECORDING,
	EXPORT_RUN,
	EXPORT_TIME,
	EXPORT_DURATION,
	EXPORT_SCOPE,
	EXPORT_PACKAGE, /* the first number of a place */
	EXPORT_CPU = EXPORT_PACKAGE + 6,
	EXPORT_DEVICE, /* the first name of a place */
	EXPORT_TASK,
	EXPORT_CGROUP,
	EXPORT_METRIC,
	EXPORT_VALUE,
	EXPORT_UNIT,
	EXPORT_STATUS,
	EXPORT_COVERAGE,
	EXPORT_N_COLUMNS, /* the tidy ones */
	EXPORT_ELAPSED = EXPORT_N_COLUMNS,
	EXPORT_HOST,
	EXPORT_MACHINE,
	EXPORT_RECORDING_ID,
	EXPORT_ALL_COLUMNS
};
extern const char *const export_columns[EXPORT_ALL_COLUMNS];
#define EXPORT_N_PLACE EXPORT_METRIC /* when and where */

/* Label `i` of the header: key and value. NULL: not a pair of texts. */
static inline const struct pm_value *export_label_pair(const struct pm_value *labels, uint32_t i)
{
	const struct pm_value *pair = &labels->array.item[i];

	return pair->kind == PM_VALUE_ARRAY && pair->array.n == 2 && pair->array.item[0].kind == PM_VALUE_TEXT &&
			       pair->array.item[1].kind == PM_VALUE_TEXT ?
		       pair->array.item :
		       NULL;
}
/* What is said of a recording, a place or a metric in a column. */
struct export_fact {
	bool is_number;
	uint64_t number;
	const char *text; /* borrowed; NULL or "": there is none */
	char own[17];
};
/* Columns of times, runs and values are no facts; what a column does not need may be NULL. */
void export_fact(struct export_fact *f, const struct sink *sink, const struct sheet *s, const struct place *p,
		 const struct bound_metric *m, enum export_column column);
/* Whether a list for config.columns names columns only. 0 or -errno. */
int export_columns_check(const char *list, struct error *e);

static inline void piece_end(struct pieces *p)
{
	uint32_t end = (uint32_t)p->text.len, n = (uint32_t)(p->end.len / sizeof(end));
	size_t len = end - (n ? ((const uint32_t *)(const void *)p->end.data)[n - 1] : 0);

	if (end != p->text.len)
		memory_ends(ENOMEM);
	p->longest = len > p->longest ? len : p->longest;
	buf_add(&p->end, &end, sizeof(end));
	memory_done(buf_reserve(&p->text, PIECE_BEHIND));
	memory_whole(&p->end);
}

static inline void pieces_clear(struct pieces *p)
{
	buf_clear(&p->text);
	buf_clear(&p->end);
	p->longest = 0;
}

static inline void pieces_release(struct pieces *p)
{
	buf_release(&p->text);
	buf_release(&p->end);
}

static inline const uint8_t *piece_at(const struct pieces *p, size_t i, size_t *len)
{
	const uint32_t *end = (const uint32_t *)(const void *)p->end.data;
	size_t from = i ? end[i - 1] : 0;

	*len = end[i] - from;
	return *len ? p->text.data + from : NULL;
}

static inline void piece_put(struct buf *out, const struct pieces *p, size_t i)
{
	size_t len;
	const uint8_t *text = piece_at(p, i, &len);

	buf_add(out, text, len);
}

static inline struct exporter *exporter_of(struct sink *s)
{
	return (struct exporter *)s;
}
/* Writes the buffer if it is large enough; the sink keeps errors. */
int exporter_pace(struct exporter *x);
int exporter_flush(struct exporter *x);

/* Whether a part of the value is lost, or all of it. */
static inline bool export_lacks(const struct sheet_cell *c, size_t k)
{
	return sheet_coverage(c, k) < 1 || (c->value[k].reason && !status_absent(c->value[k].reason));
}
