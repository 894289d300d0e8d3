/* Processes and those that end unseen, from a /proc that a test writes and messages that it sends. */
#include <linux/acct.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <sys/socket.h>

#include "record/sources/source_tasks.c"
#include "tests/unit/lib/planned.h"
#include "tests/unit/lib/test.h"

static struct planned here;

/* One line of /proc/PID/stat; times in ticks, of which a second has 100. */
struct proc {
	int pid;
	const char *name;
	int parent;
	unsigned user, system, children, threads, began, rss, faults;
	char state;
};

static void put_stat(const char *path, const struct proc *p)
{
	sysroot_put(here.dir, path,
		    "%d (%s) %c %d 81 82 0 -1 4194304 91 92 %u 93 %u %u %u %u 20 0 %u 0 %u 99999 %u 5 6\n", p->pid,
		    p->name, p->state ? p->state : 'S', p->parent, p->faults, p->user, p->system, p->children,
		    p->children, p->threads ? p->threads : 1, p->began, p->rss);
}

static void put(const struct proc *p)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/stat", p->pid);
	put_stat(path, p);
}

static void put_io(int pid, unsigned long read, unsigned long written)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/io", pid);
	sysroot_put(here.dir, path, "rchar: 7\nwchar: 8\nread_bytes: %lu\nwrite_bytes: %lu\n", read, written);
}

static void gone(const char *format, int pid, int tid)
{
	char path[96];
	int n = snprintf(path, sizeof(path), "%s", here.dir);

	snprintf(path + n, sizeof(path) - (size_t)n, format, pid, tid);
	sysroot_remove(path);
}

static bool clock_fits(void)
{
	return sysconf(_SC_CLK_TCK) == 100 && sysconf(_SC_PAGESIZE) == 4096;
}

/* ---- the list ---- */

static struct task_list list;
static int messages[2];
static unsigned files_before;

static void begin_list(void)
{
	files_before = open_files();
	sysroot_make(here.dir, NULL);
	put(&(struct proc){ 1, "init", 0, .began = 1 });
	root_init(&here.root, here.dir);
	assert_int_equal(task_list_init(&list, &here.root), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, messages), 0);
	list.exits = messages[0];
}

static void end_list(void)
{
	task_list_release(&list);
	close(messages[1]);
	root_release(&here.root);
	sysroot_remove(here.dir);
	here.dir[0] = '\0';
	assert_int_equal(open_files(), files_before);
}

/* Where there is no room for more, those that are left out keep no file open. */
static void too_many_processes(void **state)
{
	begin_list();
	list.most = 4;
	put(&(struct proc){ 3, "third", 1, .began = 2 });
	put(&(struct proc){ 9, "last", 1, .began = 2 });
	assert_int_equal(task_list_read(&list), 0);
	assert_int_equal(list.n, 3);
	assert_int_equal(list.n_files, 3);
	assert_int_equal(list.missed, 0);
	for (int pid = 4; pid < 8; pid++)
		put(&(struct proc){ pid, "new", 1, .began = 3 });
	gone("/proc/%d", 1, 0);
	gone("/proc/%d", 3, 0);
	gone("/proc/%d", 9, 0);
	assert_int_equal(task_list_read(&list), 0);
	assert_int_equal(list.n, 4);
	assert_int_equal(list.missed, 1);
	assert_true(task_list_find(&list, 3)->ended);
	assert_false(task_list_find(&list, 5)->ended);
	assert_null(task_list_find(&list, 6));
	assert_null(task_list_find(&list, 9));
	assert_int_equal(list.n_files, 2);
	end_list();
}

/* The kernel's message about a thread that ended; times in us. */
static void say_end(struct taskstats t, const char *name)
{
	_Alignas(8) char message[1024] = "";
	struct nlmsghdr *h = (struct nlmsghdr *)message;
	char *at = message + NLMSG_LENGTH(GENL_HDRLEN);
	struct nlattr all = { .nla_type = TASKSTATS_TYPE_AGGR_PID | NLA_F_NESTED,
			      .nla_len = (uint16_t)(3 * NLA_HDRLEN + 4 + sizeof(t)) };
	struct nlattr pid = { .nla_type = TASKSTATS_TYPE_PID, .nla_len = NLA_HDRLEN + 4 };
	struct nlattr stats = { .nla_type = TASKSTATS_TYPE_STATS, .nla_len = (uint16_t)(NLA_HDRLEN + sizeof(t)) };

	if (!t.version)
		t.version = 12;
	snprintf(t.ac_comm, sizeof(t.ac_comm), "%s", name);
	memcpy(at, &all, NLA_HDRLEN);
	memcpy(at + NLA_HDRLEN, &pid, NLA_HDRLEN);
	memcpy(at + 2 * NLA_HDRLEN, &t.ac_pid, 4);
	memcpy(at + 2 * NLA_HDRLEN + 4, &stats, NLA_HDRLEN);
	memcpy(at + 3 * NLA_HDRLEN + 4, &t, sizeof(t));
	h->nlmsg_type = 40;
	h->nlmsg_len = (uint32_t)(NLMSG_LENGTH(GENL_HDRLEN) + all.nla_len);
	assert_int_equal(send(messages[1], message, h->nlmsg_len, 0), h->nlmsg_len);
}

static void messages_are_understood(void **state)
{
	struct nlmsghdr other = { .nlmsg_type = NLMSG_NOOP, .nlmsg_len = sizeof(other) };
	struct task_exit x;

	begin_list();
	assert_int_equal(taskstats_next(messages[0], &x), 0);
	say_end((struct taskstats){ .ac_pid = 8,
				    .ac_tgid = 7,
				    .ac_ppid = 1,
				    .ac_utime = 300,
				    .ac_stime = 100,
				    .ac_majflt = 5,
				    .read_bytes = 11,
				    .write_bytes = 12 },
		"worker");
	/* Counted in ticks, but it ran for 2 ms: 3 : 1. */
	say_end((struct taskstats){ .ac_pid = 7,
				    .ac_tgid = 7,
				    .ac_ppid = 1,
				    .ac_utime = 300,
				    .ac_stime = 100,
				    .cpu_run_virtual_total = 2000000,
				    .ac_flag = AGROUP },
		"main");
	assert_int_equal(send(messages[1], &other, sizeof(other), 0), sizeof(other));
	assert_int_equal(send(messages[1], &other, 0, 0), 0);
	say_end((struct taskstats){ .ac_pid = 9, .ac_tgid = 7, .cpu_run_virtual_total = 5000, .version = 11 },
		"short");
	assert_int_equal(taskstats_next(messages[0], &x), 1);
	assert_int_equal(x.pid, 7);
	assert_int_equal(x.tid, 8);
	assert_int_equal(x.parent, 1);
	assert_false(x.last);
	assert_int_equal(x.user, 300);
	assert_int_equal(x.system, 100);
	assert_int_equal(x.faults, 5);
	assert_int_equal(x.bytes[0], 11);
	assert_int_equal(x.bytes[1], 12);
	assert_string_equal(x.name, "worker");
	assert_int_equal(taskstats_next(messages[0], &x), 1);
	assert_int_equal(x.tid, 7);
	assert_true(x.last);
	assert_int_equal(x.user, 1500);
	assert_int_equal(x.system, 500);
	/* Before version 12 a thread is its own process. */
	assert_int_equal(taskstats_next(messages[0], &x), 1);
	assert_int_equal(x.pid, 9);
	assert_true(x.last);
	assert_int_equal(x.user, 0);
	assert_int_equal(x.system, 5);
	assert_int_equal(taskstats_next(messages[0], &x), 0);
	end_list();
}

/* Where this kernel and these rights have it, it is a descriptor of its own. */
static void ends_can_be_listened_to(void **state)
{
	int fd = taskstats_listen();
	struct task_exit x;
	socklen_t len = sizeof(int);
	int room;

	assert_int_equal(taskstats_next(-1, &x), -EBADF);
	if (fd < 0)
		skip();
	assert_true(fd > STDERR_FILENO);
	/* More than any limit of the machine: many tasks may end at once. */
	assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, &len), 0);
	assert_true(room >= 16 << 20);
	while (taskstats_next(fd, &x) > 0)
		;
	assert_int_equal(close(fd), 0);
}

/* Fields as proc(5) numbers them; the name is anything. */
static void numbers_are_those_behind_the_name(void **state)
{
	static const struct {
		const char *text;
		int n;
		uint64_t field[4]; /* from the fourth on; 77: as it was */
	} row[] = {
		{ "7 (sh) S 1 20 -30 44\n", 8, { 1, 20, 30, 44 } },
		{ "7 (a) (b 2 3) R 12 -1 5 6 7 8 9\n", 8, { 12, 1, 5, 6 } },
		{ "7 (sh) S 1 20 x 44\n", 6, { 1, 20, 77, 77 } },
		{ "7 (sh) S\n", 4, { 77, 77, 77, 77 } },
		{ "7 (sh) ", 0, { 77, 77, 77, 77 } },
		{ "7 (sh)x1 2 3", 0, { 77, 77, 77, 77 } },
		{ "7 sh S 1 20 30 44\n", 0, { 77, 77, 77, 77 } },
		{ "", 0, { 77, 77, 77, 77 } },
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		uint64_t field[8] = { 0, 0, 0, 0, 77, 77, 77, 77 };

		assert_int_equal(taskstats_fields(row[i].text, field, 8), row[i].n);
		assert_memory_equal(field + 4, row[i].field, sizeof(row[i].field));
	}
}

/* Its last times are known from the message; what its threads used is in its own until it has ended. */
static void ends_are_added_to_what_was_seen(void **state)
{
	struct task *t;

	if (!clock_fits())
		skip();
	begin_list();
	put(&(struct proc){ 7, "work", 1, 10, 5, .began = 3 });
	put(&(struct proc){ 9, "two", 1, 10, 0, .threads = 2, .began = 3 });
	put_io(7, 100, 200);
	put_io(9, 100, 200);
	assert_int_equal(task_list_read(&list), 0);
	task_list_io(&list, task_list_find(&list, 7));
	say_end((struct taskstats){ .ac_pid = 10, .ac_tgid = 9, .ac_utime = 500000 }, "two");
	assert_int_equal(task_list_read(&list), 0);
	assert_int_equal(list.ended, 0);
	t = task_list_find(&list, 9);
	assert_int_equal(t->exits, 500000);
	assert_int_equal(t->use.user, 100000);
	gone("/proc/%d", 7, 0);
	gone("/proc/%d", 9, 0);
	say_end((struct taskstats){ .ac_pid = 7,
				    .ac_tgid = 7,
				    .ac_flag = AGROUP,
				    .ac_utime = 200000,
				    .ac_stime = 100000,
				    .read_bytes = 150,
				    .write_bytes = 50 },
		"work");
	say_end(
		(struct taskstats){
			.ac_pid = 9, .ac_tgid = 9, .ac_flag = AGROUP, .ac_utime = 50000, .read_bytes = 999 },
		"two");
	assert_int_equal(task_list_read(&list), 0);
	assert_int_equal(list.ended, 2);
	/* 150 ms were seen of 300; the rest is shared 2 : 1. Bytes only grow. */
	t = task_list_find(&list, 7);
	assert_true(t->ended);
	assert_in_range(t->use.user, 199998, 200000);
	assert_int_equal(t->use.user + t->use.system, 300000);
	assert_int_equal(t->use.bytes[0], 150);
	assert_int_equal(t->use.bytes[1], 200);
	/* What one thread of several says of the end is less than the process was seen to use. */
	t = task_list_find(&list, 9);
	assert_int_equal(t->use.user, 100000);
	assert_int_equal(t->use.bytes[0], 0);
	assert_int_equal(t->no_io, PM_REASON_NOT_READ);
	end_list();
}

/* ---- the table ---- */

static struct pm_chunk_group tables[2];
static int n_tables;
static uint64_t cells[6];

static struct source *the_source(void)
{
	for (size_t i = 0; i < here.n_sources; i++)
		if (here.source[i].wanted)
			return &here.source[i];
	return NULL;
}

/* One snapshot, and what the writer gets for it. */
static void snapshot(uint32_t rows)
{
	struct unit *u = here.plan.units;
	uint16_t status[6] = { 0 };
	bool missing = false;
	struct cells c = { .v = cells + 2, .status = status + 2, .step = 1, .n = 4, .any_missing = &missing };
	struct pm_chunk_group own = { .group = u->group, .v = cells, .stride = 1 };
	struct pm_chunk chunk = { .rows = rows, .group = &own, .n_groups = 1 };

	cells[0] = 1000;
	cells[1] = 2000;
	assert_int_equal(u->read(u, &c), 0);
	n_tables = the_source()->ops->tables(the_source(), &here.plan, &chunk, tables);
}

/* -1: there is no row of it; -2: the value is missing. */
static int64_t in_table(const char *counter, const char *name)
{
	const struct pm_counter *c = pm_model_counter_named(&here.model, counter);

	assert_non_null(c);
	for (int t = 0; t < n_tables; t++) {
		const struct pm_group *g = pm_model_group(&here.model, tables[t].group);

		assert_int_equal(tables[t].v[0], 1000);
		assert_int_equal(tables[t].v[1], 2000);
		for (uint32_t k = 0; k < pm_group_values(g); k++) {
			const struct pm_instance *i = pm_model_instance(&here.model, pm_group_instance_of(g, k));

			if (pm_group_counter_of(g, k) == c->id &&
			    !strcmp(pm_map_text(&i->attrs, PM_INSTANCE_COMM, ""), name))
				return tables[t].status[2 + k] ? -2 : (int64_t)tables[t].v[2 + k];
		}
	}
	return -1;
}

static void begin_table(void)
{
	here.options = (struct record_options){ .privacy = (char *)"full" };
	sysroot_make(here.dir, NULL);
	sysroot_put(here.dir, "/sys/devices/system/cpu/online", "0\n");
	put(&(struct proc){ 1, "init", 0, .began = 1 });
}

static void plan_table(void)
{
	struct error e = { 0 };

	planned_begin(&here, NULL, "tasks");
	assert_int_equal(plan_sources(&here.plan, here.source, here.n_sources, &e), 0);
	assert_non_null(here.plan.units);
}

static void those_that_use_most_are_in_the_table(void **state)
{
	const struct pm_instance *i = NULL;
	char name[16];

	if (!clock_fits())
		skip();
	begin_table();
	for (int n = 0; n < 14; n++) {
		snprintf(name, sizeof(name), "n%d", n);
		put(&(struct proc){ 100 + n, name, 1, 0, 0, .began = 3 });
		put_io(100 + n, 0, 0);
	}
	put(&(struct proc){ 200, "large", 1, 0, 0, .began = 3, .rss = 4097 });
	put(&(struct proc){ 201, "small", 1, 0, 0, .began = 3, .rss = 4095 });
	put_io(200, 5120, 0);
	sysroot_put(here.dir, "/proc/113/cgroup", "0::/a:1/b\n");
	sysroot_put(here.dir, "/proc/113/cmdline", "%s", "cmd");
	plan_table();
	/* n0 has used nothing since, n1 one tick, and so on: the twelve largest, and the large one. */
	for (int n = 0; n < 14; n++) {
		snprintf(name, sizeof(name), "n%d", n);
		put(&(struct proc){ 100 + n, name, 1, (unsigned)n, 2 * (n == 13), .began = 3, .faults = 5,
				    .threads = 3 });
		put_io(100 + n, 512 * 2 * (n == 13), 512 * 3 * (n == 13));
	}
	snapshot(1);
	assert_int_equal(n_tables, 1);
	assert_int_equal(cells[3], 17);
	for (int n = 0; n < 14; n++) {
		snprintf(name, sizeof(name), "n%d", n);
		assert_int_equal(in_table("tasks.user", name), n < 2 ? -1 : 100 * n);
	}
	assert_int_equal(in_table("tasks.system", "n13"), 200);
	assert_int_equal(in_table("tasks.system", "n12"), 0);
	assert_int_equal(in_table("tasks.faults", "n13"), 5);
	assert_int_equal(in_table("tasks.threads", "n13"), 3);
	assert_int_equal(in_table("tasks.ended", "n13"), 0);
	assert_int_equal(in_table("tasks.state", "n13"), 'S');
	assert_int_equal(in_table("tasks.rss", "large"), 4097);
	assert_int_equal(in_table("tasks.user", "large"), 0);
	assert_int_equal(in_table("tasks.user", "small"), -1);
	assert_int_equal(in_table("tasks.user", "init"), -1);
	for (uint32_t k = 0; k < here.model.n_instances; k++)
		if (!strcmp(pm_map_text(&here.model.instance[k].attrs, PM_INSTANCE_COMM, ""), "n13"))
			i = &here.model.instance[k];
	assert_int_equal(pm_map_u64(&i->attrs, PM_INSTANCE_PID, 0), 113);
	assert_int_equal(pm_map_u64(&i->attrs, PM_INSTANCE_PARENT, 0), 1);
	assert_string_equal(pm_map_text(&i->attrs, PM_INSTANCE_PARENT_COMM, ""), "init");
	assert_string_equal(pm_map_text(&i->attrs, PM_INSTANCE_CGROUP, ""), "/a:1/b");
	assert_null(pm_map_get(&i->attrs, PM_INSTANCE_TID));
	/* It had used no CPU time at the plan's reading, so all of its I/O came after it. */
	put_io(113, 512 * 12, 512 * 23);
	put(&(struct proc){ 113, "n13", 1, 14, 2, .began = 3 });
	snapshot(1);
	assert_int_equal(in_table("tasks.read", "n13"), 12);
	assert_int_equal(in_table("tasks.write", "n13"), 23);
	assert_int_equal(in_table("tasks.user", "n13"), 1400);
	/* They stay while others do not need the place; who becomes another program starts anew. */
	put(&(struct proc){ 112, "exec", 1, 19, 0, .began = 3 });
	snapshot(1);
	assert_int_equal(in_table("tasks.user", "n2"), 200);
	assert_int_equal(in_table("tasks.user", "n12"), -1);
	assert_int_equal(in_table("tasks.user", "exec"), 700);
	/* What it did before its file could be read is not what it does now. */
	put_io(112, 512 * 900, 0);
	put(&(struct proc){ 112, "exec", 1, 20, 0, .began = 3 });
	sysroot_put(here.dir, "/proc/112/io", "refused");
	snapshot(1);
	assert_int_equal(in_table("tasks.read", "exec"), -2);
	put_io(112, 512 * 900, 512 * 70);
	snapshot(1);
	assert_int_equal(in_table("tasks.read", "exec"), 0);
	assert_int_equal(in_table("tasks.write", "exec"), 0);
	put_io(112, 512 * 907, 512 * 72);
	snapshot(1);
	assert_int_equal(in_table("tasks.read", "exec"), 7);
	assert_int_equal(in_table("tasks.write", "exec"), 2);
	/* The last reading of one that has ended says so. */
	gone("/proc/%d", 113, 0);
	snapshot(1);
	assert_int_equal(in_table("tasks.state", "n13"), 'X');
	assert_int_equal(in_table("tasks.ended", "n13"), 1);
	assert_int_equal(in_table("tasks.threads", "n13"), 0);
	assert_int_equal(in_table("tasks.rss", "n13"), 0);
	assert_int_equal(in_table("tasks.user", "n13"), 1400);
	assert_int_equal(cells[3], 16);
	snapshot(1);
	assert_int_equal(in_table("tasks.state", "n13"), -1);
	/* Chunks of several snapshots have no table. */
	snapshot(2);
	assert_int_equal(n_tables, 0);
	planned_end(&here);
}

/* A table of another reading than the chunk's is not its table. */
static void tables_wait_for_their_chunk(void **state)
{
	struct pm_chunk_group own, *out = tables;
	struct pm_chunk chunk = { .rows = 1, .group = &own, .n_groups = 1 };
	uint16_t status[6] = { 0 };
	uint64_t late[6];

	begin_table();
	plan_table();
	snapshot(1);
	memcpy(late, cells, sizeof(late));
	own = (struct pm_chunk_group){ .group = here.plan.units->group, .v = late, .stride = 1, .status = status };
	for (unsigned n = 0; n < 3; n++) {
		put(&(struct proc){ 1, "init", 0, 10 + n, .began = 1 });
		snapshot(1);
	}
	assert_int_equal(in_table("tasks.user", "init"), clock_fits() ? 1200 : in_table("tasks.user", "init"));
	/* Of a few readings ago: nobody had used anything. */
	assert_int_equal(the_source()->ops->tables(the_source(), &here.plan, &chunk, out), 0);
	late[2] = cells[2] + 1;
	assert_int_equal(the_source()->ops->tables(the_source(), &here.plan, &chunk, out), 0);
	late[2] = cells[2];
	assert_int_equal(the_source()->ops->tables(the_source(), &here.plan, &chunk, out), 1);
	status[2] = PM_REASON_GONE;
	assert_int_equal(the_source()->ops->tables(the_source(), &here.plan, &chunk, out), 0);
	planned_end(&here);
}

UNIT_TESTS(cmocka_unit_test(too_many_processes), cmocka_unit_test(messages_are_understood),
	   cmocka_unit_test(ends_can_be_listened_to), cmocka_unit_test(numbers_are_those_behind_the_name),
	   cmocka_unit_test(ends_are_added_to_what_was_seen), cmocka_unit_test(those_that_use_most_are_in_the_table),
	   cmocka_unit_test(tables_wait_for_their_chunk))
