/* pmrep repair: copies the readable part of a damaged recording. */
#include "report/cmd_copy.h"
#include "report/commands.h"

#include <errno.h>
#include <stdio.h>

#include "report/copy/borrow.h"
#include "report/input/input.h"
#include "report/machine/value_out.h"

static const char brief[] =
	"Usage: pmrep repair [OPTION...] -o OUT.pmr FILE\n"
	"Copy the readable part of a damaged recording into one without damage.\n\n"
	"Lost data stays lost: the copy notes where, and no value is computed across a gap.\n\n" OPTIONS_LIST "\n"
	"Examples:\n"
	"  pmrep repair -o good.pmr broken.pmr\n"
	"  pmrep repair --like=host-2.pmr -o good.pmr host-1.pmr\n";

struct repair {
	struct cmd_copy copy;
	char *like; /* borrowed from options_common */
	struct spool in, like_in;
	struct borrow *borrow;
	char history[200];
};

#define OPTIONS_INTO struct repair
static const struct option_row rows[] = {
	CMD_COPY_OPTIONS,
	{ "like", 0, "FILE", "take lost definitions from this recording, such as another file of a rotation",
	  TEXT(like) },
	{ 0 },
};

static const struct options_spec spec = {
	.name = "pmrep repair",
	.rows = rows,
	.operands = cmd_copy_files,
	.operands_doc = "FILE",
	.brief = brief,
	.saves = true,
};

static int reading(struct repair *p, struct pm_reader **reader, struct error *e)
{
	return p->borrow ? borrow_reader(reader, p->borrow, e) : spool_reader(reader, &p->in, e);
}

/* The result of reading the whole file. */
struct outcome {
	uint64_t values, bytes; /* read, damaged */
	size_t stretches, contradictions;
};

static uint64_t values_of(const struct pm_model *m, const struct pm_chunk *chunk)
{
	uint64_t values = 0;

	for (uint32_t i = 0; i < chunk->n_groups; i++) {
		const struct pm_group *g = pm_model_group(m, chunk->group[i].group);

		if (g && !chunk->group[i].absent)
			values += (uint64_t)pm_group_values(g) * chunk->rows;
	}
	return values;
}

static int look(struct repair *p, struct outcome *o, struct error *e)
{
	struct pm_reader *reader;
	struct pm_item item;
	const struct pm_chunk *chunk;
	const struct pm_damage *damage;
	int err = reading(p, &reader, e), r;

	*o = (struct outcome){ 0 };
	if (err)
		return err;
	while ((r = pm_reader_next(reader, &item)) > 0)
		if (item.kind == PM_ITEM_CHUNK && !pm_reader_decode(reader, &chunk))
			o->values += values_of(pm_reader_model(reader), chunk);
	if (r < 0)
		err = error_sys(e, -r, "%s: cannot continue reading", p->in.name);
	damage = pm_reader_damage(reader, &o->stretches);
	for (size_t i = 0; i < o->stretches; i++) {
		o->bytes += damage[i].length;
		o->contradictions += damage[i].kind == PM_DAMAGE_CONTENT;
	}
	pm_reader_close(reader);
	return err;
}

/* Reads the file as it is, and with the definitions of the other one, which are used if they recover more and
 * contradict nothing. */
static int look_at_both(struct repair *p, struct outcome *o, struct error *e)
{
	struct outcome with;
	int err = look(p, o, e);

	if (err || !p->like)
		return err;
	err = borrow_new(&p->borrow, &p->in, &p->like_in, e);
	if (err == -ENODATA && o->values) {
		cmd_complain(spec.name, "%s", e->text);
		*e = (struct error){ 0 };
		with = *o;
		err = 0;
	} else if (!err) {
		err = look(p, &with, e);
	}
	if (!err && with.contradictions > o->contradictions)
		return error_set(e, EINVAL, "%s: its definitions contradict those left in %s", p->like_in.name,
				 p->in.name);
	if (!err && with.values > o->values) {
		o->values = with.values;
		return 0;
	}
	borrow_free(p->borrow);
	p->borrow = NULL;
	return err;
}

static int open_repaired(void *ctx, size_t i, struct pm_reader **reader, const char **name, struct error *e)
{
	struct repair *p = ctx;

	*name = p->in.name;
	return reading(p, reader, e);
}

static int run(void *input, const struct options_common *common)
{
	struct repair *p = input;
	char *inputs[] = { p->copy.files.path[0], p->like };
	struct rewrite_rules rules = { .history = p->history };
	struct rewrite_result r = { 0 };
	struct outcome o = { 0 };
	struct outfile out = { .fd = -1 };
	struct error e = { 0 };
	int err = spool_open(&p->in, p->copy.files.path[0], SPOOL_PLAIN, &e);

	if (!err && p->like)
		err = spool_open(&p->like_in, p->like, SPOOL_PLAIN, &e);
	if (!err)
		err = look_at_both(p, &o, &e);
	if (!err && !o.values)
		err = error_set(&e, EINVAL, "%s: no values can be read%s", p->in.name,
				p->like ? "" : "; --like=FILE may supply the definitions");
	snprintf(p->history, sizeof(p->history), "repaired: %zu damaged range%s, %llu byte%s%s%.80s", o.stretches,
		 plural(o.stretches), (unsigned long long)o.bytes, plural(o.bytes),
		 p->borrow ? "; definitions of " : "", p->borrow ? input_name(p->like_in.name) : "");
	if (!err)
		err = outfile_open(&out, p->copy.output, p->copy.overwrite | OUTFILE_BINARY | OUTFILE_PRIVATE, inputs,
				   p->like ? 2 : 1, &e);
	if (!err)
		err = rewrite_all(&rules, 1, open_repaired, p, outfile_write, &out, &r, &e);
	if (outfile_end(&out, err, &e))
		return cmd_fail(spec.name, &e);
	cmd_complain(spec.name, "%llu snapshot%s, %llu byte%s; %s", (unsigned long long)r.snapshots_out,
		     plural(r.snapshots_out), (unsigned long long)r.bytes, plural(r.bytes),
		     r.damages ? p->history : "nothing was damaged");
	r.damages = 0; /* said, and no failure here */
	return cmd_copied(spec.name, p->in.name, &r);
}

int cmd_repair(int argc, char **argv)
{
	struct repair p = { .copy.one = true, .in.fd = -1, .like_in.fd = -1 };
	int r = cmd_run(&spec, argc, argv, &p, run);

	borrow_free(p.borrow);
	spool_close(&p.in);
	spool_close(&p.like_in);
	return r;
}
