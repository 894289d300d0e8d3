#include "report/cmd.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/parse.h"
#include "report/gzip.h"
#include "report/input.h"
#include "report/outfile.h"
#include "report/redact.h"

static const char brief[] =
	"Usage: pmrep bundle [OPTION...] -o OUT.pmr.gz FILE\n"
	"Make a recording fit for an attachment: redacted, and reduced step by step until it is small enough.\n\n"
	"All commands read the .gz file as it is. What was lost is printed, and written into the file.\n\n"
	"  -o, --output=FILE      where to; - is stdout\n"
	"      --max-size=SIZE    bytes, or with k, M, Ki, Mi; default: 25M, the limit of GitHub\n"
	"      --map=FILE         as in pmrep redact\n"
	"      --shift-time       as in pmrep redact\n"
	"      --keep=LIST        as in pmrep redact\n"
	"      --no-redact        leave in whose recording it is\n"
	"      --overwrite        replace what is there\n\n"
	"Examples:\n"
	"  pmrep bundle -o bug.pmr.gz host.pmr\n"
	"  pmrep bundle --max-size=5M --shift-time -o bug.pmr.gz host.pmr\n";

enum { KEY_MAP = 1000, KEY_SHIFT, KEY_KEEP, KEY_OVERWRITE, KEY_SIZE, KEY_NO_REDACT };

static const struct argp_option options[] = {
	{ "output", 'o', "FILE", 0, "Where to; - is stdout", 0 },
	{ "max-size", KEY_SIZE, "SIZE", 0, "How large it may be; default: 25M", 0 },
	{ "map", KEY_MAP, "FILE", 0, "Pseudonyms are those in FILE; new ones are added to it", 0 },
	{ "shift-time", KEY_SHIFT, NULL, 0, "Move all clocks by random amounts", 0 },
	{ "keep", KEY_KEEP, "LIST", 0, "What may stay: machine, person, time, or names of fields", 0 },
	{ "no-redact", KEY_NO_REDACT, NULL, 0, "Leave in whose recording it is", 0 },
	{ "overwrite", KEY_OVERWRITE, NULL, 0, "Replace what is there", 0 },
	{ 0 },
};

#define SOURCES_MAX 8 /* whose values of each CPU may be left out */
#define LEVEL_HIGH  9 /* of zstd: beyond, it takes minutes for what is numbers anyway */

/* One way of making it small. */
struct step {
	bool gather;
	int level;
	uint32_t every;
	uint32_t sources; /* how many of the largest lose their values of each CPU */
};

static const struct step steps[] = {
	{ 0 },
	{ .gather = true },
	{ .gather = true, .level = LEVEL_HIGH },
	{ .gather = true, .level = LEVEL_HIGH, .every = 2 },
	{ .gather = true, .level = LEVEL_HIGH, .every = 5 },
	{ .gather = true, .level = LEVEL_HIGH, .every = 10 },
	{ .gather = true, .level = LEVEL_HIGH, .every = 20 },
	{ .gather = true, .level = LEVEL_HIGH, .every = 50 },
	{ .gather = true, .level = LEVEL_HIGH, .every = 100 },
	{ .gather = true, .level = LEVEL_HIGH, .every = 100, .sources = 1 },
	{ .gather = true, .level = LEVEL_HIGH, .every = 100, .sources = 2 },
	{ .gather = true, .level = LEVEL_HIGH, .every = 100, .sources = SOURCES_MAX },
	{ .gather = true, .level = LEVEL_HIGH, .every = 1000, .sources = SOURCES_MAX },
	{ .gather = true, .level = LEVEL_HIGH, .every = UINT32_MAX, .sources = SOURCES_MAX },
};
#define STEPS (sizeof(steps) / sizeof(*steps))

/* How much of a recording is values of single CPUs. */
struct share {
	char *source; /* owned */
	uint64_t columns;
};

struct bundle {
	const char *output, *path;
	uint64_t max_size;
	bool overwrite, no_redact;
	struct redact_options options;
	struct redact *redact;
	struct share *share; /* owned; the largest first */
	size_t n_shares;
	uint64_t snapshots;
	const struct step *step; /* at hand */
};

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct bundle *b = state->input;

	switch (key) {
	case 'o':
		b->output = arg;
		return 0;
	case KEY_SIZE:
		if (parse_size(arg, &b->max_size) || !b->max_size)
			return options_bad(state, "--max-size: '%s' is no size; bytes, or with k, M, G, Ki, Mi, Gi",
					   arg);
		return 0;
	case KEY_MAP:
		b->options.map = arg;
		return 0;
	case KEY_SHIFT:
		b->options.shift_time = true;
		return 0;
	case KEY_KEEP:
		b->options.keep = arg;
		return 0;
	case KEY_NO_REDACT:
		b->no_redact = true;
		return 0;
	case KEY_OVERWRITE:
		b->overwrite = true;
		return 0;
	case ARGP_KEY_ARG:
		if (b->path)
			return options_bad(state, "one recording at a time; pmrep merge joins several");
		b->path = arg;
		return 0;
	case ARGP_KEY_NO_ARGS:
		return options_bad(state, "no recording given; --help shows how it goes");
	case ARGP_KEY_END:
		if (!b->output)
			return options_bad(state, "-o says where the bundle goes; - is stdout");
		if (b->no_redact && (b->options.map || b->options.keep || b->options.shift_time))
			return options_bad(state, "--no-redact: --map, --keep and --shift-time say how to redact");
		if (b->options.map && !strcmp(b->options.map, b->output))
			return options_bad(state, "the map cannot be the output: it undoes the redaction");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = { .options = options, .parser = parse_opt, .args_doc = "FILE" };
static const struct options_spec spec = {
	.name = "pmrep bundle", .column = OPTIONS_OTHER, .argp = &argp, .brief = brief,
};

/* ---- what is large ---- */

static bool is_of_cpus(const struct pm_model *m, const struct pm_group *g)
{
	for (uint32_t i = 0; i < g->n_instances; i++)
		if (m->instance[g->instance[i] - 1].kind == PM_CPU)
			return true;
	return false;
}

static int add_share(struct bundle *b, const struct pm_group *g)
{
	struct share *grown;
	size_t i = 0;

	while (i < b->n_shares && strcmp(b->share[i].source, g->source))
		i++;
	if (i == b->n_shares) {
		grown = reallocarray(b->share, i + 1, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		b->share = grown;
		grown[i] = (struct share){ .source = strdup(g->source) };
		if (!grown[i].source)
			return -ENOMEM;
		b->n_shares++;
	}
	b->share[i].columns += pm_group_columns(g);
	return 0;
}

static int by_size(const void *x, const void *y)
{
	const struct share *a = x, *b = y;

	return (a->columns < b->columns) - (a->columns > b->columns);
}

static int weigh(struct bundle *b, struct error *e)
{
	struct pm_reader *reader;
	struct pm_item item;
	int n, err = input_open(&reader, b->path, false, e);

	if (err)
		return err;
	while ((n = pm_reader_next(reader, &item)) > 0)
		if (item.kind == PM_ITEM_CHUNK)
			b->snapshots += item.chunk.rows;
	if (n < 0)
		err = error_sys(e, -n, "%s: cannot read on", b->path);
	for (uint32_t i = 0; i < pm_reader_model(reader)->n_groups && !err; i++) {
		const struct pm_group *g = &pm_reader_model(reader)->group[i];

		if (is_of_cpus(pm_reader_model(reader), g) && add_share(b, g))
			err = error_sys(e, ENOMEM, "%s", b->path);
	}
	pm_reader_close(reader);
	if (b->n_shares)
		qsort(b->share, b->n_shares, sizeof(*b->share), by_size);
	return err;
}

/* ---- one attempt ---- */

static int group_stays(void *ctx, const struct pm_model *m, const struct pm_group *g)
{
	const struct bundle *b = ctx;

	if (!b->step->sources || !is_of_cpus(m, g))
		return REWRITE_KEEP;
	for (size_t i = 0; i < b->n_shares && i < b->step->sources; i++)
		if (!strcmp(b->share[i].source, g->source))
			return REWRITE_DROP;
	return REWRITE_KEEP;
}

/* What a step takes away, in words; "": nothing. */
static void tell_losses(const struct bundle *b, const struct step *s, struct buf *out)
{
	if (s->every > 1 && s->every < UINT32_MAX)
		buf_printf(out, "one snapshot in %u stays", s->every);
	else if (s->every)
		buf_addstr(out, "the first and the last snapshot of each stretch stay");
	for (size_t i = 0; i < b->n_shares && i < s->sources; i++)
		buf_printf(out, "%s%s", i ? ", " : "; without the groups of single CPUs of: ", b->share[i].source);
}

struct attempt {
	FILE *file; /* unlinked; NULL: only counted */
	uint64_t bytes, max_size;
};

static int keep_bytes(void *ctx, const void *data, size_t len)
{
	struct attempt *a = ctx;

	a->bytes += len;
	if (a->bytes > a->max_size || !a->file)
		return 0;
	return fwrite(data, 1, len, a->file) == len ? 0 : -EIO;
}

static int try_step(struct bundle *b, struct attempt *a, struct rewrite_result *result, struct error *e)
{
	struct rewrite_rules rules = {
		.every = b->step->every, .gather = b->step->gather, .zstd_level = b->step->level,
		.gather_small = true, .group = group_stays, .group_ctx = b,
	};
	struct buf history = BUF_INIT;
	struct gzip_writer *gzip = NULL;
	int err;

	buf_addstr(&history, "bundled");
	if (b->step->every > 1 || b->step->sources) {
		buf_addstr(&history, ": ");
		tell_losses(b, b->step, &history);
	}
	rules.history = buf_str(&history);
	rewind(a->file);
	a->bytes = 0;
	err = ftruncate(fileno(a->file), 0) ? error_sys(e, errno, "temporary file") : 0;
	if (!err)
		err = gzip_writer_new(&gzip, keep_bytes, a, e);
	if (!err)
		err = redact_copy(b->redact, b->path, &rules, gzip_write, gzip, result, e);
	if (!err) {
		err = gzip_finish(gzip);
		if (err)
			error_sys(e, -err, "temporary file");
	}
	gzip_writer_free(gzip);
	buf_release(&history);
	return err;
}

/* ---- the way down ---- */

/* Whether the step can change anything, and whether it comes near: sizes go with the number of snapshots. */
static bool worth_trying(const struct bundle *b, const struct step *s, const struct step *measured, uint64_t bytes)
{
	uint64_t before = measured->every ? measured->every : 1, now = s->every ? s->every : 1;

	if (s + 1 == steps + STEPS)
		return true;
	if (s->every > 2 && s->every < UINT32_MAX && s->every / 2 > b->snapshots)
		return false;
	if (s->sources && !b->n_shares)
		return s->every != (s - 1)->every;
	if (s->sources != measured->sources || s->gather != measured->gather)
		return true;
	/* Harder compression finds a quarter at most; fewer snapshots may pack better than in proportion. */
	return bytes / (now > before ? now / before * 2 : 1) * 3 / 4 < b->max_size;
}

static int search(struct bundle *b, struct attempt *a, struct rewrite_result *result, struct error *e)
{
	const struct step *measured = &steps[0];
	int err = 0;

	for (size_t i = 0; i < STEPS && !err; i++) {
		if (i && !worth_trying(b, &steps[i], measured, a->bytes))
			continue;
		b->step = measured = &steps[i];
		err = try_step(b, a, result, e);
		if (!err && a->bytes <= b->max_size)
			return 0;
	}
	if (err)
		return err;
	return error_set(e, EFBIG, "%llu bytes are too few: the smallest possible bundle of %s has %llu",
			 (unsigned long long)b->max_size, b->path, (unsigned long long)a->bytes);
}

static int hand_over(struct attempt *a, struct outfile *out, struct error *e)
{
	char block[64 << 10];
	size_t n;
	int err = 0;

	if (fflush(a->file))
		return error_sys(e, errno, "temporary file");
	rewind(a->file);
	while (!err && (n = fread(block, 1, sizeof(block), a->file)) > 0)
		err = outfile_write(out, block, n);
	if (err)
		return error_sys(e, -err, "%s", out->path);
	return ferror(a->file) ? error_sys(e, EIO, "temporary file") : 0;
}

static void report(struct bundle *b, const struct attempt *a, const struct rewrite_result *r)
{
	struct buf lost = BUF_INIT;

	tell_losses(b, b->step, &lost);
	cmd_complain(spec.name, "%s: %llu bytes, %llu of %llu snapshots; %s", b->output, (unsigned long long)a->bytes,
		     (unsigned long long)r->snapshots_out, (unsigned long long)r->snapshots_in,
		     lost.len ? "lost:" : "nothing but what redaction takes is lost");
	if (lost.len)
		cmd_complain(spec.name, "  %s", buf_str(&lost));
	if (r->damages)
		cmd_complain(spec.name, "%s: damaged or cut; what is readable went over, the gaps are marked",
			     b->path);
	buf_release(&lost);
}

static int make(struct bundle *b, struct attempt *a, struct error *e, struct rewrite_result *result)
{
	struct outfile out;
	int err = outfile_open(&out, b->output, b->overwrite, true, (char *const *)&b->path, 1, e);

	if (err)
		return err;
	if (!b->no_redact) {
		err = redact_new(&b->redact, &b->options, e);
		if (!err)
			err = redact_look_file(b->redact, b->path, e);
	} else if (!strcmp(b->path, "-")) {
		err = error_set(e, EINVAL, "a bundle takes several readings, which standard input does not allow; "
					   "save it to a file first");
	}
	if (!err)
		err = weigh(b, e);
	if (!err)
		err = search(b, a, result, e);
	if (!err)
		err = hand_over(a, &out, e);
	if (!err && b->redact)
		err = redact_save(b->redact, e);
	if (!err)
		err = outfile_commit(&out, e);
	outfile_release(&out);
	return err;
}

static int run(struct bundle *b)
{
	struct rewrite_result result = { 0 };
	struct attempt a = { .file = tmpfile(), .max_size = b->max_size };
	struct error e = { 0 };
	int err;

	err = a.file ? make(b, &a, &e, &result) : error_sys(&e, errno, "temporary file");
	if (!err)
		report(b, &a, &result);
	if (a.file)
		fclose(a.file);
	redact_free(b->redact);
	for (size_t i = 0; i < b->n_shares; i++)
		free(b->share[i].source);
	free(b->share);
	if (err)
		return cmd_fail(spec.name, &e);
	return result.damages ? EXIT_DAMAGED : EXIT_GOOD;
}

int cmd_bundle(int argc, char **argv)
{
	struct options_common common = { 0 };
	struct bundle b = { .max_size = 25000000 };
	int r = cmd_options(&spec, argc, argv, &b, &common);

	if (r < 0)
		r = run(&b);
	options_common_release(&common);
	return r;
}
