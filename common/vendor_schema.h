/*
 * Files of CPU vendors in schemas of their own, made into perf's: an array of objects with EventName or MetricName.
 *   Intel's perfmon   "Metrics": [ { "Formula", "Events": [ { "Name", "Alias" } ], "Constants", "Threshold" ... } ]
 *   Arm's telemetry   "events": { NAME: { "code", "title" } }, "metrics": { NAME: { "formula", "units" } }, "groups"
 */
#ifndef COMMON_VENDOR_SCHEMA_H
#define COMMON_VENDOR_SCHEMA_H

#include "common/json.h"

/* Reads a file. What is in perf's schema, or in none that is known, comes as it stands. `pmu` is that of the kind of cores
 * that it is for, "cpu_atom", if the file does not say it; or NULL. NULL on error. */
struct json *vendor_json_load(const char *path, const char *pmu, struct error *e);
/* The same for what has been read; takes over `j`. */
struct json *vendor_json_convert(struct json *j, const char *pmu, struct error *e);
/* The pattern of MIDR_EL1 that a file of Arm is for, at least 32 bytes; false: it is none of these. Of the file as it
 * was before it was converted. */
bool vendor_json_midr(const struct json *j, char *pattern, size_t size);

#endif
