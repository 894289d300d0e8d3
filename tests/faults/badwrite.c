/*
 * Loaded before the C library: writes of a recording fail with EIO, or are logged with what was made to last.
 * BAD_FROM=MS, BAD_FOR=MS: fail that long, so long after the first of them. WRITE_LOG=FILE: each write (kind 1) and
 * fdatasync (kind 2) of the recording, as struct entry and what was written.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct entry {
	uint64_t monotonic_ns, kind, len;
};

static ssize_t (*real_write)(int fd, const void *data, size_t len);
static int (*real_fdatasync)(int fd);
static int recording = -1, log_fd = -1;
static uint64_t bad_from, bad_for, first_ns;

static uint64_t number_of(const char *name)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) * 1000000 : 0;
}

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("WRITE_LOG");

	real_write = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
	real_fdatasync = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
	bad_from = number_of("BAD_FROM");
	bad_for = number_of("BAD_FOR");
	if (path)
		log_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void note(uint64_t kind, const void *data, size_t len)
{
	struct entry e = { now(), kind, len };

	if (log_fd >= 0 &&
	    (real_write(log_fd, &e, sizeof(e)) != sizeof(e) || real_write(log_fd, data, len) != (ssize_t)len))
		abort();
}

ssize_t write(int fd, const void *data, size_t len)
{
	ssize_t n;

	if (recording < 0 && len > 64 && memmem(data, 16, "PMR\r\n\x1a\n", 7)) {
		recording = fd;
		first_ns = now();
	}
	if (fd == recording && bad_for && now() - first_ns - bad_from < bad_for) {
		errno = EIO;
		return -1;
	}
	n = real_write(fd, data, len);
	if (fd == recording && n > 0)
		note(1, data, (size_t)n);
	return n;
}

int fdatasync(int fd)
{
	int err = real_fdatasync(fd);

	if (fd == recording && !err)
		note(2, "", 0);
	return err;
}
