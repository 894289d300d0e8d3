/* What a map gives out: the same for the same, unlike for what differs, and all of it again from its file. */
#include <sys/stat.h>

#include "report/copy/redact_private.h"
#include "tests/unit/lib/test.h"

#define YEAR_NS 31536000000000000u

static const struct pm_clocks first = { 5000000000, 4000000000, 1700000000000000000, 6000000000, 90000000000 };

/* Where the clocks stand says when the machine was started, and one of them would give away the others. */
static void each_clock_has_a_shift_of_its_own(void **state)
{
	struct redact_map m = { 0 };
	struct redact_shift one = redact_map_shift(&m, "boot-1", &first);
	struct redact_shift two = redact_map_shift(&m, "boot-2", &first);
	struct redact_shift again = redact_map_shift(&m, "boot-1", &first);
	uint64_t shift[] = { one.monotonic, one.raw, one.boottime, one.counter,
			     two.monotonic, two.raw, two.boottime, two.counter };

	for (size_t i = 0; i < 8; i++)
		for (size_t k = 0; k < i; k++)
			assert_int_not_equal(shift[i], shift[k]);
	assert_int_equal(again.monotonic, one.monotonic);
	assert_int_equal(again.raw, one.raw);
	assert_int_equal(again.boottime, one.boottime);
	assert_int_equal(again.counter, one.counter);
	assert_int_equal(again.wall, one.wall);
	assert_int_equal(two.wall, one.wall);
	assert_true(first.monotonic + one.monotonic < 10 * YEAR_NS);
	assert_true(first.boottime + two.boottime < 10 * YEAR_NS);
	redact_map_release(&m);
}

static void each_counter_begins_elsewhere(void **state)
{
	struct redact_map m = { 0 };
	uint64_t user = redact_map_base(&m, "boot-1", "stat.user", 64);

	assert_true(user && user < UINT64_C(1) << 55);
	assert_int_not_equal(redact_map_base(&m, "boot-1", "stat.system", 64), user);
	assert_int_not_equal(redact_map_base(&m, "boot-2", "stat.user", 64), user);
	assert_int_equal(redact_map_base(&m, "boot-1", "stat.user", 64), user);
	for (int i = 0; i < 64; i++)
		assert_true(redact_map_base(&m, "boot-1", (char[]){ 'c', (char)('0' + i), 0 }, 5) < 32);
	redact_map_release(&m);
}

static void the_file_has_it_all(void **state)
{
	struct redact_map m = { 0 }, read = { 0 };
	struct error e = { 0 };
	char path[] = "/tmp/redact_map.XXXXXX";
	bool made = false;
	char *name = strdup(redact_map_name(&m, "host", "alpha", &made));
	uint64_t base = redact_map_base(&m, "boot-1", "stat.user", 64);
	struct redact_shift shift = redact_map_shift(&m, "boot-1", &first);

	assert_true(made);
	assert_string_not_equal(redact_map_name(&m, "host", "beta", &made), name);
	assert_string_not_equal(redact_map_name(&m, "user", "alpha", &made), name);
	close(mkstemp(path));
	unlink(path);
	assert_int_equal(redact_map_save(&m, path, &e), 0);
	assert_int_equal(redact_map_load(&read, path, &e), 0);
	unlink(path);
	made = false;
	assert_string_equal(redact_map_name(&read, "host", "alpha", &made), name);
	assert_false(made);
	assert_string_equal(redact_map_from(&read, name), "alpha");
	assert_int_equal(redact_map_base(&read, "boot-1", "stat.user", 64), base);
	assert_int_equal(redact_map_shift(&read, "boot-1", &first).monotonic, shift.monotonic);
	assert_int_equal(redact_map_shift(&read, "boot-1", &first).raw, shift.raw);
	assert_int_equal(redact_map_shift(&read, "boot-1", &first).boottime, shift.boottime);
	assert_int_equal(redact_map_shift(&read, "boot-1", &first).counter, shift.counter);
	assert_int_equal(redact_map_shift(&read, "boot-1", &first).wall, shift.wall);
	free(name);
	redact_map_release(&m);
	redact_map_release(&read);
}

/* What loading a file with this text and mode says. */
static int load(const char *text, mode_t mode, struct redact_map *m, struct error *e)
{
	char path[] = "/tmp/redact_map.XXXXXX";
	int fd = mkstemp(path), err;

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
	err = redact_map_load(m, path, e);
	unlink(path);
	return err;
}

static void what_is_no_map_is_refused(void **state)
{
	static const char *const bad[] = {
		"words",
		"[]",
		"{\"redact_map\": 2, \"names\": []}",
		"{\"redact_map\": 1, \"names\": [{\"kind\": \"host\", \"from\": \"a\", \"to\": \"b\"}]}",
		"{\"redact_map\": 1, \"names\": [{\"kind\": \"shift\", \"from\": \"b c\", \"to\": \"-1\"}]}",
		"{\"redact_map\": 1, \"names\": [{\"kind\": \"shift\", \"from\": \"wall\", \"to\": \"soon\"}]}",
		"{\"redact_map\": 1, \"names\": [{\"kind\": \"shift\", \"from\": \"wall\"}]}",
	};
	struct redact_map m = { 0 };
	struct error e = { 0 };

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_int_equal(load(bad[i], 0600, &m, &e), -EINVAL);
		redact_map_release(&m);
	}
	assert_int_equal(redact_map_load(&m, "/tmp", &e), -EINVAL);
	assert_int_equal(load("", 0640, &m, &e), -EACCES);
	assert_int_equal(load("", 0604, &m, &e), -EACCES);
	/* A file made by touch and chmod is one that has no names yet, as is one that is not there. */
	assert_int_equal(load("", 0600, &m, &e), 0);
	assert_int_equal(redact_map_load(&m, "/tmp/redact_map.none", &e), 0);
	assert_int_equal(m.n, 0);
	assert_int_equal(
		load("{\"redact_map\": 1, \"names\": [{\"kind\": \"shift\", \"from\": \"wall\", \"to\": \"7\"}]}",
		     0600, &m, &e),
		0);
	assert_int_equal(redact_map_shift(&m, "boot-1", &first).wall, 7);
	redact_map_release(&m);
}

UNIT_TESTS(cmocka_unit_test(each_clock_has_a_shift_of_its_own), cmocka_unit_test(each_counter_begins_elsewhere),
	   cmocka_unit_test(the_file_has_it_all), cmocka_unit_test(what_is_no_map_is_refused))
