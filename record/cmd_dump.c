/* pmrec dump: copies the last minutes of a running recorder into a recording. */
#include <errno.h>
#include <limits.h>

#include "common/options_table.h"
#include "record/commands.h"
#include "record/dump.h"

struct dump {
	const char *output, *since;
	uint64_t last_ns;
	uint32_t pid;
	bool overwrite;
};

#define OPTIONS_INTO struct dump
static const struct option_row rows[] = {
	{ "output", 'o', "FILE", "output file; - is stdout", TEXT(output) },
	{ "last", 0, "TIME", "how far back from now: 10m, 30s (default: everything kept)", TIME(last_ns, 1) },
	{ "since", 0, "TIME", "only snapshots from TIME on: 2026-01-31T12:00:00Z, @SECONDS, or -SECONDS before now",
	  TEXT(since) },
	{ "pid", 0, "PID", "the process id of the recorder, if several are running", AMOUNT(pid, 1, INT_MAX) },
	{ "overwrite", 0, NULL, "replace FILE", FLAG(overwrite) },
	{ 0 },
};

static int no_operands(void *into, int n, char **operand, struct error *e)
{
	const struct dump *d = into;

	if (n)
		return error_set(e, EINVAL, "'%s': pmrec dump takes no operands; -o FILE names the output",
				 operand[0]);
	return d->output ? 0 : error_set(e, EINVAL, "no output given; -o FILE names it, -o - is stdout");
}

static const struct options_spec spec = {
	.name = "pmrec dump",
	.rows = rows,
	.operands = no_operands,
	.brief = "Usage: pmrec dump [OPTION...] -o FILE\n\n"
		 "Copy the last minutes of a running recorder into a separate recording. The recorder keeps "
		 "running.\n"
		 "Meant for pmrec --ring=10m; works with any recorder that writes to a file.\n\n" OPTIONS_LIST "\n"
		 "Example:\n"
		 "  pmrec dump --last=2m -o - | pmrep -\n",
};

int cmd_dump(int argc, char **argv)
{
	SCOPED(options_common_release) struct options_common common = { 0 };
	struct dump d = { 0 };
	char last[32];
	int code = command_options(&spec, argc, argv, &d, &common);

	if (d.last_ns) {
		snprintf(last, sizeof(last), "-%lluns", (unsigned long long)d.last_ns);
		d.since = last;
	}
	if (code < 0)
		code = dump_exec((pid_t)d.pid, d.since, d.output, d.overwrite);
	return code;
}
