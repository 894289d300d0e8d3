/*
 * pmrep html: one recording, or two, as one page that needs nothing but a browser.
 *
 *   html_collect (a sink of the pipeline) -> html_recording -> html_page
 *
 * html_recording has everything that the page shows of a recording, in memory that does not grow with its length.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/error.h"
#include "common/names.h"
#include "report/html/html_series.h"
#include "report/incident/incident.h"
#include "report/input/outfile.h"
#include "report/pipeline/pipeline.h"

#define HTML_RECORDINGS 2
#define HTML_EVENTS     5000 /* drawn and listed; more are counted */
#define HTML_EVENT_TEXT 300  /* bytes of each text */

struct html_metric {
	char *name, *display, *unit, *help; /* owned */
	uint8_t precision;
	bool charted; /* has series; the others have totals of the system only */
};

struct html_row {
	char *label, *place; /* owned: "CPU 3"; where it is: "package 0, core 1", or "" */
	enum pm_kind kind;
	uint32_t package, number; /* number: of the CPU; PM_NONE: none */
	bool far;                 /* one of very many: a CPU, a core, a task */
};

struct html_event {
	enum pm_event_type type;
	double at_s, until_s; /* from the origin; until_s > at_s for a stretch that is lost */
	uint32_t cpu;         /* PM_NONE: none */
	char *text;           /* owned: what people read */
};

/* A line of the head. */
struct html_fact {
	const char *name;
	char *value; /* owned */
};

struct html_recording {
	char *path;                 /* owned */
	struct html_metric *metric; /* owned */
	uint32_t n_metrics;
	struct html_row *row; /* owned */
	uint32_t n_rows;
	struct html_set near, far, totals;
	uint32_t *near_order;     /* owned: series of `near` by metric and row, once html_index() has been called */
	double interval_s;        /* the requested one; 0: none */
	struct html_event *event; /* owned */
	uint32_t n_events;
	uint64_t more_events;
	struct html_fact *fact; /* owned */
	uint32_t n_facts;
	struct buf facts; /* markup of all that info says */
	uint64_t lost_ticks;
	uint32_t n_refused; /* things that could not be recorded */
	struct incidents incidents;
	char *host; /* owned; "" if it is not recorded */
	uint64_t snapshots, intervals;
	int64_t start_wall_ns; /* of the origin; 0: not recorded */
	double duration_s;     /* from the origin to the end of the last interval */
	struct pipeline_result result;
};
void html_recording_release(struct html_recording *r);
/* Finds or adds the metric, or row, of this name, with its number in *place. `names` is for this use only. 0 or
 * -ENOMEM. */
int html_find_metric(struct html_recording *r, struct names *names, const struct bound_metric *m, bool charted,
		     uint32_t *place);
int html_find_row(struct html_recording *r, struct names *names, const struct places *places, const struct place *p,
		  uint32_t *place);

/* Reads a recording. `config` selects metrics and time; the collector sets its view. 0 or -errno with the text in *e;
 * release the recording in both cases. */
int html_collect(struct html_recording *r, const char *path, const struct pipeline_config *config, struct error *e);

/* What `pmrep info` prints for the whole file, in a second pass: identity, topology, decoded registers, quality,
 * refusals. 0 or -errno with the text in *e. */
int html_facts(struct html_recording *r, const char *path, struct error *e);

static inline double html_mean(const struct html_series *s)
{
	return s->whole_weight > 0        ? s->whole / s->whole_weight :
	       s->present && !s->totalled ? s->sum / s->weight :
					    (double)__builtin_nan("");
}
/* Builds the index of series, once everything is collected. 0 or -ENOMEM. */
int html_index(struct html_recording *r);
/* The detailed series of a metric and row, or NULL. */
const struct html_series *html_near(const struct html_recording *r, uint32_t metric, uint32_t row);

/* Decimals that distinguish the lowest and the highest value of a series. */
unsigned html_precision(const struct html_metric *m, const struct html_series *s);
/* The unit to show: none for counts, because "1" would look like a number. */
void html_put_unit(const char *unit, struct buf *out);
/* A value as tables print it: at most 48 bytes, with its NUL. */
void html_number(char out[static 48], double v, unsigned precision);

/* ---- the page ---- */

struct html_page {
	const struct html_recording *recording;
	size_t n;
	uint64_t max_bytes;
	const struct buf *verdicts; /* markup of html_verdicts(), or NULL */
	const char *verdict_counts; /* its sentence; "" or NULL: none */
	struct html_form near, far; /* out: the form of the series; far.bytes 0: they were left out */
	uint32_t metrics, rows;     /* out: the most metrics that are drawn, and listed in the table of all */
	uint64_t bytes;             /* out */
	struct buf reduced;         /* out: lines that say what was reduced; empty: nothing */
};
/* Whether a metric is drawn in this page. */
static inline bool html_drawn(const struct html_page *p, const struct html_recording *r, uint32_t metric)
{
	return metric < p->metrics && r->metric[metric].charted;
}
/* Bytes of numbers of the drawn series; 0 for a form of no bytes. */
uint64_t html_page_bytes(const struct html_page *p, const struct html_set *s, const struct html_form *f);
/* 0 or -errno with the text in *e; -EFBIG: the page cannot be that small. */
int html_page_write(struct html_page *p, struct outfile *out, struct error *e);
/* "120 kB", "9.5 MB", rounded up, so that the stated size suffices. */
void html_put_size(struct buf *out, uint64_t bytes);

/* The page before the numbers, which are in base64, and after them. 0 or -errno. */
int html_page_text(const struct html_page *p, struct buf *before, struct buf *after, struct error *e);

/* Parts of the page that are markup and no data. */
void html_put_summary(const struct html_page *p, const struct html_recording *r, struct buf *out);
void html_put_metrics(const struct html_page *p, const struct html_recording *r, struct buf *out);
/* The length of a point in charts, if longer than an interval. */
void html_put_resolution(const struct html_page *p, struct buf *out);
void html_put_events(const struct html_page *p, const struct html_recording *r, struct buf *out);
void html_put_incidents(const struct html_page *p, const struct html_recording *r, struct buf *out);
/* The first of them, as a list. */
void html_put_first_incidents(const struct html_recording *r, struct buf *out);
/* Whether an incident concerns the metric, which is then drawn even if hidden by default. */
bool html_incident_metric(const struct html_recording *r, const char *metric);
/* The series of a metric for the whole system; and a line with the series of n recordings, some of them NULL. */
const struct html_series *html_main(const struct html_recording *r, uint32_t metric);
void html_put_spark(const struct html_recording *r, const struct html_series *const *series, size_t n,
		    struct buf *out);
/* The head: machine and recording, totals, and what is unusual. */
void html_put_identity(const struct html_page *p, struct buf *out);
void html_put_glance(const struct html_page *p, struct buf *out);

/* The result of diff for two recordings as markup, or why there is none. `counts` gets a sentence, or nothing. */
void html_verdicts(const char *base, const char *fresh, const struct selection *selection, struct buf *out,
		   struct buf *counts);

/* The embedded files of report/web, with their lengths. */
struct html_asset {
	const char *data;
	size_t len;
};
struct html_asset html_asset_page(void), html_asset_script(void), html_asset_style(void);
/* Empty in a build without uPlot. */
struct html_asset html_asset_uplot_script(void), html_asset_uplot_style(void), html_asset_uplot_notice(void);
