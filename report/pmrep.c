/* main() of pmrep: terminal, pipes, and whether all output was written. */
#include <errno.h>
#include <locale.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "common/memory.h"
#include "report/cmd.h"

int main(int argc, char **argv)
{
	int status;

	/* What is large goes back to the system when it is freed; glibc would keep up to 32 MiB of it. */
	mallopt(M_MMAP_THRESHOLD, 256 << 10);
	memory_ends_with(EXIT_TROUBLE, cmd_memory_hint);
	/* Characters as the terminal has them; numbers always with a point. */
	setlocale(LC_CTYPE, "");
	/* Whoever started us may have ignored it; `pmrep | head` should end silently. */
	signal(SIGPIPE, SIG_DFL);
	status = pmrep_run(argc, argv);
	/* A full disk may show only when the last byte is written, or when the file is closed. */
	if (ferror(stdout) || fclose(stdout)) {
		fprintf(stderr, "pmrep: standard output: %s\n", strerror(errno));
		status = EXIT_TROUBLE;
	}
	cmd_pager_wait();
	return status;
}
