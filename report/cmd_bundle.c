/* pmrep bundle: makes a recording fit into a number of bytes: redacted, wrapped in gzip, with as many snapshots as
 * fit. It copies the input a few times, each time with the number that the size of the last copy promises. */
#include "report/cmd_copy.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/file.h"
#include "common/memory.h"
#include "report/input/gzip.h"
#include "report/machine/value_out.h"

static const char brief[] =
	"Usage: pmrep bundle [OPTION...] -o OUT.pmr.gz FILE\n"
	"Redact a recording and shrink it, step by step, until it can be attached to a report.\n\n"
	"All commands read the .gz file directly. What was dropped is printed, and stored in the "
	"file.\n\n" OPTIONS_LIST "\n"
	"Examples:\n"
	"  pmrep bundle -o bug.pmr.gz host.pmr\n"
	"  pmrep bundle --max-size=5M --shift-time -o bug.pmr.gz host.pmr\n";

struct bundle_job {
	struct cmd_copy copy;
	uint64_t max_size;
	bool no_redact;
	struct redact_options options;
};

#define OPTIONS_INTO struct bundle_job
static const struct option_row rows[] = {
	CMD_COPY_OPTIONS,
	CMD_REDACT_OPTIONS,
	{ "max-size", 0, "SIZE", "size limit, in bytes or with k, M, Ki, Mi (25M)", SIZE(max_size, 1) },
	{ "no-redact", 0, NULL, "keep the names of host, people and programs", FLAG(no_redact) },
	{ 0 },
};

static int operands(void *into, int n, char **operand, struct error *e)
{
	const struct bundle_job *b = into;

	if (b->no_redact && (b->options.map || b->options.keep || b->options.shift_time))
		return error_set(e, EINVAL,
				 "--no-redact excludes --map, --keep and --shift-time, which say how to redact");
	if (b->options.map && b->copy.output &&
	    (!strcmp(b->options.map, b->copy.output) ||
	     outfile_is_among(b->options.map, (char *const *)&b->copy.output, 1)))
		return error_set(e, EINVAL, "the map cannot be the output: it undoes the redaction");
	return cmd_copy_files(into, n, operand, e);
}

static const struct options_spec spec = {
	.name = "pmrep bundle",
	.rows = rows,
	.operands = operands,
	.operands_doc = "FILE",
	.brief = brief,
};

/* ---- making it fit ---- */

#define EVERY_MOST   1000       /* beyond this only the ends stay */
#define SOURCES_MAX  8          /* whose values of each CPU may be left out */
#define SMALL_INPUT  (4u << 20) /* bytes that are copied as they are, to see whether they fit */
#define SMALL_OUTPUT (2u << 20) /* bytes for which better compression is worthwhile */
#define LEVEL_FAST   3          /* of zstd: as fast as 1 on packed numbers */
#define LEVEL_HARD   9          /* saves one byte in fifty more, at three times the cost */
#define FINER_MOST   3          /* copies after the first that fits */
/* Half as many snapshots need more than half the bytes, 2^-0.85: they differ more from each other. */
#define SHRINKS 0.85
#define MARGIN  0.97 /* of the limit: what a forecast aims for */
#define ENOUGH  0.6  /* of the limit: finer is not worth another copy */

/* The resolution that is left. */
struct bundle_way {
	uint32_t every;   /* one snapshot in so many; UINT32_MAX: the first and last of each segment */
	uint32_t sources; /* how many of the largest counters lose their values of single CPUs */
};

/* The share of values of single CPUs in a recording. */
struct bundle_share {
	char *source; /* owned */
	uint64_t columns;
};

struct bundle {
	uint64_t max_size;
	struct redact *redact; /* borrowed; NULL: no redaction */

	/* Results of bundle_make(). */
	int fd; /* the bundle, an unnamed file; -1: none */
	uint64_t bytes;
	struct bundle_way way;
	struct rewrite_result result; /* snapshots_in and damages are those of the input */
	struct bundle_share *share;   /* owned; the largest first */
	size_t n_shares;
};

/* One attempt to write the bundle. */
struct attempt {
	const struct bundle *b;
	struct bundle_way way;
	bool as_it_is; /* chunks are copied and not written anew */
	int fd;
	uint64_t bytes; /* of the bundle */
	struct rewrite_result result;
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

/* Appends what such a way loses besides redacted texts, in words; "" if nothing. */
static void bundle_tell(const struct bundle *b, const struct bundle_way *way, struct buf *out)
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

/* ---- one attempt ---- */

static int keep_bytes(void *ctx, const void *data, size_t len)
{
	struct attempt *a = ctx;

	a->bytes += len;
	return file_write(a->fd, data, len);
}

static int copy(struct attempt *a, const struct rewrite_rules *rules, struct pm_reader *reader, struct error *e)
{
	struct gzip_writer *gzip = gzip_writer_new(keep_bytes, a);
	struct rewrite *rewrite = NULL;
	int err = rewrite_new(&rewrite, rules, gzip_write, gzip, e);

	if (!err)
		err = rewrite_recording(rewrite, reader, e);
	if (!err)
		err = rewrite_finish(rewrite, e);
	if (!err && (err = gzip_finish(gzip)))
		error_sys(e, -err, "temporary file");
	if (!err)
		a->result = rewrite_result(rewrite);
	rewrite_free(rewrite);
	gzip_writer_free(gzip);
	return err;
}

static int try_way(struct bundle *b, const struct spool *in, struct attempt *a, struct error *e)
{
	struct rewrite_rules rules = {
		.every = a->way.every,
		.gather = !a->as_it_is,
		.zstd_level = a->as_it_is                ? 0 :
			      b->max_size > SMALL_OUTPUT ? LEVEL_FAST :
							   LEVEL_HARD,
		.group = group_fate,
		.group_ctx = a,
	};
	SCOPED(buf_release) struct buf history = BUF_INIT;
	SCOPED(pm_reader_scoped) struct pm_reader *reader = NULL;
	int err;

	if (a->fd < 0 && (a->fd = spool_temporary(e)) < 0)
		return a->fd;
	a->bytes = 0;
	if (lseek(a->fd, 0, SEEK_SET) || ftruncate(a->fd, 0))
		return error_sys(e, errno, "temporary file");
	tell_history(a, &history);
	memory_whole(&history);
	rules.history = buf_str(&history);
	if (b->redact)
		redact_rules(b->redact, &rules);
	if ((err = spool_reader(&reader, in, e)))
		return err;
	if ((err = copy(a, &rules, reader, e)))
		return error_prefix(e, "%s", in->name);
	weigh(b, pm_reader_model(reader));
	return 0;
}

/* ---- the way down ---- */

/* How many snapshots are one, if `every` made so many bytes. */
static uint32_t every_for(const struct bundle *b, uint32_t every, uint64_t bytes)
{
	double factor = pow((double)bytes / (MARGIN * (double)b->max_size), 1 / SHRINKS);
	double want = ceil(every * factor - 1e-6);

	return want < 1 ? 1 : want > EVERY_MOST ? EVERY_MOST : (uint32_t)want;
}

/* Keeps only the ends of each stretch; then also drops values of single CPUs. False: nothing is left to drop. */
static bool strip(const struct bundle *b, struct bundle_way *way)
{
	if (way->every != UINT32_MAX)
		way->every = UINT32_MAX;
	else if (way->sources < SOURCES_MAX && way->sources < b->n_shares)
		way->sources = way->sources < 2 ? way->sources + 1 : SOURCES_MAX;
	else
		return false;
	return true;
}

/* What to try after an attempt that is too large. `fits`: so many are known to fit; 0: none are. */
static bool go_coarser(const struct bundle *b, struct attempt *a, uint32_t fits)
{
	uint32_t every = every_for(b, a->way.every, a->bytes);

	if (a->as_it_is && every <= 1) {
		a->as_it_is = false;
		return true;
	}
	a->as_it_is = false;
	if (fits) {
		every = every < fits - 1 ? every : fits - 1;
		return every > a->way.every && (a->way.every = every);
	}
	if (a->way.every >= EVERY_MOST || a->way.every >= a->result.snapshots_in / 2)
		return strip(b, &a->way);
	/* What does not shrink with snapshots makes forecasts too low. */
	a->way.every = every > 2 * a->way.every || a->way.every == 1 ? every : 2 * a->way.every;
	a->way.every += every == 1;
	return true;
}

static void keep(struct bundle *b, struct attempt *a)
{
	int fd = b->fd;

	b->fd = a->fd;
	b->bytes = a->bytes;
	b->way = a->way;
	b->result = a->result;
	a->fd = fd;
}

/* Copies until it fits, and once more if much more than that would fit. 0; -EFBIG with the smallest possible size in
 * *e; or another -errno. */
static int bundle_make(struct bundle *b, const struct spool *in, struct error *e)
{
	double ratio = (double)in->bytes / (double)b->max_size;
	struct attempt a = { .b = b, .fd = -1, .way.every = 1 };
	uint32_t fits = 0, large = 0;
	bool more = true;
	int err = 0;

	b->fd = -1;
	/* gzip adds a byte in 6,000 to what cannot be compressed. */
	a.as_it_is = ratio < 0.9998 || in->bytes < SMALL_INPUT;
	if (!a.as_it_is && ratio > 1.5)
		a.way.every = every_for(b, 1, in->bytes);
	for (int finer = 0; more;) {
		if ((err = try_way(b, in, &a, e)))
			break;
		finer += fits != 0;
		if (a.bytes > b->max_size) {
			large = a.way.every;
			more = go_coarser(b, &a, fits) && finer < FINER_MOST;
			continue;
		}
		keep(b, &a);
		fits = b->way.every;
		a.way.every = every_for(b, fits, b->bytes);
		a.way.every = a.way.every > large ? a.way.every : large + 1;
		more = (double)b->bytes < ENOUGH * (double)b->max_size && fits <= EVERY_MOST && a.way.every < fits &&
		       finer < FINER_MOST;
	}
	if (!err && b->fd < 0)
		err = error_set(e, EFBIG,
				"--max-size: %llu bytes are too few; the smallest possible bundle of %s has %llu",
				(unsigned long long)b->max_size, in->name, (unsigned long long)a.bytes);
	if (a.fd >= 0)
		close(a.fd);
	return err;
}

static void bundle_release(struct bundle *b)
{
	if (b->fd >= 0)
		close(b->fd);
	for (size_t i = 0; i < b->n_shares; i++)
		free(b->share[i].source);
	free(b->share);
	b->share = NULL;
	b->fd = -1;
}

/* ---- the command ---- */

static int hand_over(const struct bundle *b, struct outfile *out, struct error *e)
{
	char block[64 << 10];
	off_t at = 0;
	ssize_t n = 0;
	int err = 0;

	while (!err && (n = pread(b->fd, block, sizeof(block), at)) > 0) {
		err = outfile_write(out, block, (size_t)n);
		at += n;
	}
	if (err)
		return error_sys(e, -err, "%s", out->path);
	return n < 0 ? error_sys(e, errno, "temporary file") : 0;
}

static void report(const struct bundle_job *j, const struct bundle *b)
{
	const struct rewrite_result *r = &b->result;
	SCOPED(buf_release) struct buf lost = BUF_INIT;

	bundle_tell(b, &b->way, &lost);
	cmd_complain(spec.name, "%s: %llu byte%s, %llu of %llu snapshot%s; %s", j->copy.output,
		     (unsigned long long)b->bytes, plural(b->bytes), (unsigned long long)r->snapshots_out,
		     (unsigned long long)r->snapshots_in, plural(r->snapshots_in),
		     lost.len     ? "lost:" :
		     j->no_redact ? "nothing is lost" :
				    "only what redaction removes is lost");
	if (lost.len)
		cmd_complain(spec.name, "  %s", buf_str(&lost));
	cmd_copied(spec.name, j->copy.files.path[0], r);
}

static int make(const struct bundle_job *j, struct bundle *b, struct redact **redact, struct error *e)
{
	SCOPED(spool_close) struct spool in = { .fd = -1 };
	struct outfile out;
	int err = cmd_copy_open(&j->copy, j->no_redact ? OUTFILE_PRIVATE : 0, &out, e);

	if (!err && !j->no_redact)
		err = redact_new(redact, &j->options, e);
	if (!err)
		err = spool_open(&in, j->copy.files.path[0], SPOOL_PLAIN, e);
	if (!err && *redact)
		err = redact_look(*redact, &in, e);
	b->redact = *redact;
	if (!err)
		err = bundle_make(b, &in, e);
	if (!err)
		err = hand_over(b, &out, e);
	/* Write the map first: without it even its owner could not interpret the pseudonyms. */
	if (!err && *redact)
		err = redact_save(*redact, e);
	return outfile_end(&out, err, e);
}

static int run(void *input, const struct options_common *common)
{
	const struct bundle_job *j = input;
	struct bundle b = { .max_size = j->max_size, .fd = -1 };
	struct redact *redact = NULL;
	struct error e = { 0 };
	int r, err = make(j, &b, &redact, &e);

	if (!err)
		report(j, &b);
	r = err ? cmd_fail(spec.name, &e) : b.result.damages ? EXIT_DAMAGED : EXIT_GOOD;
	bundle_release(&b);
	redact_free(redact);
	return r;
}

int cmd_bundle(int argc, char **argv)
{
	struct bundle_job j = { .copy.one = true, .max_size = 25000000 };

	return cmd_run(&spec, argc, argv, &j, run);
}
