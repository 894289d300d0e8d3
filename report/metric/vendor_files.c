#include "report/metric/vendor_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/memory.h"
#include "common/vendor_docs.h"

struct path {
	char *name;            /* owned */
	struct metric_set set; /* what is the same for all CPUs */
	bool folder, mapped;
};

struct of_cpu {
	struct of_cpu *next;
	char *id;               /* owned; "" for what is the same for all */
	struct metric_set *set; /* owned; only the sets of paths that are mapped, and of the pack */
	size_t n, n_packed;
	struct vendor_events *events; /* owned */
};

struct vendor_files {
	struct path *path;
	size_t n;
	bool mapped; /* any of them */
	bool packed, never;
	struct vendor_pack pack;
	struct buf skipped; /* lines that were not told */
	struct of_cpu *cpu;
};

static void of_cpu_free(const struct vendor_files *v, struct of_cpu *c)
{
	for (size_t i = 0; i < c->n; i++)
		if (i >= v->n || v->path[i].mapped)
			metric_set_release(&c->set[i]);
	free(c->set);
	free(c->id);
	vendor_events_free(c->events);
	free(c);
}

void vendor_files_free(struct vendor_files *v)
{
	if (!v)
		return;
	while (v->cpu) {
		struct of_cpu *c = v->cpu;

		v->cpu = c->next;
		of_cpu_free(v, c);
	}
	for (size_t i = 0; i < v->n; i++) {
		metric_set_release(&v->path[i].set);
		free(v->path[i].name);
	}
	free(v->path);
	buf_release(&v->skipped);
	if (v->packed)
		vendor_pack_close(&v->pack);
	free(v);
}

/* Created on first use. */
static struct vendor_files *files_of(struct vendor_files **out)
{
	if (!*out)
		*out = memory_new(1, sizeof(**out));
	return *out;
}

static int load_set(struct vendor_files *v, struct metric_set *set, const char *path, const char *id, struct error *e)
{
	int err = metric_set_load(set, path, id, e);

	if (!err)
		buf_add(&v->skipped, set->skipped.data, set->skipped.len);
	return err;
}

int vendor_files_add(struct vendor_files **out, const char *path, struct error *e)
{
	struct vendor_files *v = files_of(out);
	struct path one = { 0 };
	struct stat st;
	int err = 0;

	memory_room(&v->path, v->n, sizeof(*v->path));
	if (stat(path, &st))
		return error_sys(e, errno, "%s", path);
	one.folder = S_ISDIR(st.st_mode);
	one.mapped = one.folder && vendor_folder_is_mapped(path);
	if (!one.mapped)
		err = load_set(v, &one.set, path, NULL, e);
	if (err)
		return err;
	one.name = memory_text(path);
	v->mapped |= one.mapped;
	v->path[v->n++] = one;
	return 0;
}

int vendor_files_add_pack(struct vendor_files **out, bool never, struct error *e)
{
	struct vendor_files *v = files_of(out);
	int err;

	v->never |= never;
	if (v->packed || v->never)
		return 0;
	err = vendor_pack_find(&v->pack, e);
	v->packed = !err;
	v->mapped |= v->packed;
	return err == -ENOENT ? 0 : err;
}

/* For an unknown CPU there is nothing. */
static int load_pack(const struct vendor_files *v, struct of_cpu *c, const char *id, struct error *e)
{
	SCOPED(vendor_texts_release) struct vendor_texts t = { 0 };
	int err = vendor_pack_texts(&v->pack, id, &t, e);

	for (uint32_t i = 0; i < t.n && !err; i++) {
		const char *metrics = t.set[i].metrics;
		struct error why = { 0 };

		vendor_events_unpack(&c->events, t.set[i].rows, NULL);
		t.set[i].rows = NULL;
		vendor_events_words(c->events, metrics);
		if (*metrics) {
			/* A set that has only events is not an error. */
			int none = metric_set_load_text(&c->set[c->n], metrics, strlen(metrics), &why);

			c->n += !none;
			c->n_packed += !none;
		}
	}
	return err;
}

static int load(struct vendor_files *v, struct of_cpu *c, const char *id, struct error *e)
{
	int err = 0;

	c->set = memory_new(v->n + VENDOR_TEXTS, sizeof(*c->set));
	c->id = memory_text(v->mapped && id ? id : "");
	for (; c->n < v->n && !err; c->n++) {
		const struct path *p = &v->path[c->n];

		if (p->mapped)
			err = load_set(v, &c->set[c->n], p->name, id, e);
		else
			c->set[c->n] = p->set;
		if (!err && p->folder)
			err = vendor_events_load(&c->events, p->name, NULL, id, e);
		/* A directory without events has metrics over well-known names. */
		if (err == -ENODATA) {
			*e = (struct error){ 0 };
			err = 0;
		}
	}
	if (err)
		return error_prefix(e, "--metrics-file");
	return v->packed && !v->never ? load_pack(v, c, id, e) : 0;
}

static int choose(struct vendor_files *v, const char *id, struct of_cpu **found, struct error *e)
{
	struct of_cpu *c = v->cpu;
	int err;

	while (c && strcmp(c->id, v->mapped && id ? id : ""))
		c = c->next;
	*found = c;
	if (c)
		return 0;
	c = memory_new(1, sizeof(*c));
	err = load(v, c, id, e);
	if (err) {
		of_cpu_free(v, c);
		return err;
	}
	c->next = v->cpu;
	v->cpu = *found = c;
	return 0;
}

int vendor_files_choose(struct vendor_files *v, const struct pm_model *m, struct vendor_choice *choice,
			struct error *e)
{
	struct of_cpu *c;
	int err;

	*choice = (struct vendor_choice){ 0 };
	if (!v || (!v->n && (!v->packed || v->never)))
		return 0;
	err = choose(v, pm_map_text(&m->header, PM_HEADER_CPU_ID, NULL), &c, e);
	if (!err)
		*choice = (struct vendor_choice){
			.set = c->set, .n = c->n, .n_packed = c->n_packed, .events = c->events
		};
	return err;
}

void vendor_files_skipped(struct vendor_files *v, struct buf *lines)
{
	if (!v)
		return;
	buf_carry(lines, &v->skipped);
	buf_add(lines, v->skipped.data, v->skipped.len);
	buf_clear(&v->skipped);
}
