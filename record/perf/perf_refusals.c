/* What would cure an errno of perf_event_open(). */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/host/perf_open.h"
#include "record/host/privileges.h"
#include "record/plan/plan.h"

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

static struct pm_value permission(const struct event *ev, const struct plan *p)
{
	const struct record_options *o = p->options;
	int most = paranoid_for(ev, p);
	bool may = !p->root->emulated && (privileges_has("cap_perfmon") || privileges_has("cap_sys_admin"));
	bool tasks = o->target == TARGET_TASKS;
	const char *also;
	char paranoid[32];
	int err = root_line(p->root, paranoid, sizeof(paranoid), "/proc/sys/kernel/perf_event_paranoid");
	/* Above 2 it is open to CAP_SYS_ADMIN alone on kernels of Debian and Ubuntu; others know no such value. */
	bool above = !err && atoi(paranoid) > 2;

	/* The files of a tracepoint are for root and a group; their directory is, too. */
	if (ev && ev->missing && root_locked_down(p->root, true))
		return pm_remark(PM_REMEDY_LOCKDOWN);
	if (ev && ev->missing)
		return pm_remark(may || err || atoi(paranoid) <= most ? PM_REMEDY_TRACING :
									PM_REMEDY_TRACING_AND_PARANOID,
				 (unsigned)getgid());
	if (may && above && !privileges_has("cap_sys_admin"))
		return pm_remark(PM_REMEDY_PARANOID_ABOVE, paranoid);
	/* The right is there, so something else has said no. */
	if (may)
		return pm_remark(PM_REMEDY_PERFMON_CONTAINER);
	if (err)
		return pm_remark(PM_REMEDY_SETCAP);
	also = above ? " and sysctl kernel.perf_event_paranoid=2" : "";
	if (tasks && ((!o->perf.pids && !o->perf.tids) || is_foreign(p, o->perf.pids) || is_foreign(p, o->perf.tids)))
		return pm_remark(PM_REMEDY_SETCAP_TASKS, also);
	if (atoi(paranoid) <= most)
		return pm_remark(PM_REMEDY_NOT_PARANOID);
	return pm_remark(PM_REMEDY_PARANOID, also, most < 0 ? "-1" : most ? "1" : "0", paranoid);
}

/* A hardware event that is not there: machines without any core PMU are virtual ones. */
static unsigned absent(const struct event *ev, const struct root *root)
{
	static const char *const cores[] = { "cpu", "cpu_core", "cpum_cf" };

	if (ev && ev->missing)
		return PM_REMEDY_TRACEFS;
	if (ev && ev->type > PERF_TYPE_BREAKPOINT && ev->pmu_index == EVENT_NONE)
		return PM_REMEDY_PMU_TYPE;
	if (!ev || ev->uncore || ev->type == PERF_TYPE_SOFTWARE || ev->type == PERF_TYPE_TRACEPOINT)
		return PM_REMEDY_ANOTHER_EVENT;
	for (size_t i = 0; i < sizeof(cores) / sizeof(cores[0]); i++)
		if (root_exists(root, "/sys/bus/event_source/devices/%s", cores[i]))
			return PM_REMEDY_CPU_LACKS_EVENT;
	if (ev->core && ev->pmu_index == EVENT_NONE)
		return PM_REMEDY_GUEST_PMU;
	return PM_REMEDY_CPU_LACKS_EVENT;
}

/* Errors that have one cure wherever they come from. */
static const struct {
	int number;
	unsigned remedy;
} remedies[] = {
	{ EMFILE, PM_REMEDY_FEWER_EVENTS },     { ENFILE, PM_REMEDY_FEWER_FILES }, { EINVAL, PM_REMEDY_OTHER_TERMS },
	{ EOPNOTSUPP, PM_REMEDY_NO_MODIFIERS }, { E2BIG, PM_REMEDY_CONFIG3 },      { ENOMEM, PM_REMEDY_EVENT_MEMORY },
	{ ENOSPC, PM_REMEDY_BREAKPOINTS },      { ENXIO, PM_REMEDY_ONLINE },       { ESRCH, PM_REMEDY_ALIVE },
	{ ENOSYS, PM_REMEDY_PERF_EVENTS },      { EINTR, PM_REMEDY_INTERRUPTED },
};

struct pm_value perf_remedy(int err, const struct event *ev, const struct plan *p)
{
	int number = abs(err);

	switch (number) {
	case EACCES:
	case EPERM:
		return permission(ev, p);
	case ENOENT:
	case ENODEV:
		return pm_remark(absent(ev, p->root));
	case EBUSY:
		return pm_remark(perf_nmi_watchdog(p->root) ? PM_REMEDY_WATCHDOG : PM_REMEDY_HOLDER);
	case EINVAL:
	case EOPNOTSUPP:
		if (ev && ev->type == PERF_TYPE_BREAKPOINT)
			return pm_remark(PM_REMEDY_BREAKPOINT);
		/* fallthrough */
	default:
		for (size_t i = 0; i < sizeof(remedies) / sizeof(remedies[0]); i++)
			if (remedies[i].number == number)
				return pm_remark(remedies[i].remedy);
		return pm_remark(0);
	}
}
