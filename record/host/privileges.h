/*
 * What pmrec may do beyond its caller, and when. A program with more rights than its caller drops them all before it
 * reads any of the caller's input; the opener (record/host/opener.h) keeps them. One with its caller's own rights,
 * such as root's, has them in effect only while it handles what the caller names, and drops them before the first
 * thread samples.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct buf;

/* Whether the program has rights that its caller lacks (file capabilities, setuid). */
bool privileges_elevated(void);
/* The permitted capabilities of the calling thread, a bit each. */
uint64_t privileges_permitted(void);

/* Makes the calling thread's permitted capabilities effective, or none. 0 or -errno. */
int privileges_effective(bool on);

/* Around opening what the caller names: the caller's rights. Pass the result of the first to the second. */
bool privileges_become_caller(void);
void privileges_become_self(bool changed);

/* In a forked child: exactly the caller's credentials. 0 or -errno. */
int privileges_for_child(void);

/* Whether this thread or the opener has the capability ("cap_perfmon"); false for an unknown name. */
bool privileges_has(const char *name);

/* Gives up for good, for the calling thread and those that it starts: capabilities in all sets, gaining new ones, and
 * all system calls but those that sampling and writing need. privileges_tell() says what is in force. */
void privileges_confine(void);
/* Appends "no capabilities, no new privileges, system calls filtered", or what is not in force. Whether all is. */
bool privileges_tell(struct buf *out);
/* For a thread that reads on time: raises it above ordinary work, if permitted. A reader runs for microseconds, but
 * would wait for milliseconds on a busy CPU. */
void privileges_hurry(void);
