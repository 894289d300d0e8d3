/* pmrep cut: copies part of a recording, by time, or one in every so many snapshots. */
#include "report/cmd_copy.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/catalog/catalog.h"
#include "common/cpulist.h"
#include "common/memory.h"
#include "common/names.h"
#include "common/number.h"
#include "common/parse.h"
#include "report/input/input.h"
#include "report/pipeline/options_read.h"
#include "report/pipeline/pipeline.h"
#include "report/input/spool.h"

static const char brief[] =
	"Usage: pmrep cut [OPTION...] -o OUT.pmr FILE\n"
	"Copy part of a recording. Counters stay raw, so nothing else is lost.\n\n" OPTIONS_LIST "\n"
	"Examples:\n"
	"  pmrep cut --since=-60 -o last-minute.pmr host.pmr\n"
	"  pmrep cut --sources=perf,msr --cpu=0-3 -o small.pmr host.pmr\n"
	"  pmrep cut --every=10 -o coarse.pmr host.pmr\n";

struct cut {
	struct cmd_copy copy;
	const char *sources;
	char **glob; /* owned array, up to NULL */
	struct cpulist cpus;
	bool has_cpus;
	struct moment since, until;
	uint64_t every;
	struct rewrite_rules rules;
	struct buf history;
	struct names counters; /* whether they stay */
	struct names found;    /* sources of the recording */
	uint64_t counters_out, cpus_out;
	bool backwards;  /* --until is before --since */
	struct spool in; /* a copy of the input, if one is needed */
};

static int set_cpus(void *into, char *arg, struct error *e)
{
	struct cut *c = into;

	c->has_cpus = true;
	return cpulist_parse(&c->cpus, arg, true, e) ? error_prefix(e, "--cpu") : 0;
}

#define OPTIONS_INTO struct cut
static const struct option_row rows[] = {
	CMD_COPY_OPTIONS,
	{ "since", 0, "TIME",
	  "only snapshots from TIME on: seconds from the start, -SECONDS before the end, 2026-01-31T12:00:00Z or "
	  "@SECONDS",
	  READ(since, read_moment) },
	{ "until", 0, "TIME", "only snapshots up to TIME", READ(until, read_moment) },
	{ "sources", 0, "LIST", "only these sources; -NAME excludes one", TEXT(sources) },
	{ "counter", 0, "GLOB", "only counters that match; may be repeated", LIST(glob) },
	{ "cpu", 'C', "LIST", "only these CPUs; counters of cores, packages and the system are kept", CALL(cpus) },
	{ "every", 0, "N", "one snapshot in N, and the first and last of each segment",
	  AMOUNT(every, 1, UINT32_MAX - 1) },
	{ 0 },
};

static const struct options_spec spec = {
	.name = "pmrep cut",
	.rows = rows,
	.operands = cmd_copy_files,
	.operands_doc = "FILE",
	.brief = brief,
};

static const char *path_of(const struct cut *c)
{
	return c->copy.files.path[0];
}

/* ---- what stays ---- */

/* "perf,msr" selects these, "-perf" all but this; the last word about a source decides. */
static bool source_stays(const char *list, const char *source)
{
	size_t len = strlen(source);
	bool stays = *list == '-';

	for (const char *word = list; *word;) {
		bool out = *word == '-';
		size_t n;

		word += out;
		n = strcspn(word, ",");
		if (n == len && !memcmp(word, source, n))
			stays = !out;
		word += n + (word[n] == ',');
	}
	return stays;
}

/* A word of --sources that matches nothing is a typing error, unless other recordings have such a source. */
static int check_words(const struct cut *c, struct error *e)
{
	char name[40];
	size_t n;

	for (const char *word = c->sources ? c->sources : ""; *word; word += n + (word[n] == ',')) {
		n = strcspn(word, ",");
		snprintf(name, sizeof(name), "%.*s", (int)n, word);
		if (n && *word != '-' && !names_get(&c->found, name, &(uint32_t){ 0 }) &&
		    !parse_is_among("perf msr add", word, n) && !catalog_source(name, &(size_t){ 0 }))
			return error_set(e, ENOENT, "the recording has no source '%s'; pmrep list %s lists them",
					 name, path_of(c));
	}
	return 0;
}

static enum rewrite_fate counter_stays(void *ctx, struct pm_counter *c)
{
	struct cut *cut = ctx;
	bool stays = !cut->sources || source_stays(cut->sources, c->source);

	memory_done(names_set(&cut->found, c->source, 1));
	for (size_t i = 0; cut->glob && stays && fnmatch(cut->glob[i], c->name, 0); i++)
		stays = cut->glob[i + 1];
	/* Recordings of a file have mostly the same. */
	if (!names_get(&cut->counters, c->name, &(uint32_t){ 0 })) {
		cut->counters_out += stays;
		memory_done(names_set(&cut->counters, c->name, stays));
	}
	return stays ? REWRITE_KEEP : REWRITE_DROP;
}

static enum rewrite_fate instance_stays(void *ctx, struct pm_instance *i)
{
	struct cut *cut = ctx;
	bool stays = !cut->has_cpus || i->kind != PM_CPU || cpulist_has(&cut->cpus, i->number);

	cut->cpus_out += i->kind == PM_CPU && stays;
	return stays ? REWRITE_KEEP : REWRITE_DROP;
}

static int open_window(void *ctx, struct pm_reader *reader, const struct pm_chunk_head *first, struct error *e)
{
	struct cut *c = ctx;
	int err = moment_resolve(&c->since, reader, first, &c->rules.from_ns, e);

	if (!err)
		err = moment_resolve(&c->until, reader, first, &c->rules.to_ns, e);
	c->backwards |= c->rules.to_ns && c->rules.to_ns < c->rules.from_ns;
	return err;
}

/* Writes what was done, in the words of the command line: it names no files. */
static void tell(struct cut *c, char *const *said)
{
	buf_addstr(&c->history, "cut");
	for (; *said; said++)
		if (strncmp(*said, "--output", 8) && strcmp(*said, "--overwrite"))
			buf_printf(&c->history, " %s", *said);
	memory_whole(&c->history);
}

static int report(const struct cut *c, const struct rewrite_result *r, struct buf *notes)
{
	/* The total of snapshots is unknown: what follows the end was not read. */
	buf_printf(notes, "%llu snapshot%s, %llu of %llu counter%s, %llu byte%s",
		   (unsigned long long)r->snapshots_out, plural(r->snapshots_out),
		   (unsigned long long)c->counters_out, (unsigned long long)c->counters.n, plural(c->counters.n),
		   (unsigned long long)r->bytes, plural(r->bytes));
	cmd_complain(spec.name, "%s", buf_str(notes));
	return cmd_copied(spec.name, path_of(c), r);
}

/* The position of the end must be known first, so an input that cannot seek is copied. */
static int open_input(void *ctx, size_t i, struct pm_reader **reader, const char **name, struct error *e)
{
	struct cut *c = ctx;
	int err;

	*name = path_of(c);
	if (c->since.kind != MOMENT_FROM_END && c->until.kind != MOMENT_FROM_END)
		return input_open(reader, path_of(c), false, e);
	err = spool_open(&c->in, path_of(c), SPOOL_PLAIN, e);
	c->rules.growing = c->in.growing;
	return err ? err : spool_reader(reader, &c->in, e);
}

/* If what was requested is missing, the result is not a recording. */
static int check_rest(const struct cut *c, const struct rewrite_result *r, struct error *e)
{
	if (c->counters.n && check_words(c, e))
		return -e->number;
	if (c->counters.n && !c->counters_out)
		return error_set(e, ENOENT, "no counter is left; pmrep list %s lists them", path_of(c));
	if (c->has_cpus && !c->cpus_out)
		return error_set(e, ENOENT, "the recording has none of these CPUs");
	if (r->snapshots_in && !r->snapshots_out)
		return error_set(e, ENOENT, "%s",
				 c->backwards ? "--until is before --since: nothing is left" :
						"there is no snapshot in that time");
	return 0;
}

static int run(void *input, const struct options_common *common)
{
	struct cut *c = input;
	SCOPED(buf_release) struct buf notes = BUF_INIT;
	struct rewrite_result result;
	struct outfile out = { .fd = -1 };
	struct error e = { 0 };
	int err = cmd_copy_open(&c->copy, OUTFILE_PRIVATE, &out, &e);

	tell(c, common->said);
	c->rules = (struct rewrite_rules){
		.ctx = c,
		.counter = counter_stays,
		.instance = instance_stays,
		.start = open_window,
		.every = (uint32_t)c->every,
		.history = buf_str(&c->history),
	};
	if (!err)
		err = rewrite_all(&c->rules, 1, open_input, c, outfile_write, &out, &result, &e);
	if (!err)
		err = check_rest(c, &result, &e);
	err = outfile_end(&out, err, &e);
	return err ? cmd_fail(spec.name, &e) : report(c, &result, &notes);
}

int cmd_cut(int argc, char **argv)
{
	struct cut c = { .copy.one = true, .in.fd = -1 };
	int r = cmd_run(&spec, argc, argv, &c, run);

	spool_close(&c.in);
	free(c.glob);
	names_release(&c.counters);
	names_release(&c.found);
	cpulist_release(&c.cpus);
	buf_release(&c.history);
	return r;
}
