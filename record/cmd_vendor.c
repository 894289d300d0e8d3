/* pmrec vendor: imports events and metrics of CPU vendors into a pack, and lists its contents. */
#include <errno.h>
#include <fts.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/event/vendor_events.h"
#include "common/memory.h"
#include "common/number.h"
#include "common/options_table.h"
#include "common/table.h"
#include "common/vendor_docs.h"
#include "format/vendor_pack.h"
#include "record/commands.h"

struct vendor {
	struct options_common common;
	char **path; /* borrowed from options_common */
	size_t n_paths;
	char *output;
	bool import, no_descriptions;
	struct vendor_pack pack;
	struct buf notes;
	const char *folder; /* whose mapfile.csv is read */
	struct names done;  /* "SET PATH": what is already part of a set */
	struct error *error;
};

#define OPTIONS_INTO struct vendor
static const struct option_row rows[] = {
	{ "output", 'o', "FILE", "write the pack to FILE (the user's own)", TEXT(output) },
	{ "no-descriptions", 'd', NULL, "leave out the descriptions of events and metrics", FLAG(no_descriptions) },
	{ 0 },
};

static int take_words(void *into, int n, char **operand, struct error *e)
{
	struct vendor *v = into;

	if (!n)
		return 0;
	if (strcmp(operand[0], "import"))
		return error_set(e, EINVAL, "'%s' is not a command of pmrec vendor; the only one is import",
				 operand[0]);
	v->import = true;
	v->path = operand + 1;
	v->n_paths = (size_t)n - 1;
	if (!v->n_paths)
		return error_set(
			e, EINVAL,
			"nothing to import: name tools/perf/pmu-events/arch of a kernel tree, a clone of Intel's "
			"perfmon, or Arm telemetry files");
	return 0;
}

static const struct options_spec spec = {
	.name = "pmrec vendor",
	.rows = rows,
	.operands = take_words,
	.operands_doc = "[import DIR|FILE...]",
	.brief = "Usage: pmrec vendor\n"
		 "       pmrec vendor import [-o FILE] DIR|FILE...\n"
		 "\n"
		 "Show, or import, the events and metrics that CPU vendors publish.\n"
		 "\n"
		 "  DIR   tools/perf/pmu-events/arch of a kernel tree, a clone of Intel's perfmon, or\n"
		 "        Arm's telemetry\n"
		 "  FILE  Arm's telemetry of a processor\n\n" OPTIONS_LIST,
};

/* ---- importing ---- */

/* In perf's schema. */
static void add_metric(struct vendor *v, struct vendor_set *s, const struct vendor_object *object)
{
	static const char *const keys[] = { "MetricName",      "MetricExpr",         "MetricGroup",
					    "ScaleUnit",       "MetricThreshold",    "MetricConstraint",
					    "AggregationMode", "MetricgroupNoGroup", "Unit",
					    "Compat",          "BriefDescription" };
	SCOPED(json_scoped) struct json *o = json_new_object();

	for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]) - v->no_descriptions; k++)
		if (vendor_field(object, keys[k]))
			json_put(o, keys[k], json_new_text(vendor_field(object, keys[k])));
	buf_addstr(&s->list, s->metrics++ ? "," : "");
	json_print(o, 0, &s->list);
	memory_whole(&s->list);
}

static void add_docs(struct vendor *v, struct vendor_set *s, const struct vendor_docs *docs)
{
	s->events += (uint32_t)vendor_events_convert(docs, !v->no_descriptions, &s->rows, &v->notes);
	for (size_t i = 0; i < docs->n; i++) {
		struct vendor_object object = vendor_docs_at(docs, i);

		if (vendor_field(&object, "MetricName") && vendor_field(&object, "MetricExpr"))
			add_metric(v, s, &object);
	}
}

/* `pmu`: the kind of cores that it is for, or NULL. */
static int add_path(struct vendor *v, const char *set, const char *pattern, const char *path, const char *pmu)
{
	SCOPED(vendor_docs_release) struct vendor_docs docs = { 0 };
	SCOPED(scoped_free) char *key = memory_format("%s %s", set, path);
	uint32_t at = vendor_pack_add_set(&v->pack, set), unused;
	int err;

	vendor_pack_add_cpu(&v->pack, pattern, at);
	/* Several patterns may name one directory. */
	if (names_get(&v->done, key, &unused))
		return 0;
	memory_done(names_set(&v->done, key, 0));
	err = vendor_docs_load(&docs, path, pmu, NULL, v->error);
	if (!err)
		add_docs(v, &v->pack.set[at], &docs);
	return err;
}

static int add_map_row(struct vendor *v, const struct vendor_map *row)
{
	char path[4096], family[64];
	struct stat st;
	const char *name = row->name + strspn(row->name, "/");

	snprintf(path, sizeof(path), "%s/%s", v->folder, name);
	if (!*name || !strcmp(row->type, "EventType") || !strcmp(row->type, "retire latency") || stat(path, &st))
		return 0;
	/* A map may name only files of its own tree. */
	if (strstr(name, "..") || !vendor_is_pattern(row->pattern)) {
		buf_addstr(&v->notes, "row of mapfile.csv left out: ");
		text_escape(&v->notes, row->pattern, strlen(row->pattern));
		buf_addch(&v->notes, ',');
		text_escape(&v->notes, name, strlen(name));
		buf_printf(&v->notes, ": %s\n",
			   strstr(name, "..") ? "it leads out of the tree" :
						"its first word is not a regular expression");
		return 0;
	}
	if (S_ISDIR(st.st_mode))
		return add_path(v, name, row->pattern, path, NULL);
	/* perfmon's map: files by family. Those of hybrid processors are for one kind of cores; others have only one
	 * kind. */
	snprintf(family, sizeof(family), "perfmon-%.*s%s", (int)strcspn(name, "/"), name,
		 row->pmu                   ? "-hybrid" :
		 !strcmp(row->type, "core") ? "-core" :
					      "");
	return add_path(v, family, row->pattern, path, row->pmu);
}

static int add_map(struct vendor *v)
{
	SCOPED(buf_release) struct buf text = BUF_INIT;
	struct vendor_map row;
	int err = vendor_map_read(v->folder, &text, v->error);

	for (char *at = (char *)(uintptr_t)buf_str(&text); !err && vendor_map_next(&at, &row);)
		err = add_map_row(v, &row);
	return err;
}

/* A file of Arm's telemetry, which says whose it is. */
static int import_file(struct vendor *v, const char *path, bool named)
{
	SCOPED(vendor_docs_release) struct vendor_docs docs = { 0 };
	SCOPED(scoped_free) char *copy = memory_text(path);
	uint32_t at;
	char *dot;
	int err = vendor_docs_load(&docs, path, NULL, NULL, v->error);

	if (!docs.midr[0] && !named) {
		*v->error = (struct error){ 0 };
		return 0;
	}
	if (docs.n_docs && !docs.midr[0])
		err = error_set(v->error, EINVAL,
				"%s does not say which CPU it is for; name the folder that has its mapfile.csv",
				path);
	/* Arm's tree has most processors twice. */
	for (uint32_t i = 0; i < v->pack.n_cpus && !named; i++)
		if (!strcmp(v->pack.cpu[i].pattern, docs.midr))
			return err;
	if (err)
		return err;
	if ((dot = strrchr(copy, '.')))
		*dot = '\0';
	at = vendor_pack_add_set(&v->pack, basename(copy));
	vendor_pack_add_cpu(&v->pack, docs.midr, at);
	add_docs(v, &v->pack.set[at], &docs);
	return 0;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* fts_number is 1 below a mapfile.csv, which says what there is but for folders named sys: those are for what a board
 * has, whatever its CPU; Compat tells which PMUs they are about. Elsewhere only what is a vendor's is ours. */
static int import_entry(struct vendor *v, FTS *tree, FTSENT *f)
{
	bool mapped = f->fts_parent->fts_number;

	if (f->fts_info == FTS_F && !mapped && f->fts_namelen > 5 &&
	    !strcmp(f->fts_name + f->fts_namelen - 5, ".json"))
		return import_file(v, f->fts_path, false);
	if (f->fts_info != FTS_D)
		return 0;
	if (f->fts_level && f->fts_name[0] == '.')
		return fts_set(tree, f, FTS_SKIP);
	f->fts_number = mapped || vendor_folder_is_mapped(f->fts_path);
	v->folder = f->fts_path;
	if (f->fts_number && !mapped)
		return add_map(v);
	return mapped && !strcmp(f->fts_name, "sys") ? add_path(v, "boards", "0x[0-9a-f]+", f->fts_path, NULL) : 0;
}

static int import_path(struct vendor *v, const char *path)
{
	struct stat st;
	FTS *tree;
	int err = 0;

	if (stat(path, &st))
		return error_sys(v->error, errno, "%s", path);
	if (!S_ISDIR(st.st_mode))
		return import_file(v, path, true);
	tree = fts_open((char *const[]){ (char *)(uintptr_t)path, NULL }, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR,
			by_name);
	if (!tree)
		return error_sys(v->error, errno, "%s", path);
	for (FTSENT *f; !err && (f = fts_read(tree));)
		err = import_entry(v, tree, f);
	fts_close(tree);
	return err;
}

static int make_folders(char *path)
{
	for (char *slash = path + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		if (mkdir(path, 0755) && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return 0;
}

static int import(struct vendor *v, struct error *e)
{
	SCOPED(scoped_free) char *path = v->output ? memory_text(v->output) : vendor_pack_path();
	uint64_t events = 0, metrics = 0;
	struct stat st = { 0 };
	int err = 0;

	if (!path)
		err = error_set(e, ENOENT, "neither XDG_DATA_HOME nor HOME is set; name the pack with -o FILE");
	for (size_t i = 0; i < v->n_paths && !err; i++)
		err = import_path(v, v->path[i]);
	if (!err && !v->pack.n_sets)
		err = error_set(e, ENODATA, "%s: contains neither a mapfile.csv nor a vendor's file", v->path[0]);
	if (!err && !v->output && (err = make_folders(path)))
		error_sys(e, -err, "%s", path);
	if (!err)
		err = vendor_pack_write(&v->pack, path, e);
	if (!err && !stat(path, &st)) {
		for (uint32_t i = 0; i < v->pack.n_sets; i++) {
			events += v->pack.set[i].events;
			metrics += v->pack.set[i].metrics;
		}
		fputs(buf_str(&v->notes), stderr);
		printf("%s: %u processor%s, %llu event%s, %llu metric%s, %.1f kB\n", path, v->pack.n_sets,
		       plural(v->pack.n_sets), (unsigned long long)events, plural(events),
		       (unsigned long long)metrics, plural(metrics), (double)st.st_size / 1e3);
	}
	return err;
}

/* ---- listing ---- */

static void list_row(struct table *t, const struct vendor_pack *p, uint32_t set)
{
	const struct vendor_set *s = &p->set[set];
	SCOPED(buf_release) struct buf patterns = BUF_INIT;
	char events[16], metrics[16];

	snprintf(events, sizeof(events), "%u", s->events);
	snprintf(metrics, sizeof(metrics), "%u", s->metrics);
	for (uint32_t i = 0; i < p->n_cpus; i++)
		if (p->cpu[i].set == set && !strstr(buf_str(&patterns), p->cpu[i].pattern))
			buf_printf(&patterns, "%s%s", patterns.len ? " " : "", p->cpu[i].pattern);
	table_texts(t, (const char *const[]){ s->name, events, metrics, buf_str(&patterns) }, 4);
}

static int list(struct vendor *v, struct error *e)
{
	static const char *const heads[] = { "SET", "EVENTS", "METRICS", "PROCESSORS" };
	struct table *t;
	int err = vendor_pack_find(&v->pack, e);

	if (err == -ENOENT)
		return error_set(
			e, ENOENT,
			"no events and metrics of CPU vendors are installed; `pmrec vendor import DIR` "
			"imports them from a kernel's tools/perf/pmu-events/arch or a clone of Intel's perfmon");
	if (err)
		return err;
	t = table_new();
	for (unsigned k = 0; k < 4; k++)
		table_column(t, heads[k], k == 1 || k == 2 ? TABLE_RIGHT : TABLE_LEFT, k == 3);
	for (uint32_t i = 0; i < v->pack.n_sets; i++)
		list_row(t, &v->pack, i);
	puts(v->pack.path);
	command_print(t, &v->common);
	return 0;
}

int cmd_vendor(int argc, char **argv)
{
	struct error e = { 0 };
	struct vendor v = { .pack = { .fd = -1 }, .error = &e };
	int code = command_options(&spec, argc, argv, &v, &v.common);

	if (code < 0)
		code = (v.import ? import(&v, &e) : list(&v, &e)) ? command_failed(&e) : 0;
	names_release(&v.done);
	buf_release(&v.notes);
	options_common_release(&v.common);
	vendor_pack_close(&v.pack);
	return code;
}
