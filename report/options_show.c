#include "report/options_show.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/options_table.h"
#include "common/parse.h"
#include "report/metric/vendor_files.h"
#include "report/pipeline/options_read.h"

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

const struct options_spec show_spec = {
	.name = "pmrep show",
	.paged = paged,
	.column = OPTIONS_SHOW,
	.rows = rows,
	.operands = operands,
	.operands_doc = "FILE...",
	.brief = brief,
};

void show_options_init(struct show_options *o)
{
	*o = (struct show_options){
		.export = { .fd = STDOUT_FILENO, .width = SHOW_WIDTH_UNSAID, .top = EXPORT_TOP_FOLDED },
		.per = PM_KINDS,
	};
}

void show_options_release(struct show_options *o)
{
	selection_release(&o->pipeline.selection);
	cpulist_release(&o->pipeline.sheet.cpus);
	vendor_files_free(o->vendor);
}
