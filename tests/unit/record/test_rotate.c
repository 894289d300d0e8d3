/* Files of recordings: what is refused, what is replaced, which follow one another, and which are removed. */
#include <dirent.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>

#include "format/frame.h"
#include "record/host/clocks.h"
#include "record/output/outlet.h"
#include "record/sample/rotate.h"
#include "tests/unit/lib/sysroot.h"
#include "tests/unit/lib/test.h"

#define S 1000000000ull

static char dir[32], name[64];
static struct record_options o;
static struct error e;

static int setup(void **state)
{
	sysroot_make(dir, NULL);
	snprintf(name, sizeof(name), "%s/x.pmr", dir);
	o = (struct record_options){ .privacy = (char *)"default", .output.output = name };
	e = (struct error){ 0 };
	return 0;
}

static int teardown(void **state)
{
	sysroot_remove(dir);
	return 0;
}

static long size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? -errno : (long)st.st_size;
}

static unsigned mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_mode & 0777;
}

/* What the machine is called; NULL: it does not say. */
static const char *host = "host";

int __wrap_uname(struct utsname *u);

int __wrap_uname(struct utsname *u)
{
	*u = (struct utsname){ .sysname = "Linux" };
	if (!host)
		return -1;
	strcpy(u->nodename, host);
	return 0;
}

static unsigned files_there(void)
{
	DIR *d = opendir(dir);
	unsigned n = 0;

	for (struct dirent *f; (f = readdir(d));)
		n += f->d_name[0] != '.';
	closedir(d);
	return n;
}

/* ---- one file ---- */

/* Of -o only a file that is rotated or a folder counts, else the machine, unless its name is not recorded. */
static void files_are_called_after_what_they_are_of(void **state)
{
	static const struct {
		const char *output, *host, *privacy, *want;
		bool rotates;
	} row[] = {
		{ NULL, "a/b/c", "default", "a-b-c-" },
		{ NULL, "host", NULL, "host-" },
		{ NULL, "host", "full", "host-" },
		{ NULL, "host", "strict", "anon-" },
		{ NULL, "", "default", "anon-" },
		{ NULL, NULL, "default", "anon-" },
		{ "d/x.pmr", "host", "default", "d/x-", true },
		{ "d/x.pmr", "host", "strict", "d/x-", true },
		{ "d/x.pm", "host", "default", "d/x.pm-", true },
		{ ".pmr", "host", "default", ".pmr-", true },
		{ "x.pmr", "host", "default", "x-", true },
	};

	assert_int_equal(chdir(dir), 0);
	assert_int_equal(mkdir("d", 0777), 0);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		const struct record_options asked = { .privacy = (char *)row[i].privacy,
						      .output.output = (char *)row[i].output,
						      .output.rotate_ns = row[i].rotates };
		struct output out;
		const char *rest;
		size_t len = strlen(row[i].want);

		host = row[i].host;
		assert_int_equal(output_open(&out, &asked, &e), 0);
		host = "host";
		assert_memory_equal(out.path, row[i].want, len);
		/* 20261128T080000Z.pmr */
		rest = out.path + len;
		assert_int_equal(strlen(rest), 20);
		assert_int_equal(strspn(rest, "0123456789"), 8);
		assert_int_equal(strspn(rest + 9, "0123456789"), 6);
		assert_true(rest[8] == 'T' && !strcmp(rest + 15, "Z.pmr"));
		output_close(&out, NULL);
	}
	assert_int_equal(chdir("/"), 0);
}

static void a_recording_is_not_overwritten(void **state)
{
	struct output out;

	assert_int_equal(output_open(&out, &o, &e), 0);
	assert_true(out.regular && out.created && !out.live);
	assert_int_equal(outlet_write(&out, "12345", 5), 0);
	assert_int_equal(out.bytes, 5);
	/* Another one may not write there at the same time, with or without --overwrite. */
	{
		struct output other;

		o.output.overwrite = true;
		assert_int_equal(output_open(&other, &o, &e), -EBUSY);
		o.output.overwrite = false;
	}
	assert_int_equal(output_close(&out, &e), 0);
	assert_int_equal(size_of(name), 5);
	assert_int_equal(output_open(&out, &o, &e), -EEXIST);
	assert_non_null(strstr(e.text, "--overwrite replaces it"));
	assert_int_equal(size_of(name), 5);
	o.output.overwrite = true;
	assert_int_equal(output_open(&out, &o, &e), 0);
	assert_false(out.created);
	assert_int_equal(size_of(name), 0);
	/* It was there before, so it stays, though empty. */
	assert_int_equal(output_close(&out, &e), 0);
	assert_int_equal(size_of(name), 0);
	/* An empty one is what mktemp makes. */
	o.output.overwrite = false;
	assert_int_equal(output_open(&out, &o, &e), 0);
	assert_int_equal(output_close(&out, &e), 0);
	unlink(name);
	/* Ours, and nothing was written: as if it had not been. */
	assert_int_equal(output_open(&out, &o, &e), 0);
	assert_int_equal(size_of(name), 0);
	assert_int_equal(output_close(&out, &e), 0);
	assert_int_equal(size_of(name), -ENOENT);
	/* Removed meanwhile: nobody will find what was recorded. */
	assert_int_equal(output_open(&out, &o, &e), 0);
	assert_int_equal(outlet_write(&out, "12345", 5), 0);
	unlink(name);
	assert_int_equal(output_close(&out, &e), -ENOENT);
	assert_non_null(strstr(e.text, "was removed while it was recorded"));
	/* A link to nothing. */
	assert_int_equal(symlink("nowhere", name), 0);
	assert_int_equal(output_open(&out, &o, &e), -ENOENT);
	assert_non_null(strstr(e.text, "is a link to a file that is not there"));
}

static void what_is_about_the_user_is_only_for_the_user(void **state)
{
	struct output out;
	mode_t before = umask(022);

	o.privacy = (char *)"full";
	assert_int_equal(output_open(&out, &o, &e), 0);
	assert_int_equal(mode_of(name), 0600);
	assert_int_equal(outlet_write(&out, "1", 1), 0);
	assert_int_equal(output_close(&out, &e), 0);
	/* Also where there was a file that others could read. */
	assert_int_equal(chmod(name, 0644), 0);
	o.output.overwrite = true;
	assert_int_equal(output_open(&out, &o, &e), 0);
	assert_int_equal(mode_of(name), 0600);
	assert_int_equal(output_close(&out, &e), 0);
	unlink(name);
	o.privacy = (char *)"default";
	assert_int_equal(output_open(&out, &o, &e), 0);
	assert_int_equal(mode_of(name), 0644);
	assert_int_equal(output_close(&out, &e), 0);
	umask(before);
}

/* ---- several files ---- */

static struct rotation r;

static void begin(void)
{
	r = (struct rotation)ROTATION_INIT;
	if (rotation_begin(&r, &o, &e))
		fail_msg("%s", e.text);
}

/* Another file, and `bytes` in it. */
static void next(size_t bytes, bool taken)
{
	char text[200] = "";
	struct output *sink;

	assert_int_equal(rotation_open_next(&r, &sink, &e), 0);
	assert_int_equal(outlet_write(sink, text, bytes), 0);
	rotation_settle(&r, taken);
}

static unsigned handed_out(void)
{
	struct message_fds fds;
	unsigned n;

	rotation_files(&r, &fds);
	n = fds.n;
	message_close_fds(&fds);
	return n;
}

static void files_are_kept_up_to_a_number(void **state)
{
	char first[96];

	o.output.rotate_bytes = 100;
	o.output.keep = 3;
	begin();
	snprintf(first, sizeof(first), "%s", rotation_output(&r)->path);
	assert_int_equal(outlet_write(rotation_output(&r), "x", 1), 0);
	/* Files that begin in one second have numbers. */
	next(10, true);
	assert_int_equal(files_there(), 2);
	assert_int_equal(r.files, 2);
	next(10, true);
	assert_int_equal(files_there(), 3);
	assert_int_equal(size_of(first), 1);
	next(10, true);
	assert_int_equal(files_there(), 3);
	assert_int_equal(size_of(first), -ENOENT);
	assert_int_equal(r.n_kept, 3);
	assert_int_equal(r.files, 4);
	assert_int_equal(handed_out(), 3);
	/* One that could not be begun is no file, but room was made for it. */
	next(10, false);
	assert_int_equal(files_there(), 2);
	assert_int_equal(r.files, 4);
	assert_int_equal(r.n_kept, 2);
	next(10, true);
	assert_int_equal(files_there(), 3);
	/* Under an old name there is another one now: it is not ours. */
	snprintf(first, sizeof(first), "%s", r.kept[0].path);
	unlink(first);
	close(open("/dev/null", O_RDONLY));
	{
		char other[64];
		FILE *f;

		snprintf(other, sizeof(other), "%s/theirs", dir);
		f = fopen(other, "w");
		fputs("theirs", f);
		fclose(f);
		assert_int_equal(rename(other, first), 0);
	}
	assert_int_equal(handed_out(), 2);
	next(10, true);
	assert_int_equal(size_of(first), 6);
	/* On a full disk the oldest one goes, and the one in use stays. */
	assert_true(rotation_make_room(&r));
	assert_int_equal(r.n_kept, 2);
	assert_true(rotation_make_room(&r));
	assert_false(rotation_make_room(&r));
	assert_int_equal(r.n_kept, 1);
	assert_int_equal(size_of(rotation_output(&r)->path), 10);
	assert_int_equal(rotation_end(&r, &e), 0);
}

static void a_ring_has_its_time_and_its_size(void **state)
{
	uint64_t now;

	o.output.rotate_ns = 5 * S;
	o.output.rotate_bytes = 100;
	o.output.ring_ns = 60 * S;
	begin();
	assert_int_equal(outlet_write(rotation_output(&r), "x", 1), 0);
	for (int i = 0; i < 3; i++)
		next(50, true);
	assert_int_equal(r.n_kept, 4);
	assert_int_equal(r.kept[0].bytes, 1);
	assert_int_equal(r.kept[1].bytes, 50);
	assert_int_equal(r.kept[3].end_ns, INT64_MAX);
	/* What ended more than a minute ago is not needed for the last minute. */
	now = clocks_ns(CLOCK_BOOTTIME);
	r.kept[0].end_ns = (int64_t)(now - 61 * S);
	r.kept[1].end_ns = (int64_t)(now - 59 * S);
	next(50, true);
	assert_int_equal(r.n_kept, 4);
	assert_int_equal(files_there(), 4);
	/* 50 + 50 + 50, and room for two of 100: the one in use and the next. */
	o.output.ring_bytes = 350;
	next(50, true);
	assert_int_equal(r.n_kept, 5);
	/* Four of 50 and twice 100: one goes, and one comes. */
	o.output.ring_bytes = 399;
	next(50, true);
	assert_int_equal(r.n_kept, 5);
	assert_int_equal(files_there(), 5);
	assert_int_equal(rotation_end(&r, &e), 0);
}

static void leave(const char *file, bool ours, int64_t seconds_ago)
{
	char path[96];
	struct timespec t[2];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	f = fopen(path, "w");
	assert_non_null(f);
	if (ours)
		fwrite(frame_magic, 1, sizeof(frame_magic), f);
	else
		fputs("something else", f);
	fclose(f);
	clock_gettime(CLOCK_REALTIME, &t[0]);
	t[0].tv_sec -= seconds_ago;
	t[1] = t[0];
	assert_int_equal(utimensat(AT_FDCWD, path, t, 0), 0);
}

/* A ring goes on where a killed recorder left it: with its files of that name, in the order of their ends. */
static void a_ring_adopts_what_was_left(void **state)
{
	char busy[96];
	int fd;

	o.output.rotate_ns = 5 * S;
	o.output.ring_ns = 60 * S;
	leave("x-20200102T030405Z.pmr", true, 30);
	leave("x-20200102T030405Z-2.pmr", true, 40);
	leave("x-20200101T000000Z.pmr", true, 20);
	leave("x-2020010T000000Z.pmr", true, 20);
	leave("y-20200101T000000Z.pmr", true, 20);
	leave("x-dump-20200101T000000Z.pmr", true, 20);
	leave("x-20200103T000000Z.pmr", false, 20);
	leave("x-20200104T000000Z.pmr", true, 20);
	snprintf(busy, sizeof(busy), "%s/x-20200104T000000Z.pmr", dir);
	fd = open(busy, O_RDONLY);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	begin();
	assert_int_equal(r.n_kept, 4);
	assert_non_null(strstr(r.kept[0].path, "/x-20200102T030405Z-2.pmr"));
	assert_non_null(strstr(r.kept[1].path, "/x-20200102T030405Z.pmr"));
	assert_non_null(strstr(r.kept[2].path, "/x-20200101T000000Z.pmr"));
	assert_int_equal(r.kept[0].bytes, sizeof(frame_magic));
	assert_int_equal(r.kept[3].end_ns, INT64_MAX);
	assert_in_range(r.kept[2].end_ns - r.kept[1].end_ns, 9 * S, 11 * S);
	close(fd);
	assert_int_equal(rotation_end(&r, &e), 0);
	/* Without a ring nobody's files are touched. */
	o.output.ring_ns = 0;
	begin();
	assert_int_equal(r.n_kept, 1);
	assert_int_equal(rotation_end(&r, &e), 0);
}

UNIT_TESTS(cmocka_unit_test_setup_teardown(files_are_called_after_what_they_are_of, setup, teardown),
	   cmocka_unit_test_setup_teardown(a_recording_is_not_overwritten, setup, teardown),
	   cmocka_unit_test_setup_teardown(what_is_about_the_user_is_only_for_the_user, setup, teardown),
	   cmocka_unit_test_setup_teardown(files_are_kept_up_to_a_number, setup, teardown),
	   cmocka_unit_test_setup_teardown(a_ring_has_its_time_and_its_size, setup, teardown),
	   cmocka_unit_test_setup_teardown(a_ring_adopts_what_was_left, setup, teardown))
