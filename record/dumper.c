#include "record/dumper.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/options_table.h"
#include "common/parse.h"
#include "record/commands.h"
#include "record/host/privileges.h"
#include "record/marksocket.h"

/* What the kernel takes. */
#define WINDOW_MIN_US 500000
#define WINDOW_MAX_US 10000000

static int parse_us(const char *text, uint64_t *us)
{
	uint64_t ns;
	int err = parse_duration(text, &ns);

	*us = err ? 0 : ns / 1000;
	return err;
}

int pressure_parse(struct pressure *p, const char *text, struct error *e)
{
	char resource[8], extent[8], stall[16], window[16];
	int used = 0;

	*p = (struct pressure){ 0 };
	if (sscanf(text, "psi:%7[a-z]:%7[a-z]:%15[0-9.a-z]/%15[0-9.a-z]%n", resource, extent, stall, window, &used) !=
		    4 ||
	    text[used] || (strcmp(extent, "some") && strcmp(extent, "full")) || parse_us(stall, &p->stall_us) ||
	    parse_us(window, &p->window_us))
		return error_set(e, EINVAL,
				 "'%s' is not psi:memory|io|cpu:some|full:STALL/WINDOW, as in "
				 "psi:memory:some:150ms/2s",
				 text);
	if (p->window_us < WINDOW_MIN_US || p->window_us > WINDOW_MAX_US || !p->stall_us ||
	    p->stall_us > p->window_us)
		return error_set(e, EINVAL, "'%s': the window must be 0.5 to 10 s long, and the stall shorter", text);
	strcpy(p->resource, resource);
	p->full = !strcmp(extent, "full");
	return 0;
}

/* A descriptor that has POLLPRI at most once per window, or -errno. */
static int pressure_open(const struct pressure *p, struct error *e)
{
	char path[32], rule[64];
	int fd, len, err;

	snprintf(path, sizeof(path), "/proc/pressure/%s", p->resource);
	len = snprintf(rule, sizeof(rule), "%s %llu %llu", p->full ? "full" : "some", (unsigned long long)p->stall_us,
		       (unsigned long long)p->window_us);
	fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	/* The kernel expects the text with its terminating 0. */
	if (fd >= 0 && write(fd, rule, (size_t)len + 1) > 0)
		return fd;
	err = errno;
	if (fd >= 0)
		close(fd);
	if (err == EPERM || err == EACCES || err == EINVAL)
		return error_set(e, err,
				 "%s: '%s' is refused; without CAP_SYS_RESOURCE, the window must be 2, 4, 6, 8 or 10 "
				 "s, on Linux 6.5 or later",
				 path, rule);
	return err == ENOENT || err == EOPNOTSUPP ?
		       error_set(e, err, "this kernel does not monitor %s pressure", p->resource) :
		       error_sys(e, err, "%s", path);
}

int dumper_open(struct dumper *d, const struct record_options *o, struct error *e)
{
	for (char **text = o->output.dump_on; text && *text; text++) {
		struct pressure p;
		bool changed;
		int fd;

		if (d->n == DUMP_TRIGGERS)
			return error_set(e, E2BIG, "--dump-on: at most %d triggers", DUMP_TRIGGERS);
		fd = pressure_parse(&p, *text, e);
		changed = privileges_become_caller();
		if (!fd)
			fd = pressure_open(&p, e);
		privileges_become_self(changed);
		if (fd < 0)
			return error_prefix(e, "--dump-on");
		d->trigger[d->n++] = fd;
	}
	return 0;
}

unsigned dumper_watch(const struct dumper *d, struct pollfd *p)
{
	for (unsigned i = 0; i < d->n; i++)
		p[i] = (struct pollfd){ .fd = d->trigger[i], .events = POLLPRI };
	return d->n;
}

void dumper_close(struct dumper *d)
{
	child_signal(&d->child, SIGTERM);
	child_release(&d->child);
	while (d->n)
		close(d->trigger[--d->n]);
}

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

int dump_exec(pid_t pid, const char *since, const char *path, bool overwrite)
{
	char file[MESSAGE_FDS][32], *args[MESSAGE_FDS + 8];
	struct message_fds fds = { .n = 0 };
	struct error e = { 0 };
	SCOPED(buf_release) struct buf from = BUF_INIT;
	size_t n = 0;

	if (ask(pid, &fds, &e))
		return command_failed(&e);
	buf_printf(&from, "--since=%s", since ? since : "0");
	args[n++] = (char *)"pmrec dump";
	args[n++] = (char *)"merge";
	args[n++] = (char *)(uintptr_t)buf_str(&from);
	if (overwrite)
		args[n++] = (char *)"--overwrite";
	args[n++] = (char *)"-o";
	args[n++] = (char *)(uintptr_t)path;
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

/* ---- pmrec dump ---- */

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
