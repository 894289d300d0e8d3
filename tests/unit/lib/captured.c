#include "tests/unit/lib/captured.h"

#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/unit/lib/test.h"

#define WORDS 256

static void take(int memory, char text[static CAPTURED_MOST])
{
	ssize_t n = pread(memory, text, CAPTURED_MOST - 1, 0);

	assert_true(n >= 0);
	text[n] = '\0';
	close(memory);
}

void captured_run(struct captured *c, int (*command)(int argc, char **argv), const char *line)
{
	char *copy = strdup(line), *argv[WORDS] = { (char *)"command" }, *rest = copy, *word;
	int argc = 1, status, out = memfd_create("out", 0), err = memfd_create("err", 0);
	pid_t pid;

	assert_non_null(copy);
	assert_true(out >= 0 && err >= 0);
	while ((word = strsep(&rest, " "))) {
		for (char *at = word; *at; at++)
			*at = *at == '~' ? ' ' : *at;
		assert_true(argc + 1 < WORDS);
		argv[argc++] = word;
	}
	/* A command shuts itself into a sandbox before it reads what others wrote. */
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		dup2(out, STDOUT_FILENO);
		dup2(err, STDERR_FILENO);
		status = command(argc, argv);
		fflush(NULL);
		_exit(status);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	c->status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
	take(out, c->out);
	take(err, c->err);
	free(copy);
}

void captured_file(char path[64], const struct buf *bytes)
{
	int fd;

	strcpy(path, "/tmp/captured_XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes->data, bytes->len), bytes->len);
	close(fd);
}

void captured_remove(const char *path)
{
	assert_int_equal(unlink(path), 0);
}
