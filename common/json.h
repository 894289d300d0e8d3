/* JSON, read and written. The only file that knows jansson is common/json.c. */
#ifndef COMMON_JSON_H
#define COMMON_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/error.h"

struct json; /* any JSON value; children belong to their parent */

struct json *json_parse(const char *text, size_t len, struct error *e); /* NULL on error, which names the line */
struct json *json_load(const char *path, struct error *e);
void json_free(struct json *j);

/* Reading: NULL, the fallback or 0 if the value is not of that kind. All accept NULL. */
struct json *json_get(const struct json *object, const char *key);
struct json *json_at(const struct json *array, size_t i);
size_t json_count(const struct json *array_or_object);
/* The key after `key` (NULL: the first); NULL after the last. */
const char *json_next_key(const struct json *object, const char *key);
const char *json_text(const struct json *j, const char *fallback);
double json_number(const struct json *j, double fallback);
bool json_is_array(const struct json *j);
bool json_is_text(const struct json *j);

/* Building: ownership of values goes to the container. Text that is no UTF-8 is repaired with U+FFFD. NULL without
 * memory, which json_put() and json_push() turn into their -ENOMEM. The next json_print() of the thread fails then, so
 * that looking there is enough. */
struct json *json_new_object(void);
struct json *json_new_array(void);
struct json *json_new_text(const char *text);
struct json *json_new_buf(struct buf *b); /* NULL of a buffer that has failed, too */
struct json *json_new_u64(uint64_t v);    /* exact; beyond 2^63-1 a string */
struct json *json_new_s64(int64_t v);
struct json *json_new_f64(double v); /* null for nan and inf */
struct json *json_new_bool(bool v);
struct json *json_new_null(void);
int json_put(struct json *object, const char *key, struct json *value); /* keeps the order of putting */
int json_push(struct json *array, struct json *value);
/* Appends the text; indent 0: on one line. No newline at the end. What could not be built fails the buffer. */
void json_print(const struct json *j, unsigned indent, struct buf *out);

/* Appends `text` as a JSON string with quotes, for writers that stream. Not UTF-8: repaired with U+FFFD. What a
 * terminal would obey is written with \u, so that the string can be shown to one. */
void json_quote(struct buf *out, const char *text, size_t len);

#endif
