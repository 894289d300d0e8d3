/* The options --per-LEVEL, which several commands have: a row for each package, core, device ... */
#ifndef REPORT_OPTIONS_PER_H
#define REPORT_OPTIONS_PER_H

#include <argp.h>

#include "format/model.h"

/* Rows of a table of options, without --per-system. The key is `key` + enum pm_kind; `each` begins the sentence of
 * help ("One row per"), `group` is the part of the help. */
#define OPTIONS_PER(key, each, group) \
	{ "per-package", (key) + PM_PACKAGE, NULL, 0, each " package", group }, \
		{ "per-socket", (key) + PM_PACKAGE, NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, group }, \
		{ "per-die", (key) + PM_DIE, NULL, 0, each " die", group }, \
		{ "per-cluster", (key) + PM_CLUSTER, NULL, 0, each " cluster", group }, \
		{ "per-cache", (key) + PM_CACHE, NULL, 0, each " last-level cache", group }, \
		{ "per-core", (key) + PM_CORE, NULL, 0, each " core", group }, \
		{ "per-node", (key) + PM_NODE, NULL, 0, each " NUMA node", group }, \
		{ "per-cpu", (key) + PM_CPU, NULL, 0, each " CPU", group }, \
		{ "per-task", (key) + PM_TASK, NULL, 0, each " task", group }, \
		{ "per-cgroup", (key) + PM_CGROUP, NULL, 0, each " cgroup", group }, \
		{ "per-device", (key) + PM_DEVICE, NULL, 0, each " device, such as a thermal zone or a sensor", group }, \
	{ \
		"per-pmu", (key) + PM_PMU, NULL, 0, each " uncore PMU", group \
	}

#endif
