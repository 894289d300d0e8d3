/* The pull decoder. It checks every length against the bytes left before using it. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/double_bits.h"
#include "common/utf8.h"
#include "format/cbor.h"
#include "format/limits.h"
#include "format/model.h"

void cbor_fail(struct cbor *c, enum pm_rule rule)
{
	if (!c->err) {
		c->err = -EBADMSG;
		c->rule = (unsigned char)rule;
	}
	c->at = c->end;
}

static size_t left(const struct cbor *c)
{
	return (size_t)(c->end - c->at);
}

/* Reads the head of an item. Indefinite lengths (31) and the reserved 28-30 are refused. */
static enum cbor_major head(struct cbor *c, uint64_t *argument, unsigned *info)
{
	unsigned bytes;

	*argument = 0;
	*info = 0;
	if (c->err || !left(c)) {
		cbor_fail(c, PM_RULE_KIND);
		return CBOR_END;
	}
	*info = *c->at & 31;
	bytes = *info < 24 ? 0 : *info < 28 ? 1u << (*info - 24) : UINT32_MAX;
	if (bytes >= left(c)) {
		cbor_fail(c, PM_RULE_KIND);
		return CBOR_END;
	}
	if (!bytes)
		*argument = *info;
	for (unsigned i = 1; i <= bytes; i++)
		*argument = *argument << 8 | c->at[i];
	c->at += 1 + bytes;
	return (enum cbor_major)(c->at[-1 - (int)bytes] >> 5);
}

static uint64_t expect(struct cbor *c, enum cbor_major major)
{
	uint64_t argument;
	unsigned info;

	if (head(c, &argument, &info) != major) {
		cbor_fail(c, PM_RULE_KIND);
		return 0;
	}
	return argument;
}

enum cbor_major cbor_peek(const struct cbor *c)
{
	return c->err || !left(c) ? CBOR_END : (enum cbor_major)(*c->at >> 5);
}

uint64_t cbor_uint(struct cbor *c)
{
	return expect(c, CBOR_UINT);
}

int64_t cbor_int(struct cbor *c)
{
	bool negative = cbor_peek(c) == CBOR_NINT;
	uint64_t argument = expect(c, negative ? CBOR_NINT : CBOR_UINT);

	if (argument > INT64_MAX) {
		cbor_fail(c, PM_RULE_RANGE);
		return 0;
	}
	return negative ? -1 - (int64_t)argument : (int64_t)argument;
}

bool cbor_bool(struct cbor *c)
{
	uint64_t argument = expect(c, CBOR_SIMPLE);

	if (argument != 20 && argument != 21)
		cbor_fail(c, PM_RULE_KIND);
	return !c->err && argument == 21;
}

static double from_half(unsigned half)
{
	int exponent = half >> 10 & 31;
	double mantissa = half & 1023, v;

	if (exponent == 0)
		v = ldexp(mantissa, -24);
	else if (exponent != 31)
		v = ldexp(mantissa + 1024, exponent - 25);
	else
		v = mantissa == 0 ? INFINITY : NAN;
	return half & 0x8000 ? -v : v;
}

double cbor_double(struct cbor *c)
{
	enum cbor_major major = cbor_peek(c);
	uint64_t argument;
	uint32_t narrow;
	unsigned info;
	float single;

	if (major == CBOR_UINT)
		return (double)cbor_uint(c);
	if (major == CBOR_NINT)
		return (double)cbor_int(c);
	if (head(c, &argument, &info) != CBOR_SIMPLE || info < 25) {
		cbor_fail(c, PM_RULE_KIND);
		return 0;
	}
	if (info == 25)
		return from_half((unsigned)argument);
	if (info == 26) {
		narrow = (uint32_t)argument;
		memcpy(&single, &narrow, sizeof(single));
		return single;
	}
	return double_from_bits(argument);
}

const uint8_t *cbor_bytes(struct cbor *c, size_t *len)
{
	uint64_t argument = expect(c, CBOR_BYTES);
	const uint8_t *data;

	*len = 0;
	if (argument > left(c))
		cbor_fail(c, PM_RULE_KIND);
	if (c->err)
		return NULL;
	data = c->at;
	c->at += argument;
	*len = (size_t)argument;
	return data;
}

/* That `len` bytes are left, and UTF-8. */
static void check_text(struct cbor *c, uint64_t len)
{
	if (len > left(c))
		cbor_fail(c, PM_RULE_KIND);
	else if (utf8_valid((const char *)c->at, (size_t)len) != len)
		cbor_fail(c, PM_RULE_TEXT);
}

const char *cbor_text(struct cbor *c, size_t *len)
{
	uint64_t argument = expect(c, CBOR_TEXT);
	const char *text;

	*len = 0;
	check_text(c, argument);
	if (c->err)
		return NULL;
	text = (const char *)c->at;
	c->at += argument;
	*len = (size_t)argument;
	return text;
}

size_t cbor_array(struct cbor *c)
{
	uint64_t n = expect(c, CBOR_ARRAY);

	if (n > left(c))
		cbor_fail(c, PM_RULE_KIND);
	return c->err ? 0 : (size_t)n;
}

uint64_t cbor_tag(struct cbor *c)
{
	return expect(c, CBOR_TAG);
}

void cbor_skip(struct cbor *c)
{
	uint64_t open[PM_MAX_DEPTH + 1] = { 1 }; /* items still to come at each level */
	unsigned depth = 0;

	while (!c->err) {
		uint64_t argument;
		unsigned info;

		while (!open[depth]) {
			if (!depth)
				return;
			depth--;
		}
		open[depth]--;
		switch (head(c, &argument, &info)) {
		case CBOR_BYTES:
			if (argument > left(c))
				cbor_fail(c, PM_RULE_KIND);
			else
				c->at += argument;
			break;
		case CBOR_TEXT:
			check_text(c, argument);
			if (!c->err)
				c->at += argument;
			break;
		case CBOR_TAG:
			argument = 1;
			goto deeper;
		case CBOR_MAP:
			if (argument > left(c) / 2) {
				cbor_fail(c, PM_RULE_KIND);
				break;
			}
			argument *= 2;
			goto deeper;
		case CBOR_ARRAY:
		deeper:
			if (argument > left(c) || depth == PM_MAX_DEPTH)
				cbor_fail(c, depth == PM_MAX_DEPTH ? PM_RULE_LIMIT : PM_RULE_KIND);
			else
				open[++depth] = argument;
			break;
		case CBOR_SIMPLE:
			if (info == 24 && argument < 32)
				cbor_fail(c, PM_RULE_KIND);
			break;
		default:
			break;
		}
	}
}

int cbor_finish(struct cbor *c)
{
	if (!c->err && left(c))
		cbor_fail(c, PM_RULE_KIND);
	return c->err;
}

void cbor_map(struct cbor *c, struct cbor_map *m)
{
	uint64_t n = expect(c, CBOR_MAP);

	*m = (struct cbor_map){ 0 };
	if (n > left(c) / 2)
		cbor_fail(c, PM_RULE_KIND);
	if (!c->err)
		m->left = (size_t)n;
}

void cbor_body(struct cbor *c, struct cbor_map *m)
{
	cbor_map(c, m);
	m->ascending = true;
}

bool cbor_next(struct cbor *c, struct cbor_map *m)
{
	uint64_t key;

	if (c->err || !m->left)
		return false;
	m->left--;
	if (cbor_peek(c) != CBOR_UINT && cbor_peek(c) != CBOR_END)
		cbor_fail(c, PM_RULE_KEYS);
	key = cbor_uint(c);
	if (key > CBOR_KEY_MAX || m->seen[key / 64] >> key % 64 & 1)
		cbor_fail(c, PM_RULE_KEYS);
	else if (m->ascending && key < m->key)
		cbor_fail(c, PM_RULE_ORDER);
	if (c->err)
		return false;
	m->seen[key / 64] |= 1ull << key % 64;
	m->key = (uint32_t)key;
	return true;
}

static void decode_string(struct cbor *c, struct pm_value *v)
{
	bool text = cbor_peek(c) == CBOR_TEXT;
	const void *data;
	size_t len;

	data = text ? (const void *)cbor_text(c, &len) : (const void *)cbor_bytes(c, &len);
	if (len > PM_MAX_STRING)
		cbor_fail(c, PM_RULE_LIMIT);
	if (c->err)
		return;
	*v = text ? pm_text_n(data, len) : pm_bytes(data, len);
	if (!v->str.data)
		c->err = -ENOMEM;
}

static void decode_array(struct cbor *c, struct pm_value *v, unsigned depth)
{
	size_t n = cbor_array(c), cap = n < 16 ? n : 16;

	*v = pm_array((uint32_t)cap);
	if (cap && !v->array.item)
		c->err = -ENOMEM;
	v->array.n = 0;
	/* An item takes much more memory than its bytes in the file: grow the array as items are really read. */
	for (size_t i = 0; i < n && !c->err; i++) {
		if (i == cap) {
			struct pm_value *item;

			cap = cap * 2 < n ? cap * 2 : n;
			item = realloc(v->array.item, cap * sizeof(*item));
			if (!item) {
				c->err = -ENOMEM;
				return;
			}
			v->array.item = item;
		}
		cbor_value(c, &v->array.item[i], depth);
		v->array.n++;
	}
}

void cbor_value(struct cbor *c, struct pm_value *v, unsigned depth)
{
	int64_t s;

	*v = pm_u64(0);
	switch (cbor_peek(c)) {
	case CBOR_UINT:
		*v = pm_u64(cbor_uint(c));
		break;
	case CBOR_NINT:
		s = cbor_int(c);
		*v = pm_s64(s);
		break;
	case CBOR_BYTES:
	case CBOR_TEXT:
		decode_string(c, v);
		break;
	case CBOR_ARRAY:
		if (!depth)
			cbor_fail(c, PM_RULE_LIMIT);
		else
			decode_array(c, v, depth - 1);
		break;
	case CBOR_MAP:
		if (!depth) {
			cbor_fail(c, PM_RULE_LIMIT);
			break;
		}
		v->kind = PM_VALUE_MAP;
		v->map = (struct pm_map){ 0 };
		cbor_value_map(c, &v->map, depth - 1);
		break;
	case CBOR_SIMPLE:
		if ((*c->at & 31) < 24)
			*v = pm_bool(cbor_bool(c));
		else
			*v = pm_f64(cbor_double(c));
		break;
	default:
		cbor_fail(c, PM_RULE_VALUES);
		break;
	}
}

void cbor_value_map(struct cbor *c, struct pm_map *out, unsigned depth)
{
	struct cbor_map m;

	cbor_map(c, &m);
	while (cbor_next(c, &m)) {
		struct cbor start = *c;
		struct pm_value v;

		cbor_value(c, &v, depth);
		if (!c->err) {
			if (pm_map_set(out, m.key, v))
				c->err = -ENOMEM;
			continue;
		}
		pm_value_release(&v);
		if (c->err != -EBADMSG)
			return;
		/* It may be well-formed anyway: of a later version, or private. */
		*c = start;
		cbor_skip(c);
		/* That it exists says enough. */
		if (!c->err && pm_key_critical(m.key) && pm_map_set(out, m.key, pm_bool(true)))
			c->err = -ENOMEM;
	}
}

const char *pm_rule_text(enum pm_rule rule)
{
	static const char *const text[PM_RULE_COUNT] = {
#define X(name, section, words) [PM_RULE_##name] = section ": " words,
		PM_RULES(X)
#undef X
	};

	return rule > PM_RULE_NONE && rule < PM_RULE_COUNT ? text[rule] : "the rules of the format";
}
