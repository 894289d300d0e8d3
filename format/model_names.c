/* Numbers of the format in words. */
#include <stdio.h>
#include <string.h>

#include "format/model.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *const kinds[] = {
	[PM_SYSTEM] = "system", [PM_PACKAGE] = "package", [PM_DIE] = "die",       [PM_CLUSTER] = "cluster",
	[PM_CACHE] = "cache",   [PM_NODE] = "node",       [PM_CORE] = "core",     [PM_CPU] = "cpu",
	[PM_PMU] = "pmu",       [PM_TASK] = "task",       [PM_CGROUP] = "cgroup", [PM_DEVICE] = "device",
};
static const char *const types[] = {
	[PM_U64] = "u64", [PM_S64] = "s64", [PM_F64] = "f64", [PM_TEXT] = "text", [PM_BYTES] = "bytes",
};
static const char *const semantics_words[] = {
	[PM_CUMULATIVE] = "cumulative", [PM_DELTA] = "delta",       [PM_GAUGE] = "gauge", [PM_PEAK] = "peak",
	[PM_STATE] = "state",           [PM_BITFIELD] = "bitfield",
};
static const char *const aggregations[] = {
	[PM_AGG_SUM] = "sum", [PM_AGG_MEAN] = "mean",   [PM_AGG_MAX] = "max",
	[PM_AGG_MIN] = "min", [PM_AGG_FIRST] = "first", [PM_AGG_NONE] = "none",
};
/* clang-format off */
static const char *const events[] = {
	[PM_EVENT_MARKER] = "marker",           [PM_EVENT_CPU_ONLINE] = "cpu-online",
	[PM_EVENT_CPU_OFFLINE] = "cpu-offline", [PM_EVENT_LOST] = "lost",
	[PM_EVENT_CLOCK_STEP] = "clock-step",   [PM_EVENT_SUSPEND] = "suspend",
	[PM_EVENT_ENABLE] = "enable",           [PM_EVENT_DISABLE] = "disable",
	[PM_EVENT_CHILD_START] = "child-start", [PM_EVENT_CHILD_EXIT] = "child-exit",
	[PM_EVENT_FAILED] = "failed",           [PM_EVENT_RUN_START] = "run-start",
	[PM_EVENT_RUN_END] = "run-end",         [PM_EVENT_GONE] = "gone",
	[PM_EVENT_NOTE] = "note",
};
/* clang-format on */

static const struct {
	const char *name, *text;
} reasons[] = {
	[PM_OK] = { "ok", "there is a value" },
	[PM_REASON_NOT_COUNTED] = { "not-counted", "the event never ran in the interval" },
	[PM_REASON_NOT_SUPPORTED] = { "not-supported", "not supported by the kernel or the hardware" },
	[PM_REASON_NO_PERMISSION] = { "no-permission", "permission was refused" },
	[PM_REASON_OFFLINE] = { "offline", "its CPU was offline" },
	[PM_REASON_MISSED] = { "missed", "the reader came too late for this snapshot" },
	[PM_REASON_GONE] = { "gone", "the task, cgroup, device or file has ended" },
	[PM_REASON_DROPPED] = { "dropped", "it was read, but lost before it was written" },
	[PM_REASON_SUSPECT] = { "suspect", "the value cannot be what it claims to be" },
	[PM_REASON_FORMAT] = { "format", "the kernel's text was not as expected" },
	[PM_REASON_NOT_READ] = { "not-read", "it was not due in this snapshot" },
	[PM_REASON_LEFT_OUT] = { "left-out", "it was recorded, and left out to make the file smaller" },
	[PM_REASON_NEWER] = { "newer", "it was recorded in a way that this version is too old to read" },
};

static const char *word(const char *const *table, size_t n, unsigned i)
{
	return i < n ? table[i] : NULL;
}

const char *pm_kind_name(enum pm_kind kind)
{
	return word(kinds, COUNT(kinds), kind);
}

const char *pm_type_name(enum pm_type type)
{
	return word(types, COUNT(types), type);
}

const char *pm_semantics_name(enum pm_semantics semantics)
{
	return word(semantics_words, COUNT(semantics_words), semantics);
}

const char *pm_aggregation_name(enum pm_aggregation aggregation)
{
	return word(aggregations, COUNT(aggregations), aggregation);
}

const char *pm_event_name(enum pm_event_type type)
{
	return word(events, COUNT(events), type);
}

const char *pm_reason_name(uint16_t reason, char buf[static 16])
{
	if (reason < COUNT(reasons))
		return reasons[reason].name;
	if (reason > PM_REASON_ERRNO && reason < PM_REASON_ERRNO + 1000)
		snprintf(buf, 16, "errno-%u", (unsigned)(reason - PM_REASON_ERRNO));
	else
		snprintf(buf, 16, "reason-%u", reason);
	return buf;
}

const char *pm_reason_text(uint16_t reason)
{
	const char *text = NULL;

	if (reason < COUNT(reasons))
		return reasons[reason].text;
	if (reason > PM_REASON_ERRNO && reason < PM_REASON_ERRNO + 1000)
		text = strerrordesc_np(reason - PM_REASON_ERRNO);
	return text ? text : "for a reason that this version does not know";
}

void pm_event_release(struct pm_event *e)
{
	pm_map_release(&e->attrs);
	*e = (struct pm_event){ 0 };
}
