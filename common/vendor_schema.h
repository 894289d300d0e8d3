/*
 * Converts vendors' own schemas to perf's: an array of objects with EventName or MetricName.
 *   Intel's perfmon   "Metrics": [ { "Formula", "Events": [ { "Name", "Alias" } ], "Constants", "Threshold" ... } ]
 *   Arm's telemetry   "events": { NAME: { "code", "title" } }, "metrics": { NAME: { "formula", "units" } }, "groups"
 */
#pragma once

#include "common/json.h"

/* Takes ownership of a file that was read. Objects in perf's schema, or an unknown one, stay as they are. `pmu`
 * ("cpu_atom") is the PMU of the kind of cores that the file is for, if the file does not say it; or NULL. NULL
 * without memory. */
struct json *vendor_json_convert(struct json *j, const char *pmu, struct error *e);
/* The pattern of MIDR_EL1 that a file of Arm is for, from the file before conversion; `pattern` has at least 32
 * bytes. False for other files. */
bool vendor_json_midr(const struct json *j, char *pattern, size_t size);
