/* UTF-8 as RFC 3629 has it: no surrogates, nothing beyond U+10FFFF, no overlong forms. */
#ifndef FORMAT_UTF8_H
#define FORMAT_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of the sequence at *s, 0 if it is none. */
static inline size_t utf8_sequence(const uint8_t *s, size_t len)
{
	size_t n = s[0] < 0x80 ? 1 : s[0] >= 0xc2 && s[0] < 0xe0 ? 2 : (s[0] & 0xf0) == 0xe0 ? 3 :
		   s[0] >= 0xf0 && s[0] < 0xf5 ? 4 : 0;

	if (!n || n > len)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf0 && s[1] < 0x90) ||
	    (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

/* How many bytes from the start are good; `len` if all are. */
static inline size_t utf8_valid(const char *text, size_t len)
{
	const uint8_t *s = (const uint8_t *)text;
	size_t at = 0, n;

	while (at < len) {
		n = utf8_sequence(s + at, len - at);
		if (!n)
			break;
		at += n;
	}
	return at;
}

#endif
