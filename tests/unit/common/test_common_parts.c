/* Small parts that have no test of their own: random bytes where the kernel is old, sockets of PCI root complexes,
 * texts as others want them, units, what options store. */
#include <sys/random.h>

#include "common/event/event.h"
#include "common/file.h"
#include "common/options_table.h"
#include "common/parse.h"
#include "common/pci_map.h"
#include "common/random.h"
#include "common/table.h"
#include "common/utf8.h"
#include "tests/unit/lib/test.h"

/* ---- random bytes ---- */

#define INSECURE 4 /* Linux 5.6 */

static unsigned known; /* flags that this kernel has, a bit each; bit 7: the call itself */
static unsigned asked;

ssize_t __wrap_getrandom(void *to, size_t n, unsigned flags);

ssize_t __wrap_getrandom(void *to, size_t n, unsigned flags)
{
	asked++;
	if (!(known & 128) || flags & ~known) {
		errno = known & 128 ? EINVAL : ENOSYS;
		return -1;
	}
	memset(to, (int)flags, n);
	return (ssize_t)n;
}

static void random_bytes_come_from_any_kernel(void **state)
{
	uint8_t a[16] = { 0 }, b[16] = { 0 };

	known = 128 | INSECURE | GRND_NONBLOCK;
	assert_int_equal(random_bytes(a, sizeof(a)), 0);
	assert_int_equal(a[0], INSECURE);
	assert_int_equal(a[15], INSECURE);
	assert_int_equal(asked, 1);
	known = 128 | GRND_NONBLOCK;
	assert_int_equal(random_bytes(a, sizeof(a)), 0);
	assert_int_equal(a[15], GRND_NONBLOCK);
	assert_int_equal(asked, 3);
	/* /dev/urandom. */
	known = 0;
	assert_int_equal(random_bytes(a, sizeof(a)), 0);
	assert_int_equal(random_bytes(b, sizeof(b)), 0);
	assert_memory_not_equal(a, b, sizeof(a));
}

/* ---- sockets ---- */

static int socket_of(const int ports[][2], size_t n_ports, const char *const *cpus, size_t n, size_t which, int node)
{
	struct pci_map m = { .state = PCI_KNOWN };
	int socket;

	for (size_t i = 0; i < n_ports; i++)
		pci_map_add_port(&m, &(struct pci_port){ .socket = ports[i][0], .node = ports[i][1] });
	socket = pci_map_socket(&m, cpus, n, which, node);
	pci_map_release(&m);
	return socket;
}

static void nodes_decide_where_they_differ(void **state)
{
	static const int two[][2] = { { 0, 0 }, { 0, 0 }, { 1, 1 }, { 7, 2 } };
	static const char *const none[] = { "" };

	assert_int_equal(socket_of(two, 4, none, 1, 0, 0), 0);
	assert_int_equal(socket_of(two, 4, none, 1, 0, 1), 1);
	assert_int_equal(socket_of(two, 4, none, 1, 0, 2), 7);
	assert_int_equal(socket_of(two, 4, none, 1, 0, 3), -1);
	assert_int_equal(socket_of(two, 4, none, 1, 0, -1), -1);
}

/* All ports on one node: in the order of their CPUs, if there are as many. */
static void else_the_order_of_cpus(void **state)
{
	static const int one_node[][2] = { { 5, 0 }, { 2, 0 }, { 5, 0 } };
	static const char *const cpus[] = { "72-143", "0-71", "0-71", "72-143" }, *const three[] = { "0", "8", "16" },
				 *const unknown[] = { "0-71", "", "72-143" };

	for (int node = -1; node <= 0; node++) {
		assert_int_equal(socket_of(one_node, 3, cpus, 4, 0, node), 5);
		assert_int_equal(socket_of(one_node, 3, cpus, 4, 1, node), 2);
		assert_int_equal(socket_of(one_node, 3, cpus, 4, 2, node), 2);
		assert_int_equal(socket_of(one_node, 3, cpus, 4, 3, node), 5);
		assert_int_equal(socket_of(one_node, 3, three, 3, 0, node), -1);
		assert_int_equal(socket_of(one_node, 3, unknown, 3, 1, node), -1);
		assert_int_equal(socket_of(one_node, 3, unknown, 3, 2, node), 5);
	}
}

/* ---- texts ---- */

static void texts_are_safe_wherever_they_are_shown(void **state)
{
	enum { MARKDOWN, CSV, NAME };
	static const struct {
		int how;
		const char *text, *separator, *want;
	} cases[] = {
		{ MARKDOWN, "a|b*c_d`e<f>g[h]i\\j#k", NULL, "a\\|b\\*c\\_d\\`e\\<f\\>g\\[h\\]i\\\\j\\#k" },
		{ MARKDOWN, "a.b-(c)\xc3\xa9", NULL, "a.b-(c)\xc3\xa9" },
		{ MARKDOWN, "a\nb", NULL, "a\\\\x0ab" },
		{ CSV, "plain text", ",", "plain text" },
		{ CSV, "a,b", ",", "\"a,b\"" },
		{ CSV, "a,b", ";", "a,b" },
		{ CSV, "a;b", ";", "\"a;b\"" },
		{ CSV, "a::b", "::", "\"a::b\"" },
		{ CSV, "a:b", "::", "a:b" },
		{ CSV, "a\"b", ",", "\"a\"\"b\"" },
		{ CSV, "ab", "", "ab" },
		{ CSV, "=1+1", ",", "=1+1" },
		{ CSV, "\x1b[1m", ",", "\\x1b[1m" },
		{ NAME, "=1+1", ",", "'=1+1" },
		{ NAME, "+a", ",", "'+a" },
		{ NAME, "-a,b", ",", "\"'-a,b\"" },
		{ NAME, "@a", ",", "'@a" },
		{ NAME, "a=1", ",", "a=1" },
		{ NAME, "-", ",", "-" },
		{ NAME, "", ",", "" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf out = BUF_INIT;

		buf_addch(&out, '>');
		if (cases[i].how == MARKDOWN)
			text_markdown(&out, cases[i].text);
		else
			(cases[i].how == CSV ? text_csv : text_csv_name)(&out, cases[i].text, cases[i].separator);
		assert_string_equal(buf_str(&out) + 1, cases[i].want);
		buf_release(&out);
	}
}

static void bytes_are_short_words(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *want;
	} cases[] = {
		{ 0, "0 B" },
		{ 7, "7 B" },
		{ 999, "999 B" },
		{ 1000, "1.0 kB" },
		{ 99900, "99.9 kB" },
		{ 99960, "100 kB" },
		{ 999400, "999 kB" },
		{ 999600, "1.0 MB" },
		{ 1500000000, "1.5 GB" },
		{ 2000000000000, "2.0 TB" },
		{ UINT64_MAX, "18.4 EB" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf out = BUF_INIT;

		buf_bytes(&out, cases[i].bytes);
		assert_string_equal(buf_str(&out), cases[i].want);
		buf_release(&out);
	}
}

static void text_is_valid_up_to_somewhere(void **state)
{
	static const struct {
		const char *text;
		size_t len, valid;
	} cases[] = {
		{ "", 0, 0 },
		{ "abc", 3, 3 },
		{ "a\xc3\xa9z", 4, 4 },
		{ "a\xc3", 2, 1 },
		{ "ab\xff"
		  "cd",
		  5, 2 },
		{ "\xf0\x9f\x98\x80", 4, 4 },
		{ "\xf0\x9f\x98\x80", 3, 0 },
		{ "\xed\xa0\x80", 3, 0 }, /* a half of a pair */
		{ "\xed\x9f\xbf", 3, 3 },
		{ "\xee\x80\x80", 3, 3 },
		{ "\xc1\xbf", 2, 0 }, /* longer than need be */
		{ "\xe0\x9f\xbf", 3, 0 },
		{ "\xf4\x8f\xbf\xbf", 4, 4 },
		{ "\xf4\x90\x80\x80", 4, 0 }, /* beyond the last */
		{ "\xc3\x29", 2, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (utf8_valid(cases[i].text, cases[i].len) != cases[i].valid)
			fail_msg("%zu: %zu", i, utf8_valid(cases[i].text, cases[i].len));
}

static void words_are_among_others(void **state)
{
	assert_true(parse_is_among("a bc def", "a", 1));
	assert_true(parse_is_among("a bc def", "bc", 2));
	assert_true(parse_is_among("a bc def", "def", 3));
	assert_false(parse_is_among("a bc def", "de", 2));
	assert_false(parse_is_among("a bc def", "defg", 4));
	assert_false(parse_is_among("a bc def", "b", 1));
	assert_false(parse_is_among("a bc def", "c", 1));
	assert_false(parse_is_among("", "a", 1));
}

static void units_have_two_names(void **state)
{
	static const struct {
		const char *perf, *ucum;
		double bytes;
	} units[] = {
		{ "msec", "ms", 0 },   { "Joules", "J", 0 }, { "Bytes", "By", 1 },       { "KiB", "KiBy", 1024 },
		{ "KB", "kBy", 1000 }, { "GB", "GBy", 1e9 }, { "MiB", "MiBy", 1048576 }, { "parsec", "parsec", 0 },
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		assert_string_equal(event_unit_ucum(units[i].perf), units[i].ucum);
		assert_string_equal(event_unit_perf(units[i].ucum), units[i].perf);
		assert_true(event_unit_bytes(units[i].ucum) == units[i].bytes);
	}
}

/* ---- files ---- */

static void files_are_regular(void **state)
{
	struct error e = { 0 };
	char text[3];
	int ends[2], fd = file_open("/dev/null", &e);

	assert_int_equal(fd, -EINVAL);
	assert_non_null(strstr(e.text, "/dev/null: not a regular file"));
	assert_int_equal(file_open("/nowhere/at all", &e), -ENOENT);
	fd = file_open("/proc/self/exe", &e);
	assert_true(fd >= 0);
	close(fd);
	fd = file_open("/", &e);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(file_write(ends[1], "abc", 3), 0);
	assert_int_equal(file_write(ends[1], "", 0), 0);
	assert_int_equal(read(ends[0], text, 3), 3);
	assert_memory_equal(text, "abc", 3);
	close(ends[0]);
	close(ends[1]);
	assert_int_equal(file_write(ends[1], "abc", 3), -EBADF);
	fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	assert_int_equal(file_write(fd, "abc", 3), -ENOSPC);
	close(fd);
}

/* ---- options ---- */

#define OPTIONS_INTO struct stored

struct stored {
	bool flag;
	char *text;
	char **list;
	unsigned word, bits;
	uint32_t narrow, next;
	uint64_t wide, time, size, read;
};

static int read_nine(void *member, const char *arg, struct error *e)
{
	*(uint64_t *)member = 9;
	return strcmp(arg, "9") ? error_set(e, EINVAL, "not nine") : 0;
}

static void options_store_what_they_are_given(void **state)
{
	static const char *const words[] = { "red", "green", "", "blue", NULL };
	static const struct option_row text = { "text", .kind = OPTION_TEXT, .at = offsetof(OPTIONS_INTO, text) },
				       flag = { "flag", .kind = OPTION_FLAG, .at = offsetof(OPTIONS_INTO, flag) },
				       clear = { "clear", .kind = OPTION_CLEAR, .at = offsetof(OPTIONS_INTO, flag) },
				       count = { "count", .kind = OPTION_COUNT, .at = offsetof(OPTIONS_INTO, word) },
				       list = { "list", .kind = OPTION_LIST, .at = offsetof(OPTIONS_INTO, list) },
				       number = { "number", .kind = OPTION_NUMBER, .number = 7,
						  .at = offsetof(OPTIONS_INTO, word) },
				       two = { "two", .kind = OPTION_BITS, .number = 2,
					       .at = offsetof(OPTIONS_INTO, bits) },
				       four = { "four", .kind = OPTION_BITS, .number = 4,
						.at = offsetof(OPTIONS_INTO, bits) };
	static const struct option_row taken[] = {
		{ "word", .kind = OPTION_WORD, .argument = "red|green||blue", .at = offsetof(OPTIONS_INTO, word) },
		{ "choice", .kind = OPTION_ONE_OF, .argument = "red|green||blue",
		  .at = offsetof(OPTIONS_INTO, text) },
		{ "narrow", .kind = OPTION_AMOUNT, .least = 2, .most = 99, .size = 4,
		  .at = offsetof(OPTIONS_INTO, narrow) },
		{ "wide", .kind = OPTION_AMOUNT, .least = 1, .most = UINT64_MAX, .size = 8,
		  .at = offsetof(OPTIONS_INTO, wide) },
		{ "time", .kind = OPTION_TIME, .least = 1000, .at = offsetof(OPTIONS_INTO, time) },
		{ "size", .kind = OPTION_SIZE, .least = 1, .at = offsetof(OPTIONS_INTO, size) },
		{ "read", .kind = OPTION_READ, .read = read_nine, .at = offsetof(OPTIONS_INTO, read) },
		{ "any", .kind = OPTION_AMOUNT, .most = UINT64_MAX, .size = 8, .at = offsetof(OPTIONS_INTO, wide) },
	};
	/* `value` of what was stored, or the error. */
	static const struct {
		unsigned row;
		const char *arg;
		uint64_t value;
		const char *error;
	} cases[] = {
		{ 0, "red", 0, NULL },
		{ 0, "blue", 3, NULL },
		{ 0, "gren", 0, "--word does not take 'gren'; did you mean 'green'?" },
		{ 0, "elephants", 0, "--word does not take 'elephants'; use red, green or blue" },
		{ 1, "green", 0, NULL },
		{ 1, "elephants", 0, "--choice does not take 'elephants'" },
		{ 2, "2", 2, NULL },
		{ 2, "99", 99, NULL },
		{ 2, "1", 0, "--narrow: '1' is not a number from 2 to 99" },
		{ 2, "100", 0, "from 2 to 99" },
		{ 2, "x", 0, "from 2 to 99" },
		{ 3, "4294967296", 4294967296, NULL },
		{ 3, "0", 0, "--wide: '0' is not a number above 0" },
		{ 7, "0", 0, NULL },
		{ 7, "x", 0, "--any: 'x' is not a number" },
		{ 4, "2ms", 2000000, NULL },
		{ 4, "1us", 1000, NULL },
		{ 4, "999ns", 0, "--time: '999ns' is not a time" },
		{ 4, "2305843009", 2305843009000000000, NULL },
		{ 4, "2305843010", 0, "is not a time" },
		{ 4, "x", 0, "is not a time" },
		{ 5, "2k", 2000, NULL },
		{ 5, "0", 0, "--size: '0' is not a size" },
		{ 5, "x", 0, "is not a size" },
		{ 6, "9", 9, NULL },
		{ 6, "8", 0, "--read: not nine" },
	};
	struct stored s = { .next = 77 };
	struct error e = { 0 };

	assert_int_equal(options_take(&flag, &s, NULL, &e), 0);
	assert_true(s.flag);
	assert_int_equal(options_take(&clear, &s, NULL, &e), 0);
	assert_false(s.flag);
	assert_int_equal(options_take(&count, &s, NULL, &e), 0);
	assert_int_equal(options_take(&count, &s, NULL, &e), 0);
	assert_int_equal(s.word, 2);
	assert_int_equal(options_take(&number, &s, NULL, &e), 0);
	assert_int_equal(s.word, 7);
	assert_int_equal(options_take(&two, &s, NULL, &e), 0);
	assert_int_equal(options_take(&four, &s, NULL, &e), 0);
	assert_int_equal(s.bits, 6);
	assert_int_equal(options_take(&text, &s, (char *)(uintptr_t) "any", &e), 0);
	assert_string_equal(s.text, "any");
	for (unsigned i = 0; i < 3; i++) {
		char *word = (char *)(uintptr_t)words[i];

		assert_int_equal(options_take(&list, &s, word, &e), 0);
		assert_ptr_equal(s.list[i], word);
		assert_null(s.list[i + 1]);
	}
	free(s.list);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct option_row *row = &taken[cases[i].row];
		const void *at = (char *)&s + row->at;
		int err = options_take(row, &s, (char *)(uintptr_t)cases[i].arg, &e);

		assert_int_equal(err, cases[i].error ? -EINVAL : 0);
		if (err && !strstr(e.text, cases[i].error))
			fail_msg("%s", e.text);
		if (!err && row->kind == OPTION_ONE_OF)
			assert_string_equal(s.text, cases[i].arg);
		else if (!err)
			assert_int_equal(row->kind == OPTION_WORD || row->size == 4 ? *(const uint32_t *)at :
										      *(const uint64_t *)at,
					 cases[i].value);
	}
	assert_int_equal(s.next, 77);
}

/* Controls, and what has no width or turns the direction of writing. */
static void what_changes_a_text_unseen_is_unsafe(void **state)
{
	static const struct {
		uint32_t first, last;
	} unsafe[] = {
		{ 0, 0x1f },        { 0x7f, 0x9f },     { 0x61c, 0x61c },   { 0x200b, 0x200f },   { 0x2028, 0x202e },
		{ 0x2060, 0x206f }, { 0xfeff, 0xfeff }, { 0xfff9, 0xfffb }, { 0xe0000, 0xe007f },
	};

	for (size_t i = 0; i < sizeof(unsafe) / sizeof(unsafe[0]); i++) {
		assert_false(i && utf8_is_unsafe(unsafe[i].first - 1));
		assert_true(utf8_is_unsafe(unsafe[i].first));
		assert_true(utf8_is_unsafe(unsafe[i].last));
		assert_false(utf8_is_unsafe(unsafe[i].last + 1));
	}
}

UNIT_TESTS(cmocka_unit_test(random_bytes_come_from_any_kernel), cmocka_unit_test(nodes_decide_where_they_differ),
	   cmocka_unit_test(else_the_order_of_cpus), cmocka_unit_test(texts_are_safe_wherever_they_are_shown),
	   cmocka_unit_test(bytes_are_short_words), cmocka_unit_test(text_is_valid_up_to_somewhere),
	   cmocka_unit_test(words_are_among_others), cmocka_unit_test(units_have_two_names),
	   cmocka_unit_test(files_are_regular), cmocka_unit_test(options_store_what_they_are_given),
	   cmocka_unit_test(what_changes_a_text_unseen_is_unsafe))
