#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

/* jansson has these as macros. */
#undef json_is_array

#include "common/file.h"
#include "common/json.h"
#include "common/memory.h"
#include "common/number.h"
#include "common/utf8.h"

static void *allocate(size_t n)
{
	return memory_new(n, 1);
}

__attribute__((constructor)) static void begin(void)
{
	json_set_alloc_funcs(allocate, free);
}

/* struct json is never defined: a struct json * is a json_t * by another name. */
static json_t *in(const struct json *j)
{
	return (json_t *)(uintptr_t)j;
}

static struct json *out(json_t *j)
{
	return (struct json *)j;
}

struct json *json_parse(const char *text, size_t len, struct error *e)
{
	json_error_t why;
	json_t *j = json_loadb(text, len, JSON_DECODE_ANY, &why);

	if (!j)
		error_set(e, EINVAL, "line %d, column %d: %s", why.line, why.column, why.text);
	return out(j);
}

struct json *json_load(const char *path, struct error *e)
{
	SCOPED(buf_release) struct buf text = BUF_INIT;
	struct json *j = NULL;

	if (!file_read(path, &text, e)) {
		j = json_parse(text.data ? (const char *)text.data : "", text.len, e);
		if (!j)
			error_prefix(e, "%s", path);
	}
	return j;
}

void json_free(struct json *j)
{
	json_decref(in(j));
}

struct json *json_get(const struct json *object, const char *key)
{
	return out(json_object_get(in(object), key));
}

struct json *json_at(const struct json *array, size_t i)
{
	return out(json_array_get(in(array), i));
}

size_t json_count(const struct json *j)
{
	return json_is_array(j) ? json_array_size(in(j)) : json_object_size(in(j));
}

const char *json_next_key(const struct json *object, const char *key)
{
	json_t *o = in(object);

	return json_object_iter_key(key ? json_object_iter_next(o, json_object_iter_at(o, key)) :
					  json_object_iter(o));
}

const char *json_text(const struct json *j, const char *fallback)
{
	return j && json_is_string(in(j)) ? json_string_value(in(j)) : fallback;
}

double json_number(const struct json *j, double fallback)
{
	return j && json_is_number(in(j)) ? json_number_value(in(j)) : fallback;
}

bool json_is_array(const struct json *j)
{
	return j && json_typeof(in(j)) == JSON_ARRAY;
}

struct json *json_new_object(void)
{
	return out(json_object());
}

struct json *json_new_array(void)
{
	return out(json_array());
}

struct json *json_new_text(const char *text)
{
	SCOPED(buf_release) struct buf b = BUF_INIT;
	json_t *j = json_string(text);

	if (!j)
		utf8_repair(&b, text, strlen(text));
	memory_whole(&b);
	return out(j ? j : json_string(buf_str(&b)));
}

struct json *json_new_buf(struct buf *b)
{
	memory_whole(b);
	return json_new_text(buf_str(b));
}

struct json *json_new_u64(uint64_t v)
{
	char text[NUMBER_MAX];

	if (v <= INT64_MAX)
		return out(json_integer((json_int_t)v));
	return out(json_stringn(text, number_u64(text, v)));
}

struct json *json_new_s64(int64_t v)
{
	return out(json_integer(v));
}

struct json *json_new_f64(double v)
{
	return out(isfinite(v) ? json_real(v) : json_null());
}

struct json *json_new_bool(bool v)
{
	return out(json_boolean(v));
}

struct json *json_new_null(void)
{
	return out(json_null());
}

void json_put(struct json *object, const char *key, struct json *value)
{
	SCOPED(buf_release) struct buf b = BUF_INIT;

	utf8_repair(&b, key, strlen(key));
	memory_whole(&b);
	(void)json_object_set_new(in(object), buf_str(&b), in(value));
}

void json_push(struct json *array, struct json *value)
{
	(void)json_array_append_new(in(array), in(value));
}

static void new_line(struct buf *b, unsigned indent, unsigned level)
{
	if (!indent)
		return;
	buf_addch(b, '\n');
	for (unsigned i = 0; i < indent * level; i++)
		buf_addch(b, ' ');
}

static void print_value(json_t *j, unsigned indent, unsigned level, struct buf *b);

/* Of an object or an array. */
static void print_members(json_t *j, unsigned indent, unsigned level, struct buf *b)
{
	const char *key = json_next_key(out(j), NULL);
	size_t n = json_count(out(j));
	bool array = json_typeof(j) == JSON_ARRAY;

	buf_addch(b, array ? '[' : '{');
	for (size_t i = 0; i < n; i++) {
		if (i)
			buf_addch(b, ',');
		new_line(b, indent, level + 1);
		if (!array) {
			json_quote(b, key, strlen(key));
			buf_addstr(b, indent ? ": " : ":");
		}
		print_value(array ? json_array_get(j, i) : json_object_get(j, key), indent, level + 1, b);
		key = array ? NULL : json_next_key(out(j), key);
	}
	if (n)
		new_line(b, indent, level);
	buf_addch(b, array ? ']' : '}');
}

/* jansson would print doubles with 17 digits; in all outputs a number has the same text. */
static void print_value(json_t *j, unsigned indent, unsigned level, struct buf *b)
{
	char text[NUMBER_MAX];

	switch (json_typeof(j)) {
	case JSON_OBJECT:
	case JSON_ARRAY:
		print_members(j, indent, level, b);
		break;
	case JSON_STRING:
		json_quote(b, json_string_value(j), json_string_length(j));
		break;
	case JSON_INTEGER:
		buf_add(b, text, number_s64(text, json_integer_value(j)));
		break;
	case JSON_REAL:
		buf_add(b, text, number_double(text, json_real_value(j)));
		break;
	case JSON_TRUE:
		buf_addstr(b, "true");
		break;
	case JSON_FALSE:
		buf_addstr(b, "false");
		break;
	case JSON_NULL:
		buf_addstr(b, "null");
		break;
	}
}

void json_print(const struct json *j, unsigned indent, struct buf *b)
{
	print_value(in(j), indent, 0, b);
}

static bool is_clean(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

void json_quote(struct buf *b, const char *text, size_t len)
{
	static const char shorts[] = "\bb\ff\nn\rr\tt\"\"\\\\";
	const char *s;
	uint32_t code;

	buf_addch(b, '"');
	for (size_t i = 0, n; i < len; i += n) {
		for (n = 0; i + n < len && is_clean((unsigned char)text[i + n]);)
			n++;
		if (n) {
			buf_add(b, text + i, n);
			continue;
		}
		n = utf8_decode(text + i, len - i, &code);
		if (!n) {
			buf_addstr(b, "\xef\xbf\xbd");
			n = 1;
		} else if (code >= 0xa0 && !utf8_is_unsafe(code)) {
			buf_add(b, text + i, n);
		} else if (code > 0xffff) {
			buf_printf(b, "\\u%04x\\u%04x", (unsigned)(0xd7c0 + (code >> 10)),
				   (unsigned)(0xdc00 + (code & 0x3ff)));
		} else {
			for (s = shorts; *s && *s != text[i]; s += 2)
				;
			if (*s)
				buf_printf(b, "\\%c", s[1]);
			else
				buf_printf(b, "\\u%04x", (unsigned)code);
		}
	}
	buf_addch(b, '"');
}
