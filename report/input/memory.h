/*
 * Allocation that cannot fail: without memory the program ends, with one message. For what has printed nothing yet
 * and so has nothing to undo.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/buf.h"
#include "report/exit.h"

_Noreturn static inline void memory_ends(void)
{
	fputs("pmrep: out of memory\n", stderr);
	exit(EXIT_TROUBLE);
}

static inline void *memory_checked(void *p)
{
	if (!p)
		memory_ends();
	return p;
}

/* Zeroed, and never NULL, not even for no elements. */
static inline void *memory_new(size_t n, size_t size)
{
	return memory_checked(calloc(n + 1, size));
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
	if (array_room(array, n, size))
		memory_ends();
}
