/* JSON: what is written can be read, and what is no JSON is refused. */
#include "common/json.h"
#include "tests/unit/lib/test.h"

static struct json *parse(const char *text)
{
	struct error e = { 0 };
	struct json *j = json_parse(text, strlen(text), &e);

	if (!j)
		fail_msg("%s: %s", text, e.text);
	return j;
}

static void test_look(void **state)
{
	struct json *j = parse("{ \"a\": [1, 2.5, \"x\", null, true], \"b\": { \"c\": \"\\u00e4\" }, \"n\": -3 }");

	assert_int_equal(json_count(j), 3);
	assert_true(json_is_array(json_get(j, "a")));
	assert_int_equal(json_count(json_get(j, "a")), 5);
	assert_true(json_number(json_at(json_get(j, "a"), 1), 0) == 2.5);
	assert_string_equal(json_text(json_at(json_get(j, "a"), 2), ""), "x");
	assert_string_equal(json_text(json_get(json_get(j, "b"), "c"), ""), "\xc3\xa4");
	assert_true(json_number(json_get(j, "n"), 0) == -3);

	/* What is not there, or is something else. */
	assert_null(json_get(j, "x"));
	assert_null(json_get(json_get(j, "a"), "x"));
	assert_null(json_at(j, 0));
	assert_null(json_at(json_get(j, "a"), 5));
	assert_string_equal(json_text(json_get(j, "n"), "none"), "none");
	assert_true(json_number(json_get(j, "b"), 7) == 7);
	assert_null(json_text(NULL, NULL));
	assert_true(json_number(NULL, 7) == 7);
	assert_null(json_get(NULL, "x"));
	assert_null(json_at(NULL, 0));
	assert_int_equal(json_count(NULL), 0);
	assert_int_equal(json_count(json_get(j, "n")), 0);
	assert_false(json_is_array(NULL) || json_text(NULL, NULL));
	json_free(j);
	json_free(NULL);
}

static void check_print(struct json *j, unsigned indent, const char *expected)
{
	struct buf b = BUF_INIT;

	json_print(j, indent, &b);
	assert_string_equal(buf_str(&b), expected);
	buf_release(&b);
}

static void test_build(void **state)
{
	struct json *o = json_new_object(), *a = json_new_array();

	json_put(o, "z", json_new_u64(UINT64_MAX));
	json_put(o, "a", json_new_u64(INT64_MAX));
	json_put(o, "m", json_new_s64(INT64_MIN));
	json_push(a, json_new_f64(0.1));
	json_push(a, json_new_f64(1e300));
	json_push(a, json_new_f64(-0.5e-7));
	json_push(a, json_new_f64(3));
	json_push(a, json_new_f64(NAN));
	json_push(a, json_new_f64(INFINITY));
	json_push(a, json_new_bool(true));
	json_push(a, json_new_bool(false));
	json_push(a, json_new_null());
	json_put(o, "list", a);
	json_put(o, "t", json_new_text("\"\\\n\x01\x7f \xc3\xa4 \xff"));
	json_put(o, "k\xff", json_new_object());
	check_print(o, 0,
		    "{\"z\":\"18446744073709551615\",\"a\":9223372036854775807,\"m\":-9223372036854775808,"
		    "\"list\":[0.1,1e300,-5e-8,3,null,null,true,false,null],"
		    "\"t\":\"\\\"\\\\\\n\\u0001\\u007f \xc3\xa4 \xef\xbf\xbd\",\"k\xef\xbf\xbd\":{}}");
	json_free(o);

	o = json_new_object();
	json_put(o, "a", json_new_array());
	json_push(json_get(o, "a"), json_new_u64(1));
	json_push(json_get(o, "a"), json_new_object());
	check_print(o, 2, "{\n  \"a\": [\n    1,\n    {}\n  ]\n}");
	json_free(o);
}

/* Every code point up to U+FFFF and some beyond: what is quoted parses back to itself. */
static void test_quote(void **state)
{
	for (uint32_t c = 1; c <= 0x10ffff; c += c < 0x10000 ? 1 : 4095) {
		char text[5] = "";
		struct buf b = BUF_INIT;
		struct json *j;

		if (c >= 0xd800 && c < 0xe000)
			continue;
		if (c < 0x80) {
			text[0] = (char)c;
		} else if (c < 0x800) {
			text[0] = (char)(0xc0 | c >> 6);
			text[1] = (char)(0x80 | (c & 63));
		} else if (c < 0x10000) {
			text[0] = (char)(0xe0 | c >> 12);
			text[1] = (char)(0x80 | (c >> 6 & 63));
			text[2] = (char)(0x80 | (c & 63));
		} else {
			text[0] = (char)(0xf0 | c >> 18);
			text[1] = (char)(0x80 | (c >> 12 & 63));
			text[2] = (char)(0x80 | (c >> 6 & 63));
			text[3] = (char)(0x80 | (c & 63));
		}
		json_quote(&b, text, strlen(text));
		for (size_t i = 0; i < b.len; i++)
			assert_true(b.data[i] >= 0x20);
		j = parse(buf_str(&b));
		assert_string_equal(json_text(j, ""), text);
		json_free(j);
		buf_release(&b);
	}
}

static void test_quote_broken(void **state)
{
	/* Lone continuation, cut sequence, overlong form, surrogate, beyond the last code point. */
	static const char *const broken[] = { "\x80",     "\xc3",         "\xe2\x82",
					      "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80",
					      "\xfe" };

	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		struct buf b = BUF_INIT, expected = BUF_INIT;
		struct json *j;

		buf_addch(&expected, '"');
		for (size_t k = 0; k < strlen(broken[i]); k++)
			buf_addstr(&expected, "\xef\xbf\xbd");
		buf_addch(&expected, '"');
		json_quote(&b, broken[i], strlen(broken[i]));
		assert_string_equal(buf_str(&b), buf_str(&expected));
		j = json_new_text(broken[i]);
		assert_int_equal(strlen(json_text(j, "")), 3 * strlen(broken[i]));
		json_free(j);
		buf_release(&b);
		buf_release(&expected);
	}
	{
		struct buf b = BUF_INIT;

		json_quote(&b, "a\0b", 3);
		assert_string_equal(buf_str(&b), "\"a\\u0000b\"");
		buf_release(&b);
	}
}

static void test_errors(void **state)
{
	struct error e = { 0 };

	assert_null(json_parse("{\n\"a\": }", 8, &e));
	assert_int_equal(e.number, EINVAL);
	assert_non_null(strstr(e.text, "line 2"));
	assert_null(json_parse("", 0, &e));
	assert_null(json_parse("1 2", 3, &e));
	assert_null(json_load("/nonexistent/file", &e));
	assert_int_equal(e.number, ENOENT);
	assert_null(json_load("/", &e));
	assert_int_equal(e.number, EISDIR);
}

UNIT_TESTS(cmocka_unit_test(test_look), cmocka_unit_test(test_build), cmocka_unit_test(test_quote),
	   cmocka_unit_test(test_quote_broken), cmocka_unit_test(test_errors))
