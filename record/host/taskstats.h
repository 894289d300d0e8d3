/* What the kernel reports about tasks when they end (taskstats), and about I/O of processes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define TASK_NAME 16 /* bytes of a name, its NUL included */

/* A thread that has ended. */
struct task_exit {
	pid_t pid, parent; /* of the process; the parent's */
	pid_t tid;
	bool last;             /* the process has ended with it */
	uint64_t user, system; /* us */
	uint64_t faults;       /* faults that read from storage */
	uint64_t bytes[2];     /* read from and written to storage */
	char name[TASK_NAME];
};

/* A nonblocking socket of such messages, for all CPUs. A descriptor or -errno; needs CAP_NET_ADMIN. */
int taskstats_listen(void);
/* The next message. 1; 0: none waits; -ENOBUFS: some were lost; or another -errno. */
int taskstats_next(int fd, struct task_exit *exit);

/* read_bytes and write_bytes of a file /proc/PID/io. 0 or -errno. */
int taskstats_io(int dir, const char *path, uint64_t bytes[static 2]);

/* The numbers of /proc/PID/stat from the fourth on, the parent, to field[n - 1], numbered as proc(5) does and without
 * their signs. The number of the first that is not there, or n; 0: this is no such line. */
int taskstats_fields(const char *text, uint64_t *field, int n);
