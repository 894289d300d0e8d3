/* main() of pmrec: finds the command, and checks standard output at the end. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "common/memory.h"
#include "record/commands.h"
#include "record/host/opener.h"

#define STACK_BYTES (1u << 20)

/* perf's users type `perf stat -e LIST COMMAND`; here that would run stat(1). */
static int cmd_of_perf(int argc, char **argv)
{
	struct error e = { 0 };

	error_set(&e, EINVAL,
		  "'stat' is not a command of pmrec: use pmrec perfstat for perf stat's options, or pmrec -e LIST "
		  "COMMAND to record. To run the program 'stat': pmrec -- stat");
	return command_failed(&e);
}

struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	bool opens;
};

#define ROW(name, opens, pad, help) { #name, cmd_##name, opens },
static const struct command commands[] = { EACH_COMMAND(ROW){ "stat", cmd_of_perf, false } };
static const struct command recording = { "", cmd_record, true };

static bool names_recording(char *const *argv)
{
	for (; *argv; argv++)
		if (strstr(*argv, ".pmr"))
			return true;
	return false;
}

void command_suggest(char *const *argv, struct error *e)
{
	const char *names[sizeof(commands) / sizeof(commands[0])], *near;
	struct error said = *e;

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		names[i] = commands[i].name;
	near = options_nearest(argv[0], names, sizeof(names) / sizeof(names[0]));
	if (names_recording(argv))
		error_set(e, said.number, "%s; pmrep reads recordings", said.text);
	else if (near)
		error_set(e, said.number, "%s; did you mean 'pmrec %s'?", said.text, near);
	else if (!strchr(argv[0], '/'))
		error_set(e, said.number, "%s; pmrec --help lists the commands of pmrec", said.text);
}

/* Program names that select a command. */
static const struct command called[] = { { "turbostat", cmd_turbostat, true },
					 { "perf-stat", cmd_perfstat, true },
					 { "perfstat", cmd_perfstat, true } };

/* Makes sure that what was printed has arrived: a full disk must not look like success. */
static int close_stdout(int code)
{
	struct error e = { 0 };

	if ((ferror(stdout) || fflush(stdout)) && errno != EPIPE) {
		error_sys(&e, errno, "standard output");
		return command_failed(&e);
	}
	return code;
}

/* If the caller closed a standard stream, its descriptor must not be reused by the next open(). Output then still
 * fails; messages are lost. */
static void hold_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_RDWR) != fd)
			return;
}

/* Eight megabytes of address space per thread are much under ulimit -v. */
static void shorten_stacks(void)
{
	pthread_attr_t attr;

	if (pthread_attr_init(&attr))
		return;
	if (!pthread_attr_setstacksize(&attr, STACK_BYTES))
		pthread_setattr_default_np(&attr);
	pthread_attr_destroy(&attr);
}

int main(int argc, char **argv)
{
	const struct command *command = &recording;
	const char *slash = argc ? strrchr(argv[0], '/') : NULL, *name = slash ? slash + 1 : argc ? argv[0] : "";
	struct error e = { 0 };
	bool by_name = false;
	int err;

	for (size_t i = 0; i < sizeof(called) / sizeof(called[0]); i++)
		if (!strcmp(name, called[i].name)) {
			command = &called[i];
			by_name = true;
		}
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]) && argc > 1 && !by_name; i++)
		if (!strcmp(argv[1], commands[i].name))
			command = &commands[i];
	hold_streams();
	memory_ends_with(125, NULL);
	/* What is large goes back to the system when it is freed; glibc would raise this. */
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	/* Threads allocate little. */
	mallopt(M_ARENA_MAX, 1);
	/* Before any of the caller's words is read. */
	err = opener_start(command->opens);
	if (err) {
		error_sys(&e, -err, "cannot give up privileges that the caller lacks");
		return command_failed(&e);
	}
	shorten_stacks();
	by_name |= command == &recording;
	return close_stdout(command->run(argc - !by_name, argv + !by_name));
}
