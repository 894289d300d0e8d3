/*
 * Events of CPU vendors, in the JSON schema of perf's pmu-events: files of objects with EventName and the fields of
 * an event's code. They become aliases of their PMUs, as if sysfs had named them.
 */
#pragma once

#include "common/buf.h"
#include "common/error.h"
#include "common/event/event.h"

struct vendor_events;

/*
 * Reads a file, or all *.json files of a directory, into *v (NULL: a new one). A directory with a mapfile.csv, as
 * perf has one for each architecture, stands for the directory that it names for `cpuid` ("GenuineIntel-6-55-7";
 * NULL: not known). `pmu` is the PMU of the kind of cores that the file is for, or NULL. 0 or -errno with *v
 * unchanged: -ENODATA without events, -ENOTSUP in a build without JSON.
 */
int vendor_events_load(struct vendor_events **v, const char *path, const char *pmu, const char *cpuid,
		       struct error *e);
/* The folder for the CPU: the one that a mapfile.csv in `path` names, or `path` itself. 0 or -errno. */
int vendor_folder(const char *path, const char *cpuid, char *dir, size_t size, struct error *e);
/* Whether the folder has a mapfile.csv. */
bool vendor_folder_is_mapped(const char *path);
/* A line of a mapfile.csv; a pattern is an extended regular expression for the whole id of a CPU. */
struct vendor_map {
	const char *pattern, *name, *type;
	const char *pmu; /* the PMU of the kind of cores, from Intel's word for it; NULL: all */
};
/* Calls each() for every line, until it returns non-zero; returns that, 0, or -errno if the file cannot be read. */
typedef int (*vendor_map_fn)(void *arg, const struct vendor_map *row);
int vendor_map_each(const char *path, vendor_map_fn each, void *arg, struct error *e);
/* Whether the pattern matches the CPU. It may omit the stepping; Arm's number stands for its variant and revision and
 * later ones (arch/arm64/util/header.c of perf). */
bool vendor_is_cpu(const char *pattern, const char *cpuid);
/* Does the extended regular expression match the whole of the text? */
bool vendor_matches(const char *pattern, size_t len, const char *text);
/* Whether it is a pattern at all. */
bool vendor_is_pattern(const char *pattern);
void vendor_events_free(struct vendor_events *v);

/*
 * Packed: for each event a line in `rows` (name, unit, devices, flags, terms, scale, unit of measure, separated by
 * TABs) and a line in `help`, a sentence. Appends what was read. The number of events, or -ENOMEM.
 */
int vendor_events_print(struct vendor_events *v, struct buf *rows, struct buf *help, struct buf *notes);
/* Adds such lines to *v (NULL: a new one), and takes ownership of both texts; `help` may be NULL. 0 or -ENOMEM. */
int vendor_events_unpack(struct vendor_events **v, char *rows, char *help);
/* Only packed events that one of these texts names are applied. 0 or -ENOMEM. */
int vendor_events_words(struct vendor_events *v, const char *text);
/*
 * Adds the events to the PMUs. They replace events of the same name, because the user requested the file. Events with
 * an unknown form are skipped, with a line in `notes`. The number of aliases added, or -ENOMEM.
 */
int vendor_events_apply(struct vendor_events *v, struct event_pmu *pmu, size_t n_pmus, struct buf *notes);
/* The pattern of PMU names that a Unit means; `text` has at least 64 bytes. NULL: the PMUs of the cores. */
const char *vendor_events_pmu(const char *unit, char *text, size_t size);
