#include "common/table.h"
#include "common/utf8.h"
#include "report/html/html_text.h"

#include <stdbool.h>
#include <string.h>

/* ---- text ---- */

void html_text(struct buf *out, const char *text)
{
	static const char *const entity[128] = {
		['<'] = "&lt;", ['>'] = "&gt;", ['&'] = "&amp;", ['"'] = "&quot;", ['\''] = "&#39;",
	};
	size_t len = strlen(text);
	uint32_t c;

	for (size_t i = 0, n; i < len; i += n) {
		n = utf8_decode(text + i, len - i, &c);
		if (!n) {
			buf_addstr(out, "\xef\xbf\xbd");
			n = 1;
		} else if (c < 128 && entity[c]) {
			buf_addstr(out, entity[c]);
		} else if (c == '\n' || c == '\t') {
			buf_addch(out, (char)c);
		} else {
			text_escape(out, text + i, n);
		}
	}
}

void html_put_texts(struct buf *out, const char *markup, const char *const *text)
{
	for (const char *hole; (hole = strstr(markup, "{}")); markup = hole + 2) {
		buf_add(out, markup, (size_t)(hole - markup));
		html_text(out, *text++);
	}
	buf_addstr(out, markup);
}

/* In JSON these characters occur in strings only, so they may be written in another way wherever they are. */
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

/* 0: it is short enough. */
static int cut(const char *text, size_t most, struct buf *head)
{
	size_t len = strnlen(text, most + 1);

	if (len <= most)
		return 0;
	/* Never within a character. */
	for (len = most; len && ((unsigned char)text[len] & 0xc0) == 0x80;)
		len--;
	buf_add(head, text, len);
	buf_addstr(head, "\xe2\x80\xa6");
	return 1;
}

void html_text_cut(struct buf *out, const char *text, size_t most)
{
	SCOPED(buf_release) struct buf head = BUF_INIT;

	html_text(out, cut(text, most, &head) ? buf_str(&head) : text);
	buf_carry(out, &head);
}

void html_json_text_cut(struct buf *out, const char *text, size_t most)
{
	SCOPED(buf_release) struct buf head = BUF_INIT;

	html_json_text(out, cut(text, most, &head) ? buf_str(&head) : text);
	buf_carry(out, &head);
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
