/* Cgroups of a tree that the test makes: which are found, what is read of them and when, and what is closed again. */
#include <dirent.h>
#include <sys/resource.h>

#include "record/sources/source_cgroups.c"
#include "tests/unit/lib/sysroot.h"
#include "tests/unit/lib/test.h"

static char dir[32];
static struct root root;
static struct cgroup_list list;
static struct rlimit files;

static void put(const char *cgroup, const char *file, const char *text)
{
	char path[640];

	snprintf(path, sizeof(path), "/sys/fs/cgroup%s/%s", cgroup, file);
	sysroot_put(dir, path, "%s", text);
}

static void use(const char *cgroup, unsigned user, unsigned system)
{
	char text[128];

	snprintf(text, sizeof(text), "usage_usec %u\nuser_usec %u\nsystem_usec %u\nthrottled_usec 700\n",
		 user + system, user, system);
	put(cgroup, "cpu.stat", text);
}

static void all_files(const char *cgroup)
{
	put(cgroup, "memory.current", "8193\n");
	put(cgroup, "memory.stat", "file 1\nanon 40960\nanon_thp 9999999\npgmajfault 12\n");
	put(cgroup, "memory.events", "low 0\noom 5\noom_kill 3\n");
	put(cgroup, "io.stat", "8:0 rbytes=1024 wbytes=512 rios=7\n8:16 rbytes=2048 wbytes=5120 rios=1\n");
	put(cgroup, "cpu.pressure", "some avg10=0.00 total=12345\nfull avg10=0.00 total=999999\n");
	put(cgroup, "memory.pressure", "some avg10=0.00 total=500\nfull avg10=0.00 total=400\n");
	put(cgroup, "io.pressure", "some avg10=0.00 total=300\nfull avg10=0.00 total=250\n");
}

static int setup(void **state)
{
	sysroot_make(dir, NULL);
	sysroot_put(dir, "/proc/self/mounts", "proc /proc proc rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n");
	sysroot_put(dir, "/proc/mounts", "proc /proc proc rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n");
	use("", 1000, 500);
	getrlimit(RLIMIT_NOFILE, &files);
	root_init(&root, dir);
	return 0;
}

static int teardown(void **state)
{
	setrlimit(RLIMIT_NOFILE, &files);
	root_release(&root);
	sysroot_remove(dir);
	return 0;
}

static void limit(rlim_t n)
{
	setrlimit(RLIMIT_NOFILE, &(struct rlimit){ n, files.rlim_max });
}

static struct cgroup *of(const char *path)
{
	for (uint32_t i = 0; i < list.n; i++)
		if (!strcmp(list.cgroup[i].path, path))
			return &list.cgroup[i];
	return NULL;
}

static void expect(const struct cgroup_use *use, const uint64_t want[CGROUP_VALUES])
{
	for (unsigned k = 0; k < CGROUP_VALUES; k++) {
		assert_int_equal(use->status[k], PM_OK);
		assert_int_equal(use->v[k], want[k]);
	}
}

/* All of it of those that use some time, or are in the table; else CPU time only. */
static void what_matters_is_read(void **state)
{
	/* us / 100, bytes / 4096 and bytes / 512. */
	static const uint64_t want[CGROUP_VALUES] = { 23, 5, 7, 2, 10, 12, 3, 6, 11, 123, 5, 4, 3, 2 };
	struct cgroup *busy, *calm, *member;

	use("/busy", 1999, 400);
	use("/calm", 1000, 400);
	use("/member", 1000, 400);
	all_files("/busy");
	all_files("/calm");
	all_files("/member");
	assert_int_equal(cgroup_list_init(&list, &root), 0);
	assert_int_equal(cgroup_list_read(&list), 0);
	busy = of("/busy");
	calm = of("/calm");
	member = of("/member");
	assert_int_equal(busy->use.v[CGROUP_USER], 19);
	assert_int_equal(busy->use.v[CGROUP_SYSTEM], 4);
	assert_int_equal(busy->use.v[CGROUP_THROTTLED], 7);
	/* At first what it has in memory, for who may be idle from now on. */
	assert_int_equal(busy->use.v[CGROUP_MEMORY], 2);
	assert_int_equal(busy->use.status[CGROUP_ANON], PM_REASON_NOT_READ);
	assert_int_equal(busy->full, 0);
	member->stay.id = 1;
	/* 4 steps of user time and 6 of the system's are just enough; 3 and 6 are not. */
	use("/busy", 2399, 1000);
	use("/calm", 1300, 1000);
	assert_int_equal(cgroup_list_read(&list), 0);
	assert_int_equal(cgroup_cpu(busy), 10);
	assert_int_equal(cgroup_cpu(calm), 9);
	assert_int_equal(busy->full, 2);
	assert_int_equal(calm->full, 0);
	assert_int_equal(member->full, 2);
	assert_int_equal(calm->use.status[CGROUP_IO_FULL], PM_REASON_NOT_READ);
	use("/busy", 2300, 500);
	assert_int_equal(busy->before.v[CGROUP_USER], 19);
	assert_int_equal(busy->before.v[CGROUP_ANON], 10); /* counts from now on */
	assert_int_equal(busy->before.v[CGROUP_IO_FULL], 2);
	busy->stay.id = 2;
	assert_int_equal(cgroup_list_read(&list), 0);
	expect(&busy->use, want);
	assert_int_equal(busy->full, 3);
	/* It was read the last time, so it is known since when. */
	put("/busy", "memory.stat", "anon 81920\npgmajfault 20\n");
	assert_int_equal(cgroup_list_read(&list), 0);
	assert_int_equal(busy->before.v[CGROUP_ANON], 10);
	assert_int_equal(busy->use.v[CGROUP_ANON], 20);
	assert_int_equal(busy->before.v[CGROUP_FAULTS], 12);
	/* What begins counts from its beginning. */
	use("/new", 5000, 0);
	all_files("/new");
	assert_int_equal(cgroup_list_read(&list), 0);
	assert_int_equal(of("/new")->full, 5);
	assert_int_equal(of("/new")->before.v[CGROUP_FAULTS], 0);
	assert_int_equal(of("/new")->use.v[CGROUP_FAULTS], 12);
	cgroup_list_release(&list);
}

static void what_no_controller_counts_is_not_supported(void **state)
{
	struct cgroup *c;
	char long_text[70000];

	use("/a", 1000, 0);
	put("/a", "io.stat", "");
	put("/a", "memory.stat", "file 1\nxanon 5\nanon x\n");
	memset(long_text, '1', sizeof(long_text) - 1);
	long_text[sizeof(long_text) - 1] = '\0';
	put("/a", "memory.events", long_text);
	assert_int_equal(cgroup_list_init(&list, &root), 0);
	assert_int_equal(cgroup_list_read(&list), 0);
	c = of("/a");
	assert_int_equal(c->use.status[CGROUP_MEMORY], PM_REASON_NOT_SUPPORTED);
	assert_int_equal(cgroup_list_read(&list), 0);
	cgroup_list_rest(&list, c);
	assert_int_equal(c->use.status[CGROUP_READ], PM_OK);
	assert_int_equal(c->use.v[CGROUP_READ], 0);
	assert_int_equal(c->use.status[CGROUP_ANON], PM_REASON_NOT_SUPPORTED);
	assert_int_equal(c->use.status[CGROUP_FAULTS], PM_REASON_NOT_SUPPORTED);
	assert_int_equal(c->use.status[CGROUP_CPU_SOME], PM_REASON_NOT_SUPPORTED);
	/* What does not fit is no number. */
	assert_true(c->use.status[CGROUP_OOM_KILLS] != PM_OK);
	assert_true(c->use.status[CGROUP_OOM_KILLS] != PM_REASON_NOT_SUPPORTED);
	cgroup_list_release(&list);
}

/* A quarter of the descriptors is for cgroups, two each; if there are few, no other file stays open. */
static void descriptors_are_shared(void **state)
{
	struct cgroup *c;

	for (unsigned i = 0; i < 10; i++) {
		char name[8];

		snprintf(name, sizeof(name), "/%u", i);
		use(name, 1000, 0);
		all_files(name);
	}
	limit(64);
	assert_int_equal(cgroup_list_init(&list, &root), 0);
	assert_int_equal(list.most, 9);
	assert_false(list.keep);
	assert_int_equal(cgroup_list_read(&list), 0);
	assert_int_equal(list.n, 9);
	assert_int_equal(list.missed, 2);
	c = &list.cgroup[1];
	c->stay.id = 1;
	assert_int_equal(cgroup_list_read(&list), 0);
	assert_true(c->fd[CGROUP_CPU_STAT] >= 0);
	for (int i = 1; i < CGROUP_FILES; i++)
		assert_int_equal(c->fd[i], -1);
	cgroup_list_release(&list);
	if (files.rlim_max <= 4096)
		skip();
	limit(4097);
	assert_int_equal(cgroup_list_init(&list, &root), 0);
	assert_true(list.keep);
	assert_int_equal(list.most, 513);
	assert_int_equal(cgroup_list_read(&list), 0);
	assert_int_equal(list.n, 11);
	c = of("/3");
	c->stay.id = 1;
	assert_int_equal(c->fd[1], -1);
	assert_int_equal(cgroup_list_read(&list), 0);
	for (int i = 0; i < CGROUP_FILES; i++)
		assert_true(c->fd[i] >= 0);
	assert_int_equal(of("/4")->fd[1], -1);
	/* No longer in the table. */
	c->stay.id = 0;
	use("/3", 9000, 0);
	assert_int_equal(cgroup_list_read(&list), 0);
	assert_int_equal(c->fd[1], -1);
	cgroup_list_release(&list);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

UNIT_TESTS(TEST(what_matters_is_read), TEST(what_no_controller_counts_is_not_supported), TEST(descriptors_are_shared))
