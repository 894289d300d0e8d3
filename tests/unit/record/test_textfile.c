/* Files of the kernel that are read again and again. */
#include "record/sources/textfile.h"
#include "tests/unit/lib/sysroot.h"
#include "tests/unit/lib/test.h"

static char dir[32];
static struct root root;
static struct textfile file;

static int setup(void **state)
{
	sysroot_make(dir, NULL);
	root_init(&root, dir);
	return 0;
}

static int teardown(void **state)
{
	textfile_release(&file);
	root_release(&root);
	sysroot_remove(dir);
	return 0;
}

static void open_with(const char *text, const char *labels)
{
	uint32_t tag = 0;

	sysroot_put(dir, "/f", "%s", text);
	assert_int_equal(textfile_open(&file, &root, "/f"), 0);
	for (const char *p = labels; *p; p += strcspn(p, " "), p += *p == ' ')
		textfile_add(&file, p, strcspn(p, " "), tag++);
}

/* Reads the file and writes "tag=first number" of every line, '?' for unknown lines and '-' for no number. */
static void walked(char *out, size_t size)
{
	struct textcursor c;
	uint32_t tag;
	uint64_t v;

	assert_int_equal(textfile_read(&file), 0);
	out[0] = '\0';
	for (c = textfile_begin(&file); textfile_next(&file, &c, &tag);) {
		size_t n = strlen(out);

		n += (size_t)(tag == TEXTFILE_UNKNOWN ? snprintf(out + n, size - n, "?=") :
							snprintf(out + n, size - n, "%u=", tag));
		if (textcursor_u64(&c, &v))
			snprintf(out + n, size - n, "%llu ", (unsigned long long)v);
		else
			snprintf(out + n, size - n, "- ");
	}
}

static void expect(const char *text, const char *expected)
{
	char out[256];

	if (text)
		sysroot_put(dir, "/f", "%s", text);
	walked(out, sizeof(out));
	assert_string_equal(out, expected);
}

static void follows_changing_numbers(void **state)
{
	open_with("a 1\n  b:   22\nc 3\n", "a b c");
	expect(NULL, "0=1 1=22 2=3 ");
	expect("a 1000000\n  b: 5\nc 18446744073709551615\n", "0=1000000 1=5 2=18446744073709551615 ");
}

static void follows_changing_lines(void **state)
{
	open_with("a 1\nb 2\nc 3\nd 4\n", "a b c d");
	expect("a 1\nd 4\n", "0=1 3=4 ");
	/* And again, now that it knows what follows what. */
	expect("a 5\nd 6\n", "0=5 3=6 ");
	expect("a 1\nb 2\nc 3\nd 4\n", "0=1 1=2 2=3 3=4 ");
	expect("d 1\nc 2\nb 3\na 4\n", "3=1 2=2 1=3 0=4 ");
	expect("a 1\nnew 9\nb 2\nab 8\nc 3\n", "0=1 ?=9 1=2 ?=8 2=3 ");
	expect("", "");
	expect("\n\n   \n", "");
	expect("b 7", "1=7 ");
}

/* /proc/schedstat has a "domain0" behind every CPU. */
static void labels_may_repeat(void **state)
{
	open_with("x 1\nd 2\ny 3\nd 4\nz 5\nd 6\n", "x d y d z d");
	expect(NULL, "0=1 1=2 2=3 3=4 4=5 5=6 ");
	expect("x 1\nd 2\nz 5\nd 6\n", "0=1 1=2 4=5 3=6 ");
	expect("d 2\nd 4\nd 6\nx 1\nd 7\nd:8\n", "1=2 3=4 5=6 0=1 ?=7 ?=8 ");
	expect("x 1\nd 2\ny 3\nd 4\nz 5\nd 6\n", "0=1 1=2 2=3 3=4 4=5 5=6 ");
}

static void words_are_no_numbers(void **state)
{
	open_with("a x\nb -5\nc 5x\nd\ne 0x10\nf 1.5\ng 7\t8\n", "a b c d e f g");
	expect(NULL, "0=- 1=- 2=- 3=- 4=- 5=- 6=7 ");
}

static void numbers_end_with_their_line(void **state)
{
	struct textcursor c;
	uint64_t v = 0;

	open_with("a 1 2\nb 3\n", "");
	c = textfile_begin(&file);
	assert_true(textcursor_line(&c));
	assert_true(textcursor_u64(&c, &v));
	assert_true(textcursor_u64(&c, &v));
	assert_int_equal(v, 2);
	assert_false(textcursor_u64(&c, &v));
	assert_true(textcursor_line(&c));
	assert_true(textcursor_u64(&c, &v));
	assert_int_equal(v, 3);
	assert_false(textcursor_u64(&c, &v));
	assert_false(textcursor_line(&c));
}

static void finds_words_within_the_line(void **state)
{
	struct textcursor c;
	const char *rest;
	uint64_t v;
	size_t len;

	open_with("some avg=1 total=12\nfull 34   tail \nsome total=5\nnone some total=9", "");
	assert_true(text_sum(file.data, "some", " total=", &v));
	assert_int_equal(v, 17);
	assert_false(text_sum(file.data, "full", " total=", &v));
	c = textfile_begin(&file);
	assert_true(textcursor_line(&c));
	assert_true(textcursor_line(&c));
	assert_true(textcursor_u64(&c, &v));
	rest = textcursor_rest(&c, &len);
	assert_int_equal(len, 4);
	assert_memory_equal(rest, "tail", 4);
}

static void says_when_the_text_outgrows_it(void **state)
{
	char big[40001], out[32];

	open_with("a 1\n", "a");
	memset(big, ' ', 40000);
	big[40000] = '\0';
	memcpy(big, "a 5\n", 4);
	sysroot_put(dir, "/f", "%s", big);
	assert_int_equal(textfile_read(&file), -EFBIG);
	assert_int_equal(textfile_grow(&file), 0);
	walked(out, sizeof(out));
	assert_string_equal(out, "0=5 ");
	/* Growing where there is room changes nothing. */
	sysroot_put(dir, "/f", "a 6\n");
	assert_int_equal(textfile_grow(&file), 0);
	expect(NULL, "0=6 ");
}

static void missing_files_are_errors(void **state)
{
	assert_int_equal(textfile_open(&file, &root, "/none"), -ENOENT);
	assert_int_equal(file.fd < 0, 1);
}

UNIT_TESTS(cmocka_unit_test_setup_teardown(follows_changing_numbers, setup, teardown),
	   cmocka_unit_test_setup_teardown(follows_changing_lines, setup, teardown),
	   cmocka_unit_test_setup_teardown(labels_may_repeat, setup, teardown),
	   cmocka_unit_test_setup_teardown(words_are_no_numbers, setup, teardown),
	   cmocka_unit_test_setup_teardown(numbers_end_with_their_line, setup, teardown),
	   cmocka_unit_test_setup_teardown(finds_words_within_the_line, setup, teardown),
	   cmocka_unit_test_setup_teardown(says_when_the_text_outgrows_it, setup, teardown),
	   cmocka_unit_test_setup_teardown(missing_files_are_errors, setup, teardown))
