/* Escaping text for markup and scripts, and base64. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/json.h"
#include "common/table.h"

/* Markup in which each {} stands for the next of the texts. */
#define html_put(out, markup, ...) html_put_texts(out, markup, (const char *const[]){ __VA_ARGS__ })
void html_put_texts(struct buf *out, const char *markup, const char *const *text);
/* At most this many bytes, with a sign if there is more. */
void html_text_cut(struct buf *out, const char *text, size_t most);

/* A string of JSON with its quotes that can stand inside <script>: no '<', '>', '&', U+2028 or U+2029 is left in
 * it. */
void html_json_text(struct buf *out, const char *text);
void html_json_text_cut(struct buf *out, const char *text, size_t most);

/* Standard alphabet, padded, without line breaks: 4 bytes for every 3. */
void html_base64(struct buf *out, const void *data, size_t len);
static inline uint64_t html_base64_length(uint64_t len)
{
	return (len + 2) / 3 * 4;
}
