#include <stdbool.h>

#include "common/table.h"
#include "common/utf8.h"

/* Control characters, and those that make a terminal show text in another order or place than it is written. */
static bool is_unsafe(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x061c || (code >= 0x200b && code <= 0x200f) ||
	       (code >= 0x2028 && code <= 0x202e) || (code >= 0x2060 && code <= 0x206f) || code == 0xfeff ||
	       (code >= 0xfff9 && code <= 0xfffb) || (code >= 0xe0000 && code <= 0xe007f);
}

void text_escape(struct buf *out, const char *text, size_t len)
{
	uint32_t code;

	for (size_t i = 0, n; i < len; i += n) {
		n = utf8_decode(text + i, len - i, &code);
		if (!n) {
			buf_printf(out, "\\x%02x", (unsigned char)text[i]);
			n = 1;
		} else if (!is_unsafe(code)) {
			buf_add(out, text + i, n);
		} else if (code < 0x80) {
			buf_printf(out, "\\x%02x", (unsigned)code);
		} else {
			buf_printf(out, code > 0xffff ? "\\U%08x" : "\\u%04x", (unsigned)code);
		}
	}
}
