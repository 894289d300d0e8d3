/* What the model keeps for itself, and the writer looks at. */
#ifndef FORMAT_MODEL_PRIVATE_H
#define FORMAT_MODEL_PRIVATE_H

#include "format/model.h"

/* Finds a config entry by what makes two entries one: everything but the instances. */
struct config_slot {
	uint64_t hash;
	uint32_t index; /* + 1; 0: free */
};

struct model_texts;

struct pm_model_caps {
	uint32_t counters, instances, groups, strings, pmus, probes, configs; /* allocated */
	uint32_t *counter_slot; /* open addressing: id of the counter of that name; 0: free */
	uint32_t counter_slots;
	struct model_texts *texts; /* of all counters */
	uint64_t bytes;            /* estimate of what the definitions occupy, against PM_MAX_MODEL */
	uint32_t topology_version; /* rises with every pm_model_set_topology() */
	uint32_t retired;          /* rises with every retirement */
	uint32_t config_changes;   /* rises with every entry added or joined */
	struct names config_names; /* name -> newest entry */
	uint32_t *config_older;    /* [configs]: the entry of the same name before this one, + 1; 0: none */
	struct config_slot *config_slot;
	uint32_t config_slots;
};

/* NULL without memory. */
struct pm_model_caps *model_caps(struct pm_model *m);
/* Room for one more at the end of an array that grows by half. 0, -ENOMEM, or -E2BIG beyond `max`. */
int model_grow(void **array, uint32_t n, uint32_t *cap, uint32_t max, size_t size);

/* Equal but for the ids. */
bool model_counter_equal(const struct pm_counter *a, const struct pm_counter *b);
bool model_group_equal(const struct pm_group *a, const struct pm_group *b);

/* Of a counter that is not in a model; one that is shares its texts. */
void model_counter_release(struct pm_counter *c);
void model_counters_release(struct pm_model *m);
void model_group_release(struct pm_group *g);
void model_probe_release(struct pm_probe *p);
void model_config_release(struct pm_config *c);

/* Bytes that a value or map holds outside itself. */
uint64_t model_value_size(const struct pm_value *v);
uint64_t model_map_size(const struct pm_map *m);
/* -E2BIG when the model would grow beyond PM_MAX_MODEL, else 0 and counted. */
int model_account(struct pm_model *m, uint64_t bytes);

#endif
