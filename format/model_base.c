/* What all lists of the model need: capacity, and how much memory they take. */
#include <errno.h>
#include <stdlib.h>

#include "common/array.h"
#include "format/limits.h"
#include "format/model_private.h"

struct pm_model_caps *model_caps(struct pm_model *m)
{
	if (!m->caps)
		m->caps = calloc(1, sizeof(*m->caps));
	return m->caps;
}

uint64_t model_value_size(const struct pm_value *v)
{
	uint64_t size = 0;

	switch (v->kind) {
	case PM_VALUE_TEXT:
	case PM_VALUE_BYTES:
		return v->str.len + 24;
	case PM_VALUE_ARRAY:
		for (uint32_t i = 0; i < v->array.n; i++)
			size += sizeof(*v) + model_value_size(&v->array.item[i]);
		return size;
	case PM_VALUE_MAP:
		return model_map_size(&v->map);
	default:
		return 0;
	}
}

uint64_t model_map_size(const struct pm_map *m)
{
	uint64_t size = 0;

	for (uint32_t i = 0; i < m->n; i++)
		size += sizeof(m->field[i]) + model_value_size(&m->field[i].value);
	return size;
}

int model_account(struct pm_model *m, uint64_t bytes)
{
	struct pm_model_caps *caps = model_caps(m);

	if (!caps)
		return -ENOMEM;
	if (bytes > PM_MAX_MODEL - caps->bytes)
		return -E2BIG;
	caps->bytes += bytes;
	return 0;
}

int model_grow(struct pm_model *m, void *array, uint32_t n, uint32_t max, size_t size, uint64_t bytes)
{
	int err = model_account(m, bytes);

	return err ? err : n >= max ? -E2BIG : array_room(array, n, size);
}
