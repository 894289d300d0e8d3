/* UTF-8 of RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

/* The length of the character at `text`, with its number in *code; 0 if none begins there. */
size_t utf8_decode(const char *text, size_t len, uint32_t *code);
/* The number of bytes at the start that are whole characters; `len` if all are. */
size_t utf8_valid(const char *text, size_t len);
/* Appends the text with U+FFFD for every byte that belongs to no character. */
void utf8_repair(struct buf *out, const char *text, size_t len);
/* Control characters, and those that make a terminal show text in another order or place than it is written. */
bool utf8_is_unsafe(uint32_t code);
/* The number of characters; a byte that belongs to none counts as one. */
size_t utf8_count(const char *text, size_t len);
