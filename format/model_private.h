/* What the model keeps for itself, and the writer looks at. */
#pragma once

#include "format/model.h"

/* Finds a config entry by everything but its instances: entries that agree in that are one. */
struct config_slot {
	uint64_t hash;
	uint32_t index; /* + 1; 0: free */
};

struct model_texts;

/* Where the instances (or groups) are, and which of their slots are free. */
struct model_ids {
	uint32_t *place; /* open addressing: place in the array + 1; 0: free; NULL: id - 1 is the place of all */
	uint32_t places;
	uint64_t secret; /* odd; decides where an id is put, as in common/names.h */
	uint32_t *spare; /* free slots */
	uint32_t n_spare, spare_room, slots;
	uint32_t *retired; /* ids that retired since the last pm_model_forget(), in that order */
	uint32_t n_retired;
	uint32_t n_kept; /* how many of the first in retired[] could not be forgotten, because they are needed */
};

struct pm_model_caps {
	uint32_t *counter_slot; /* open addressing: id of the counter of that name; 0: free */
	uint32_t counter_slots;
	struct model_texts *texts; /* of all counters */
	uint64_t bytes;            /* estimate of what the definitions occupy, against PM_MAX_MODEL */
	uint32_t topology_version; /* rises with every pm_model_set_topology() */
	struct model_ids instance_ids, group_ids;
	uint32_t forgotten;        /* rises when something is forgotten: retired[] of both then start over */
	uint32_t config_changes;   /* rises with every entry added or joined */
	struct names config_names; /* name -> newest entry */
	uint32_t *config_older;    /* the previous entry of the same name, + 1; 0: none */
	struct config_slot *config_slot;
	uint32_t config_slots;
};

/* As pm_model_add_*(), under an id that is not there yet. */
int64_t model_add_instance(struct pm_model *m, const struct pm_instance *i, uint32_t id);
int64_t model_add_group(struct pm_model *m, const struct pm_group *g, uint32_t id);
/* Adds a duplicate, too: ids are those of the recording. */
int64_t model_append_string(struct pm_model *m, const void *data, size_t len, bool bytes);
/* How many of the first instances of `g` come from `from`, which it continues: *kept, and for each its place there in
 * place[] (room for all of g; or NULL). */
uint32_t model_group_kept(const struct pm_group *g, const struct pm_group *from, uint32_t *place);
/* Equal but for the ids. */
bool model_counter_equal(const struct pm_counter *a, const struct pm_counter *b);
bool model_group_equal(const struct pm_group *a, const struct pm_group *b);
