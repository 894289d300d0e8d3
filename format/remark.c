#include "format/remark.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#define TEXT_MAX 400

static const struct row {
	uint32_t code;
	const char *text;
} rows[] = {
#define REMARK(name, code, text) { code, text },
#define REMEDY                   REMARK
#include "format/remark.inc"
#undef REMARK
#undef REMEDY
};

static const char *text_of(uint64_t code)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].code == code)
			return rows[i].text;
	return NULL;
}

static uint32_t count_arguments(const char *text)
{
	uint32_t n = 0;

	for (; *text; text++)
		n += *text == '%';
	return n;
}

struct pm_value pm_remark(unsigned code, ...)
{
	const char *text = text_of(code);
	struct pm_value v = pm_array(text ? 1 + count_arguments(text) : 0);
	bool failed = false;
	va_list ap;

	if (!v.array.n)
		return pm_u64(0);
	va_start(ap, code);
	v.array.item[0] = pm_u64(code);
	for (uint32_t i = 1; i < v.array.n; i++) {
		const char *argument;

		text = strchr(text, '%') + 1;
		if (strchr("nr", *text)) {
			v.array.item[i] = pm_u64(va_arg(ap, unsigned));
			continue;
		}
		argument = va_arg(ap, const char *);
		v.array.item[i] = pm_text_n(argument, strnlen(argument, TEXT_MAX));
		failed |= !v.array.item[i].str.data;
	}
	va_end(ap);
	if (failed)
		pm_value_release(&v);
	return v;
}

uint32_t pm_remark_code(const struct pm_value *v)
{
	const struct pm_value *code = v->kind == PM_VALUE_ARRAY && v->array.n ? v->array.item : NULL;

	return code && code->kind == PM_VALUE_U64 && code->u64 <= UINT32_MAX ? (uint32_t)code->u64 : 0;
}

char pm_remark_class(const struct pm_value *v, uint32_t argument)
{
	const char *at = text_of(pm_remark_code(v));

	for (; at && (at = strchr(at, '%')) && argument; argument--)
		at++;
	return (char)(at ? at[1] : '\0');
}

static void add_argument(struct buf *out, const struct pm_value *v, char class)
{
	if (v->kind == PM_VALUE_TEXT)
		buf_addstr(out, v->str.data);
	else if (v->kind == PM_VALUE_U64 && class == 'r' && v->u64 <= INT32_MAX)
		buf_addstr(out, strerror((int)v->u64));
	else if (v->kind == PM_VALUE_U64)
		buf_printf(out, "%" PRIu64, v->u64);
}

void pm_remark_text(struct buf *out, const struct pm_value *v)
{
	const uint32_t code = pm_remark_code(v);
	const char *text = text_of(code), *argument;
	uint32_t n = v->kind == PM_VALUE_ARRAY ? v->array.n : 0, i = 1;

	if (!text) {
		buf_printf(out, "remark %" PRIu32, code);
		for (; i < n; i++) {
			buf_addstr(out, i > 1 ? ", " : ": ");
			add_argument(out, &v->array.item[i], '\0');
		}
		return;
	}
	for (; (argument = strchr(text, '%')); text = argument + 2, i++) {
		buf_add(out, text, (size_t)(argument - text));
		if (i < n)
			add_argument(out, &v->array.item[i], argument[1]);
	}
	buf_addstr(out, text);
}
