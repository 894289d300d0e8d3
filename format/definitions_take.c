#include "format/definitions_take.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/limits.h"

uint32_t take_u32(struct cbor *c, uint32_t max)
{
	uint64_t v = cbor_uint(c);

	if (v > max)
		cbor_fail(c);
	return c->err ? 0 : (uint32_t)v;
}

enum pm_kind take_kind(struct cbor *c, uint32_t *said)
{
	*said = take_u32(c, UINT8_MAX);
	return *said < PM_KINDS ? (enum pm_kind) * said : PM_DEVICE;
}

uint64_t take_time(struct cbor *c, uint64_t base_ns)
{
	uint64_t ns = base_ns + (uint64_t)cbor_int(c);

	if (ns > INT64_MAX)
		cbor_fail(c);
	return c->err ? 0 : ns;
}

void take_text(struct cbor *c, char **out)
{
	size_t len;
	const char *text = cbor_text(c, &len);

	if (c->err || len > PM_MAX_STRING || (len && memchr(text, '\0', len))) {
		cbor_fail(c);
		return;
	}
	free(*out);
	*out = malloc(len + 1);
	if (!*out) {
		c->err = -ENOMEM;
		return;
	}
	if (len)
		memcpy(*out, text, len);
	(*out)[len] = '\0';
}

void take_attrs(struct cbor *c, struct pm_map *attrs)
{
	pm_map_release(attrs);
	cbor_value_map(c, attrs, ATTRS_DEPTH);
}
