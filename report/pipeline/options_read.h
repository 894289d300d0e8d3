/* Options that several commands have: readers for READ() in their rows, and the rows of --per-LEVEL. */
#pragma once

#include "common/options_table.h"
#include "format/model.h"

int read_moment(void *member, const char *arg, struct error *e); /* struct moment */
int read_every(void *member, const char *arg, struct error *e);  /* struct pipeline_config: mode and every_ns */
int read_cpus(void *member, const char *arg, struct error *e);   /* struct cpulist */
/* struct selection */
int read_show(void *member, const char *arg, struct error *e);
int read_hide(void *member, const char *arg, struct error *e);
int read_enable(void *member, const char *arg, struct error *e);
/* struct vendor_files *; the second has no argument */
int read_vendor_file(void *member, const char *arg, struct error *e);
int read_no_vendor(void *member, const char *arg, struct error *e);
/* struct sheet_config: rows of a list of CPUs, or of the first of each "core" or "package" */
int read_rows(void *member, const char *arg, struct error *e);

/* Rows without --per-system. `how` makes an action of an enum pm_kind; `each` begins the sentence of help ("one row
 * per"). */
/* clang-format off */
#define OPTIONS_PER(how, each) \
	{ "per-package", 0, NULL, each " package", how(PM_PACKAGE) }, \
	{ "per-socket" }, \
	{ "per-die", 0, NULL, each " die", how(PM_DIE) }, \
	{ "per-cluster", 0, NULL, each " cluster", how(PM_CLUSTER) }, \
	{ "per-cache", 0, NULL, each " last-level cache", how(PM_CACHE) }, \
	{ "per-core", 0, NULL, each " core", how(PM_CORE) }, \
	{ "per-node", 0, NULL, each " NUMA node", how(PM_NODE) }, \
	{ "per-cpu", 0, NULL, each " CPU", how(PM_CPU) }, \
	{ "per-task", 0, NULL, each " task", how(PM_TASK) }, \
	{ "per-cgroup", 0, NULL, each " cgroup", how(PM_CGROUP) }, \
	{ "per-device", 0, NULL, each " device, such as a thermal zone or a sensor", how(PM_DEVICE) }, \
	{ "per-pmu", 0, NULL, each " uncore PMU", how(PM_PMU) }
/* clang-format on */
