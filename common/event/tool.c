/* The PMU of events that the tool itself counts; also frees PMU descriptions. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/event/event.h"

static const struct {
	const char *name, *unit, *help;
	bool gauge;
} events[] = {
	[EVENT_TOOL_DURATION_TIME] = { "duration_time", "ns", "time that was counted" },
	[EVENT_TOOL_USER_TIME] = { "user_time", "ns", "CPU time in user mode" },
	[EVENT_TOOL_SYSTEM_TIME] = { "system_time", "ns", "CPU time in the kernel" },
	[EVENT_TOOL_HAS_PMEM] = { "has_pmem", NULL, "1 if there is persistent memory", true },
	[EVENT_TOOL_NUM_CORES] = { "num_cores", NULL, "cores that are online", true },
	[EVENT_TOOL_NUM_CPUS] = { "num_cpus", NULL, "CPUs that are present", true },
	[EVENT_TOOL_NUM_CPUS_ONLINE] = { "num_cpus_online", NULL, "CPUs that are online", true },
	[EVENT_TOOL_NUM_DIES] = { "num_dies", NULL, "dies", true },
	[EVENT_TOOL_NUM_PACKAGES] = { "num_packages", NULL, "packages", true },
	[EVENT_TOOL_SLOTS] = { "slots", NULL, "instructions that an Arm core can retire in a cycle", true },
	[EVENT_TOOL_SMT_ON] = { "smt_on", NULL, "1 if a core has several threads", true },
	[EVENT_TOOL_SYSTEM_TSC_FREQ] = { "system_tsc_freq", "Hz", "frequency of the time stamp counter", true },
	[EVENT_TOOL_CORE_WIDE] = { "core_wide", NULL, "1 if all threads of a core are counted", true },
	[EVENT_TOOL_TARGET_CPU] = { "target_cpu", NULL, "1 if CPUs are counted rather than tasks", true },
};
#define N_EVENTS (sizeof(events) / sizeof(events[0]))

const struct event_alias *event_pmu_alias(const struct event_pmu *pmu, const char *name, size_t len)
{
	for (size_t i = 0; i < pmu->n_aliases; i++)
		if (!strncasecmp(pmu->alias[i].name, name, len) && !pmu->alias[i].name[len])
			return &pmu->alias[i];
	return NULL;
}

const char *event_pmu_format(const struct event_pmu *pmu, const char *name)
{
	for (size_t i = 0; i < pmu->n_formats; i++)
		if (!strcmp(pmu->format[i].name, name))
			return pmu->format[i].text;
	return NULL;
}

void event_pmu_release(struct event_pmu *pmu)
{
	for (size_t i = 0; i < pmu->n_formats; i++) {
		free(pmu->format[i].name);
		free(pmu->format[i].text);
	}
	for (size_t i = 0; i < pmu->n_aliases; i++) {
		free(pmu->alias[i].name);
		free(pmu->alias[i].text);
		free(pmu->alias[i].scale);
		free(pmu->alias[i].unit);
		free(pmu->alias[i].help);
	}
	free(pmu->format);
	free(pmu->alias);
	free(pmu->cpus);
	free(pmu->identifier);
	free(pmu->name);
	*pmu = (struct event_pmu){ 0 };
}

int event_tool_pmu(struct event_pmu *pmu, bool slots)
{
	bool whole = true;

	*pmu = (struct event_pmu){ .name = strdup("tool"),
				   .type = EVENT_TYPE_TOOL,
				   .alias = calloc(N_EVENTS, sizeof(*pmu->alias)) };
	for (size_t i = 1; pmu->alias && i < N_EVENTS; i++) {
		struct event_alias *a = &pmu->alias[pmu->n_aliases];
		char config[24];

		if (i == EVENT_TOOL_SLOTS && !slots)
			continue;
		pmu->n_aliases++;
		snprintf(config, sizeof(config), "config=%zu", i);
		*a = (struct event_alias){ .name = strdup(events[i].name),
					   .text = strdup(config),
					   .unit = events[i].unit ? strdup(events[i].unit) : NULL,
					   .help = strdup(events[i].help),
					   .snapshot = events[i].gauge };
		whole = whole && a->name && a->text && a->help && (a->unit || !events[i].unit);
	}
	if (whole && pmu->name && pmu->alias)
		return 0;
	event_pmu_release(pmu);
	return -ENOMEM;
}
