/* Files that commands write and copies that they read, and points in time. */
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "report/input/gzip.h"
#include "report/input/input.h"
#include "report/input/outfile.h"
#include "report/input/spool.h"
#include "report/pipeline/moment.h"
#include "report/pipeline/options_read.h"
#include "report/pipeline/pipeline.h"
#include "tests/unit/lib/test.h"

/* In a folder of its own. */
static int enter(void **state)
{
	static char path[] = "/tmp/test_input_XXXXXX";

	assert_non_null(mkdtemp(path));
	assert_int_equal(chdir(path), 0);
	umask(022);
	*state = path;
	return 0;
}

static int leave(void **state)
{
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(rmdir(*state), 0);
	return 0;
}

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void assert_file(const char *path, const char *text)
{
	char got[64] = "";
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	assert_true(fread(got, 1, sizeof(got) - 1, f) < sizeof(got) - 1);
	fclose(f);
	assert_string_equal(got, text);
}

static unsigned mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_mode & 0777;
}

static int write_text(const char *path, unsigned flags, char *const *inputs, size_t n, const char *text, int err)
{
	struct error e = { 0 };
	struct outfile o;
	int r = outfile_open(&o, path, flags, inputs, n, &e);

	if (r) {
		assert_int_equal(o.fd, -1);
		assert_true(*e.text);
		return r;
	}
	assert_int_equal(outfile_write(&o, text, strlen(text)), 0);
	assert_int_equal(o.bytes, strlen(text));
	return outfile_end(&o, err, &e);
}

/* The descriptor that is opened next. */
static int next_fd(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	close(fd);
	return fd;
}

/* It has its name once it is complete, or never; what was there stays until then. */
static void complete_or_never(void **state)
{
	struct error e = { 0 };
	struct outfile o;
	int fd = next_fd();

	(void)state;
	assert_int_equal(outfile_open(&o, "new", 0, NULL, 0, &e), 0);
	assert_int_equal(outfile_write(&o, "ab", 2), 0);
	assert_int_not_equal(access("new", F_OK), 0);
	assert_int_equal(outfile_publish(&o, &e), 0);
	assert_file("new", "ab");
	assert_int_equal(outfile_write(&o, "c", 1), 0);
	assert_int_equal(o.bytes, 3);
	assert_int_equal(outfile_end(&o, 0, &e), 0);
	assert_file("new", "abc");
	assert_int_equal(mode_of("new"), 0644);
	assert_int_equal(write_text("new", 0, NULL, 0, "x", 0), -EEXIST);
	assert_int_equal(write_text("new", OUTFILE_OVERWRITE, NULL, 0, "x", -EIO), -EIO);
	assert_file("new", "abc");
	assert_int_equal(write_text("new", OUTFILE_APPEND, NULL, 0, "d", 0), 0);
	assert_file("new", "abcd");
	assert_int_equal(chmod("new", 0640), 0);
	assert_int_equal(write_text("new", OUTFILE_OVERWRITE, NULL, 0, "x", 0), 0);
	assert_file("new", "x");
	assert_int_equal(mode_of("new"), 0640);
	assert_int_equal(write_text("gone", 0, NULL, 0, "x", -EIO), -EIO);
	assert_int_not_equal(access("gone", F_OK), 0);
	/* An empty file is nobody's. */
	put("empty", "");
	assert_int_equal(write_text("empty", 0, NULL, 0, "x", 0), 0);
	assert_file("empty", "x");
	/* What comes while it is written stays as well. */
	for (unsigned replaces = 0; replaces < 2; replaces++) {
		assert_int_equal(outfile_open(&o, "late", replaces ? OUTFILE_OVERWRITE : 0, NULL, 0, &e), 0);
		assert_int_equal(outfile_write(&o, "ab", 2), 0);
		put("late", "theirs");
		assert_int_equal(outfile_end(&o, 0, &e), replaces ? 0 : -EEXIST);
		assert_file("late", replaces ? "ab" : "theirs");
		assert_int_equal(unlink("late"), 0);
	}
	/* A link remains one. */
	assert_int_equal(symlink("empty", "link"), 0);
	assert_int_equal(write_text("link", OUTFILE_OVERWRITE, NULL, 0, "y", 0), 0);
	assert_file("empty", "y");
	assert_int_equal(unlink("empty"), 0);
	assert_int_equal(write_text("link", OUTFILE_OVERWRITE, NULL, 0, "z", 0), -ENOENT);
	assert_int_equal(write_text("no/folder", 0, NULL, 0, "z", 0), -ENOENT);
	assert_int_equal(write_text("new/file", 0, NULL, 0, "z", 0), -ENOTDIR);
	/* Without a place to write to. */
	assert_int_equal(outfile_open(&o, "/dev/full", 0, NULL, 0, &e), 0);
	assert_int_equal(outfile_write(&o, "ab", 2), -ENOSPC);
	assert_int_equal(o.bytes, 0);
	assert_int_equal(outfile_end(&o, -ECANCELED, &e), -ENOSPC);
	assert_non_null(strstr(e.text, "/dev/full"));
	o = (struct outfile){ .fd = -1 };
	assert_int_equal(outfile_end(&o, -EIO, &e), -EIO);
	assert_int_equal(outfile_end(&o, 0, &e), 0);
	assert_int_equal(unlink("link"), 0);
	assert_int_equal(unlink("new"), 0);
	assert_int_equal(next_fd(), fd);
}

#define MIB (1u << 20)

static int append(void *ctx, const void *data, size_t len)
{
	struct buf *b = ctx;

	buf_add(b, data, len);
	return b->len > 2 * MIB ? -ENOSPC : b->err;
}

static void put_bytes(const char *path, const void *data, size_t len)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	fclose(f);
}

/* Files that are no recordings, by each way of opening them; the name stands first, and once. */
static void names_come_first(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		int err;
		const char *says;
	} rows[] = {
		{ "", 0, -EINVAL, "the file is empty" },
		{ "1234567", 7, -EINVAL, "is a text file" },
		{ "12345678\1", 9, -EINVAL, "is not a recording" },
		{ "\x1f\x8b", 2, -ENODATA, "cut or damaged before the first byte" },
		{ "\x1f\x8b\x08\0\0\0\0\0\0\0", 10, -ENODATA, "cut or damaged before the first byte" },
		{ "\x28\xb5\x2f\xfd", 4, -EINVAL, "unpack it with zstd -d" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		for (int way = 0; way < 4; way++) {
			const char *name = way == 2 ? "nick" : way == 3 ? "standard input" : "odd.pmr";
			struct error e = { 0 };
			struct pm_reader *r;
			int err;

			put_bytes("odd.pmr", rows[i].bytes, rows[i].len);
			if (way == 3)
				assert_non_null(freopen("odd.pmr", "r", stdin));
			err = way == 2 ? input_open_as(&r, "odd.pmr", "nick", &e) :
					 input_open(&r, way == 3 ? "-" : "odd.pmr", way == 1, &e);
			/* What grows may become a recording. */
			if (way == 1 && !rows[i].len) {
				assert_int_equal(err, 0);
				pm_reader_close(r);
				continue;
			}
			assert_int_equal(err, rows[i].err);
			assert_int_equal(strncmp(e.text, name, strlen(name)), 0);
			assert_null(strstr(e.text + 1, name));
			if (!strstr(e.text, rows[i].says))
				fail_msg("%zu, %d: %s", i, way, e.text);
		}
	}
	assert_int_equal(unlink("odd.pmr"), 0);
}

/* Standard input is copied as far as there is room, and read as what it is. */
static void copies_have_limits(void **state)
{
	struct rlimit saved, little = { .rlim_cur = 100 };
	struct error e = { 0 };
	struct pm_input in;
	struct spool s;
	char text[300];
	int fd;

	(void)state;
	memset(text, 'a', sizeof(text));
	put_bytes("file", text, sizeof(text));
	assert_non_null(freopen("file", "r", stdin));
	assert_true(outfile_is_among("file", (char *[]){ (char *)"-" }, 1));
	assert_int_equal(write_text("file", OUTFILE_OVERWRITE, (char *[]){ (char *)"-" }, 1, "x", 0), -EINVAL);
	assert_int_equal(spool_open(&s, "-", SPOOL_PLAIN, &e), 0);
	assert_int_equal(s.bytes, sizeof(text));
	assert_int_equal(input_bytes(&in, s.path, &e), 0);
	/* A file is read again from any place, with nobody in between. */
	assert_non_null(in.seek);
	assert_int_equal(in.size, sizeof(text));
	assert_int_equal(in.read(in.ctx, text, sizeof(text)), sizeof(text));
	assert_int_equal(text[299], 'a');
	in.close(in.ctx);
	spool_close(&s);
	assert_non_null(freopen("file", "r", stdin));
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &saved), 0);
	little.rlim_max = saved.rlim_max;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
	assert_int_equal(spool_open(&s, "-", SPOOL_PLAIN, &e), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &saved), 0);
	signal(SIGXFSZ, SIG_DFL);
	assert_non_null(strstr(e.text, "standard input: no space in /"));
	assert_non_null(strstr(e.text, "TMPDIR"));
	spool_close(&s);
	/* Where no file can be made, with or without a name. */
	for (int i = 0; i < 2; i++) {
		assert_int_equal(setenv("TMPDIR", i ? "/proc" : "missing", 1), 0);
		assert_non_null(freopen("file", "r", stdin));
		assert_true(spool_open(&s, "-", SPOOL_PLAIN, &e) < 0);
		assert_non_null(strstr(e.text, "cannot create a temporary file"));
		spool_close(&s);
	}
	assert_int_equal(setenv("TMPDIR", "", 1), 0);
	/* What is being written is copied, too, and known to lack its end. */
	put("grows", "12345");
	fd = open("grows", O_RDONLY | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(spool_open(&s, "grows", SPOOL_TWICE, &e), 0);
	assert_true(s.growing);
	assert_true(s.fd >= 0);
	assert_string_equal(s.name, "grows");
	assert_int_equal(s.bytes, 5);
	spool_close(&s);
	close(fd);
	assert_int_equal(unlink("grows"), 0);
	assert_int_equal(unlink("file"), 0);
}

/* The first MiB is deflated, the rest only wrapped; what comes out is what went in. */
static void packed(void **state)
{
	SCOPED(buf_release) struct buf out = BUF_INIT, text = BUF_INIT;
	struct gzip_writer *g;
	struct error e = { 0 };
	struct pm_input in;
	uint64_t sum = 0;
	ssize_t n;
	FILE *f;

	(void)state;
	assert_int_equal(buf_reserve(&text, 2 * MIB), 0);
	memset(text.data, 'a', 2 * MIB);
	g = gzip_writer_new(append, &out);
	assert_int_equal(gzip_write(g, text.data, MIB - 1), 0);
	assert_int_equal(gzip_write(g, text.data, 1), 0);
	assert_true(out.len > 500 && out.len < 5000);
	assert_int_equal(gzip_write(g, text.data, MIB), 0);
	assert_int_equal(gzip_finish(g), 0);
	assert_true(out.len > MIB + 500 && out.len < MIB + 6000);
	gzip_writer_free(g);
	f = fopen("packed", "w");
	assert_non_null(f);
	assert_int_equal(fwrite(out.data, 1, out.len, f), out.len);
	fclose(f);
	assert_int_equal(input_bytes(&in, "packed", &e), 0);
	while ((n = in.read(in.ctx, text.data, MIB)) > 0)
		for (ssize_t i = 0; i < n; i++)
			sum += text.data[i] == 'a';
	assert_int_equal(n, 0);
	assert_int_equal(sum, 2 * MIB);
	in.close(in.ctx);
	assert_int_equal(truncate("packed", 4), 0);
	assert_int_equal(input_bytes(&in, "packed", &e), -ENODATA);
	assert_int_equal(truncate("packed", 0), 0);
	assert_int_equal(unlink("packed"), 0);
	/* What the sink says is passed on. */
	g = gzip_writer_new(append, &out);
	assert_int_equal(gzip_write(g, text.data, MIB), 0);
	assert_int_equal(gzip_write(g, text.data, MIB), -ENOSPC);
	gzip_writer_free(g);
	gzip_writer_free(NULL);
}

/* Files of another pmrep, named themselves or by what they have in common. */
static void archives_of_others(void **state)
{
	static const unsigned char magic[] = { 0, 0, 0, 132, 0x50, 0x05, 0x26, 0x02 };
	struct error e = { 0 };
	struct pm_input in;

	(void)state;
	put_bytes("day.index", magic, sizeof(magic));
	assert_true(input_is_pcp("day"));
	assert_true(input_is_pcp("day.index"));
	assert_int_equal(input_bytes(&in, "day.index", &e), -EINVAL);
	assert_non_null(strstr(e.text, "Performance Co-Pilot"));
	assert_false(input_is_pcp("night"));
	assert_int_equal(rename("day.index", "day.x"), 0);
	assert_false(input_is_pcp("day"));
	assert_false(input_is_pcp("day.x"));
	put_bytes("day.0", "12345678", 8);
	assert_false(input_is_pcp("day.0"));
	put_bytes("day.0", magic, 6);
	assert_false(input_is_pcp("day.0"));
	assert_int_equal(unlink("day.0"), 0);
	assert_int_equal(unlink("day.x"), 0);
}

/* While somebody has it locked there is more to come; once more after that. */
static void followed(void **state)
{
	struct follow f;
	int fd;

	(void)state;
	put("growing", "a");
	fd = open("growing", O_WRONLY | O_APPEND | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_true(input_being_written("growing"));
	follow_init(&f, "growing");
	for (int i = 0; i < 3; i++) {
		assert_int_equal(write(fd, "b", 1), 1);
		assert_int_equal(follow_wait(&f), 0);
		assert_false(f.last_look);
	}
	close(fd);
	assert_false(input_being_written("growing"));
	assert_int_equal(follow_wait(&f), 0);
	assert_int_equal(follow_wait(&f), 1);
	assert_int_equal(follow_wait(&f), 1);
	follow_release(&f);
	assert_int_equal(f.watch, -1);
	assert_false(input_being_written("missing"));
	assert_false(input_being_written("-"));
	assert_int_equal(unlink("growing"), 0);
}

static void moments(void **state)
{
	static const struct {
		const char *text;
		int kind;
		uint64_t ms;
	} c[] = {
		{ "10", MOMENT_FROM_START, 10000 },
		{ "+1.5m", MOMENT_FROM_START, 90000 },
		{ "-1m", MOMENT_FROM_END, 60000 },
		{ "@2.5", MOMENT_WALL, 2500 },
		{ "03:10", MOMENT_CLOCK, 11400000 },
		{ "23:59:59.250", MOMENT_CLOCK, 86399250 },
		{ "00:00:01", MOMENT_CLOCK, 1000 },
		{ "1970-01-02T00:00:00Z", MOMENT_WALL, 86400000 },
		{ "1970-01-02 00:00:00.5z", MOMENT_WALL, 86400500 },
		{ "1970-01-02T00:00:00+01:30", MOMENT_WALL, 81000000 },
		{ "1970-01-02T00:00:00-23:59", MOMENT_WALL, 172740000 },
		/* The reader's zone is two hours east. */
		{ "1970-01-02T03:00:00", MOMENT_WALL, 90000000 },
		{ "24:00", -1, 0 },
		{ "03:60", -1, 0 },
		{ "03:10:60", -1, 0 },
		{ "03:10:", -1, 0 },
		{ "03:10x", -1, 0 },
		{ "today 03:10", -1, 0 },
		{ "1970-01-02T00:00:00+24:00", -1, 0 },
		{ "1970-01-02T00:00:00+01:60", -1, 0 },
		{ "1970-01-02T00:00:00+01:30x", -1, 0 },
		{ "1970-01-02T00:00:00Zx", -1, 0 },
		{ "1970-01-01T00:00:00Z", -1, 0 },
		{ "-", -1, 0 },
		{ "@x", -1, 0 },
		{ "", -1, 0 },
	};
	struct moment now, day;
	struct error e = { 0 };

	(void)state;
	assert_int_equal(setenv("TZ", "UTC-2", 1), 0);
	tzset();
	for (size_t i = 0; i < sizeof(c) / sizeof(*c); i++) {
		struct moment m = { 0 };
		int err = moment_parse(&m, c[i].text, &e);

		if (err != (c[i].kind < 0 ? -EINVAL : 0) ||
		    (!err && (m.kind != (unsigned)c[i].kind || m.ns / 1000000 != c[i].ms)))
			fail_msg("'%s': %d, kind %d, %llu ns", c[i].text, err, m.kind, (unsigned long long)m.ns);
	}
	/* Where clocks are put forward, the same words are another time in summer. */
	assert_int_equal(setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1), 0);
	tzset();
	assert_int_equal(moment_parse(&now, "2026-07-01 12:00:00", &e), 0);
	assert_int_equal(moment_parse(&day, "2026-07-01T10:00:00Z", &e), 0);
	assert_int_equal(now.ns, day.ns);
	assert_int_equal(moment_parse(&now, "2026-12-01 12:00:00", &e), 0);
	assert_int_equal(moment_parse(&day, "2026-12-01T11:00:00Z", &e), 0);
	assert_int_equal(now.ns, day.ns);
}

static void resolved(void **state)
{
	struct pm_chunk_head first = { .from_ns = 5000, .clocks = { .monotonic = 6000, .realtime = 2000000 } };
	struct moment m = { .kind = MOMENT_NONE };
	struct error e = { 0 };
	uint64_t ns = 7;

	(void)state;
	assert_int_equal(moment_resolve(&m, NULL, &first, &ns, &e), 0);
	assert_int_equal(ns, 7);
	m = (struct moment){ MOMENT_FROM_START, 300 };
	assert_int_equal(moment_resolve(&m, NULL, &first, &ns, &e), 0);
	assert_int_equal(ns, 5300);
	m = (struct moment){ MOMENT_WALL, 2000100 };
	assert_int_equal(moment_resolve(&m, NULL, &first, &ns, &e), 0);
	assert_int_equal(ns, 6100);
	m.ns = 1994001;
	assert_int_equal(moment_resolve(&m, NULL, &first, &ns, &e), 0);
	assert_int_equal(ns, 1);
	m.ns = 1000;
	assert_int_equal(moment_resolve(&m, NULL, &first, &ns, &e), 0);
	assert_int_equal(ns, 1);
	/* What no clock reaches is the end, whatever it is counted from. */
	assert_int_equal(moment_parse(&m, "9999-12-31T00:00:00Z", &e), 0);
	assert_int_equal(moment_resolve(&m, NULL, &first, &ns, &e), 0);
	assert_true(ns > UINT64_MAX / 2);
	m = (struct moment){ MOMENT_FROM_START, UINT64_MAX - 4000 };
	assert_int_equal(moment_resolve(&m, NULL, &first, &ns, &e), 0);
	assert_int_equal(ns, UINT64_MAX);
	m.kind = MOMENT_WALL;
	first.clocks.realtime = 0;
	assert_int_equal(moment_resolve(&m, NULL, &first, &ns, &e), -EINVAL);
	assert_non_null(strstr(e.text, "no wall time"));
}

static void words(void **state)
{
	struct pipeline_config p = { 0 };
	struct error e = { 0 };

	(void)state;
	assert_int_equal(read_every(&p, "0", &e), -EINVAL);
	assert_int_equal(read_every(&p, "x", &e), -EINVAL);
	assert_int_equal(p.mode, PIPELINE_AUTO);
	assert_int_equal(read_every(&p, "250ms", &e), 0);
	assert_int_equal(p.mode, PIPELINE_EVERY);
	assert_int_equal(p.every_ns, 250000000);
	assert_int_equal(read_rows(&p.sheet, "core", &e), 0);
	assert_int_equal(p.sheet.rows, SHEET_FIRST_OF_CORE);
	assert_int_equal(read_rows(&p.sheet, "package", &e), 0);
	assert_int_equal(p.sheet.rows, SHEET_FIRST_OF_PACKAGE);
	assert_int_equal(read_rows(&p.sheet, "cores", &e), -EINVAL);
	assert_int_equal(read_rows(&p.sheet, "1,3", &e), 0);
	assert_int_equal(p.sheet.rows, SHEET_CPU_SET);
	assert_int_equal(p.sheet.cpus.n, 2);
	cpulist_release(&p.sheet.cpus);
	assert_int_equal(read_show(&p.selection, "a", &e), 0);
	assert_int_equal(read_hide(&p.selection, "b", &e), 0);
	assert_int_equal(read_enable(&p.selection, "c", &e), 0);
	assert_int_equal(p.selection.n, 3);
	assert_int_equal(p.selection.word[0].verb, SELECT_SHOW);
	assert_int_equal(p.selection.word[1].verb, SELECT_HIDE);
	assert_int_equal(p.selection.word[2].verb, SELECT_ENABLE);
	selection_release(&p.selection);
	assert_int_equal(read_moment(&p.since, "2", &e), 0);
	assert_int_equal(p.since.ns, 2000000000);
}

/* As the lines of a table: who said it, and what. */
static void failures_are_named(void **state)
{
	static const struct {
		int err;
		const char *text;
	} rows[] = {
		{ -EFBIG, "x: unpacks to more than 200 times its size, which no recording does" },
		{ -EIO, "x: Input/output error" },
	};
	struct error e = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_int_equal(input_failed(&e, rows[i].err, "x"), rows[i].err);
		assert_int_equal(strncmp(e.text, rows[i].text, strlen(rows[i].text)), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(failures_are_named),
		cmocka_unit_test(complete_or_never),
		cmocka_unit_test(names_come_first),
		cmocka_unit_test(copies_have_limits),
		cmocka_unit_test(packed),
		cmocka_unit_test(followed),
		cmocka_unit_test(archives_of_others),
		cmocka_unit_test(moments),
		cmocka_unit_test(resolved),
		cmocka_unit_test(words),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
