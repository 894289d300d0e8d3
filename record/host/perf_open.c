#include "record/host/perf_open.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "format/model.h"
#include "record/host/opener.h"

/* Sizes of the structure in kernels so far: a kernel only requires that what is beyond its own is 0. */
enum { SIZE_CONFIG3 = 136, SIZE_CONFIG4 = 144, OFFSET_CONFIG3 = 128, OFFSET_CONFIG4 = 136 };
_Static_assert(sizeof(struct perf_event_attr) <= PERF_ATTR_BYTES, "perf_event_attr has outgrown its place");

void perf_attr_fill(union perf_attr *attr, const struct event *ev)
{
	struct perf_event_attr *a = &attr->a;

	memset(attr, 0, sizeof(*attr));
	a->size = sizeof(*a) < OFFSET_CONFIG3 ? sizeof(*a) : OFFSET_CONFIG3;
	a->type = ev->type;
	a->config = ev->config[0];
	a->config1 = ev->config[1];
	a->config2 = ev->config[2];
	if (ev->config[3] || ev->config[4]) {
		memcpy(attr->bytes + OFFSET_CONFIG3, &ev->config[3], 8);
		memcpy(attr->bytes + OFFSET_CONFIG4, &ev->config[4], 8);
		a->size = ev->config[4] ? SIZE_CONFIG4 : SIZE_CONFIG3;
	}
	a->bp_type = ev->bp_type;
	if (ev->mods & EVENT_MOD_RING) {
		a->exclude_user = !(ev->mods & EVENT_MOD_USER);
		a->exclude_kernel = !(ev->mods & EVENT_MOD_KERNEL);
		a->exclude_hv = !(ev->mods & EVENT_MOD_HV);
	}
	if (ev->mods & (EVENT_MOD_GUEST | EVENT_MOD_HOST)) {
		a->exclude_host = !(ev->mods & EVENT_MOD_HOST);
		a->exclude_guest = !(ev->mods & EVENT_MOD_GUEST);
	} else {
		/* Guests are machines of their own; PMUs that know no guests refuse the bit. */
		a->exclude_guest = ev->core;
	}
	a->exclude_idle = !!(ev->mods & EVENT_MOD_NO_IDLE);
	a->precise_ip = ev->mods & EVENT_MOD_MAX_PRECISE ? 3 : event_mods_precise(ev->mods);
	a->pinned = !!(ev->mods & EVENT_MOD_PINNED);
	a->exclusive = !!(ev->mods & EVENT_MOD_EXCLUSIVE);
	a->read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
}

int perf_open(const union perf_attr *attr, struct perf_place at, int group_fd)
{
	unsigned long flags = PERF_FLAG_FD_CLOEXEC | (at.cgroup < 0 ? 0 : PERF_FLAG_PID_CGROUP);
	unsigned tries = 0;
	long fd;

	/* Moving an uncore event to its CPU can be interrupted; one signal a second must not cost events. */
	do
		fd = syscall(SYS_perf_event_open, attr, at.cgroup < 0 ? at.pid : at.cgroup, at.cpu, group_fd, flags);
	while (fd < 0 && errno == EINTR && ++tries < 10);
	if (fd >= 0)
		return (int)fd;
	fd = -errno;
	if ((fd == -EACCES || fd == -EPERM) && opener_runs())
		fd = opener_perf(attr, sizeof(*attr), at.pid, at.cpu, group_fd, at.cgroup, flags);
	return (int)fd;
}

int perf_open_relaxed(union perf_attr *attr, struct perf_place at, int group_fd)
{
	struct perf_event_attr *a = &attr->a;
	union perf_attr asked = *attr;
	int fd = perf_open(attr, at, group_fd);

	if (fd != -EINVAL && fd != -EOPNOTSUPP)
		return fd;
	/* Precision concerns samples; some kernels refuse it for an event without sampling. */
	if (a->precise_ip) {
		a->precise_ip = 0;
		fd = perf_open(attr, at, group_fd);
	}
	if (fd < 0 && a->exclude_guest && !a->exclude_host) {
		a->exclude_guest = 0;
		fd = perf_open(attr, at, group_fd);
	}
	if (fd < 0)
		*attr = asked;
	return fd;
}

uint16_t perf_reason(int err)
{
	switch (err < 0 ? -err : err) {
	case EACCES:
	case EPERM:
		return PM_REASON_NO_PERMISSION;
	case ENOENT:
	case ENODEV:
	case ENXIO:
	case ENOSYS:
	case EOPNOTSUPP:
		return PM_REASON_NOT_SUPPORTED;
	default:
		return pm_reason_errno(err);
	}
}

bool perf_nmi_watchdog(const struct root *root)
{
	char line[32];

	return !root_line(root, line, sizeof(line), "/proc/sys/kernel/nmi_watchdog") && !strcmp(line, "1");
}

uint64_t perf_used_nofile(void)
{
	/* The lowest free descriptor: if those before it are in use, there are no gaps. */
	SCOPED(fd_close) int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);

	return fd < 0 ? 0 : (uint64_t)fd;
}

uint64_t perf_raise_nofile(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return UINT64_MAX;
	if (limit.rlim_cur < limit.rlim_max) {
		rlim_t old = limit.rlim_cur;

		limit.rlim_cur = limit.rlim_max;
		if (setrlimit(RLIMIT_NOFILE, &limit))
			return old;
	}
	return limit.rlim_cur;
}
