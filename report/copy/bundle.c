#include "report/copy/bundle.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/file.h"
#include "common/memory.h"
#include "report/input/gzip.h"
#include "report/input/input.h"

#define EVERY_MOST   1000       /* beyond this only the ends stay */
#define SOURCES_MAX  8          /* whose values of each CPU may be left out */
#define SMALL_INPUT  (4u << 20) /* bytes that are read again rather than reduced twice */
#define SMALL_OUTPUT (2u << 20) /* bytes for which better compression is worthwhile */
#define LEVEL_FAST   3          /* of zstd: as fast as 1 on packed numbers */
#define LEVEL_HARD   9          /* saves one byte in fifty more, at three times the cost */
#define RESTARTS     3
/* Half as many snapshots need more than half the bytes, 2^-0.85: they differ more from each other. */
#define SHRINKS 0.85
#define MARGIN  0.97 /* of the limit: what a forecast aims for */

/* One attempt to write the bundle. */
struct attempt {
	const struct bundle *b;
	struct bundle_way way;
	int fd;
	uint64_t bytes; /* of the bundle */
	struct rewrite_result result;

	/* While it is written. */
	struct gzip_writer *gzip;
	struct rewrite *rewrite;
	struct pm_reader *reader;
	uint64_t raw, raw_before; /* bytes from the rewrite, now and before the last frame */
	uint64_t definitions;     /* of `raw`, before the first chunk */
	uint64_t in_bytes;        /* of the input; 0: not watched */
	uint32_t too_fine;        /* this is known to be too little reduction */
	bool may_refine;
	uint32_t better; /* aborted: this would suffice; 0: not aborted */
};

/* ---- what is large ---- */

static bool is_of_cpus(const struct pm_model *m, const struct pm_group *g)
{
	for (uint32_t i = 0; i < g->n_instances; i++)
		if (pm_model_instance(m, g->instance[i])->kind == PM_CPU)
			return true;
	return false;
}

static void add_share(struct bundle *b, const struct pm_group *g)
{
	size_t i = 0;

	while (i < b->n_shares && strcmp(b->share[i].source, g->source))
		i++;
	if (i == b->n_shares) {
		memory_room(&b->share, i, sizeof(*b->share));
		b->share[b->n_shares++] = (struct bundle_share){ .source = memory_text(g->source) };
	}
	b->share[i].columns += pm_group_columns(g);
}

static int by_size(const void *x, const void *y)
{
	const struct bundle_share *a = x, *b = y;

	return (a->columns < b->columns) - (a->columns > b->columns);
}

static void weigh(struct bundle *b, const struct pm_model *m)
{
	if (b->share)
		return;
	for (uint32_t i = 0; i < m->n_groups; i++)
		if (is_of_cpus(m, &m->group[i]))
			add_share(b, &m->group[i]);
	if (b->n_shares)
		qsort(b->share, b->n_shares, sizeof(*b->share), by_size);
}

static int group_fate(void *ctx, const struct pm_model *m, const struct pm_group *g)
{
	const struct attempt *a = ctx;

	if (!a->way.sources || !is_of_cpus(m, g))
		return REWRITE_KEEP;
	for (size_t i = 0; i < a->b->n_shares && i < a->way.sources; i++)
		if (!strcmp(a->b->share[i].source, g->source))
			return REWRITE_BLANK;
	return REWRITE_KEEP;
}

/* ---- words ---- */

void bundle_tell(const struct bundle *b, const struct bundle_way *way, struct buf *out)
{
	if (way->every == UINT32_MAX)
		buf_addstr(out, "only the first and last snapshot of each segment are kept");
	else if (way->every > 1)
		buf_printf(out, "one snapshot in %u is kept", way->every);
	for (size_t i = 0; i < b->n_shares && i < way->sources; i++)
		buf_printf(out, "%s%s",
			   i ? ", " : "; the values of single CPUs are left out of: ", b->share[i].source);
}

static void tell_history(const struct attempt *a, struct buf *out)
{
	buf_addstr(out, "bundled");
	if (a->way.every > 1) {
		buf_addstr(out, ": ");
		bundle_tell(a->b, &a->way, out);
	}
}

/* Changes the last entry in the history of a bundle that is reduced further. */
static int on_header(void *ctx, struct pm_map *header)
{
	const struct attempt *a = ctx;
	const struct pm_value *old = pm_map_get(header, PM_HEADER_HISTORY);
	uint32_t n = old && old->kind == PM_VALUE_ARRAY ? old->array.n : 0;
	SCOPED(buf_release) struct buf history = BUF_INIT;
	struct pm_value list;

	if (!n)
		return -EINVAL;
	tell_history(a, &history);
	memory_whole(&history);
	memory_done(pm_value_copy(&list, old));
	pm_value_release(&list.array.item[n - 1]);
	list.array.item[n - 1] = pm_text(buf_str(&history));
	memory_done(pm_map_set(header, PM_HEADER_HISTORY, list));
	return 0;
}

/* ---- how it goes ---- */

/* The least reduction that will suffice, if keeping one snapshot in `every` makes `bytes`. */
static uint32_t every_for(const struct bundle *b, uint32_t every, double bytes)
{
	double factor = pow(bytes / (MARGIN * (double)b->max_size), 1 / SHRINKS);
	double want = ceil(every * factor - 1e-6);

	return want < 1 ? 1 : want > EVERY_MOST ? EVERY_MOST : (uint32_t)want;
}

/* Aborts an attempt that turns out to be too large, or to leave out too much. */
static int watch(struct attempt *a)
{
	uint64_t read = pm_reader_bytes(a->reader);
	double part, bytes;
	uint32_t want;

	if (read <= a->definitions || a->in_bytes <= a->definitions || a->raw < SMALL_OUTPUT / 2)
		return 0;
	part = (double)(read - a->definitions) / (double)(a->in_bytes - a->definitions);
	if (part < 0.05 || part > 0.5)
		return 0;
	bytes = (double)a->definitions + (double)(a->raw - a->definitions) / part;
	want = every_for(a->b, a->way.every, bytes);
	if (want <= a->too_fine)
		want = a->too_fine + 1;
	if (bytes > (double)a->b->max_size && want > a->way.every)
		a->better = want;
	if (want < a->way.every && a->may_refine && part < 0.2)
		a->better = want;
	return a->better ? -ECANCELED : 0;
}

/* Frames of the recording. */
static int take_frame(void *ctx, const void *data, size_t len)
{
	struct attempt *a = ctx;
	int err;

	if (!a->definitions && rewrite_result(a->rewrite).snapshots_out)
		a->definitions = a->raw_before;
	a->raw_before = a->raw;
	a->raw += len;
	err = gzip_write(a->gzip, data, len);
	return err || !a->in_bytes || !a->definitions ? err : watch(a);
}

/* Bytes of the bundle. */
static int keep_bytes(void *ctx, const void *data, size_t len)
{
	struct attempt *a = ctx;

	a->bytes += len;
	return file_write(a->fd, data, len);
}

static int copy(struct attempt *a, struct rewrite_rules *rules, struct error *e)
{
	int err;

	a->gzip = gzip_writer_new(keep_bytes, a);
	err = rewrite_new(&a->rewrite, rules, take_frame, a, e);
	if (!err)
		err = rewrite_recording(a->rewrite, a->reader, e);
	if (!err)
		err = rewrite_finish(a->rewrite, e);
	if (!err) {
		err = gzip_finish(a->gzip);
		if (err)
			error_sys(e, -err, "temporary file");
	}
	if (!err)
		a->result = rewrite_result(a->rewrite);
	rewrite_free(a->rewrite);
	gzip_writer_free(a->gzip);
	a->rewrite = NULL;
	a->gzip = NULL;
	return err;
}

static int begin(struct attempt *a, struct error *e)
{
	if (a->fd < 0)
		a->fd = spool_temporary(e);
	if (a->fd < 0)
		return a->fd;
	a->bytes = a->raw = a->raw_before = a->definitions = 0;
	a->better = 0;
	if (lseek(a->fd, 0, SEEK_SET) || ftruncate(a->fd, 0))
		return error_sys(e, errno, "temporary file");
	return 0;
}

/* From the input. 0 also if it was aborted: `better` then says what would suffice. */
static int write_input(struct bundle *b, const struct spool *in, struct attempt *a, bool as_it_is, struct error *e)
{
	struct rewrite_rules rules = {
		.every = a->way.every,
		.gather = !as_it_is,
		.zstd_level = as_it_is                   ? 0 :
			      b->max_size > SMALL_OUTPUT ? LEVEL_FAST :
							   LEVEL_HARD,
		.group = group_fate,
		.group_ctx = a,
	};
	SCOPED(buf_release) struct buf history = BUF_INIT;
	int err = begin(a, e);

	tell_history(a, &history);
	rules.history = buf_str(&history);
	if (b->redact)
		redact_rules(b->redact, &rules);
	memory_whole(&history);
	if (!err)
		err = spool_reader(&a->reader, in, e);
	if (!err) {
		err = copy(a, &rules, e);
		if (!err)
			weigh(b, pm_reader_model(a->reader));
		if (err && !a->better)
			error_prefix(e, "%s", in->name);
		pm_reader_close(a->reader);
	}
	if (a->better)
		*e = (struct error){ 0 };
	return a->better ? 0 : err;
}

/* From a bundle that already has one snapshot in way.every / `every`. */
static int write_again(const struct attempt *from, struct attempt *a, uint32_t every, struct error *e)
{
	struct rewrite_rules rules = {
		.ctx = a,
		.header = on_header,
		.every = every,
		.gather = true,
		.zstd_level = a->b->max_size > SMALL_OUTPUT ? LEVEL_FAST : LEVEL_HARD,
		.group = group_fate,
		.group_ctx = a,
	};
	char path[32];
	int err = begin(a, e);

	if (!err && spool_temporary_path(from->fd, path))
		err = error_sys(e, ENAMETOOLONG, "temporary file");
	if (!err)
		err = input_open_as(&a->reader, path, "temporary file", e);
	if (!err) {
		a->in_bytes = 0;
		err = copy(a, &rules, e);
		pm_reader_close(a->reader);
	}
	/* Of the input, not of the bundle that was read. */
	a->result.snapshots_in = from->result.snapshots_in;
	a->result.damages = from->result.damages;
	a->result.newer = from->result.newer;
	return err;
}

/* ---- the way down ---- */

struct descent {
	struct attempt first, again; /* from the input; from its result */
	struct attempt *best;        /* the last one that was completed */
	uint64_t fixed;              /* bytes that do not depend on the number of snapshots, as far as known */
};

static bool fits(const struct bundle *b, const struct attempt *a)
{
	return a->bytes <= b->max_size;
}

/* The first attempt: unreduced if that may fit, then with as many snapshots as will fit. */
static int first_try(struct bundle *b, const struct spool *in, struct descent *d, struct error *e)
{
	struct attempt *a = &d->first;
	double ratio = (double)in->bytes / (double)b->max_size;
	int err;

	a->way.every = 1;
	d->best = a;
	/* gzip adds a byte in 6,000 to what cannot be compressed. */
	if (ratio < 0.9998 || in->bytes < SMALL_INPUT) {
		err = write_input(b, in, a, true, e);
		if (err || fits(b, a))
			return err;
	}
	a->may_refine = true;
	a->in_bytes = in->bytes < SMALL_INPUT ? 0 : in->bytes;
	a->way.every = ratio < 1.5 || !a->in_bytes ? 1 :
		       ratio + .5 < EVERY_MOST     ? (uint32_t)(ratio + .5) :
						     EVERY_MOST;
	for (int i = 0;; i++) {
		if (i == RESTARTS)
			a->in_bytes = 0;
		err = write_input(b, in, a, false, e);
		if (err || !a->better)
			return err;
		if (a->better > a->way.every) {
			a->too_fine = a->way.every;
			a->may_refine = false;
		}
		a->way.every = a->better;
	}
}

/* The next reduction to try, as far as the bytes of one in `every` show. */
static uint32_t fewer(const struct bundle *b, const struct descent *d, uint32_t every)
{
	double fixed = (double)d->fixed, room = MARGIN * (double)b->max_size - fixed;
	double factor = room > 0 ? pow(((double)d->best->bytes - fixed) / room, 1 / SHRINKS) : 4;
	double want = ceil(every * (factor < 4 ? factor : 4) - 1e-6);

	return want > every ? (uint32_t)want : every + 1;
}

/* Estimates the fixed part from two attempts. */
static void learn(struct descent *d, const struct attempt *more, uint64_t bytes, uint64_t snapshots)
{
	double a = (double)bytes, m = (double)snapshots, b = (double)more->bytes,
	       n = (double)more->result.snapshots_out;

	if (n > m && b > a)
		d->fixed = (uint64_t)fmax(0, a - m * (b - a) / (n - m));
}

/* Keeps fewer and fewer snapshots. A small input is read again, with any number; of a large one the result is
 * reduced. */
static int thin_out(struct bundle *b, const struct spool *in, struct descent *d, struct error *e)
{
	bool small = in->bytes < SMALL_INPUT;
	uint32_t unit = small ? 1 : d->first.way.every, every = d->first.way.every;
	int err = 0;

	d->fixed = d->first.definitions / 3;
	while (!err && !fits(b, d->best) && every < EVERY_MOST && every < d->first.result.snapshots_in / 2) {
		struct attempt before = *d->best;

		every = unit * fewer(b, d, every / unit);
		if (small) {
			d->first.way.every = every;
			err = write_input(b, in, &d->first, false, e);
		} else {
			d->again.way = (struct bundle_way){ .every = every };
			err = write_again(&d->first, &d->again, every / unit, e);
			d->best = &d->again;
		}
		if (!err)
			learn(d, &before, d->best->bytes, d->best->result.snapshots_out);
	}
	return err;
}

/* Keeps only the ends of each stretch; then also drops values of single CPUs. */
static int strip(const struct bundle *b, struct descent *d, struct error *e)
{
	static const uint32_t sources[] = { 0, 1, 2, SOURCES_MAX };
	int err = 0;

	for (size_t i = 0; i < sizeof(sources) / sizeof(*sources) && !err && !fits(b, d->best); i++) {
		if (i && !b->n_shares)
			break;
		d->again.way = (struct bundle_way){ .every = UINT32_MAX, .sources = sources[i] };
		err = write_again(&d->first, &d->again, UINT32_MAX, e);
		d->best = &d->again;
	}
	return err;
}

int bundle_make(struct bundle *b, const struct spool *in, struct error *e)
{
	struct descent d = { .first = { .b = b, .fd = -1 }, .again = { .b = b, .fd = -1 } };
	int err = first_try(b, in, &d, e);

	b->fd = -1;
	if (!err)
		err = thin_out(b, in, &d, e);
	if (!err)
		err = strip(b, &d, e);
	if (!err && !fits(b, d.best))
		err = error_set(e, EFBIG,
				"--max-size: %llu bytes are too few; the smallest possible bundle of %s has %llu",
				(unsigned long long)b->max_size, in->name, (unsigned long long)d.best->bytes);
	if (!err) {
		b->fd = d.best->fd;
		b->bytes = d.best->bytes;
		b->way = d.best->way;
		b->result = d.best->result;
		d.best->fd = -1;
	}
	if (d.first.fd >= 0)
		close(d.first.fd);
	if (d.again.fd >= 0)
		close(d.again.fd);
	return err;
}

void bundle_release(struct bundle *b)
{
	if (b->fd >= 0)
		close(b->fd);
	for (size_t i = 0; i < b->n_shares; i++)
		free(b->share[i].source);
	free(b->share);
	b->share = NULL;
	b->fd = -1;
}
