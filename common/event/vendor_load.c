/* Finds and reads vendor event files, and keeps them with the standard events that they refer to. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/array.h"
#include "common/event/vendor_internal.h"
#include "common/file.h"
#include "common/parse.h"
#include "common/vendor_schema.h"

#define MAX_EVENTS 200000
#define MAX_FILES  1000
#define MAX_REGEX  256 /* characters; matching a longer one could take very long */

void vendor_events_free(struct vendor_events *v)
{
	if (!v)
		return;
	for (size_t i = 0; i < v->n_files; i++)
		json_free(v->file[i]);
	names_release(&v->standard);
	free(v->standard_event);
	names_release(&v->words);
	for (size_t i = 0; i < v->n_packed; i++) {
		free(v->packed[i].rows);
		free(v->packed[i].help);
	}
	free(v->packed);
	free(v->file);
	free(v->event);
	free(v);
}

const char *vendor_field(const struct json *object, const char *key)
{
	const char *text = json_text(json_get(object, key), "");

	return *text ? text : NULL;
}

static int no_memory(struct error *e)
{
	return error_set(e, ENOMEM, "out of memory");
}

static int append(const struct json ***list, size_t *n, const struct json *object)
{
	if (array_room(list, *n, sizeof(**list)))
		return -ENOMEM;
	(*list)[(*n)++] = object;
	return 0;
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

static int add_standard(struct vendor_events *v, const struct json *object)
{
	const char *name = vendor_field(object, "EventName");
	char key[256];
	int err;

	if (!name)
		name = vendor_field(object, "MetricName");
	if (!name || vendor_lower(key, sizeof(key), name))
		return 0;
	err = append(&v->standard_event, &v->n_standard, object);
	return err ? err : names_set(&v->standard, key, (uint32_t)(v->n_standard - 1));
}

/* With `only_standard`, its events can be referred to but are not events of this CPU. */
static int load_file(struct vendor_events *v, const char *path, const char *pmu, bool only_standard, struct error *e)
{
	struct error why = { 0 };
	struct json *j = vendor_json_load(path, pmu, &why);
	const struct json *list;
	int err = 0;

	if (!j)
		return error_set(e, why.number ? why.number : EINVAL, "%s", why.text);
	if (array_room(&v->file, v->n_files, sizeof(*v->file))) {
		json_free(j);
		return no_memory(e);
	}
	v->file[v->n_files++] = j;
	list = json_is_array(j) ? j : json_get(j, "Events");
	if (!json_is_array(list))
		return error_set(e, EINVAL, "%s: not an event file, which is an array of objects with EventName",
				 path);
	for (size_t i = 0; i < json_count(list) && !err; i++) {
		const struct json *object = json_at(list, i);

		/* A reference may also be to a metric. */
		if (!vendor_field(object, "EventName") && !vendor_field(object, "ArchStdEvent")) {
			err = only_standard ? add_standard(v, object) : 0;
			continue;
		}
		if (v->n_events >= MAX_EVENTS)
			return error_set(e, E2BIG, "%s: more than %d events", path, MAX_EVENTS);
		if (!only_standard)
			err = append(&v->event, &v->n_events, object);
		if (!err && !vendor_field(object, "ArchStdEvent"))
			err = add_standard(v, object);
	}
	return err ? no_memory(e) : 0;
}

static int is_json(const struct dirent *d)
{
	size_t len = strlen(d->d_name);

	return len > 5 && !strcmp(d->d_name + len - 5, ".json");
}

static int load_dir(struct vendor_events *v, const char *path, bool only_standard, struct error *e)
{
	struct dirent **name;
	int n = scandir(path, &name, is_json, alphasort), err = 0;
	char full[4096];

	if (n < 0)
		return error_sys(e, errno, "%s", path);
	if (n > MAX_FILES)
		err = error_set(e, E2BIG, "%s: more than %d files", path, MAX_FILES);
	for (int i = 0; i < n; i++) {
		if (!err && snprintf(full, sizeof(full), "%s/%s", path, name[i]->d_name) >= (int)sizeof(full))
			err = error_set(e, ENAMETOOLONG, "%s", path);
		/* Other files of the directory describe metrics, or groups of metrics. */
		if (!err && strcmp(name[i]->d_name, "metricgroups.json"))
			err = load_file(v, full, NULL, only_standard, e);
		free(name[i]);
	}
	free(name);
	return err;
}

static bool compile(regex_t *re, const char *pattern, size_t len)
{
	char whole[MAX_REGEX + 8];

	if (len > MAX_REGEX)
		return false;
	snprintf(whole, sizeof(whole), "^(%.*s)$", (int)len, pattern);
	return !regcomp(re, whole, REG_EXTENDED | REG_NOSUB);
}

bool vendor_is_pattern(const char *pattern)
{
	regex_t re;

	for (const char *c = pattern; *c; c++)
		if (iscntrl((unsigned char)*c))
			return false;
	if (!compile(&re, pattern, strlen(pattern)))
		return false;
	regfree(&re);
	return true;
}

/* Whether the text lacks what all that the pattern matches begins with: that settles most patterns of a map. */
static bool begins_otherwise(const char *pattern, size_t len, const char *text)
{
	size_t n = strcspn(pattern, "\\^$.[]|()*+?{}");
	int depth = 0;

	n = n < len ? n : len;
	for (size_t i = n; i < len; i++) {
		depth += pattern[i] == '(' ? 1 : pattern[i] == ')' ? -1 : 0;
		/* Inside brackets and after a backslash parentheses are letters. */
		if (pattern[i] == '\\' || (pattern[i] == '|' && depth <= 0) ||
		    (pattern[i] == '[' && strcspn(pattern + i + 1, "()") < strcspn(pattern + i + 1, "]")))
			return false;
	}
	if (n && n < len && strchr("*?{", pattern[n]))
		n--;
	return strncmp(pattern, text, n) != 0;
}

/* Matches "GenuineIntel-6-(55|56)" with the whole id. */
bool vendor_matches(const char *pattern, size_t len, const char *text)
{
	regex_t re;
	bool yes;

	if (begins_otherwise(pattern, len, text) || !compile(&re, pattern, len))
		return false;
	yes = !regexec(&re, text, 0, NULL, 0);
	regfree(&re);
	return yes;
}

bool vendor_is_cpu(const char *pattern, const char *cpuid)
{
	const char *stepping = strrchr(cpuid, '-');
	const uint64_t variant_revision = 0xf0000f;
	char less[64];
	size_t len = strlen(pattern);
	uint64_t midr, least;

	if (!strncmp(cpuid, "0x", 2) && !parse_u64(cpuid, &midr) && !parse_u64(pattern, &least))
		return !((midr ^ least) & ~variant_revision) &&
		       (midr & variant_revision) >= (least & variant_revision);
	if (vendor_matches(pattern, len, cpuid))
		return true;
	snprintf(less, sizeof(less), "%.*s", stepping ? (int)(stepping - cpuid) : 0, cpuid);
	return less[0] && vendor_matches(pattern, len, less);
}

int vendor_map_each(const char *path, vendor_map_fn each, void *arg, struct error *e)
{
	char map[4096], line[1024];
	int err = 0, fd;
	FILE *f;

	snprintf(map, sizeof(map), "%s/mapfile.csv", path);
	fd = file_open(map, e);
	if (fd < 0)
		return fd;
	f = fdopen(fd, "r");
	if (!f) {
		err = error_sys(e, errno, "%s", map);
		close(fd);
		return err;
	}
	/* Lines are "pattern,version,folder or file,type"; Intel's continue with "0x20,0x000001,Atom". */
	while (!err && fgets(line, sizeof(line), f)) {
		struct vendor_map row = { .pattern = line };
		char *rest = line + strcspn(line, ",\r\n");

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
	if (!err && ferror(f))
		err = error_sys(e, EIO, "%s", map);
	fclose(f);
	return err;
}

struct looking {
	const char *path, *cpuid;
	char *dir;
	size_t size;
};

static int look_at(void *arg, const struct vendor_map *row)
{
	struct looking *l = arg;

	if (!l->cpuid || !vendor_is_cpu(row->pattern, l->cpuid))
		return 0;
	snprintf(l->dir, l->size, "%s/%s", l->path, row->name);
	return 1;
}

/* Returns 0 and the directory, or -errno. */
static int look_up(const char *path, const char *cpuid, char *dir, size_t size, struct error *e)
{
	struct looking l = { path, cpuid, dir, size };
	int err = vendor_map_each(path, look_at, &l, e);

	if (err)
		return err > 0 ? 0 : err;
	return error_set(e, ENOENT, "%s/mapfile.csv has no line for this CPU (%s); name the directory of a CPU", path,
			 cpuid ? cpuid : "whose id is not known");
}

/* One that exists but cannot be read counts: the error matters. */
bool vendor_folder_is_mapped(const char *path)
{
	char map[4096];
	struct stat st;

	return snprintf(map, sizeof(map), "%s/mapfile.csv", path) < (int)sizeof(map) && !lstat(map, &st);
}

int vendor_folder(const char *path, const char *cpuid, char *dir, size_t size, struct error *e)
{
	if (vendor_folder_is_mapped(path))
		return look_up(path, cpuid, dir, size, e);
	if (snprintf(dir, size, "%s", path) >= (int)size)
		return error_set(e, ENAMETOOLONG, "%.100s...: the name is too long", path);
	return 0;
}

/* The targets of ArchStdEvent are beside mapfile.csv, in this directory or one above it. */
static int load_standard(struct vendor_events *v, const char *path, struct error *e)
{
	SCOPED(scoped_free) char *above = realpath(path, NULL);
	int err = 0;

	for (int level = 0; above && level < 4; level++) {
		char *slash = strrchr(above, '/');

		if (!slash || slash == above)
			break;
		*slash = '\0';
		if (vendor_folder_is_mapped(above)) {
			err = load_dir(v, above, true, e);
			break;
		}
	}
	return err;
}

static bool refers(const struct vendor_events *v)
{
	for (size_t i = 0; i < v->n_events; i++)
		if (vendor_field(v->event[i], "ArchStdEvent"))
			return true;
	return false;
}

static int load_path(struct vendor_events *v, const char *path, const char *pmu, const char *cpuid, struct error *e)
{
	char dir[4096];
	DIR *d = opendir(path);
	size_t before = v->n_events;
	int err;

	if (!d) {
		if (errno != ENOTDIR)
			return error_sys(e, errno, "%s", path);
		err = load_file(v, path, pmu, false, e);
	} else {
		closedir(d);
		if (vendor_folder_is_mapped(path)) {
			err = look_up(path, cpuid, dir, sizeof(dir), e);
			path = dir;
			if (err)
				return err;
		}
		err = load_dir(v, path, false, e);
	}
	if (!err && v->n_events == before)
		return error_set(e, ENODATA, "%s: no object there has an EventName", path);
	return err || !refers(v) ? err : load_standard(v, path, e);
}

int vendor_events_load(struct vendor_events **out, const char *path, const char *pmu, const char *cpuid,
		       struct error *e)
{
	struct vendor_events *v = *out ? *out : calloc(1, sizeof(*v));
	size_t n_events;
	int err;

	if (!v)
		return no_memory(e);
	n_events = v->n_events;
	err = load_path(v, path, pmu, cpuid, e);
	if (!err) {
		*out = v;
	} else if (!*out) {
		vendor_events_free(v);
	} else {
		/* Keep the files: standard events may refer to them. */
		v->n_events = n_events;
	}
	return err;
}
