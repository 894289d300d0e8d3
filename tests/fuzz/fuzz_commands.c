/*
 * Every command of pmrep on recordings that lie.
 *
 *   fuzz_commands [--seed=N] [--count=N] [--minutes=N] [--keep=DIR] FILE...   changes FILEs by chance, runs everything
 *   fuzz_commands --as-it-is FILE...                                          runs everything on FILEs themselves
 *
 * Each command runs in a child, with a limit on its memory and time; a child that dies of anything but its own exit is
 * a finding: its recording is kept, and the exit code is 1. Run it from a build with sanitizers.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "report/cmd.h"
#include "tests/fuzz/reshape.h"

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifdef SANITIZED
#define MEMORY_MAX (1024u << 10) /* KiB; the sanitizer has its own share */
#define SECONDS    60
#else
#define MEMORY_MAX (272u << 10) /* --max-memory, and the program itself */
#define SECONDS    10
#endif

/* FILE and OUT stand for the recording and a file that is not there. */
static const char *const lines[] = {
	"show FILE",
	"show --total -S FILE",
	"show --all -d --format=csv FILE",
	"show --all -d --format=csv --layout=wide FILE",
	"show -d --format=json FILE",
	"show --total -d FILE",
	"show --format=turbostat FILE",
	"show --list FILE",
	"show -D FILE",
	"show --per-package --per-core --rate FILE",
	"show --per-device --pci FILE",
	"show --per-cgroup --every=0.3 FILE",
	"show --per-task --all FILE",
	"show --since=-1 --until=1 FILE",
	"show --all -d --per-cpu --format=parquet -o OUT FILE",
	"show --all -d --format=perfetto -o OUT FILE",
	"show --all -d --format=openmetrics -o OUT FILE",
	"incidents FILE",
	"incidents --format=json FILE",
	"stat FILE",
	"stat -x, FILE",
	"stat -j FILE",
	"stat -A -x, FILE",
	"stat --per-core -I 1000 FILE",
	"stat --per-thread FILE",
	"stat -x, --per-socket FILE",
	"info --all FILE",
	"info --all --format=json FILE",
	"info --pci --all FILE",
	"list FILE",
	"list metrics FILE",
	"list instances FILE",
	"list events FILE",
	"dump FILE",
	"dump --format=json FILE",
	"check FILE",
	"cut --since=0.5 -o OUT FILE",
	"cut --every=2 -o OUT FILE",
	"merge -o OUT FILE OTHER",
	"repair -o OUT FILE",
	"redact -o OUT FILE",
	"redact --shift-time -o OUT FILE",
	"bundle -o OUT FILE",
	"bundle --no-redact --max-size=5k -o OUT FILE",
	"plot util FILE",
	"plot --per-cpu ctxsw FILE",
	"html -o OUT FILE",
	"diff --force FILE OTHER",
	"diff --force --per-cpu --all OTHER FILE",
	"diff --force --pairs FILE OTHER",
};
#define LINES (sizeof(lines) / sizeof(*lines))

struct job {
	const char *keep;
	char folder[64], file[96], out[96], err[96];
	const char *other;
	uint64_t runs, findings;
};

static void child(const struct job *j, const char *line)
{
	char copy[256], *words[16] = { (char *)"pmrep" }, *save = NULL;
	struct rlimit cpu = { SECONDS, SECONDS + 1 };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), n = 1;
	int err = open(j->err, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	setrlimit(RLIMIT_CPU, &cpu);
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	snprintf(copy, sizeof(copy), "%s", line);
	for (char *w = strtok_r(copy, " ", &save); w && n < 15; w = strtok_r(NULL, " ", &save))
		words[n++] = (char *)(!strcmp(w, "FILE")  ? j->file :
				      !strcmp(w, "OUT")   ? j->out :
				      !strcmp(w, "OTHER") ? j->other :
							    w);
	exit(pmrep_run(n, words));
}

static void keep(struct job *j, const char *why, const char *line, uint64_t seed)
{
	char to[256], command[512];

	j->findings++;
	printf("finding: %s: %s (seed %" PRIu64 ")\n", line, why, seed);
	/* What a sanitizer says, but not of what lines its stack is. */
	snprintf(command, sizeof(command), "grep -aE 'ERROR|runtime error|^ +#[0-9] ' '%s' | head -n 12", j->err);
	fflush(stdout);
	if (system(command) < 0 || !j->keep)
		return;
	snprintf(to, sizeof(to), "%s/%" PRIu64 ".pmr", j->keep, seed);
	snprintf(command, sizeof(command), "cp '%s' '%s'", j->file, to);
	if (system(command))
		printf("cannot keep %s\n", to);
}

static void run_line(struct job *j, const char *line, uint64_t seed)
{
	struct rusage use;
	char why[128] = "";
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid)
		child(j, line);
	if (pid < 0 || wait4(pid, &status, 0, &use) != pid) {
		perror("fork");
		exit(2);
	}
	unlink(j->out);
	j->runs++;
	if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL))
		snprintf(why, sizeof(why), "more than %d s", SECONDS);
	else if (WIFSIGNALED(status))
		snprintf(why, sizeof(why), "signal %d", WTERMSIG(status));
	else if (WEXITSTATUS(status) > EXIT_INCONCLUSIVE)
		snprintf(why, sizeof(why), "exit status %d", WEXITSTATUS(status));
	else if (use.ru_maxrss > (long)MEMORY_MAX)
		snprintf(why, sizeof(why), "%ld KiB", use.ru_maxrss);
	if (why[0])
		keep(j, why, line, seed);
}

static int load(const char *path, struct buf *b)
{
	FILE *f = fopen(path, "rb");
	char block[65536];
	size_t n;

	if (!f)
		return -errno;
	while ((n = fread(block, 1, sizeof(block), f)))
		buf_add(b, block, n);
	fclose(f);
	return b->err;
}

static int save(const char *path, const struct buf *b)
{
	FILE *f = fopen(path, "wb");
	int err = !f || fwrite(b->data, 1, b->len, f) != b->len ? -EIO : 0;

	if (f && fclose(f))
		err = -errno;
	return err;
}

/* One recording, changed in a few places; a part of the commands on each, all of them in turn. */
static void one(struct job *j, const struct buf *in, uint64_t seed, unsigned share)
{
	struct statistics_random r = { seed * 0x9e3779b97f4a7c15 + 1 };
	struct shape *s = shape_read(in->data, in->len);
	struct buf out = BUF_INIT;

	if (!s)
		return;
	for (uint64_t n = 1 + statistics_random(&r) % 4; n; n--)
		shape_change(s, &r);
	shape_write(s, &out);
	if (save(j->file, &out))
		exit(2);
	for (size_t i = 0; i < LINES; i++)
		if (i % share == seed % share)
			run_line(j, lines[i], seed);
	shape_free(s);
	buf_release(&out);
}

static const char *value(const char *word, const char *name)
{
	size_t n = strlen(name);

	return strncmp(word, name, n) ? NULL : word + n;
}

int main(int argc, char **argv)
{
	struct job j = { 0 };
	uint64_t seed = 1, count = 20, minutes = 0, done = 0;
	struct timespec start, now;
	const char *v;
	bool as_it_is = false;
	int first = 1;

	for (; first < argc && argv[first][0] == '-'; first++) {
		if ((v = value(argv[first], "--seed=")))
			seed = strtoull(v, NULL, 0);
		else if ((v = value(argv[first], "--count=")))
			count = strtoull(v, NULL, 0);
		else if ((v = value(argv[first], "--minutes=")))
			minutes = strtoull(v, NULL, 0);
		else if ((v = value(argv[first], "--keep=")))
			j.keep = v;
		else if (!strcmp(argv[first], "--as-it-is"))
			as_it_is = true;
		else
			return fprintf(stderr, "there is no %s\n", argv[first]), 2;
	}
	if (first == argc)
		return fprintf(stderr, "no recording given\n"), 2;
	snprintf(j.folder, sizeof(j.folder), "/tmp/fuzz_commands.XXXXXX");
	if (!mkdtemp(j.folder) || (j.keep && mkdir(j.keep, 0777) && errno != EEXIST))
		return perror("folder"), 2;
	snprintf(j.file, sizeof(j.file), "%s/in.pmr", j.folder);
	snprintf(j.out, sizeof(j.out), "%s/out", j.folder);
	snprintf(j.err, sizeof(j.err), "%s/err", j.folder);
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (;; done++) {
		struct buf in = BUF_INIT;
		int at = first + (int)(done % (uint64_t)(argc - first));

		clock_gettime(CLOCK_MONOTONIC, &now);
		if (as_it_is ? done == (uint64_t)(argc - first) :
		    minutes  ? (uint64_t)(now.tv_sec - start.tv_sec) >= minutes * 60 :
			       done == count)
			break;
		j.other = argv[at];
		if (load(argv[at], &in))
			return perror(argv[at]), 2;
		if (as_it_is) {
			if (save(j.file, &in))
				return 2;
			for (size_t i = 0; i < LINES; i++)
				run_line(&j, lines[i], done);
		} else {
			one(&j, &in, seed + done, minutes ? 1 : 4);
		}
		buf_release(&in);
	}
	printf("%" PRIu64 " recordings, %" PRIu64 " commands, %" PRIu64 " findings\n", done, j.runs, j.findings);
	unlink(j.file);
	unlink(j.err);
	rmdir(j.folder);
	return j.findings ? 1 : 0;
}
