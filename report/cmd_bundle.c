/* pmrep bundle: a recording to hand on: redacted, and as small as requested. */
#include "report/cmd_copy.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "report/copy/bundle.h"
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
