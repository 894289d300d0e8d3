/* The keys of every map, in words. A key that is missing here is still carried, but `pmrep info` has no name for it.
 */
#include <stddef.h>

#include "format/model.h"

const struct pm_key_row pm_header_keys[] = {
	{ PM_HEADER_TOOL, PM_VALUE_TEXT, "tool" },
	{ PM_HEADER_FORMAT_MINOR, PM_VALUE_U64, "format_minor" },
	{ PM_HEADER_COMPATIBLE, PM_VALUE_U64, "compatible" },
	{ PM_HEADER_INCOMPATIBLE, PM_VALUE_U64, "incompatible" },
	{ PM_HEADER_ARCH, PM_VALUE_TEXT, "arch" },
	{ PM_HEADER_KERNEL, PM_VALUE_TEXT, "kernel" },
	{ PM_HEADER_OS, PM_VALUE_TEXT, "os" },
	{ PM_HEADER_CPU_VENDOR, PM_VALUE_TEXT, "cpu_vendor" },
	{ PM_HEADER_CPU_MODEL, PM_VALUE_TEXT, "cpu_model" },
	{ PM_HEADER_CPU_ID, PM_VALUE_TEXT, "cpu_id" },
	{ PM_HEADER_MICROCODE, PM_VALUE_TEXT, "microcode" },
	{ PM_HEADER_HYPERVISOR, PM_VALUE_TEXT, "hypervisor" },
	{ PM_HEADER_INTERVAL, PM_VALUE_U64, "interval" },
	{ PM_HEADER_CLOCK_COUNTER, PM_VALUE_TEXT, "clock_counter" },
	{ PM_HEADER_CLOCK_COUNTER_HZ, PM_VALUE_U64, "clock_counter_hz" },
	{ PM_HEADER_TICK_HZ, PM_VALUE_U64, "tick_hz" },
	{ PM_HEADER_PAGE_SIZE, PM_VALUE_U64, "page_size" },
	{ PM_HEADER_TARGET, PM_VALUE_TEXT, "target" },
	{ PM_HEADER_PRIVACY, PM_VALUE_TEXT, "privacy" },
	{ PM_HEADER_EMULATED, PM_VALUE_BOOL, "emulated" },
	{ PM_HEADER_SOURCES, PM_VALUE_ARRAY, "sources" },
	{ PM_HEADER_HISTORY, PM_VALUE_ARRAY, "history" },
	{ PM_HEADER_MEMORY, PM_VALUE_U64, "memory" },
	{ PM_HEADER_PARANOID, PM_VALUE_S64, "paranoid" },
	{ PM_HEADER_NMI_WATCHDOG, PM_VALUE_U64, "nmi_watchdog" },
	{ PM_HEADER_SCALED, PM_VALUE_BOOL, "scaled" },
	{ PM_HEADER_CPUS, PM_VALUE_TEXT, "cpus" },
	{ PM_HEADER_LITTLE_ENDIAN, PM_VALUE_BOOL, "little_endian" },
	{ PM_HEADER_SMT, PM_VALUE_TEXT, "smt" },
	{ PM_HEADER_RUNS, PM_VALUE_U64, "runs" },
	{ PM_HEADER_METRICS, PM_VALUE_ARRAY, "metrics" },
	{ PM_HEADER_REDACTED, PM_VALUE_ARRAY, "redacted" },
	{ PM_HEADER_METRIC_WORDS, PM_VALUE_ARRAY, "metric_words" },
	{ PM_HEADER_HOST, PM_VALUE_TEXT, "host" },
	{ PM_HEADER_BOOT_ID, PM_VALUE_TEXT, "boot_id" },
	{ PM_HEADER_PRODUCT, PM_VALUE_TEXT, "product" },
	{ PM_HEADER_BIOS, PM_VALUE_TEXT, "bios" },
	{ PM_HEADER_MACHINE_ID, PM_VALUE_TEXT, "machine_id" },
	{ PM_HEADER_COMMAND, PM_VALUE_TEXT, "command" },
	{ PM_HEADER_ARGUMENTS, PM_VALUE_ARRAY, "arguments" },
	{ PM_HEADER_CMDLINE, PM_VALUE_TEXT, "cmdline" },
	{ PM_HEADER_LABELS, PM_VALUE_ARRAY, "labels" },
	{ PM_HEADER_USER, PM_VALUE_TEXT, "user" },
	{ PM_HEADER_PMREC_ARGS, PM_VALUE_ARRAY, "pmrec_args" },
	{ .key = 0 },
};

const struct pm_key_row pm_counter_keys[] = {
	{ PM_COUNTER_HELP, PM_VALUE_TEXT, "help" },
	{ PM_COUNTER_REQUESTED, PM_VALUE_BOOL, "requested" },
	{ PM_COUNTER_FAMILY, PM_VALUE_TEXT, "family" },
	{ PM_COUNTER_MEMBER, PM_VALUE_TEXT, "member" },
	{ PM_COUNTER_FROM_ZERO, PM_VALUE_BOOL, "from_zero" },
	{ PM_COUNTER_LANE, PM_VALUE_U64, "lane" },
	{ PM_COUNTER_ABOVE, PM_VALUE_F64, "above" },
	{ PM_COUNTER_UP_TO, PM_VALUE_F64, "up_to" },
	{ PM_COUNTER_BOUND_UNIT, PM_VALUE_TEXT, "bound_unit" },
	{ PM_COUNTER_PERF_ATTR, PM_VALUE_BYTES, "perf_attr" },
	{ PM_COUNTER_PERF_PMU, PM_VALUE_TEXT, "perf_pmu" },
	{ PM_COUNTER_PERF_EVENT, PM_VALUE_TEXT, "perf_event" },
	{ PM_COUNTER_PERF_GROUP, PM_VALUE_U64, "perf_group" },
	{ PM_COUNTER_PERF_POSITION, PM_VALUE_U64, "perf_position" },
	{ PM_COUNTER_PERF_WEAK, PM_VALUE_BOOL, "perf_weak" },
	{ PM_COUNTER_PERF_PINNED, PM_VALUE_BOOL, "perf_pinned" },
	{ PM_COUNTER_PERF_PER_PKG, PM_VALUE_BOOL, "perf_per_pkg" },
	{ PM_COUNTER_PERF_SNAPSHOT, PM_VALUE_BOOL, "perf_snapshot" },
	{ PM_COUNTER_PERF_PERCORE, PM_VALUE_BOOL, "perf_percore" },
	{ PM_COUNTER_PERF_WILDCARD, PM_VALUE_U64, "perf_wildcard" },
	{ PM_COUNTER_PERF_METRIC_ID, PM_VALUE_TEXT, "perf_metric_id" },
	{ PM_COUNTER_PERF_GROUP_NAME, PM_VALUE_TEXT, "perf_group_name" },
	{ PM_COUNTER_PERF_USER_TEXT, PM_VALUE_TEXT, "perf_user_text" },
	{ PM_COUNTER_PERF_PARSED, PM_VALUE_U64, "perf_parsed" },
	{ PM_COUNTER_PERF_INVALID, PM_VALUE_U64, "perf_invalid" },
	{ PM_COUNTER_PERF_BPF, PM_VALUE_TEXT, "perf_bpf" },
	{ PM_COUNTER_ADDED, PM_VALUE_TEXT, "added" },
	{ PM_COUNTER_ADD_FORMAT, PM_VALUE_TEXT, "add_format" },
	{ PM_COUNTER_ADD_TYPE, PM_VALUE_TEXT, "add_type" },
	{ PM_COUNTER_SHIFT, PM_VALUE_U64, "shift" },
	{ PM_COUNTER_DEVICES, PM_VALUE_TEXT, "devices" },
	{ PM_COUNTER_PERF_PROGRAM, PM_VALUE_TEXT, "perf_program" },
	{ PM_COUNTER_PERF_FILTER, PM_VALUE_TEXT, "perf_filter" },
	{ PM_COUNTER_PERF_CGROUP, PM_VALUE_TEXT, "perf_cgroup" },
	{ .key = 0 },
};

const struct pm_key_row pm_instance_keys[] = {
	{ PM_INSTANCE_NAME, PM_VALUE_TEXT, "name" },
	{ PM_INSTANCE_CPUS, PM_VALUE_TEXT, "cpus" },
	{ PM_INSTANCE_LEVEL, PM_VALUE_U64, "level" },
	{ PM_INSTANCE_DEVICE_PATH, PM_VALUE_TEXT, "device_path" },
	{ PM_INSTANCE_PID, PM_VALUE_U64, "pid" },
	{ PM_INSTANCE_TID, PM_VALUE_U64, "tid" },
	{ PM_INSTANCE_COMM, PM_VALUE_TEXT, "comm" },
	{ PM_INSTANCE_CGROUP, PM_VALUE_TEXT, "cgroup" },
	{ PM_INSTANCE_PARENT, PM_VALUE_U64, "parent" },
	{ PM_INSTANCE_PARENT_COMM, PM_VALUE_TEXT, "parent_comm" },
	{ PM_INSTANCE_ARGUMENTS, PM_VALUE_TEXT, "arguments" },
	{ .key = 0 },
};

const struct pm_key_row pm_pmu_keys[] = {
	{ PM_PMU_NAME, PM_VALUE_TEXT, "name" },
	{ PM_PMU_TYPE, PM_VALUE_U64, "type" },
	{ PM_PMU_IDENTIFIER, PM_VALUE_TEXT, "identifier" },
	{ PM_PMU_CPUMASK, PM_VALUE_TEXT, "cpumask" },
	{ PM_PMU_ASSOCIATED_CPUS, PM_VALUE_TEXT, "associated_cpus" },
	{ PM_PMU_CPUS, PM_VALUE_TEXT, "cpus" },
	{ PM_PMU_FORMATS, PM_VALUE_ARRAY, "formats" },
	{ PM_PMU_EVENTS, PM_VALUE_ARRAY, "events" },
	{ PM_PMU_CAPS, PM_VALUE_ARRAY, "caps" },
	{ PM_PMU_FILES, PM_VALUE_ARRAY, "files" },
	{ PM_PMU_COUNTERS, PM_VALUE_U64, "counters" },
	{ PM_PMU_REFUSED, PM_VALUE_U64, "refused" },
	{ .key = 0 },
};

const struct pm_key_row pm_event_keys[] = {
	{ PM_EVENT_KEY_COUNT, PM_VALUE_U64, "count" },       { PM_EVENT_KEY_SINCE, PM_VALUE_U64, "since" },
	{ PM_EVENT_KEY_CPU, PM_VALUE_U64, "cpu" },           { PM_EVENT_KEY_STEP, PM_VALUE_S64, "step" },
	{ PM_EVENT_KEY_SOURCE, PM_VALUE_TEXT, "source" },    { PM_EVENT_KEY_REASON, PM_VALUE_U64, "reason" },
	{ PM_EVENT_KEY_INSTANCE, PM_VALUE_U64, "instance" }, { PM_EVENT_KEY_RUN, PM_VALUE_U64, "run" },
	{ PM_EVENT_KEY_EXIT, PM_VALUE_U64, "exit" },         { PM_EVENT_KEY_SIGNAL, PM_VALUE_U64, "signal" },
	{ PM_EVENT_KEY_USER_NS, PM_VALUE_U64, "user_ns" },   { PM_EVENT_KEY_SYSTEM_NS, PM_VALUE_U64, "system_ns" },
	{ PM_EVENT_KEY_MAXRSS, PM_VALUE_U64, "maxrss" },     { PM_EVENT_KEY_RUSAGE, PM_VALUE_ARRAY, "rusage" },
	{ PM_EVENT_KEY_NOTE, PM_VALUE_TEXT, "note" },        { PM_EVENT_KEY_ELAPSED_NS, PM_VALUE_U64, "elapsed_ns" },
	{ PM_EVENT_KEY_COUNTER, PM_VALUE_U64, "counter" },   { PM_EVENT_KEY_TEXT, PM_VALUE_TEXT, "text" },
	{ PM_EVENT_KEY_PID, PM_VALUE_U64, "pid" },           { .key = 0 },
};

const struct pm_key_row *pm_key_find(const struct pm_key_row *rows, uint32_t key)
{
	for (; rows->key; rows++)
		if (rows->key == key)
			return rows;
	return NULL;
}
