#include "record/sample/rotate.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "record/host/caller.h"

void rotation_init(struct rotation *r, const struct record_options *o)
{
	*r = (struct rotation)ROTATION_INIT;
	r->options = o;
}

/* Takes the oldest files away until at most so many are left, if they still are what was written under those names.
 * Whether there was one. */
static bool drop_oldest(struct rotation *r, size_t most)
{
	bool any = false;

	pthread_mutex_lock(&r->lock);
	for (; r->n_kept > most; any = true) {
		struct rotation_file *f = &r->kept[0];

		caller_remove(f->path, f->device, f->inode);
		free(f->path);
		r->n_kept--;
		memmove(r->kept, r->kept + 1, r->n_kept * sizeof(*r->kept));
	}
	pthread_mutex_unlock(&r->lock);
	return any;
}

bool rotation_make_room(void *ctx)
{
	struct rotation *r = ctx;
	size_t n;

	pthread_mutex_lock(&r->lock);
	n = r->n_kept;
	pthread_mutex_unlock(&r->lock);
	/* The last is in use. */
	return n > 1 && drop_oldest(r, n - 1);
}

/* What cannot be remembered stays. */
static void remember(struct rotation *r, const struct output *out)
{
	struct rotation_file f;
	struct stat st;

	r->files++;
	if (!r->options->output.keep || fstat(out->fd, &st))
		return;
	if (!r->kept)
		r->kept = calloc(r->options->output.keep + 1, sizeof(*r->kept));
	f = (struct rotation_file){ .path = r->kept ? strdup(out->path) : NULL,
				    .device = st.st_dev,
				    .inode = st.st_ino };
	pthread_mutex_lock(&r->lock);
	if (f.path)
		r->kept[r->n_kept++] = f;
	pthread_mutex_unlock(&r->lock);
}

int rotation_begin(struct rotation *r, struct error *e)
{
	int err = output_open(rotation_output(r), r->options, e);

	if (!err)
		remember(r, rotation_output(r));
	return err;
}

static int open_next(void *ctx, void **sink_ctx, struct error *e)
{
	struct rotation *r = ctx;
	struct output *next = &r->output[!r->now];
	int err = output_open_as_self(next, r->options, e);

	if (err)
		return err;
	*sink_ctx = next;
	/* Before anything is written, so that there is room on a disk that --keep fits to the last byte. The one in
	 * use is not to be lost, whatever comes. */
	if (r->options->output.keep)
		drop_oldest(r, r->options->output.keep > 1 ? r->options->output.keep - 1 : 1);
	return 0;
}

static void settle(void *ctx, bool taken)
{
	struct rotation *r = ctx;

	if (!taken) {
		r->output[!r->now].bytes = 0; /* nothing of use */
		output_close(&r->output[!r->now], NULL);
		return;
	}
	/* What close() could complain of now does not change what is done next. */
	output_close(rotation_output(r), NULL);
	r->now = !r->now;
	remember(r, rotation_output(r));
	if (r->options->output.keep)
		drop_oldest(r, r->options->output.keep);
}

struct recording_rotation rotation_rules(struct rotation *r)
{
	return (struct recording_rotation){ .bytes = r->options->output.rotate_bytes,
					    .period_ns = r->options->output.rotate_ns,
					    .open = open_next,
					    .settle = settle,
					    .make_room = rotation_make_room,
					    .ctx = r };
}

int rotation_end(struct rotation *r, struct error *e)
{
	int err = output_close(rotation_output(r), e);

	while (r->n_kept)
		free(r->kept[--r->n_kept].path);
	free(r->kept);
	r->kept = NULL;
	return err;
}
