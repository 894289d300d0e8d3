/* Arrays that grow, and those in order. */
#ifndef COMMON_ARRAY_H
#define COMMON_ARRAY_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/*
 * Makes room for the element behind the `n` that there are. `array` is the address of the pointer, which is owned, by
 * malloc, or NULL with n 0. Room comes in powers of two, so that n tells when there is none left: an array that grows
 * so grows in no other way. 0, or -ENOMEM with the array as it was.
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
 * Makes room for `n` elements where `*room` says how many it is enough for; elements behind those are 0. `array` as above,
 * and grown in no other way. 0, or -ENOMEM with all as it was.
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

/*
 * The first of `n` places `at` for which `before`, an expression of `at`, is false; n: there is none. It has to be true
 * for all places before that and false for all behind.
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

#endif
