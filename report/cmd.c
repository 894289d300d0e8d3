/* What all commands share: complaints, the pager, what a process may do, and options and files. */
#include "report/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/memory.h"
#include "common/sandbox.h"
#include "common/table.h"
#include "report/input/input.h"
#include "report/metric/vendor_files.h"
#include "report/pipeline/pipeline.h"

void cmd_complain(const char *command, const char *format, ...)
{
	SCOPED(buf_release) struct buf shown = BUF_INIT, line = BUF_INIT;
	va_list ap;

	va_start(ap, format);
	buf_vprintf(&line, format, ap);
	va_end(ap);
	text_escape(&shown, buf_str(&line), strlen(buf_str(&line)));
	/* `pmrec dump` runs merge under its own name, which is the one that the user knows. */
	if (!strncmp(program_invocation_name, "pmrec ", 6))
		command = program_invocation_name;
	fprintf(stderr, "%s: %s\n", command, buf_str(&shown));
}

void cmd_complain_lines(const char *command, const char *what, struct buf *lines)
{
	for (const char *line = buf_str(lines); *line;) {
		size_t len = strcspn(line, "\n");

		cmd_complain(command, "%s: %.*s", what, (int)len, line);
		line += len + (line[len] == '\n');
	}
}

const char *cmd_memory_hint(char hint[80])
{
	struct rlimit limit;
	bool small;

	if (getrlimit(RLIMIT_DATA, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return "";
	small = limit.rlim_cur < 1 << 20;
	snprintf(hint, 80, "; the limit is %" PRIu64 " %s, --max-memory=SIZE raises it",
		 (uint64_t)limit.rlim_cur >> (small ? 10 : 20), small ? "KiB" : "MiB");
	return hint;
}

int cmd_fail(const char *command, const struct error *e)
{
	char hint[80];

	cmd_complain(command, "%s%s", e->text[0] ? e->text : strerror(e->number),
		     e->number == ENOMEM ? cmd_memory_hint(hint) : "");
	return EXIT_TROUBLE;
}

void cmd_write(struct buf *b)
{
	memory_whole(b);
	if (b->len)
		fwrite(b->data, 1, b->len, stdout);
	buf_clear(b);
}

bool cmd_complain_skipped(const char *command, struct vendor_files *files)
{
	SCOPED(buf_release) struct buf lines = BUF_INIT;

	vendor_files_skipped(files, &lines);
	cmd_complain_lines(command, "--metrics-file", &lines);
	return lines.len > 0;
}

void cmd_follow(struct pipeline_config *config, struct follow *f, const char *path, bool on)
{
	follow_init(f, path);
	if (!on || !strcmp(path, "-"))
		return;
	config->wait = follow_wait;
	config->wait_ctx = f;
}

int cmd_judge(const struct pipeline_result *r, const char *path, bool followed)
{
	bool open = r->cut_only && !r->damaged && !followed && input_being_written(path);

	return !open && (r->damaged || r->cut_only) ? EXIT_DAMAGED : EXIT_GOOD;
}

int cmd_judge_file(const char *command, const char *path, bool damaged)
{
	if (damaged)
		cmd_complain(command, "%s: damaged or cut; pmrep check says where", path);
	return damaged ? EXIT_DAMAGED : EXIT_GOOD;
}

/* ---- a pager: a child process, which begins before this one is confined ---- */

/* How a part of the program that only has a descriptor, or a child process, learns the width. */
#define WIDTH "PMREP_PAGER_WIDTH"

/* Columns of the terminal behind the pager; 0: there is none. */
static unsigned pager_width(void)
{
	const char *text = getenv(WIDTH);

	return text && !isatty(STDOUT_FILENO) ? (unsigned)strtoul(text, NULL, 10) : 0;
}

static const char *chosen(void)
{
	const char *pager = getenv("PMREP_PAGER");

	if (!pager)
		pager = getenv("PAGER");
	if (!pager)
		return "if command -v less >/dev/null 2>&1; then exec less; else exec cat; fi";
	return *pager && strcmp(pager, "cat") != 0 ? pager : NULL;
}

/* What was printed before memory ended is still being read. Otherwise cmd_pager_wait() has been here. */
static void wait_at_exit(void)
{
	if (waitpid(-1, NULL, WNOHANG) < 0)
		return;
	fflush(stdout);
	close(STDOUT_FILENO);
	cmd_pager_wait();
}

/* Sends standard output, if that is `wanted` and it is a terminal, to $PMREP_PAGER, $PAGER or less, as they say;
 * whether it does. What is said on a terminal goes there, too. */
static bool pager_start(bool wanted)
{
	const char *pager = wanted ? chosen() : NULL, *term = getenv("TERM");
	struct winsize size;
	char width[16];
	pid_t child;
	int way[2];

	unsetenv(WIDTH);
	if (!pager || !term || !strcmp(term, "dumb") || !isatty(STDOUT_FILENO) ||
	    ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || pipe2(way, O_CLOEXEC))
		return false;
	child = fork();
	if (!child) {
		dup2(way[0], STDIN_FILENO);
		/* Ends if everything fits on the screen, keeps colors, does not wrap. */
		setenv("LESS", "FRSX", 0);
		execl("/bin/sh", "sh", "-c", pager, (char *)NULL);
		_exit(127);
	}
	if (child > 0) {
		/* What is said would stand across the pager's screen. */
		if (isatty(STDERR_FILENO))
			dup2(way[1], STDERR_FILENO);
		dup2(way[1], STDOUT_FILENO);
		/* ^C belongs to the pager: output continues as long as it reads. */
		signal(SIGINT, SIG_IGN);
		snprintf(width, sizeof(width), "%u", size.ws_col);
		setenv(WIDTH, width, 1);
		atexit(wait_at_exit);
	}
	close(way[0]);
	close(way[1]);
	return child > 0;
}

void cmd_pager_wait(void)
{
	if (waitpid(-1, NULL, WNOHANG) < 0)
		return;
	/* It may be what they read. */
	close(STDERR_FILENO);
	while (wait(NULL) > 0 || errno == EINTR)
		;
}

unsigned cmd_width(int fd)
{
	struct winsize size;

	if (fd == STDOUT_FILENO && pager_width())
		return pager_width();
	if (!isatty(fd) || ioctl(fd, TIOCGWINSZ, &size))
		return 0;
	return size.ws_col;
}

/* ---- what a command may do ---- */

/* No sockets, no programs, no other processes; no memory becomes code. */
static const struct sandbox_call allowed[] = {
	/* clang-format off */
	{ SYS_read }, { SYS_write }, { SYS_mmap, 2, PROT_EXEC, 0 }, { SYS_munmap }, { SYS_mremap }, { SYS_madvise },
	{ SYS_brk }, { SYS_mprotect, 2, PROT_EXEC, 0 }, { SYS_lseek }, { SYS_pread64 }, { SYS_pwrite64 }, { SYS_readv },
	{ SYS_writev }, { SYS_wait4 }, { SYS_futex }, { SYS_close }, { SYS_fstat }, { SYS_newfstatat }, { SYS_statx }, { SYS_openat },
	{ SYS_faccessat }, { SYS_faccessat2 }, { SYS_readlinkat }, { SYS_getdents64 }, { SYS_getcwd }, { SYS_fcntl },
	{ SYS_flock }, { SYS_ioctl }, { SYS_dup }, { SYS_dup3 }, { SYS_fchmod }, { SYS_ftruncate }, { SYS_fsync },
	{ SYS_fdatasync }, { SYS_fadvise64 }, { SYS_renameat }, { SYS_renameat2 }, { SYS_unlinkat }, { SYS_linkat },
	{ SYS_umask }, { SYS_copy_file_range }, { SYS_sendfile },
	{ SYS_inotify_init1 }, { SYS_inotify_add_watch }, { SYS_inotify_rm_watch }, { SYS_ppoll }, { SYS_pselect6 },
	{ SYS_clone, 0, CLONE_VM, CLONE_VM }, { SYS_set_robust_list }, { SYS_rseq }, { SYS_set_tid_address },
	{ SYS_gettid }, { SYS_getpid }, { SYS_tgkill }, { SYS_exit }, { SYS_exit_group }, { SYS_restart_syscall },
	{ SYS_sched_getaffinity }, { SYS_sched_yield }, { SYS_sysinfo }, { SYS_uname }, { SYS_getrandom },
	{ SYS_clock_gettime }, { SYS_clock_getres }, { SYS_clock_nanosleep }, { SYS_nanosleep }, { SYS_gettimeofday },
	{ SYS_getrusage }, { SYS_prlimit64 }, { SYS_getrlimit }, { SYS_setrlimit }, { SYS_membarrier },
	{ SYS_rt_sigaction }, { SYS_rt_sigprocmask }, { SYS_rt_sigreturn }, { SYS_sigaltstack },
	{ SYS_getuid }, { SYS_geteuid }, { SYS_getgid }, { SYS_getegid },
	/* Applying the rules, and the filter of a command that calls another. */
	{ SYS_prctl }, { 444 }, { 445 }, { 446 },
#ifdef SYS_open
	{ SYS_open }, { SYS_stat }, { SYS_lstat }, { SYS_access }, { SYS_readlink }, { SYS_rename }, { SYS_unlink },
	{ SYS_dup2 }, { SYS_poll }, { SYS_time }, { SYS_inotify_init }, { SYS_getdents },
#endif
	/* clang-format on */
};

/* Permits making a file of this name, beside the target if it is a link. */
static void may_make(struct sandbox *s, const char *path)
{
	char place[PATH_MAX];
	struct stat st;

	if (!*path || !strcmp(path, "-"))
		return;
	if (!realpath(path, place)) {
		if (strlen(path) >= sizeof(place))
			return;
		strcpy(place, path);
	}
	/* A device or a pipe is written in place. */
	sandbox_make(s, !stat(place, &st) && !S_ISREG(st.st_mode) ? place : dirname(place), false);
}

/* Whether the option names a file to be made, also if it is abbreviated. */
static bool makes(const char *name)
{
	return *name == 'o' || (!strncmp(name, "ma", 2) && name[2] != 'x') || !strncmp(name, "sa", 2);
}

/* Standards that a vendor's files refer to are in the directory above. */
static void may_read_above(struct sandbox *s, const char *path)
{
	char place[PATH_MAX];

	if (realpath(path, place))
		sandbox_read(s, dirname(place));
}

static void look_at_option(struct sandbox *s, const char *word, const char *next)
{
	const char *name = word + strspn(word, "-"), *value = strchr(name, '=');

	if (value)
		sandbox_read(s, value + 1);
	if (!strncmp(name, "metrics-f", 9))
		may_read_above(s, value ? value + 1 : next);
	if (makes(name))
		may_make(s, value ? value + 1 : next);
	/* A cluster of letters; the last may take what follows. */
	if (word[1] != '-' && (name = strchr(word, 'o')))
		may_make(s, name[1] ? name + 1 : next);
}

/* Limits the memory of this process, in bytes; 0: no limit. Allocations beyond it fail with ENOMEM. No effect with
 * sanitizers, which need more. */
static void confine_memory(uint64_t most)
{
	struct rlimit limit;

	if (!most || SANDBOX_SANITIZED || getrlimit(RLIMIT_DATA, &limit))
		return;
	if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > most)
		limit.rlim_cur = most;
	(void)setrlimit(RLIMIT_DATA, &limit);
}

/* Confines a command to the files that it reads and writes: for good, and as far as the kernel has the means. argv[0]
 * is its name. */
static void confine(int argc, char **argv)
{
	static const char *const copying[] = { "html",   "diff",   "cut",    "merge",
					       "repair", "redact", "bundle", "incidents" };
	const char *folder = getenv("TMPDIR");
	struct sandbox s;

	/* While the time zone can still be read. */
	tzset();
	sandbox_init(&s);
	for (int i = 1; i < argc; i++) {
		sandbox_read(&s, argv[i]);
		if (argv[i][0] == '-' && argv[i][1])
			look_at_option(&s, argv[i], i + 1 < argc ? argv[i + 1] : "");
	}
	for (size_t i = 0; i < sizeof(copying) / sizeof(*copying); i++)
		if (!strcmp(argv[0], copying[i]))
			sandbox_make(&s, folder && *folder ? folder : "/tmp", true);
	if (!strcmp(argv[0], "redact"))
		sandbox_make(&s, ".", false);
	sandbox_read(&s, "/sys/devices/system/cpu/online");
	(void)sandbox_enter(&s);
	if (!SANDBOX_SANITIZED)
		(void)sandbox_calls(allowed, sizeof(allowed) / sizeof(*allowed), false);
}

/* What an honest recording needs at most: this, and so many times its own size. A single limit for all files would
 * either give a few kilobytes of a stranger what an hour of short tasks needs, or refuse that hour; and a small
 * machine can spare less than 1 GiB. */
#define MEMORY_LEAST  ((uint64_t)256 << 20)
#define MEMORY_MOST   ((uint64_t)2 << 30)
#define MEMORY_A_BYTE 64

/* The limit for the files that the words name. */
static uint64_t memory_for(int argc, char **argv)
{
	uint64_t most = MEMORY_LEAST;
	struct stat st;

	for (int i = 1; i < argc; i++)
		if (!stat(argv[i], &st) && S_ISREG(st.st_mode) && most < MEMORY_MOST)
			most += (uint64_t)st.st_size * MEMORY_A_BYTE;
	return most < MEMORY_MOST ? most : MEMORY_MOST;
}

int cmd_options(const struct options_spec *spec, int argc, char **argv, void *input, struct options_common *common)
{
	struct options_spec reader = *spec;
	struct error e = { 0 };
	int r;

	reader.reads = true;
	common->max_memory = memory_for(argc, argv);
	r = options_parse(&reader, argc, argv, input, common, &e);
	if (!r) {
		confine_memory(common->max_memory);
		/* Once confined, this process can start no program. */
		common->paged = pager_start(spec->paged && !common->no_pager && spec->paged(input));
		confine(argc, argv);
		return -1;
	}
	if (r < 0)
		return cmd_fail(spec->name, &e);
	cmd_write(&common->text);
	return 0;
}

int cmd_run(const struct options_spec *spec, int argc, char **argv, void *input,
	    int (*run)(void *input, const struct options_common *common))
{
	struct options_common common = { 0 };
	int status = cmd_options(spec, argc, argv, input, &common);

	status = status < 0 ? run(input, &common) : status;
	options_common_release(&common);
	return status;
}

int cmd_run_each(const struct options_spec *spec, int argc, char **argv, void *input,
		 int (*one)(const void *input, const char *path, const struct options_common *common))
{
	struct options_common common = { 0 };
	const struct cmd_files *files = input;
	int status = cmd_options(spec, argc, argv, input, &common), worst = EXIT_GOOD;

	for (int i = 0; status < 0 && i < files->n; i++) {
		int of_one = one(input, files->path[i], &common);

		if (worst != EXIT_TROUBLE && (of_one > worst || of_one == EXIT_TROUBLE))
			worst = of_one;
	}
	options_common_release(&common);
	return status < 0 ? worst : status;
}

int cmd_files(void *into, int n, char **operand, struct error *e)
{
	*(struct cmd_files *)into = (struct cmd_files){ operand, n };
	return n ? 0 : error_set(e, EINVAL, "no recording given; try --help");
}
