/* Tool events with values of the machine, and the parsing of CPU times. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/parse.h"
#include "record/host/clocks.h"
#include "record/host/taskstats.h"
#include "record/perf/perf_tool.h"

/* The number of places of that kind with an online CPU: the first CPU of each counts. */
static uint64_t count(const struct pm_topology *t, bool (*same)(const struct pm_cpu *a, const struct pm_cpu *b))
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < t->n; i++) {
		bool first = t->cpu[i].online;

		for (uint32_t k = 0; k < i && first; k++)
			first = !t->cpu[k].online || !same(&t->cpu[k], &t->cpu[i]);
		n += first;
	}
	return n;
}

static bool same_package(const struct pm_cpu *a, const struct pm_cpu *b)
{
	return a->package == b->package;
}

static bool same_die(const struct pm_cpu *a, const struct pm_cpu *b)
{
	return same_package(a, b) && a->die == b->die;
}

static bool same_core(const struct pm_cpu *a, const struct pm_cpu *b)
{
	return same_die(a, b) && a->cluster == b->cluster && a->core == b->core;
}

static bool no_two(const struct pm_cpu *a, const struct pm_cpu *b)
{
	return false;
}

/* Whether each core is counted with all its threads or not at all. */
static bool core_wide(const struct plan *p)
{
	const struct pm_topology *t = &p->model->topology;

	for (uint32_t i = 0; i < t->n; i++)
		for (uint32_t k = 0; k < t->n; k++)
			if (t->cpu[i].online && t->cpu[k].online && same_core(&t->cpu[i], &t->cpu[k]) &&
			    plan_wants_cpu(p, t->cpu[i].cpu) && !plan_wants_cpu(p, t->cpu[k].cpu))
				return false;
	return true;
}

static bool smt_on(const struct plan *p)
{
	const struct pm_topology *t = &p->model->topology;
	uint64_t active;

	if (!root_u64(p->root, &active, "/sys/devices/system/cpu/smt/active"))
		return active;
	return count(t, same_core) < count(t, no_two);
}

static bool slots(const struct plan *p, uint64_t *value)
{
	SCOPED(root_list_free) char **names = NULL;
	char line[64];
	int n = root_list(p->root, &names, "/sys/bus/event_source/devices");
	bool found = false;

	for (int i = 0; i < n && !found; i++)
		found = !root_line(p->root, line, sizeof(line), "/sys/bus/event_source/devices/%s/caps/slots",
				   names[i]) &&
			!parse_u64(line, value) && *value;
	return found;
}

bool perf_tool_value(const struct plan *p, enum event_tool what, uint64_t *value)
{
	const struct pm_topology *t = &p->model->topology;

	switch (what) {
	case EVENT_TOOL_HAS_PMEM:
		*value = root_exists(p->root, "/sys/firmware/acpi/tables/NFIT");
		return true;
	case EVENT_TOOL_NUM_CORES:
		*value = count(t, same_core);
		return *value;
	case EVENT_TOOL_NUM_CPUS:
		*value = t->n;
		return *value;
	case EVENT_TOOL_NUM_CPUS_ONLINE:
		*value = count(t, no_two);
		return *value;
	case EVENT_TOOL_NUM_DIES:
		*value = count(t, same_die);
		return *value;
	case EVENT_TOOL_NUM_PACKAGES:
		*value = count(t, same_package);
		return *value;
	case EVENT_TOOL_SLOTS:
		return slots(p, value);
	case EVENT_TOOL_SMT_ON:
		*value = smt_on(p);
		return true;
	case EVENT_TOOL_SYSTEM_TSC_FREQ:
		*value = p->root->emulated ? 0 : clocks_counter_hz();
		return *value;
	case EVENT_TOOL_CORE_WIDE:
		*value = !smt_on(p) || (p->options->target == TARGET_SYSTEM && core_wide(p));
		return true;
	case EVENT_TOOL_TARGET_CPU:
		*value = p->options->target == TARGET_SYSTEM;
		return true;
	default:
		return false;
	}
}

/* ---- texts of /proc ---- */

bool perf_tool_task_times(const char *text, bool children, uint64_t ticks[2])
{
	enum { USER = 14, SYSTEM, CHILDREN_USER, CHILDREN_SYSTEM, FIELDS };
	uint64_t v[FIELDS];

	if (taskstats_fields(text, v, FIELDS) < FIELDS)
		return false;
	ticks[0] = v[USER] + (children ? v[CHILDREN_USER] : 0);
	ticks[1] = v[SYSTEM] + (children ? v[CHILDREN_SYSTEM] : 0);
	return true;
}

bool perf_tool_cpu_times(const char *text, uint32_t cpu, uint64_t ticks[2])
{
	uint64_t user, nice, system;
	unsigned number;

	for (const char *at = text; at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (strncmp(at, "cpu", 3))
			return false;
		/* Of all CPUs; after a blank %u would take its first count for a number. */
		if (at[3] == ' ')
			continue;
		if (sscanf(at, "cpu%u %" SCNu64 " %" SCNu64 " %" SCNu64, &number, &user, &nice, &system) == 4 &&
		    number == cpu) {
			ticks[0] = user + nice;
			ticks[1] = system;
			return true;
		}
	}
	return false;
}
