#include "record/perf/perf_pmu.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "common/event/vendor_events.h"
#include "record/host/privileges.h"
#include "record/perf/perf_class.h"
#include "record/plan/plan.h"

#define DEVICES        "/sys/bus/event_source/devices"
#define LINE_MAX_BYTES 4096 /* sysfs files have at most one page */

/* ---- PMUs ---- */

void perf_pmus_release(struct perf_pmus *p)
{
	for (size_t i = 0; i < p->n; i++)
		event_pmu_release(&p->pmu[i]);
	perf_classes_release(p);
	free(p->pmu);
	*p = (struct perf_pmus){ 0 };
}

static int read_formats(struct event_pmu *pmu, const struct root *root)
{
	SCOPED(root_list_free) char **names = NULL;
	char line[LINE_MAX_BYTES];
	int n = root_list(root, &names, DEVICES "/%s/format", pmu->name), err = 0;

	if (n <= 0)
		return n == -ENOMEM ? n : 0;
	pmu->format = calloc((size_t)n, sizeof(*pmu->format));
	err = pmu->format ? 0 : -ENOMEM;
	for (int i = 0; i < n && !err; i++) {
		struct event_format *f = &pmu->format[pmu->n_formats];

		if (root_line(root, line, sizeof(line), DEVICES "/%s/format/%s", pmu->name, names[i]))
			continue;
		pmu->n_formats++;
		f->name = strdup(names[i]);
		f->text = strdup(line);
		if (!f->name || !f->text)
			err = -ENOMEM;
	}
	return err;
}

/* Whether it describes another event, as "cas.scale" and "cas.unit" describe "cas". */
static bool is_side_file(const char *name)
{
	static const char *const ends[] = { ".scale",
					    ".unit",
					    ".per-pkg",
					    ".snapshot",
					    ".retirement_latency.mean",
					    ".retirement_latency.min",
					    ".retirement_latency.max" };
	size_t len = strlen(name);

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (len > strlen(ends[i]) && !strcmp(name + len - strlen(ends[i]), ends[i]))
			return true;
	return false;
}

/* The line of a side file of names[i]. Few events have any, so they are looked up in the list. */
static bool side_line(char *line, size_t size, const struct event_pmu *pmu, char *const *names, int i,
		      const char *side, const struct root *root)
{
	const size_t len = strlen(names[i]);
	char *const *name = names;

	while (*name && (strncmp(*name, names[i], len) || strcmp(*name + len, side)))
		name++;
	return *name && !root_line(root, line, size, DEVICES "/%s/events/%s", pmu->name, *name) && line[0];
}

static int side_text(char **to, const struct event_pmu *pmu, char *const *names, int i, const char *side,
		     const struct root *root)
{
	char line[256];

	if (!side_line(line, sizeof(line), pmu, names, i, side, root))
		return 0;
	*to = strdup(line);
	return *to ? 0 : -ENOMEM;
}

static bool side_flag(const struct event_pmu *pmu, char *const *names, int i, const char *side,
		      const struct root *root)
{
	char line[16];

	return side_line(line, sizeof(line), pmu, names, i, side, root) && !strcmp(line, "1");
}

static int read_aliases(struct event_pmu *pmu, const struct root *root)
{
	SCOPED(root_list_free) char **names = NULL;
	char line[LINE_MAX_BYTES];
	int n = root_list(root, &names, DEVICES "/%s/events", pmu->name), err = 0;

	if (n <= 0)
		return n == -ENOMEM ? n : 0;
	pmu->alias = calloc((size_t)n, sizeof(*pmu->alias));
	err = pmu->alias ? 0 : -ENOMEM;
	for (int i = 0; i < n && !err; i++) {
		struct event_alias *a = &pmu->alias[pmu->n_aliases];

		if (is_side_file(names[i]) ||
		    root_line(root, line, sizeof(line), DEVICES "/%s/events/%s", pmu->name, names[i]) || !line[0])
			continue;
		pmu->n_aliases++;
		a->name = strdup(names[i]);
		a->text = strdup(line);
		err = a->name && a->text ? side_text(&a->scale, pmu, names, i, ".scale", root) : -ENOMEM;
		if (!err)
			err = side_text(&a->unit, pmu, names, i, ".unit", root);
		/* Without a numeric scale, the unit is plain counts. */
		if (a->scale && !pm_scale_good(a->scale)) {
			free(a->scale);
			free(a->unit);
			a->scale = a->unit = NULL;
		}
		a->per_pkg = side_flag(pmu, names, i, ".per-pkg", root);
		a->snapshot = side_flag(pmu, names, i, ".snapshot", root);
	}
	return err;
}

/* Reads the CPUs of a mask; if it is invalid there are none, so that nothing is counted. 0, -ENOMEM, or the error of
 * the file. */
static int read_mask(struct event_pmu *pmu, const char *file, const struct root *root)
{
	char line[LINE_MAX_BYTES];
	SCOPED(cpulist_release) struct cpulist cpus = { 0 };
	int err = root_line(root, line, sizeof(line), DEVICES "/%s/%s", pmu->name, file);

	if (err)
		return err;
	pmu->cpus = strdup(cpulist_parse(&cpus, line, false, NULL) ? "" : line);
	return pmu->cpus ? 0 : -ENOMEM;
}

static int read_pmu(struct event_pmu *pmu, const char *name, const struct root *root)
{
	char line[LINE_MAX_BYTES];
	uint64_t type = UINT32_MAX; /* nothing has it */
	int err;

	*pmu = (struct event_pmu){ .name = strdup(name) };
	if (!pmu->name)
		return -ENOMEM;
	if (event_pmu_takes_pointer(name))
		return -ENOENT;
	/* A PMU whose kind is added up must not be left out silently. */
	if (root_u64(root, &type, DEVICES "/%s/type", name) && !pmu_class_of(name, NULL))
		return -ENOENT;
	pmu->type = (uint32_t)type;
	if (!root_line(root, line, sizeof(line), DEVICES "/%s/identifier", name) && line[0] &&
	    !(pmu->identifier = strdup(line)))
		return -ENOMEM;
	/* A mask says where to open an uncore PMU; "cpus" says which CPUs a core PMU of a hybrid belongs to. */
	err = read_mask(pmu, "cpumask", root);
	pmu->uncore = !err;
	if (err && err != -ENOMEM) {
		err = read_mask(pmu, "cpus", root);
		pmu->core = !err || !strcmp(name, "cpu") || !strcmp(name, "cpum_cf");
	}
	if (err == -ENOMEM)
		return err;
	err = read_formats(pmu, root);
	return err ? err : read_aliases(pmu, root);
}

/* Core PMUs in the kernel's order (the big cores of a hybrid come first), then all others by name. */
static int compare_pmus(const void *left, const void *right)
{
	const struct event_pmu *a = left, *b = right;

	if (a->core != b->core)
		return a->core ? -1 : 1;
	if (a->core && a->type != b->type)
		return a->type < b->type ? -1 : 1;
	return strverscmp(a->name, b->name);
}

int perf_pmus_read(struct perf_pmus *p, const struct root *root)
{
	SCOPED(root_list_free) char **names = NULL;
	int n = root_list(root, &names, DEVICES), err = 0;
	bool slots = false;

	*p = (struct perf_pmus){ 0 };
	if (n == -ENOMEM)
		return n;
	p->pmu = calloc((size_t)(n < 0 ? 0 : n) + 1, sizeof(*p->pmu));
	err = p->pmu ? 0 : -ENOMEM;
	for (int i = 0; i < n && !err; i++) {
		err = read_pmu(&p->pmu[p->n], names[i], root);
		if (err == -ENOENT) {
			event_pmu_release(&p->pmu[p->n]);
			err = 0;
		} else {
			slots = slots || (p->pmu[p->n].core && root_exists(root, DEVICES "/%s/caps/slots", names[i]));
			p->n++;
		}
	}
	if (!err)
		err = event_tool_pmu(&p->pmu[p->n], slots);
	p->n += !err;
	if (!err) {
		qsort(p->pmu, p->n, sizeof(*p->pmu), compare_pmus);
		err = perf_classes_find(p, root);
	}
	if (err)
		perf_pmus_release(p);
	return err;
}

static bool is_folder(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* Directories of metrics contain the events that these use. If one cannot be read, the error belongs to those who
 * want the metrics. */
static void load_folders(struct vendor_events **v, char *const *path, const char *cpuid)
{
	for (; path && *path; path++) {
		struct error ignored = { 0 };

		if (is_folder(*path))
			(void)vendor_events_load(v, *path, NULL, cpuid, &ignored);
	}
}

int perf_pmus_add_files(struct perf_pmus *p, char *const *path, char *const *metrics, const char *cpuid,
			struct buf *notes, struct error *e)
{
	struct vendor_events *v = NULL;
	int err = 0, n = 0;
	bool asked = path && *path, changed;

	changed = privileges_become_caller();
	load_folders(&v, metrics, cpuid);
	for (; path && *path && !err; path++)
		err = vendor_events_load(&v, *path, NULL, cpuid, e);
	privileges_become_self(changed);
	if (!err && v)
		n = vendor_events_apply(v, p->pmu, p->n, notes);
	if (!err && asked && !n)
		buf_addstr(notes, "the event files have no events for the PMUs of this machine\n");
	vendor_events_free(v);
	return err ? err : n < 0 ? n : 0;
}

/* Metrics name events, too. */
static int unpack(struct vendor_events **v, struct vendor_texts *t, char *const *words, bool metrics)
{
	int err = 0;

	for (uint32_t i = 0; i < t->n && !err; i++) {
		err = vendor_events_unpack(v, t->set[i].rows, NULL);
		t->set[i].rows = NULL;
		if (!err && words && metrics)
			err = vendor_events_words(*v, t->set[i].metrics);
	}
	for (; words && *words && *v && !err; words++)
		err = vendor_events_words(*v, *words);
	return err;
}

int perf_pmus_add_pack(struct perf_pmus *p, const char *cpuid, char *const *words, bool metrics,
		       struct vendor_texts *texts, struct buf *notes)
{
	struct vendor_pack pack;
	struct vendor_events *v = NULL;
	struct error e = { 0 };
	bool changed = privileges_become_caller();
	int err = vendor_pack_find(&pack, &e), n;

	privileges_become_self(changed);
	*texts = (struct vendor_texts){ 0 };
	if (!err) {
		err = vendor_pack_texts(&pack, cpuid, texts, &e);
		vendor_pack_close(&pack);
	}
	if (err && err != -ENOMEM && e.number) {
		buf_printf(notes, "%s\n", e.text);
		return 0;
	}
	if (err)
		return err;
	n = (int)texts->n;
	err = unpack(&v, texts, words, metrics);
	if (!err && v) {
		int added = vendor_events_apply(v, p->pmu, p->n, notes);

		err = added < 0 ? added : 0;
	}
	vendor_events_free(v);
	if (err)
		vendor_texts_release(texts);
	return err ? err : n;
}

/* ---- their description in the recording ---- */

static struct pm_value pair(const char *name, const char *text)
{
	struct pm_value v = pm_array(2);

	if (v.array.item) {
		v.array.item[0] = pm_text(name);
		v.array.item[1] = pm_text(text);
	}
	return v;
}

static int add_formats(struct pm_map *attrs, const struct event_pmu *pmu)
{
	struct pm_value v = pm_array((uint32_t)pmu->n_formats);

	for (size_t i = 0; v.array.item && i < pmu->n_formats; i++)
		v.array.item[i] = pair(pmu->format[i].name, pmu->format[i].text);
	return pmu->n_formats ? pm_map_set(attrs, PM_PMU_FORMATS, v) : (pm_value_release(&v), 0);
}

/* Whether the alias is one of the events, whose canonical names begin with "PMU/ALIAS". */
static bool is_used(const struct event_pmu *pmu, const struct event_alias *a, const struct event_set *set)
{
	size_t pmu_len = strlen(pmu->name), len = strlen(a->name);

	for (size_t i = 0; set && i < set->n; i++) {
		const char *name = set->event[i].name;

		if (strcmp(set->event[i].pmu, pmu->name) || strncmp(name, pmu->name, pmu_len) || name[pmu_len] != '/')
			continue;
		for (name += pmu_len; *name; name += 1 + strcspn(name + 1, ",/"))
			if (!strncasecmp(name + 1, a->name, len) && (name[1 + len] == ',' || name[1 + len] == '/'))
				return true;
	}
	return false;
}

static int add_aliases(struct pm_map *attrs, const struct event_pmu *pmu, const struct event_set *set)
{
	struct pm_value v = pm_array((uint32_t)pmu->n_aliases);
	uint32_t used = 0;

	for (size_t i = 0; v.array.item && i < pmu->n_aliases; i++) {
		const struct event_alias *a = &pmu->alias[i];
		struct pm_value row;

		/* A vendor has thousands. */
		if (a->vendor && !is_used(pmu, a, set))
			continue;
		row = pm_array(5);
		if (row.array.item) {
			row.array.item[0] = pm_text(a->name);
			row.array.item[1] = pm_text(a->text);
			row.array.item[2] = pm_text(a->scale ? a->scale : "");
			row.array.item[3] = pm_text(a->unit ? a->unit : "");
			row.array.item[4] = pm_u64((a->per_pkg ? PM_PMU_EVENT_PER_PKG : 0) |
						   (a->snapshot ? PM_PMU_EVENT_SNAPSHOT : 0) |
						   (a->given ? PM_PMU_EVENT_GIVEN : 0));
		}
		v.array.item[used++] = row;
	}
	if (!v.array.item && pmu->n_aliases)
		return -ENOMEM;
	v.array.n = used;
	return used ? pm_map_set(attrs, PM_PMU_EVENTS, v) : (pm_value_release(&v), 0);
}

/* Adds the files of a directory as pairs, except those in `except` (ends with NULL). */
static int add_files(struct pm_map *attrs, uint32_t key, const struct root *root, const char *pmu, const char *dir,
		     const char *const *except)
{
	SCOPED(root_list_free) char **names = NULL;
	char line[LINE_MAX_BYTES];
	int n = root_list(root, &names, DEVICES "/%s%s", pmu, dir);
	struct pm_value all;
	uint32_t used = 0;

	if (n < 0)
		return n == -ENOMEM ? n : 0;
	all = pm_array((uint32_t)n);
	for (int i = 0; i < n && all.array.item; i++) {
		int k = 0;

		while (except[k] && strcmp(except[k], names[i]))
			k++;
		/* Directories, and files that cannot be read, are skipped. */
		if (!except[k] && !root_line(root, line, sizeof(line), DEVICES "/%s%s/%s", pmu, dir, names[i]) &&
		    line[0])
			all.array.item[used++] = pair(names[i], line);
	}
	if (!all.array.item)
		return n ? -ENOMEM : 0;
	all.array.n = used;
	if (used)
		return pm_map_set(attrs, key, all);
	pm_value_release(&all);
	return 0;
}

int perf_pmus_record(const struct perf_pmus *p, const struct event_set *set, struct plan *plan)
{
	static const char *const nothing[] = { NULL };
	static const char *const known[] = { "type",    "uevent",          "format", "events", "caps",
					     "power",   "subsystem",       "device", "driver", "identifier",
					     "cpumask", "associated_cpus", "cpus",   NULL };
	const bool whole = !plan->options->perf.brief;
	int err = 0;

	for (size_t i = 0; i < p->n && !err; i++) {
		const struct event_pmu *pmu = &p->pmu[i];
		struct pm_pmu out = { 0 };
		char line[LINE_MAX_BYTES];

		err = pm_map_set(&out.attrs, PM_PMU_NAME, pm_text(pmu->name));
		if (!err)
			err = pm_map_set(&out.attrs, PM_PMU_TYPE, pm_u64(pmu->type));
		if (!err && pmu->identifier)
			err = pm_map_set(&out.attrs, PM_PMU_IDENTIFIER, pm_text(pmu->identifier));
		if (!err && pmu->cpus)
			err = pm_map_set(&out.attrs, pmu->uncore ? PM_PMU_CPUMASK : PM_PMU_CPUS, pm_text(pmu->cpus));
		if (!err && whole &&
		    !root_line(plan->root, line, sizeof(line), DEVICES "/%s/associated_cpus", pmu->name))
			err = pm_map_set(&out.attrs, PM_PMU_ASSOCIATED_CPUS, pm_text(line));
		if (!err)
			err = add_formats(&out.attrs, pmu);
		if (!err && perf_class_counters(pmu))
			err = pm_map_set(&out.attrs, PM_PMU_COUNTERS, pm_u64(perf_class_counters(pmu)));
		if (!err)
			err = add_aliases(&out.attrs, pmu, set);
		if (!err && (whole || pmu->core))
			err = add_files(&out.attrs, PM_PMU_CAPS, plan->root, pmu->name, "/caps", nothing);
		if (!err && whole)
			err = add_files(&out.attrs, PM_PMU_FILES, plan->root, pmu->name, "", known);
		if (!err)
			err = pm_model_add_pmu(plan->model, &out);
		pm_map_release(&out.attrs);
	}
	return err;
}

/* ---- tracepoints ---- */

/* tracefs is in its own place, or where it was before Linux 4.1. */
static int list_systems(const struct root *root, char ***names, const char **where)
{
	static const char *const places[] = { "/sys/kernel/tracing/events", "/sys/kernel/debug/tracing/events" };
	int first = -ENODEV;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		int n = root_list(root, names, "%s", places[i]);

		if (n >= 0) {
			*where = places[i];
			return n;
		}
		if (n != -ENOENT && n != -ENOTDIR && first == -ENODEV)
			first = n;
	}
	/* The file system of tracepoints is empty then. */
	return first == -ENODEV && root_locked_down(root, true) ? -EPERM : first;
}

static int tracepoints(void *data, const char *system, const char *name, event_tracepoint_fn found, void *arg)
{
	const struct root *root = data;
	const char *where;
	SCOPED(root_list_free) char **systems = NULL;
	int n = list_systems(root, &systems, &where), count = 0, err = 0;

	if (n < 0)
		return n;
	for (int i = 0; i < n && !err; i++) {
		SCOPED(root_list_free) char **names = NULL;
		int m;

		if (fnmatch(system, systems[i], 0))
			continue;
		m = root_list(root, &names, "%s/%s", where, systems[i]);
		for (int k = 0; k < m && !err; k++) {
			uint64_t id;

			/* Files such as "enable" have no id. */
			if (fnmatch(name, names[k], 0) ||
			    root_u64(root, &id, "%s/%s/%s/id", where, systems[i], names[k]))
				continue;
			err = found(arg, systems[i], names[k], id);
			count++;
		}
	}
	return err ? err : count;
}

struct event_view perf_view(const struct perf_pmus *p, const struct root *root)
{
	return (struct event_view){ .pmu = p->pmu,
				    .n_pmus = p->n,
				    .tracepoints = tracepoints,
				    .data = (void *)root,
				    .cores_first = p->cores_first };
}

int perf_events_of(const struct perf_pmus *p, const struct root *root, const char *text, struct event_set *set,
		   struct buf *notes, struct error *e)
{
	struct event_view view = perf_view(p, root);
	struct event_list *list = NULL;
	int err = event_parse(&list, text, e);

	if (!err)
		err = event_resolve(list, &view, set, notes, e);
	event_list_free(list);
	return err;
}
