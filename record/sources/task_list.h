/* The processes of the machine, as /proc shows them at a reading, and those that have ended since the previous one.
 * Reading them again costs one small file per process, and allocates nothing. */
#pragma once

#include <dirent.h>

#include "record/host/root.h"
#include "record/host/taskstats.h"

/* What a process has used since it began. */
struct task_use {
	uint64_t user, system; /* us */
	uint64_t faults;       /* that took a reading from storage */
	uint64_t bytes[2];     /* read from and written to storage */
};

struct task {
	pid_t pid, parent;
	uint64_t began;              /* ticks after boot */
	struct task_use use, before; /* now, and at the previous reading; 0: it has begun since */
	uint64_t children;           /* us: what those that have ended and were waited for had used */
	uint64_t rss;                /* bytes */
	uint32_t threads;
	uint32_t member; /* the table's own: its place there + 1 */
	uint32_t number; /* likewise: the number of its pseudonym; 0: none yet */
	int fd;          /* of its stat; -1: opened for each reading */
	int run_fd;      /* of its schedstat; -1: not looked at */
	uint64_t ran;    /* ns that its one thread had run by then; 0: not known */
	uint16_t no_io;  /* pm_reason why `bytes` are not known */
	bool ended;      /* since the previous reading; `use` is what is known of its end */

	uint64_t exits; /* us used by its threads that have ended since */
	/* Of the list of threads. */
	uint64_t looked;     /* last reading that looked at its threads; 0: never */
	uint64_t looked_cpu; /* us that it had used then */
	uint64_t looked_ns;  /* the last time when it had used no more than that */
	bool several;        /* threads, when they were looked at */
	bool crowded;        /* there was no room for them */
	char state;
	char name[TASK_NAME];
};

/* Processes that began and ended between two readings: those with one name and parent. */
struct task_brief {
	pid_t parent; /* 0: no reading saw it */
	char name[TASK_NAME], parent_name[TASK_NAME];
	struct task_use use, before;  /* of all so far, and of those up to the previous reading */
	uint64_t ended, ended_before; /* how many */
	uint64_t since;               /* reading in which one ended last; 0: the place is free */
	uint32_t member;              /* as above */
	uint32_t number;
};

enum { TASKS_MOST = 32768, BRIEF_MOST = 128, TASK_FILES = 4096 };

struct task_list {
	const struct root *root;
	struct thread_list *threads; /* NULL: nobody looks at them */
	DIR *dir;                    /* /proc */
	int proc;                    /* its descriptor */
	int exits;                   /* of taskstats; -errno: not available */
	uint64_t reading;            /* number of the last one, from 1 */
	struct task *task;           /* ascending by pid; n of them, those that have ended among them */
	struct task *other;          /* the previous array, and the next */
	pid_t *pid;
	uint32_t n, most, n_files, files_most;
	struct task_brief brief[BRIEF_MOST];
	uint64_t ended;  /* processes reported by taskstats */
	uint64_t missed; /* processes too many, and messages that were lost */
	uint64_t page, tick_us;
};

static inline uint64_t task_cpu(const struct task_use *u)
{
	return u->user + u->system;
}

/* Opens what is needed; nothing is read yet. 0 or -errno. */
int task_list_init(struct task_list *l, const struct root *root);
void task_list_release(struct task_list *l);
/* Reads. 0 or -errno. */
int task_list_read(struct task_list *l);
/* NULL: not in the list. */
struct task *task_list_find(const struct task_list *l, pid_t pid);
/* Reads how much it has read and written, if permitted. */
void task_list_io(struct task_list *l, struct task *t);

/*
 * The threads of processes with several, as /proc/PID/task shows them. Only processes that have used CPU time since
 * their threads were last looked at are looked at again, and no more often than a small share of a CPU allows.
 */

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

/* Raises the limit of open files if that helps. */
void thread_list_init(struct thread_list *l, struct task_list *tasks);
void thread_list_release(struct thread_list *l);
/* Follows each reading of the tasks. */
void thread_list_read(struct thread_list *l);
/* NULL: not in the list. */
struct thread *thread_list_find(const struct thread_list *l, pid_t tid);
void thread_list_exit(struct thread_list *l, const struct task_exit *x);
/* Puts its name, as it is now, if that is available. */
void thread_list_name(const struct thread_list *l, struct thread *t);
