/*
 * Removes from recordings what identifies machine, persons or time, by the privacy class of each field, which is its
 * number (format/value.h). Technical fields that this version knows stay; unknown fields are dropped. Names that
 * distinguish things become random pseudonyms. Texts without a class may repeat what is dropped (the cgroup of an
 * event's name, a path in a refusal), so a first pass collects all that is dropped, and the copy removes it from
 * every text that stays.
 *
 *   redact_new -> redact_look (a first reading) -> rewrite_all -> redact_save -> redact_free
 *
 * Several recordings can share one; their pseudonyms and shifts are then the same.
 */
#pragma once

#include "common/buf.h"
#include "common/error.h"
#include "report/copy/rewrite.h"

struct redact_options {
	const char *map; /* path of the file for the pseudonyms; NULL: they are not kept */
	/* Classes (machine, person, time) and names of fields that stay, separated by commas; or NULL. */
	const char *keep;
	bool shift_time;
};

struct redact;

/* Reads the map, if it exists. 0 or -errno with the text in *e; -EACCES for a map that others may read. */
int redact_new(struct redact **r, const struct redact_options *o, struct error *e);
void redact_free(struct redact *r);
/* Reads all definitions and events of the next recording to redact; forgets those of the previous one. */
int redact_look(struct redact *r, const struct spool *in, struct error *e);
/* Appends a name for that recording, without an ending, because the file's name often names the machine. */
void redact_file_name(const struct redact *r, struct buf *name);
/* Writes the map, if there is one, readable by its owner only. */
int redact_save(struct redact *r, struct error *e);

/* Whether a text is a pseudonym that redact_... could have made: "host-0123abcd". */
bool redact_is_pseudonym(const char *text);

/* For rewrite_all(), with copies of what becomes known. At the beginning of each recording of the file, from 0: what
 * to add to all times of CLOCK_MONOTONIC, modulo 2^64. */
uint64_t redact_begin(struct redact *r, size_t recording);
void redact_header(struct redact *r, struct pm_map *header);
void redact_counter(struct redact *r, struct pm_counter *c);
void redact_instance(struct redact *r, struct pm_instance *i);
void redact_topology(struct redact *r, struct pm_topology *t);
void redact_pmu(struct redact *r, struct pm_pmu *p);
void redact_probe(struct redact *r, struct pm_probe *p);
enum rewrite_fate redact_config(struct redact *r, struct pm_config *c);
enum rewrite_fate redact_event(struct redact *r, struct pm_event *e);
/* A value of TEXT or BYTES columns, once for each in a recording. */
enum rewrite_fate redact_text(struct redact *r, struct pm_value *v);
void redact_clocks(struct redact *r, struct pm_clocks *c); /* monotonic is shifted */
void redact_source(struct redact *r, char **source);       /* that of a group; owned, by malloc */
/* What to add to each value of a counter of integers, modulo 2^width; differences do not change. */
uint64_t redact_rebase(struct redact *r, const struct pm_counter *c);
