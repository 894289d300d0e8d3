/*
 * Memory: for planning, allocation that cannot fail, because pmrec ends before there is anything to be lost; and of a
 * process that goes on for long.
 */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"

/* Ends pmrec: "pmrec: out of memory", or what that errno means; exit status 125. Not once it samples. */
_Noreturn void memory_ends(int err);

/* What is 0 or more; -errno ends pmrec. */
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

/* Zeroed, and never NULL, not even for no elements. */
static inline void *memory_new(size_t n, size_t size)
{
	return memory_checked(calloc(n ? n : 1, size));
}

static inline char *memory_text(const char *text)
{
	return memory_checked(strdup(text));
}

/* array_room() */
static inline void memory_room(void *array, size_t n, size_t size)
{
	memory_must(array_room(array, n, size));
}

/* Gives back what only starting needed: freed memory, and pages of the program and its libraries as they are in their
 * files; those that are used again come back. A debugger's breakpoints in them do not. */
void memory_give_back(void);
