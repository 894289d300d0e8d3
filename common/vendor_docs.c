/* Finds and reads vendors' files, and keeps them with the standards that they refer to. */
#include "common/vendor_docs.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/array.h"
#include "common/event/vendor_events.h"
#include "common/file.h"
#include "common/vendor_schema.h"

void vendor_docs_release(struct vendor_docs *d)
{
	for (size_t i = 0; i < d->n_docs; i++)
		json_free(d->doc[i]);
	names_release(&d->by_name);
	free(d->standard);
	free(d->object);
	free(d->doc);
	*d = (struct vendor_docs){ 0 };
}

static int no_memory(struct error *e)
{
	return error_set(e, ENOMEM, "out of memory");
}

int vendor_lower(char *to, size_t size, const char *from)
{
	size_t i;

	for (i = 0; from[i]; i++) {
		if (i + 1 >= size)
			return -E2BIG;
		to[i] = (char)tolower((unsigned char)from[i]);
	}
	to[i] = '\0';
	return 0;
}

const char *vendor_field(const struct vendor_object *o, const char *key)
{
	const char *text = json_text(json_get(o->own, key), "");

	if (!*text)
		text = json_text(json_get(o->standard, key), "");
	return *text ? text : NULL;
}

struct vendor_object vendor_docs_at(const struct vendor_docs *d, size_t i)
{
	struct vendor_object o = { .own = d->object[i] };
	const char *standard = vendor_field(&o, "ArchStdEvent");
	char key[256];
	uint32_t at;

	if (standard && !vendor_lower(key, sizeof(key), standard) && names_get(&d->by_name, key, &at))
		o.standard = d->standard[at];
	return o;
}

static int add_object(struct vendor_docs *d, const struct json *object, bool only_standard)
{
	const struct vendor_object o = { .own = object };
	const char *name = vendor_field(&o, "EventName");
	char key[256];

	if (array_room(&d->object, d->n, sizeof(*d->object)) ||
	    array_room(&d->standard, d->n_standards, sizeof(*d->standard)))
		return -ENOMEM;
	if (!only_standard)
		d->object[d->n++] = object;
	name = name ? name : vendor_field(&o, "MetricName");
	if (!name || vendor_field(&o, "ArchStdEvent") || vendor_lower(key, sizeof(key), name))
		return 0;
	d->standard[d->n_standards] = object;
	return names_set(&d->by_name, key, (uint32_t)d->n_standards++);
}

/* Takes ownership of `j`. With `only_standard`, its objects can be referred to but are not of this CPU. */
static int add_doc(struct vendor_docs *d, struct json *j, const char *pmu, bool only_standard, struct error *e)
{
	const struct json *list;
	int err = 0;

	if (!vendor_json_midr(j, d->midr, sizeof(d->midr)))
		d->midr[0] = '\0';
	j = vendor_json_convert(j, pmu, e);
	if (!j)
		return -ENOMEM;
	if (array_room(&d->doc, d->n_docs, sizeof(*d->doc))) {
		json_free(j);
		return no_memory(e);
	}
	d->doc[d->n_docs++] = j;
	list = json_is_array(j) ? j : json_get(j, "Events");
	list = list ? list : json_get(j, "Metrics");
	if (!json_is_array(list))
		return error_set(e, EINVAL,
				 "neither events nor metrics: not an array of objects with EventName or MetricName");
	for (size_t i = 0; i < json_count(list) && !err; i++)
		err = add_object(d, json_at(list, i), only_standard);
	return err ? no_memory(e) : 0;
}

int vendor_docs_parse(struct vendor_docs *d, const char *text, size_t len, struct error *e)
{
	struct json *j = json_parse(text, len, e);

	return j ? add_doc(d, j, NULL, false, e) : -e->number;
}

static int load_file(struct vendor_docs *d, const char *path, const char *pmu, bool only_standard, struct error *e)
{
	struct json *j = json_load(path, e);

	return !j ? -e->number : add_doc(d, j, pmu, only_standard, e) ? error_prefix(e, "%s", path) : 0;
}

/* Another file of perf's directories describes groups of metrics. */
static int is_wanted(const struct dirent *d)
{
	size_t len = strlen(d->d_name);

	return len > 5 && !strcmp(d->d_name + len - 5, ".json") && strcmp(d->d_name, "metricgroups.json") != 0;
}

/* Failing to read one is an error: with a part missing, the directory would silently mean something else. */
static int load_dir(struct vendor_docs *d, const char *path, bool only_standard, struct error *e)
{
	struct dirent **name;
	int n = scandir(path, &name, is_wanted, alphasort), err = 0;
	char full[PATH_MAX];

	if (n < 0)
		return error_sys(e, errno, "%s", path);
	for (int i = 0; i < n; i++) {
		if (!err && snprintf(full, sizeof(full), "%s/%s", path, name[i]->d_name) >= (int)sizeof(full))
			err = error_set(e, ENAMETOOLONG, "%.100s...: the name is too long", path);
		if (!err)
			err = load_file(d, full, NULL, only_standard, e);
		free(name[i]);
	}
	free(name);
	return err;
}

int vendor_map_each(const char *path, vendor_map_fn each, void *arg, struct error *e)
{
	SCOPED(buf_release) struct buf text = BUF_INIT;
	char map[PATH_MAX], *all, *line;
	int err;

	snprintf(map, sizeof(map), "%s/mapfile.csv", path);
	err = file_read(map, &text, e);
	all = (char *)(uintptr_t)buf_str(&text);
	/* Lines are "pattern,version,folder or file,type"; Intel's continue with "0x20,0x000001,Atom". */
	while (!err && (line = strsep(&all, "\n"))) {
		struct vendor_map row = { .pattern = line };
		char *rest = line + strcspn(line, ",\r");

		if (line[0] == '#' || *rest != ',')
			continue;
		*rest++ = '\0';
		(void)strsep(&rest, ",");
		row.name = rest ? strsep(&rest, ",\r\n") : NULL;
		row.type = rest ? strsep(&rest, ",\r\n") : "";
		for (int i = 0; i < 2; i++)
			(void)strsep(&rest, ",\r\n");
		row.pmu = !rest                         ? NULL :
			  !strncmp(rest, "Core", 4)     ? "cpu_core" :
			  !strncmp(rest, "Atom", 4)     ? "cpu_atom" :
			  !strncmp(rest, "LowPower", 8) ? "cpu_lowpower" :
							  NULL;
		if (row.name)
			err = each(arg, &row);
	}
	return err;
}

struct looking {
	const char *path, *cpuid;
	char *dir; /* of PATH_MAX bytes */
};

static int look_at(void *arg, const struct vendor_map *row)
{
	struct looking *l = arg;

	if (!l->cpuid || !vendor_is_cpu(row->pattern, l->cpuid))
		return 0;
	snprintf(l->dir, PATH_MAX, "%s/%s", l->path, row->name);
	return 1;
}

/* Returns 0 and the directory, or -errno. */
static int look_up(const char *path, const char *cpuid, char *dir, struct error *e)
{
	struct looking l = { path, cpuid, dir };
	int err = vendor_map_each(path, look_at, &l, e);

	if (err)
		return err > 0 ? 0 : err;
	return error_set(e, ENOENT, "%s/mapfile.csv has no line for this CPU (%s); name the directory of a CPU", path,
			 cpuid ? cpuid : "whose id is not known");
}

/* One that exists but cannot be read counts: the error matters. */
bool vendor_folder_is_mapped(const char *path)
{
	char map[PATH_MAX];
	struct stat st;

	return snprintf(map, sizeof(map), "%s/mapfile.csv", path) < (int)sizeof(map) && !lstat(map, &st);
}

/* Adds what is beside mapfile.csv, in the directory of the path or one above it. */
static int load_standards(struct vendor_docs *d, const char *path, struct error *e)
{
	SCOPED(scoped_free) char *above = realpath(path, NULL);
	char *slash;

	for (int level = 0; above && level < 4 && (slash = strrchr(above, '/')) && slash != above; level++) {
		*slash = '\0';
		if (vendor_folder_is_mapped(above))
			return load_dir(d, above, true, e);
	}
	return 0;
}

int vendor_docs_load(struct vendor_docs *d, const char *path, const char *pmu, const char *cpuid, struct error *e)
{
	char dir[PATH_MAX];
	size_t i = d->n;
	struct stat st;
	int err = 0;

	if (vendor_folder_is_mapped(path)) {
		err = look_up(path, cpuid, dir, e);
		path = dir;
	}
	if (err)
		return err;
	err = !stat(path, &st) && S_ISDIR(st.st_mode) ? load_dir(d, path, false, e) :
							load_file(d, path, pmu, false, e);
	while (i < d->n && !json_get(d->object[i], "ArchStdEvent"))
		i++;
	return err || i == d->n ? err : load_standards(d, path, e);
}
