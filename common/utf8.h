/* UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing beyond U+10FFFF. */
#ifndef COMMON_UTF8_H
#define COMMON_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

/* Bytes of the character that begins at `text`, with its number in *code; 0 if none begins there. */
size_t utf8_decode(const char *text, size_t len, uint32_t *code);
/* How many bytes from the start are whole characters; `len` if all are. */
size_t utf8_valid(const char *text, size_t len);
/* Appends the text with U+FFFD in place of every byte that belongs to no character. */
void utf8_repair(struct buf *out, const char *text, size_t len);
/* Control characters, and those that make a terminal show text in another order or place than it is written. */
bool utf8_is_unsafe(uint32_t code);
/* Characters in the text; a byte that belongs to none counts as one. */
size_t utf8_count(const char *text, size_t len);

#endif
