#include "common/table.h"
#include "common/utf8.h"
#include "tests/unit/lib/test.h"

static struct table *sample(void)
{
	struct table *t = table_new();

	assert_non_null(t);
	table_column(t, "NAME", TABLE_LEFT, false);
	table_column(t, "VALUE", TABLE_RIGHT, false);
	table_column(t, "WHAT", TABLE_LEFT, true);
	table_row(t);
	table_cell(t, "cpu", NULL);
	table_cell(t, "1.5", "31");
	table_cell(t, "a processor", NULL);
	table_row(t);
	table_cell(t, "temperature", NULL);
	table_cell(t, "12345678", NULL);
	return t;
}

/* Blanks at the ends of lines are nobody's business. */
static char *print(struct table *t, unsigned width, bool heads, bool colors)
{
	struct buf b = BUF_INIT, trimmed = BUF_INIT;
	char *out;

	table_print(t, width, heads, colors, &b);
	for (size_t i = 0; i < b.len; i++) {
		if (b.data[i] == '\n')
			while (trimmed.len && trimmed.data[trimmed.len - 1] == ' ')
				trimmed.len--;
		buf_addch(&trimmed, (char)b.data[i]);
	}
	buf_addch(&trimmed, '\0');
	out = buf_detach(&trimmed);
	assert_non_null(out);
	buf_release(&b);
	return out;
}

static void test_color(void **state)
{
	struct table *t = sample();
	char *text = print(t, 0, true, true);
	const char *on = strstr(text, "\033[31m"), *value = strstr(text, "1.5");

	assert_true(on && value && on < value);
	assert_non_null(strstr(value, "\033["));
	free(text);
	text = print(t, 0, true, false);
	assert_null(strchr(text, '\033'));
	free(text);
	table_free(t);
}

/* A library that breaks lines anywhere makes "proce" and "ssor" of a processor. */
static void test_words(void **state)
{
	static const char *const said[] = {
		"every processor of the machine takes part in what is printed here",
		"/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq",
	};
	struct table *t = table_new();
	struct buf b = BUF_INIT, joined = BUF_INIT;
	char *text, *line;

	assert_non_null(t);
	table_column(t, "WHAT", TABLE_LEFT, true);
	table_row(t);
	table_cell(t, said[0], NULL);
	table_row(t);
	table_cell(t, said[1], NULL);
	table_print(t, 30, false, false, &b);
	text = buf_detach(&b);
	assert_non_null(text);
	for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		assert_in_range(strlen(line), 1, 30);
		assert_true(line[strlen(line) - 1] != ' ');
		buf_printf(&joined, "%s%s", joined.len && !strchr(line, '/') ? " " : "", line);
	}
	assert_non_null(strstr(buf_str(&joined), said[0]));
	assert_non_null(strstr(buf_str(&joined), said[1]));
	assert_null(strstr(buf_str(&joined), "  "));
	buf_release(&joined);
	buf_release(&b);
	free(text);
	table_free(t);
}

/* Ten lines of one word each help nobody: then the terminal may break the lines. */
static void test_too_narrow(void **state)
{
	struct table *t = sample();
	char *text = print(t, 22, true, false);

	assert_string_equal(text, "NAME           VALUE WHAT\n"
				  "cpu              1.5 a processor\n"
				  "temperature 12345678\n");
	free(text);
	table_free(t);
}

static void test_hostile(void **state)
{
	struct table *t = table_new();
	char *text;

	assert_non_null(t);
	table_column(t, "A\033[2J", TABLE_LEFT, false);
	table_column(t, "B", TABLE_LEFT, false);
	table_row(t);
	table_cell(t, "x\033]0;title\007y\nz\t\xff\xc2\x9b\xe2\x80\xae", NULL);
	table_cell(t, "\\x1b", NULL);
	text = print(t, 0, true, false);
	for (const char *c = text; *c; c++)
		assert_true(*c == '\n' || (*c >= ' ' && *c < 0x7f));
	assert_non_null(strstr(text, "x\\x1b]0;title\\x07y\\x0az\\x09\\xff\\u009b\\u202e"));
	assert_non_null(strstr(text, "A\\x1b[2J"));
	free(text);
	table_free(t);
}

static void test_misuse(void **state)
{
	struct table *t = table_new();
	struct buf b = BUF_INIT;

	assert_non_null(t);
	table_print(t, 0, true, false, &b);
	assert_int_equal(b.len, 0);
	table_column(t, "A", TABLE_LEFT, false);
	table_print(t, 0, true, false, &b);
	assert_int_equal(b.len, 0); /* no rows, no heads */
	table_cell(t, "no row", NULL);
	table_row(t);
	table_cell(t, "a cell", NULL);
	table_cell(t, "no column", NULL);
	table_column(t, "behind a row", TABLE_LEFT, false);
	table_print(t, 0, true, false, &b);
	assert_string_equal(buf_str(&b), "A\na cell\n");
	table_free(t);
	buf_release(&b);
	table_row(NULL);
	table_cell(NULL, "no table", NULL);
	table_free(NULL);
}

static void check_escape(const char *text, size_t len, const char *expected)
{
	struct buf b = BUF_INIT;

	text_escape(&b, text, len);
	assert_string_equal(buf_str(&b), expected);
	buf_release(&b);
}

static void test_escape(void **state)
{
	check_escape("plain text", 10, "plain text");
	check_escape("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", 9, "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
	check_escape("\0\x1f\x7f", 3, "\\x00\\x1f\\x7f");
	check_escape("\xc2\x85", 2, "\\u0085");
	check_escape("\xc3", 1, "\\xc3");
	check_escape("\xc0\xaf", 2, "\\xc0\\xaf");
	check_escape("\xed\xa0\x80", 3, "\\xed\\xa0\\x80");
	check_escape("\xe2\x81\xa6\xef\xbb\xbf", 6, "\\u2066\\ufeff");
	check_escape("\xf3\xa0\x81\x81", 4, "\\U000e0041");
	check_escape("a\\b", 3, "a\\b");
}

/* Whatever the bytes, nothing that a terminal obeys is left. */
static void test_escape_all(void **state)
{
	for (unsigned a = 0; a < 256; a++)
		for (unsigned c = 0; c < 256; c++) {
			char text[] = { (char)a, (char)c };
			struct buf b = BUF_INIT;
			uint32_t code;

			text_escape(&b, text, 2);
			for (size_t i = 0, n; i < b.len; i += n) {
				n = utf8_decode((const char *)b.data + i, b.len - i, &code);
				assert_true(n > 0);
				assert_true(code >= 0x20 && (code < 0x7f || code >= 0xa0));
			}
			buf_release(&b);
		}
}

UNIT_TESTS(cmocka_unit_test(test_color), cmocka_unit_test(test_words), cmocka_unit_test(test_too_narrow),
	   cmocka_unit_test(test_hostile), cmocka_unit_test(test_misuse), cmocka_unit_test(test_escape),
	   cmocka_unit_test(test_escape_all))
