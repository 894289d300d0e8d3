#include "record/dump.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "record/commands.h"
#include "record/host/privileges.h"
#include "record/marksocket.h"
#include "record/pressure.h"

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
