/* Growing arrays, and binary search in sorted ones. */
#pragma once

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/*
 * Makes room for one element after the first `n`. `array` is the address of the pointer, which comes from malloc() or
 * is NULL with n 0. Room grows in powers of two, so that n alone says when it is used up: grow the array in no other
 * way. 0, or -ENOMEM with the array unchanged.
 */
static inline int array_room(void *array, size_t n, size_t size)
{
	void *more;

	if (n & (n - 1) || (n && n < 8))
		return 0;
	memcpy(&more, array, sizeof(more));
	more = reallocarray(more, n ? 2 * n : 8, size);
	if (!more)
		return -ENOMEM;
	memcpy(array, &more, sizeof(more));
	return 0;
}

/*
 * Makes room for `n` elements. `*room` counts those that fit; new elements are 0. `array` is as above; grow it in no
 * other way. 0, or -ENOMEM with everything unchanged.
 */
static inline int array_hold(void *array, uint32_t *room, size_t n, size_t size)
{
	size_t wanted = n + n / 2 + 16;
	char *more;

	if (n <= *room)
		return 0;
	memcpy(&more, array, sizeof(more));
	more = wanted > UINT32_MAX ? NULL : reallocarray(more, wanted, size);
	if (!more)
		return -ENOMEM;
	memset(more + *room * size, 0, (wanted - *room) * size);
	memcpy(array, &more, sizeof(more));
	*room = (uint32_t)wanted;
	return 0;
}

/* For qsort(): the order of two things by a number, then by another. */
static inline int array_order(uint64_t a, uint64_t b, uint64_t then_a, uint64_t then_b)
{
	return a != b ? (a < b ? -1 : 1) : (then_a > then_b) - (then_a < then_b);
}

/*
 * The first of `n` places `at` for which `before`, an expression of `at`, is false; n if there is none. `before` must
 * be true for all places before it and false for all after it.
 */
#define ARRAY_PLACE(n, at, before) \
	({ \
		size_t low_ = 0, high_ = (n); \
		while (low_ < high_) { \
			size_t at = low_ + (high_ - low_) / 2; \
			if (before) \
				low_ = at + 1; \
			else \
				high_ = at; \
		} \
		low_; \
	})
