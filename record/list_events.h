/* What -e takes on this machine, for `pmrec list events`. */
#pragma once

#include "record/host/root.h"

/* Appends the events whose name matches `glob` (NULL: all), for people; with those of vendor event files
 * (NULL-terminated; NULL: none). Their number, or -errno. */
int list_events(const struct root *root, const char *glob, char *const *event_files, bool no_vendor, struct buf *out,
		struct error *e);

/* This CPU's id in the maps of vendor files; false if it is unknown. */
bool list_cpu_id(const struct root *root, char *id, size_t size);
