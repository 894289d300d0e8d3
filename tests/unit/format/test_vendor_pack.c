/* What is put into a pack for a CPU comes out for it, and nothing comes out of a pack that is damaged. */
#include <sys/stat.h>

#include "format/crc32c.h"
#include "format/vendor_pack.h"
#include "tests/unit/lib/test.h"

static char folder[] = "/tmp/vendor_pack.XXXXXX", *path;

static int begin(void **state)
{
	(void)state;
	if (!mkdtemp(folder) || chdir(folder) || mkdir("pmrec", 0700) || setenv("XDG_DATA_HOME", folder, 1))
		return -1;
	path = vendor_pack_path();
	return path ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	unlink(path);
	free(path);
	return rmdir("pmrec") || rmdir(folder);
}

/* Set i is that of family 6, model i, and the last one that of all models, too. */
static void write_pack(uint32_t sets)
{
	struct vendor_pack p = { .fd = -1 };
	struct error e = { 0 };

	for (uint32_t i = 0; i < sets; i++) {
		char name[16], pattern[32];

		snprintf(name, sizeof(name), "set%u", i);
		snprintf(pattern, sizeof(pattern), "GenuineIntel-6-%X", i);
		assert_int_equal(vendor_pack_add_set(&p, name), i);
		p.set[i].events = 10 + i;
		p.set[i].metrics = 20 + i;
		for (uint32_t k = 0; k <= i; k++)
			buf_printf(&p.set[i].rows, "row %u of %u\n", k, i);
		/* The second has no metrics. */
		if (i != 1)
			buf_printf(&p.set[i].list, "%u", i);
		vendor_pack_add_cpu(&p, pattern, i);
	}
	vendor_pack_add_cpu(&p, "GenuineIntel-6-.*", sets - 1);
	assert_int_equal(vendor_pack_write(&p, path, &e), 0);
	vendor_pack_close(&p);
}

static void assert_texts(const struct vendor_texts *t, uint32_t n, uint32_t set)
{
	char text[32];

	snprintf(text, sizeof(text), "row %u of %u\n", set, set);
	assert_non_null(strstr(t->set[n].rows, text));
	assert_ptr_equal(strstr(t->set[n].rows, "row 0"), t->set[n].rows);
	snprintf(text, sizeof(text), "[%u]", set);
	assert_string_equal(t->set[n].metrics, set == 1 ? "" : text);
}

/* Of revisions of a part the latest that is not newer than the processor, or the oldest; of another part none. */
static void revisions_are_chosen(void **state)
{
	static const char *const pattern[] = { "0x411fd491", "0x412fd490", "0x411fd490", "0x410fd4a0" };
	static const struct {
		const char *cpu;
		int set; /* -1: none */
	} rows[] = {
		{ "0x411fd490", 2 },  { "0x411fd491", 0 },  { "0x411fd495", 0 },    { "0x412fd490", 1 },
		{ "0x413fd49f", 1 },  { "0x410fd490", 2 },  { "0x410fd4a0", 3 },    { "0x41ffd4af", 3 },
		{ "0x410fd4b0", -1 }, { "0x510fd490", -1 }, { "GenuineIntel", -1 },
	};
	struct vendor_pack p = { .fd = -1 };
	struct error e = { 0 };

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(vendor_pack_add_set(&p, pattern[i]), i);
		buf_printf(&p.set[i].rows, "row %u of %u\n", i, i);
		buf_printf(&p.set[i].list, "%u", i);
		vendor_pack_add_cpu(&p, pattern[i], i);
	}
	assert_int_equal(vendor_pack_write(&p, path, &e), 0);
	vendor_pack_close(&p);
	assert_int_equal(vendor_pack_find(&p, &e), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct vendor_texts t;
		char text[32];

		assert_int_equal(vendor_pack_texts(&p, rows[i].cpu, &t, &e), 0);
		assert_int_equal(t.n, rows[i].set >= 0);
		snprintf(text, sizeof(text), "row %d of %d\n", rows[i].set, rows[i].set);
		if (t.n)
			assert_string_equal(t.set[0].rows, text);
		vendor_texts_release(&t);
	}
	vendor_pack_close(&p);
}

static void put(const void *data, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_int_equal(write(fd, data, len), len);
	close(fd);
}

/* What the index says, with a right checksum. */
static void indexes_are_checked(void **state)
{
	static const struct {
		const char *index;
		int err;
		uint32_t sets, cpus;
	} rows[] = {
		{ "", 0, 0, 0 },
		{ "new\twords\n", 0, 0, 0 },
		{ "set\ta\t1\t2\t0\t3\t4\t9\ncpu\tx\ta\n", 0, 1, 1 },
		{ "set\ta\ncpu\tx\ta\ncpu\ty\ta\n", 0, 1, 2 },
		{ "set\ncpu\n", 0, 0, 0 },
		{ "cpu\tx\ta\n", -EBADMSG, 0, 0 },
		{ "set\ta\ncpu\tx\tb\n", -EBADMSG, 0, 0 },
		{ "set\ta\ncpu\tx\n", 0, 1, 0 },
		{ "set\ta\t1\t2\t0\t3\t67108864\n", 0, 1, 0 },
		{ "set\ta\t1\t2\t0\t3\t67108865\n", -EBADMSG, 0, 0 },
		{ "set\ta\t1\t2\t0\t67108865\t3\n", -EBADMSG, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		size_t len = strlen(rows[i].index);
		uint32_t crc = crc32c(rows[i].index, len);
		uint8_t file[256] = "PMVENDR3";
		struct vendor_pack p;
		struct error e = { 0 };

		for (int k = 0; k < 4; k++) {
			file[8 + k] = (uint8_t)(len >> 8 * k);
			file[12 + k] = (uint8_t)(crc >> 8 * k);
		}
		memcpy(file + 16, rows[i].index, len);
		put(file, 16 + len);
		assert_int_equal(vendor_pack_find(&p, &e), rows[i].err);
		assert_int_equal(p.n_sets, rows[i].sets);
		assert_int_equal(p.n_cpus, rows[i].cpus);
		assert_int_equal(*e.text != '\0', rows[i].err != 0);
		vendor_pack_close(&p);
	}
}

/* Bytes of a pack changed, and its end cut off: what is damaged is said, and never comes out. */
static void damage_is_seen(void **state)
{
	uint8_t file[4096];
	unsigned said = 0;
	ssize_t len;
	int fd;

	(void)state;
	write_pack(5);
	fd = open(path, O_RDONLY);
	len = read(fd, file, sizeof(file));
	close(fd);
	assert_true(len > 100 && len < (ssize_t)sizeof(file));
	for (ssize_t i = 0; i < 2 * len; i += 7) {
		struct error e = { 0 };
		struct vendor_pack p;
		struct vendor_texts t;
		int err;

		file[i % len] ^= i < len ? 0x10 : 0;
		put(file, (size_t)(i < len ? len : i - len));
		file[i % len] ^= i < len ? 0x10 : 0;
		err = vendor_pack_find(&p, &e);
		if (!err)
			err = vendor_pack_texts(&p, "GenuineIntel-6-2", &t, &e);
		assert_true(err == 0 || err == -EBADMSG);
		assert_int_equal(err != 0, *e.text != '\0');
		said += err != 0;
		/* Frames of other CPUs are not read. */
		if (!err) {
			assert_int_equal(t.n, 2);
			assert_texts(&t, 0, 2);
			assert_texts(&t, 1, 4);
			vendor_texts_release(&t);
		}
		vendor_pack_close(&p);
	}
	assert_true(said > (unsigned)len * 3 / 14);
}

static void paths_need_a_folder(void **state)
{
	static const struct {
		const char *data, *home, *path;
	} rows[] = {
		{ "/d", "/h", "/d/pmrec/vendor.pmv" },
		{ "d", "/h", "/h/.local/share/pmrec/vendor.pmv" },
		{ NULL, "/h", "/h/.local/share/pmrec/vendor.pmv" },
		{ NULL, "h", NULL },
		{ "", NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char *got;

		rows[i].data ? setenv("XDG_DATA_HOME", rows[i].data, 1) : unsetenv("XDG_DATA_HOME");
		rows[i].home ? setenv("HOME", rows[i].home, 1) : unsetenv("HOME");
		got = vendor_pack_path();
		if (rows[i].path)
			assert_string_equal(got, rows[i].path);
		else
			assert_null(got);
		free(got);
	}
	setenv("XDG_DATA_HOME", folder, 1);
}

static void writing_fails_with_a_reason(void **state)
{
	struct vendor_pack p = { .fd = -1 };
	struct error e = { 0 };

	(void)state;
	assert_int_equal(vendor_pack_write(&p, "/proc/none/vendor.pmv", &e), -ENOENT);
	assert_non_null(strstr(e.text, "/proc/none/vendor.pmv"));
	assert_int_equal(vendor_pack_write(&p, folder, &e), -EISDIR);
	vendor_pack_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(revisions_are_chosen),
		cmocka_unit_test(indexes_are_checked),
		cmocka_unit_test(damage_is_seen),
		cmocka_unit_test(paths_need_a_folder),
		cmocka_unit_test(writing_fails_with_a_reason),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
