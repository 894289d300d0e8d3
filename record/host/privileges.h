/*
 * What pmrec may do beyond its caller, and when. Capabilities are a thread's own: the control thread keeps those it
 * was started with as permitted and makes them effective only while it opens what the plan names; all others give
 * them up.
 */
#ifndef RECORD_PRIVILEGES_H
#define RECORD_PRIVILEGES_H

#include <stdbool.h>

/* The calling thread's permitted capabilities become effective, or nothing is effective. 0 or -errno. */
int privileges_raise(void);
int privileges_lower(void);
/* Gives everything up on the calling thread, for good. A reader or writer that cannot is not stopped by it. */
void privileges_drop(void);
/* The same for a thread that reads on time: before that, it is put before ordinary work, if that is permitted. A
 * reader runs for microseconds, but on a busy CPU it would wait for milliseconds. */
void privileges_drop_reader(void);
/* What the thread needs that opens files one after another: the caller's identity, and if that is the program's own
 * the right to reach all files, which the caller has too. */
void privileges_drop_opener(void);

/* Around opening what the caller names: with more rights than the caller, the caller's identity; otherwise all
 * that he has. */
int privileges_become_caller(void);
int privileges_become_self(void);

/* In the forked child, before exec: exactly the caller's credentials. 0 or -errno. */
int privileges_for_child(void);

/* Whether the named capability ("cap_perfmon") is permitted; false for a name that this system does not know. */
bool privileges_has(const char *name);

#endif
