/*
 * The cgroups of -G and --for-each-cgroup. The kernel counts a cgroup on one CPU at a time, so each has one instance
 * per CPU: of kind PM_CGROUP, with the number of the cgroup in this recording and the CPU.
 */
#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/memory.h"
#include "common/number.h"
#include "record/host/clocks.h"
#include "record/host/root.h"
#include "record/perf/perf_source.h"

#define CGROUPS_MAX 4096
#define DEPTH_MAX   32

/* ---- the hierarchy ---- */

/* perf events use the cgroups of the hierarchy that has their controller; without one, those of version 2. */
static int find_hierarchy(struct perf_source *s, const struct plan *p, struct error *e)
{
	SCOPED(buf_release) struct buf text = BUF_INIT;
	ssize_t size = mounts_read(p->root, &text);
	char *at = NULL, *unified = NULL, *found = NULL;
	struct mount m;

	while (size > 0 && !found && mounts_next(&text, &at, &m)) {
		if (!strcmp(m.type, "cgroup2") && !unified)
			unified = memory_text(m.where);
		else if (!strcmp(m.type, "cgroup") && strstr(m.options, "perf_event"))
			found = memory_text(m.where);
	}
	s->hierarchy = found ? found : unified;
	if (found)
		free(unified);
	return s->hierarchy ? 0 :
			      error_set(e, ENOENT,
					"cgroups: no hierarchy that perf events support is mounted; mount -t cgroup2 "
					"none /sys/fs/cgroup");
}

static uint32_t known(const struct perf_source *s, const char *name)
{
	uint32_t i = 0;

	while (i < s->n_cgroups && strcmp(s->cgroup[i].name, name))
		i++;
	return i;
}

/* Its index in *at. */
static int add_cgroup(struct perf_source *s, const struct plan *p, const char *name, uint32_t *at, struct error *e)
{
	const char *path = name + strspn(name, "/");
	int fd;

	/* The name is kept as typed: "/" is a name, too. */
	*at = known(s, name);
	if (*at < s->n_cgroups)
		return 0;
	if (s->n_cgroups >= CGROUPS_MAX)
		return error_set(e, E2BIG, "more than %d cgroups", CGROUPS_MAX);
	/* Names are paths below the hierarchy, nothing else. */
	if (!strncmp(path, "../", 3) || strstr(path, "/../") || !strcmp(path, ".."))
		return error_set(e, EINVAL, "cgroup '%.100s': a name cannot point outside %s", name, s->hierarchy);
	fd = root_open(p->root, "%s/%s", s->hierarchy, path);
	if (fd >= 0 && faccessat(fd, "cgroup.procs", F_OK, 0)) {
		close(fd);
		return error_set(e, ENOTDIR, "'%.200s' in %s is not a cgroup", name, s->hierarchy);
	}
	if (fd < 0)
		return error_sys(e, -fd, "cgroup '%.200s' in %s", name, s->hierarchy);
	memory_room(&s->cgroup, s->n_cgroups, sizeof(*s->cgroup));
	s->cgroup[s->n_cgroups++] = (struct perf_cgroup){ .name = memory_text(name), .fd = fd };
	return 0;
}

/* ---- -G ---- */

/* The k-th name of all -G together is for the k-th event of all. If the very first -G has a single name, it is for
 * all events before it. */
static int assign_names(struct perf_source *s, const struct plan *p, const size_t *end, struct error *e)
{
	const struct record_options *o = p->options;
	size_t given = 0;

	for (size_t g = 0; g < o->perf.n_cgroups; g++) {
		size_t events = end[o->perf.cgroups[g].n_events - 1];

		for (const char *at = o->perf.cgroups[g].names, *comma; at; at = comma ? comma + 1 : NULL) {
			char name[1024];
			uint32_t index;
			int err;

			comma = strchrnul(at, ',');
			if (snprintf(name, sizeof(name), "%.*s", (int)(comma - at), at) >= (int)sizeof(name))
				return error_set(e, ENAMETOOLONG, "-G: '%.60s...' is too long for a name", at);
			comma = *comma ? comma : NULL;
			if (given >= events)
				return error_set(
					e, EINVAL,
					"-G: cgroup '%.100s' has no event before it: there are only %zu event%s",
					name, events, plural(events));
			if (*name) {
				err = add_cgroup(s, p, name, &index, e);
				if (err)
					return err;
				s->event[given].first_cgroup = index;
				s->event[given].n_cgroups = 1;
			}
			given++;
		}
		for (size_t i = 1; given == 1 && i < events; i++) {
			s->event[i].first_cgroup = s->event[0].first_cgroup;
			s->event[i].n_cgroups = s->event[0].n_cgroups;
		}
	}
	return 0;
}

/* ---- --for-each-cgroup ---- */

struct search {
	struct perf_source *s;
	const struct plan *p;
	regex_t pattern;
	bool found;
	struct error *e;
};

static int search_below(struct search *w, const char *name, unsigned depth)
{
	SCOPED(root_list_free) char **names = NULL;
	int n = root_list(w->p->root, &names, "%s/%s", w->s->hierarchy, name), err = 0;

	/* If it vanishes meanwhile, it has no children any more. */
	for (int i = 0; i < n && !err; i++) {
		char below[1024];
		uint32_t index;

		/* Cgroups are directories: each can have tasks. */
		if (snprintf(below, sizeof(below), "%s%s%s", name, *name ? "/" : "", names[i]) >=
			    (int)sizeof(below) ||
		    !root_exists(w->p->root, "%s/%s/cgroup.procs", w->s->hierarchy, below))
			continue;
		if (!regexec(&w->pattern, below, 0, NULL, 0)) {
			err = add_cgroup(w->s, w->p, below, &index, w->e);
			w->found |= !err;
			/* It may vanish between the two checks. */
			if (err == -ENOENT)
				err = 0;
		}
		if (!err && depth < DEPTH_MAX)
			err = search_below(w, below, depth + 1);
	}
	return err;
}

static int add_matching(struct perf_source *s, const struct plan *p, const char *text, struct error *e)
{
	struct search w = { .s = s, .p = p, .e = e };
	char why[100];
	int err = regcomp(&w.pattern, text, REG_EXTENDED | REG_NOSUB);

	if (err) {
		regerror(err, &w.pattern, why, sizeof(why));
		return error_set(e, EINVAL, "--for-each-cgroup: '%.100s': %s", text, why);
	}
	err = search_below(&w, "", 0);
	regfree(&w.pattern);
	if (!err && !w.found)
		return error_set(e, ENOENT, "--for-each-cgroup: no cgroup in %s matches '%.100s'", s->hierarchy,
				 text);
	return err;
}

/* If a name has no cgroup, only that name is lost, unless it is the only one. */
static int add_each(struct perf_source *s, struct plan *p, struct error *e)
{
	SCOPED(scoped_free) char *list = memory_text(p->options->perf.each_cgroup);
	char *save = NULL;
	int err = 0, missing = 0;

	for (char *name = strtok_r(list, ",", &save); name && !err; name = strtok_r(NULL, ",", &save)) {
		uint32_t index;

		err = strpbrk(name, "{}[]()|*+?^$") ? add_matching(s, p, name, e) : add_cgroup(s, p, name, &index, e);
		if (err == -ENOENT && (missing = err))
			err = plan_refused(p, PM_REASON_GONE, pm_remark(0),
					   pm_remark(PM_REMARK_CGROUP_GONE,
						     plan_may_name(p->options, PM_INSTANCE_CGROUP) ? name : ""));
	}
	if (!err && !s->n_cgroups && missing)
		return missing;
	if (!err && !s->n_cgroups)
		return error_set(e, EINVAL, "--for-each-cgroup: '%s' names no cgroup", p->options->perf.each_cgroup);
	for (size_t i = 0; i < s->set.n && !err; i++)
		s->event[i].n_cgroups = s->n_cgroups;
	return err;
}

/* Refuses events that cannot be counted by cgroup, and groups whose events are in different cgroups. */
static void tell_apart(struct perf_source *s, struct plan *p)
{
	for (size_t i = 0; i < s->set.n; i++) {
		const struct event *ev = &s->set.event[i];
		struct perf_event *e = &s->event[i];
		bool time = ev->type == EVENT_TYPE_TOOL &&
			    (ev->config[0] == EVENT_TOOL_USER_TIME || ev->config[0] == EVENT_TOOL_SYSTEM_TIME);
		bool told = e->n_cgroups && (time || ev->uncore);

		if (ev->group && i && ev->group == ev[-1].group && !told &&
		    (e->first_cgroup != e[-1].first_cgroup || e->n_cgroups != e[-1].n_cgroups))
			plan_refused(p, PM_OK, pm_remark(0),
				     pm_remark(PM_REMARK_CGROUPS_APART, ev[-1].name, ev->name));
		if (!told)
			continue;
		e->n_cgroups = e->first_cgroup = 0;
		plan_refused(p, PM_OK, pm_remark(0), pm_remark(PM_REMARK_CGROUP_WHOLE, ev->name));
	}
}

int perf_cgroups_read(struct perf_source *s, struct plan *p, const size_t *end, struct error *e)
{
	const struct record_options *o = p->options;
	int err;

	if (!o->perf.n_cgroups && !o->perf.each_cgroup)
		return 0;
	err = find_hierarchy(s, p, e);
	if (err)
		return err;
	err = o->perf.n_cgroups ? assign_names(s, p, end, e) : add_each(s, p, e);
	tell_apart(s, p);
	return err;
}

/* ---- instances ---- */

int64_t perf_cgroup_instance(struct perf_source *s, struct plan *p, uint32_t cgroup, uint32_t cpu)
{
	struct perf_cgroup *c = &s->cgroup[cgroup];
	struct pm_instance i = { .kind = PM_CGROUP, .number = cgroup + 1, .cpu = cpu };
	char name[32];
	int64_t id;

	memory_hold(&c->instance, &c->n_instance, cpu + 1, sizeof(*c->instance));
	if (c->instance[cpu])
		return c->instance[cpu];
	snprintf(name, sizeof(name), "cgroup-%u", cgroup + 1);
	plan_set(&i.attrs, PM_INSTANCE_NAME, pm_text(name));
	if (plan_may_name(p->options, PM_INSTANCE_CGROUP))
		plan_set(&i.attrs, PM_INSTANCE_CGROUP, pm_text(c->name));
	id = plan_instance(p, &i);
	if (id > 0)
		c->instance[cpu] = (uint32_t)id;
	return id;
}

void perf_cgroups_look(struct perf_source *s, struct plan *p)
{
	for (uint32_t i = 0; i < s->n_cgroups; i++) {
		struct perf_cgroup *c = &s->cgroup[i];
		uint64_t now = clocks_monotonic();

		/* The descriptor remains valid, but there are no files any more. */
		if (c->gone || !faccessat(c->fd, "cgroup.procs", F_OK, 0) || errno != ENOENT)
			continue;
		c->gone = true;
		for (uint32_t cpu = 0; cpu < c->n_instance; cpu++)
			if (c->instance[cpu])
				plan_gone(p, c->instance[cpu], now);
	}
}

void perf_cgroups_release(struct perf_source *s)
{
	for (uint32_t i = 0; i < s->n_cgroups; i++) {
		free(s->cgroup[i].name);
		free(s->cgroup[i].instance);
		fd_close(&s->cgroup[i].fd);
	}
	free(s->cgroup);
	free(s->hierarchy);
}
