/* pmrec dump: copies the last minutes out of a running recorder. It asks the recorder by its socket (marksocket.h)
 * for its files, and lets `pmrep merge` make one recording of them. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>

#include "common/options_table.h"
#include "record/commands.h"
#include "record/marksocket.h"

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

/* 0 or -errno. */
static int ask(pid_t pid, struct message_fds *fds, struct error *e)
{
	char refusal[256] = "";
	int n = marksocket_say(pid, "dump", fds, refusal, sizeof(refusal), e);

	if (n < 0)
		return n;
	if (n == 1 && fds->n)
		return 0;
	message_close_fds(fds);
	if (n > 1)
		return error_set(e, EINVAL, "%d recorders are running; choose one with --pid=PID", n);
	if (*refusal)
		return error_set(e, ENOENT, "%s", refusal);
	if (pid)
		return error_set(e, ESRCH, "process %d is not a recorder that you may dump", (int)pid);
	return error_set(e, ESRCH, "no recorder is running that you may dump");
}

/* Replaces this process by pmrep. Returns the exit code, only on failure. */
static int run_merge(const struct dump *d)
{
	char file[MESSAGE_FDS][32], *args[MESSAGE_FDS + 8];
	struct message_fds fds = { .n = 0 };
	struct error e = { 0 };
	SCOPED(buf_release) struct buf from = BUF_INIT;
	size_t n = 0;

	if (ask((pid_t)d->pid, &fds, &e))
		return command_failed(&e);
	if (d->last_ns)
		buf_printf(&from, "--since=-%lluns", (unsigned long long)d->last_ns);
	else
		buf_printf(&from, "--since=%s", d->since ? d->since : "0");
	args[n++] = (char *)"pmrec dump";
	args[n++] = (char *)"merge";
	args[n++] = (char *)(uintptr_t)buf_str(&from);
	if (d->overwrite)
		args[n++] = (char *)"--overwrite";
	args[n++] = (char *)"-o";
	args[n++] = (char *)(uintptr_t)d->output;
	args[n++] = (char *)"--";
	for (unsigned i = 0; i < fds.n; i++) {
		snprintf(file[i], sizeof(file[i]), "/proc/self/fd/%d", fds.fd[i]);
		fcntl(fds.fd[i], F_SETFD, 0);
		args[n++] = file[i];
	}
	args[n] = NULL;
	command_exec_pmrep(NULL, args, &e);
	message_close_fds(&fds);
	return command_failed(&e);
}

int cmd_dump(int argc, char **argv)
{
	SCOPED(options_common_release) struct options_common common = { 0 };
	struct dump d = { 0 };
	int code = command_options(&spec, argc, argv, &d, &common);

	return code < 0 ? run_merge(&d) : code;
}
