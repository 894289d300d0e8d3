/* pmrep stat: what perf stat would have printed. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/file.h"
#include "common/memory.h"
#include "common/options_table.h"
#include "common/parse.h"
#include "report/cmd.h"
#include "report/input/input.h"
#include "report/input/outfile.h"
#include "report/metric/vendor_files.h"
#include "report/pipeline/options_read.h"
#include "report/stat/stat.h"

#define NAME "pmrep stat"

struct stat_options {
	struct pipeline_config pipeline;
	struct stat_config stat;
	const char *out;    /* NULL: stdout */
	unsigned out_flags; /* outfile_flags */
	int log_fd;         /* --log-fd; -1: none */
	unsigned td_level;
	bool follow, strict, quiet, csv, json;
	struct vendor_files *vendor; /* owned; of --metrics-file */
	char **file;                 /* borrowed of the command line */
	int n_files;
};

static const char brief[] =
	"Usage: pmrep stat [OPTION...] FILE...\n"
	"Print counts like perf stat: one total, or with -I MS those of each interval.\n\n"
	"  -e, --event=LIST     only these events;  -M, --metrics=LIST  metrics\n"
	"  -A                   one line per CPU; --per-socket, -die, -cluster, -cache, -core, -node, -thread, "
	"-cgroup\n"
	"  -I MS                intervals; --summary adds totals\n"
	"  -x SEP, -j           perf's CSV and JSON; pmrep show has rows of its own\n"
	"  -C LIST, -p PID, -t TID, -G CGROUP, --since=TIME, --until=TIME   a part\n"
	"  -o FILE, --append    to a file\n\n"
	"Examples:\n"
	"  pmrep stat host.pmr\n"
	"  pmrep stat -I 1000 --per-socket -x, host.pmr\n"
	"  pmrep stat -A -e cycles host.pmr\n"
	"--help=all lists every option.\n";

static void stat_words_release(struct stat_words *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->word[i]);
	free(w->word);
	*w = (struct stat_words){ 0 };
}

/* Takes a comma separated list; commas between slashes or in braces do not separate. */
static void stat_words_add(struct stat_words *w, const char *list)
{
	const char *start = list, *c = list;
	bool inside = false;

	for (;; c++) {
		if (*c == '/')
			inside = !inside;
		if (*c && (*c != ',' || inside))
			continue;
		while (*start == '{' || *start == ' ')
			start++;
		size_t len = (size_t)(c - start);
		const char *brace = memchr(start, '}', len);

		if (brace)
			len = (size_t)(brace - start);
		if (len) {
			memory_room(&w->word, w->n, sizeof(*w->word));
			w->word[w->n++] = memory_checked(strndup(start, len));
		}
		if (!*c)
			break;
		start = c + 1;
	}
}

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

static int read_ids(void *member, const char *arg, struct error *e)
{
	struct stat_ids *ids = member;

	for (size_t len; *arg; arg += len + (arg[len] == ',')) {
		len = strcspn(arg, ",");
		memory_room(&ids->id, ids->n, sizeof(*ids->id));
		if (parse_u64_span(arg, len, 10, &ids->id[ids->n]) || !ids->id[ids->n++])
			return error_set(e, EINVAL, "'%s' is not a list of ids", arg);
	}
	return ids->n ? 0 : error_set(e, EINVAL, "an empty list");
}

static int set_per_cache(void *into, char *arg, struct error *e)
{
	struct stat_options *o = into;

	o->stat.aggr = STAT_CACHE;
	if (!arg)
		return 0;
	if ((arg[0] == 'L' || arg[0] == 'l') && (arg[1] == '2' || arg[1] == '3') && !arg[2]) {
		o->pipeline.cache_level = arg[1] - '0';
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

#define AGGR(which) NUMBER(stat.aggr, STAT_##which)
#define MODE(which) NUMBER(pipeline.mode, PIPELINE_##which)

#define OPTIONS_INTO struct stat_options
static const struct option_row rows[] = {
#include "common/options_stat.def"
	{ 0 },
};

static int operands(void *into, int n, char **operand, struct error *e)
{
	struct stat_options *o = into;
	struct stat_config *c = &o->stat;
	static const char *const level[] = { "TopdownL1", "TopdownL2", "TopdownL3",
					     "TopdownL4", "TopdownL5", "TopdownL6" };

	o->file = operand;
	o->n_files = n;
	if (o->out && o->log_fd >= 0)
		return error_set(e, EINVAL, "--output and --log-fd are mutually exclusive");
	if (o->out_flags & OUTFILE_APPEND && !o->out)
		return error_set(e, EINVAL, "--append needs --output");
	if (o->csv && o->json)
		return error_set(e, EINVAL, "-x and -j are mutually exclusive");
	if (c->iostat)
		c->aggr = STAT_DIE;
	for (unsigned i = 0; c->topdown && i < (o->td_level ? o->td_level : 1); i++)
		stat_words_add(&c->metrics, level[i]);
	o->pipeline.bind.files = o->vendor;
	o->pipeline.bind.wanted = c->metrics.n ? NULL : stat_may_show;
	return 0;
}

static bool paged(const void *input)
{
	const struct stat_options *o = input;
	bool files = true;

	for (int i = 0; i < o->n_files; i++)
		files &= strcmp(o->file[i], "-") != 0;
	return files && !o->follow && !o->out && !o->stat.clear && !o->csv && !o->json;
}

static const struct options_spec stat_spec = {
	.name = "pmrep stat",
	.paged = paged,
	.rows = rows,
	.operands = operands,
	.operands_doc = "FILE...",
	.brief = brief,
};

static void stat_options_release(struct stat_options *o)
{
	stat_words_release(&o->stat.events);
	stat_words_release(&o->stat.metrics);
	stat_words_release(&o->stat.cgroups);
	free(o->stat.programs.id);
	cpulist_release(&o->stat.cpus);
	free(o->stat.pids.id);
	free(o->stat.tids.id);
	vendor_files_free(o->vendor);
}

/* ---- perf's configuration files: the section [stat] ---- */

/* Takes the [stat] section of the text of such a file. 0, or -EINVAL with the key in *e. */
static int stat_config_read(struct stat_config *c, const char *text, struct error *e)
{
	static const char *const words[] = { "false", "true", "no", "yes", "off", "on", "0", "1" };
	bool ours = false;

	for (size_t len; *text; text += len + (text[len] == '\n')) {
		char line[256], key[64], value[128];
		int n, i = 1;
		bool *member;

		len = strcspn(text, "\n");
		snprintf(line, sizeof(line), "%.*s", (int)strcspn(text, "#;\n"), text);
		n = sscanf(line, " %63[^= \t\r] = %127[^ \t\r]", key, value);
		if (n > 0 && key[0] == '[')
			ours = !strncasecmp(key, "[stat]", 6);
		/* A key alone means yes. Other keys are about recording. */
		member = n <= 0 || !ours                    ? NULL :
			 !strcasecmp(key, "big-num")        ? &c->big_num :
			 !strcasecmp(key, "no-csv-summary") ? &c->no_csv_summary :
							      NULL;
		if (!member)
			continue;
		value[n > 1 ? sizeof(value) - 1 : 0] = '\0';
		if (strchr(line, '='))
			for (i = 0; i < 8 && strcasecmp(words[i], value); i++)
				;
		if (i == 8)
			return error_set(e, EINVAL, "stat.%s: '%s' is neither true nor false", key, value);
		*member = i % 2;
	}
	return 0;
}

static void read_file(struct stat_config *c, const char *path, struct buf *notes)
{
	SCOPED(buf_release) struct buf text = BUF_INIT;
	struct error e = { 0 };

	if (!file_read(path, &text, NULL) && stat_config_read(c, buf_str(&text), &e))
		buf_printf(notes, "%s: %s\n", path, e.text);
}

/* The defaults: perf's, and what perf's configuration files say under [stat]. A line about a file that cannot be
 * understood goes to `notes`. */
static void stat_options_init(struct stat_options *o, struct buf *notes)
{
	const char *named = getenv("PERF_CONFIG"), *home = getenv("HOME");
	SCOPED(scoped_free) char *path = home ? memory_format("%s/.perfconfig", home) : NULL;

	*o = (struct stat_options){
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

/* ---- a file ---- */

static int stat_file(struct stat_options *o, const char *path, struct output *out, struct outfile *file)
{
	SCOPED(pipeline_result_release) struct pipeline_result result = { 0 };
	struct pipeline_config config = o->pipeline;
	SCOPED(pm_reader_scoped) struct pm_reader *reader = NULL;
	struct error e = { 0 };
	SCOPED(follow_release) struct follow follow = { .watch = -1 };
	struct stat_sheet s;
	int err, status = EXIT_GOOD;

	stat_init(&s, &o->stat, out);
	cmd_follow(&config, &follow, path, o->follow);
	s.sink.recording = input_name(path);
	err = input_open(&reader, path, config.wait != NULL, &e);
	/* A file that is followed is watched by others while it grows. */
	if (!err && o->follow)
		err = outfile_publish(file, &e);
	if (!err)
		err = pipeline_run(&config, reader, &s.sink, &result, &e);
	if (!err && (err = output_flush(out)))
		e = out->error;
	if (!err)
		status = cmd_judge(&result, path, o->follow);
	if (!o->quiet && (status != EXIT_GOOD || result.damaged || !result.cut_only))
		cmd_complain_lines(NAME, path, &result.notes);
	if (!o->quiet)
		cmd_complain_lines(NAME, path, &s.notes);
	if (err) {
		if (!strstr(e.text, path) && !out->error.text[0])
			error_prefix(&e, "%s", path);
		status = cmd_fail(NAME, &e);
	} else if (!result.intervals && !o->quiet) {
		cmd_complain(NAME, "%s: nothing to show: %s", path, pipeline_why_empty(&config, &result));
	}
	if (status == EXIT_GOOD && o->strict && (s.partial || result.notes.len))
		status = EXIT_DAMAGED;
	stat_release(&s);
	return status;
}

static int open_output(struct stat_options *o, struct outfile *out)
{
	struct error e = { 0 };

	if (o->log_fd >= 0 && fcntl(o->log_fd, F_GETFD) < 0) {
		cmd_complain(NAME, "--log-fd: %d is not an open descriptor", o->log_fd);
		return EXIT_TROUBLE;
	}
	if (outfile_open(out, o->out ? o->out : "-", o->out_flags, o->file, (size_t)o->n_files, &e))
		return cmd_fail(NAME, &e);
	return EXIT_GOOD;
}

static int stat_files(struct stat_options *o, const struct options_common *common)
{
	SCOPED(output_release) struct output out = { 0 };
	struct outfile file;
	struct error e = { 0 };
	int status = EXIT_GOOD;

	if (!o->n_files) {
		cmd_complain(NAME, "no recording given; try pmrep stat --help");
		return EXIT_TROUBLE;
	}
	if ((status = open_output(o, &file)))
		return status;
	if (!o->quiet)
		cmd_complain_skipped(NAME, o->vendor);
	o->stat.intervals = o->pipeline.mode != PIPELINE_TOTAL;
	o->stat.window = o->pipeline.since.kind != MOMENT_NONE || o->pipeline.until.kind != MOMENT_NONE ||
			 o->pipeline.max_intervals;
	o->pipeline.no_scale = o->stat.no_scale;
	o->pipeline.bind.columns = COLUMNS_OWN;
	o->pipeline.bind.per_kind = true;
	out.fd = o->log_fd >= 0 ? o->log_fd : strcmp(file.path, "-") ? file.fd : STDOUT_FILENO;
	o->stat.color = options_use_color(common, out.fd);
	o->stat.clear &= isatty(out.fd) && o->stat.form == STAT_TEXT;
	o->stat.started = o->out;
	for (int i = 0; i < o->n_files; i++)
		out.live |= !strcmp(o->file[i], "-");
	out.live |= o->follow;
	for (int i = 0; i < o->n_files; i++) {
		int one = stat_file(o, o->file[i], &out, &file);

		if (!o->quiet)
			cmd_complain_skipped(NAME, o->vendor);
		if (one == EXIT_TROUBLE || status == EXIT_GOOD)
			status = one;
	}
	if (outfile_end(&file, status == EXIT_TROUBLE ? -ECANCELED : 0, &e) && status != EXIT_TROUBLE)
		status = cmd_fail(NAME, &e);
	/* In perf's place it ends as that does. */
	if (o->quiet && out.error.number == EFBIG) {
		signal(SIGXFSZ, SIG_DFL);
		raise(SIGXFSZ);
	}
	return status;
}

int cmd_stat(int argc, char **argv)
{
	struct options_common common = { 0 };
	SCOPED(buf_release) struct buf notes = BUF_INIT;
	struct stat_options o;
	int status;

	stat_options_init(&o, &notes);
	status = cmd_options(&stat_spec, argc, argv, &o, &common);
	if (status < 0) {
		if (!o.quiet && notes.len)
			cmd_complain(NAME, "%.*s", (int)strcspn(buf_str(&notes), "\n"), buf_str(&notes));
		status = stat_files(&o, &common);
	}
	stat_options_release(&o);
	options_common_release(&common);
	return status;
}
