#include "common/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

/* Of this run of the program, from the kernel. */
uint64_t names_secret(void)
{
	const void *random = (const void *)(uintptr_t)getauxval(AT_RANDOM);
	uint64_t secret = 0;

	if (random)
		memcpy(&secret, random, sizeof(secret));
	return secret;
}

uint64_t names_mix(uint64_t h, const void *data, size_t len)
{
	for (const uint8_t *p = data; len; len--, p++) {
		h = (h ^ *p) * 0x9e3779b97f4a7c15;
		h ^= h >> 32;
	}
	return h;
}

uint32_t names_hash(const char *key)
{
	return (uint32_t)names_mix(names_secret(), key, strlen(key));
}

/* The slot that holds the key, or the free one for it. */
static struct names_slot *find(const struct names *m, const char *key, uint32_t hash)
{
	for (size_t i = hash & (m->cap - 1);; i = (i + 1) & (m->cap - 1)) {
		struct names_slot *s = &m->slot[i];

		if (!s->key || (s->hash == hash && !strcmp(s->key, key)))
			return s;
	}
}

static int grow(struct names *m)
{
	struct names bigger = { .cap = m->cap ? m->cap * 2 : 64, .n = m->n };

	bigger.slot = calloc(bigger.cap, sizeof(*bigger.slot));
	if (!bigger.slot)
		return -ENOMEM;
	for (size_t i = 0; i < m->cap; i++)
		if (m->slot[i].key)
			*find(&bigger, m->slot[i].key, m->slot[i].hash) = m->slot[i];
	free(m->slot);
	*m = bigger;
	return 0;
}

void names_release(struct names *m)
{
	for (size_t i = 0; i < m->cap; i++)
		free(m->slot[i].key);
	free(m->slot);
	*m = (struct names){ 0 };
}

int names_set(struct names *m, const char *key, uint32_t value)
{
	uint32_t hash = names_hash(key);
	struct names_slot *s;

	if (m->n + m->n / 2 >= m->cap && grow(m))
		return -ENOMEM;
	s = find(m, key, hash);
	if (!s->key) {
		s->key = strdup(key);
		if (!s->key)
			return -ENOMEM;
		s->hash = hash;
		m->n++;
	}
	s->value = value;
	return 0;
}

bool names_get(const struct names *m, const char *key, uint32_t *value)
{
	const struct names_slot *s;

	if (!m->cap)
		return false;
	s = find(m, key, names_hash(key));
	if (!s->key)
		return false;
	if (value)
		*value = s->value;
	return true;
}
