/*
 * Events of CPU vendors. They become aliases of their PMUs, as if sysfs had named them. Packed, each has a line:
 * name, unit, devices, flags, terms, scale, unit of measure and a sentence, separated by TABs.
 */
#pragma once

#include "common/buf.h"
#include "common/error.h"
#include "common/event/event.h"

struct vendor_docs;
struct vendor_events;

/* Adds the events of a file or directory, as vendor_docs_load() reads it, to *v (NULL: a new one). 0, or -errno with
 * *v unchanged: -ENODATA without events, -ENOTSUP in a build without JSON. */
int vendor_events_load(struct vendor_events **v, const char *path, const char *pmu, const char *cpuid,
		       struct error *e);
/* Appends a line for each event; `help`: with its sentence. Events with an unknown form are skipped, with a line in
 * `notes`. The number of lines. */
int vendor_events_convert(const struct vendor_docs *d, bool help, struct buf *rows, struct buf *notes);
/* Adds such lines to *v (NULL: a new one), and takes ownership of them. `notes`: of what the user named; NULL: they
 * are from a pack. */
void vendor_events_unpack(struct vendor_events **v, char *rows, const struct buf *notes);
/* Only packed events that one of these texts names are applied. */
void vendor_events_words(struct vendor_events *v, const char *text);
/* Adds the events to the PMUs, where they replace events of the same name, and the notes. The number of aliases
 * added. */
int vendor_events_apply(const struct vendor_events *v, struct event_pmu *pmu, size_t n_pmus, struct buf *notes);
void vendor_events_free(struct vendor_events *v);

/* Whether the pattern matches the CPU. It may omit the stepping; Arm's number stands for its variant and revision and
 * later ones (arch/arm64/util/header.c of perf). */
bool vendor_is_cpu(const char *pattern, const char *cpuid);
/* Does the extended regular expression match the whole of the text? */
bool vendor_matches(const char *pattern, const char *text);
/* Whether it is a pattern at all. */
bool vendor_is_pattern(const char *pattern);
/* The pattern of PMU names that a Unit means; `text` has at least 64 bytes. NULL: the PMUs of the cores. */
const char *vendor_events_pmu(const char *unit, char *text, size_t size);
