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

/* For other tables, too. Where a key is put cannot be foretold: the author of a file could otherwise choose keys that
 * all get in one another's way. Within a run of the program hashes stay the same. */
uint32_t names_hash(const char *key);
uint64_t names_secret(void);
/* Of more than a text; begin with names_secret(). */
uint64_t names_mix(uint64_t hash, const void *data, size_t len);

/* Frees the table, which is then empty and usable. */
void names_release(struct names *m);
/* Adds or replaces. 0 or -ENOMEM. */
int names_set(struct names *m, const char *key, uint32_t value);
/* False, with *value unchanged, if the name is not in the map. */
bool names_get(const struct names *m, const char *key, uint32_t *value);
