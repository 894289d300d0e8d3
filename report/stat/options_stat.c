#include "report/stat/options_stat.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/options_table.h"
#include "common/parse.h"
#include "report/input/memory.h"
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

	stat_words_add(w, arg);
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
		uint64_t id;

		if (parse_u64_span(arg, len, 10, &id))
			return error_set(e, EINVAL, "--%s: '%s' is not a list of ids", threads ? "tid" : "pid", arg);
		memory_room(&c->id, n, sizeof(*c->id));
		if (!threads)
			memmove(c->id + c->n_pids + 1, c->id + c->n_pids, c->n_tids * sizeof(*c->id));
		c->id[threads ? n : c->n_pids] = id;
		*(threads ? &c->n_tids : &c->n_pids) += 1;
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
		stat_words_add(&c->metrics, level[i]);
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

/* ---- perf's configuration files: the section [stat] ---- */

static bool parse_bool(const char *text, bool *value)
{
	static const char *const yes[] = { "true", "yes", "on", "1" }, *const no[] = { "false", "no", "off", "0" };

	for (size_t i = 0; i < 4; i++) {
		if (!strcasecmp(text, yes[i]) || !strcasecmp(text, no[i])) {
			*value = !strcasecmp(text, yes[i]);
			return true;
		}
	}
	return false;
}

/* Removes blanks at both ends. */
static char *trim(char *text)
{
	size_t len;

	while (isspace((unsigned char)*text))
		text++;
	len = strlen(text);
	while (len && isspace((unsigned char)text[len - 1]))
		text[--len] = '\0';
	return text;
}

static int take_key(struct stat_config *c, char *line, struct error *e)
{
	char *equals = strchr(line, '='), *key, *value;
	bool on = true;

	if (equals)
		*equals = '\0';
	key = trim(line);
	value = equals ? trim(equals + 1) : NULL;
	/* A key alone means yes. Other keys are about recording. */
	if (strcasecmp(key, "big-num") && strcasecmp(key, "no-csv-summary"))
		return 0;
	if (value && !parse_bool(value, &on))
		return error_set(e, EINVAL, "stat.%s: '%s' is neither true nor false", key, value);
	if (!strcasecmp(key, "big-num"))
		c->big_num = on;
	else
		c->no_csv_summary = on;
	return 0;
}

int stat_config_read(struct stat_config *c, const char *text, struct error *e)
{
	bool ours = false;
	int err = 0;

	while (*text && !err) {
		size_t len = strcspn(text, "\n");
		char *copy = memory_checked(strndup(text, len)), *line;

		copy[strcspn(copy, "#;")] = '\0';
		line = trim(copy);
		if (line[0] == '[')
			ours = !strncasecmp(line, "[stat]", 6);
		else if (ours && line[0])
			err = take_key(c, line, e);
		free(copy);
		text += len + (text[len] == '\n');
	}
	return err;
}

static void read_file(struct stat_config *c, const char *path, struct buf *notes)
{
	struct error e = { 0 };
	char text[16384];
	FILE *f = fopen(path, "re");
	size_t n;

	if (!f)
		return;
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	fclose(f);
	if (stat_config_read(c, text, &e) && e.text[0])
		buf_printf(notes, "%s: %s\n", path, e.text);
}

void stat_options_init(struct stat_options *o, struct buf *notes)
{
	const char *named = getenv("PERF_CONFIG"), *home = getenv("HOME");
	SCOPED(scoped_free) char *path = home ? memory_format("%s/.perfconfig", home) : NULL;

	*o = (struct stat_options){
		.export.fd = STDOUT_FILENO,
		.log_fd = -1,
		.stat = { .big_num = true, .separator = "," },
		.pipeline = { .mode = PIPELINE_TOTAL, .sheet.per = PM_SYSTEM },
	};
	if (named) {
		read_file(&o->stat, named, notes);
		return;
	}
	read_file(&o->stat, "/etc/perfconfig", notes);
	if (home)
		read_file(&o->stat, path, notes);
}
