#include "record/sample/header.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "record/host/clocks.h"

struct filler {
	struct plan *p;
	int err;
};

/* What the user typed to have it in the file is not a secret of the machine. */
static bool may_put(const struct record_options *o, uint32_t key)
{
	if ((key == PM_HEADER_COMMAND || key == PM_HEADER_LABELS) && strcmp(o->privacy, "strict"))
		return true;
	return plan_may_record(o, key);
}

/* Adds a value if privacy permits it and it is not there yet. */
static void put(struct filler *f, uint32_t key, struct pm_value v)
{
	if (f->err || !may_put(f->p->options, key) || pm_map_get(&f->p->model->header, key))
		pm_value_release(&v);
	else
		f->err = pm_map_set(&f->p->model->header, key, v);
}

static struct pm_value texts(char *const *list)
{
	struct pm_value v;
	uint32_t n = 0;

	while (list && list[n])
		n++;
	v = pm_array(n);
	for (uint32_t i = 0; i < n && v.array.item; i++)
		v.array.item[i] = pm_text(list[i]);
	return v;
}

static struct pm_value labels(char *const *list)
{
	struct pm_value v;
	uint32_t n = 0;

	while (list[n])
		n++;
	v = pm_array(n);
	for (uint32_t i = 0; i < n && v.array.item; i++) {
		size_t key = strcspn(list[i], "=");
		struct pm_value pair = pm_array(2);

		if (pair.array.item) {
			pair.array.item[0] = pm_text_n(list[i], key);
			pair.array.item[1] = pm_text(list[i] + key + 1);
		}
		v.array.item[i] = pair;
	}
	return v;
}

static struct pm_value source_names(const struct plan *p, const struct source *s, size_t n)
{
	struct pm_value v;
	uint32_t used = 0, at = 0;

	for (size_t pass = 0; pass < 2; pass++) {
		if (pass)
			v = pm_array(used);
		for (size_t i = 0; i < n; i++) {
			const struct unit *u = p->units;

			while (u && u->source != &s[i])
				u = u->next;
			if (!u)
				continue;
			if (!pass)
				used++;
			else if (v.array.item)
				v.array.item[at++] = pm_text(s[i].ops->name);
		}
	}
	return v;
}

static const char *target(const struct record_options *o)
{
	switch (o->target) {
	case TARGET_COMMAND:
		return "command";
	case TARGET_TASKS:
		return o->perf.pids ? "pid" : o->perf.tids ? "tid" : "system";
	case TARGET_SYSTEM:
		break;
	}
	if (o->perf.n_cgroups || o->perf.each_cgroup)
		return "cgroup";
	return o->cpus ? "cpu" : "system";
}

/* From /etc/passwd only: what name services load does not belong in a program with capabilities. */
static char *user_name(void)
{
	FILE *f = fopen("/etc/passwd", "re");
	const struct passwd *row = NULL;
	char *name;

	while (f && (row = fgetpwent(f)) && row->pw_uid != getuid())
		;
	if (row)
		name = strdup(row->pw_name);
	else if (asprintf(&name, "%u", (unsigned)getuid()) < 0)
		name = NULL;
	if (f)
		fclose(f);
	return name;
}

static void put_people(struct filler *f, char *const *argv)
{
	const struct record_options *o = f->p->options;
	struct utsname host;
	char *user;

	if (!o->root && !uname(&host))
		put(f, PM_HEADER_HOST, pm_text(host.nodename));
	if (o->run.command) {
		put(f, PM_HEADER_COMMAND, pm_text(o->run.command[0]));
		if (o->run.command[1])
			put(f, PM_HEADER_ARGUMENTS, texts(o->run.command + 1));
	}
	if (o->output.labels)
		put(f, PM_HEADER_LABELS, labels(o->output.labels));
	user = user_name();
	if (user)
		put(f, PM_HEADER_USER, pm_text(user));
	free(user);
	put(f, PM_HEADER_PMREC_ARGS, texts(argv));
}

int header_fill(struct plan *p, const struct source *s, size_t n, char *const *argv, struct error *e)
{
	const struct record_options *o = p->options;
	struct filler f = { .p = p };
	SCOPED(buf_release) struct buf cpus = BUF_INIT;

	put(&f, PM_HEADER_TOOL, pm_text("pmrec " PM_VERSION));
	put(&f, PM_HEADER_INTERVAL, pm_u64(o->sample.interval_ns));
	put(&f, PM_HEADER_TICK_HZ, pm_u64((uint64_t)sysconf(_SC_CLK_TCK)));
	put(&f, PM_HEADER_PAGE_SIZE, pm_u64((uint64_t)sysconf(_SC_PAGESIZE)));
	put(&f, PM_HEADER_TARGET, pm_text(target(o)));
	put(&f, PM_HEADER_PRIVACY, pm_text(o->privacy));
	put(&f, PM_HEADER_SOURCES, source_names(p, s, n));
	put(&f, PM_HEADER_LITTLE_ENDIAN, pm_bool(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__));
	if (p->root->emulated)
		put(&f, PM_HEADER_EMULATED, pm_bool(true));
	if (o->perf.no_scale)
		put(&f, PM_HEADER_SCALED, pm_bool(false));
	if (o->run.runs != 1)
		put(&f, PM_HEADER_RUNS, pm_u64(o->run.runs == UINT32_MAX ? 0 : o->run.runs));
	if (clocks_counter_name() && !p->root->emulated) {
		put(&f, PM_HEADER_CLOCK_COUNTER, pm_text(clocks_counter_name()));
		if (clocks_counter_hz())
			put(&f, PM_HEADER_CLOCK_COUNTER_HZ, pm_u64(clocks_counter_hz()));
	}
	if (o->cpus) {
		cpulist_print(&p->cpus, &cpus);
		/* As typed, if that is how lists are written. */
		put(&f, PM_HEADER_CPUS, pm_text(o->cpus[strspn(o->cpus, "0123456789,-")] ? buf_str(&cpus) : o->cpus));
	}
	put_people(&f, argv);
	return f.err ? error_sys(e, -f.err, "the header") : 0;
}
