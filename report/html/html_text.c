#include "report/html/html_text.h"

#include <string.h>

/* ---- text ---- */

void html_put_texts(struct buf *out, const char *markup, const char *const *text)
{
	for (const char *hole; (hole = strstr(markup, "{}")); markup = hole + 2) {
		buf_add(out, markup, (size_t)(hole - markup));
		text_markup(out, *text++);
	}
	buf_addstr(out, markup);
}

/* In JSON these characters occur only in strings, so they may be escaped wherever they are. */
static void add_safe(struct buf *out, const struct buf *json)
{
	size_t from = 0;

	for (size_t i = 0; i < json->len; i++) {
		const uint8_t *p = json->data + i;
		bool line = *p == 0xe2 && i + 2 < json->len && p[1] == 0x80 && (p[2] == 0xa8 || p[2] == 0xa9);

		if (!line && *p != '<' && *p != '>' && *p != '&')
			continue;
		buf_add(out, json->data + from, i - from);
		buf_printf(out, "\\u%04x", line ? 0x2000u + (p[2] - 0x80u) : *p);
		i += line ? 2 : 0;
		from = i + 1;
	}
	buf_add(out, json->data + from, json->len - from);
	buf_carry(out, json);
}

void html_json_text(struct buf *out, const char *text)
{
	SCOPED(buf_release) struct buf plain = BUF_INIT;

	json_quote(&plain, text, strlen(text));
	add_safe(out, &plain);
}

/* ---- of what may be long ---- */

static void put_cut(struct buf *out, const char *text, size_t most, void (*put)(struct buf *out, const char *text))
{
	SCOPED(buf_release) struct buf head = BUF_INIT;
	size_t len = strnlen(text, most + 1);

	if (len <= most) {
		put(out, text);
		return;
	}
	/* Never within a character. */
	for (len = most; len && ((unsigned char)text[len] & 0xc0) == 0x80;)
		len--;
	buf_add(&head, text, len);
	buf_addstr(&head, "\xe2\x80\xa6");
	put(out, buf_str(&head));
	buf_carry(out, &head);
}

void html_text_cut(struct buf *out, const char *text, size_t most)
{
	put_cut(out, text, most, text_markup);
}

void html_json_text_cut(struct buf *out, const char *text, size_t most)
{
	put_cut(out, text, most, html_json_text);
}

/* ---- base64 ---- */

void html_base64(struct buf *out, const void *data, size_t len)
{
	static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t room = (size_t)html_base64_length(len);
	const uint8_t *p = data;
	char *to;

	if (!len || buf_reserve(out, room))
		return;
	to = (char *)out->data + out->len;
	for (; len >= 3; len -= 3, p += 3) {
		*to++ = digit[p[0] >> 2];
		*to++ = digit[(p[0] << 4 | p[1] >> 4) & 63];
		*to++ = digit[(p[1] << 2 | p[2] >> 6) & 63];
		*to++ = digit[p[2] & 63];
	}
	if (len) {
		*to++ = digit[p[0] >> 2];
		*to++ = digit[(p[0] << 4 | (len > 1 ? p[1] >> 4 : 0)) & 63];
		*to++ = len > 1 ? digit[p[1] << 2 & 63] : '=';
		*to++ = '=';
	}
	out->len += room;
}
