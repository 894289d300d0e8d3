#include "common/utf8.h"

size_t utf8_decode(const char *text, size_t len, uint32_t *code)
{
	/* The least character that needs so many bytes; smaller ones are overlong. */
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *c = (const unsigned char *)text;
	size_t n;

	if (!len)
		return 0;
	if (c[0] < 0x80) {
		*code = c[0];
		return 1;
	}
	n = (c[0] & 0xe0) == 0xc0 ? 2 : (c[0] & 0xf0) == 0xe0 ? 3 : (c[0] & 0xf8) == 0xf0 ? 4 : 0;
	if (!n || n > len)
		return 0;
	*code = c[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((c[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (c[i] & 0x3f);
	}
	if (*code < least[n] || *code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000))
		return 0;
	return n;
}

size_t utf8_valid(const char *text, size_t len)
{
	uint32_t code;
	size_t at = 0, n;

	while (at < len && (n = utf8_decode(text + at, len - at, &code)))
		at += n;
	return at;
}

void utf8_repair(struct buf *out, const char *text, size_t len)
{
	uint32_t code;

	for (size_t i = 0, n; i < len; i += n) {
		n = utf8_decode(text + i, len - i, &code);
		if (n) {
			buf_add(out, text + i, n);
		} else {
			buf_addstr(out, "\xef\xbf\xbd");
			n = 1;
		}
	}
}

size_t utf8_count(const char *text, size_t len)
{
	size_t count = 0;
	uint32_t code;

	for (size_t i = 0, n; i < len; i += n, count++) {
		n = utf8_decode(text + i, len - i, &code);
		if (!n)
			n = 1;
	}
	return count;
}

bool utf8_is_unsafe(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x061c || (code >= 0x200b && code <= 0x200f) ||
	       (code >= 0x2028 && code <= 0x202e) || (code >= 0x2060 && code <= 0x206f) || code == 0xfeff ||
	       (code >= 0xfff9 && code <= 0xfffb) || (code >= 0xe0000 && code <= 0xe007f);
}
