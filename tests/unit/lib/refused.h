/* Memory, reads, seeks and writes that fail on demand. Link with --wrap of the functions below. */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"

enum what { ALLOCATION, READ, SEEK, WRITE, WHATS };
static const int error_of[WHATS] = { ENOMEM, EIO, ESTALE, ENOSPC };

static struct {
	long left[WHATS]; /* until one fails; 0: none does */
	bool failed;
} world;

static bool refused(enum what w)
{
	bool now = world.left[w] && !--world.left[w];

	world.failed |= now;
	return now;
}

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__real_reallocarray(void *p, size_t n, size_t size);
char *__real_strdup(const char *s);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_reallocarray(void *p, size_t n, size_t size);
char *__wrap_strdup(const char *s);

void *__wrap_malloc(size_t n)
{
	return refused(ALLOCATION) ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return refused(ALLOCATION) ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
	return refused(ALLOCATION) ? NULL : __real_realloc(p, n);
}

void *__wrap_reallocarray(void *p, size_t n, size_t size)
{
	return refused(ALLOCATION) ? NULL : __real_reallocarray(p, n, size);
}

char *__wrap_strdup(const char *s)
{
	return refused(ALLOCATION) ? NULL : __real_strdup(s);
}

/* Appends to a struct buf; not every test that refuses memory writes. */
__attribute__((unused)) static int write_bytes(void *ctx, const void *data, size_t len)
{
	struct buf *b = ctx;

	if (refused(WRITE))
		return -error_of[WRITE];
	buf_add(b, data, len);
	return b->err;
}
