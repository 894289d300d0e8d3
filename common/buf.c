#include "common/buf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buf_release(struct buf *b)
{
	free(b->data);
	*b = BUF_INIT;
}

void buf_clear(struct buf *b)
{
	b->len = 0;
	b->err = 0;
}

int buf_reserve(struct buf *b, size_t extra)
{
	size_t cap;
	void *data;

	if (b->err)
		return b->err;
	if (extra <= b->cap - b->len)
		return 0;
	if (extra > SIZE_MAX / 2 - b->len)
		return b->err = -ENOMEM;
	cap = b->cap ? b->cap : 64;
	while (cap < b->len + extra)
		cap += cap / 2 + 64;
	data = realloc(b->data, cap);
	if (!data)
		return b->err = -ENOMEM;
	b->data = data;
	b->cap = cap;
	return 0;
}

void buf_add(struct buf *b, const void *data, size_t len)
{
	if (!len || ((b->err || len > b->cap - b->len) && buf_reserve(b, len)))
		return;
	memcpy(b->data + b->len, data, len);
	b->len += len;
}

void buf_addstr(struct buf *b, const char *text)
{
	buf_add(b, text, strlen(text));
}

void buf_addch(struct buf *b, char c)
{
	if ((b->err || b->len == b->cap) && buf_reserve(b, 1))
		return;
	b->data[b->len++] = (uint8_t)c;
}

void buf_vprintf(struct buf *b, const char *format, va_list ap)
{
	va_list again;
	int n;

	if (buf_reserve(b, 64))
		return;
	va_copy(again, ap);
	n = vsnprintf((char *)b->data + b->len, b->cap - b->len, format, ap);
	if (n < 0)
		b->err = -ENOMEM;
	else if ((size_t)n >= b->cap - b->len && !buf_reserve(b, (size_t)n + 1))
		vsnprintf((char *)b->data + b->len, b->cap - b->len, format, again);
	va_end(again);
	if (!b->err)
		b->len += (size_t)n;
}

void buf_printf(struct buf *b, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	buf_vprintf(b, format, ap);
	va_end(ap);
}

void buf_bytes(struct buf *b, uint64_t bytes)
{
	static const char *const unit[] = { "B", "kB", "MB", "GB", "TB", "PB", "EB" };
	double value = (double)bytes;
	unsigned i = 0;

	for (; value >= 999.5 && i < 6; i++)
		value /= 1000;
	buf_printf(b, "%.*f %s", i && value < 99.95 ? 1 : 0, value, unit[i]);
}

const char *buf_str(struct buf *b)
{
	if (!b->len || buf_reserve(b, 1))
		return "";
	b->data[b->len] = '\0';
	return (const char *)b->data;
}

char *buf_detach(struct buf *b)
{
	char *text = NULL;

	if (!buf_reserve(b, 1)) {
		b->data[b->len] = '\0';
		text = (char *)b->data;
		*b = BUF_INIT;
	}
	buf_release(b);
	return text;
}
