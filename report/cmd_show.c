/* pmrep show: the metrics of recordings, interval by interval. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/add.h"
#include "common/array.h"
#include "common/double_bits.h"
#include "common/file.h"
#include "common/memory.h"
#include "common/names.h"
#include "common/options.h"
#include "common/options_table.h"
#include "common/parse.h"
#include "common/table.h"
#include "report/cmd.h"
#include "report/export/exporter.h"
#include "report/incident/incident.h"
#include "report/info/info.h"
#include "report/input/input.h"
#include "report/input/outfile.h"
#include "report/machine/decode.h"
#include "report/machine/value_out.h"
#include "report/metric/vendor_files.h"
#include "report/pipeline/options_read.h"
#include "report/pipeline/pipeline.h"

#define NAME "pmrep"

#define SHOW_WIDTH_UNSAID UINT32_MAX /* of export.width: that of the terminal */

struct show_options {
	struct pipeline_config pipeline;
	struct export_config export;
	struct add *added; /* --add; owned */
	size_t n_added;
	unsigned form;                 /* --format: index of exporters */
	const struct sink_ops *format; /* this one */
	const char *out;               /* NULL or "-": stdout */
	const char *output_dir;        /* NULL, or where each recording gets a file */
	unsigned overwrite;            /* OUTFILE_OVERWRITE or 0 */
	enum pm_kind per;              /* --per-LEVEL; PM_KINDS: none was requested */
	bool list, follow, strict, dump, quiet;
	struct vendor_files *vendor; /* owned; pipeline.bind points to it */
	char **file;                 /* borrowed of the command line */
	int n_files;
};

static const char brief[] =
	"Usage: pmrep [show] [OPTION...] FILE...\n"
	"Show the metrics of recordings: for every interval a row for the system, then one per CPU.\n\n"
	"  -s, --show=LIST      only these columns (names, globs, categories); --hide, --enable\n"
	"  -l, --list           list the columns\n"
	"  -S, --Summary        the system only;  -c, --cpu=SET  these CPUs\n"
	"      --per-LEVEL      rows by system, package, die, cluster, cache, core, node, cpu, task, cgroup, device\n"
	"      --every=SEC      longer intervals;  --total  one interval;  --since=TIME, --until=TIME  part\n"
	"      --format=FORMAT  table, csv or json;  --layout=wide  one column per metric;  -o FILE\n"
	"      --follow         keep reading while the recording grows\n"
	"      --rate           raw counters per second\n\n"
	"Examples:\n"
	"  pmrep host.pmr                            everything, in a table\n"
	"  pmrep host.pmr --since=-60 -S             the last minute, the whole system\n"
	"  pmrep host.pmr --per-package --format=csv for programs\n"
	"  pmrec -o - | pmrep -                      live\n"
	"--help=all lists every option.\n";

static int set_columns(struct show_options *o, enum selection_verb verb, const char *list, struct error *e)
{
	/* A column that the user names may be a vendor's. */
	int err = verb == SELECT_HIDE ? 0 : vendor_files_add_pack(&o->vendor, false, e);

	return err ? err : selection_add(&o->pipeline.selection, verb, list, e);
}

static int set_show(void *into, char *arg, struct error *e)
{
	return set_columns(into, SELECT_SHOW, arg, e);
}

static int set_hide(void *into, char *arg, struct error *e)
{
	return set_columns(into, SELECT_HIDE, arg, e);
}

static int set_enable(void *into, char *arg, struct error *e)
{
	return set_columns(into, SELECT_ENABLE, arg, e);
}

static int set_added(void *into, char *arg, struct error *e)
{
	struct show_options *o = into;

	memory_room(&o->added, o->n_added, sizeof(*o->added));
	if (add_parse(&o->added[o->n_added], arg, e))
		return -EINVAL;
	o->n_added++;
	return 0;
}

static int set_ipc(void *into, char *arg, struct error *e)
{
	return set_columns(into, SELECT_ENABLE, "insn_per_cycle", e);
}

static int set_heads(void *into, char *arg, struct error *e)
{
	struct show_options *o = into;
	uint64_t n;

	if (parse_u64(arg, &n) || n > UINT32_MAX)
		return error_set(e, EINVAL, "--header_iterations: '%s' is not a number of intervals", arg);
	o->export.heads_every = (uint32_t)n;
	o->export.no_heads = !n;
	return 0;
}

static int set_columns_of_rows(void *into, char *arg, struct error *e)
{
	if (export_columns_check(arg, e))
		return error_prefix(e, "--columns");
	((struct show_options *)into)->export.columns = arg;
	return 0;
}

static int set_header(void *into, char *arg, struct error *e)
{
	static const char *const headers[] = { "short", "full", "cpus", NULL };
	struct show_options *o = into;
	unsigned place = 0;
	int err = options_word("header", arg, headers, &place, e);

	o->export.full_header |= place == 1;
	o->export.debug |= place == 2;
	return err;
}

#define PER(level)  NUMBER(per, PM_##level)
#define MODE(which) NUMBER(pipeline.mode, PIPELINE_##which)

#define OPTIONS_INTO struct show_options
static const struct option_row rows[] = {
#include "common/options_show.def"
	{ 0 },
};

static int operands(void *into, int n, char **operand, struct error *e)
{
	struct show_options *o = into;

	o->file = operand;
	o->n_files = n;
	o->pipeline.bind.files = o->vendor;
	o->format = exporters[o->form];
	return 0;
}

/* Not what appears while it is recorded, nor what another program reads. */
static bool paged(const void *input)
{
	const struct show_options *o = input;
	bool files = true;

	for (int i = 0; i < o->n_files; i++)
		files &= strcmp(o->file[i], "-") != 0;
	return files && !o->follow && !o->out && !o->output_dir && !o->export.clear && (o->list || o->format->table);
}

static const struct options_spec show_spec = {
	.name = "pmrep show",
	.paged = paged,
	.rows = rows,
	.operands = operands,
	.operands_doc = "FILE...",
	.brief = brief,
};

/* ---- --list ---- */

#define LISTED 6 /* columns */

static void list_row(struct table *t, const char *const cell[LISTED])
{
	table_row(t);
	for (size_t i = 0; i < LISTED; i++)
		table_cell(t, cell[i] && cell[i][0] ? cell[i] : "-", NULL);
}

static const char *const place_head[] = { "Package", "Die", "L3", "Node", "Module", "Core", "CPU" };
#define PLACES (sizeof(place_head) / sizeof(place_head[0]))

static void list_places(struct table *t)
{
	for (size_t i = 0; i < PLACES; i++)
		list_row(t, (const char *const[]){ place_head[i], place_head[i], "", "topology", "yes",
						   "Where a row is; shown if it tells rows apart" });
}

/* Raw counters are many; those that are shown or were added are listed with the metrics. */
static bool is_listed(const struct show_options *o, const struct offer *offer, size_t i)
{
	const struct bound_metric *m = &offer->binding.metric[i];

	return o->pipeline.selection.all || !m->counter || m->added || offer->shown[i];
}

/* A column to be listed; those of a category have the number of its first one. */
struct listed_column {
	uint32_t category, at;
};

static int by_category(const void *left, const void *right)
{
	const struct listed_column *a = left, *b = right;

	return array_order(a->category, b->category, a->at, b->at);
}

/* Lists the columns of a recording, those of a category together; returns how many counters it left out. */
static size_t list_offer(const struct show_options *o, struct table *t, const struct offer *offer)
{
	size_t n = offer->binding.n_metrics, listed = 0;
	SCOPED(names_release) struct names categories = { 0 };
	SCOPED(scoped_free) struct listed_column *column = memory_new(n, sizeof(*column));

	for (size_t i = 0; i < n; i++) {
		const char *all = offer->binding.metric[i].about->categories;
		SCOPED(scoped_free) char *category = memory_format("%.*s", (int)strcspn(all, ","), all);

		column[listed] = (struct listed_column){ (uint32_t)i, (uint32_t)i };
		if (!names_get(&categories, category, &column[listed].category))
			memory_done(names_set(&categories, category, (uint32_t)i));
		listed += is_listed(o, offer, i);
	}
	qsort(column, listed, sizeof(*column), by_category);
	for (size_t i = 0; i < listed; i++) {
		const struct bound_metric *m = &offer->binding.metric[column[i].at];

		list_row(t, (const char *const[]){ m->name, m->display, m->about->unit, m->about->categories,
						   offer->shown[column[i].at] ? "yes" : "no", m->about->help });
	}
	return n - listed;
}

static int list_file(const struct show_options *o, struct table *t, const char *path, struct error *e)
{
	SCOPED(buf_release) struct buf notes = BUF_INIT;
	SCOPED(pm_reader_scoped) struct pm_reader *reader = NULL;
	SCOPED(offer_release) struct offer offer = { 0 };
	size_t left_out = 0;
	int err = input_open(&reader, path, false, e);

	if (err)
		return err;
	err = pipeline_offer(&o->pipeline, reader, &offer, &notes, e);
	cmd_complain_lines(NAME, path, &notes);
	if (!err)
		left_out = list_offer(o, t, &offer);
	if (left_out && !o->quiet)
		cmd_complain(NAME, "%s: %zu raw counters are not listed; --list --debug lists them as well", path,
			     left_out);
	return err;
}

/* Lists the columns that are built in, or those of the recordings. */
static int list_columns(struct show_options *o)
{
	static const char *const head[LISTED] = { "NAME", "COLUMN", "UNIT", "CATEGORIES", "SHOWN", "HELP" };
	struct table *t = table_new();
	struct error e = { 0 };
	SCOPED(buf_release) struct buf out = BUF_INIT;
	int err = 0;

	for (size_t i = 0; i < LISTED; i++)
		table_column(t, head[i], TABLE_LEFT, i + 1 == LISTED);
	list_places(t);
	for (const struct metric_table *m = metric_tables; m->row && !o->n_files; m++)
		for (const struct metric *row = m->row; row < m->row + m->n; row++)
			list_row(t, (const char *const[]){ row->name, row->display, row->unit, row->categories,
							   row->default_on ? "yes" : "no", row->help });
	for (int i = 0; i < o->n_files && !err; i++)
		err = list_file(o, t, o->file[i], &e);
	if (!err)
		table_print(t, cmd_width(STDOUT_FILENO), !o->export.no_heads, false, &out);
	table_free(t);
	cmd_complain_skipped(NAME, o->vendor);
	if (err)
		return cmd_fail(NAME, &e);
	cmd_write(&out);
	return EXIT_GOOD;
}

/* ---- showing ---- */

/* Whether the recording has no rows of the requested kind; those of CPUs and of the system always exist. */
static bool lacks_rows(const struct show_options *o, const struct pm_model *m)
{
	if (o->per >= PM_PACKAGE && o->per <= PM_CORE && m->topology.n) {
		struct topology_counts c = topology_count(&m->topology);
		const uint32_t n[] = {
			[PM_PACKAGE] = c.packages,
			[PM_DIE] = c.dies,
			[PM_CLUSTER] = c.clusters,
			[PM_CACHE] = c.cache[PM_CACHE_L3] == UINT32_MAX ? c.cache[PM_CACHE_L2] : c.cache[PM_CACHE_L3],
			[PM_NODE] = c.nodes,
			[PM_CORE] = c.cores,
		};

		return n[o->per] == UINT32_MAX;
	}
	if (o->per != PM_TASK && o->per != PM_CGROUP && o->per != PM_DEVICE && o->per != PM_PMU)
		return false;
	for (uint32_t i = 0; i < m->n_instances; i++)
		if (m->instance[i].kind == o->per)
			return false;
	return true;
}

static int show_file(struct show_options *o, const char *path, struct exporter *x, struct outfile *out)
{
	SCOPED(pipeline_result_release) struct pipeline_result result = { 0 };
	struct pipeline_config config = o->pipeline;
	SCOPED(pm_reader_scoped) struct pm_reader *reader = NULL;
	struct error e = { 0 };
	SCOPED(follow_release) struct follow follow = { .watch = -1 };
	int err, status = EXIT_GOOD;

	cmd_follow(&config, &follow, path, o->follow);
	x->sink.recording = input_name(path);
	err = input_open(&reader, path, config.wait != NULL, &e);
	/* A file that is followed is watched by others while it grows. */
	if (!err && o->follow)
		err = outfile_publish(out, &e);
	if (err)
		return cmd_fail(NAME, &e);
	err = pipeline_run(&config, reader, &x->sink, &result, &e);
	if (!err && (err = exporter_flush(x)))
		e = x->out.error;
	if (!err)
		status = cmd_judge(&result, path, o->follow);
	if (status != EXIT_GOOD || result.damaged || !result.cut_only)
		cmd_complain_lines(NAME, path, &result.notes);
	if (!o->quiet)
		cmd_complain_lines(NAME, path, &result.remarks);
	if (!o->quiet && x->folded)
		cmd_complain(NAME, "%s: 16 rows of each interval are shown; --top=0 shows all", path);
	if (err) {
		if (!strstr(e.text, path) && !x->out.error.text[0])
			error_prefix(&e, "%s", path);
		status = cmd_fail(NAME, &e);
	} else if (!result.intervals) {
		cmd_complain(NAME, "%s: nothing to show: %s", path, pipeline_why_empty(&o->pipeline, &result));
	} else if (!o->quiet && lacks_rows(o, pm_reader_model(reader))) {
		cmd_complain(NAME, "%s: no %s was recorded; pmrep list instances shows what was", path,
			     pm_kind_name(o->per));
	}
	if (status == EXIT_GOOD && o->strict && (x->partial || result.notes.len))
		status = EXIT_DAMAGED;
	return status;
}

/* Whether only topology columns are to be shown. Compared as heads: "cpu" is a category. */
static bool asks_places_only(const struct selection *s)
{
	bool any = false;

	for (size_t w = 0; w < s->n; w++) {
		bool place = !strcmp(s->word[w].word, "topology");

		for (unsigned i = 0; i < PLACES; i++)
			place |= !strcmp(s->word[w].word, place_head[i]);
		if (s->word[w].verb != SELECT_HIDE && !place)
			return false;
		any |= s->word[w].verb == SELECT_SHOW;
	}
	return any && !s->all;
}

/* Which topology columns are hidden: by name, and in turbostat's text, or if they are the only columns, by not being
 * shown; and which are requested. */
static void choose_places(const struct selection *s, bool tabs, bool only, struct export_config *config)
{
	config->no_place = (tabs || only) && s->has_show ? (1u << PLACES) - 1 : 0;
	for (size_t w = 0; w < s->n; w++)
		for (unsigned i = 0; i < PLACES; i++) {
			bool named = !strcasecmp(s->word[w].word, place_head[i]),
			     hide = s->word[w].verb == SELECT_HIDE;

			if (!named && strcmp(s->word[w].word, "topology") && strcmp(s->word[w].word, "all"))
				continue;
			config->no_place = hide ? config->no_place | 1u << i : config->no_place & ~(1u << i);
			config->place |= named && !hide ? 1u << i : 0;
		}
}

static void settle(struct show_options *o, const struct options_common *common)
{
	struct sheet_config *sheet = &o->pipeline.sheet;
	bool tabs = o->format->tabs, table = o->format->table;

	bool per_given = o->per != PM_KINDS;

	sheet->per = per_given ? o->per : o->format->coarse ? PM_PACKAGE : PM_CPU;
	sheet->only_per = per_given;
	/* A table of CPUs has no rows for PMUs or tasks; a package's sum is on its first CPU. */
	sheet->fold_pmus = sheet->fold_tasks = table && !per_given;
	sheet->summary = !per_given || (table && sheet->per != PM_SYSTEM);
	if (per_given && sheet->per == PM_SYSTEM)
		sheet->summary_only = true;
	for (int i = 0; i < o->n_files; i++)
		o->export.flush |= !strcmp(o->file[i], "-");
	o->export.flush |= o->follow;
	o->export.name_files = o->n_files > 1;
	o->export.color = table && !tabs && options_use_color(common, o->export.fd);
	o->export.clear &= table && isatty(o->export.fd);
	if (o->export.top == EXPORT_TOP_FOLDED && (tabs || !table || !cmd_width(o->export.fd)))
		o->export.top = 0;
	if (o->export.width == SHOW_WIDTH_UNSAID)
		o->export.width = cmd_width(o->export.fd);
	o->export.registers = table && !o->quiet && !o->export.list;
	if (tabs)
		o->pipeline.bind.columns = COLUMNS_TURBOSTAT;
	o->pipeline.selection.lenient = tabs;
	o->pipeline.bind.added = o->added;
	o->pipeline.bind.n_added = o->n_added;
	o->pipeline.selection.who = o->per;
	o->pipeline.bind.absent = true;
	o->pipeline.note_absent = table && !o->quiet;
	o->pipeline.places_only = table && ((tabs && !per_given) || asks_places_only(&o->pipeline.selection));
	if (table)
		sheet->places =
			tabs || o->pipeline.places_only || per_given || sheet->rows ? SHEET_TOPOLOGY : SHEET_BELOW;
	choose_places(&o->pipeline.selection, tabs, o->pipeline.places_only, &o->export);
}

/* Whether the options name one level of rows at most. */
static bool has_one_level(const struct options_common *common)
{
	const char *first = NULL;

	for (char *const *said = common->said; said && *said; said++) {
		if (strncmp(*said, "--per-", 6))
			continue;
		if (first && strcmp(first, *said)) {
			cmd_complain(NAME, "%s and %s are mutually exclusive", first, *said);
			return false;
		}
		first = *said;
	}
	return true;
}

/* "csv" of `-f csv`: a format that is given as a recording. */
static const char *format_as_file(const struct show_options *o)
{
	for (int i = 0; i < o->n_files; i++)
		for (size_t f = 0; exporters[f]; f++)
			if (!strcmp(o->file[i], exporters[f]->name) && access(o->file[i], F_OK))
				return o->file[i];
	return NULL;
}

/* Whether the options fit together. */
static bool makes_sense(struct show_options *o, const struct options_common *common)
{
	const char *format = format_as_file(o);

	if (!has_one_level(common))
		return false;
	if (format)
		cmd_complain(NAME, "%s: no such recording; the format is chosen with --format=%s", format, format);
	else if (!o->n_files)
		cmd_complain(NAME, "no recording given; try pmrep --help");
	else if (o->export.columns && (!o->format->columns || o->export.layout == EXPORT_WIDE))
		cmd_complain(NAME, "--columns needs --format=csv or json with --layout=long");
	else if (o->output_dir && o->out)
		cmd_complain(NAME,
			     "--out writes one file, --output-dir one for each recording; give only one of them");
	else
		return true;
	return false;
}

/* Writes some recordings into one file. */
static int show_into(struct show_options *o, const struct options_common *common, const char *path, char **file,
		     int n)
{
	unsigned flags = o->overwrite | (o->format->binary ? OUTFILE_BINARY : 0);
	int status = EXIT_GOOD;
	struct exporter x;
	struct outfile out;
	struct error e = { 0 };

	if (o->format->replaces && o->follow && strcmp(path, "-")) {
		o->export.replace = path;
		o->export.overwrite = o->overwrite;
		path = "-";
	}
	if (o->export.replace && outfile_is_among(o->export.replace, o->file, (size_t)o->n_files)) {
		cmd_complain(NAME, "'%s' is an input; name another file as the output", o->export.replace);
		return EXIT_TROUBLE;
	}
	if (outfile_open(&out, path, flags, o->file, (size_t)o->n_files, &e))
		return cmd_fail(NAME, &e);
	o->export.fd = strcmp(out.path, "-") ? out.fd : STDOUT_FILENO;
	settle(o, common);
	exporter_init(&x, o->format, &o->export);
	for (int i = 0; i < n; i++) {
		int one = show_file(o, file[i], &x, &out);

		if (cmd_complain_skipped(NAME, o->vendor) && o->strict && one == EXIT_GOOD)
			one = EXIT_DAMAGED;

		/* An error with one file is more important than damage in another. */
		if (one == EXIT_TROUBLE || status == EXIT_GOOD)
			status = one;
	}
	/* Report the same error once. */
	if (exporter_close(&x) && status != EXIT_TROUBLE)
		status = cmd_fail(NAME, &x.sink.error);
	exporter_release(&x);
	if (outfile_end(&out, status == EXIT_TROUBLE ? -ECANCELED : 0, &e) && status != EXIT_TROUBLE)
		status = cmd_fail(NAME, &e);
	return status;
}

/* "DIR/idle.parquet" for "samples/idle.pmr.gz". */
static void output_path(struct buf *path, const struct show_options *o, const char *file)
{
	const char *name = strcmp(file, "-") ? input_name(file) : "stdin";
	size_t len = strlen(name);

	if (len > 3 && !strcmp(name + len - 3, ".gz"))
		len -= 3;
	if (len > 4 && !strncmp(name + len - 4, ".pmr", 4))
		len -= 4;
	buf_clear(path);
	buf_printf(path, "%s/%.*s.%s", o->output_dir, (int)len, name, o->format->name);
}

static int show_each(struct show_options *o, const struct options_common *common)
{
	SCOPED(buf_release) struct buf path = BUF_INIT;
	SCOPED(names_release) struct names made = { 0 };
	int status = EXIT_GOOD;
	uint32_t before;

	for (int i = 0; i < o->n_files; i++) {
		int one;

		output_path(&path, o, o->file[i]);
		memory_whole(&path);
		if (names_get(&made, buf_str(&path), &before)) {
			cmd_complain(NAME, "%s and %s would both become '%s'; use two directories, or other names",
				     o->file[before], o->file[i], buf_str(&path));
			one = EXIT_TROUBLE;
		} else {
			memory_done(names_set(&made, buf_str(&path), (uint32_t)i));
			one = show_into(o, common, buf_str(&path), &o->file[i], 1);
		}
		if (one == EXIT_TROUBLE || status == EXIT_GOOD)
			status = one;
	}
	return status;
}

#define HINT_BYTES (4 << 20) /* a recording of this size is searched in no time */

/* After the table, on a terminal: says whether something happened. */
static void hint(const struct show_options *o, const struct options_common *common)
{
	struct incidents found = { 0 };
	SCOPED(buf_release) struct buf line = BUF_INIT;
	struct error e = { 0 };
	struct stat st;

	if (o->n_files != 1 || o->quiet || !show_spec.paged(o) || !(common->paged || isatty(STDOUT_FILENO)) ||
	    stat(o->file[0], &st) || !S_ISREG(st.st_mode) || st.st_size > HINT_BYTES)
		return;
	if (!incidents_find(&found, o->file[0], o->file[0], &o->pipeline, &e) && found.n) {
		buf_printf(&line, "\n%u incident%s, the first ", found.n, plural(found.n));
		incident_put_time(&found, &found.incident[0], &line);
		buf_printf(&line, ": pmrep incidents %s\n", o->file[0]);
		cmd_write(&line);
	}
	incidents_release(&found);
}

static int show(struct show_options *o, const struct options_common *common)
{
	int status = cmd_complain_skipped(NAME, o->vendor) && o->strict ? EXIT_DAMAGED : EXIT_GOOD, all;

	if (!makes_sense(o, common))
		return EXIT_TROUBLE;
	all = o->output_dir ? show_each(o, common) : show_into(o, common, o->out ? o->out : "-", o->file, o->n_files);
	if (all == EXIT_GOOD)
		hint(o, common);
	return all == EXIT_GOOD ? status : all;
}

/* ---- turbostat's --Dump ---- */

static void put_raw(const struct pm_counter *c, const struct pm_instance *i, uint64_t value, struct buf *out)
{
	if (i->kind == PM_SYSTEM || i->number == PM_NONE)
		buf_printf(out, "%s: ", c->name);
	else
		buf_printf(out, "%s (%s %" PRIu32 "): ", c->name, pm_kind_name(i->kind), i->number);
	if (c->type == PM_S64)
		buf_printf(out, "%" PRId64 "\n", (int64_t)value);
	else if (c->type == PM_F64)
		buf_printf(out, "%.10g\n", double_from_bits(value));
	else /* registers read as their documents have them */
		buf_printf(out, !strncmp(c->name, "msr.", 4) ? "0x%016" PRIx64 "\n" : "%" PRIu64 "\n", value);
}

/* Marks the counters that feed shown columns. */
static void mark_counters(const struct offer *offer, bool *feeds)
{
	const struct binding *b = &offer->binding;

	for (size_t i = 0; i < b->n_metrics; i++)
		for (uint32_t k = 0; offer->shown[i] && k < b->metric[i].n_inputs; k++) {
			const struct bound_input *in = &b->input[b->metric[i].input[k]];

			for (uint32_t n = 0; !in->constant && n < in->n_counters; n++)
				feeds[in->counter[n]] = true;
		}
}

/* Name and value of each counter that feeds a shown column, in the first row. */
static void dump_turbostat(const struct offer *offer, const struct pm_chunk *chunk, struct buf *out)
{
	const struct pm_model *m = offer->places.model;
	SCOPED(scoped_free) bool *feeds = memory_new((size_t)m->n_counters + 1, sizeof(*feeds));

	mark_counters(offer, feeds);
	for (uint32_t k = 0; k < chunk->n_groups; k++) {
		const struct pm_chunk_group *cg = &chunk->group[k];
		const struct pm_group *g = pm_model_group(m, cg->group);

		for (uint32_t v = 0; g && !cg->absent && v < pm_group_values(g); v++) {
			size_t cell = (size_t)(pm_group_head(g) + v) * cg->stride;
			const struct pm_counter *c = pm_model_counter(m, pm_group_counter_of(g, v));
			const struct pm_instance *i = pm_model_instance(m, pm_group_instance_of(g, v));

			if (c && i && feeds[c->id] && !pm_counter_texts(c) && !(cg->status && cg->status[cell]))
				put_raw(c, i, cg->v[cell], out);
		}
	}
}

static int dump_raw(const struct show_options *o, const char *path, struct buf *out, struct error *e)
{
	SCOPED(pm_reader_scoped) struct pm_reader *reader = NULL;
	SCOPED(offer_release) struct offer offer = { 0 };
	const struct pm_chunk *chunk;
	SCOPED(buf_release) struct buf about = BUF_INIT, notes = BUF_INIT;
	int err = input_open(&reader, path, false, e);

	if (!err && !(err = pipeline_offer(&o->pipeline, reader, &offer, &notes, e))) {
		cmd_complain_lines(NAME, path, &notes);
		if (pm_reader_decode(reader, &chunk))
			err = error_set(e, EINVAL, "%s: no snapshot was recorded", path);
	}
	if (!err) {
		decode_turbostat(&offer.places, o->quiet, o->export.debug, o->out ? out : &about);
		fputs(buf_str(&about), stderr);
		dump_turbostat(&offer, chunk, out);
	}
	if (err && !e->text[0])
		error_sys(e, -err, "%s", path);
	return err;
}

static int dump_text(struct show_options *o, const struct options_common *common)
{
	SCOPED(buf_release) struct buf out = BUF_INIT;
	struct outfile file;
	struct error e = { 0 };
	int err;

	if (!makes_sense(o, common))
		return EXIT_TROUBLE;
	if ((err = outfile_open(&file, o->out ? o->out : "-", o->overwrite, o->file, (size_t)o->n_files, &e)))
		return cmd_fail(NAME, &e);
	settle(o, common);
	for (int i = 0; i < o->n_files && !err; i++)
		err = dump_raw(o, o->file[i], &out, &e);
	if (!err && (err = file_write(strcmp(file.path, "-") ? file.fd : STDOUT_FILENO, out.data, out.len)))
		error_sys(&e, -err, "output");
	err = outfile_end(&file, err, &e);
	return err ? cmd_fail(NAME, &e) : EXIT_GOOD;
}

int cmd_show(int argc, char **argv)
{
	struct options_common common = { 0 };
	struct show_options o = {
		.export = { .fd = STDOUT_FILENO, .width = SHOW_WIDTH_UNSAID, .top = EXPORT_TOP_FOLDED },
		.per = PM_KINDS,
	};
	int status = cmd_options(&show_spec, argc, argv, &o, &common);
	/* Here turbostat lists what --show could name. */
	o.export.list = o.list && o.format->tabs && o.n_files;
	o.pipeline.selection.all |= o.export.list && !o.pipeline.selection.has_show;
	if (status < 0 && o.dump)
		status = dump_text(&o, &common);
	else if (status < 0)
		status = o.list && !o.export.list ? list_columns(&o) : show(&o, &common);
	selection_release(&o.pipeline.selection);
	cpulist_release(&o.pipeline.sheet.cpus);
	vendor_files_free(o.vendor);
	for (size_t i = 0; i < o.n_added; i++)
		add_release(&o.added[i]);
	free(o.added);
	options_common_release(&common);
	return status;
}
