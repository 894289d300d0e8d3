/* Values, damage and events of a recording as text and as JSON. */
#include "report/machine/status.h"
#include "report/machine/value_out.h"
#include "tests/unit/lib/test.h"

static const struct pm_key_row keys[] = { { .key = 1, .name = "one" }, { 0 } };

/* [1, [2, 3], [4, 5, 6], "x"] */
static struct pm_value nested(void)
{
	struct pm_value v = pm_array(4);

	v.array.item[0] = pm_u64(1);
	for (uint32_t i = 1, n = 2; i < 3; i++) {
		v.array.item[i] = pm_array(i + 1);
		for (uint32_t k = 0; k <= i; k++)
			v.array.item[i].array.item[k] = pm_u64(n++);
	}
	v.array.item[3] = pm_text("x");
	return v;
}

static struct pm_value map(void)
{
	struct pm_value v = { .kind = PM_VALUE_MAP };

	assert_int_equal(pm_map_set(&v.map, 1, pm_bool(true)), 0);
	assert_int_equal(pm_map_set(&v.map, 2, pm_s64(-3)), 0);
	return v;
}

static void values(void **state)
{
	struct {
		struct pm_value v;
		const char *text, *json;
	} c[] = {
		{ pm_u64(UINT64_MAX), "18446744073709551615", "\"18446744073709551615\"" },
		{ pm_s64(INT64_MIN), "-9223372036854775808", "-9223372036854775808" },
		{ pm_f64(0.25), "0.25", "0.25" },
		{ pm_bool(true), "yes", "true" },
		{ pm_bool(false), "no", "false" },
		{ pm_text("a b"), "a b", "\"a b\"" },
		{ pm_bytes("\x01\xfe", 2), "01fe", "\"01fe\"" },
		{ pm_array(0), "", "[]" },
		{ nested(), "1, 2=3, [4, 5, 6], x", "[1,[2,3],[4,5,6],\"x\"]" },
		{ map(), "key-1=yes, key-2=-3", "{\"key-1\":true,\"key-2\":-3}" },
	};

	for (size_t i = 0; i < sizeof(c) / sizeof(*c); i++) {
		SCOPED(buf_release) struct buf text = BUF_INIT, out = BUF_INIT;
		struct json *j = value_json(&c[i].v);

		value_text(&c[i].v, &text);
		assert_string_equal(buf_str(&text), c[i].text);
		json_print(j, 0, &out);
		assert_string_equal(buf_str(&out), c[i].json);
		json_free(j);
		pm_value_release(&c[i].v);
	}
}

static void maps(void **state)
{
	struct pm_value v = map();
	SCOPED(buf_release) struct buf text = BUF_INIT, out = BUF_INIT;
	struct json *j = map_json(&v.map, keys);

	map_text(&v.map, keys, &text);
	assert_string_equal(buf_str(&text), "one=yes key-2=-3");
	json_print(j, 0, &out);
	assert_string_equal(buf_str(&out), "{\"one\":true,\"key-2\":-3}");
	json_free(j);
	pm_value_release(&v);
	assert_string_equal(privacy_name(PM_PRIVACY_MACHINE), "machine");
	assert_string_equal(privacy_name(PM_PRIVACY_TIME), "time");
	/* What a later version may add is personal as far as this one knows. */
	assert_string_equal(privacy_name((enum pm_privacy)99), "person");
	assert_string_equal(damage_name((enum pm_damage_kind)99), "unknown");
}

/* 2026-09-21T14:13:20Z is 1790000000. */
#define WALL(s) (UINT64_C(1790000000000000000) + (s)*UINT64_C(1000000000))

UNIT_TESTS(cmocka_unit_test(values), cmocka_unit_test(maps))
