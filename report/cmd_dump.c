/* pmrep dump: what is in the file, frame by frame and value by value. */
#include "report/cmd.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/options_table.h"
#include "report/info/dump.h"
#include "report/input/input.h"

static const char brief[] =
	"Usage: pmrep dump [OPTION...] FILE\n"
	"Print every frame with its offset, every definition, every raw value.\n\n" OPTIONS_LIST "\n"
	"Examples:\n"
	"  pmrep dump --no-values host.pmr\n"
	"  pmrep dump --counter='cpuidle.usage.*' host.pmr\n"
	"  pmrep dump --format=json host.pmr | jq -c 'select(.value)'\n";

struct arguments {
	struct cmd_files files; /* first */
	struct dump d;
	enum cmd_format format;
	uint64_t snapshots; /* UINT64_MAX: all */
};

#define OPTIONS_INTO struct arguments
static const struct option_row rows[] = {
	{ "counter", 0, "GLOB", "only values of counters that match; may be repeated", LIST(d.glob) },
	{ "no-values", 0, NULL, "frames and definitions only", FLAG(d.no_values) },
	{ "no-definitions", 0, NULL, "frames and values only", FLAG(d.no_definitions) },
	{ "snapshots", 0, "N", "only the first N snapshots", AMOUNT(snapshots, 1, UINT64_MAX) },
	{ "format", 0, "text|json", "text (default) or json: one object per line", WORD(format) },
	{ 0 },
};

static const struct options_spec spec = {
	.name = "pmrep dump",
	.rows = rows,
	.operands = cmd_file,
	.operands_doc = "FILE",
	.brief = brief,
	.paged = options_always_paged,
};

static bool wanted(void *ctx, const struct pm_group *g)
{
	const struct dump *d = ctx;

	for (uint32_t i = 0; i < g->n_counters; i++) {
		if (dump_wants(d, g->counter[i]))
			return true;
	}
	return false;
}

/* Snapshots, and texts in them, can be large: write what is printed immediately. */
static int flush(struct dump *d)
{
	struct error e = { 0 };

	if (d->out.len <= 1u << 16)
		return 0;
	if (output_count(&d->total, d->out.data, d->out.len, &e))
		return cmd_fail(spec.name, &e);
	cmd_write(&d->out);
	return 0;
}

static int dump_chunk(struct dump *d, uint64_t *left)
{
	const struct pm_chunk *chunk;
	int r = pm_reader_decode(d->reader, &chunk);

	/* Damage is the next item. */
	if (r)
		return r == -EBADMSG ? 0 : r;
	for (uint32_t row = 0; row < chunk->rows && *left && !r; row++) {
		r = dump_snapshot(d, chunk, row);
		*left -= *left != UINT64_MAX;
		r = r ? r : flush(d);
	}
	return r;
}

static int dump_items(struct dump *d, uint64_t left, struct error *e)
{
	struct pm_item item = { 0 };
	int r = 0;

	while (left && (r = pm_reader_next(d->reader, &item)) > 0) {
		dump_frame(d, &item);
		r = item.kind == PM_ITEM_CHUNK && !d->no_values ? dump_chunk(d, &left) : flush(d);
		if (r)
			break;
	}
	if (r < 0) {
		input_failed(e, r, &item, "cannot continue reading");
		return cmd_fail(spec.name, e);
	}
	if (!r)
		cmd_write(&d->out);
	return r;
}

/* A name that matches nothing is probably a typing error. */
static bool any_wanted(const struct dump *d)
{
	const struct pm_model *m = pm_reader_model(d->reader);

	for (size_t i = 0; i < m->n_counters; i++)
		if (dump_wants(d, m->counter[i].id))
			return true;
	return !d->glob;
}

static int run(void *input, const struct options_common *common)
{
	struct arguments *a = input;
	const char *path = a->files.path[0];
	bool being_written = input_being_written(path);
	const struct pm_damage *damage;
	struct error e = { 0 };
	size_t n;
	int r;

	a->d.json = a->format == CMD_JSON;
	a->d.flush = flush;
	if (input_open(&a->d.reader, path, false, &e))
		return cmd_fail(spec.name, &e);
	pm_reader_select(a->d.reader, wanted, &a->d);
	r = dump_items(&a->d, a->snapshots, &e);
	damage = pm_reader_damage(a->d.reader, &n);
	for (size_t i = 0; i < n && !r; i++) {
		if (!being_written || i + 1 < n ||
		    (damage[i].kind != PM_DAMAGE_NO_END && damage[i].kind != PM_DAMAGE_CUT))
			r = EXIT_DAMAGED;
	}
	if (*pm_reader_newer(a->d.reader))
		cmd_complain(spec.name, "%s: partly newer than this program; pmrep check lists those parts", path);
	if (r == EXIT_DAMAGED)
		cmd_complain(spec.name, "%s: damaged or cut; pmrep check says where", path);
	if ((!r || r == EXIT_DAMAGED) && !any_wanted(&a->d)) {
		cmd_complain(spec.name, "%s: no counter is named '%s'; pmrep list names them", path, a->d.glob[0]);
		r = EXIT_TROUBLE;
	}
	return r;
}

int cmd_dump(int argc, char **argv)
{
	struct arguments a = { .snapshots = UINT64_MAX };
	int r = cmd_run(&spec, argc, argv, &a, run);

	pm_reader_close(a.d.reader);
	buf_release(&a.d.out);
	free(a.d.glob);
	return r;
}
