#include "report/stat/options_stat.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/options_table.h"
#include "common/parse.h"
#include "report/metric/vendor_files.h"
#include "report/pipeline/options_read.h"

static const char brief[] =
	"Usage: pmrep stat [OPTION...] FILE...\n"
	"Print counts like perf stat: one total, or with -I MS those of each interval.\n\n"
	"  -e, --event=LIST     only these events;  -M, --metrics=LIST  metrics\n"
	"  -A                   one line per CPU; --per-socket, -die, -cluster, -cache, -core, -node, -thread, "
	"-cgroup\n"
	"  -I MS                intervals; --summary adds totals, --stats percentiles\n"
	"  -x SEP, -j           perf's CSV and JSON;  --format=csv|json  pmrep's\n"
	"  -C LIST, -p PID, -t TID, -G CGROUP, --since=TIME, --until=TIME   a part\n"
	"  -o FILE, --append    to a file\n\n"
	"Examples:\n"
	"  pmrep stat host.pmr\n"
	"  pmrep stat -I 1000 --per-socket -x, host.pmr\n"
	"  pmrep stat -A -e cycles --sort=value host.pmr\n"
	"--help=all lists every option.\n";

static int read_words(void *member, const char *arg, struct error *e)
{
	struct stat_words *w = member;
	size_t before = w->n;

	if (stat_words_add(w, arg))
		return error_sys(e, ENOMEM, "list");
	return w->n > before ? 0 : error_set(e, EINVAL, "an empty list");
}

static int set_metrics(void *into, char *arg, struct error *e)
{
	struct stat_options *o = into;
	int err = vendor_files_add_pack(&o->vendor, false, e);

	return err || !read_words(&o->stat.metrics, arg, e) ? err : error_prefix(e, "--metrics");
}

static int set_transaction(void *into, char *arg, struct error *e)
{
	struct stat_options *o = into;

	return read_words(&o->stat.metrics, "transaction", e);
}

static int set_smi(void *into, char *arg, struct error *e)
{
	struct stat_options *o = into;

	return read_words(&o->stat.metrics, "smi", e);
}

static int set_programs(void *into, char *arg, struct error *e)
{
	struct stat_options *o = into;
	int err = read_words(&o->stat.programs, arg, e) ? error_prefix(e, "--bpf-prog") : 0;
	uint64_t id;

	for (size_t i = 0; i < o->stat.programs.n && !err; i++)
		if (parse_u64(o->stat.programs.word[i], &id) || !id)
			err = error_set(e, EINVAL, "--bpf-prog: '%s' is not a list of ids of BPF programs", arg);
	return err;
}

/* Process ids come before thread ids. */
static int add_ids(struct stat_config *c, const char *arg, bool threads, struct error *e)
{
	while (*arg) {
		size_t len = strcspn(arg, ","), n = c->n_pids + c->n_tids;
		uint64_t id, *more;

		if (parse_u64_span(arg, len, 10, &id))
			return error_set(e, EINVAL, "--%s: '%s' is not a list of ids", threads ? "tid" : "pid", arg);
		more = realloc(c->id, (n + 1) * sizeof(*more));
		if (!more)
			return -ENOMEM;
		c->id = more;
		more[n] = id;
		if (threads) {
			c->n_tids++;
		} else {
			memmove(more + c->n_pids + 1, more + c->n_pids, c->n_tids * sizeof(*more));
			more[c->n_pids++] = id;
		}
		arg += len + (arg[len] == ',');
	}
	return 0;
}

static int set_pids(void *into, char *arg, struct error *e)
{
	struct stat_options *o = into;

	return add_ids(&o->stat, arg, false, e);
}

static int set_tids(void *into, char *arg, struct error *e)
{
	struct stat_options *o = into;

	return add_ids(&o->stat, arg, true, e);
}

static int set_per_cache(void *into, char *arg, struct error *e)
{
	struct stat_options *o = into;

	o->stat.aggr = STAT_CACHE;
	if (!arg)
		return 0;
	if ((arg[0] == 'L' || arg[0] == 'l') && (arg[1] == '2' || arg[1] == '3') && !arg[2]) {
		o->cache_level = arg[1] - '0';
		return 0;
	}
	return error_set(e, EINVAL, "--per-cache: '%s' is not a shared level: use L2 or L3", arg);
}

static int set_interval_ms(void *into, char *arg, struct error *e)
{
	struct stat_options *o = into;

	if (parse_duration_ms(arg, &o->pipeline.every_ns) || !o->pipeline.every_ns)
		return error_set(e, EINVAL, "-I: '%s' is not a time: use milliseconds, or add a unit", arg);
	o->pipeline.mode = PIPELINE_EVERY;
	return 0;
}

static int set_separator(void *into, char *arg, struct error *e)
{
	struct stat_options *o = into;

	if (!o->stat.no_quotes && (!*arg || strpbrk(arg, "\"\r\n")))
		return error_set(e, EINVAL, "-x: the separator must be a character or word without quotes");
	if (!o->stat.no_quotes && strpbrk(arg, "0123456789.%"))
		return error_set(e, EINVAL, "-x: '%s' occurs in numbers, so it cannot separate them", arg);
	/* perf takes these two characters for a TAB, because shells make it hard to type one. */
	o->stat.separator = strcmp(arg, "\\t") ? arg : "\t";
	o->stat.form = STAT_CSV;
	o->csv = true;
	return 0;
}

static int set_json(void *into, char *arg, struct error *e)
{
	struct stat_options *o = into;

	o->stat.form = STAT_JSON;
	o->json = true;
	return 0;
}

static int set_format(void *into, char *arg, struct error *e)
{
	struct stat_options *o = into;
	static const char *const words[] = { "perf", "table", "csv", "json", NULL };
	unsigned word = 0;

	if (options_word("format", arg, words, &word, e))
		return -EINVAL;
	o->tidy = word ? exporter_find(arg) : NULL;
	return 0;
}

static const char *const sorts[] = { "none", "value", "name", "running", NULL };

#define AGGR(which) NUMBER(stat.aggr, STAT_##which)
#define MODE(which) NUMBER(pipeline.mode, PIPELINE_##which)

#define OPTIONS_DEF  "common/options_stat.def"
#define OPTIONS_INTO struct stat_options
#include "common/options_rows.h"

/* Checks which options exclude each other. */
static int judge(struct stat_options *o, struct error *e)
{
	struct stat_config *c = &o->stat;
	static const char *const level[] = { "TopdownL1", "TopdownL2", "TopdownL3",
					     "TopdownL4", "TopdownL5", "TopdownL6" };

	if (o->out && o->log_fd >= 0)
		return error_set(e, EINVAL, "--output and --log-fd are mutually exclusive");
	if (o->out_flags & OUTFILE_APPEND && !o->out)
		return error_set(e, EINVAL, "--append needs --output");
	if (o->csv && o->json)
		return error_set(e, EINVAL, "-x and -j are mutually exclusive");
	if (c->stats && c->metric_only)
		return error_set(e, EINVAL, "--stats needs counts, and --metric-only omits them");
	if (o->tidy && c->form != STAT_TEXT)
		return error_set(e, EINVAL, "--format excludes -x and -j, which print perf's formats");
	if (o->tidy && (c->stats || c->metric_only))
		return error_set(e, EINVAL,
				 "--stats and --metric-only have perf's formats: -x or -j in place of --format");
	if (c->iostat)
		c->aggr = STAT_DIE;
	for (unsigned i = 0; c->topdown && i < (o->td_level ? o->td_level : 1); i++)
		if (stat_words_add(&c->metrics, level[i]))
			return -ENOMEM;
	c->vendor = o->vendor;
	o->pipeline.bind.files = o->vendor;
	o->pipeline.bind.wanted = c->metrics.n || o->tidy ? NULL : stat_may_show;
	return 0;
}

static int operands(void *into, int n, char **operand, struct error *e)
{
	struct stat_options *o = into;

	o->file = operand;
	o->n_files = n;
	return judge(o, e);
}

static bool paged(const void *input)
{
	const struct stat_options *o = input;
	bool files = true;

	for (int i = 0; i < o->n_files; i++)
		files &= strcmp(o->file[i], "-") != 0;
	return files && !o->follow && !o->out && !o->export.clear && !o->csv && !o->json;
}

const struct options_spec stat_spec = {
	.name = "pmrep stat",
	.paged = paged,
	.column = OPTIONS_STAT,
	.rows = rows,
	.operands = operands,
	.operands_doc = "FILE...",
	.brief = brief,
};

void stat_options_release(struct stat_options *o)
{
	stat_words_release(&o->stat.events);
	stat_words_release(&o->stat.metrics);
	stat_words_release(&o->stat.cgroups);
	stat_words_release(&o->stat.programs);
	cpulist_release(&o->stat.cpus);
	free(o->stat.id);
	vendor_files_free(o->vendor);
}
