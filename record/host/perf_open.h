/* perf_event_open(): attr words of an event, retries without optional ones, and the meaning of errors. */
#pragma once

#include <linux/perf_event.h>

#include "common/event/event.h"
#include "record/host/root.h"

struct plan;

/* The structure up to config4, which the headers of the build machine may not know. */
#define PERF_ATTR_BYTES 144
union perf_attr {
	struct perf_event_attr a;
	uint8_t bytes[PERF_ATTR_BYTES];
};

/* Counting, disabled, read as a group with enabled and running time. */
void perf_attr_fill(union perf_attr *attr, const struct event *ev);
/* Where an event counts. */
struct perf_place {
	pid_t pid;  /* -1: any task on the CPU */
	int cpu;    /* -1: wherever the task runs */
	int cgroup; /* descriptor of its directory, with pid -1 and a CPU; -1: none */
};

static inline struct perf_place perf_on_cpu(int cpu)
{
	return (struct perf_place){ .pid = -1, .cpu = cpu, .cgroup = -1 };
}
static inline struct perf_place perf_on_task(pid_t pid)
{
	return (struct perf_place){ .pid = pid, .cpu = -1, .cgroup = -1 };
}

/* A descriptor or -errno. */
int perf_open(const union perf_attr *attr, struct perf_place at, int group_fd);
/* The same; retries without bits in *attr that the PMU may not know (exclude_guest, precise_ip). */
int perf_open_relaxed(union perf_attr *attr, struct perf_place at, int group_fd);

/* pm_reason of an errno. */
uint16_t perf_reason(int err);
/* The cure. The caller owns it. */
struct pm_value perf_remedy(int err, const struct event *ev, const struct plan *p);

/* Whether the NMI watchdog holds a counter of each CPU. */
bool perf_nmi_watchdog(const struct root *root);

/* The number of descriptors in use. */
uint64_t perf_used_nofile(void);
/* Raises the limit of open files as far as it may go; the descriptors that are available then. */
uint64_t perf_raise_nofile(void);
