#include "format/value.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"

void pm_value_release(struct pm_value *v)
{
	if (v->kind == PM_VALUE_TEXT || v->kind == PM_VALUE_BYTES)
		free(v->str.data);
	if (v->kind == PM_VALUE_ARRAY) {
		for (uint32_t i = 0; i < v->array.n; i++)
			pm_value_release(&v->array.item[i]);
		free(v->array.item);
	}
	if (v->kind == PM_VALUE_MAP)
		pm_map_release(&v->map);
	*v = pm_u64(0);
}

int pm_value_copy(struct pm_value *to, const struct pm_value *from)
{
	struct pm_value copy = *from;
	int err = 0;

	switch (from->kind) {
	case PM_VALUE_TEXT:
	case PM_VALUE_BYTES:
		copy = pm_bytes(from->str.data, from->str.len);
		copy.kind = from->kind;
		if (!copy.str.data)
			err = -ENOMEM;
		break;
	case PM_VALUE_ARRAY:
		copy = pm_array(from->array.n);
		if (from->array.n && !copy.array.item)
			err = -ENOMEM;
		for (uint32_t i = 0; i < from->array.n && !err; i++)
			err = pm_value_copy(&copy.array.item[i], &from->array.item[i]);
		break;
	case PM_VALUE_MAP:
		err = pm_map_copy(&copy.map, &from->map);
		break;
	default:
		break;
	}
	if (err)
		pm_value_release(&copy);
	*to = copy;
	return err;
}

bool pm_value_equal(const struct pm_value *a, const struct pm_value *b)
{
	if (a->kind != b->kind)
		return false;
	switch (a->kind) {
	case PM_VALUE_U64:
		return a->u64 == b->u64;
	case PM_VALUE_S64:
		return a->s64 == b->s64;
	case PM_VALUE_F64:
		/* Compare bits, so that a NaN equals itself and a repeated definition is recognized. */
		return !memcmp(&a->f64, &b->f64, sizeof(a->f64));
	case PM_VALUE_BOOL:
		return a->boolean == b->boolean;
	case PM_VALUE_TEXT:
	case PM_VALUE_BYTES:
		return a->str.len == b->str.len && (!a->str.len || !memcmp(a->str.data, b->str.data, a->str.len));
	case PM_VALUE_ARRAY:
		if (a->array.n != b->array.n)
			return false;
		for (uint32_t i = 0; i < a->array.n; i++)
			if (!pm_value_equal(&a->array.item[i], &b->array.item[i]))
				return false;
		return true;
	case PM_VALUE_MAP:
		return pm_map_equal(&a->map, &b->map);
	}
	return false;
}

struct pm_value pm_u64(uint64_t v)
{
	return (struct pm_value){ .kind = PM_VALUE_U64, .u64 = v };
}

struct pm_value pm_s64(int64_t v)
{
	return v < 0 ? (struct pm_value){ .kind = PM_VALUE_S64, .s64 = v } : pm_u64((uint64_t)v);
}

struct pm_value pm_f64(double v)
{
	return (struct pm_value){ .kind = PM_VALUE_F64, .f64 = v };
}

struct pm_value pm_bool(bool v)
{
	return (struct pm_value){ .kind = PM_VALUE_BOOL, .boolean = v };
}

struct pm_value pm_text(const char *text)
{
	return pm_text_n(text, strlen(text));
}

struct pm_value pm_text_n(const char *text, size_t len)
{
	struct pm_value v = pm_bytes(text, len);

	v.kind = PM_VALUE_TEXT;
	return v;
}

struct pm_value pm_bytes(const void *data, size_t len)
{
	struct pm_value v = { .kind = PM_VALUE_BYTES };

	v.str.data = malloc(len + 1);
	if (!v.str.data)
		return v;
	if (len)
		memcpy(v.str.data, data, len);
	v.str.data[len] = '\0';
	v.str.len = len;
	return v;
}

struct pm_value pm_array(uint32_t n)
{
	struct pm_value v = { .kind = PM_VALUE_ARRAY };

	v.array.item = n ? calloc(n, sizeof(*v.array.item)) : NULL;
	v.array.n = v.array.item ? n : 0;
	return v;
}

/* The first field whose key is at least `key`. */
static uint32_t place(const struct pm_map *m, uint32_t key)
{
	return (uint32_t)ARRAY_PLACE(m->n, i, m->field[i].key < key);
}

void pm_map_release(struct pm_map *m)
{
	for (uint32_t i = 0; i < m->n; i++)
		pm_value_release(&m->field[i].value);
	free(m->field);
	*m = (struct pm_map){ 0 };
}

int pm_map_copy(struct pm_map *to, const struct pm_map *from)
{
	struct pm_map copy = { 0 };

	copy.field = from->n ? calloc(from->n, sizeof(*copy.field)) : NULL;
	copy.cap = from->n;
	*to = (struct pm_map){ 0 };
	if (from->n && !copy.field)
		return -ENOMEM;
	for (uint32_t i = 0; i < from->n; i++) {
		copy.field[i].key = from->field[i].key;
		if (pm_value_copy(&copy.field[i].value, &from->field[i].value)) {
			pm_map_release(&copy);
			return -ENOMEM;
		}
		copy.n++;
	}
	*to = copy;
	return 0;
}

bool pm_map_equal(const struct pm_map *a, const struct pm_map *b)
{
	if (a->n != b->n)
		return false;
	for (uint32_t i = 0; i < a->n; i++)
		if (a->field[i].key != b->field[i].key || !pm_value_equal(&a->field[i].value, &b->field[i].value))
			return false;
	return true;
}

/* An item of an array may have failed, too. */
static bool constructor_failed(const struct pm_value *v)
{
	bool failed = (v->kind == PM_VALUE_TEXT || v->kind == PM_VALUE_BYTES) && !v->str.data;

	for (uint32_t i = 0; v->kind == PM_VALUE_ARRAY && i < v->array.n && !failed; i++)
		failed = constructor_failed(&v->array.item[i]);
	return failed;
}

int pm_map_set(struct pm_map *m, uint32_t key, struct pm_value v)
{
	uint32_t at = place(m, key);

	if (constructor_failed(&v)) {
		pm_value_release(&v);
		return -ENOMEM;
	}
	if (at < m->n && m->field[at].key == key) {
		pm_value_release(&m->field[at].value);
		m->field[at].value = v;
		return 0;
	}
	if (m->n == m->cap) {
		uint32_t cap = m->cap ? m->cap * 2 : 8;
		struct pm_field *field = realloc(m->field, cap * sizeof(*field));

		if (!field) {
			pm_value_release(&v);
			return -ENOMEM;
		}
		m->field = field;
		m->cap = cap;
	}
	memmove(m->field + at + 1, m->field + at, (m->n - at) * sizeof(*m->field));
	m->field[at] = (struct pm_field){ .key = key, .value = v };
	m->n++;
	return 0;
}

void pm_map_remove(struct pm_map *m, uint32_t key)
{
	uint32_t at = place(m, key);

	if (at == m->n || m->field[at].key != key)
		return;
	pm_value_release(&m->field[at].value);
	m->n--;
	memmove(m->field + at, m->field + at + 1, (m->n - at) * sizeof(*m->field));
}

const struct pm_value *pm_map_get(const struct pm_map *m, uint32_t key)
{
	uint32_t at = place(m, key);

	return at < m->n && m->field[at].key == key ? &m->field[at].value : NULL;
}

const char *pm_map_text(const struct pm_map *m, uint32_t key, const char *fallback)
{
	const struct pm_value *v = pm_map_get(m, key);

	return v && v->kind == PM_VALUE_TEXT ? v->str.data : fallback;
}

uint64_t pm_map_u64(const struct pm_map *m, uint32_t key, uint64_t fallback)
{
	const struct pm_value *v = pm_map_get(m, key);

	return v && v->kind == PM_VALUE_U64 ? v->u64 : fallback;
}

bool pm_map_bool(const struct pm_map *m, uint32_t key, bool fallback)
{
	const struct pm_value *v = pm_map_get(m, key);

	return v && v->kind == PM_VALUE_BOOL ? v->boolean : fallback;
}
