/*
 * Allocation that cannot fail: without memory pmrep ends, with one message and EXIT_TROUBLE. Files that were not
 * complete are removed (outfile.h), and a pager shows what was printed.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/buf.h"

/* Says so, and the limit of --max-memory if there is one. */
_Noreturn void memory_ends(void);
/* What follows "out of memory" where a limit is the cause; "" without one. `hint` has room for 80 bytes. */
const char *memory_hint(char hint[80]);
/* A text that the caller frees. */
char *memory_vformat(const char *format, va_list ap) __attribute__((format(printf, 1, 0)));
char *memory_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

static inline void *memory_checked(void *p)
{
	if (!p)
		memory_ends();
	return p;
}

/* For what is 0 or -ENOMEM and nothing else. */
static inline void memory_done(int err)
{
	if (err)
		memory_ends();
}

/* Zeroed, and never NULL, not even for no elements. */
static inline void *memory_new(size_t n, size_t size)
{
	return memory_checked(calloc(n ? n : 1, size));
}

/* As reallocarray(); never NULL, not even for no elements. */
static inline void *memory_resize(void *p, size_t n, size_t size)
{
	return memory_checked(reallocarray(p, n ? n : 1, size));
}

static inline void *memory_copy(const void *p, size_t n, size_t size)
{
	void *copy = memory_new(n, size);

	if (n)
		memcpy(copy, p, n * size);
	return copy;
}

static inline char *memory_text(const char *text)
{
	return memory_checked(strdup(text));
}

/* A text that was combined is whole. */
static inline void memory_whole(const struct buf *text)
{
	if (text->err)
		memory_ends();
}

/* array_room() */
static inline void memory_room(void *array, size_t n, size_t size)
{
	memory_done(array_room(array, n, size));
}

/* array_hold() */
static inline void memory_hold(void *array, uint32_t *room, size_t n, size_t size)
{
	memory_done(array_hold(array, room, n, size));
}
