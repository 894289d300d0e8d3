/*
 * What --metrics-file names: metrics, and the events of a folder, whose names their formulas may use. A folder with a
 * mapfile.csv has those of many CPUs. The recording decides which, so these are read later, once for
 * each CPU; everything else is read at once, to report mistakes early.
 */
#pragma once

#include "common/event/vendor_events.h"
#include "common/metric/metric.h"
#include "format/model.h"
#include "format/vendor_pack.h"

struct vendor_files;

/* What applies to the CPU of a recording; borrowed from the files. */
struct vendor_choice {
	const struct metric_set *set; /* one for each path, in their order; then those of the pack */
	size_t n, n_packed;           /* the last n_packed are the pack's */
	struct vendor_events *events; /* NULL: none */
};

/* Adds a file or a folder to *v (NULL: new ones), before the first choice. 0 or -errno. */
int vendor_files_add(struct vendor_files **v, const char *path, struct error *e);
/* Adds the pack of vendors' events and metrics, if there is one (format/vendor_pack.h); `never`: never use it. May be
 * called more than once. 0 or -errno. */
int vendor_files_add_pack(struct vendor_files **v, bool never, struct error *e);
/* Those for the CPU that the model's header names; none if `v` is NULL. 0 or -errno: no line of a mapfile.csv is for
 * that CPU, or what it names cannot be read. */
int vendor_files_choose(struct vendor_files *v, const struct pm_model *m, struct vendor_choice *choice,
			struct error *e);
/* Adds a line for each metric that was skipped since the last call. */
void vendor_files_skipped(struct vendor_files *v, struct buf *lines);
void vendor_files_free(struct vendor_files *v);
