/*
 * A growable byte buffer that carries its error.
 *
 * Every buf_add*() is a no-op once the buffer has failed, so a caller may check buf.err once, at the end. A failed
 * buffer keeps what it held before the failing call.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Before a declaration with an initializer: release(&variable) on every way out of its block. */
#define SCOPED(release) __attribute__((cleanup(release), unused))

/* For SCOPED: frees what a pointer of any type points to. */
static inline void scoped_free(void *pointer)
{
	void *p;

	memcpy(&p, pointer, sizeof(p));
	free(p);
}

/* Closes a descriptor, which is -1 then; below 0 there is none. */
static inline void fd_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

struct buf {
	uint8_t *data; /* owned; NULL until the first byte */
	size_t len;    /* bytes in use */
	size_t cap;    /* bytes allocated */
	int err;       /* 0, or the first error (-ENOMEM) */
};

#define BUF_INIT ((struct buf){ 0 })

/* Frees the contents and resets the struct to BUF_INIT. */
void buf_release(struct buf *b);
/* Drops contents and error, and keeps the memory. */
void buf_clear(struct buf *b);
/* Makes room for `extra` more bytes. 0, or -ENOMEM, which the buffer keeps. */
int buf_reserve(struct buf *b, size_t extra);

/* Append. */
void buf_add(struct buf *b, const void *data, size_t len);
void buf_addstr(struct buf *b, const char *text);
void buf_addch(struct buf *b, char c);
void buf_printf(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buf_vprintf(struct buf *b, const char *format, va_list ap);

/* Appends "1.2 MB", in powers of 1000. */
void buf_bytes(struct buf *b, uint64_t bytes);

/* Fails the whole if the part has failed. */
static inline void buf_carry(struct buf *whole, const struct buf *part)
{
	if (part->err && !whole->err)
		whole->err = part->err;
}

/* The contents as a C string, valid until the next change; "" for an empty or failed buffer. */
const char *buf_str(struct buf *b);
/* Hands over the contents as a C string, to be freed; NULL if the buffer has failed. */
char *buf_detach(struct buf *b);
