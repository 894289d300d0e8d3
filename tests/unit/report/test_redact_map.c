/* Files that are no map are refused, and each clock of a boot is shifted by another amount. */
#include <sys/stat.h>

#include "tests/unit/lib/builder.h"
#include "tests/unit/lib/redact_bytes.h"
#include "tests/unit/lib/test.h"

#define YEAR_NS 31536000000000000u

static struct reading of_row(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	(void)b, (void)counter, (void)i;
	return (struct reading){ 1000 + row, 0 };
}

static struct pm_clocks clocks_of(const struct buf *file)
{
	struct pm_reader *r = open_bytes(file);
	struct pm_item item = { 0 };

	while (item.kind != PM_ITEM_CHUNK)
		assert_int_equal(pm_reader_next(r, &item), 1);
	pm_reader_close(r);
	return item.chunk.clocks;
}

/* Where the clocks stand says when the machine was started, and one of them would give away the others. */
static void each_clock_has_a_shift_of_its_own(void **state)
{
	struct redact_options options = { .shift_time = true };
	struct pm_clocks before, after[3];
	struct redact *redact;
	uint64_t shift[6];
	struct builder b;

	(void)state;
	assert_int_equal(redact_new(&redact, &options, &(struct error){ 0 }), 0);
	for (int i = 0; i < 3; i++) {
		struct buf out = BUF_INIT;

		builder_init(&b, of_row);
		assert_int_equal(pm_map_set(&b.model.header, PM_HEADER_BOOT_ID, pm_text(i == 1 ? "two" : "one")), 0);
		builder_write(&b, 0, 1);
		builder_finish(&b);
		redact_bytes(redact, &b.file, &out);
		before = clocks_of(&b.file);
		after[i] = clocks_of(&out);
		buf_release(&out);
		builder_release(&b);
	}
	redact_free(redact);
	assert_memory_equal(&after[2], &after[0], sizeof(before));
	assert_int_equal(after[1].realtime, after[0].realtime);
	assert_true(after[0].realtime < before.realtime);
	for (int i = 0; i < 2; i++) {
		shift[3 * i] = after[i].monotonic - before.monotonic;
		shift[3 * i + 1] = after[i].monotonic_raw - before.monotonic_raw;
		shift[3 * i + 2] = after[i].boottime - before.boottime;
		assert_true(after[i].monotonic < 10 * YEAR_NS && after[i].boottime < 10 * YEAR_NS);
	}
	for (size_t i = 0; i < 6; i++)
		for (size_t k = 0; k < i; k++)
			assert_int_not_equal(shift[i], shift[k]);
}

/* What making a redaction with a map of this text and mode says. */
static int load(const char *text, mode_t mode)
{
	char path[] = "/tmp/redact_map.XXXXXX";
	struct redact_options options = { .map = path };
	int fd = mkstemp(path), err;
	struct redact *r = NULL;

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
	err = redact_new(&r, &options, &(struct error){ 0 });
	redact_free(r);
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
	struct redact *r = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(load(bad[i], 0600), -EINVAL);
	assert_int_equal(redact_new(&r, &(struct redact_options){ .map = "/tmp" }, &(struct error){ 0 }), -EINVAL);
	assert_int_equal(load("", 0640), -EACCES);
	assert_int_equal(load("", 0604), -EACCES);
	/* A file made by touch and chmod is one that has no names yet, as is one that is not there. */
	assert_int_equal(load("", 0600), 0);
	assert_int_equal(
		redact_new(&r, &(struct redact_options){ .map = "/tmp/redact_map.none" }, &(struct error){ 0 }), 0);
	redact_free(r);
	assert_int_equal(
		load("{\"redact_map\": 1, \"names\": [{\"kind\": \"shift\", \"from\": \"wall\", \"to\": \"7\"}]}",
		     0600),
		0);
}

UNIT_TESTS(cmocka_unit_test(each_clock_has_a_shift_of_its_own), cmocka_unit_test(what_is_no_map_is_refused))
