#include "record/host/root.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/memory.h"
#include "common/parse.h"
#include "record/host/opener.h"
#include "record/host/privileges.h"

ssize_t mounts_read(const struct root *r, struct buf *text)
{
	return root_read(r, text, 1 << 20, "/proc/mounts");
}

/* Decodes "\040" and the like, by which /proc/mounts writes blanks. */
static void unescape(char *text)
{
	char *to = text;

	for (const char *at = text; *at; to++) {
		if (at[0] == '\\' && at[1] >= '0' && at[1] <= '3' && at[2] && at[3]) {
			*to = (char)((at[1] - '0') << 6 | (at[2] - '0') << 3 | (at[3] - '0'));
			at += 4;
		} else {
			*to = *at++;
		}
	}
	*to = '\0';
}

bool mounts_next(struct buf *text, char **at, struct mount *m)
{
	char *line;

	while ((line = strtok_r(*at ? NULL : (char *)buf_str(text), "\n", at))) {
		const char **const word[] = { &m->what, &m->where, &m->type, &m->options };
		char *save = NULL;
		size_t n = 0;

		while (n < 4 && (*word[n] = strtok_r(n ? NULL : line, " ", &save)))
			unescape((char *)*word[n++]);
		if (n == 4)
			return true;
	}
	return false;
}

/* Every number, and a comma behind each. */
#define CPULIST_TEXT_MAX (6 * (CPULIST_MAX + 1))
#define STAT_TEXT_MAX    (16u << 20)

void root_init(struct root *r, const char *dir)
{
	size_t len = dir ? strlen(dir) : 0;

	*r = (struct root){ 0 };
	while (len > 0 && dir[len - 1] == '/')
		len--;
	r->emulated = len > 0;
	r->prefix = memory_checked(strndup(len ? dir : "", len));
	r->shortage = memory_new(1, sizeof(*r->shortage));
	if (!r->emulated)
		return;
	r->raised = privileges_become_caller();
	r->dir = open(r->prefix, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (r->dir < 0)
		r->dir = -errno;
}

void root_release(struct root *r)
{
	if (r->emulated && r->dir >= 0)
		close(r->dir);
	privileges_become_self(r->raised);
	free(r->prefix);
	free(r->shortage);
	*r = (struct root){ 0 };
}

/* Below a moved root, links are resolved as if it were "/": an absolute link or a chain of ".." in a copied tree must
 * not lead to the recording machine. Kernels before 5.6 cannot do that; there the path is opened as it is. */
static int open_beneath(const struct root *r, const char *path, int flags)
{
	struct open_how how = { .flags = (uint64_t)flags, .resolve = RESOLVE_IN_ROOT };
	char full[PATH_MAX];
	long fd;

	if (r->dir < 0)
		return r->dir;
	fd = syscall(SYS_openat2, r->dir, path[0] == '/' ? path + 1 : path, &how, sizeof(how));
	if (fd >= 0 || errno != ENOSYS)
		return fd < 0 ? -errno : (int)fd;
	if (snprintf(full, sizeof(full), "%s%s", r->prefix, path) >= (int)sizeof(full))
		return -ENAMETOOLONG;
	fd = open(full, flags);
	return fd < 0 ? -errno : (int)fd;
}

/* open() would block on a pipe without a writer, and read() on a terminal. */
static int open_named(const struct root *r, const char *path, int flags)
{
	bool changed = !r->emulated && privileges_become_caller();
	struct stat st;
	int fd;

	flags |= O_CLOEXEC | (flags & O_PATH ? 0 : O_NONBLOCK | O_NOCTTY);
	if (r->emulated) {
		fd = open_beneath(r, path, flags);
	} else {
		fd = open(path, flags);
		fd = fd < 0 ? -errno : fd;
	}
	privileges_become_self(changed);
	if (fd < 0 || flags & O_PATH || (!fstat(fd, &st) && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))))
		return fd;
	close(fd);
	return -EINVAL;
}

static int open_path(const struct root *r, const char *path, int flags)
{
	int fd;

	if (r->emulated || r->named)
		return open_named(r, path, flags);
	fd = r->whole ? opener_open(path, flags) : -EPERM;
	if (fd >= 0)
		return fd;
	fd = open(path, flags | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	fd = -errno;
	if (fd == -EACCES || fd == -EPERM) {
		int other = opener_open(path, flags);

		/* Why the kernel refused an unknown flag does not matter. */
		if (other >= 0 || (other != -EACCES && other != -EPERM))
			fd = other;
	}
	return fd;
}

static int vopen(const struct root *r, int flags, const char *format, va_list ap)
{
	char path[PATH_MAX];
	int n = vsnprintf(path, sizeof(path), format, ap), fd;

	if (n < 0)
		return -EINVAL;
	if (n >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = open_path(r, path, flags);
	if (r->shortage && (fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM))
		*r->shortage = fd;
	return fd;
}

/* Opens the path that `format` and the arguments behind it make. */
#define OPEN(fd, r, flags, format) \
	do { \
		va_list ap; \
		va_start(ap, format); \
		(fd) = vopen(r, flags, format, ap); \
		va_end(ap); \
	} while (0)

int root_open(const struct root *r, const char *format, ...)
{
	int fd;

	OPEN(fd, r, O_RDONLY, format);
	return fd;
}

int root_open_write(const struct root *r, const char *path)
{
	return open_path(r, path, O_WRONLY);
}

/* The whole of a file that was opened, or could not be. */
static ssize_t read_all(int fd, struct buf *out, size_t max)
{
	char part[4096];
	ssize_t n;

	buf_clear(out);
	if (fd < 0)
		return fd;
	for (;;) {
		n = read(fd, part, sizeof(part));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		if ((size_t)n > max - out->len)
			return -EFBIG;
		buf_add(out, part, (size_t)n);
	}
	memory_whole(out);
	return n < 0 ? -errno : (ssize_t)out->len;
}

ssize_t root_read(const struct root *r, struct buf *out, size_t max, const char *format, ...)
{
	SCOPED(fd_close) int fd = -1;

	OPEN(fd, r, O_RDONLY, format);
	return read_all(fd, out, max);
}

/* Its first line. */
static int read_line(int fd, char *line, size_t size)
{
	size_t len;
	ssize_t n;

	line[0] = '\0';
	if (fd < 0)
		return fd;
	do {
		n = read(fd, line, size - 1);
	} while (n < 0 && errno == EINTR);
	line[n > 0 ? n : 0] = '\0';
	if (n < 0)
		return -errno;
	len = strcspn(line, "\n");
	while (len > 0 && isspace((unsigned char)line[len - 1]))
		len--;
	line[len] = '\0';
	return 0;
}

int root_line(const struct root *r, char *line, size_t size, const char *format, ...)
{
	SCOPED(fd_close) int fd = -1;

	OPEN(fd, r, O_RDONLY, format);
	return read_line(fd, line, size);
}

int root_u64(const struct root *r, uint64_t *value, const char *format, ...)
{
	SCOPED(fd_close) int fd = -1;
	char line[32];
	int err;

	OPEN(fd, r, O_RDONLY, format);
	err = read_line(fd, line, sizeof(line));
	return err ? err : parse_u64(line, value);
}

int root_cpulist(const struct root *r, struct cpulist *list, const char *format, ...)
{
	SCOPED(buf_release) struct buf text = BUF_INIT;
	SCOPED(fd_close) int fd = -1;
	ssize_t n;

	OPEN(fd, r, O_RDONLY, format);
	n = read_all(fd, &text, CPULIST_TEXT_MAX);
	return n < 0 ? (int)n : cpulist_parse(list, buf_str(&text), false, NULL);
}

static int stat_cpus(const struct root *r, struct cpulist *list)
{
	SCOPED(buf_release) struct buf text = BUF_INIT;
	ssize_t n = root_read(r, &text, STAT_TEXT_MAX, "/proc/stat");
	int err = n < 0 ? (int)n : 0;
	unsigned cpu;

	for (const char *p = n > 0 ? buf_str(&text) : NULL; p && !err; p = strchr(p, '\n')) {
		p += *p == '\n';
		if (!strncmp(p, "cpu", 3) && isdigit((unsigned char)p[3]) && sscanf(p + 3, "%u", &cpu) == 1)
			err = cpulist_add(list, cpu);
	}
	return err;
}

int root_online(const struct root *r, struct cpulist *list)
{
	int err = root_cpulist(r, list, ROOT_ONLINE);
	cpu_set_t own;

	if (!err || r->named)
		return err;
	cpulist_release(list);
	if (!stat_cpus(r, list) && list->n)
		return 0;
	if (r->emulated || sched_getaffinity(0, sizeof(own), &own))
		return err;
	for (uint32_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &own))
			memory_must(cpulist_add(list, cpu));
	return 0;
}

bool root_exists(const struct root *r, const char *format, ...)
{
	SCOPED(fd_close) int fd = -1;

	OPEN(fd, r, O_PATH, format);
	return fd >= 0;
}

bool root_locked_down(const struct root *r, bool secret)
{
	char line[64];

	/* "none [integrity] confidentiality" */
	return !root_line(r, line, sizeof(line), "/sys/kernel/security/lockdown") &&
	       (strstr(line, "[confidentiality]") || (!secret && strstr(line, "[integrity]")));
}

static int by_version(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

static int list_names(DIR *dir, char ***names)
{
	const struct dirent *d;
	uint32_t room = 0;
	int n = 0;

	for (errno = 0; (d = readdir(dir)); errno = 0) {
		if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, ".."))
			continue;
		memory_hold(names, &room, (size_t)n + 2, sizeof(**names));
		(*names)[n++] = memory_text(d->d_name);
	}
	if (errno)
		return -errno;
	if (n)
		qsort(*names, (size_t)n, sizeof(**names), by_version);
	return n;
}

int root_list(const struct root *r, char ***names, const char *format, ...)
{
	DIR *dir;
	int fd, n;

	*names = NULL;
	OPEN(fd, r, O_RDONLY | O_DIRECTORY, format);
	if (fd < 0)
		return fd;
	dir = fdopendir(fd);
	if (!dir) {
		n = -errno;
		close(fd);
		return n;
	}
	n = list_names(dir, names);
	closedir(dir);
	return n;
}

void root_list_free(char ***names)
{
	for (char **name = *names; name && *name; name++)
		free(*name);
	free(*names);
	*names = NULL;
}

int root_link_name(const struct root *r, char *name, size_t size, const char *format, ...)
{
	char target[PATH_MAX], *last;
	SCOPED(fd_close) int fd = -1;
	ssize_t n;

	OPEN(fd, r, O_PATH | O_NOFOLLOW, format);
	if (fd < 0)
		return fd;
	n = readlinkat(fd, "", target, sizeof(target) - 1);
	if (n < 0)
		return errno == ENOENT ? -EINVAL : -errno; /* the error for a file that is not a link */
	target[n] = '\0';
	last = strrchr(target, '/');
	last = last ? last + 1 : target;
	if (strlen(last) >= size)
		return -ENAMETOOLONG;
	strcpy(name, last);
	return 0;
}
