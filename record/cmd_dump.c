/* pmrec dump: the last minutes of a recorder at work, as a recording. */
#include <limits.h>

#include "common/options.h"
#include "common/parse.h"
#include "record/commands.h"
#include "record/dump.h"

enum { KEY_LAST = 1000, KEY_SINCE, KEY_PID, KEY_OVERWRITE };

static const struct argp_option options[] = {
	{ "output", 'o', "FILE", 0, "Output file; - is stdout", 0 },
	{ "last", KEY_LAST, "TIME", 0, "How far back: 10m, 30s; default: all that is kept", 0 },
	{ "since", KEY_SINCE, "TIME", 0, "From TIME on, as for pmrep cut", 0 },
	{ "pid", KEY_PID, "PID", 0, "Which recorder", 0 },
	{ "overwrite", KEY_OVERWRITE, NULL, 0, "Replace FILE", 0 },
	{ 0 },
};

struct dump {
	const char *output, *since;
	char last[32];
	pid_t pid;
	bool overwrite;
};

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct dump *d = state->input;
	uint64_t n;

	switch (key) {
	case 'o':
		d->output = arg;
		return 0;
	case KEY_LAST:
		if (parse_duration(arg, &n) || !n)
			return options_bad(state, "--last: '%s' is not a time", arg);
		snprintf(d->last, sizeof(d->last), "-%lluns", (unsigned long long)n);
		d->since = d->last;
		return 0;
	case KEY_SINCE:
		d->since = arg;
		return 0;
	case KEY_PID:
		if (parse_u64(arg, &n) || !n || n > INT_MAX)
			return options_bad(state, "--pid: '%s' is not a process number", arg);
		d->pid = (pid_t)n;
		return 0;
	case KEY_OVERWRITE:
		d->overwrite = true;
		return 0;
	case ARGP_KEY_ARG:
		return options_bad(state, "'%s': pmrec dump takes no operands; -o FILE names the output", arg);
	case ARGP_KEY_END:
		return d->output ? 0 : options_bad(state, "no output given; -o FILE names it, -o - is stdout");
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = { .options = options, .parser = parse_opt };

static const struct options_spec spec = {
	.name = "pmrec dump",
	.column = OPTIONS_OTHER,
	.argp = &argp,
	.brief = "Usage: pmrec dump [OPTION...] -o FILE\n\n"
		 "Copy the last minutes of a running recorder into a recording of their own. The recorder goes on.\n"
		 "pmrec --ring=10m is made for this; any other recorder that writes files will do.\n\n"
		 "  -o, --output=FILE      output file; - is stdout\n"
		 "      --last=TIME        how far back: 10m, 30s (default: all that is kept)\n"
		 "      --since=TIME       from TIME on: 2026-01-31T12:00:00Z, @SECONDS, -SECONDS before now\n"
		 "      --pid=PID          which recorder, if several are running\n"
		 "      --overwrite        replace FILE\n\n"
		 "Example:\n"
		 "  pmrec dump --last=2m -o - | pmrep -\n",
};

int cmd_dump(int argc, char **argv)
{
	struct options_common common = { 0 };
	struct error e = { 0 };
	struct dump d = { 0 };
	int code = options_parse(&spec, argc, argv, &d, &common, &e);

	if (code == 1)
		fputs(buf_str(&common.text), stdout);
	if (code == 0)
		code = dump_exec(d.pid, d.since, d.output, d.overwrite);
	else
		code = code < 0 ? command_failed(&e) : 0;
	options_common_release(&common);
	return code;
}
