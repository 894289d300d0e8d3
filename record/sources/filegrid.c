#include "record/sources/filegrid.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/memory.h"
#include "record/host/perf_open.h"
#include "record/plan/plan.h"
#include "record/sources/textfile.h"

#define SPARE_FILES 64
#define HELD_STEP   256 /* the limit is queried after this many files */
/* A change consists of several writes, between which a reader may come: it is complete once nothing has changed this
 * many times. */
#define QUIET 3

struct filegrid *filegrid_new(struct plan *p)
{
	struct filegrid *g = memory_new(1, sizeof(*g));

	g->root = p->root;
	return g;
}

static void filegrid_free(struct filegrid *g)
{
	while (g->n) {
		fd_close(&g->cell[--g->n].fd);
		free(g->cell[g->n].path);
	}
	free(g->cell);
	free(g->part);
	free(g);
}

int filegrid_parse(const char *text, uint64_t *value)
{
	const char *p = text + strspn(text, " ");
	bool minus = *p == '-';
	uint64_t v;

	p = text_digits(p + minus, &v);
	if (!p || (*p != '\n' && *p != '\0' && *p != ' '))
		return -EINVAL;
	*value = minus ? 0 - v : v;
	return 0;
}

uint16_t filegrid_reason(int err, bool of_cpu)
{
	switch (-err) {
	case ENODEV:
	case ENOENT:
	case ENXIO:
		return of_cpu ? PM_REASON_OFFLINE : PM_REASON_GONE;
	case EBUSY: /* cpufreq, for a policy without CPUs */
		return of_cpu ? PM_REASON_OFFLINE : pm_reason_errno(err);
	case EACCES:
	case EPERM:
		return PM_REASON_NO_PERMISSION;
	case EINVAL: /* "<unknown>" and the like */
		return PM_REASON_FORMAT;
	default:
		return pm_reason_errno(err);
	}
}

int filegrid_refused(struct plan *p, int err, unsigned remedy, const char *what)
{
	bool absent = err == -ENOENT || err == -ENODEV || err == -ENXIO || err == -ENOTDIR;

	return plan_refused(p, absent ? PM_REASON_NOT_SUPPORTED : filegrid_reason(err, false),
			    pm_remark(absent ? remedy : 0), pm_remark(PM_REMARK_FILE, what));
}

static int read_number(int fd, uint64_t *value)
{
	char text[64];
	ssize_t n;

	do {
		n = pread(fd, text, sizeof(text) - 1, 0);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	text[n] = '\0';
	return filegrid_parse(text, value);
}

static int read_cell(const struct filegrid *g, const struct filecell *f, uint64_t *value)
{
	int fd = f->by_turns ? root_open(g->root, "%s", f->path) : f->fd, err;

	if (fd < 0)
		return f->by_turns ? fd : -ENODEV;
	err = read_number(fd, value);
	if (f->by_turns)
		close(fd);
	return err;
}

static uint64_t unwrap(struct filecell *f, uint64_t v)
{
	if (!f->seen || !f->range)
		f->total = v;
	else if (v >= f->last)
		f->total += v - f->last;
	else
		f->total += f->range - f->last + v;
	f->last = v;
	f->seen = true;
	return f->total;
}

static int gridpart_read(struct unit *u, struct cells *c)
{
	const struct gridpart *part = (const struct gridpart *)u;
	struct filecell *cell = &part->grid->cell[part->first];
	uint32_t gone = 0, tells = part->grid->tells;
	uint64_t v;
	int err;

	for (uint32_t k = 0; k < part->n; k++) {
		struct filecell *f = &cell[k], *teller = &cell[tells ? k % tells : k];

		if (f != teller && f->seen && teller->quiet >= QUIET) {
			cells_set(c, k, f->total);
			continue;
		}
		err = f->offline ? -ENODEV : read_cell(part->grid, f, &v);
		if (!err && ((f->least && (int64_t)v < f->least) || (f->none && v == f->none))) {
			cells_fail(c, k, PM_REASON_SUSPECT);
			continue;
		}
		if (err || !f->seen || v != f->last)
			teller->quiet = 0;
		else if (f == teller && f->quiet < QUIET)
			f->quiet++;
		if (!err) {
			cells_set(c, k, unwrap(f, v));
			continue;
		}
		gone += err == -ENODEV && f->cpu == PM_NONE;
		cells_fail(c, k, filegrid_reason(err, f->cpu != PM_NONE));
	}
	/* Devices do not come back under the same file; CPUs do. */
	return gone == part->n ? -ENODEV : 0;
}

static void gridpart_release(struct unit *u)
{
	struct filegrid *g = ((struct gridpart *)u)->grid;

	if (!--g->held)
		filegrid_free(g);
}

int filegrid_try(const struct root *r, const char *format, ...)
{
	char path[PATH_MAX];
	uint64_t v;
	SCOPED(fd_close) int fd = -1;
	va_list ap;

	va_start(ap, format);
	vsnprintf(path, sizeof(path), format, ap);
	va_end(ap);
	fd = root_open(r, "%s", path);
	return fd < 0 ? fd : read_number(fd, &v);
}

/* One file per number is more than shells permit by default, so raise the limit as far as possible. The last few
 * descriptors are left to others: later sources, the recording itself. */
static bool may_hold(uint64_t fds)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return false;
	return fds + SPARE_FILES < limit.rlim_cur || fds + SPARE_FILES < perf_raise_nofile();
}

/* Whether the file that is about to be added may stay open. New descriptors are the lowest that are free. */
static bool stays_open(struct filegrid *g, int fd)
{
	if (!g->n)
		g->lean = g->expects && !may_hold((uint64_t)fd + g->expects);
	if (g->lean && g->run >= g->tells)
		return false;
	if ((uint64_t)fd >= g->held_to)
		g->held_to = may_hold((uint64_t)fd + HELD_STEP) ? (uint64_t)fd + HELD_STEP : 0;
	return g->held_to || may_hold((uint64_t)fd);
}

int filegrid_add(struct filegrid *g, int64_t counter, int64_t instance, uint32_t cpu, uint64_t range,
		 const char *format, ...)
{
	struct filecell *f;
	uint64_t v;
	va_list ap;
	int err;

	if (counter < 0 || instance < 0)
		return (int)(counter < 0 ? counter : instance);
	memory_room(&g->cell, g->n, sizeof(*g->cell));
	f = &g->cell[g->n];
	va_start(ap, format);
	*f = (struct filecell){ .cpu = cpu,
				.counter = (uint32_t)counter,
				.instance = (uint32_t)instance,
				.range = range,
				.path = memory_vformat(format, ap) };
	va_end(ap);
	f->fd = root_open(g->root, "%s", f->path);
	if (f->fd == -EMFILE && may_hold(0))
		f->fd = root_open(g->root, "%s", f->path);
	err = f->fd < 0 ? f->fd : read_number(f->fd, &v);
	if (err && !g->tolerant) {
		fd_close(&f->fd);
		free(f->path);
		return err;
	}
	g->run = !err && g->n && f[-1].instance == f->instance ? g->run + 1 : 0;
	f->by_turns = err || !stays_open(g, f->fd);
	if (f->by_turns)
		fd_close(&f->fd);
	if (!err)
		unwrap(f, v);
	g->n++;
	return 0;
}

/* Ids in the order of their first occurrence, and the place of each there, from 1. */
struct ids {
	uint32_t *id, *place;
	uint32_t n, n_place;
};

static uint32_t ids_index(struct ids *s, uint32_t id)
{
	memory_hold(&s->place, &s->n_place, id + 1, sizeof(*s->place));
	if (!s->place[id]) {
		s->id[s->n] = id;
		s->place[id] = ++s->n;
	}
	return s->place[id] - 1;
}

/* Sorts the cells into the order of reading; whether they fill a matrix. */
static bool make_matrix(struct filegrid *g, struct ids *counters, struct ids *instances)
{
	SCOPED(scoped_free) struct filecell *sorted = NULL;
	uint64_t size;
	bool full = true;

	for (uint32_t i = 0; i < g->n; i++) {
		ids_index(counters, g->cell[i].counter);
		ids_index(instances, g->cell[i].instance);
	}
	size = (uint64_t)counters->n * instances->n;
	if (size != g->n)
		return false;
	sorted = memory_new(g->n, sizeof(*sorted));
	for (uint32_t i = 0; i < g->n && full; i++) {
		uint32_t counter = ids_index(counters, g->cell[i].counter);
		uint32_t instance = ids_index(instances, g->cell[i].instance);
		uint32_t at = g->own_times ? instance * counters->n + counter : counter * instances->n + instance;

		full = !sorted[at].path;
		sorted[at] = g->cell[i];
	}
	if (full)
		memcpy(g->cell, sorted, g->n * sizeof(*sorted));
	return full;
}

static int64_t make_group(struct filegrid *g, struct plan *p)
{
	struct ids counters = { .id = memory_new(g->n, sizeof(uint32_t)) };
	struct ids instances = { .id = memory_new(g->n, sizeof(uint32_t)) };
	struct pm_group group = { .source = (char *)p->source->ops->name };
	const bool full = make_matrix(g, &counters, &instances);
	int64_t id;

	group.flags = !full ? PM_GROUP_LIST : g->own_times ? 0 : PM_GROUP_SHARED_TIME;
	for (uint32_t i = 0; i < g->n && !full; i++) {
		counters.id[i] = g->cell[i].counter;
		instances.id[i] = g->cell[i].instance;
	}
	group.counter = counters.id;
	group.n_counters = full ? counters.n : g->n;
	group.instance = instances.id;
	group.n_instances = full ? instances.n : g->n;
	g->n_parts = group.flags ? 1 : group.n_instances;
	g->tells = group.flags ? 0 : g->tells;
	id = plan_group(p, &group);
	free(counters.id);
	free(counters.place);
	free(instances.id);
	free(instances.place);
	return id;
}

void filegrid_finish(struct filegrid *g, struct plan *p, struct filegrid **list)
{
	uint32_t turns = 0;
	int64_t id;

	for (uint32_t i = 0; i < g->n; i++)
		turns += g->cell[i].by_turns && g->cell[i].seen;
	if (turns)
		plan_note(p, turns, pm_remark(PM_REMARK_FILES_IN_TURN));
	id = g->n ? make_group(g, p) : -ENOENT;
	if (id < 0) {
		filegrid_free(g);
		return;
	}
	g->part = memory_new(g->n_parts, sizeof(*g->part));
	g->next = *list;
	*list = g;
	g->held = g->n_parts;
	for (uint32_t i = 0; i < g->n_parts; i++) {
		g->part[i] = (struct gridpart){
			.unit = { .group = (uint32_t)id,
				  .instance = i,
				  .cpu = PM_NONE,
				  .even = g->own_times,
				  .spread = g->own_times,
				  .min_period_ns = g->min_period_ns,
				  .read = gridpart_read,
				  .release = gridpart_release },
			.grid = g,
			.first = i * (g->n / g->n_parts),
			.n = g->n / g->n_parts,
		};
		plan_add_unit(p, &g->part[i].unit);
	}
}

int filegrid_plan(struct source *s, struct plan *p, struct error *e)
{
	const struct filegrid_folder *f = s->ops->folder;
	struct filegrid *g = filegrid_new(p), *list = NULL;
	uint32_t refused = p->model->n_probes;
	SCOPED(root_list_free) char **entry = NULL;
	int n = root_list(p->root, &entry, "%s", f->path);

	g->min_period_ns = f->min_period_ns;
	for (int i = 0; i < n; i++)
		if (!f->prefix || !strncmp(entry[i], f->prefix, strlen(f->prefix)))
			f->add(g, p, entry[i]);
	filegrid_finish(g, p, &list);
	if (list || p->model->n_probes > refused)
		return 0;
	return filegrid_refused(p, n < 0 ? n : -ENOENT, f->remedy, f->what);
}

bool filegrid_cpu(struct filegrid *list, uint32_t cpu, bool online)
{
	bool found = false;

	for (struct filegrid *g = list; g; g = g->next) {
		for (uint32_t i = 0; i < g->n; i++) {
			struct filecell *f = &g->cell[i];

			if (f->cpu != cpu)
				continue;
			found = true;
			f->offline = !online;
			f->quiet = 0;
			if (!online || f->by_turns)
				continue;
			/* The old descriptor belongs to a file that is gone, even if one of that name is back. */
			fd_close(&f->fd);
			f->fd = root_open(g->root, "%s", f->path);
		}
	}
	return found;
}
