/* pmrec turbostat and pmrec perfstat: accept these programs' command lines, translate them, and connect a recorder to
 * a pmrep that prints what they would. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/memory.h"
#include "format/reader.h"
#include "record/commands.h"
#include "record/host/privileges.h"
#include "record/host/process.h"
#include "record/host/root.h"

enum { MAX_PORTS = 256, DONE = -1 };

struct word {
	const char *name;
	int letter, argument;
	enum { THEIRS, OURS } whose;
	const char *record, *report;
	const char *arg, *help; /* of ours; NULL: the original options have their own manual */
};

enum { MAX_WORDS = 96 };

/* How one program differs from the other. */
struct personality {
	const char *name, *usage;
	const struct word *word;
	size_t n_words;
	bool perf;        /* perf stat, not turbostat: -interval is --interval there */
	int usage_status; /* for unknown words */
	const char *record, *report;
};

struct list {
	char **word;
	size_t n;
};

struct asked {
	const struct personality *who;
	struct list record, report;
	const char *given[MAX_WORDS]; /* by word, one more than there are: its argument or ""; NULL: not given */
	char **command;
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

static const struct personality turbostat = {
	.name = "turbostat",
	.usage = "[OPTIONS][(--interval seconds) | COMMAND ...]",
	.word = turbostat_words,
	.n_words = sizeof(turbostat_words) / sizeof(turbostat_words[0]),
	.usage_status = 1,
	.record = "-a -e instructions "
		  "--sources=perf,msr,add,cpuidle,cpufreq,interrupts,throttle,powercap,gfx,uncorefreq,lpi -i 5",
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

static void add_word(struct list *l, const char *text)
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
		add_word(l, buf_str(&text));
		words += len + (words[len] == ' ');
	}
}

static void drop_word(struct list *l, const char *option, size_t arguments)
{
	size_t kept = 0, drop = 0;

	for (size_t i = 0; i < l->n; i++) {
		if (!drop && !strcmp(l->word[i], option))
			drop = arguments + 1;
		if (drop) {
			free(l->word[i]);
			drop--;
		} else {
			l->word[kept++] = l->word[i];
		}
	}
	l->word[l->n = kept] = NULL;
}

static void release_list(struct list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->word[i]);
	free(l->word);
	*l = (struct list){ 0 };
}

static void release_asked(struct asked *a)
{
	release_list(&a->record);
	release_list(&a->report);
}

static size_t find_word(const struct asked *a, const char *name)
{
	size_t i = 0;

	while (i < a->who->n_words && strcmp(a->who->word[i].name, name))
		i++;
	return i;
}

/* The argument of a word, "" if it takes none; NULL: it was not given, or that program has no such word. */
static const char *given(const struct asked *a, const char *name)
{
	return a->given[find_word(a, name)];
}

static void forget(struct asked *a, const char *name)
{
	a->given[find_word(a, name)] = NULL;
}

enum side { RECORD = 1, REPORT, BOTH };

/* Takes back the option by which a word was translated. */
static void take_back(struct asked *a, const char *name, enum side side)
{
	const struct word *w = &a->who->word[find_word(a, name)];

	for (int i = 0; i < 2; i++) {
		const char *words = i ? w->report : w->record;
		SCOPED(scoped_free) char *option = words ? strndup(words, strcspn(words, " ")) : NULL;

		if (option && side & (i ? REPORT : RECORD))
			drop_word(i ? &a->report : &a->record, option, strchr(words, '%') ? 1 : 0);
	}
}

/* Both programs skip empty entries of a list. */
static const char *without_empty(const char *list, struct buf *names)
{
	while (*list) {
		size_t len = strcspn(list, ",");

		if (len)
			buf_printf(names, "%s%.*s", names->len ? "," : "", (int)len, list);
		list += len + (list[len] == ',');
	}
	return buf_str(names);
}

static void take(struct asked *a, const struct word *w, const char *argument)
{
	SCOPED(buf_release) struct buf names = BUF_INIT;

	/* turbostat's first --show discards what was enabled before it. */
	if (!strcmp(w->name, "show") && !given(a, "show"))
		drop_word(&a->report, "--enable", 1);
	a->given[w - a->who->word] = argument ? argument : "";
	if (!strcmp(w->name, "cpu") ||
	    (!a->who->perf && (!strcmp(w->name, "show") || !strcmp(w->name, "hide") || !strcmp(w->name, "enable"))))
		argument = without_empty(argument, &names);
	add_words(&a->record, w->record, argument);
	add_words(&a->report, w->report, argument);
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
	release_asked(a);
	memset(a->given, 0, sizeof(a->given));
	add_word(&a->record, "pmrec");
	add_words(&a->record, "--quiet --privacy=full -o -", NULL);
	add_words(&a->record, a->who->record, NULL);
	add_word(&a->report, "pmrep");
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
	if (given(a, "field-separator") || given(a, "json-output"))
		return;
	setlocale(LC_NUMERIC, "");
	if (!*localeconv()->thousands_sep)
		add_word(&a->report, "--no-big-num");
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

/* ---- words that both programs refuse or ignore beside others; the rest is left to recorder and report ---- */

static bool counts_places(const struct asked *a)
{
	static const char *const place[] = { "no-aggr",  "per-socket", "per-die", "per-cluster",    "per-cache",
					     "per-core", "per-node",   "cgroup",  "for-each-cgroup" };
	bool any = false;

	for (size_t i = 0; i < sizeof(place) / sizeof(place[0]); i++)
		any |= given(a, place[i]) != NULL;
	return any;
}

/* Returns what is wrong with words that the recorder and the report would take, or run a command before they refuse;
 * NULL: nothing. */
static const char *what_is_wrong(const struct asked *a)
{
	const char *interval = given(a, "interval"), *fd = given(a, "log-fd");

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

/* perf ignores words that have no effect beside others, or without them; the recorder and the report refuse
 * them. */
static void drop_idle(struct asked *a)
{
	bool tasks = given(a, "pid") || given(a, "tid");

	if (tasks && (given(a, "all-cpus") || given(a, "cpu"))) {
		fprintf(stderr, "PID/TID switch overriding %s\n", given(a, "cpu") ? "CPU" : "SYSTEM");
		take_back(a, "all-cpus", BOTH);
		take_back(a, "cpu", BOTH);
	}
	if (given(a, "pid"))
		take_back(a, "tid", BOTH);
	if (!given(a, "output"))
		take_back(a, "append", BOTH);
	/* Events of -d add to the others, and need no second word. */
	if (given(a, "event") || given(a, "metrics")) {
		take_back(a, "detailed", REPORT);
		take_back(a, "null", RECORD);
	}
	if (!given(a, "topdown"))
		take_back(a, "td-level", BOTH);
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
	const char *path = given(a, name);
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

static int check_words(struct asked *a)
{
	static const char *const zero[] = { "interval-print", "interval-count", "timeout" };
	const char *wrong;

	for (size_t i = 0; a->who->perf && i < 3; i++)
		if (given(a, zero[i]) && !strcmp(given(a, zero[i]), "0")) {
			forget(a, zero[i]);
			take_back(a, zero[i], BOTH);
		}
	wrong = what_is_wrong(a);
	if (wrong) {
		fprintf(stderr, "%s: %s\n", a->who->name, wrong);
		return a->who->usage_status;
	}
	if (a->who->perf)
		drop_idle(a);
	return check_file(a, a->who->perf ? "output" : "out") || check_file(a, "keep");
}

/* ---- perf stat --iostat: traffic of the PCIe ports of Intel's servers. Each IIO PMU counts those of one stack, and
 * its file die0, die1, ... names the port that it stands for on that die. ---- */

#define IIO "/sys/bus/event_source/devices/uncore_iio_%u"

struct port {
	unsigned pmu, die, domain, bus;
};

static int find_ports(const struct root *root, struct port *port)
{
	int n = 0;

	for (unsigned pmu = 0; root_exists(root, IIO, pmu); pmu++)
		for (unsigned die = 0; n < MAX_PORTS; die++) {
			struct port *p = &port[n];
			char line[32];

			*p = (struct port){ .pmu = pmu, .die = die };
			if (root_line(root, line, sizeof(line), IIO "/die%u", pmu, die) ||
			    sscanf(line, "%x:%x", &p->domain, &p->bus) != 2)
				break;
			n++;
		}
	return n;
}

/* Moves the ports of the list to the front, in its order; returns their number. */
static int choose_ports(struct port *port, int n, const char *list)
{
	int chosen = 0;

	for (; *list; list += strcspn(list, ","), list += *list == ',') {
		unsigned domain, bus;
		int i = chosen;

		if (sscanf(list, "%x:%2x", &domain, &bus) != 2) {
			fprintf(stderr, "perf stat: --iostat: '%s' is not a port: domain:bus, such as 0000:3d\n",
				list);
			continue;
		}
		while (i < n && (port[i].domain != domain || port[i].bus != bus))
			i++;
		if (i < n) {
			struct port found = port[i];

			port[i] = port[chosen];
			port[chosen++] = found;
		} else {
			fprintf(stderr, "perf stat: --iostat: there is no port %04x:%02x\n", domain, bus);
		}
	}
	return chosen;
}

/* For each PMU: what devices below a port read and write (DATA_REQ_OF_CPU, 0x83), and what CPUs read and write there
 * (DATA_REQ_BY_CPU, 0xc0), in units of four bytes: Intel Xeon Processor Scalable Family, Uncore Performance
 * Monitoring Reference Manual, "IIO". */
static void count_ports(struct asked *a, const struct port *port, int n)
{
	static const char *const event[] = { "event=0x83,umask=0x04", "event=0x83,umask=0x01",
					     "event=0xc0,umask=0x04", "event=0xc0,umask=0x01" };
	char text[512], ports[32 * MAX_PORTS];
	size_t len = (size_t)snprintf(ports, sizeof(ports), "--iostat=");

	for (int i = 0; i < n; i++) {
		int at = 0, first = 0;

		while (port[first].pmu != port[i].pmu)
			first++;
		for (size_t k = 0; first == i && k < 4; k++)
			at += snprintf(text + at, sizeof(text) - (size_t)at,
				       "%cuncore_iio_%u/%s,ch_mask=0xf,fc_mask=0x7/%s", k ? ',' : '{', port[i].pmu,
				       event[k], k == 3 ? "}" : "");
		if (at) {
			add_word(&a->record, "-e");
			add_word(&a->record, text);
		}
		len += (size_t)snprintf(ports + len, sizeof(ports) - len, "%s%04x:%02x=%u.%u", i ? "," : "",
					port[i].domain, port[i].bus, port[i].pmu, port[i].die);
	}
	add_word(&a->report, ports);
	add_word(&a->record, "-a");
}

/* Drops other requests, as perf does. */
static void drop_others(struct asked *a)
{
	static const char *const other[] = { "event",   "metrics",  "detailed", "null",
					     "topdown", "smi-cost", "pid",      "transaction" };

	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
		if (!given(a, other[i]))
			continue;
		fprintf(stderr, "perf stat: --iostat: --%s is ignored\n", other[i]);
		forget(a, other[i]);
		take_back(a, other[i], BOTH);
	}
}

static int count_iostat(struct asked *a)
{
	const char *ports = given(a, "iostat");
	SCOPED(scoped_free) struct port *port = ports ? memory_new(MAX_PORTS, sizeof(*port)) : NULL;
	SCOPED(root_release) struct root root = { 0 };
	int n = 0, status = 0;

	if (!ports)
		return 0;
	root_init(&root, given(a, "root"));
	n = find_ports(&root, port);
	if (!n)
		fputs("perf stat: --iostat: no IIO PMU here says which port it counts; Intel's servers have them\n",
		      stderr);
	if (!strcmp(ports, "list"))
		for (int i = 0; i < n; i++)
			fprintf(stderr, "S%u-uncore_iio_%u<%04x:%02x>\n", port[i].die, port[i].pmu, port[i].domain,
				port[i].bus);
	else if (*ports)
		n = choose_ports(port, n, ports);
	status = !n ? a->who->usage_status : strcmp(ports, "list") ? 0 : DONE;
	if (!status) {
		drop_others(a);
		count_ports(a, port, n);
	}
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

static int judge(const struct asked *a, const struct joined *j, int code, int read)
{
	bool perf = a->who->perf;

	/* SIGPIPE and SIGXFSZ; SIGKILL came from us. */
	if (WIFSIGNALED(read) && WTERMSIG(read) != SIGKILL)
		end_by(WTERMSIG(read));
	if (j->usage)
		return a->who->usage_status;
	if (j->failure) {
		fprintf(stderr, "%s: cannot run '%s': %s\n", a->who->name, a->command[0], strerror(j->failure));
		return 1;
	}
	if (j->signal && (j->signal != SIGINT || (perf && !(j->ran && !j->cut && WIFEXITED(j->status)))))
		end_by(j->signal);
	if (j->ran && !j->cut && j->status)
		return WIFEXITED(j->status) ? WEXITSTATUS(j->status) : (perf ? 128 : 0) + WTERMSIG(j->status);
	if ((code == EXIT_OWN && !j->unwanted) || j->refused)
		return 1;
	return WEXITSTATUS(read) == 2 || WEXITSTATUS(read) == EXIT_OWN ? 1 : 0;
}

static int run(struct asked *a)
{
	bool reads = !a->who->perf || !given(a, "quiet"), keeps = given(a, "keep");
	struct joined j = {
		.says = a->who->perf, .turbostat = !a->who->perf, .brief = a->who->perf && !keeps, .keeps = keeps
	};
	int through[2] = { -1, -1 }, status, code;
	pid_t reader = 0;

	if (reads ? pipe2(through, O_CLOEXEC) : (through[1] = open("/dev/null", O_WRONLY | O_CLOEXEC)) < 0) {
		perror(a->who->name);
		return 1;
	}
	/* Start the reader first: it gets ready while the recorder examines the machine. */
	if (reads)
		reader = command_start_reader(a->report.word, through[0], !a->who->perf && *a->command);
	fd_close(&through[0]);
	if (reader < 0) {
		perror(a->who->name);
		return 1;
	}
	j.fd = through[1];
	code = record_joined((int)a->record.n, a->record.word, &j);
	/* There is nothing to report. */
	if ((j.none || j.usage) && reader)
		kill(reader, SIGKILL);
	close(through[1]);
	status = wait_for(reader);
	return judge(a, &j, code, status);
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
	struct error e = { 0 };
	const char *input;

	for (char **word = first + 1; *word; word++)
		*word = strcmp(*word, "-i") ? *word : (char *)"--input";
	if (parse(a, argc - (int)(first - argv), first))
		return usage(a, stderr);
	input = given(a, "input");
	input = input ? input : is_pipe(STDIN_FILENO) ? "-" : "perf.data";
	if (strcmp(input, "-") && access(input, R_OK)) {
		fprintf(stderr, "%s: cannot read '%s': %s\n", a->who->name, input, strerror(errno));
		return 1;
	}
	if (!given(a, "interval-print") && has_intervals(input))
		add_word(&a->report, "--all");
	add_words(&a->report, "--log-fd 2", NULL);
	add_word(&a->report, input);
	command_exec_pmrep(NULL, a->report.word, &e);
	return command_failed(&e);
}

/* perf stat record: an output after it is that of the recording. */
static int parse_record(struct asked *a, int argc, char **argv)
{
	const char *text = given(a, "output"), *recording;

	forget(a, "output");
	if (parse(a, argc - (int)(a->command - argv), a->command))
		return -EINVAL;
	recording = given(a, "output");
	a->given[find_word(a, "output")] = text;
	if (recording || !given(a, "keep"))
		a->given[find_word(a, "keep")] = recording ? recording : is_pipe(STDOUT_FILENO) ? "-" : "perf.data";
	return 0;
}

static void add_output(struct asked *a)
{
	const char *out = given(a, a->who->perf ? "output" : "out"), *fd = given(a, "log-fd"),
		   *keep = given(a, "keep");

	if (keep) {
		add_words(&a->record, "--overwrite -o", NULL);
		add_word(&a->record, keep);
	}
	/* In perf, "-" is standard error. */
	if (out && a->who->perf && !strcmp(out, "-"))
		out = NULL;
	if (out) {
		add_word(&a->report, "-o");
		add_word(&a->report, out);
		if (!given(a, "append"))
			add_word(&a->report, "--overwrite");
	} else if (a->who->perf) {
		add_word(&a->report, "--log-fd");
		add_word(&a->report, fd ? fd : "2");
	}
	if (!a->who->perf)
		add_word(&a->report, *a->command ? "--total" : "--all");
	add_word(&a->report, "-");
}

static int personality(const struct personality *who, int argc, char **argv)
{
	static char *const no_command[] = { NULL };
	SCOPED(release_asked) struct asked a = { .who = who };
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
	if (given(&a, "version")) {
		fputs("turbostat version 2022.10.04 - pmrec\n", stderr);
		return 0;
	}
	if (given(&a, "help"))
		return usage(&a, who->perf ? stdout : stderr);
	if (who->perf && *a.command && !strcmp(*a.command, "report"))
		return report(&a, argc, argv);
	if (who->perf && *a.command && !strcmp(*a.command, "record") && parse_record(&a, argc, argv))
		return usage(&a, stderr);
	status = check_words(&a);
	if (!status && who->perf)
		status = count_iostat(&a);
	if (status)
		return status == DONE ? 0 : status;
	if (!who->perf && (given(&a, "list") || given(&a, "Dump"))) {
		add_words(&a.record, "-i 0.001 -n 1", NULL);
		a.command = (char **)no_command;
	}
	/* turbostat counts heads if there is only one row per interval. */
	if (!given(&a, "Summary"))
		drop_word(&a.report, "--header_iterations", 1);
	if (who->perf)
		settle_digits(&a);
	add_output(&a);
	if (*a.command)
		add_word(&a.record, "--");
	for (char **word = a.command; *word; word++)
		add_word(&a.record, *word);
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
