#include "common/metric/metric.h"

#include <linux/perf_event.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/event/event.h"
#include "common/metric/shadow.h"

/* The tables: a metric is a row, which ends with what is not the default. A macro means the same in all of them. */
/* clang-format off */
#define METRIC(name_, display_, categories_, unit_, precision_, expr_, help_, ...) \
	{ .name = name_, .display = display_, .categories = categories_, .unit = unit_, .precision = precision_, \
	  .expr = expr_, .help = help_, __VA_ARGS__ }
/* clang-format on */
#include "common/metric/tables_time.inc"
#include "common/metric/tables_idle.inc"
#include "common/metric/tables_interrupts.inc"
#include "common/metric/tables_memory.inc"
#include "common/metric/tables_power.inc"
#include "common/metric/tables_turbostat.inc"
#include "common/metric/tables_perf.inc"
#include "common/metric/tables_stat.inc"
#include "common/metric/tables_nvidia.inc"
#include "common/metric/tables_uncore.inc"
#include "common/metric/tables_devices.inc"
#include "common/metric/tables_tasks.inc"
#include "common/metric/tables_cgroups.inc"
#include "common/metric/tables_energy.inc"

#define TABLE(subject) { #subject, metric_##subject, sizeof(metric_##subject) / sizeof(metric_##subject[0]) },
/* clang-format off */
const struct metric_table metric_tables[] = {
	TABLE(time)
	TABLE(scheduler)
	TABLE(idle)
	TABLE(frequency)
	TABLE(interrupts)
	TABLE(memory)
	TABLE(pressure)
	TABLE(thermal)
	TABLE(power)
	TABLE(turbostat)
	TABLE(perf)
	TABLE(stat)
	TABLE(uncore)
	TABLE(nvidia)
	TABLE(grace)
	TABLE(devices)
	TABLE(tasks)
	TABLE(cgroups)
	TABLE(energy)
	{ .row = NULL },
};
/* clang-format on */

/* ---- sets that were read from files ---- */

void metric_row_release(struct metric *row)
{
	const char *owned[] = { row->name, row->display, row->aliases,   row->categories,   row->unit,
				row->expr, row->help,    row->threshold, row->ungrouped_in, row->board };

	for (size_t k = 0; k < sizeof(owned) / sizeof(owned[0]); k++)
		free((void *)(uintptr_t)owned[k]);
	*row = (struct metric){ 0 };
}

void metric_set_release(struct metric_set *set)
{
	for (size_t i = 0; i < set->n; i++)
		metric_row_release(&set->row[i]);
	free(set->row);
	buf_release(&set->skipped);
	*set = (struct metric_set){ 0 };
}

/* ---- what perf prints beside events ---- */

/* Whether the row is about an event with these attr words. */
static bool has_config(const struct shadow *s, uint32_t type, uint64_t config)
{
	const struct event_symbol *symbol;
	uint64_t cache;

	if (type == PERF_TYPE_HW_CACHE)
		return !event_cache_parse(s->event, &cache) && cache == (uint32_t)config;
	symbol = event_symbol_find(s->event);
	return symbol && symbol->type == type &&
	       symbol->config == (type == PERF_TYPE_HARDWARE ? (uint32_t)config : config);
}

/* "cpu/topdown-retiring/u" and "topdown-retiring:u" are topdown-retiring; "msr/smi/" is smi. */
static bool has_name(const struct shadow *s, const char *name)
{
	const char *slash = strchr(name, '/'), *from = slash ? slash + 1 : name;
	size_t len = strcspn(from, slash ? "/" : ":");

	return strlen(s->event) == len && !strncasecmp(s->event, from, len);
}

size_t shadow_find(uint32_t type, uint64_t config, const char *name, const struct shadow **row)
{
	bool known = type == PERF_TYPE_HARDWARE || type == PERF_TYPE_SOFTWARE || type == PERF_TYPE_HW_CACHE;
	size_t n = 0;

	for (const struct shadow *s = shadows; s->event; s++) {
		if (known ? !has_config(s, type, config) : !has_name(s, name)) {
			if (n)
				break;
			continue;
		}
		if (!n)
			*row = s;
		n++;
	}
	return n;
}

enum shadow_level shadow_judge(const struct shadow *s, double value)
{
	static const enum shadow_level level[] = { SHADOW_BAD, SHADOW_NEARLY_BAD, SHADOW_LESS_GOOD };

	if (isnan(value) || s->limit[0] == 0)
		return SHADOW_PLAIN;
	if (s->lower)
		return value > s->limit[0] ? SHADOW_GOOD : SHADOW_PLAIN;
	for (size_t i = 0; i < sizeof(level) / sizeof(level[0]); i++)
		if (s->limit[i] > 0 && value > s->limit[i])
			return level[i];
	return SHADOW_GOOD;
}
