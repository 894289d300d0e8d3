/* Words that turbostat and perf stat refuse or ignore, by their values and in combination. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cpulist.h"
#include "record/host/interruptible.h"
#include "record/host/privileges.h"
#include "record/host/root.h"
#include "record/personality.h"

enum {
	INVALID = 234, /* perf 6.1's -EINVAL, as a status */
	INVALID_NEWER = 22,
	FAILED = 255,
	FAILED_ONCE = 256, /* 255 in perf 6.1, 1 in 7.2 */
	MISTYPED = 129,    /* a value of another type */
};

/* ---- values ---- */

/* Reads an integer; false if the text is not one. */
static bool number(const char *text, long *value)
{
	char *end;

	*value = text ? strtol(text, &end, 0) : 0;
	return text && *text && !*end;
}

static long number_of(const struct asked *a, const char *name)
{
	long value;

	number(personality_given(a, name), &value);
	return value;
}

static bool given(const struct asked *a, const char *name)
{
	return personality_given(a, name);
}

/* Whether a list of ids contains one that no process, or thread, can have. */
static bool nobody(const char *list)
{
	do {
		char *end;
		long id = strtol(list, &end, 10);

		if (end == list || id <= 0 || (kill((pid_t)id, 0) && errno == ESRCH))
			return true;
		list = end + (*end == ',');
	} while (*list);
	return false;
}

static bool has_command(const struct asked *a)
{
	return *a->command;
}

static bool counts_places(const struct asked *a)
{
	static const char *const place[] = { "no-aggr",  "per-socket", "per-die", "per-cluster",    "per-cache",
					     "per-core", "per-node",   "cgroup",  "for-each-cgroup" };
	bool any = false;

	any |= a->newer && given(a, "no-merge");
	for (size_t i = 0; i < sizeof(place) / sizeof(place[0]); i++)
		any |= given(a, place[i]);
	return any && (*a->command || given(a, "pid") || given(a, "tid"));
}

static bool log_closed(const struct asked *a)
{
	return fcntl((int)number_of(a, "log-fd"), F_GETFD) < 0;
}

static bool no_terminal(const struct asked *a)
{
	return given(a, "output") || !isatty(given(a, "log-fd") ? (int)number_of(a, "log-fd") : STDERR_FILENO);
}

static bool repeat_negative(const struct asked *a)
{
	return number_of(a, "repeat") < 0;
}

static bool records(const struct asked *a)
{
	return a->records;
}

static bool control_unknown(const struct asked *a)
{
	const char *to = personality_given(a, "control");
	char fifo[PATH_MAX];

	snprintf(fifo, sizeof(fifo), "%.*s", (int)strcspn(to, ","), to);
	return strncmp(to, "fd:", 3) && (strncmp(to, "fifo:", 5) || access(fifo + 5, F_OK));
}

static bool cache_unknown(const struct asked *a)
{
	const char *level = personality_given(a, "per-cache");

	return *level && (!strchr("lL", level[0]) || !strchr("1234", level[1]) || strlen(level) != 2);
}

static bool tpebs_unknown(const struct asked *a)
{
	const char *mode = personality_given(a, "tpebs-mode");

	return strcmp(mode, "mean") && strcmp(mode, "min") && strcmp(mode, "max") && strcmp(mode, "last");
}

static bool cpus_malformed(const struct asked *a)
{
	const char *text = personality_given(a, "cpu");
	SCOPED(cpulist_release) struct cpulist cpus = { 0 };
	struct error e = { 0 };
	bool bad = cpulist_parse(&cpus, text, !a->who->perf, &e);

	return bad && (a->who->perf || (strcmp(text, "core") && strcmp(text, "package")));
}

static bool no_process(const struct asked *a)
{
	return nobody(personality_given(a, "pid"));
}

static bool no_thread(const struct asked *a)
{
	return nobody(personality_given(a, "tid"));
}

/* A rule is broken if all words of `all` were given, none of `none`, `broken` agrees, and the number after `all` is
 * below `least`. In the order in which the programs check. */
static const struct rule {
	bool perf;
	int status;
	const char *all, *none;
	bool (*broken)(const struct asked *a);
	const char *text;
	double least; /* 0: any number will do */
} rules[] = {
	{ true, INVALID, "output log-fd", "", NULL, "--output and --log-fd are mutually exclusive" },
	{ true, INVALID, "log-fd", "", NULL, "--log-fd: a number above 0 is needed", 1 },
	{ true, INVALID, "log-fd", "", log_closed, "--log-fd: the descriptor is not open" },
	{ true, FAILED_ONCE, "interval-clear", "", no_terminal, "--interval-clear needs a terminal" },
	{ true, INVALID, "table", "repeat", NULL, "--table needs --repeat" },
	{ true, INVALID, "repeat", "", repeat_negative, "--repeat: a number of runs is needed; 0 repeats forever" },
	{ true, FAILED, "repeat", "", records, "record takes no --repeat" },
	{ true, INVALID, "big-num field-separator", "", NULL,
	  "--big-num is for the table, not for --field-separator" },
	{ true, INVALID, "cpu", "", cpus_malformed, "--cpu: a list such as 0-3,8 is needed" },
	{ true, INVALID, "pid", "", no_process, "--pid: there is no such process" },
	{ true, FAILED_ONCE, "tid", "pid", no_thread, "--tid: there is no such thread" },
	{ true, INVALID, "per-thread", "pid tid all-cpus", has_command,
	  "--per-thread needs --pid, --tid or --all-cpus, not a command alone" },
	{ true, INVALID, "per-thread cpu", "pid tid", NULL, "--per-thread and --cpu are mutually exclusive" },
	{ true, INVALID, "", "all-cpus cpu", counts_places, "cgroups and places of CPUs need --all-cpus or --cpu" },
	{ true, INVALID, "interval-count", "interval-print", NULL, "--interval-count needs --interval-print" },
	{ true, INVALID, "timeout interval-print", "", NULL,
	  "--timeout and --interval-print are mutually exclusive" },
	{ true, INVALID, "timeout", "", NULL, "--timeout: must be at least 10 ms", 10 },
	{ true, MISTYPED, "control", "", control_unknown,
	  "--control: fd:CTL[,ACK] or fifo:CTL[,ACK] is needed, of fifos that exist" },
	{ true, MISTYPED, "per-cache", "", cache_unknown, "--per-cache: L1 to L4 is needed" },
	{ true, MISTYPED, "tpebs-mode", "", tpebs_unknown, "--tpebs-mode: mean, min, max or last is needed" },
	{ true, INVALID, "iostat json-output", "", NULL,
	  "--iostat has no JSON; --field-separator separates its columns" },
	{ false, 2, "interval", "", NULL, "--interval: must be at least 0.001 s", .001 },
	{ false, 2, "num_iterations", "", NULL, "--num_iterations: a number above 0 is needed", 1 },
	{ false, 2, "header_iterations", "", NULL, "--header_iterations: a number above 0 is needed", 1 },
	{ false, FAILED, "cpu", "", cpus_malformed, "--cpu: core, package or a list such as 0-3,8 is needed" },
};

static bool some_given(const struct asked *a, const char *words, bool all)
{
	char name[32];
	size_t n = 0, found = 0;

	for (; *words; words += strcspn(words, " "), words += *words == ' ', n++) {
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(words, " "), words);
		found += given(a, name);
	}
	return all ? found == n : found;
}

static bool is_broken(const struct rule *r, const struct asked *a)
{
	return r->perf == a->who->perf && some_given(a, r->all, true) && !some_given(a, r->none, false) &&
	       (!r->broken || r->broken(a)) &&
	       (r->least == 0 || strtod(personality_given(a, r->all), NULL) < r->least);
}

/* ---- what perf ignores ---- */

/* Words with integer values; below one, some count as not given. */
static const struct {
	const char *name, *record, *report;
	bool natural, idle;
} numbers[] = {
	{ "repeat", NULL, NULL, false, false },          { "log-fd", NULL, NULL, false, false },
	{ "interval-print", "-I", "--all", true, true }, { "interval-count", "-n", NULL, false, true },
	{ "timeout", "--timeout", NULL, true, true },
};

static int check_numbers(struct asked *a)
{
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		const char *text = personality_given(a, numbers[i].name);
		long value;

		if (text && (!number(text, &value) || (value < 0 && numbers[i].natural))) {
			fprintf(stderr, "%s: --%s: '%s' is not a number\n", a->who->name, numbers[i].name, text);
			return MISTYPED;
		}
		if (!text || !numbers[i].idle || value > 0)
			continue;
		personality_forget(a, numbers[i].name);
		personality_drop(&a->record, numbers[i].record, 1);
		if (numbers[i].report)
			personality_drop(&a->report, numbers[i].report, 0);
	}
	return 0;
}

/* Of several options for rows the older perf takes the last, the newer the first in this order. */
static void choose_place(struct asked *a)
{
	static const char *const place[] = { "no-aggr",     "per-thread", "per-core",   "per-cache",
					     "per-cluster", "per-die",    "per-socket", "per-node" };
	bool found = false;

	for (size_t i = 0; i < sizeof(place) / sizeof(place[0]); i++) {
		const char *argument = personality_given(a, place[i]);
		char word[64];

		if (argument && found) {
			snprintf(word, sizeof(word), "--%s%s%s", place[i], *argument ? "=" : "", argument);
			personality_drop(&a->report, word, 0);
		}
		found |= argument != NULL;
	}
}

/* perf 7 has metrics of the vendor for it; where the kernel names events of slots, these do. */
static void choose_topdown(struct asked *a)
{
	static const char *const event[] = { "retiring", "retiring", "heavy-ops" };
	long level = number_of(a, "td-level");
	SCOPED(root_release) struct root root = { 0 };
	char group[32];

	if (root_init(&root, personality_given(a, "root")))
		abort();
	for (size_t i = 0; level >= 0 && level < 3 && i < 2; i++)
		if (root_exists(&root, "/sys/bus/event_source/devices/cpu%s/events/topdown-%s", i ? "_core" : "",
				event[level]))
			return;
	snprintf(group, sizeof(group), "TopdownL%ld", level ? level : 1);
	personality_drop(&a->record, "--topdown", 0);
	personality_drop(&a->record, "--td-level", 1);
	personality_add(&a->record, "-M");
	personality_add(&a->record, group);
}

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
	if (given(a, "timeout") && number_of(a, "timeout") < 100)
		fputs("timeout < 100ms. The overhead percentage could be high in some cases. Please proceed with "
		      "caution.\n",
		      stderr);
	/* Since perf 6.2 it is another word for -A. */
	if (a->newer && given(a, "no-merge"))
		personality_add(&a->report, "--no-aggr");
	if (a->newer)
		choose_place(a);
	/* Those of -d add to the others, and need no second word. */
	if (given(a, "event") || given(a, "metrics"))
		personality_drop(&a->report, "-d", 0);
	if (given(a, "event") || given(a, "metrics"))
		personality_drop(&a->record, "--null", 0);
	if (!given(a, "topdown")) {
		personality_drop(&a->record, "--td-level", 1);
		personality_drop(&a->report, "--td-level", 1);
	} else if (a->newer) {
		choose_topdown(a);
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

/* Checks before anything runs, as they do, whether a file can be written. */
static int check_file(const struct asked *a, const char *name, int status)
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
	return fd < 0 ? status : 0;
}

int personality_invalid(const struct asked *a)
{
	return a->newer ? INVALID_NEWER : INVALID;
}

int personality_check(struct asked *a)
{
	int status = a->who->perf ? check_numbers(a) : 0;

	for (size_t i = 0; !status && i < sizeof(rules) / sizeof(rules[0]); i++)
		if (is_broken(&rules[i], a)) {
			fprintf(stderr, "%s: %s\n", a->who->name, rules[i].text);
			status = rules[i].status == INVALID     ? personality_invalid(a) :
				 rules[i].status != FAILED_ONCE ? rules[i].status :
				 a->newer                       ? 1 :
								  FAILED;
		}
	if (!status && a->who->perf)
		drop_idle(a);
	if (!status)
		status = check_file(a, a->who->perf ? "output" : "out", a->newer ? 1 : a->who->output_status);
	return status ? status : check_file(a, "keep", a->who->output_status);
}
