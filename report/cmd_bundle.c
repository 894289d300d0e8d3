/* pmrep bundle: makes a recording fit into a number of bytes: redacted, wrapped in gzip, with as many snapshots as
 * fit. It copies the input a few times, each time with the number that the size of the last copy promises. */
#include "report/cmd_copy.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <unistd.h>

#include "common/file.h"
#include "common/memory.h"
#include "common/number.h"
#include "report/input/gzip.h"

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
	if (cmd_copy_map(&b->copy, b->options.map, e))
		return -e->number;
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
#define SMALL_INPUT  (4u << 20) /* bytes that are copied as they are, to see whether they fit */
#define SMALL_OUTPUT (2u << 20) /* bytes for which better compression is worthwhile */
#define LEVEL_FAST   3          /* of zstd: as fast as 1 on packed numbers */
#define LEVEL_HARD   9          /* saves one byte in fifty more, at three times the cost */
#define FINER_MOST   3          /* copies after the first that fits */
/* Half as many snapshots need more than half the bytes, 2^-0.85: they differ more from each other. */
#define SHRINKS 0.85
#define MARGIN  0.97 /* of the limit: what a forecast aims for */
#define ENOUGH  0.6  /* of the limit: finer is not worth another copy */

/* One copy: how many snapshots it has, and how large it is. */
struct attempt {
	/* One snapshot in so many; 0: all, in chunks that are copied as they are; ONLY_ENDS. */
	uint32_t every;
	int fd; /* an unnamed file; -1: none */
	uint64_t bytes;
	struct rewrite_result result;
};

#define ONLY_ENDS UINT32_MAX                /* of each segment */
#define NO_FIT    ((uint64_t)ONLY_ENDS + 1) /* coarser than any attempt */

/* What is lost besides redacted texts, in words; "" if nothing. */
static void tell_lost(uint32_t every, struct buf *out)
{
	if (every == ONLY_ENDS)
		buf_addstr(out, "only the first and last snapshot of each segment are kept");
	else if (every > 1)
		buf_printf(out, "one snapshot in %u is kept", every);
}

static int keep_bytes(void *ctx, const void *data, size_t len)
{
	struct attempt *a = ctx;

	a->bytes += len;
	return file_write(a->fd, data, len);
}

static int copy(const struct bundle_job *j, struct redact *redact, struct spool *in, struct attempt *a,
		struct error *e)
{
	struct rewrite_rules rules = {
		.redact = redact,
		.every = a->every,
		.gather = a->every,
		.zstd_level = !a->every                  ? 0 :
			      j->max_size > SMALL_OUTPUT ? LEVEL_FAST :
							   LEVEL_HARD,
	};
	SCOPED(buf_release) struct buf history = BUF_INIT;
	struct gzip_writer *gzip;
	int err;

	if (a->fd < 0 && (a->fd = spool_temporary(e)) < 0)
		return a->fd;
	a->bytes = 0;
	if (lseek(a->fd, 0, SEEK_SET) || ftruncate(a->fd, 0))
		return error_sys(e, errno, "temporary file");
	buf_addstr(&history, a->every > 1 ? "bundled: " : "bundled");
	tell_lost(a->every, &history);
	memory_whole(&history);
	rules.history = buf_str(&history);
	gzip = gzip_writer_new(keep_bytes, a);
	err = rewrite_all(&rules, 1, rewrite_spool, in, gzip_write, gzip, &a->result, e);
	if (!err && (err = gzip_finish(gzip)))
		error_sys(e, -err, "temporary file");
	gzip_writer_free(gzip);
	return err;
}

/* How many snapshots are one, if `every` made so many bytes. */
static uint32_t every_for(const struct bundle_job *j, uint32_t every, uint64_t bytes)
{
	double factor = pow((double)bytes / (MARGIN * (double)j->max_size), 1 / SHRINKS);
	double want = ceil((every ? every : 1) * factor - 1e-6);

	return want < 1 ? 1 : want > EVERY_MOST ? EVERY_MOST : (uint32_t)want;
}

/* What to try after an attempt, between what is known to be too large and what fits; 0: nothing. */
static uint32_t next_every(const struct bundle_job *j, const struct attempt *a, uint32_t large, uint64_t fits)
{
	uint32_t every = every_for(j, a->every, a->bytes);

	if (a->every == ONLY_ENDS || fits <= 1)
		return 0;
	if (a->bytes <= j->max_size && (double)a->bytes >= ENOUGH * (double)j->max_size)
		return 0;
	if (fits == NO_FIT && (a->every >= EVERY_MOST || a->every >= a->result.snapshots_in / 2))
		return ONLY_ENDS;
	/* What does not shrink with snapshots makes forecasts too low. */
	if (fits == NO_FIT && a->every > 1 && every < 2 * a->every)
		every = 2 * a->every;
	every = every > large ? every : large + 1;
	if (every >= fits && a->bytes > j->max_size)
		every = (uint32_t)fits - 1;
	return every > large && every < fits ? every : 0;
}

/* Copies until it fits, and again if much more than that would fit. *best is what to hand over, whose descriptor
 * the caller closes. 0; -EFBIG with the smallest possible size in *e; or another -errno. */
static int fit(const struct bundle_job *j, struct redact *redact, struct spool *in, struct attempt *best,
	       struct error *e)
{
	double ratio = (double)in->bytes / (double)j->max_size;
	struct attempt a = { .fd = -1, .every = ratio > 1.5 ? every_for(j, 1, in->bytes) : 1 };
	uint64_t fits = NO_FIT;
	uint32_t large = 0;
	int err = 0;

	/* gzip adds a byte in 6,000 to what cannot be compressed. */
	if (ratio < 0.9998 || in->bytes < SMALL_INPUT)
		a.every = 0;
	for (int left = FINER_MOST + 1; !(err = copy(j, redact, in, &a, e));) {
		int fd = best->fd;

		if (a.bytes > j->max_size) {
			large = a.every;
		} else {
			fits = a.every;
			*best = a;
			a.fd = fd;
		}
		left -= fits != NO_FIT;
		if (!left || !(a.every = next_every(j, &a, large, fits)))
			break;
	}
	if (!err && best->fd < 0)
		err = error_set(e, EFBIG,
				"--max-size: %llu bytes are too few; the smallest possible bundle of %s has %llu",
				(unsigned long long)j->max_size, in->name, (unsigned long long)a.bytes);
	if (a.fd >= 0)
		close(a.fd);
	return err;
}

/* ---- the command ---- */

static int hand_over(const struct attempt *b, struct outfile *out, struct error *e)
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

static void report(const struct bundle_job *j, const struct attempt *b)
{
	const struct rewrite_result *r = &b->result;
	SCOPED(buf_release) struct buf lost = BUF_INIT;

	tell_lost(b->every, &lost);
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

static int make(const struct bundle_job *j, struct attempt *b, struct redact **redact, struct error *e)
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
	if (!err)
		err = fit(j, *redact, &in, b, e);
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
	struct attempt b = { .fd = -1 };
	struct redact *redact = NULL;
	struct error e = { 0 };
	int r, err = make(j, &b, &redact, &e);

	if (!err)
		report(j, &b);
	r = err ? cmd_fail(spec.name, &e) : b.result.damages ? EXIT_DAMAGED : EXIT_GOOD;
	if (b.fd >= 0)
		close(b.fd);
	redact_free(redact);
	return r;
}

int cmd_bundle(int argc, char **argv)
{
	struct bundle_job j = { .copy.one = true, .max_size = 25000000 };

	return cmd_run(&spec, argc, argv, &j, run);
}
