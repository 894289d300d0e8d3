/* What redact_map.c remembers for redact.c: pseudonyms, shifts, and what is to be found again. */
#pragma once

#include "common/memory.h"
#include "common/names.h"
#include "report/copy/redact.h"

/* ---- strings to be found again, in any case of letters ---- */

#define SECRET_MAX 65535 /* bytes; of a longer one these are found */

struct secret {
	char *instead; /* owned */
	bool word;     /* found only where no letter or digit is beside it */
};

struct secrets {
	struct secret *row; /* owned */
	uint32_t n;
	struct names known;         /* places by text, in lower case */
	unsigned char starts[8192]; /* a bit for the hash of the first bytes of each */
	bool has_length[SECRET_MAX + 1];
	size_t longest;
};

void secrets_release(struct secrets *s);
/* Shorter than three bytes: not added. A known text keeps its replacement. */
void secrets_add(struct secrets *s, const char *text, size_t len, const char *instead, bool word);
/* Replaces all that is found in *text (owned, by realloc) of `len` bytes. Whether it was changed. */
bool secrets_scrub(const struct secrets *s, char **text, size_t *len);
/* Makes letters small, in place. */
char *lowered(char *text);

/* ---- pseudonyms and shifts ---- */

struct redact_row {
	char *kind; /* owned, with the other two after it, because there may be 100,000 */
	const char *from, *to;
};

struct redact_map {
	struct redact_row *row; /* owned */
	uint32_t n;
	struct names by_from, by_to; /* "KIND FROM" and pseudonyms to places in `row` */
};

/* How the clocks of one boot are shifted, and all wall clocks. */
struct redact_shift {
	uint64_t monotonic, raw, boottime, counter, wall;
};

void redact_map_release(struct redact_map *m);
int redact_map_load(struct redact_map *m, const char *path, struct error *e);
int redact_map_save(const struct redact_map *m, const char *path, struct error *e);
/* The pseudonym, created if new. Owned by the map. */
const char *redact_map_name(struct redact_map *m, const char *kind, const char *from, bool *made);
/* What the pseudonym stands for; NULL: not in the map. */
const char *redact_map_from(const struct redact_map *m, const char *to);
/* The shift of a boot, random if new. */
struct redact_shift redact_map_shift(struct redact_map *m, const char *boot, const struct pm_clocks *first);
/* That of a counter that has run since boot, modulo 2^width. */
uint64_t redact_map_base(struct redact_map *m, const char *boot, const char *counter, unsigned width);

struct redact {
	struct redact_options options;
	struct secrets secrets;
	struct names events; /* names of events that PMUs of the recording describe, and of the PMUs */
	struct names vendor; /* metrics and groups of metrics that no user has made, in lower case */
	struct redact_map map;
	struct redact_counts counts;
	bool keep_class[4];
	char **keep; /* owned: names of fields, ends with NULL */
	struct redact_boot {
		char *name; /* owned */
		struct redact_shift shift;
	} * boot; /* owned: of each recording of the file, if time is shifted */
	size_t n_boots, next;
	const struct redact_boot *now; /* of the one that is copied */
	struct rewrite_rules *rules;   /* by which it is */
	char host[64];                 /* the first host's name or pseudonym; "": none */
	uint64_t wall_ns;              /* where the first recording begins, shifted; 0: unknown */
	struct names
		given; /* names of counters in the output other than their pseudonyms, and the hash of the original */
	struct redact_seen {
		uint32_t counters, instances, pmus, configs;
	} seen; /* of the model looked at */
};

/* Whether a field stays, by its class or because it was named. */
bool redact_keeps(const struct redact *r, uint32_t key, const char *name);
/* Whether the text names an event that the kernel or a PMU of the recording defines, and not one of a user. */
bool redact_is_event(const struct redact *r, const char *text);
/* The pseudonym for a name. */
const char *redact_name(struct redact *r, const char *kind, const char *from);
