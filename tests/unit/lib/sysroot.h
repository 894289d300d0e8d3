/* Copies of machines for tests: a temporary tree made by tests/sysroots/make, and files in it that a test changes. */
#pragma once

#include <assert.h>
#include <dirent.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Fills `dir` with the name of a new tree; kind NULL: an empty one. */
static inline void sysroot_make(char dir[static 32], const char *kind)
{
	char command[PATH_MAX + 64];

	/* In memory if possible: ext4 searches long for an inode where thousands were freed in the last seconds. */
	strcpy(dir, access("/dev/shm", W_OK) ? "/tmp/pm-sysroot-XXXXXX" : "/dev/shm/pm-sysroot-XXXXXX");
	if (!mkdtemp(dir))
		abort();
	if (!kind)
		return;
	snprintf(command, sizeof(command), "'%s' %s %s", PM_SYSROOTS, kind, dir);
	if (system(command))
		abort();
}

static inline void sysroot_remove(const char *dir)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", dir);
	if (system(command))
		abort();
}

/* Replaces a file's contents and keeps the file, as the kernel does; folders are made. */
static inline void __attribute__((format(printf, 3, 4)))
sysroot_put(const char *dir, const char *path, const char *format, ...)
{
	char full[PATH_MAX];
	va_list ap;
	FILE *f;

	snprintf(full, sizeof(full), "%s%s", dir, path);
	for (char *slash = full + strlen(dir) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(full, 0777);
		*slash = '/';
	}
	f = fopen(full, "w");
	if (!f)
		abort();
	va_start(ap, format);
	vfprintf(f, format, ap);
	va_end(ap);
	if (fclose(f))
		abort();
}

/* How many descriptors this process has; to be compared. */
static inline unsigned open_files(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}
