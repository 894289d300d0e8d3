/* pmrec turbostat and pmrec perfstat: takes the words of those programs, and joins a recorder that is told them in its
 * own to a pmrep that prints what they would have. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/buf.h"
#include "record/commands.h"
#include "record/host/opener.h"
#include "record/host/privileges.h"
#include "record/joined.h"

struct word {
	const char *name;
	int letter, argument;
	bool later; /* only the later generation has it */
	const char *record, *report;
};

#define WORD(...) { __VA_ARGS__ },
static const struct word turbostat_words[] = {
#define TURBOSTAT_WORDS
#include "record/words.def"
#undef TURBOSTAT_WORDS
};
#define WORD(...) { __VA_ARGS__ },
static const struct word perfstat_words[] = {
#define PERFSTAT_WORDS
#include "record/words.def"
};

#define MAX_WORDS 96

/* What is said of a program where it differs from the other. */
struct personality {
	const char *name, *usage;
	const struct word *word;
	size_t n_words;
	const char *older, *newer; /* generations, as --as has them */
	bool single_dash;          /* -interval is --interval */
	int usage_status;          /* of words that it does not know */
	const char *record, *report, *report_newer;
};

static const struct personality turbostat = {
	.name = "turbostat",
	.usage = "[OPTIONS][(--interval seconds) | COMMAND ...]",
	.word = turbostat_words,
	.n_words = sizeof(turbostat_words) / sizeof(turbostat_words[0]),
	.older = "2022",
	.newer = "2026",
	.single_dash = true,
	.usage_status = 1,
	.record = "-a -e instructions "
		  "--sources=perf,msr,add,cpuidle,cpufreq,interrupts,throttle,powercap,gfx,uncorefreq,lpi,pmt -i 5",
	.report = "show --format=turbostat",
	.report_newer = "show --format=turbostat=2026",
};

static const struct personality perfstat = {
	.name = "perf stat",
	.usage = "[<options>] [<command>]",
	.word = perfstat_words,
	.n_words = sizeof(perfstat_words) / sizeof(perfstat_words[0]),
	.older = "6.1",
	.newer = "7.2",
	.usage_status = 129,
	.record = "--sources=perf -i 0",
	.report = "stat --quiet --metric-style=classic",
	.report_newer = "stat --quiet --metric-style=named",
};

struct list {
	char **word;
	size_t n;
};

struct asked {
	const struct personality *who;
	bool newer;
	struct list record, report; /* pieces of the tables are owned by nobody: the process ends with them */
	const char *out, *keep, *log_fd, *input;
	bool append, list, dump, help, version, quiet, data;
	char **command;
};

static void add(struct list *l, const char *text)
{
	char **more = realloc(l->word, (l->n + 2) * sizeof(*more));

	if (!more)
		abort();
	l->word = more;
	more[l->n++] = strdup(text);
	more[l->n] = NULL;
}

/* Puts the words of a row in, with the argument at its '%'. */
static void add_words(struct list *l, const char *words, const char *argument)
{
	struct buf text = BUF_INIT;

	while (words && *words) {
		size_t len = strcspn(words, " ");

		text.len = 0;
		for (size_t i = 0; i < len; i++)
			if (words[i] != '%')
				buf_addch(&text, words[i]);
			else if (argument)
				buf_printf(&text, "%s%s", len > 3 ? "=" : "", argument);
		add(l, buf_str(&text));
		words += len + (words[len] == ' ');
	}
	buf_release(&text);
}

static bool has(const struct list *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->word[i], name))
			return true;
	return false;
}

/* Takes an option out again, and so many words behind it. */
static void forget(struct list *l, const char *name, size_t arguments)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->word[i], name))
			i += arguments;
		else
			l->word[kept++] = l->word[i];
	l->word[l->n = kept] = NULL;
}

static void take(struct asked *a, const struct word *w, const char *argument)
{
	/* turbostat's first --show leaves nothing of what was enabled before it. */
	if (!strcmp(w->name, "show") && !has(&a->report, "--show"))
		forget(&a->report, "--enable", 1);
	add_words(&a->record, w->record, argument);
	add_words(&a->report, w->report, argument);
	a->out = !strcmp(w->name, "out") || !strcmp(w->name, "output") ? argument : a->out;
	a->keep = !strcmp(w->name, "keep") ? argument : a->keep;
	a->log_fd = !strcmp(w->name, "log-fd") ? argument : a->log_fd;
	a->input = !strcmp(w->name, "input") ? argument : a->input;
	a->append |= !strcmp(w->name, "append");
	a->list |= !strcmp(w->name, "list");
	a->dump |= !strcmp(w->name, "Dump");
	a->help |= !strcmp(w->name, "help");
	a->version |= !strcmp(w->name, "version");
	a->quiet |= !strcmp(w->name, "quiet");
}

/* 0, or what getopt_long() had against a word: it says so itself, if `loud`. */
static int parse(struct asked *a, int argc, char **argv, bool later, bool loud)
{
	struct option option[MAX_WORDS] = { 0 };
	char letters[3 * MAX_WORDS] = "+", *end = letters + 1;
	size_t of[MAX_WORDS], n = 0;
	int c, place;

	for (size_t i = 0; i < a->who->n_words; i++) {
		const struct word *w = &a->who->word[i];

		if (w->later && !later)
			continue;
		of[n] = i;
		option[n++] = (struct option){ w->name, w->argument, NULL, 256 };
		for (int k = 0; w->letter && k < 1 + (w->argument == required_argument); k++)
			*end++ = (char)(k ? ':' : w->letter);
	}
	optind = 0;
	opterr = loud && a->who->single_dash;
	while ((c = (a->who->single_dash ? getopt_long_only : getopt_long)(argc, argv, letters, option, &place)) >=
	       0) {
		size_t i = 0;

		if (c == '?') {
			if (loud && !a->who->single_dash)
				fprintf(stderr, "  Error: unknown option `%s'\n\n ", argv[optind - 1] + 2);
			return -EINVAL;
		}
		if (c == 256)
			i = of[place];
		else
			while (a->who->word[i].letter != c)
				i++;
		take(a, &a->who->word[i], optarg);
	}
	a->command = argv + optind;
	return 0;
}

static void begin(struct asked *a)
{
	a->record.n = a->report.n = 0;
	a->append = a->list = a->dump = a->help = a->version = a->quiet = false;
	a->out = a->log_fd = a->input = NULL;
	add(&a->record, "pmrec");
	add_words(&a->record, "--quiet --privacy=full -o -", NULL);
	add_words(&a->record, a->who->record, NULL);
	add(&a->report, "pmrep");
	add_words(&a->report, a->newer ? a->who->report_newer : a->who->report, NULL);
}

static int usage(const struct asked *a)
{
	fprintf(stderr, "Usage: %s %s\n", a->who->name, a->who->usage);
	for (size_t i = 0; i < a->who->n_words; i++) {
		const struct word *w = &a->who->word[i];

		fprintf(stderr, w->letter ? "    -%c, --%s%s\n" : "%.0d        --%s%s\n", w->letter, w->name,
			w->argument == no_argument ? "" : " ...");
	}
	fputs("\nThe options mean what they mean there; what differs: man pmrec-turbostat\n", stderr);
	return a->who->usage_status;
}

/* Which generation is wanted has to be known before words are. */
static int choose_generation(struct asked *a, int argc, char **argv)
{
	for (int i = 1; i < argc && argv[i][0] == '-' && strcmp(argv[i], "--"); i++) {
		if (strncmp(argv[i], "--as=", 5))
			continue;
		a->newer = !strcmp(argv[i] + 5, a->who->newer);
		if (!a->newer && strcmp(argv[i] + 5, a->who->older)) {
			fprintf(stderr, "%s: --as=%s: it is %s or %s\n", a->who->name, argv[i] + 5, a->who->older,
				a->who->newer);
			return -EINVAL;
		}
	}
	return 0;
}

/* ---- what reads ---- */

/* The Ctrl-C of a terminal reaches all; readers end with what they read. */
static void ignore_signals(void)
{
	static const int sent[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP };

	for (size_t i = 0; i < sizeof(sent) / sizeof(sent[0]); i++)
		signal(sent[i], SIG_IGN);
}

static pid_t start_reader(const struct asked *a, int from)
{
	pid_t pid = fork();
	struct error e = { 0 };

	if (pid)
		return pid;
	opener_forget();
	ignore_signals();
	if (dup2(from, STDIN_FILENO) < 0 ||
	    (a->who == &turbostat && *a->command && dup2(STDERR_FILENO, STDOUT_FILENO) < 0))
		_exit(EXIT_OWN);
	command_exec_pmrep(a->report.word, &e);
	_exit(command_failed(&e));
}

static bool put(int fd, const char *data, ssize_t n)
{
	while (n > 0) {
		ssize_t done = write(fd, data, (size_t)n);

		if (done < 0 && errno != EINTR)
			return false;
		data += done < 0 ? 0 : done;
		n -= done < 0 ? 0 : done;
	}
	return true;
}

/* --keep: what goes by goes into a file, too. */
static pid_t start_keeper(const struct asked *a, const int from[2], int to)
{
	pid_t pid = fork();
	char data[65536];
	struct stat st;
	ssize_t n;
	int fd;

	if (pid)
		return pid;
	close(from[1]);
	opener_forget();
	ignore_signals();
	signal(SIGPIPE, SIG_IGN);
	if (privileges_for_child())
		_exit(EXIT_OWN);
	fd = open(a->keep, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0600);
	if (fd < 0 || fstat(fd, &st)) {
		fprintf(stderr, "%s: cannot write '%s': %s\n", a->who->name, a->keep, strerror(errno));
		_exit(EXIT_OWN);
	}
	while ((n = read(from[0], data, sizeof(data))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 || !put(fd, data, n)) {
			fprintf(stderr, "%s: '%s': %s\n", a->who->name, a->keep, strerror(errno));
			_exit(EXIT_OWN);
		}
		if (to >= 0 && !put(to, data, n))
			_exit(0);
	}
	_exit(close(fd) ? EXIT_OWN : 0);
}

static int wait_for(pid_t pid)
{
	int status = 0;

	while (pid > 0 && waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 0;
	return status;
}

/* ---- how it ends ---- */

static void end_by(int signo)
{
	sigset_t set;

	signal(signo, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, signo);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	kill(getpid(), signo);
}

static int judge(const struct asked *a, const struct joined *j, int code, int read, int kept)
{
	bool perf = a->who == &perfstat;

	if (WIFSIGNALED(read) && WTERMSIG(read) == SIGPIPE)
		end_by(SIGPIPE);
	if (j->usage)
		return a->who->usage_status;
	if (j->failure) {
		fprintf(stderr, perf ? "Workload failed: %.0s%s\n" : "turbostat: exec %s: %s\n", a->command[0],
			strerror(j->failure));
		return perf ? 255 : j->failure;
	}
	if (j->signal && (perf || j->signal != SIGINT))
		end_by(j->signal);
	if (j->ran && !j->cut && j->status)
		return WIFEXITED(j->status) ? WEXITSTATUS(j->status) : (perf ? 128 : 0) + WTERMSIG(j->status);
	if ((code == EXIT_OWN && !j->unwanted) || j->refused)
		return 1;
	return WEXITSTATUS(read) == 2 || WEXITSTATUS(read) == EXIT_OWN || kept ? 1 : 0;
}

static int run(struct asked *a)
{
	int through[2] = { -1, -1 }, on[2] = { -1, -1 }, read_status, kept, code;
	struct joined j = { 0 };
	pid_t reader = 0, keeper = 0;

	if (pipe2(through, O_CLOEXEC) || (a->keep && pipe2(on, O_CLOEXEC))) {
		perror(a->who->name);
		return 1;
	}
	/* The reader first: it starts while the recorder looks at the machine. */
	if (!a->quiet || a->who == &turbostat)
		reader = start_reader(a, a->keep ? on[0] : through[0]);
	if (a->keep)
		keeper = start_keeper(a, through, reader ? on[1] : -1);
	close(through[0]);
	if (a->keep) {
		close(on[0]);
		close(on[1]);
	}
	if (reader < 0 || keeper < 0) {
		perror(a->who->name);
		return 1;
	}
	j.fd = through[1];
	j.says = a->who == &perfstat;
	code = record_joined((int)a->record.n, a->record.word, &j);
	/* There is nothing to be said of nothing. */
	if ((j.none || j.usage) && reader > 0)
		kill(reader, SIGKILL);
	close(through[1]);
	kept = wait_for(keeper);
	read_status = wait_for(reader);
	return judge(a, &j, code, read_status, kept);
}

/* ---- the command line ---- */

static int personality(const struct personality *who, int argc, char **argv)
{
	struct asked a = { .who = who };

	if (choose_generation(&a, argc, argv))
		return who->usage_status;
	begin(&a);
	/* A word that only the later one has is taken where the older has nothing that it abbreviates. */
	if (parse(&a, argc, argv, a.newer, false)) {
		begin(&a);
		if (parse(&a, argc, argv, true, true))
			return usage(&a);
	}
	if (a.version) {
		fprintf(stderr, "turbostat version %s - pmrec\n", a.newer ? "2026.04.21" : "2022.10.04");
		return 0;
	}
	if (a.help)
		return usage(&a);
	if (who == &perfstat && *a.command && !strcmp(*a.command, "report")) {
		char **first = a.command;

		/* Its own words stand behind it, and -i is another one there. */
		for (char **word = first + 1; *word; word++)
			*word = strcmp(*word, "-i") ? *word : (char *)"--input";
		if (parse(&a, argc - (int)(first - argv), first, true, true))
			return usage(&a);
		add_words(&a.report, "--log-fd 2", NULL);
		add(&a.report, a.input ? a.input : "perf.data");
		a.report.word[0] = (char *)"report";
		return cmd_report((int)a.report.n, a.report.word);
	}
	if (who == &perfstat && *a.command && !strcmp(*a.command, "record")) {
		char **first = a.command;
		const char *text = a.out;

		a.out = NULL;
		if (parse(&a, argc - (int)(first - argv), first, true, true))
			return usage(&a);
		a.keep = a.out ? a.out : a.keep ? a.keep : "perf.data";
		a.out = text;
	}
	if (a.list || a.dump)
		add_words(&a.record, "-i 0.001 -n 1", NULL);
	/* turbostat counts heads where there is but one row an interval. */
	if (!has(&a.report, "--Summary"))
		forget(&a.report, "--header_iterations", 1);
	if (who == &perfstat && has(&a.record, "-a") && (has(&a.record, "-p") || has(&a.record, "-t"))) {
		fputs("PID/TID switch overriding SYSTEM\n", stderr);
		forget(&a.record, "-a", 0);
	}
	if (a.out) {
		add(&a.report, "-o");
		add(&a.report, a.out);
		if (!a.append)
			add(&a.report, "--overwrite");
	} else if (who == &perfstat) {
		add(&a.report, "--log-fd");
		add(&a.report, a.log_fd ? a.log_fd : "2");
	}
	add(&a.report, who == &turbostat && *a.command ? "--total" : "-");
	if (who == &turbostat && *a.command)
		add(&a.report, "-");
	else if (who == &turbostat)
		add(&a.report, "--all");
	if (*a.command)
		add(&a.record, "--");
	for (char **word = a.command; *word; word++)
		add(&a.record, *word);
	return run(&a);
}

int cmd_turbostat(int argc, char **argv)
{
	return personality(&turbostat, argc, argv);
}

int cmd_perfstat(int argc, char **argv)
{
	return personality(&perfstat, argc, argv);
}
