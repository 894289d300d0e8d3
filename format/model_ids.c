/* Maps ids of instances and groups to their places, and to slots, which are reused. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/names.h"
#include "format/model_private.h"

static uint32_t id_at(const void *array, uint32_t place, size_t size)
{
	uint32_t id;

	memcpy(&id, (const char *)array + place * size, sizeof(id));
	return id;
}

static uint32_t place_of(const struct model_ids *ids, uint32_t id)
{
	return (uint32_t)(id * ids->secret >> 32) & (ids->places - 1);
}

static uint32_t *find(const struct model_ids *ids, const void *array, size_t size, uint32_t id)
{
	uint32_t mask = ids->places - 1;

	for (uint32_t i = place_of(ids, id);; i = (i + 1) & mask) {
		uint32_t *place = &ids->place[i];

		if (!*place || id_at(array, *place - 1, size) == id)
			return place;
	}
}

uint32_t model_ids_place(const struct model_ids *ids, const void *array, uint32_t n, size_t size, uint32_t id)
{
	uint32_t *place;

	if (!id)
		return PM_NONE;
	if (id <= n && id_at(array, id - 1, size) == id)
		return id - 1;
	if (!ids->place)
		return PM_NONE;
	place = find(ids, array, size, id);
	return *place ? *place - 1 : PM_NONE;
}

/* Builds a map of `n` items with room for as many more. */
static int build(struct model_ids *ids, const void *array, uint32_t n, size_t size)
{
	uint32_t places = 64;

	while (places / 4 < n)
		places *= 2;
	ids->secret = names_secret() | 1;
	free(ids->place);
	ids->place = calloc(places, sizeof(*ids->place));
	ids->places = ids->place ? places : 0;
	for (uint32_t i = 0; i < n && ids->place; i++)
		*find(ids, array, size, id_at(array, i, size)) = i + 1;
	return ids->place ? 0 : -ENOMEM;
}

int model_ids_add(struct model_ids *ids, const void *array, uint32_t n, size_t size, uint32_t id, uint32_t *slot)
{
	int err = 0;

	if (!ids->place && id != n + 1)
		err = build(ids, array, n, size);
	else if (ids->place && n >= ids->places / 2)
		err = build(ids, array, n, size);
	/* Allocate now, so that giving a slot back cannot fail. */
	if (!err)
		err = array_hold(&ids->spare, &ids->spare_room, ids->slots + 1ull, sizeof(*ids->spare));
	if (err)
		return err;
	*slot = ids->n_spare ? ids->spare[--ids->n_spare] : ids->slots++;
	/* The item is stored behind the others before anyone looks it up. */
	if (ids->place) {
		uint32_t mask = ids->places - 1, i = place_of(ids, id);

		while (ids->place[i])
			i = (i + 1) & mask;
		ids->place[i] = n + 1;
	}
	return 0;
}

int model_ids_retire(struct model_ids *ids, uint32_t id)
{
	if (array_room(&ids->retired, ids->n_retired, sizeof(id)))
		return -ENOMEM;
	ids->retired[ids->n_retired++] = id;
	return 0;
}

void model_ids_give_back(struct model_ids *ids, uint32_t slot)
{
	ids->spare[ids->n_spare++] = slot;
}

int model_ids_map(struct model_ids *ids, const void *array, uint32_t n, size_t size)
{
	return ids->place ? 0 : build(ids, array, n, size);
}

void model_ids_rebuild(struct model_ids *ids, const void *array, uint32_t n, size_t size)
{
	uint32_t mask = ids->places - 1;

	ids->n_retired = ids->n_kept = 0;
	memset(ids->place, 0, ids->places * sizeof(*ids->place));
	for (uint32_t i = 0; i < n; i++) {
		uint32_t k = place_of(ids, id_at(array, i, size));

		while (ids->place[k])
			k = (k + 1) & mask;
		ids->place[k] = i + 1;
	}
}

void model_ids_release(struct model_ids *ids)
{
	free(ids->place);
	free(ids->spare);
	free(ids->retired);
	*ids = (struct model_ids){ 0 };
}
