/* The table of cgroups and the file systems, on a copy of a machine that the test makes. */
#include <sys/statvfs.h>

#include "tests/unit/lib/snapshot.h"
#include "tests/unit/lib/test.h"

#define CGROUPS "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n"

static void begin(const char *mounts)
{
	sysroot_make(here.dir, NULL);
	sysroot_put(here.dir, "/sys/devices/system/cpu/online", "0\n");
	sysroot_put(here.dir, "/proc/mounts", "%s", mounts);
}

static void remove_there(const char *what)
{
	char path[96];

	snprintf(path, sizeof(path), "%s%s", here.dir, what);
	sysroot_remove(path);
}

/* ---- cgroups ---- */

static struct pm_chunk_group table;
static int n_tables;
static uint64_t own[4];

static void put(const char *cgroup, const char *file, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/fs/cgroup%s/%s", cgroup, file);
	sysroot_put(here.dir, path, "%s", text);
}

/* us since it was made */
static void use(const char *cgroup, unsigned user, unsigned system)
{
	char text[64];

	snprintf(text, sizeof(text), "user_usec %u\nsystem_usec %u\n", user, system);
	put(cgroup, "cpu.stat", text);
}

static void use_numbered(unsigned first, unsigned n, unsigned user)
{
	char name[16];

	for (unsigned i = first; i < first + n; i++) {
		snprintf(name, sizeof(name), "/n%u", i);
		use(name, user, 0);
	}
}

static void snapshot(void)
{
	struct unit *u = here.plan.units;
	uint16_t status[4] = { 0 };
	bool missing = false;
	struct cells c = { .v = own + 2, .status = status + 2, .step = 1, .n = 2, .any_missing = &missing };
	struct pm_chunk_group g = { .group = u->group, .v = own, .stride = 1 };
	struct pm_chunk chunk = { .rows = 1, .group = &g, .n_groups = 1 };

	assert_int_equal(u->read(u, &c), 0);
	n_tables = named("cgroups")->ops->tables(named("cgroups"), &here.plan, &chunk, &table);
	assert_true(n_tables >= 0);
}

/* -1: there is no such row; else STATUS() or the value. */
static int64_t row(const char *counter, const char *cgroup)
{
	const struct pm_counter *c = pm_model_counter_named(&here.model, counter);
	const struct pm_group *g = n_tables ? pm_model_group(&here.model, table.group) : NULL;

	assert_non_null(c);
	for (uint32_t k = 0; g && k < pm_group_values(g); k++) {
		const struct pm_instance *i = pm_model_instance(&here.model, pm_group_instance_of(g, k));

		if (pm_group_counter_of(g, k) == c->id &&
		    !strcmp(pm_map_text(&i->attrs, PM_INSTANCE_CGROUP, pm_map_text(&i->attrs, PM_INSTANCE_NAME, "")),
			    cgroup))
			return table.status[2 + k] ? STATUS(table.status[2 + k]) : (int64_t)table.v[2 + k];
	}
	return -1;
}

static unsigned rows(void)
{
	return n_tables ? pm_model_group(&here.model, table.group)->n_instances : 0;
}

/* The largest 16 of each kind enter, 64 fit, and a place becomes free after ten readings. */
static void the_table_has_an_end(void **state)
{
	begin(CGROUPS);
	use("", 0, 0);
	use_numbered(0, 82, 0);
	start_with(NULL, "cgroups", "default", NULL);
	snapshot();
	assert_int_equal(rows(), 0);
	for (unsigned k = 0; k < 4; k++) {
		use_numbered(20 * k, 16, 5000);
		use_numbered(20 * k + 16, 1, 4900);
		snapshot();
		assert_int_equal(rows(), 16 * k + 16);
	}
	assert_int_equal(row("cgroups.user", "/n0"), 50);
	assert_int_equal(row("cgroups.user", "/n16"), -1);
	assert_int_equal(row("cgroups.user", "/n75"), 50);
	/* The first came with reading 3. */
	for (unsigned reading = 7; reading < 14; reading++) {
		use_numbered(80, 1, 5000 * reading);
		snapshot();
		assert_int_equal(own[2], reading);
		assert_int_equal(rows(), 64);
		assert_int_equal(row("cgroups.user", "/n80"), reading < 13 ? -1 : 50);
	}
	assert_int_equal(row("cgroups.user", "/n1"), 50);
	assert_int_equal(row("cgroups.user", "/n20"), 50);
}

/* Where there is none at the start there is no counter either, until one comes. */
static void cgroups_may_come_later(void **state)
{
	begin(CGROUPS);
	use("", 0, 0);
	here.options = (struct record_options){ .privacy = (char *)"strict" };
	here.options.sample.interval_ns = 1000000000;
	planned_begin(&here, NULL, "cgroups");
	plan_instance(&here.plan, &(struct pm_instance){ .kind = PM_CGROUP, .number = 7, .cpu = PM_NONE });
	assert_int_equal(plan_sources(&here.plan, here.source, here.n_sources, NULL), 0);
	assert_null(pm_model_counter_named(&here.model, "cgroups.user"));
	snapshot();
	assert_int_equal(rows(), 0);
	use("/new", 0, 0);
	snapshot();
	use("/new", 3000, 0);
	snapshot();
	assert_int_equal(row("cgroups.user", "cgroup-8"), 30);
	assert_true(pm_map_bool(&counter("cgroups.user")->attrs, PM_COUNTER_FROM_ZERO, false));
	assert_false(pm_map_bool(&counter("cgroups.memory")->attrs, PM_COUNTER_FROM_ZERO, false));
}

/* ---- file systems ---- */

static void local_file_systems_are_read_once(void **state)
{
	static const char *const type[] = {
		"ext2",  "ext3",  "ext4", "xfs",      "btrfs",  "f2fs", "zfs",   "vfat",
		"exfat", "ntfs3", "jfs",  "bcachefs", "nilfs2", "ext",  "ext44", "tmpfs"
	};
	static const char *const far[] = { "fuseblk", "nfs4",      "cifs",     "smb3",    "ceph", "9p",
					   "afs",     "autofs",    "ocfs2",    "gfs2",    "coda", "lustre",
					   "beegfs",  "glusterfs", "orangefs", "virtiofs" };
	SCOPED(buf_release) struct buf mounts = BUF_INIT;
	char name[64];
	struct statvfs s;

	for (unsigned i = 0; i < sizeof(type) / sizeof(*type); i++)
		buf_printf(&mounts, "/dev/a%u /a%u %s rw 0 0\n", i, i, type[i]);
	for (unsigned i = 0; i < sizeof(far) / sizeof(*far); i++)
		buf_printf(&mounts, "far%u /f%u %s rw 0 0\n/dev/f%u /f%u/x ext4 rw 0 0\n/dev/g%u /f%ug ext4 rw 0 0\n",
			   i, i, far[i], i, i, i, i);
	buf_addstr(&mounts, "/dev/a0 /again ext4 rw 0 0\n/dev/z /not/there ext4 rw 0 0\n/dev/y /empty ext4 rw 0 0\n");
	begin(buf_str(&mounts));
	sysroot_put(here.dir, "/again/x", "\n");
	/* It has no size. */
	snprintf(name, sizeof(name), "%s/empty", here.dir);
	assert_int_equal(symlink("/proc", name), 0);
	for (unsigned i = 0; i < sizeof(type) / sizeof(*type); i++) {
		snprintf(name, sizeof(name), "/a%u/x", i);
		sysroot_put(here.dir, name, "\n");
	}
	for (unsigned i = 0; i < sizeof(far) / sizeof(*far); i++) {
		snprintf(name, sizeof(name), "/f%u/x/y", i);
		sysroot_put(here.dir, name, "\n");
		snprintf(name, sizeof(name), "/f%ug/y", i);
		sysroot_put(here.dir, name, "\n");
	}
	start_with(NULL, "filesystems", "default", NULL);
	assert_int_equal(here.plan.units->min_period_ns, 10000000000u);
	sample();
	assert_int_equal(statvfs(here.dir, &s), 0);
	for (unsigned i = 0; i < sizeof(type) / sizeof(*type); i++) {
		snprintf(name, sizeof(name), "/a%u", i);
		assert_int_equal(of_device("filesystems.size", name),
				 i < 13 ? (int64_t)(s.f_blocks * s.f_frsize) : NO_COLUMN);
	}
	for (unsigned i = 0; i < sizeof(far) / sizeof(*far); i++) {
		snprintf(name, sizeof(name), "/f%u/x", i);
		assert_int_equal(of_device("filesystems.size", name), NO_COLUMN);
		snprintf(name, sizeof(name), "/f%ug", i);
		assert_int_equal(of_device("filesystems.size", name), s.f_blocks * s.f_frsize);
	}
	assert_int_equal(of_device("filesystems.size", "/again"), NO_COLUMN);
	assert_int_equal(of_device("filesystems.size", "/not/there"), NO_COLUMN);
	assert_int_equal(of_device("filesystems.size", "/empty"), NO_COLUMN);
	assert_true(of_device("filesystems.free", "/a0") >= 0);
	assert_int_equal(of_device("filesystems.inodes", "/a3"),
			 s.f_files ? (int64_t)s.f_files : STATUS(PM_REASON_NOT_SUPPORTED));
	assert_in_range(of_device("filesystems.free", "/a3"), 0, s.f_blocks * s.f_frsize);
	assert_in_range(of_device("filesystems.available", "/a3"), 0, of_device("filesystems.free", "/a3"));
	/* What is unmounted is not what is mounted below. */
	remove_there("/a3");
	sample();
	assert_int_equal(of_device("filesystems.size", "/a3"), STATUS(PM_REASON_ERRNO + ENOENT));
	assert_int_equal(of_device("filesystems.size", "/a4"), s.f_blocks * s.f_frsize);
	teardown(state);
	begin("tmpfs / tmpfs rw 0 0\n");
	start_with(NULL, "filesystems", "default", NULL);
	assert_int_equal(refused("filesystems")->reason, PM_REASON_NOT_SUPPORTED);
	assert_null(here.plan.units);
}

#define TEST(name) cmocka_unit_test_teardown(name, teardown)

UNIT_TESTS(TEST(the_table_has_an_end), TEST(cgroups_may_come_later), TEST(local_file_systems_are_read_once))
