/* What would cure an errno of perf_event_open(). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/host/perf_open.h"
#include "record/host/privileges.h"
#include "record/plan/plan.h"

#define SETCAP "setcap cap_perfmon=ep \"$(command -v pmrec)\""

/* Is one of the tasks somebody else's? The kernel then asks for more than perf_event_paranoid says. */
static bool is_foreign(const struct plan *p, const char *ids)
{
	struct stat st;
	bool other = false;

	for (const char *at = ids; at && !other; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
		SCOPED(fd_close) int fd = root_open(p->root, "/proc/%lu", strtoul(at, NULL, 10));

		other = fd >= 0 && !fstat(fd, &st) && st.st_uid != geteuid();
	}
	return other;
}

/* What perf_event_paranoid has to be at most for this to be open to all. */
static int paranoid_for(const struct event *ev, const struct plan *p)
{
	if (ev && ev->type == PERF_TYPE_TRACEPOINT)
		return -1;
	return p->options->target == TARGET_SYSTEM || (ev && ev->uncore) ? 0 : 1;
}

static const char *hint_permission(const struct event *ev, const struct plan *p, char *text, size_t size)
{
	const struct record_options *o = p->options;
	int most = paranoid_for(ev, p);
	bool may = !p->root->emulated && (privileges_has("cap_perfmon") || privileges_has("cap_sys_admin"));
	bool tasks = o->target == TARGET_TASKS;
	char paranoid[32], setcap[sizeof(SETCAP) + 48];
	int err = root_line(p->root, paranoid, sizeof(paranoid), "/proc/sys/kernel/perf_event_paranoid");
	/* Above 2 it is open to CAP_SYS_ADMIN alone on kernels of Debian and Ubuntu; others know no such value. */
	bool above = !err && atoi(paranoid) > 2;

	/* The files of a tracepoint are for root and a group; their directory is, too. */
	if (ev && ev->missing && root_locked_down(p->root, true))
		return "a boot without lockdown=confidentiality: this kernel is locked down, and hides tracepoints";
	if (ev && ev->missing) {
		snprintf(text, size, "mount -o remount,mode=750,gid=%u /sys/kernel/tracing%s", (unsigned)getgid(),
			 may || err || atoi(paranoid) <= most ? "" : ", and sysctl kernel.perf_event_paranoid=-1");
		return text;
	}
	if (may && above && !privileges_has("cap_sys_admin")) {
		snprintf(text, size,
			 "sysctl kernel.perf_event_paranoid=2 (it is %.20s, and cap_perfmon is not enough)",
			 paranoid);
		return text;
	}
	/* The right is there, so something else has said no. */
	if (may)
		return "outside the container, or with --cap-add=PERFMON --security-opt seccomp=unconfined: "
		       "a filter of system calls refuses it";
	if (err)
		return SETCAP;
	snprintf(setcap, sizeof(setcap), SETCAP "%s", above ? " and sysctl kernel.perf_event_paranoid=2" : "");
	if (tasks && ((!o->perf.pids && !o->perf.tids) || is_foreign(p, o->perf.pids) || is_foreign(p, o->perf.tids)))
		snprintf(text, size, "%s: tasks of other users are open to those alone who have that capability",
			 setcap);
	else if (atoi(paranoid) <= most)
		return "outside the container, or as root: kernel.perf_event_paranoid permits it, and something "
		       "else does not";
	else
		snprintf(text, size, "%s, or sysctl kernel.perf_event_paranoid=%d (it is %.20s)", setcap, most,
			 paranoid);
	return text;
}

/* A hardware event that is not there: machines without any core PMU are virtual ones. */
static const char *hint_absent(const struct event *ev, const struct root *root)
{
	static const char *const cores[] = { "cpu", "cpu_core", "cpum_cf" };

	if (ev && ev->missing)
		return "mount -t tracefs nodev /sys/kernel/tracing";
	if (ev && ev->type > PERF_TYPE_BREAKPOINT && ev->pmu_index == EVENT_NONE)
		return "the type of a PMU that is here: grep . /sys/bus/event_source/devices/*/type";
	if (!ev || ev->uncore || ev->type == PERF_TYPE_SOFTWARE || ev->type == PERF_TYPE_TRACEPOINT)
		return "another event: `pmrec list events` shows what this kernel has";
	for (size_t i = 0; i < sizeof(cores) / sizeof(cores[0]); i++)
		if (root_exists(root, "/sys/bus/event_source/devices/%s", cores[i]))
			return "another event: this CPU does not count it (`pmrec list events`)";
	if (ev->core && ev->pmu_index == EVENT_NONE)
		return "a PMU for the virtual machine (QEMU: -cpu host,pmu=on); "
		       "`pmrec list events` shows what is here";
	return "another event: this CPU does not count it (`pmrec list events`)";
}

/* Errors that have one cure wherever they come from. */
static const struct {
	int number;
	const char *hint;
} hints[] = {
	{ EMFILE, "fewer events, a higher `ulimit -Hn`, or sysctl fs.file-max" },
	{ ENFILE, "fewer events, or a higher sysctl fs.file-max" },
	{ EINVAL, "other terms or modifiers: the PMU refuses these together" },
	{ EOPNOTSUPP,
	  "without its modifiers: the PMU cannot tell user from kernel or be precise, or it can only sample" },
	{ E2BIG, "a newer kernel: this one does not know config3 and config4" },
	{ ENOMEM, "fewer events: the kernel has no memory for so many" },
	{ ENOSPC, "fewer breakpoints: the CPU has no free debug register, x86 has four" },
	{ ENXIO, "again, when the device or CPU is online" },
	{ ESRCH, "again with a task that is alive: it has ended" },
	{ ENOSYS, "a kernel with CONFIG_PERF_EVENTS, or a container that permits perf_event_open" },
	{ EINTR, "again: a signal interrupted the opening" },
};

const char *perf_hint(int err, const struct event *ev, const struct plan *p, char *text, size_t size)
{
	int number = abs(err);

	switch (number) {
	case EACCES:
	case EPERM:
		return hint_permission(ev, p, text, size);
	case ENOENT:
	case ENODEV:
		return hint_absent(ev, p->root);
	case EBUSY:
		return perf_nmi_watchdog(p->root) ?
			       "sysctl kernel.nmi_watchdog=0, which frees a counter on each CPU" :
			       "stop what else holds the counter";
	case EINVAL:
	case EOPNOTSUPP:
		if (ev && ev->type == PERF_TYPE_BREAKPOINT)
			return "1, 2, 4 or 8 bytes, at an address that is a multiple of that";
		/* fallthrough */
	default:
		for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++)
			if (hints[i].number == number)
				return hints[i].hint;
		return NULL;
	}
}
