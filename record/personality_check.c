/* Words that turbostat and perf stat refuse or ignore beside others. What a recorder or a report refuses by itself is
 * left to it. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/host/process.h"
#include "record/host/privileges.h"
#include "record/personality.h"

static bool given(const struct asked *a, const char *name)
{
	return personality_given(a, name);
}

static bool counts_places(const struct asked *a)
{
	static const char *const place[] = { "no-aggr",  "per-socket", "per-die", "per-cluster",    "per-cache",
					     "per-core", "per-node",   "cgroup",  "for-each-cgroup" };
	bool any = false;

	for (size_t i = 0; i < sizeof(place) / sizeof(place[0]); i++)
		any |= given(a, place[i]);
	return any;
}

/* Returns what is wrong with words that the recorder and the report would take, or run a command before they refuse;
 * NULL: nothing. */
static const char *what_is_wrong(const struct asked *a)
{
	const char *interval = personality_given(a, "interval"), *fd = personality_given(a, "log-fd");

	if (!a->who->perf)
		return interval && strtod(interval, NULL) < .001 ? "--interval: must be at least 0.001 s" : NULL;
	if (fd && given(a, "output"))
		return "--output and --log-fd are mutually exclusive: give one";
	if (fd && (atoi(fd) <= STDIN_FILENO || fcntl(atoi(fd), F_GETFD) < 0))
		return "--log-fd: the number of an open descriptor above 0 is needed";
	if (given(a, "big-num") && given(a, "field-separator"))
		return "--big-num is for the table, not for --field-separator: omit one";
	if (given(a, "iostat") && given(a, "json-output"))
		return "--iostat has no JSON; --field-separator separates its columns";
	if (counts_places(a) && !given(a, "all-cpus") && !given(a, "cpu") &&
	    (*a->command || given(a, "pid") || given(a, "tid")))
		return "counts of cgroups and of places need CPUs: add --all-cpus or --cpu";
	return NULL;
}

/* perf takes 0 for these as if they were not given. */
static void drop_zeros(struct asked *a)
{
	static const struct {
		const char *name, *record, *report;
	} zero[] = { { "interval-print", "-I", "--all" },
		     { "interval-count", "-n", "" },
		     { "timeout", "--timeout", "" } };

	for (size_t i = 0; i < sizeof(zero) / sizeof(zero[0]); i++) {
		const char *text = personality_given(a, zero[i].name);

		if (!text || strcmp(text, "0"))
			continue;
		personality_forget(a, zero[i].name);
		personality_drop(&a->record, zero[i].record, 1);
		personality_drop(&a->report, zero[i].report, 0);
	}
}

/* perf ignores words that have no effect beside others, or without them; the recorder and the report refuse them. */
static void drop_idle(struct asked *a)
{
	bool tasks = given(a, "pid") || given(a, "tid");

	if (tasks && (given(a, "all-cpus") || given(a, "cpu"))) {
		fprintf(stderr, "PID/TID switch overriding %s\n", given(a, "cpu") ? "CPU" : "SYSTEM");
		personality_drop(&a->record, "-a", 0);
		personality_drop(&a->record, "-C", 1);
	}
	if (given(a, "pid"))
		personality_drop(&a->record, "-t", 1);
	if (!given(a, "output")) {
		personality_drop(&a->record, "--append", 0);
		personality_drop(&a->report, "--append", 0);
	}
	/* Events of -d add to the others, and need no second word. */
	if (given(a, "event") || given(a, "metrics")) {
		personality_drop(&a->report, "-d", 0);
		personality_drop(&a->record, "--null", 0);
	}
	if (!given(a, "topdown")) {
		personality_drop(&a->record, "--td-level", 1);
		personality_drop(&a->report, "--td-level", 1);
	}
}

/* Waits for a reader, as they do, and stays open: who opens it later need not wait, and could not be told to end. */
static int open_fifo(const char *path)
{
	sigset_t before;
	int fd;

	interruptible_begin(&before);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	interruptible_end(&before);
	return fd;
}

/* Checks before anything runs whether a file can be written: 0, or 1 with the error printed. */
static int check_file(const struct asked *a, const char *name)
{
	const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
	const char *path = personality_given(a, name);
	struct stat st = { 0 }, link;
	bool changed, there, fresh;
	int fd = STDIN_FILENO;

	if (!path || !strcmp(path, "-"))
		return 0;
	/* Root may write in other users' directories. */
	changed = privileges_become_caller();
	there = !stat(path, &st);
	fresh = lstat(path, &link);
	if (there && S_ISFIFO(st.st_mode))
		fd = open_fifo(path);
	else if (!there || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
		fd = open(path, flags, 0600);
	if (fd < 0)
		fprintf(stderr, "%s: cannot write '%s': %s\n", a->who->name, path, strerror(errno));
	else if (fd != STDIN_FILENO && !S_ISFIFO(st.st_mode))
		close(fd);
	if (fd > STDIN_FILENO && fresh)
		unlink(path);
	privileges_become_self(changed);
	return fd < 0;
}

int personality_check(struct asked *a)
{
	const char *wrong;

	if (a->who->perf)
		drop_zeros(a);
	wrong = what_is_wrong(a);
	if (wrong) {
		fprintf(stderr, "%s: %s\n", a->who->name, wrong);
		return a->who->usage_status;
	}
	if (a->who->perf)
		drop_idle(a);
	return check_file(a, a->who->perf ? "output" : "out") || check_file(a, "keep");
}
