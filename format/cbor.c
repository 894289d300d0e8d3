/* The pull decoder. It checks every length against the bytes left before using it. */
#include "format/cbor.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "common/double_bits.h"
#include "common/memory.h"
#include "common/utf8.h"
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

size_t cbor_tuples(struct cbor *c, size_t size)
{
	size_t n = cbor_array(c);

	if (n % size)
		cbor_fail(c, PM_RULE_PAIRS);
	return c->err ? 0 : n;
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
	memory_checked(v->str.data);
}

static void decode_array(struct cbor *c, struct pm_value *v, unsigned depth)
{
	size_t n = cbor_array(c), cap = n < 16 ? n : 16;

	*v = (struct pm_value){ .kind = PM_VALUE_ARRAY, .array.item = memory_new(cap, sizeof(*v)) };
	/* An item takes much more memory than its bytes in the file: grow the array as items are really read. */
	for (size_t i = 0; i < n && !c->err; i++) {
		if (i == cap) {
			cap = cap * 2 < n ? cap * 2 : n;
			v->array.item = memory_resize(v->array.item, cap, sizeof(*v));
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
			memory_done(pm_map_set(out, m.key, v));
			continue;
		}
		pm_value_release(&v);
		if (c->err != -EBADMSG)
			return;
		/* It may be well-formed anyway: of a later version, or private. */
		*c = start;
		cbor_skip(c);
		/* That it exists says enough. */
		if (!c->err && pm_key_critical(m.key))
			memory_done(pm_map_set(out, m.key, pm_bool(true)));
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

/* The encoder: core deterministic encoding (RFC 8949, 4.2.1), so that equal contents are equal bytes. */

static void put_be(uint8_t *out, uint64_t v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		out[i] = (uint8_t)(v >> 8 * (bytes - 1 - i));
}

void cbor_add_head(struct buf *b, enum cbor_major major, uint64_t argument)
{
	uint8_t head[9];
	unsigned bytes = argument < 24          ? 0 :
			 argument <= UINT8_MAX  ? 1 :
			 argument <= UINT16_MAX ? 2 :
			 argument <= UINT32_MAX ? 4 :
						  8;
	static const uint8_t info[9] = { [1] = 24, [2] = 25, [4] = 26, [8] = 27 };

	head[0] = (uint8_t)(major << 5 | (bytes ? info[bytes] : (uint8_t)argument));
	put_be(head + 1, argument, bytes);
	buf_add(b, head, 1 + bytes);
}

void cbor_add_uint(struct buf *b, uint64_t v)
{
	cbor_add_head(b, CBOR_UINT, v);
}

void cbor_add_int(struct buf *b, int64_t v)
{
	if (v < 0)
		cbor_add_head(b, CBOR_NINT, ~(uint64_t)v);
	else
		cbor_add_head(b, CBOR_UINT, (uint64_t)v);
}

void cbor_add_bytes(struct buf *b, const void *data, size_t len)
{
	cbor_add_head(b, CBOR_BYTES, len);
	buf_add(b, data, len);
}

void cbor_add_text(struct buf *b, const char *text, size_t len)
{
	SCOPED(buf_release) struct buf good = BUF_INIT;

	if (utf8_valid(text, len) != len) {
		utf8_repair(&good, text, len);
		buf_carry(b, &good);
		text = (const char *)good.data;
		len = good.len;
	}
	cbor_add_head(b, CBOR_TEXT, len);
	buf_add(b, text, len);
}

void cbor_add_bool(struct buf *b, bool v)
{
	cbor_add_head(b, CBOR_SIMPLE, v ? 21 : 20);
}

/* The half-precision number that equals this single, or -1. */
static int half_of(float single)
{
	uint32_t bits, mantissa;
	int exponent, sign;

	memcpy(&bits, &single, sizeof(bits));
	sign = bits >> 16 & 0x8000;
	exponent = (int)(bits >> 23 & 0xff) - 127;
	mantissa = bits & 0x7fffff;
	if (exponent == -127)
		return mantissa ? -1 : sign;
	if (exponent == 128)
		return mantissa ? -1 : sign | 0x7c00;
	if (exponent > 15 || exponent < -24)
		return -1;
	if (exponent < -14) {
		unsigned shift = (unsigned)(-14 - exponent) + 13;

		mantissa |= 0x800000;
		return mantissa & ((1u << shift) - 1) ? -1 : sign | (int)(mantissa >> shift);
	}
	return mantissa & 0x1fff ? -1 : sign | (exponent + 15) << 10 | (int)(mantissa >> 13);
}

void cbor_add_double(struct buf *b, double v)
{
	uint8_t item[9];
	unsigned bytes = 8;
	float single = (float)v;

	if (v != v) {
		item[0] = 0xf9;
		put_be(item + 1, 0x7e00, 2);
		bytes = 2;
	} else if ((double)single == v) {
		uint32_t narrow;
		int half = half_of(single);

		memcpy(&narrow, &single, sizeof(narrow));
		bytes = half >= 0 ? 2 : 4;
		item[0] = half >= 0 ? 0xf9 : 0xfa;
		put_be(item + 1, half >= 0 ? (uint64_t)half : narrow, bytes);
	} else {
		item[0] = 0xfb;
		put_be(item + 1, double_to_bits(v), 8);
	}
	buf_add(b, item, 1 + bytes);
}

static void refuse(struct buf *b, int err)
{
	if (!b->err)
		b->err = err;
}

static void add_map(struct buf *b, const struct pm_map *m, unsigned depth);

/* What readers would refuse is not written. */
static void add_value(struct buf *b, const struct pm_value *v, unsigned depth)
{
	if (((v->kind == PM_VALUE_TEXT || v->kind == PM_VALUE_BYTES) && v->str.len > PM_MAX_STRING) ||
	    ((v->kind == PM_VALUE_ARRAY || v->kind == PM_VALUE_MAP) && !depth)) {
		refuse(b, -E2BIG);
		return;
	}
	switch (v->kind) {
	case PM_VALUE_U64:
		cbor_add_uint(b, v->u64);
		break;
	case PM_VALUE_S64:
		cbor_add_int(b, v->s64);
		break;
	case PM_VALUE_F64:
		cbor_add_double(b, v->f64);
		break;
	case PM_VALUE_BOOL:
		cbor_add_bool(b, v->boolean);
		break;
	case PM_VALUE_TEXT:
		cbor_add_text(b, v->str.data, v->str.len);
		break;
	case PM_VALUE_BYTES:
		cbor_add_bytes(b, v->str.data, v->str.len);
		break;
	case PM_VALUE_ARRAY:
		cbor_add_head(b, CBOR_ARRAY, v->array.n);
		for (uint32_t i = 0; i < v->array.n; i++)
			add_value(b, &v->array.item[i], depth - 1);
		break;
	case PM_VALUE_MAP:
		add_map(b, &v->map, depth - 1);
		break;
	}
}

static void add_map(struct buf *b, const struct pm_map *m, unsigned depth)
{
	/* Fields are sorted by number, which is the deterministic order of unsigned keys. */
	cbor_add_head(b, CBOR_MAP, m->n);
	for (uint32_t i = 0; i < m->n; i++) {
		if (m->field[i].key > CBOR_KEY_MAX)
			refuse(b, -EINVAL);
		cbor_add_uint(b, m->field[i].key);
		add_value(b, &m->field[i].value, depth);
	}
}

void cbor_add_value(struct buf *b, const struct pm_value *v)
{
	add_value(b, v, CBOR_ATTRS_DEPTH);
}

void cbor_add_map(struct buf *b, const struct pm_map *m)
{
	add_map(b, m, CBOR_ATTRS_DEPTH);
}

struct cbor_fields cbor_fields(struct buf *b)
{
	struct cbor_fields f = { .out = b, .head = b->len };

	cbor_add_head(b, CBOR_MAP, 0);
	return f;
}

void cbor_field(struct cbor_fields *f, uint32_t key)
{
	cbor_add_uint(f->out, key);
	/* Up to this count the head is one byte. */
	if (!f->out->err)
		f->out->data[f->head]++;
}

void cbor_field_uint(struct cbor_fields *f, uint32_t key, uint64_t v)
{
	cbor_field(f, key);
	cbor_add_uint(f->out, v);
}

void cbor_field_int(struct cbor_fields *f, uint32_t key, int64_t v)
{
	cbor_field(f, key);
	cbor_add_int(f->out, v);
}

void cbor_field_unless(struct cbor_fields *f, uint32_t key, uint64_t v, uint64_t unless)
{
	if (v != unless)
		cbor_field_uint(f, key, v);
}

void cbor_field_items(struct cbor_fields *f, uint32_t key, uint64_t n, const struct buf *items)
{
	cbor_field(f, key);
	cbor_add_head(f->out, CBOR_ARRAY, n);
	buf_carry(f->out, items);
	buf_add(f->out, items->data, items->len);
}

void cbor_field_ranges(struct cbor_fields *f, uint32_t key, const uint32_t *id, size_t all)
{
	uint64_t ranges = 0;

	for (size_t i = 0; i < all; i++)
		ranges += !i || id[i] != id[i - 1] + 1;
	cbor_field(f, key);
	cbor_add_head(f->out, CBOR_ARRAY, 2 * ranges);
	for (size_t i = 0; i < all;) {
		size_t n = 1;

		while (i + n < all && id[i + n] == id[i] + n)
			n++;
		cbor_add_uint(f->out, id[i]);
		cbor_add_uint(f->out, n);
		i += n;
	}
}
