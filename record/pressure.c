#include "record/pressure.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/parse.h"

/* What the kernel takes. */
#define WINDOW_MIN_US 500000
#define WINDOW_MAX_US 10000000

static int parse_us(const char *text, uint64_t *us)
{
	uint64_t ns;
	int err = parse_duration(text, &ns);

	*us = err ? 0 : ns / 1000;
	return err;
}

int pressure_parse(struct pressure *p, const char *text, struct error *e)
{
	char resource[8], extent[8], stall[16], window[16];
	int used = 0;

	*p = (struct pressure){ 0 };
	if (sscanf(text, "psi:%7[a-z]:%7[a-z]:%15[0-9.a-z]/%15[0-9.a-z]%n", resource, extent, stall, window, &used) !=
		    4 ||
	    text[used] || (strcmp(extent, "some") && strcmp(extent, "full")) || parse_us(stall, &p->stall_us) ||
	    parse_us(window, &p->window_us))
		return error_set(e, EINVAL,
				 "'%s' is not psi:memory|io|cpu:some|full:STALL/WINDOW, as in "
				 "psi:memory:some:150ms/2s",
				 text);
	if (p->window_us < WINDOW_MIN_US || p->window_us > WINDOW_MAX_US || !p->stall_us ||
	    p->stall_us > p->window_us)
		return error_set(e, EINVAL, "'%s': the window must be 0.5 to 10 s long, and the stall shorter", text);
	strcpy(p->resource, resource);
	p->full = !strcmp(extent, "full");
	return 0;
}

int pressure_open(const struct pressure *p, struct error *e)
{
	char path[32], rule[64];
	int fd, len, err;

	snprintf(path, sizeof(path), "/proc/pressure/%s", p->resource);
	len = snprintf(rule, sizeof(rule), "%s %llu %llu", p->full ? "full" : "some", (unsigned long long)p->stall_us,
		       (unsigned long long)p->window_us);
	fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	/* The kernel expects the text with its terminating 0. */
	if (fd >= 0 && write(fd, rule, (size_t)len + 1) > 0)
		return fd;
	err = errno;
	if (fd >= 0)
		close(fd);
	if (err == EPERM || err == EACCES || err == EINVAL)
		return error_set(e, err,
				 "%s: '%s' is refused; without CAP_SYS_RESOURCE, the window must be 2, 4, 6, 8 or 10 "
				 "s, on Linux 6.5 or later",
				 path, rule);
	return err == ENOENT || err == EOPNOTSUPP ?
		       error_set(e, err, "this kernel does not monitor %s pressure", p->resource) :
		       error_sys(e, err, "%s", path);
}
