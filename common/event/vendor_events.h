/*
 * Events of CPU vendors, in the JSON schema of perf's pmu-events: files of objects with EventName and the fields of
 * an event's code. They become aliases in the PMUs that they are for, as if sysfs had named them.
 */
#ifndef COMMON_EVENT_VENDOR_EVENTS_H
#define COMMON_EVENT_VENDOR_EVENTS_H

#include "common/buf.h"
#include "common/error.h"
#include "common/event/event.h"

struct vendor_events;

/*
 * Reads a file, or all *.json files of a directory, into *v (NULL: a new one). A directory with a mapfile.csv, as
 * perf has one for each architecture, stands for the directory that it names for `cpuid` ("GenuineIntel-6-55-7";
 * NULL: not known). `pmu` is that of the kind of cores that a file is for, or NULL. 0 or -errno; -ENODATA if there are no events, -ENOTSUP in a build without JSON. Then *v is as it
 * was.
 */
int vendor_events_load(struct vendor_events **v, const char *path, const char *pmu, const char *cpuid,
		       struct error *e);
/* The folder of the CPU: what a mapfile.csv in `path` says, or `path` itself. 0 or -errno. */
int vendor_folder(const char *path, const char *cpuid, char *dir, size_t size, struct error *e);
/* Whether the folder has a mapfile.csv. */
bool vendor_folder_is_mapped(const char *path);
/* A line of a mapfile.csv; a pattern is an extended regular expression for the whole id of a CPU. */
struct vendor_map {
	const char *pattern, *name, *type;
	const char *pmu; /* of the kind of cores that the file is for, by what Intel calls that; NULL: all */
};
/* Calls each() for every line; ends when it returns non-zero, and returns that. -errno if it cannot be read. */
typedef int (*vendor_map_fn)(void *arg, const struct vendor_map *row);
int vendor_map_each(const char *path, vendor_map_fn each, void *arg, struct error *e);
/* Whether the pattern is for the CPU; it may leave out the stepping, and Arm's variant and revision. */
bool vendor_is_cpu(const char *pattern, const char *cpuid);
void vendor_events_free(struct vendor_events *v);

/*
 * Packed: a line an event (name, unit, the devices that it is for, flags, terms, scale, unit of measure, separated by
 * TABs), and beside it one that says in a sentence what it is. Appends what was read; the number of events or -ENOMEM.
 */
int vendor_events_print(struct vendor_events *v, struct buf *rows, struct buf *help, struct buf *notes);
/* Adds such lines to *v (NULL: a new one), and takes over both texts; `help` may be NULL. 0 or -ENOMEM. */
int vendor_events_unpack(struct vendor_events **v, char *rows, char *help);
/* Limits the packed events that are applied to those named in one of the texts given here. 0 or -ENOMEM. */
int vendor_events_words(struct vendor_events *v, const char *text);
/*
 * Adds the events to the PMUs. An event of the same name that the PMU has is replaced: the user has asked for the
 * file. Events that cannot be understood are left out, with a line in `notes`. The number of aliases added, or
 * -ENOMEM.
 */
int vendor_events_apply(struct vendor_events *v, struct event_pmu *pmu, size_t n_pmus, struct buf *notes);
/* The pattern of PMU names that a Unit stands for, at least 64 bytes; NULL: the PMUs of the cores. */
const char *vendor_events_pmu(const char *unit, char *text, size_t size);

#endif
