/* A recording that pmrep reads while it is being made: pmrec turbostat and pmrec perfstat. */
#ifndef RECORD_JOINED_H
#define RECORD_JOINED_H

#include <stdbool.h>

/* What a run of the recorder is told, and what it says of it. */
struct joined {
	int fd;        /* where the recording goes, in place of -o */
	bool says;     /* tells when events are disabled and enabled, and how a command was ended, as perf does */
	bool needs;    /* an event that is supported, as perf 7 does; perf 6 says of each that it is not */
	bool usage;    /* out: what was asked for is not understood */
	bool none;     /* out: nothing was recorded */
	bool refused;  /* out: the caller may count nothing of what was asked for */
	bool ran;      /* out: there was a command, and it ended */
	bool cut;      /* out: by us, as the time was over */
	int status;    /* out: then as wait() has it */
	int failure;   /* out: errno of a command that could not be run */
	int signal;    /* out: that ended the recording; 0: none did */
	bool unwanted; /* out: nobody took the recording any more */
};

/* As cmd_record(). `j` may be NULL. */
int record_joined(int argc, char **argv, struct joined *j);

#endif
