/*
 * The threads of processes with several, as /proc/PID/task shows them. Only processes that have used CPU time since
 * their threads were last looked at are looked at again, and no more often than a small share of a CPU allows.
 * Allocates nothing once it is open.
 */
#pragma once

#include "record/sources/task_list.h"

struct thread {
	pid_t pid, tid;
	int fd;               /* of its schedstat; -1: opened each time */
	uint32_t member;      /* the table's own: its place there + 1 */
	uint32_t number;      /* likewise: the number of its pseudonym; 0: none yet */
	uint64_t use, before; /* us that it has run: now, and when it was last looked at; 0: new */
	uint64_t since_ns;    /* when it had run for `before` */
	uint64_t looked;      /* last reading that looked at it */
	bool ended;           /* it is in the list for the last time */
	char name[TASK_NAME]; /* thread_list_name() asks for it */
};

enum { THREADS_MOST = 16384, THREAD_FILES = 4096 };

struct thread_list {
	struct task_list *tasks;
	struct thread *thread; /* ascending by tid, n of them */
	struct thread *other;  /* the previous array, and the next */
	struct thread_id *listed;
	uint32_t n, n_listed, n_files, files_most;
	char *entries;     /* of a directory */
	bool ticks;        /* the kernel has no schedstat, so times are in ticks */
	int64_t credit_ns; /* what looking may cost; below 0: it waits */
	uint64_t now_ns;   /* of the last reading */
};

/* Raises the limit of open files if that helps. 0 or -errno. */
int thread_list_init(struct thread_list *l, struct task_list *tasks);
void thread_list_release(struct thread_list *l);
/* Follows each reading of the tasks. */
void thread_list_read(struct thread_list *l);
/* NULL: not in the list. */
struct thread *thread_list_find(const struct thread_list *l, pid_t tid);
void thread_list_exit(struct thread_list *l, const struct task_exit *x);
/* Puts its name, as it is now, if that is available. */
void thread_list_name(const struct thread_list *l, struct thread *t);
