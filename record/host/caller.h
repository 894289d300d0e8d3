/*
 * A process with exactly the caller's rights: it starts commands, and creates and removes recordings, once the
 * recorder itself can no longer do either. It is forked when the command line has been parsed, and does only what
 * that says. A process has one.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct caller_rules {
	/* In a new process, which is a child of the recorder: waits for a byte at `go` and runs what the number
	 * stands for; `failure` is its own. Does not return. */
	void (*run)(void *ctx, unsigned what, const char *text, int go, int failure);
	void *ctx;
	const char *output; /* recordings are created in the folder of this file; NULL: in the working directory */
};

/* 0 or -errno. */
int caller_start(const struct caller_rules *rules);
/* Waits for its end. */
void caller_end(void);
bool caller_runs(void);
/* For rules.run: ends the new process, which has its own stack; sanitizers would report _exit() there. */
void caller_leave(int status);

/* The new process, or -errno. Text may be NULL. */
pid_t caller_launch(unsigned what, const char *text, int go, int failure);
/* Creates a file for writing, with the calling thread's rights, or the caller's if those do not suffice. A descriptor
 * or -errno. */
int caller_create(const char *path, mode_t mode);
/* Removes a file in the same way, if it still has this inode number. 0 or -errno; -ESTALE if it has not. */
int caller_remove(const char *path, dev_t device, ino_t inode);
