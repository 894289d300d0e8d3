/* pmrep stat: what perf stat would have printed. */
#include "report/cmd.h"
#include "report/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "report/input/follow.h"
#include "report/input/input.h"
#include "report/input/memory.h"
#include "report/stat/stat.h"

#define NAME "pmrep stat"

/* ---- --format: our rows of the same events ---- */

static void select_word(struct selection *s, const char *word)
{
	memory_room(&s->word, s->n, sizeof(*s->word));
	/* Not selection_add(): commas are part of events. */
	s->word[s->n++] = (struct selection_word){ .verb = SELECT_SHOW, .word = memory_text(word) };
	s->has_show = true;
}

/* Selects the events that perf's lines would show. A stream cannot be examined before it is read. */
static int select_events(const struct stat_options *o, const char *path, struct selection *selection, struct error *e)
{
	struct pm_item item;
	SCOPED(places_release) struct places places = { 0 };
	struct stat_sheet s;
	SCOPED(pm_reader_scoped) struct pm_reader *reader = NULL;
	int err;

	for (size_t i = 0; i < o->stat.metrics.n; i++)
		select_word(selection, o->stat.metrics.word[i]);
	if (!strcmp(path, "-")) {
		for (size_t i = 0; i < o->stat.events.n; i++)
			select_word(selection, o->stat.events.word[i]);
		if (!selection->n)
			select_word(selection, "perf");
		return 0;
	}
	if ((err = input_open(&reader, path, false, e)) || (err = input_next_chunk(reader, &item, path, e)) < 0)
		return err;
	stat_init(&s, &o->stat, NULL);
	places_update(&places, pm_reader_model(reader));
	s.places = &places;
	err = stat_events_find(&s, e);
	for (uint32_t i = 0; i < s.n_events && !err && !(o->stat.metrics.n && !o->stat.events.n); i++)
		for (uint32_t k = 0; k < s.event[i].n_counters; k++)
			if (!s.event[i].invalid)
				select_word(selection, pm_model_counter(places.model, s.event[i].counter[k])->name);
	stat_release(&s);
	return err;
}

static void settle_tidy(struct stat_options *o)
{
	struct sheet_config *sheet = &o->pipeline.sheet;

	sheet->per = stat_levels[o->stat.aggr].kind;
	sheet->only_per = true;
	sheet->summary_only = sheet->per == PM_SYSTEM;
	sheet->summary = sheet->summary_only || o->tidy->table;
}

/* ---- a file ---- */

/* Prints perf's lines, or with --format our rows with the same numbers. */
static int stat_file(struct stat_options *o, const char *path, struct output *out, struct exporter *rows,
		     struct outfile *file)
{
	SCOPED(pipeline_result_release) struct pipeline_result result = { 0 };
	struct pipeline_config config = o->pipeline;
	SCOPED(pm_reader_scoped) struct pm_reader *reader = NULL;
	struct error e = { 0 };
	SCOPED(follow_release) struct follow follow = { .watch = -1 };
	struct stat_sheet s;
	struct sink *sink;
	int err = 0, status = EXIT_GOOD;

	stat_init(&s, &o->stat, out);
	s.cache_level = o->cache_level;
	sink = rows ? &rows->sink : &s.sink;
	cmd_follow(&config, &follow, path, o->follow);
	sink->recording = input_name(path);
	if (rows)
		err = select_events(o, path, &config.selection, &e);
	if (!err)
		err = input_open(&reader, path, config.wait != NULL, &e);
	/* A file that is followed is watched by others while it grows. */
	if (!err && o->follow)
		err = outfile_publish(file, &e);
	if (!err)
		err = pipeline_run(&config, reader, sink, &result, &e);
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
	if (status == EXIT_GOOD && o->strict && ((rows && rows->partial) || s.partial || result.notes.len))
		status = EXIT_DAMAGED;
	if (rows)
		selection_release(&config.selection);
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
	o->export.fd = o->log_fd >= 0 ? o->log_fd : strcmp(out->path, "-") ? out->fd : STDOUT_FILENO;
	return EXIT_GOOD;
}

static int stat_files(struct stat_options *o, const struct options_common *common)
{
	struct exporter x;
	struct outfile file;
	struct error e = { 0 };
	int status = EXIT_GOOD;
	bool too_large;

	if (!o->n_files) {
		cmd_complain(NAME, "no recording given; try pmrep stat --help");
		return EXIT_TROUBLE;
	}
	if ((status = open_output(o, &file)))
		return status;
	if (!o->quiet)
		cmd_complain_skipped(NAME, o->vendor);
	/* Statistics are over the recorded intervals, unless longer ones are requested. */
	if (o->stat.stats && o->pipeline.mode == PIPELINE_TOTAL)
		o->pipeline.mode = PIPELINE_EACH;
	o->stat.intervals = o->pipeline.mode != PIPELINE_TOTAL;
	o->stat.window = o->pipeline.since.kind != MOMENT_NONE || o->pipeline.until.kind != MOMENT_NONE ||
			 o->pipeline.max_intervals;
	o->pipeline.no_scale = o->stat.no_scale;
	o->pipeline.bind.columns = COLUMNS_OWN;
	o->pipeline.bind.per_kind = !o->tidy;
	o->stat.color = options_use_color(common, o->export.fd);
	o->export.clear &= isatty(o->export.fd) && o->stat.form == STAT_TEXT;
	o->stat.clear = o->export.clear;
	o->stat.started = o->out;
	for (int i = 0; i < o->n_files; i++)
		o->export.flush |= !strcmp(o->file[i], "-");
	o->export.flush |= o->follow;
	if (o->tidy)
		settle_tidy(o);
	exporter_init(&x, o->tidy, &o->export);
	for (int i = 0; i < o->n_files; i++) {
		int one = stat_file(o, o->file[i], &x.out, o->tidy ? &x : NULL, &file);

		if (!o->quiet)
			cmd_complain_skipped(NAME, o->vendor);
		if (one == EXIT_TROUBLE || status == EXIT_GOOD)
			status = one;
	}
	too_large = x.out.error.number == EFBIG;
	exporter_release(&x);
	if (outfile_end(&file, status == EXIT_TROUBLE ? -ECANCELED : 0, &e) && status != EXIT_TROUBLE)
		status = cmd_fail(NAME, &e);
	/* In perf's place it ends as that does. */
	if (o->quiet && too_large) {
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
