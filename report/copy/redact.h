/*
 * Taking out of recordings what tells which machine, person or time they are of. By the privacy class of each field,
 * which is its number (format/value.h): technical fields stay, if this version knows them; what it does not know is
 * dropped. Names that tell things apart become random pseudonyms. Texts without a class may repeat what was dropped
 * (the cgroup of an event's name, a path in a refusal), so all that is dropped is collected in a first pass and taken
 * out of every text that stays.
 *
 *   redact_new -> redact_look (a first reading) -> redact_rules -> rewrite ... -> redact_save -> redact_free
 *
 * Several recordings can share one; their pseudonyms and shifts are then the same.
 */
#ifndef REPORT_REDACT_H
#define REPORT_REDACT_H

#include "common/buf.h"
#include "common/error.h"
#include "report/copy/rewrite.h"
#include "report/input/spool.h"

struct redact_options {
	const char *map;  /* path of the file that holds the pseudonyms; NULL: they are forgotten */
	const char *keep; /* classes (machine, person, time) and names of fields that stay, commas between; or NULL */
	bool shift_time;
};

struct redact;

/* Reads the map, if it exists. 0 or -errno with the text in *e; -EACCES for a map that others may read. */
int redact_new(struct redact **r, const struct redact_options *o, struct error *e);
void redact_free(struct redact *r);
/* Reads all definitions and events of a recording that is to be redacted next; forgets those of the one before. */
int redact_look(struct redact *r, struct pm_reader *reader, struct error *e);
/* Sets the functions and times of the rules, whose other fields stay as they are. */
void redact_rules(struct redact *r, struct rewrite_rules *rules);
/* The same of a file. */
int redact_look_spool(struct redact *r, const struct spool *in, struct error *e);
/* Copies what was looked at by the rules, whose functions it sets. */
int redact_copy(struct redact *r, struct spool *in, struct rewrite_rules *rules, pm_sink_fn sink, void *sink_ctx,
		struct rewrite_result *result, struct error *e);
/* Appends a name for the recording that was looked at, without an ending: that of a file often names the machine. */
void redact_file_name(const struct redact *r, struct buf *name);
/* Writes the map, readable by its owner alone. Nothing to do without one. */
int redact_save(struct redact *r, struct error *e);

struct redact_counts {
	uint64_t dropped;    /* fields that were left out */
	uint64_t pseudonyms; /* names that were replaced, each counted once */
	uint64_t scrubbed;   /* texts out of which something was taken */
};
struct redact_counts redact_counts(const struct redact *r);

/* Whether a text is a pseudonym that redact_... could have made: "host-0123abcd". */
bool redact_is_pseudonym(const char *text);

#endif
