/* Where a vendor's metrics come from: one file, or a directory of perf's tree (pmu-events/arch/x86/skylake), whose
 * files are one set and may refer to each other. The formula of an object with only an ArchStdEvent is in a file of a
 * directory above. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/array.h"
#include "common/event/vendor_events.h"
#include "common/metric/vendor.h"
#include "common/vendor_schema.h"

#define LEVELS_ABOVE 2 /* the standards of arch/arm64/arm/neoverse-n1 are in arch/arm64 */

static void docs_release(struct vendor_docs *docs)
{
	for (size_t i = 0; i < docs->n; i++)
		json_free(docs->doc[i]);
	for (size_t i = 0; i < docs->n_standards; i++)
		json_free(docs->standard[i]);
	free(docs->doc);
	free(docs->standard);
}

/* Takes over `j`. */
static int add_doc(struct json ***list, size_t *n, struct json *j, struct error *e)
{
	if (array_room(list, *n, sizeof(j))) {
		json_free(j);
		return error_set(e, ENOMEM, "out of memory");
	}
	(*list)[(*n)++] = j;
	return 0;
}

static int is_json(const struct dirent *d)
{
	size_t len = strlen(d->d_name);

	return len > 5 && !strcmp(d->d_name + len - 5, ".json");
}

/* Takes ownership of `j`, which is not an array. perf's directories have one such file, which describes groups of
 * metrics. */
static int no_list(struct json *j, const char *name, const char *path, struct error *e)
{
	json_free(j);
	if (!strcmp(name, "metricgroups.json"))
		return 0;
	return error_set(e, EINVAL, "%s: neither events nor metrics: not an array of objects", path);
}

/* Adds all arrays of the directory's files, in the order of their names. Failing to read one is an error: with a part
 * missing, the directory would silently mean something else. */
static int add_folder(struct json ***list, size_t *n, const char *path, struct error *e)
{
	struct dirent **entry = NULL;
	int count = scandir(path, &entry, is_json, alphasort), err = 0;

	if (count < 0)
		return error_set(e, errno, "%s: %s", path, strerror(errno));
	for (int i = 0; i < count; i++) {
		SCOPED(buf_release) struct buf name = BUF_INIT;
		struct json *j = NULL;

		buf_printf(&name, "%s/%s", path, entry[i]->d_name);
		if (!err && name.err)
			err = error_set(e, ENOMEM, "out of memory");
		if (!err && !(j = vendor_json_load(buf_str(&name), NULL, e)))
			err = e->number ? -e->number : -EINVAL;
		if (err)
			error_prefix(e, "%s", buf_str(&name));
		else if (json_is_array(j))
			err = add_doc(list, n, j, e);
		else
			err = no_list(j, entry[i]->d_name, buf_str(&name), e);
		free(entry[i]);
	}
	free(entry);
	return err;
}

static bool wants_standards(const struct vendor_docs *docs)
{
	for (size_t d = 0; d < docs->n; d++)
		for (size_t i = 0; i < json_count(docs->doc[d]); i++) {
			const struct json *object = json_at(docs->doc[d], i);

			if (json_get(object, "ArchStdEvent") && !json_get(object, "MetricExpr"))
				return true;
		}
	return false;
}

/* The directories above need not be perf's tree: a failure to read them is noted, not an error. */
static int add_standards(struct vendor_docs *docs, const char *path, struct buf *notes)
{
	SCOPED(buf_release) struct buf above = BUF_INIT;
	int err = 0;

	buf_addstr(&above, path);
	for (int i = 0; i < LEVELS_ABOVE && err != -ENOMEM; i++) {
		struct error why = { 0 };

		buf_addstr(&above, "/..");
		err = above.err ? above.err : add_folder(&docs->standard, &docs->n_standards, buf_str(&above), &why);
		if (err)
			buf_printf(notes, "some of what ArchStdEvent refers to was not read: %s\n", why.text);
	}
	return err == -ENOMEM ? err : 0;
}

/* `path`: the folder of the documents; NULL: nothing is read from above. */
static int load_docs(struct metric_set *set, struct vendor_docs *docs, const char *path, struct error *e)
{
	SCOPED(buf_release) struct buf notes = BUF_INIT;
	int err = path && wants_standards(docs) ? add_standards(docs, path, &notes) : 0;

	if (err)
		return error_set(e, ENOMEM, "out of memory");
	err = vendor_load(set, docs, e);
	if (err)
		return err;
	buf_carry(&set->skipped, &notes);
	buf_add(&set->skipped, notes.data, notes.len);
	if (!set->skipped.err)
		return 0;
	metric_set_release(set);
	return error_set(e, ENOMEM, "out of memory");
}

static int load_folder(struct metric_set *set, const char *path, struct error *e)
{
	struct vendor_docs docs = { 0 };
	int err = add_folder(&docs.doc, &docs.n, path, e);

	if (!err) {
		err = load_docs(set, &docs, path, e);
		if (err)
			error_prefix(e, "%s", path);
	}
	docs_release(&docs);
	return err;
}

/* Takes over `j`. */
static int load_one(struct metric_set *set, struct json *j, const char *folder, struct error *e)
{
	struct vendor_docs docs = { 0 };
	const struct json *inner = json_is_array(j) ? NULL : json_get(j, "Metrics");
	struct json *list = inner ? (struct json *)(uintptr_t)inner : j;
	int err;

	docs.doc = &list;
	docs.n = 1;
	if (json_is_array(list))
		err = load_docs(set, &docs, folder, e);
	else
		err = error_set(e, EINVAL,
				"not a metric file, which is an array of objects with MetricName and MetricExpr");
	docs.doc = NULL;
	docs.n = 0;
	docs_release(&docs);
	json_free(j);
	return err;
}

int metric_files_copy(const char *path, const char *pmu, bool help, struct json *to, struct error *e)
{
	struct vendor_docs docs = { 0 };
	SCOPED(buf_release) struct buf notes = BUF_INIT;
	struct stat st;
	struct json *j;
	int err = 0;

	if (!stat(path, &st) && S_ISDIR(st.st_mode))
		err = add_folder(&docs.doc, &docs.n, path, e);
	else if (!(j = vendor_json_load(path, pmu, e)))
		err = e->number ? -e->number : -EINVAL;
	else
		err = add_doc(&docs.doc, &docs.n, j, e);
	if (!err && wants_standards(&docs) && add_standards(&docs, path, &notes))
		err = error_set(e, ENOMEM, "out of memory");
	if (!err && vendor_copy(&docs, help, to))
		err = error_set(e, ENOMEM, "out of memory");
	docs_release(&docs);
	return err;
}

int metric_set_load_text(struct metric_set *set, const char *text, size_t len, struct error *e)
{
	struct error own = { 0 };
	struct json *j = json_parse(text, len, &own);

	j = j ? vendor_json_convert(j, NULL, &own) : NULL;
	*set = (struct metric_set){ 0 };
	if (!j)
		return error_set(e, own.number ? own.number : EINVAL, "%s", own.text);
	return load_one(set, j, NULL, e);
}

int metric_set_load_for(struct metric_set *set, const char *path, const char *cpuid, struct error *e)
{
	struct error own = { 0 };
	const char *slash = strrchr(path, '/');
	struct stat st;
	struct json *j;
	char *folder;
	int err;

	*set = (struct metric_set){ 0 };
	if (!stat(path, &st) && S_ISDIR(st.st_mode)) {
		char of_cpu[4096];

		err = vendor_folder(path, cpuid, of_cpu, sizeof(of_cpu), e);
		return err ? err : load_folder(set, of_cpu, e);
	}
	j = vendor_json_load(path, NULL, &own);
	if (!j)
		return error_set(e, own.number ? own.number : EINVAL, "%s", own.text);
	folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	if (!folder) {
		json_free(j);
		return error_set(e, ENOMEM, "out of memory");
	}
	err = load_one(set, j, folder, e);
	if (err)
		error_prefix(e, "%s", path);
	free(folder);
	return err;
}

int metric_set_load(struct metric_set *set, const char *path, struct error *e)
{
	return metric_set_load_for(set, path, NULL, e);
}
