/* The encoder: core deterministic encoding (RFC 8949, 4.2.1), so that equal contents are equal bytes. */
#include <errno.h>
#include <string.h>

#include "common/double_bits.h"
#include "common/utf8.h"
#include "format/cbor.h"
#include "format/limits.h"

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
	size_t good = utf8_valid(text, len), size = 0;

	if (good == len) {
		cbor_add_head(b, CBOR_TEXT, len);
		buf_add(b, text, len);
		return;
	}
	for (size_t at = 0; at < len; at += good + (at + good < len)) {
		good = utf8_valid(text + at, len - at);
		size += good + (at + good < len ? 3 : 0);
	}
	cbor_add_head(b, CBOR_TEXT, size);
	for (size_t at = 0; at < len; at += good + (at + good < len)) {
		good = utf8_valid(text + at, len - at);
		buf_add(b, text + at, good);
		if (at + good < len)
			buf_add(b, "\xef\xbf\xbd", 3);
	}
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

static void add_value(struct buf *b, const struct pm_value *v, unsigned depth);

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
