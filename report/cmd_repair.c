/* pmrep repair: copies the readable part of a damaged recording. */
#include "report/cmd_copy.h"

#include <errno.h>
#include <stdio.h>

#include "report/info/scan.h"
#include "report/input/spool.h"
#include "report/machine/value_out.h"

static const char brief[] =
	"Usage: pmrep repair [OPTION...] -o OUT.pmr FILE\n"
	"Copy the readable part of a damaged recording into one without damage.\n\n"
	"Lost data stays lost: the copy notes where, and no value is computed across a gap.\n\n" OPTIONS_LIST "\n"
	"Example:\n"
	"  pmrep repair -o good.pmr broken.pmr\n";

struct repair {
	struct cmd_copy copy;
	struct spool in;
	char history[200];
};

#define OPTIONS_INTO struct repair
static const struct option_row rows[] = { CMD_COPY_OPTIONS, { 0 } };

static const struct options_spec spec = {
	.name = "pmrep repair",
	.rows = rows,
	.operands = cmd_copy_files,
	.operands_doc = "FILE",
	.brief = brief,
};

static int run(void *input, const struct options_common *common)
{
	struct repair *p = input;
	struct rewrite_rules rules = { .history = p->history };
	struct rewrite_result r = { 0 };
	SCOPED(scan_release) struct scan scan = { 0 };
	struct pm_reader *reader;
	struct outfile out = { .fd = -1 };
	struct error e = { 0 };
	uint64_t bytes = 0;
	int err = spool_open(&p->in, p->copy.files.path[0], SPOOL_PLAIN, &e);

	if (!err)
		err = spool_reader(&reader, &p->in, &e);
	if (!err)
		err = scan_reader(&scan, reader, p->in.name, SCAN_VALUES, &e);
	if (!err && !scan.values)
		err = error_set(&e, EINVAL, "%s: no values can be read", p->in.name);
	for (size_t i = 0; i < scan.n_damage; i++)
		bytes += scan.damage[i].length;
	snprintf(p->history, sizeof(p->history), "repaired: %zu damaged range%s, %llu byte%s", scan.n_damage,
		 plural(scan.n_damage), (unsigned long long)bytes, plural(bytes));
	if (!err)
		err = cmd_copy_open(&p->copy, OUTFILE_PRIVATE, &out, &e);
	if (!err)
		err = rewrite_all(&rules, 1, rewrite_spool, &p->in, outfile_write, &out, &r, &e);
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
	struct repair p = { .copy.one = true, .in.fd = -1 };
	int r = cmd_run(&spec, argc, argv, &p, run);

	spool_close(&p.in);
	return r;
}
