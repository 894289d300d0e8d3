/* The recordings of the two sides: what the words of the command line stand for. */
#include "common/array.h"
#include "report/diff/diff_input.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "report/input/input.h"

static const char *const side_name[] = { [DIFF_BASE] = "base", [DIFF_NEW] = "new" };

static int add(struct diff_recordings *r, const char *path, enum diff_side side)
{
	if (array_room(&r->recording, r->n, sizeof(*r->recording)))
		return -ENOMEM;
	if (!strcmp(path, "-"))
		path = r->input.name;
	r->recording[r->n++] = (struct diff_recording){
		.path = path,
		.place = path == r->input.name ? r->input.path : path,
		.name = input_name(path),
		.side = side,
	};
	return 0;
}

/* Recordings are read more than once. */
static int keep_input(struct diff_recordings *r, struct error *e)
{
	if (r->input.name)
		return error_set(e, EINVAL, "standard input is given twice");
	return spool_open(&r->input, "-", SPOOL_TWICE, e);
}

static bool is_recording_name(const char *name)
{
	static const char *const ends[] = { ".pmr", ".pmr.gz", ".pmr.zst" };
	size_t len = strlen(name);

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (len > strlen(ends[i]) && !strcmp(name + len - strlen(ends[i]), ends[i]))
			return true;
	return false;
}

static int only_recordings(const struct dirent *d)
{
	return is_recording_name(d->d_name);
}

/* Calls `each` for every recording of a directory in the order of their names, or for the file itself. */
static int expand(struct diff_recordings *r, const char *path, int (*each)(void *ctx, const char *path), void *ctx,
		  struct error *e)
{
	struct dirent **entry = NULL;
	struct stat st;
	int n, err = 0;

	if (!strcmp(path, "-")) {
		err = keep_input(r, e);
		return err ? err : each(ctx, path);
	}
	if (stat(path, &st))
		return error_sys(e, errno, "%s", path);
	if (!S_ISDIR(st.st_mode))
		return each(ctx, path);
	n = scandir(path, &entry, only_recordings, alphasort);
	if (n < 0)
		return error_sys(e, errno, "%s", path);
	if (!n)
		err = error_set(e, ENOENT, "%s: a directory without recordings (*.pmr)", path);
	for (int i = 0; i < n; i++) {
		SCOPED(buf_release) struct buf text = BUF_INIT;
		char **owned = err ? NULL : reallocarray(r->owned, r->n_owned + 1, sizeof(*owned));

		buf_printf(&text, "%s/%s", path, entry[i]->d_name);
		if (owned) {
			r->owned = owned;
			owned[r->n_owned] = buf_detach(&text);
			err = owned[r->n_owned] ? each(ctx, owned[r->n_owned]) : -ENOMEM;
			r->n_owned += owned[r->n_owned] != NULL;
		} else if (!err) {
			err = -ENOMEM;
		}
		free(entry[i]);
	}
	free(entry);
	return err;
}

struct taker {
	struct diff_recordings *r;
	const struct diff_options *o;
	enum diff_side side;
	size_t pool, taken[DIFF_SIDES];
	struct error *e;
};

static int take_path(void *ctx, const char *path)
{
	struct taker *t = ctx;

	return add(t->r, path, t->side);
}

/* ---- labels ---- */

static bool has_label(const struct pm_map *header, const char *wanted)
{
	const struct pm_value *all = pm_map_get(header, PM_HEADER_LABELS);
	const char *equal = strchr(wanted, '=');
	size_t key = equal ? (size_t)(equal - wanted) : 0;
	/* "label=main" is any label with that value. */
	bool any = key == 5 && !memcmp(wanted, "label", 5);

	for (uint32_t i = 0; all && all->kind == PM_VALUE_ARRAY && i < all->array.n; i++) {
		const struct pm_value *pair = &all->array.item[i];

		if (pair->kind != PM_VALUE_ARRAY || pair->array.n < 2 || pair->array.item[0].kind != PM_VALUE_TEXT ||
		    pair->array.item[1].kind != PM_VALUE_TEXT || strcmp(pair->array.item[1].str.data, equal + 1))
			continue;
		if (any || (pair->array.item[0].str.len == key && !memcmp(pair->array.item[0].str.data, wanted, key)))
			return true;
	}
	return false;
}

static bool has_labels(const struct pm_map *header, char *const *label, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!has_label(header, label[i]))
			return false;
	return n > 0;
}

/* The header comes first: nothing else of the recording is read. */
static int take_labelled(void *ctx, const char *path)
{
	struct taker *t = ctx;
	struct pm_reader *reader = NULL;
	struct pm_item item = { 0 };
	bool fits[DIFF_SIDES] = { false, false };
	int err = strcmp(path, "-") ? input_open(&reader, path, false, t->e) :
				      spool_reader(&reader, &t->r->input, t->e);
	int got;

	if (err)
		return err;
	while ((got = pm_reader_next(reader, &item)) == 1 && item.kind != PM_ITEM_CHUNK)
		if (item.kind == PM_ITEM_MODEL && item.parts & PM_PART_HEADER)
			break;
	if (got < 0)
		err = input_failed(t->e, got, &item, path);
	t->pool++;
	for (int s = 0; s < DIFF_SIDES; s++)
		fits[s] = has_labels(&pm_reader_model(reader)->header, t->o->label[s], t->o->n_labels[s]);
	pm_reader_close(reader);
	if (err)
		return err;
	if (fits[DIFF_BASE] && fits[DIFF_NEW])
		return error_set(t->e, EINVAL, "%s has the labels of both sides", path);
	for (int s = 0; s < DIFF_SIDES; s++) {
		if (!fits[s])
			continue;
		t->taken[s]++;
		err = err ? err : add(t->r, path, (enum diff_side)s);
	}
	return err;
}

static int by_labels(struct taker *t, struct error *e)
{
	const struct diff_options *o = t->o;
	int err = 0;

	for (int s = 0; s < DIFF_SIDES; s++) {
		/* A side without labels is what its paths say. */
		for (size_t i = 0; i < o->n_paths[s] && !err; i++) {
			t->side = (enum diff_side)s;
			err = expand(t->r, o->path[s][i], o->n_labels[s] ? take_labelled : take_path, t, e);
		}
	}
	for (size_t i = 0; i < o->n_places && !err; i++)
		err = expand(t->r, o->place[i], take_labelled, t, e);
	if (!err && !t->pool)
		return error_set(e, EINVAL, "labels choose among recordings; name files or a directory as well");
	for (int s = 0; s < DIFF_SIDES && !err; s++)
		if (o->n_labels[s] && !t->taken[s])
			err = error_set(e, ENOENT, "none of %zu recordings has the label '%s' of the %s side",
					t->pool, o->label[s][0], side_name[s]);
	return err;
}

/* The base first, and each side in the order given. */
static int sort_sides(struct diff_recordings *r)
{
	struct diff_recording *sorted = calloc(r->n + 1, sizeof(*sorted));
	size_t n = 0;

	if (!sorted)
		return -ENOMEM;
	for (int s = 0; s < DIFF_SIDES; s++)
		for (size_t i = 0; i < r->n; i++)
			if (r->recording[i].side == (enum diff_side)s)
				sorted[n++] = r->recording[i];
	free(r->recording);
	r->recording = sorted;
	return 0;
}

int diff_find(struct diff_recordings *r, const struct diff_options *o, struct error *e)
{
	struct taker t = { .r = r, .o = o, .e = e };
	size_t sides[DIFF_SIDES] = { 0 };
	int err = 0;

	if (o->n_labels[DIFF_BASE] || o->n_labels[DIFF_NEW]) {
		err = by_labels(&t, e);
	} else if (!o->n_paths[DIFF_BASE] && !o->n_paths[DIFF_NEW]) {
		if (o->n_places != 2)
			return error_set(e, EINVAL,
					 "diff takes two recordings or directories, BASE and NEW; for more use "
					 "--base A1 A2 ... --new B1 B2 ...");
		for (size_t i = 0; i < 2 && !err; i++) {
			t.side = (enum diff_side)i;
			err = expand(r, o->place[i], take_path, &t, e);
		}
	} else {
		if (o->n_places)
			return error_set(e, EINVAL, "%s belongs to no side; recordings follow --base or --new",
					 o->place[0]);
		for (int s = 0; s < DIFF_SIDES; s++)
			for (size_t i = 0; i < o->n_paths[s] && !err; i++) {
				t.side = (enum diff_side)s;
				err = expand(r, o->path[s][i], take_path, &t, e);
			}
	}
	if (!err)
		err = sort_sides(r);
	if (err)
		return e->text[0] ? err : error_sys(e, -err, "recordings");
	for (size_t i = 0; i < r->n; i++)
		sides[r->recording[i].side]++;
	for (int s = 0; s < DIFF_SIDES; s++)
		if (!sides[s])
			return error_set(e, EINVAL, "the %s side has no recording: --%s FILE...", side_name[s],
					 side_name[s]);
	return 0;
}

int diff_check(const struct diff_recordings *r, struct error *e)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct diff_recording *a = &r->recording[i];
		struct stat x, y;

		if (stat(a->place, &x))
			return error_sys(e, errno, "%s", a->path);
		for (size_t k = 0; k < i; k++) {
			const struct diff_recording *b = &r->recording[k];
			const char *where = a->side == b->side ? "twice on one side" : "on both sides";

			if (!stat(b->place, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino)
				return error_set(e, EINVAL, "%s is given %s", a->path, where);
			if (a->first_ns && a->first_ns == b->first_ns && !memcmp(a->id, b->id, sizeof(a->id)))
				return error_set(e, EINVAL, "%s and %s are the same recording, %s", b->path, a->path,
						 where);
		}
	}
	return 0;
}

void diff_recordings_release(struct diff_recordings *r)
{
	for (size_t i = 0; i < r->n; i++) {
		struct diff_recording *one = &r->recording[i];

		for (int f = 0; f < DIFF_FACTS; f++)
			free(one->fact[f]);
		for (uint32_t k = 0; k < one->n_events; k++)
			free(one->event[k]);
		free(one->event);
		free(one->boot);
		free(one->run);
		buf_release(&one->notes);
	}
	free(r->recording);
	for (size_t i = 0; i < r->n_owned; i++)
		free(r->owned[i]);
	free(r->owned);
	if (r->input.name)
		spool_close(&r->input);
	*r = (struct diff_recordings){ 0 };
}
