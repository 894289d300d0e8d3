/* A recording that pmrep reads while pmrec writes it: pmrec turbostat and pmrec perfstat. */
#pragma once

#include <stdbool.h>

/* Arguments and results of a run of the recorder. */
struct joined {
	int fd;         /* where the recording goes, instead of -o */
	bool says;      /* prints when events are disabled and enabled, and how a command ended, as perf does */
	bool brief;     /* nobody keeps the recording: of the machine it has what pmrep stat prints */
	bool turbostat; /* its events are not shown as counters, and perf stands in for registers that are shut */
	bool usage;     /* out: the request is invalid */
	bool none;      /* out: nothing was recorded */
	bool refused;   /* out: the caller may count none of the requested events */
	bool ran;       /* out: there was a command, and it ended */
	bool cut;       /* out: pmrec ended it, because time was up */
	int status;     /* out: then as wait() has it */
	int failure;    /* out: errno of a command that could not be run */
	int signal;     /* out: the signal that ended the recording; 0: none */
	bool unwanted;  /* out: the reader has closed its end */
};

/* As cmd_record(). `j` may be NULL. */
int record_joined(int argc, char **argv, struct joined *j);
