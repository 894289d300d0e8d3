/*
 * Output formats: one export_X.c each, one row in exporters[]. An exporter is told the shape of the report, then gets
 * filled sheets. Text collects in one buffer and leaves with few writes.
 */
#ifndef REPORT_EXPORTER_H
#define REPORT_EXPORTER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/error.h"
#include "report/numbers/sheet.h"

#define EXPORT_ENOUGH (256u << 10) /* bytes that are worth a write() */

enum export_layout { EXPORT_LONG, EXPORT_WIDE };
enum export_time {
	EXPORT_TIME_DEFAULT,
	EXPORT_TIME_RFC3339,
	EXPORT_TIME_EPOCH_NS,
	EXPORT_TIME_RELATIVE,
	EXPORT_TIME_LOCAL
};

struct export_config {
	int fd;
	enum export_layout layout;
	enum export_time time;
	bool no_heads;        /* no column heads, whatever the format */
	uint32_t heads_every; /* table: head lines every N intervals; 0: with every block of rows, or once */
	unsigned width;       /* table: columns of the terminal; what has no room goes below; 0: one line a row */
	bool clear;           /* table on a terminal: clear the screen before every interval */
	bool flush;           /* write after every interval that arrives */
	bool name_files;      /* table: say whose it is */
	bool thresholds;      /* csv: columns with what thresholds say of values; json: in wide rows, too */
	bool color;           /* table: what a threshold calls bad is red, what it calls good green */
	bool registers;       /* table: what the processor's registers say comes before it */
	unsigned no_place;    /* table: bits of the unwanted ones of Package, Die, L3, Node, Module, Core, CPU */
	unsigned place;       /* likewise: those that were asked for by name */
};

struct plot_data;

struct exporter {
	const struct exporter_ops *ops;
	struct export_config config;
	const char *recording; /* basename of the file at hand */
	bool runs;             /* the recording has several runs */
	bool places_only;      /* table: the columns of metrics are not wanted */
	bool one;              /* it gives one interval only: a table needs no time column */
	uint64_t elapsed_ns;   /* how long the command ran that was recorded; 0: there was none, or it still runs */
	uint64_t origin_ns;    /* CLOCK_MONOTONIC of its first snapshot, for relative times */
	struct buf out;
	const struct plot_data *spark; /* table: how values went goes beside them; borrowed; NULL: not asked for */
	bool utf8;                     /* with blocks, not signs of ASCII */
	bool partial;                  /* a value was printed that lacks a part, or a lost one was left out */
	bool begun;                    /* heads were printed */
	void *data;                    /* the format's own */
	struct error error;
};

struct exporter_ops {
	const char *name;
	const char *help;
	/* Rows or columns are new (or another file begins). Texts of the model are good now, and not necessarily
	 * later: the last interval of a recording is often known only when the next one has begun. */
	int (*shape)(struct exporter *x, const struct sheet *s);
	int (*intervals)(struct exporter *x, const struct sheet *s, const struct interval *i, size_t n);
	void (*release)(struct exporter *x);
};
extern const struct exporter_ops export_table, export_csv, export_json, export_turbostat;
extern const struct exporter_ops *const exporters[]; /* ends with NULL; the first is the default */
const struct exporter_ops *exporter_find(const char *name);

/* Nothing is written yet. What the configuration points to is borrowed. */
void exporter_init(struct exporter *x, const struct exporter_ops *ops, const struct export_config *config);
/* Writes what is there; 0 or -errno. */
int exporter_flush(struct exporter *x);
/* Whether enough has gathered; a long interval is written in pieces. */
static inline bool exporter_is_full(const struct exporter *x)
{
	return x->out.len >= EXPORT_ENOUGH || x->out.err;
}
/* As above when enough has gathered, or always if the output is live. */
int exporter_pace(struct exporter *x);
void exporter_release(struct exporter *x);

/* ---- for the formats ---- */

/* The end of the interval as --time wants it; `fallback` is what a format prints by default. At most 48 bytes. */
size_t export_time_text(const struct exporter *x, const struct interval *i, enum export_time fallback, char *out,
			bool *quoted);
/* The value exactly: integers as they are, others shortest. At most NUMBER_MAX bytes. */
size_t export_number(char *out, double v);
/* Appends `text` as a field of RFC 4180. Control characters come out visible ("\x1b"): csv is looked at in terminals,
 * too, and so a row is always one line. */
void export_csv_field(struct buf *out, const char *text);
/* The numbers of a place in the order of the columns package,die,cluster,cache,node,core,cpu. */
void export_place_numbers(const struct place *p, uint32_t number[static 7]);
/* Names of a place: device (or PMU), task, cgroup; "" where it is none. */
void export_place_names(const struct sheet *s, const struct place *p, const char *name[static 3]);
/* By verdict of a value: "", "unknown", "good", "bad". At most 7 bytes. */
extern const char *const export_verdicts[SHEET_VERDICTS];
/* The tidy columns, in their order, for ever. */
extern const char *const export_columns[];
#define EXPORT_N_COLUMNS 19

/* Room for `n` more bytes; NULL without memory. */
static inline char *export_room(struct buf *out, size_t n)
{
	return buf_reserve(out, n) ? NULL : (char *)out->data + out->len;
}
static inline bool export_partial(const struct sheet_cell *c, const struct interval *i, size_t k)
{
	return i[k].partial || (c->partial && c->partial[k]);
}

#endif
