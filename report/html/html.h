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
#include "report/incident/incident.h"
#include "report/input/outfile.h"
#include "report/pipeline/bins.h"
#include "report/pipeline/pipeline.h"

#define HTML_RECORDINGS 2
#define HTML_EVENTS     5000 /* drawn and listed; more are counted */

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
	char *path; /* owned: as the user calls it */
	struct bins bins;
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
	struct pipeline_result result;
};
void html_recording_release(struct html_recording *r);
/* Reads a recording, which is called `name`. `config` selects metrics and time; the collector sets its view. 0 or
 * -errno with the text in *e; release the recording in both cases. */
int html_collect(struct html_recording *r, const char *path, const char *name, const struct pipeline_config *config,
		 struct error *e);

/* What `pmrep info` prints for the whole file, in a second pass: identity, topology, decoded registers, quality,
 * refusals. 0 or -errno with the text in *e. */
int html_facts(struct html_recording *r, const char *path, struct error *e);

/* The unit to show: none for counts, because "1" would look like a number. */
const char *html_unit(const char *unit);
/* A value as tables print it. */
struct html_number {
	char text[48];
} html_number(double v, unsigned precision);

/* ---- the page ---- */

/* Formats like printf(), but texts become markup, of which %.300s shows at most 300 bytes and a sign that there is
 * more; %g is the shortest number, and numbers that are not finite are null. */
void html_put(struct buf *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Standard alphabet, padded, without line breaks: 4 bytes for every 3. */
void html_base64(struct buf *out, const void *data, size_t len);
static inline uint64_t html_base64_length(uint64_t len)
{
	return (len + 2) / 3 * 4;
}

/* How series go into a page. */
struct html_form {
	uint32_t merge; /* so many buckets become one */
	uint32_t bytes; /* of a number: 1 or 2; 0: series are left out */
	bool band;      /* smallest and largest beside the mean */
};

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
/* 0 or -errno with the text in *e; -EFBIG: the page cannot be that small. */
int html_page_write(struct html_page *p, struct outfile *out, struct error *e);
/* "120 kB", "9.5 MB", rounded up, so that the stated size suffices. */
void html_put_size(struct buf *out, uint64_t bytes);

/* Appends the part of the page that its template calls {{name}}; false: there is none. */
bool html_page_part(const struct html_page *p, const char *name, size_t len, struct buf *out);
/* Whether an incident concerns the metric, which is then drawn even if hidden by default. */
bool html_incident_metric(const struct html_recording *r, const char *metric);
/* The result of diff for two recordings as markup, or why there is none. `counts` gets a sentence, or nothing. */
void html_verdicts(const char *base, const char *fresh, const struct selection *selection, struct buf *out,
		   struct buf *counts);
