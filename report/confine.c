#include "report/confine.h"

#include <libgen.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "common/sandbox.h"

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

void confine_memory(uint64_t most)
{
	struct rlimit limit;

	if (!most || SANDBOX_SANITIZED || getrlimit(RLIMIT_DATA, &limit))
		return;
	if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > most)
		limit.rlim_cur = most;
	(void)setrlimit(RLIMIT_DATA, &limit);
}

void confine(int argc, char **argv)
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
