/* How the parts of redaction fit together: redact_secrets.c finds dropped strings again, redact_map.c remembers
 * pseudonyms and shifts. */
#pragma once

#include "common/memory.h"
#include "common/names.h"
#include "report/copy/redact.h"

/* ---- words that identify nothing ---- */

extern const char *const redact_plain_words[];  /* words with blanks between; ends with NULL */
extern const char *const redact_metric_words[]; /* likewise, those of vendors' metrics */

/* ---- strings to be found again ---- */

struct secret {
	char *text;          /* owned, in lower case */
	const char *instead; /* in the same allocation */
	uint32_t len;        /* of the text */
	bool weak;           /* a part of what was dropped: texts of plain words may hold it */
};

struct secrets {
	struct secret *row; /* owned; the longest first, once sorted */
	uint32_t n;
	struct names known; /* places by text, until they are sorted */
	uint32_t *first;    /* owned: place in `row` after which those with this start are, by two bytes */
	bool sorted;
};

void secrets_release(struct secrets *s);
/* Shorter than three bytes: not added. A known text keeps its replacement. Not after a sort. */
void secrets_add(struct secrets *s, const char *text, size_t len, const char *instead, bool weak);
void secrets_sort(struct secrets *s);
/* Replaces all that is found in *text (owned, by realloc) of `len` bytes. Whether it was changed. */
bool secrets_scrub(const struct secrets *s, char **text, size_t *len, bool weak_too);

/* ---- pseudonyms and shifts ---- */

struct redact_name {
	char *kind; /* owned, with the other two after it, because there may be 100,000 */
	const char *from, *to;
};

/* How the clocks of one boot are shifted. */
struct redact_shift {
	char *boot; /* owned */
	uint64_t monotonic, raw, boottime, counter;
};

/* How a counter that has run since boot is shifted. */
struct redact_base {
	char *name; /* owned: "BOOT counter" */
	uint64_t offset;
};

struct redact_map {
	struct redact_name *name;
	uint32_t n_names;
	struct names by_from, by_to; /* "KIND FROM" and pseudonyms to places in `name` */
	struct redact_shift *shift;
	uint32_t n_shifts;
	struct names by_boot; /* boots to places in `shift` */
	struct redact_base *base;
	uint32_t n_bases;
	struct names by_base; /* base names to places */
	uint64_t wall;
	bool has_wall;
};

void redact_map_release(struct redact_map *m);
int redact_map_load(struct redact_map *m, const char *path, struct error *e);
int redact_map_save(const struct redact_map *m, const char *path, struct error *e);
/* The pseudonym, created if new. Owned by the map. */
const char *redact_map_name(struct redact_map *m, const char *kind, const char *from, bool *made);
/* What the pseudonym stands for; NULL: not in the map. */
const char *redact_map_from(const struct redact_map *m, const char *to);
/* The shift of a boot, random if new. */
const struct redact_shift *redact_map_shift(struct redact_map *m, const char *boot, const struct pm_clocks *first);
/* Modulo 2^width. */
uint64_t redact_map_base(struct redact_map *m, const char *boot, const char *counter, unsigned width);

struct redact {
	struct redact_options options;
	struct secrets secrets;
	struct names plain;  /* words */
	struct names events; /* event names that PMUs of the recording describe */
	struct redact_map map;
	struct redact_counts counts;
	bool keep_class[4];
	char **keep;                /* owned: names of fields, ends with NULL */
	struct redact_shift *shift; /* owned: of each recording of the file, if time is shifted; boots are borrowed */
	size_t n_shifts, next;
	const struct redact_shift *now; /* of the one that is copied */
	struct rewrite_rules *rules;    /* by which it is */
	char host[64];                  /* the first host's name or pseudonym; "": none */
	uint64_t wall_ns;               /* where the first recording begins, shifted; 0: unknown */
	struct names
		given; /* names of counters in the output other than their pseudonyms, and the hash of the original */
	struct redact_seen {
		uint32_t counters, instances, pmus, probes, configs;
	} seen; /* of the model looked at */
};

/* Whether a field stays, by its class or because it was named. */
bool redact_keeps(const struct redact *r, uint32_t key, const char *name);
/* Whether it has nothing but plain words, numbers and marks, and no such path. */
bool redact_is_plain(const struct redact *r, const char *text);
/* Whether it has an address, a serial number or an id: these have many digits, and what counts things has few. */
bool redact_has_address(const char *name);
/* Whether the text names an event that the kernel or a PMU of the recording defines, and not one of a user. */
bool redact_is_event(const struct redact *r, const char *text);
/* The pseudonym for a name. */
const char *redact_name(struct redact *r, const char *kind, const char *from);
/* Pseudonyms of names that the user gave to this counter; NULL: it keeps its name. */
const char *redact_counter_kind(const struct redact *r, const struct pm_counter *c);
/* Likewise for the name of an instance. */
const char *redact_instance_kind(const struct redact *r, const struct pm_instance *i);
