/* pmrec turbostat and pmrec perfstat: accept these programs' command lines, translate them, and connect a recorder to
 * a pmrep that prints what they would. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/reader.h"
#include "record/commands.h"
#include "record/joined.h"
#include "record/personality.h"

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

static const struct personality turbostat = {
	.name = "turbostat",
	.usage = "[OPTIONS][(--interval seconds) | COMMAND ...]",
	.word = turbostat_words,
	.n_words = sizeof(turbostat_words) / sizeof(turbostat_words[0]),
	.usage_status = 1,
	.record = "-a -e instructions "
		  "--sources=perf,msr,add,cpuidle,cpufreq,interrupts,throttle,powercap,gfx,uncorefreq,lpi,pmt -i 5",
	.report = "show --format=turbostat",
};

static const struct personality perfstat = {
	.name = "perf stat",
	.usage = "[<options>] [<command>]",
	.word = perfstat_words,
	.n_words = sizeof(perfstat_words) / sizeof(perfstat_words[0]),
	.perf = true,
	.usage_status = 129,
	.record = "--sources=perf -i 0",
	.report = "stat --quiet --no-quotes",
};

void personality_add(struct list *l, const char *text)
{
	char **more = realloc(l->word, (l->n + 2) * sizeof(*more));

	if (!more)
		abort();
	l->word = more;
	more[l->n++] = strdup(text);
	more[l->n] = NULL;
}

/* Adds the words of a row, with the argument in place of '%'. */
static void add_words(struct list *l, const char *words, const char *argument)
{
	SCOPED(buf_release) struct buf text = BUF_INIT;

	while (words && *words) {
		size_t len = strcspn(words, " ");

		text.len = 0;
		for (size_t i = 0; i < len; i++)
			if (words[i] != '%')
				buf_addch(&text, words[i]);
			else if (argument)
				buf_printf(&text, "%s%s", len > 3 ? "=" : "", argument);
		personality_add(l, buf_str(&text));
		words += len + (words[len] == ' ');
	}
}

void personality_drop(struct list *l, const char *option, size_t arguments)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->word[i], option))
			i += arguments;
		else
			l->word[kept++] = l->word[i];
	l->word[l->n = kept] = NULL;
}

/* Where the argument of a word is stored; NULL: that program has no such word. */
static const char **slot(struct asked *a, const char *name)
{
	for (size_t i = 0; i < a->who->n_words; i++)
		if (!strcmp(a->who->word[i].name, name))
			return &a->given[i];
	return NULL;
}

const char *personality_given(const struct asked *a, const char *name)
{
	const char **at = slot((struct asked *)a, name);

	return at ? *at : NULL;
}

void personality_forget(struct asked *a, const char *name)
{
	*slot(a, name) = NULL;
}

/* Both programs skip empty entries of a list; a list of only those stays as it is. */
static const char *without_empty(const char *list)
{
	struct buf names = BUF_INIT;

	while (*list) {
		size_t len = strcspn(list, ",");

		if (len)
			buf_printf(&names, "%s%.*s", names.len ? "," : "", (int)len, list);
		list += len + (list[len] == ',');
	}
	return names.len ? buf_detach(&names) : "";
}

/* turbostat accepts the numbers that strtod() and strtoul() do, with no unit after them. */
static const char *plain_number(const char *text, bool seconds)
{
	struct buf plain = BUF_INIT;

	if (seconds)
		buf_printf(&plain, "%.9f", strtod(text, NULL));
	else
		buf_printf(&plain, "%lu", strtoul(text, NULL, 0));
	return buf_detach(&plain);
}

static void take(struct asked *a, const struct word *w, const char *argument)
{
	if (!a->who->perf && (!strcmp(w->name, "interval") || !strcmp(w->name, "num_iterations")))
		argument = plain_number(argument, w->letter == 'i');
	/* To turbostat, "-" is a file of that name. */
	if (!a->who->perf && !strcmp(w->name, "out") && !strcmp(argument, "-"))
		argument = "./-";
	/* turbostat's first --show discards what was enabled before it. */
	if (!strcmp(w->name, "show") && !personality_given(a, "show"))
		personality_drop(&a->report, "--enable", 1);
	if (!strcmp(w->name, "cpu") ||
	    (!a->who->perf && (!strcmp(w->name, "show") || !strcmp(w->name, "hide") || !strcmp(w->name, "enable"))))
		argument = without_empty(argument);
	add_words(&a->record, w->record, argument);
	add_words(&a->report, w->report, argument);
	a->given[w - a->who->word] = argument ? argument : "";
}

/* Our own words must not make theirs ambiguous: they count only where spelled out. */
static bool is_there(const struct word *w, int argc, char **argv)
{
	size_t len = strlen(w->name);

	for (int i = 1; w->whose == OURS && i < argc; i++)
		if (!strncmp(argv[i], "--", 2) && !strncmp(argv[i] + 2, w->name, len) &&
		    strchr("=", argv[i][len + 2]))
			return true;
	return w->whose == THEIRS;
}

/* 0, or -EINVAL with getopt_long()'s complaint about a word. */
static int parse(struct asked *a, int argc, char **argv)
{
	enum { LONG = 256 };
	struct option option[MAX_WORDS] = { 0 };
	char letters[3 * MAX_WORDS] = "+", *end = letters + 1, *name = argv[0];
	size_t n = 0;
	int c;

	for (size_t i = 0; i < a->who->n_words; i++) {
		const struct word *w = &a->who->word[i];

		if (is_there(w, argc, argv))
			option[n++] = (struct option){ w->name, w->argument, NULL, LONG + (int)i };
		for (int k = 0; w->letter && k < 1 + (w->argument == required_argument); k++)
			*end++ = (char)(k ? ':' : w->letter);
	}
	optind = 0;
	argv[0] = (char *)a->who->name;
	while ((c = (a->who->perf ? getopt_long : getopt_long_only)(argc, argv, letters, option, NULL)) >= 0) {
		size_t i = (size_t)c - LONG;

		if (c == '?')
			return -EINVAL;
		if (c < LONG)
			for (i = 0; a->who->word[i].letter != c; i++)
				;
		take(a, &a->who->word[i], optarg);
	}
	argv[0] = name;
	a->command = argv + optind;
	return 0;
}

static void begin(struct asked *a)
{
	a->record.n = a->report.n = 0;
	memset(a->given, 0, sizeof(a->given));
	personality_add(&a->record, "pmrec");
	add_words(&a->record, "--quiet --privacy=full -o -", NULL);
	add_words(&a->record, a->who->record, NULL);
	personality_add(&a->report, "pmrep");
	add_words(&a->report, a->who->report, NULL);
}

/* Asked for, this is perf's manual; else an error. */
static int usage(const struct asked *a, FILE *to)
{
	fprintf(to, "Usage: %s %s\n", a->who->name, a->who->usage);
	for (size_t i = 0; i < a->who->n_words; i++) {
		const struct word *w = &a->who->word[i];

		if (w->help)
			fprintf(to, "%s        --%s%s\n            %s\n", w[-1].help ? "" : "Ours:\n", w->name,
				w->arg, w->help);
		else
			fprintf(to, w->letter ? "    -%c, --%s%s\n" : "%.0d        --%s%s\n", w->letter, w->name,
				w->argument == no_argument ? "" : " ...");
	}
	fputs("\nThe other options work as in the original; for differences see pmrec-turbostat(1)\n", to);
	return to == stdout ? 0 : a->who->usage_status;
}

/* perf groups digits as the locale does, which often means not at all. */
static void settle_digits(struct asked *a)
{
	if (personality_given(a, "field-separator") || personality_given(a, "json-output"))
		return;
	setlocale(LC_NUMERIC, "");
	if (!*localeconv()->thousands_sep)
		personality_add(&a->report, "--no-big-num");
	setlocale(LC_NUMERIC, "C");
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
	bool perf = a->who->perf, waited = !perf && *a->command && j->signal == SIGQUIT;

	/* SIGPIPE and SIGXFSZ; SIGKILL came from us. */
	if (WIFSIGNALED(read) && WTERMSIG(read) != SIGKILL)
		end_by(WTERMSIG(read));
	if (j->usage)
		return a->who->usage_status;
	if (j->failure) {
		fprintf(stderr, "%s: cannot run '%s': %s\n", a->who->name, a->command[0], strerror(j->failure));
		return 1;
	}
	if (j->signal && !waited &&
	    ((j->signal != SIGINT && j->signal != SIGALRM && j->signal != SIGABRT) ||
	     (perf && !(j->ran && !j->cut && WIFEXITED(j->status)))))
		end_by(j->signal);
	if (j->ran && !j->cut && j->status)
		return WIFEXITED(j->status) ? WEXITSTATUS(j->status) : (perf ? 128 : 0) + WTERMSIG(j->status);
	if ((code == EXIT_OWN && !j->unwanted) || j->refused)
		return 1;
	return WEXITSTATUS(read) == 2 || WEXITSTATUS(read) == EXIT_OWN || kept ? 1 : 0;
}

static int run(struct asked *a)
{
	const char *keep = personality_given(a, "keep");
	int through[2] = { -1, -1 }, on[2] = { -1, -1 }, read_status, kept, code;
	struct joined j = { 0 };
	pid_t reader = 0, keeper = 0;

	if (pipe2(through, O_CLOEXEC) || (keep && pipe2(on, O_CLOEXEC))) {
		perror(a->who->name);
		return 1;
	}
	/* Start the reader first: it gets ready while the recorder examines the machine. */
	if (!a->who->perf || !personality_given(a, "quiet"))
		reader = personality_start_reader(a, keep ? on[0] : through[0]);
	if (keep)
		keeper = personality_start_keeper(a, keep, through, reader ? on[1] : -1);
	close(through[0]);
	if (keep) {
		close(on[0]);
		close(on[1]);
	}
	if (reader < 0 || keeper < 0) {
		perror(a->who->name);
		return 1;
	}
	j.fd = through[1];
	j.says = a->who->perf;
	j.turbostat = !a->who->perf;
	j.brief = a->who->perf && !keep;
	code = record_joined((int)a->record.n, a->record.word, &j);
	/* There is nothing to report. */
	if ((j.none || j.usage) && reader > 0)
		kill(reader, SIGKILL);
	close(through[1]);
	kept = wait_for(keeper);
	read_status = wait_for(reader);
	return judge(a, &j, code, read_status, kept);
}

/* ---- the command line ---- */

/* Like perf, which connects record and report by a pipe if neither is given a file. */
static bool is_pipe(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISFIFO(st.st_mode);
}

/* pmrep is the only one to read the pipe. */
static bool has_intervals(const char *path)
{
	struct pm_reader *r = NULL;
	struct pm_item item = { 0 };
	struct pm_input in;
	struct error e = { 0 };
	uint64_t ns = 0;

	if (strcmp(path, "-") && !pm_input_path(&in, path, false, &e) && !pm_reader_open(&r, &in, &e) &&
	    pm_reader_next(r, &item) > 0)
		ns = pm_map_u64(&pm_reader_model(r)->header, PM_HEADER_INTERVAL, 0);
	pm_reader_close(r);
	return ns;
}

/* perf stat report: its own words follow, and -i has another meaning there. */
static int report(struct asked *a, int argc, char **argv)
{
	char **first = a->command;
	const char *input;

	for (char **word = first + 1; *word; word++)
		*word = strcmp(*word, "-i") ? *word : (char *)"--input";
	if (parse(a, argc - (int)(first - argv), first))
		return usage(a, stderr);
	input = personality_given(a, "input");
	input = input ? input : is_pipe(STDIN_FILENO) ? "-" : "perf.data";
	if (strcmp(input, "-") && access(input, R_OK)) {
		fprintf(stderr, "%s: cannot read '%s': %s\n", a->who->name, input, strerror(errno));
		return 1;
	}
	if (!personality_given(a, "interval-print") && has_intervals(input))
		personality_add(&a->report, "--all");
	add_words(&a->report, "--log-fd 2", NULL);
	personality_add(&a->report, input);
	a->report.word[0] = (char *)"report";
	return cmd_report((int)a->report.n, a->report.word);
}

/* perf stat record: an output after it is that of the recording. */
static int parse_record(struct asked *a, int argc, char **argv)
{
	const char *text = personality_given(a, "output"), *recording;

	personality_forget(a, "output");
	if (parse(a, argc - (int)(a->command - argv), a->command))
		return -EINVAL;
	a->records = true;
	recording = personality_given(a, "output");
	*slot(a, "output") = text;
	if (recording || !personality_given(a, "keep"))
		*slot(a, "keep") = recording ? recording : is_pipe(STDOUT_FILENO) ? "-" : "perf.data";
	return 0;
}

static void add_output(struct asked *a)
{
	const char *out = personality_given(a, a->who->perf ? "output" : "out"), *fd = personality_given(a, "log-fd");

	/* In perf, "-" is standard error. */
	if (out && a->who->perf && !strcmp(out, "-"))
		out = NULL;
	if (out) {
		personality_add(&a->report, "-o");
		personality_add(&a->report, out);
		if (!personality_given(a, "append"))
			personality_add(&a->report, "--overwrite");
	} else if (a->who->perf) {
		personality_add(&a->report, "--log-fd");
		personality_add(&a->report, fd ? fd : "2");
	}
	if (!a->who->perf)
		personality_add(&a->report, *a->command ? "--total" : "--all");
	personality_add(&a->report, "-");
}

static int personality(const struct personality *who, int argc, char **argv)
{
	static char *const no_command[] = { NULL };
	struct asked a = { .who = who };
	sigset_t early;
	int status;

	/* As in any recorder, also in the background. */
	signal(SIGINT, SIG_DFL);
	/* A script that interrupts us early wants what was counted: hold signals until there is a recorder to forward
	 * them to. */
	sigemptyset(&early);
	sigaddset(&early, SIGINT);
	sigprocmask(SIG_BLOCK, &early, NULL);
	begin(&a);
	if (parse(&a, argc, argv))
		return usage(&a, stderr);
	if (personality_given(&a, "version")) {
		fputs("turbostat version 2022.10.04 - pmrec\n", stderr);
		return 0;
	}
	if (personality_given(&a, "help"))
		return usage(&a, who->perf ? stdout : stderr);
	if (who->perf && *a.command && !strcmp(*a.command, "report"))
		return report(&a, argc, argv);
	if (who->perf && *a.command && !strcmp(*a.command, "record") && parse_record(&a, argc, argv))
		return usage(&a, stderr);
	status = personality_check(&a);
	if (!status && who->perf)
		status = personality_iostat(&a);
	if (status)
		return status == DONE ? 0 : status;
	if (!who->perf && (personality_given(&a, "list") || personality_given(&a, "Dump"))) {
		add_words(&a.record, "-i 0.001 -n 1", NULL);
		a.command = (char **)no_command;
	}
	/* turbostat counts heads if there is only one row per interval. */
	if (!personality_given(&a, "Summary"))
		personality_drop(&a.report, "--header_iterations", 1);
	if (who->perf)
		settle_digits(&a);
	add_output(&a);
	if (*a.command)
		personality_add(&a.record, "--");
	for (char **word = a.command; *word; word++)
		personality_add(&a.record, *word);
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
