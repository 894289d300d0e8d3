/* LD_PRELOAD, the other half of fakepmu.c: names of files below /sys and /proc lead to those of the machine in $FAKE_PMU, and
 * moving to a CPU that this machine lacks succeeds. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static const char *const theirs[] = {
	"/sys/bus/event_source",         "/sys/devices",  "/sys/kernel/cpu",
	"/sys/firmware/acpi/tables",     "/proc/cpuinfo", "/proc/sys/kernel/perf_event_paranoid",
	"/proc/sys/kernel/nmi_watchdog", "/dev/cpu/",     "/sys/class/powercap"
};

struct name {
	char path[4096];
};

static const char *moved(const char *path, struct name *n)
{
	const char *folder = getenv("FAKE_PMU");

	for (size_t i = 0; folder && path && i < sizeof(theirs) / sizeof(theirs[0]); i++)
		if (!strncmp(path, theirs[i], strlen(theirs[i]))) {
			snprintf(n->path, sizeof(n->path), "%s%s", folder, path);
			return n->path;
		}
	return path;
}

#define NEXT(function) ((__typeof__(&function))dlsym(RTLD_NEXT, #function))

#define OPEN(function) \
	EXPORT int function(const char *path, int flags, ...) \
	{ \
		struct name n; \
		va_list ap; \
		mode_t mode; \
		va_start(ap, flags); \
		mode = va_arg(ap, mode_t); \
		va_end(ap); \
		return NEXT(function)(moved(path, &n), flags, mode); \
	}
OPEN(open)
OPEN(open64)

EXPORT int __open64_2(const char *path, int flags)
{
	return open64(path, flags);
}

#define OPENAT(function) \
	EXPORT int function(int at, const char *path, int flags, ...) \
	{ \
		struct name n; \
		va_list ap; \
		mode_t mode; \
		va_start(ap, flags); \
		mode = va_arg(ap, mode_t); \
		va_end(ap); \
		return NEXT(function)(at, moved(path, &n), flags, mode); \
	}
OPENAT(openat)
OPENAT(openat64)

#define WITH_PATH(type, function, parameters, arguments) \
	EXPORT type function parameters \
	{ \
		struct name n; \
		path = moved(path, &n); \
		return NEXT(function) arguments; \
	}
WITH_PATH(FILE *, fopen, (const char *path, const char *mode), (path, mode))
WITH_PATH(FILE *, fopen64, (const char *path, const char *mode), (path, mode))
WITH_PATH(DIR *, opendir, (const char *path), (path))
WITH_PATH(int, access, (const char *path, int mode), (path, mode))
WITH_PATH(int, faccessat, (int at, const char *path, int mode, int flags), (at, path, mode, flags))
WITH_PATH(int, stat, (const char *restrict path, struct stat *restrict s), (path, s))
WITH_PATH(int, stat64, (const char *restrict path, struct stat64 *restrict s), (path, s))
WITH_PATH(int, lstat, (const char *restrict path, struct stat *restrict s), (path, s))
WITH_PATH(int, lstat64, (const char *restrict path, struct stat64 *restrict s), (path, s))
WITH_PATH(ssize_t, readlink, (const char *restrict path, char *restrict to, size_t size), (path, to, size))
WITH_PATH(char *, realpath, (const char *restrict path, char *restrict to), (path, to))
WITH_PATH(int, scandir,
	  (const char *restrict path, struct dirent ***restrict list, int (*filter)(const struct dirent *),
	   int (*compare)(const struct dirent **, const struct dirent **)),
	  (path, list, filter, compare))
WITH_PATH(int, scandir64,
	  (const char *restrict path, struct dirent64 ***restrict list, int (*filter)(const struct dirent64 *),
	   int (*compare)(const struct dirent64 **, const struct dirent64 **)),
	  (path, list, filter, compare))

EXPORT int sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set)
{
	int result = NEXT(sched_setaffinity)(pid, size, set);

	return result && errno == EINVAL && getenv("FAKE_PMU") ? 0 : result;
}
