/* Makes text of a recording safe for a terminal: control characters and what reorders a line become escapes. */
#include <string.h>

#include "common/table.h"
#include "common/utf8.h"

void text_escape(struct buf *out, const char *text, size_t len)
{
	size_t done = 0;
	uint32_t code;

	for (size_t i = 0, n; i < len; i += n) {
		n = 1;
		/* Nearly all text is ASCII. */
		if (text[i] >= ' ' && text[i] < 0x7f)
			continue;
		n = utf8_decode(text + i, len - i, &code);
		if (n && !utf8_is_unsafe(code))
			continue;
		buf_add(out, text + done, i - done);
		if (!n) {
			buf_printf(out, "\\x%02x", (unsigned char)text[i]);
			n = 1;
		} else if (code < 0x80) {
			buf_printf(out, "\\x%02x", (unsigned)code);
		} else {
			buf_printf(out, code > 0xffff ? "\\U%08x" : "\\u%04x", (unsigned)code);
		}
		done = i + n;
	}
	if (done < len)
		buf_add(out, text + done, len - done);
}

void text_markdown(struct buf *out, const char *text)
{
	SCOPED(buf_release) struct buf safe = BUF_INIT;

	text_escape(&safe, text, strlen(text));
	for (const char *c = buf_str(&safe); *c; c++) {
		if (strchr("|*_`<>[]\\#", *c))
			buf_addch(out, '\\');
		buf_addch(out, *c);
	}
	buf_carry(out, &safe);
}

void text_markup(struct buf *out, const char *text)
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

void text_csv(struct buf *out, const char *text, const char *separator)
{
	SCOPED(buf_release) struct buf safe = BUF_INIT;
	size_t from = out->len, len = 0;

	/* Nearly always there is nothing to escape or to quote. */
	while (text[len] >= ' ' && text[len] < 0x7f && text[len] != '"' && text[len] != *separator)
		len++;
	if (!text[len]) {
		buf_add(out, text, len);
		return;
	}
	text_escape(out, text, strlen(text));
	len = out->len - from;
	if (!len || (!memchr(out->data + from, '"', len) &&
		     !(*separator && memmem(out->data + from, len, separator, strlen(separator)))))
		return;
	buf_add(&safe, out->data + from, len);
	out->len = from;
	buf_addch(out, '"');
	for (const char *c = buf_str(&safe); *c; c++) {
		if (*c == '"')
			buf_addch(out, '"');
		buf_addch(out, *c);
	}
	buf_addch(out, '"');
	buf_carry(out, &safe);
}

void text_csv_name(struct buf *out, const char *text, const char *separator)
{
	SCOPED(buf_release) struct buf name = BUF_INIT;

	buf_addstr(&name, *text && text[1] && strchr("=+-@", *text) ? "'" : "");
	buf_addstr(&name, text);
	text_csv(out, buf_str(&name), separator);
	buf_carry(out, &name);
}
