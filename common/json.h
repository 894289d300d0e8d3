/* Reading and writing JSON. Only common/json.c includes jansson. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/error.h"

struct json; /* any JSON value; a parent owns its children */

struct json *json_parse(const char *text, size_t len, struct error *e); /* NULL on error; the text names the line */
struct json *json_load(const char *path, struct error *e);
void json_free(struct json *j);
/* For SCOPED. */
static inline void json_scoped(struct json **j)
{
	json_free(*j);
}

/* Reading. The result is NULL, the fallback or 0 if the value has another kind. All accept NULL. */
struct json *json_get(const struct json *object, const char *key);
struct json *json_at(const struct json *array, size_t i);
size_t json_count(const struct json *array_or_object);
/* The key after `key` (NULL: the first); NULL after the last. */
const char *json_next_key(const struct json *object, const char *key);
const char *json_text(const struct json *j, const char *fallback);
double json_number(const struct json *j, double fallback);
bool json_is_array(const struct json *j);

/* Building. Containers own their values. U+FFFD replaces what is not UTF-8. */
struct json *json_new_object(void);
struct json *json_new_array(void);
struct json *json_new_text(const char *text);
struct json *json_new_buf(struct buf *b);
struct json *json_new_u64(uint64_t v); /* exact; a string beyond 2^63-1 */
struct json *json_new_s64(int64_t v);
struct json *json_new_f64(double v); /* null for nan and inf */
struct json *json_new_bool(bool v);
struct json *json_new_null(void);
void json_put(struct json *object, const char *key, struct json *value); /* in the order of the calls */
void json_push(struct json *array, struct json *value);
/* Appends the text without a newline at the end; indent 0: on one line. */
void json_print(const struct json *j, unsigned indent, struct buf *out);

/* Appends `text` as a quoted JSON string, for writers that stream. U+FFFD replaces what is not UTF-8, and control
 * characters are escaped with \u, so that a terminal can show the string. */
void json_quote(struct buf *out, const char *text, size_t len);
