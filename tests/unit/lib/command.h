/* Runs a command of a program in a process of its own, and takes what it prints. */
#pragma once

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BY = 1000 }; /* plus a signal: the process died of it */

/* Its status. `words` are separated by blanks; both outputs go to `said`. */
static inline int command_run(int (*command)(int, char **), const char *words, char *said, size_t size)
{
	char text[1024], *argv[64], *save = NULL;
	FILE *to = tmpfile();
	int argc = 0, status;
	pid_t pid;
	size_t n;

	if (!to || strlen(words) + 8 > sizeof(text))
		abort();
	fflush(stdout);
	pid = fork();
	if (!pid) {
		snprintf(text, sizeof(text), "pmrec %.1000s", words);
		for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save))
			argv[argc++] = w;
		argv[argc] = NULL;
		dup2(fileno(to), 1);
		dup2(fileno(to), 2);
		status = command(argc, argv);
		fflush(stdout);
		_exit(status);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		abort();
	rewind(to);
	n = fread(said, 1, size - 1, to);
	said[n] = '\0';
	fclose(to);
	return WIFSIGNALED(status) ? BY + WTERMSIG(status) : WEXITSTATUS(status);
}
