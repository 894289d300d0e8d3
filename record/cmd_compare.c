/* pmrec compare: runs two commands in turn, pair by pair, until pmrep diff decides or the maximum is reached. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/options_table.h"
#include "common/random.h"
#include "record/commands.h"
#include "record/host/privileges.h"

#define FIRST_LOOK 5 /* pairs; each further look has twice as many */
#define PAIRS      20
#define ALPHA      0.05

struct compare {
	const char *command[2], *folder, *gate, *margin;
	uint64_t pairs;
	bool quiet;
};

#define OPTIONS_INTO struct compare
static const struct option_row rows[] = {
	{ "repeat", 'r', "N", "run at most this many pairs (20)", AMOUNT(pairs, 1, 1000) },
	{ "gate", 0, "METRIC[:MARGIN],...", "judge these metrics (elapsed, cpu and max_rss)", TEXT(gate) },
	{ "margin", 0, "MARGIN", "the relative change that matters, such as 2% or 0.02", TEXT(margin) },
	{ "output", 'o', "DIR", "keep the recordings in DIR/a and DIR/b", TEXT(folder) },
	{ "quiet", 'q', NULL, "do not show progress on standard error", FLAG(quiet) },
	{ 0 },
};

static int take_commands(void *into, int n, char **operand, struct error *e)
{
	struct compare *c = into;

	if (n != 2)
		return error_set(e, EINVAL, "compare takes two commands, each in quotes: pmrec compare 'A' 'B'");
	c->command[0] = operand[0];
	c->command[1] = operand[1];
	return 0;
}

static const struct options_spec spec = {
	.name = "pmrec compare",
	.rows = rows,
	.operands = take_commands,
	.operands_doc = "'A' 'B'",
	.brief = "Usage: pmrec compare [OPTION...] 'A' 'B'\n"
		 "Run both commands alternately, in pairs, until it is clear whether B is slower than "
		 "A.\n\n" OPTIONS_LIST "\n"
		 "Exit status: 0 B is not slower, 1 it is slower or a command failed, 4 undecided, 125 error.\n\n"
		 "Examples:\n"
		 "  pmrec compare './old --bench' './new --bench'\n"
		 "  pmrec compare --gate=elapsed:1% -o runs 'make -j4' 'make -j8'\n",
};

/* Runs pmrep in `folder`, or pmrec if that is NULL: the status, 128 plus the number of a signal, or -errno. `quiet`:
 * discard its standard output. */
static int run(const char *const *args, bool quiet, const char *folder)
{
	char *const *argv = (char *const *)args;
	pid_t pid = fork();
	int status;

	if (!pid) {
		int fd = quiet ? open("/dev/null", O_WRONLY) : -1;
		struct error e = { 0 };

		if (fd >= 0)
			dup2(fd, STDOUT_FILENO);
		if (folder && !chdir(folder)) {
			command_exec_pmrep(NULL, argv, &e);
		} else if (!folder && !privileges_for_child()) {
			/* Each run finds the same input: a file from its beginning, or nothing. */
			if (lseek(STDIN_FILENO, 0, SEEK_SET) && (fd = open("/dev/null", O_RDONLY)) >= 0)
				dup2(fd, STDIN_FILENO);
			execv("/proc/self/exe", argv);
		}
		_exit(EXIT_OWN);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	if (pid < 0)
		return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* FOLDER/a/0001.pmr, or with pair 0 the folder of the side. */
static void put_path(char path[static PATH_MAX], const char *folder, int side, uint64_t pair)
{
	int n = snprintf(path, PATH_MAX, "%s/%c", folder, 'a' + side);

	if (pair)
		snprintf(path + n, (size_t)(PATH_MAX - n), "/%04u.pmr", (unsigned)pair);
}

static int record(const struct compare *c, const char *folder, int side, uint64_t pair)
{
	char path[PATH_MAX];
	const char *args[] = { "pmrec", "--quiet", c->gate ? "--sources=-tasks" : "--sources=stat",
			       "-o",    path,      "--",
			       "sh",    "-c",      c->command[side],
			       NULL };

	put_path(path, folder, side, pair);
	return run(args, true, NULL);
}

static int judge(const struct compare *c, const char *folder, double alpha, bool quiet)
{
	char share[32];
	const char *gate = c->gate ? c->gate : "command.elapsed,command.cpu,command.max_rss";
	const char *args[] = { "pmrep",   "diff",     "--pairs",
			       share,     "--base=a", "--new=b",
			       "--gate",  gate,       c->margin ? "--margin" : NULL,
			       c->margin, NULL };

	snprintf(share, sizeof(share), "--alpha=%g", alpha);
	/* There, so that no temporary folder is named. */
	return run(args, quiet, folder);
}

/* Runs pairs in random order. Returns diff's status once it is sure or no pairs are left, or -errno. */
static int compare(const struct compare *c, const char *folder)
{
	unsigned looks = 1;
	double alpha;
	int status = 0;

	/* The permitted error rate is shared among all looks. */
	for (uint64_t at = FIRST_LOOK; at < c->pairs; at *= 2)
		looks++;
	alpha = ALPHA / looks;
	for (uint64_t pair = 1, look = FIRST_LOOK; pair <= c->pairs; pair++) {
		uint8_t coin = 0;
		int err = random_bytes(&coin, 1);

		if (err)
			return err;
		for (int turn = 0; turn < 2 && status >= 0; turn++) {
			int one = record(c, folder, turn ^ (coin & 1), pair);

			status = one ? one : status;
		}
		if (!c->quiet)
			fprintf(stderr, "pmrec compare: pair %u of at most %u\n", (unsigned)pair, (unsigned)c->pairs);
		if (status < 0 || (status >= EXIT_OWN && status <= EXIT_NO_COMMAND))
			return status;
		/* A command that failed has no comparable time, and diff says so. */
		if (status || pair == c->pairs)
			break;
		if (pair == look) {
			if (judge(c, folder, alpha, true) != 4)
				break;
			look *= 2;
		}
	}
	return judge(c, folder, alpha, false);
}

static void remove_all(const char *folder, uint64_t pairs)
{
	char path[PATH_MAX];

	for (int side = 0; side < 2; side++)
		for (uint64_t pair = pairs + 1; pair--;) {
			put_path(path, folder, side, pair);
			remove(path);
		}
	rmdir(folder);
}

int cmd_compare(int argc, char **argv)
{
	struct compare c = { .pairs = PAIRS };
	SCOPED(options_common_release) struct options_common common = { 0 };
	struct error e = { 0 };
	char made[PATH_MAX], path[PATH_MAX];
	const char *tmp = getenv("TMPDIR"), *folder;
	int code = command_options(&spec, argc, argv, &c, &common);

	if (code >= 0)
		return code;
	snprintf(made, sizeof(made), "%.4000s/pmrec-compare-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	folder = c.folder ? c.folder : mkdtemp(made);
	code = folder && strlen(folder) > 4000                                 ? -ENAMETOOLONG :
	       !folder || (c.folder && mkdir(folder, 0777) && errno != EEXIST) ? -errno :
										 0;
	for (int side = 0; side < 2 && !code; side++) {
		put_path(path, folder, side, 0);
		code = mkdir(path, 0777) ? -errno : 0;
	}
	if (code)
		error_sys(&e, -code, "%s", c.folder ? c.folder : made);
	else if ((code = compare(&c, folder)) < 0)
		error_sys(&e, -code, "compare");
	if (!c.folder && folder)
		remove_all(folder, c.pairs);
	return code < 0 ? command_failed(&e) : code;
}
