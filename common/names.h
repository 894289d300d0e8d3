/* A map from a string to a number, for looking names up; open addressing, keys are copied. */
#ifndef COMMON_NAMES_H
#define COMMON_NAMES_H

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

/* For tables that are keyed by names in another way. */
uint32_t names_hash(const char *key);

/* Frees the table; it is then empty and can be used again. */
void names_release(struct names *m);
/* Adds or replaces. 0 or -ENOMEM. */
int names_set(struct names *m, const char *key, uint32_t value);
/* False, and *value as it was, if the name is not there. */
bool names_get(const struct names *m, const char *key, uint32_t *value);

#endif
