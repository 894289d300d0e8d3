/*
 * Files of the machine under a root that can be moved (--root): all of /sys, /proc and /dev is opened here. Paths are
 * given without the root, such as "/sys/devices/system/cpu/online".
 */
#pragma once

#include <stdatomic.h>
#include <sys/types.h>

#include "common/cpulist.h"

struct root {
	char *prefix;  /* owned; "" for the machine itself, else no slash at the end */
	bool emulated; /* prefix is not "" */
	bool whole;    /* files show more to those with rights, so the opener opens them first */
	bool named;    /* the caller names files: opened with the caller's rights, and never blocking */
	int dir;       /* emulated: the prefix, or -errno */
	bool raised;   /* emulated: the caller's rights were given to this thread */
	/* Owned, or NULL: -EMFILE, -ENFILE or -ENOMEM once that has kept a file shut, whatever the caller made of it.
	 * Who cares sets it to 0 before. */
	atomic_int *shortage;
};

/* NULL, "" or "/": the machine itself. Any other root is the caller's; this thread has the caller's rights until
 * root_release(). */
void root_init(struct root *r, const char *dir);
void root_release(struct root *r);

/* Open for reading. A descriptor or -errno. */
int root_open(const struct root *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Opens for writing, without truncating; for a setting that is restored later. */
int root_open_write(const struct root *r, const char *path);
/* The whole file, at most `max` bytes; replaces *out. Length or -errno (-EFBIG beyond max). */
ssize_t root_read(const struct root *r, struct buf *out, size_t max, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* One line without its newline and blanks at the end, cut to the array. 0 or -errno. */
int root_line(const struct root *r, char *line, size_t size, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* A file with one number, and one with a list like "0-3,8". 0 or -errno. */
int root_u64(const struct root *r, uint64_t *value, const char *format, ...) __attribute__((format(printf, 3, 4)));
int root_cpulist(const struct root *r, struct cpulist *list, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The CPUs that are online: as /proc/stat has them in a sandbox without ROOT_ONLINE, else those that this process may
 * use. 0 or -errno. */
#define ROOT_ONLINE "/sys/devices/system/cpu/online"
int root_online(const struct root *r, struct cpulist *list);
/* Whether the name exists. */
bool root_exists(const struct root *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Whether the kernel is locked down, at least as far as "confidentiality" if `secret`; false if it does not tell. */
bool root_locked_down(const struct root *r, bool secret);
/* The names in a directory, with numbers in numerical order. Their number or -errno; root_list_free() in any case. */
int root_list(const struct root *r, char ***names, const char *format, ...) __attribute__((format(printf, 3, 4)));
void root_list_free(char ***names);
/* Target of a symbolic link, without directories before the last part. 0 or -errno. */
int root_link_name(const struct root *r, char *name, size_t size, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Mounts, from /proc/mounts. */
struct mount {
	const char *what, *where, *type, *options; /* valid until the next one */
};

/* Reads the table into *text, which the caller frees. The length or -errno. */
ssize_t mounts_read(const struct root *r, struct buf *text);
/* The next mount of the text, which is modified; start with *at NULL. False after the last. */
bool mounts_next(struct buf *text, char **at, struct mount *m);
