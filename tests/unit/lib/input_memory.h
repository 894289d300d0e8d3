/* A recording in memory as the input of a reader. */
#pragma once

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/reader.h"

struct memory {
	const uint8_t *data;
	size_t len, at;
};

static inline ssize_t memory_read(void *ctx, void *data, size_t len)
{
	struct memory *m = ctx;
	size_t n = len < m->len - m->at ? len : m->len - m->at;

	if (n)
		memcpy(data, m->data + m->at, n);
	m->at += n;
	return (ssize_t)n;
}

static inline int memory_seek(void *ctx, uint64_t offset)
{
	struct memory *m = ctx;

	m->at = offset < m->len ? (size_t)offset : m->len;
	return 0;
}

/* Borrows data. */
static inline int input_memory(struct pm_input *in, const void *data, size_t len)
{
	struct memory *m = malloc(sizeof(*m));

	*in = (struct pm_input){ .size = UINT64_MAX };
	if (!m)
		return -ENOMEM;
	*m = (struct memory){ .data = data, .len = len };
	*in = (struct pm_input){
		.ctx = m,
		.read = memory_read,
		.seek = memory_seek,
		.close = free,
		.size = len,
	};
	return 0;
}
