/* CBOR: the examples of RFC 8949, and what a decoder must refuse. */
#include "format/cbor.h"
#include "format/limits.h"
#include "tests/unit/lib/test.h"

static void assert_hex(struct buf *b, const char *hex)
{
	char text[256] = "";

	assert_int_equal(b->err, 0);
	for (size_t i = 0; i < b->len; i++)
		snprintf(text + 2 * i, 3, "%02x", b->data[i]);
	assert_string_equal(text, hex);
	buf_release(b);
}

static size_t unhex(const char *hex, uint8_t *out)
{
	size_t n = strlen(hex) / 2;

	for (size_t i = 0; i < n; i++) {
		unsigned byte;

		sscanf(hex + 2 * i, "%2x", &byte);
		out[i] = (uint8_t)byte;
	}
	return n;
}

/* RFC 8949, appendix A. */
static void encodes_as_the_rfc_prints(void **state)
{
	static const struct {
		int64_t v;
		const char *hex;
	} ints[] = {
		{ 0, "00" },
		{ 10, "0a" },
		{ 23, "17" },
		{ 24, "1818" },
		{ 100, "1864" },
		{ 1000, "1903e8" },
		{ 1000000, "1a000f4240" },
		{ 1000000000000, "1b000000e8d4a51000" },
		{ -1, "20" },
		{ -10, "29" },
		{ -100, "3863" },
		{ -1000, "3903e7" },
		{ INT64_MIN, "3b7fffffffffffffff" },
	};
	static const struct {
		double v;
		const char *hex;
	} doubles[] = {
		{ 0.0, "f90000" },
		{ -0.0, "f98000" },
		{ 1.0, "f93c00" },
		{ 1.1, "fb3ff199999999999a" },
		{ 1.5, "f93e00" },
		{ 65504.0, "f97bff" },
		{ 100000.0, "fa47c35000" },
		{ 3.4028234663852886e+38, "fa7f7fffff" },
		{ 1.0e+300, "fb7e37e43c8800759c" },
		{ 5.960464477539063e-8, "f90001" },
		{ 0.00006103515625, "f90400" },
		{ -4.0, "f9c400" },
		{ -4.1, "fbc010666666666666" },
		{ INFINITY, "f97c00" },
		{ NAN, "f97e00" },
		{ -INFINITY, "f9fc00" },
	};
	struct buf b = BUF_INIT;

	for (size_t i = 0; i < sizeof(ints) / sizeof(ints[0]); i++) {
		cbor_add_int(&b, ints[i].v);
		assert_hex(&b, ints[i].hex);
	}
	cbor_add_uint(&b, UINT64_MAX);
	assert_hex(&b, "1bffffffffffffffff");
	for (size_t i = 0; i < sizeof(doubles) / sizeof(doubles[0]); i++) {
		uint8_t bytes[16];
		struct cbor c = cbor_over(bytes, unhex(doubles[i].hex, bytes));
		double back = cbor_double(&c);

		assert_int_equal(cbor_finish(&c), 0);
		if (doubles[i].v == doubles[i].v)
			assert_memory_equal(&back, &doubles[i].v, sizeof(back));
		else
			assert_true(back != back);
		cbor_add_double(&b, doubles[i].v);
		assert_hex(&b, doubles[i].hex);
	}
	cbor_add_text(&b, "\xc3\xbc", 2);
	assert_hex(&b, "62c3bc");
	cbor_add_bytes(&b, "\1\2\3\4", 4);
	assert_hex(&b, "4401020304");
	cbor_add_bool(&b, true);
	cbor_add_bool(&b, false);
	assert_hex(&b, "f5f4");
}

static void text_becomes_utf8(void **state)
{
	struct buf b = BUF_INIT;

	cbor_add_text(&b,
		      "a\xff"
		      "b",
		      3);
	assert_hex(&b, "6561efbfbd62");
	cbor_add_text(&b, "\xed\xa0\x80", 3); /* a surrogate: three bytes, none of them good */
	assert_hex(&b, "69efbfbdefbfbdefbfbd");
	cbor_add_text(&b, "\xf0\x9f\x98", 3);
	assert_hex(&b, "69efbfbdefbfbdefbfbd");
	cbor_add_text(&b, "\xf0\x9f\x98\x80", 4);
	assert_hex(&b, "64f09f9880");
}

/* Well-formed, not well-formed, and well-formed but not ours. */
static void takes_and_refuses(void **state)
{
	static const struct {
		const char *hex;
		int ok;
	} t[] = {
		{ "00", 1 },
		{ "1b00000000000000ff", 1 /* not the shortest, but well-formed */ },
		{ "f6", 1 },
		{ "f7", 1 },
		{ "f8ff", 1 },
		{ "c074323031332d30332d32315432303a30343a30305a", 1 },
		{ "a201020304", 1 },
		{ "a2030401020506", 0 /* trailing */ },
		{ "80", 1 },
		{ "a0", 1 },
		{ "8301820203820405", 1 },
		{ "d818456449455446", 1 },
		{ "fb7e37e43c8800759c", 1 },
		{ "", 0 },
		{ "18", 0 },
		{ "19ff", 0 },
		{ "1c", 0 },
		{ "1d", 0 },
		{ "1e", 0 },
		{ "1f", 0 },
		{ "5f4101ff", 0 },
		{ "9f01ff", 0 },
		{ "bf0102ff", 0 },
		{ "ff", 0 },
		{ "fc", 0 },
		{ "f800", 0 },
		{ "f81f", 0 },
		{ "41", 0 },
		{ "62ff00", 0 /* no UTF-8 */ },
		{ "61c0", 0 },
		{ "8101ff", 0 },
		{ "81", 0 },
		{ "a101", 0 },
		{ "9b7fffffffffffffff00", 0 },
		{ "bb7fffffffffffffff0000", 0 },
		{ "5bffffffffffffffff00", 0 },
		{ "9a1200000001", 0 },
		{ "d9d9f7", 0 },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		uint8_t bytes[64];
		struct cbor c = cbor_over(bytes, unhex(t[i].hex, bytes));

		cbor_skip(&c);
		if (cbor_finish(&c) != (t[i].ok ? 0 : -EBADMSG))
			fail_msg("%s was judged wrongly", t[i].hex);
	}
}

static void depth_is_capped(void **state)
{
	uint8_t nested[64];

	memset(nested, 0x81, sizeof(nested));
	for (unsigned depth = 1; depth < 40; depth++) {
		struct cbor c;

		nested[depth] = 0;
		c = cbor_over(nested, depth + 1);
		cbor_skip(&c);
		assert_int_equal(cbor_finish(&c), depth <= PM_MAX_DEPTH ? 0 : -EBADMSG);
		nested[depth] = 0x81;
	}
}

static void maps_in_any_order_without_twins(void **state)
{
	static const struct {
		const char *hex;
		int ok;
	} t[] = {
		{ "a3010a020b03f5", 1 },
		{ "a3030a010b020c", 1 },
		{ "a2010a010b", 0 },
		{ "a3050a010b050c", 0 },
		{ "a120"
		  "01",
		  0 },             /* negative key */
		{ "a1616101", 0 }, /* text key */
		{ "a1190200"
		  "01",
		  0 }, /* key 512 */
		{ "a11901ff"
		  "01",
		  1 }, /* key 511 */
		{ "a201010180", 0 },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		uint8_t bytes[64];
		struct cbor c = cbor_over(bytes, unhex(t[i].hex, bytes)), d = c;
		struct pm_map values = { 0 };
		struct cbor_map m;

		for (cbor_map(&c, &m); cbor_next(&c, &m);)
			cbor_skip(&c);
		cbor_value_map(&d, &values, 4);
		if ((cbor_finish(&c) == 0) != t[i].ok || (cbor_finish(&d) == 0) != t[i].ok)
			fail_msg("%s was judged wrongly", t[i].hex);
		pm_map_release(&values);
	}
}

/* The encoder refuses what the decoder would. */
static void limits_hold_on_both_sides(void **state)
{
	struct pm_value nest = pm_u64(1), text;
	struct pm_map m = { 0 };
	struct buf b = BUF_INIT;
	char *big = calloc(1, PM_MAX_STRING + 2);

	for (unsigned depth = 0; depth < CBOR_ATTRS_DEPTH + 2; depth++) {
		struct pm_value outer = pm_array(1), back;
		struct cbor c;

		buf_clear(&b);
		cbor_add_value(&b, &nest);
		assert_int_equal(b.err, depth <= CBOR_ATTRS_DEPTH ? 0 : -E2BIG);
		if (!b.err) {
			c = cbor_over(b.data, b.len);
			cbor_value(&c, &back, CBOR_ATTRS_DEPTH);
			assert_int_equal(cbor_finish(&c), 0);
			assert_true(pm_value_equal(&nest, &back));
			pm_value_release(&back);
		}
		outer.array.item[0] = nest;
		nest = outer;
	}
	pm_value_release(&nest);
	memset(big, 'x', PM_MAX_STRING + 1);
	for (size_t more = 0; more < 2; more++) {
		buf_clear(&b);
		text = pm_text_n(big, PM_MAX_STRING + more);
		cbor_add_value(&b, &text);
		assert_int_equal(b.err, more ? -E2BIG : 0);
		pm_value_release(&text);
	}
	free(big);
	for (uint32_t key = CBOR_KEY_MAX; key < CBOR_KEY_MAX + 2; key++) {
		buf_clear(&b);
		assert_int_equal(pm_map_set(&m, key, pm_u64(1)), 0);
		cbor_add_map(&b, &m);
		assert_int_equal(b.err, key > CBOR_KEY_MAX ? -EINVAL : 0);
	}
	pm_map_release(&m);
	buf_release(&b);
}

UNIT_TESTS(cmocka_unit_test(encodes_as_the_rfc_prints), cmocka_unit_test(text_becomes_utf8),
	   cmocka_unit_test(takes_and_refuses), cmocka_unit_test(depth_is_capped),
	   cmocka_unit_test(maps_in_any_order_without_twins), cmocka_unit_test(limits_hold_on_both_sides))
