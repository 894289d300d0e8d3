/* Text made safe, and base64, against vectors that others publish (RFC 4648). */
#include "report/cmd_html.c"
#include "tests/unit/lib/test.h"

static void check_text(const char *in, const char *want)
{
	struct buf b = BUF_INIT;

	text_markup(&b, in);
	assert_string_equal(buf_str(&b), want);
	buf_release(&b);
}

static void markup(void **state)
{
	check_text("plain \xc3\xa4 text", "plain \xc3\xa4 text");
	check_text("</script><b a=\"1\" c='2'>&amp;",
		   "&lt;/script&gt;&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;amp;");
	check_text("a\x1b[31m\x7f", "a\\x1b[31m\\x7f");
	check_text("\xe2\x80\xa8|\xe2\x80\xae|\xe2\x81\xa6", "\\u2028|\\u202e|\\u2066");
	/* Broken, overlong, surrogate, cut at the end. */
	check_text("\xff|\xc0\xbc|\xed\xa0\x80|\xe2\x80",
		   "\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd"
		   "\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd");
}

static void base64(void **state)
{
	static const char *const vector[][2] = {
		{ "", "" },
		{ "f", "Zg==" },
		{ "fo", "Zm8=" },
		{ "foo", "Zm9v" },
		{ "foob", "Zm9vYg==" },
		{ "fooba", "Zm9vYmE=" },
		{ "foobar", "Zm9vYmFy" },
		{ "\xff\xef\xfe", "/+/+" },
	};

	for (size_t i = 0; i < sizeof(vector) / sizeof(*vector); i++) {
		struct buf b = BUF_INIT;

		put_base64(&b, vector[i][0], strlen(vector[i][0]));
		assert_string_equal(buf_str(&b), vector[i][1]);
		assert_int_equal(b.len, base64_length(strlen(vector[i][0])));
		buf_release(&b);
	}
}

UNIT_TESTS(cmocka_unit_test(markup), cmocka_unit_test(base64))
