/* The commands of pmrep: a row here and one cmd_NAME.c each. The first is the default. */
#pragma once

/* clang-format off */
/* COMMAND(name, one line of help), in the order of `pmrep --help`. */
#define EACH_COMMAND(COMMAND) \
	COMMAND(show, "metrics, interval by interval or in total (the default command)") \
	COMMAND(incidents, "what happened, and when") \
	COMMAND(stat, "counts as perf stat prints them") \
	COMMAND(info, "what was recorded, on which machine, and what is missing and why") \
	COMMAND(list, "counters, metrics, events, instances or groups of a recording") \
	COMMAND(dump, "every frame and every raw value") \
	COMMAND(check, "verify every byte; list damage") \
	COMMAND(diff, "compare two sets of recordings: is the new one slower?") \
	COMMAND(cut, "copy part of a recording") \
	COMMAND(merge, "join consecutive recordings into one") \
	COMMAND(repair, "copy the readable part of a damaged recording") \
	COMMAND(redact, "copy a recording without the names of host, people and programs") \
	COMMAND(bundle, "redact a recording and shrink it for an attachment") \
	COMMAND(plot, "metrics over time, drawn in the terminal") \
	COMMAND(html, "one page of charts and tables that any browser opens") \
	COMMAND(eval, "the value of a metric expression")
/* clang-format on */

struct command {
	const char *name;
	const char *help;
	/* argv[0] is the command's name; the result is an exit code of report/exit.h. stdout is checked afterwards.
	 */
	int (*run)(int argc, char **argv);
};

#define DECLARE_COMMAND(name, help) int cmd_##name(int argc, char **argv);
EACH_COMMAND(DECLARE_COMMAND)
#undef DECLARE_COMMAND

/* pmrep without main(). */
int pmrep_run(int argc, char **argv);
