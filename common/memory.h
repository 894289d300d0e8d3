/*
 * Allocation that cannot fail: without memory the program ends, with one message. For what either program does before
 * anything could be lost, and for whatever reads recordings; planning while recording may end pmrec, too. The rest of
 * common/, what writes recordings and what samples use functions that return -ENOMEM.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/buf.h"

/* How the program ends: its exit status, and what follows "out of memory", for which there are 80 bytes; NULL:
 * nothing. Called once, at the start. */
void memory_ends_with(int status, const char *(*hint)(char hint[80]));
/* Ends it: "pmrec: out of memory", or what that errno means. */
_Noreturn void memory_ends(int err);
/* A text that the caller frees. */
char *memory_vformat(const char *format, va_list ap) __attribute__((format(printf, 1, 0)));
char *memory_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What is 0 or more; -errno ends the program. */
static inline int64_t memory_must(int64_t result)
{
	if (result < 0)
		memory_ends((int)-result);
	return result;
}

static inline void *memory_checked(void *p)
{
	if (!p)
		memory_ends(ENOMEM);
	return p;
}

/* For what is 0 or -ENOMEM and nothing else. */
static inline void memory_done(int err)
{
	memory_must(err);
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
	memory_must(text->err);
}

/* array_room() */
static inline void memory_room(void *array, size_t n, size_t size)
{
	memory_must(array_room(array, n, size));
}

/* array_hold() */
static inline void memory_hold(void *array, uint32_t *room, size_t n, size_t size)
{
	memory_must(array_hold(array, room, n, size));
}
