/* Which recordings are compared, and what they are: found, looked through without decoding, and checked. */
#pragma once

#include "common/error.h"
#include "report/diff/diff.h"

/*
 * Finds the recordings of both sides: files, the recordings of folders, or those with the wanted labels. Fills path,
 * name and side only. -EINVAL where the command line makes no sense, -ENOENT where a side is empty.
 */
int diff_find(struct diff_recordings *r, const struct diff_options *o, struct error *e);
/* Finds facts, runs and events of all. 0, or -errno with a text that names the unreadable path. Oddities become notes
 * of the recording. */
int diff_scan(struct diff_recordings *r, const struct diff_options *o, struct error *e);
/* The order of both sides' runs in time, and their boots. 0 or -ENOMEM. */
int diff_find_order(struct diff_recordings *r, const struct diff_options *o);
/* Refuses a recording that occurs twice, on one side or on both, because it is not independent of itself. */
int diff_check(const struct diff_recordings *r, struct error *e);
void diff_recordings_release(struct diff_recordings *r);
