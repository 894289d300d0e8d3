/* A map from strings to numbers with open addressing. It copies its keys. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct names_slot {
	char *key;
	uint32_t value;
	uint32_t hash;
};

struct names {
	struct names_slot *slot; /* owned */
	size_t cap, n;
};

/* For other tables keyed by names. */
uint32_t names_hash(const char *key);

/* Frees the table, which is then empty and usable. */
void names_release(struct names *m);
/* Adds or replaces. 0 or -ENOMEM. */
int names_set(struct names *m, const char *key, uint32_t value);
/* False, with *value unchanged, if the name is not in the map. */
bool names_get(const struct names *m, const char *key, uint32_t *value);
