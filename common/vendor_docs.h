/*
 * Files of CPU vendors, as objects with EventName or MetricName in the JSON schema of perf's pmu-events. Intel's and
 * Arm's own schemas are converted to it. An object may take fields from its architecture's
 * standard (ArchStdEvent), which is in a file beside mapfile.csv.
 */
#pragma once

#include "common/error.h"
#include "common/json.h"
#include "common/names.h"

struct vendor_object {
	const struct json *own, *standard; /* the latter NULL: it names none, or one that was not found */
};

struct vendor_docs {
	struct json **doc; /* owned */
	size_t n_docs;
	const struct json **object; /* owned array; in documents, as the rest */
	size_t n;
	const struct json **standard; /* owned array */
	size_t n_standards;
	struct names by_name; /* name in lower case -> place in standard[] */
	char midr[32];        /* the pattern of MIDR_EL1 in the last file, if that is one of Arm; else "" */
};

/*
 * Adds a file, or all *.json files of a directory. A directory with a mapfile.csv, as perf has one for each
 * architecture, stands for the directory that it names for `cpuid` ("GenuineIntel-6-55-7"; NULL: not known). `pmu`
 * is the PMU of the kind of cores that the file is for, or NULL. 0 or -errno.
 */
int vendor_docs_load(struct vendor_docs *d, const char *path, const char *pmu, const char *cpuid, struct error *e);
/* Adds the text of a file. 0 or -errno. */
int vendor_docs_parse(struct vendor_docs *d, const char *text, size_t len, struct error *e);
void vendor_docs_release(struct vendor_docs *d);

struct vendor_object vendor_docs_at(const struct vendor_docs *d, size_t i);
/* Text of a key, the object's own or its standard's; NULL if it is not there, no text or empty. */
const char *vendor_field(const struct vendor_object *o, const char *key);
/* In lower case. -E2BIG beyond `size`. */
int vendor_lower(char *to, size_t size, const char *from);

/* Whether the folder has a mapfile.csv. */
bool vendor_folder_is_mapped(const char *path);
/* A line of a mapfile.csv; a pattern is an extended regular expression for the whole id of a CPU. */
struct vendor_map {
	const char *pattern, *name, *type;
	const char *pmu; /* the PMU of the kind of cores, from Intel's word for it; NULL: all */
};
/* Reads it. 0 or -errno. */
int vendor_map_read(const char *folder, struct buf *text, struct error *e);
/* The next line of the text at *at, which is cut up; false: there is none. */
bool vendor_map_next(char **at, struct vendor_map *row);
