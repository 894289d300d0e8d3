/*
 * The one process of pmrec that keeps the capabilities that pmrec has beyond its caller, or root beyond ordinary
 * users. It is forked before anything is parsed, and opens for the recorder what the recorder may not open itself:
 * performance events, BPF objects, and the files of the machine that a table allows. What the caller names by path is
 * never opened here. A process has one opener as it has one set of credentials. All functions may be called from any
 * thread.
 */
#pragma once

#include <limits.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "record/host/message.h"
#include "record/host/perf_open.h"

/* Forks it if it is wanted and this process has rights to keep. Afterwards a program with more rights than its caller
 * has only the caller's; for one with its caller's rights they are not effective, until privileges_confine() drops
 * them. 0 or -errno. */
int opener_start(bool wanted);
/* Ends it. Later requests are refused. */
void opener_end(void);
/* In a forked process: closes what was inherited of it. */
void opener_forget(void);
bool opener_runs(void);
/* A descriptor that hangs up when it ends; -1: there is none. Only for poll(), without events. */
int opener_fd(void);
/* True once, if it has ended by itself. Later requests are refused. */
bool opener_lost(void);
/* Whether it was started with this capability. */
bool opener_has(int capability);

/* A descriptor or -errno; -EPERM without an opener, or for what it does not open. */
int opener_open(const char *path, int flags);
int opener_perf(const void *attr, size_t attr_size, pid_t pid, int cpu, int group_fd, int cgroup_fd,
		unsigned long flags);

/* Bytes that an attribute of bpf(2) points to. */
struct opener_blob {
	void *data;
	uint32_t size;
	uint16_t at; /* where the pointer is, in the attribute or in blob `in` - 1 */
	uint8_t in;  /* 0: in the attribute */
	bool out;    /* is filled by the call */
	bool fd;     /* is one descriptor */
};
/* What an attribute of bpf(2) points to, and its descriptors. */
enum { OPENER_BLOBS = 6 };
struct opener_baggage {
	struct opener_blob blob[OPENER_BLOBS];
	unsigned n_blobs;
	uint16_t fd_at[2]; /* where they are in the attribute; 0 there: none */
	unsigned n_fds;
	bool code; /* the first blob is instructions, and some name maps */
};
/* bpf(2): its result, or -errno. `b` may be NULL. */
int opener_bpf(int command, const void *attr, size_t attr_size, const struct opener_baggage *b);
/* A socket on which the kernel reports what each ended task has used (taskstats). A descriptor or -errno. */
int opener_exits(void);
/* What a process has read from and written to storage. 0 or -errno. */
int opener_io(pid_t pid, uint64_t bytes[static 2]);
/* Raises a thread of this process above other ordinary work. 0 or -errno. */
int opener_hurry(pid_t tid);

enum opener_what { OPENER_OPEN, OPENER_PERF, OPENER_BPF, OPENER_HURRY, OPENER_EXITS, OPENER_IO };

/* A message is one of these, for BPF with the bytes of all blobs after it; the answer is the same, with `result`. */
struct opener_request {
	uint32_t what;
	int32_t result;
	union {
		struct {
			int32_t flags;
			char path[PATH_MAX];
		} open;
		struct {
			union perf_attr attr;
			uint64_t flags;
			int32_t pid, cpu;
			bool group, cgroup; /* descriptors that come along, in this order */
		} perf;
		struct {
			union bpf_attr attr;
			uint32_t attr_size;
			int32_t command;
			/* Descriptors come along in this order: of the attribute, of blobs, of code, where an index
			 * into the last ones stands for each. */
			struct opener_baggage baggage;
		} bpf;
		int32_t tid;
		struct {
			int32_t pid;
			uint64_t bytes[2]; /* of the answer: read, written */
		} io;
	};
};
/* Sockets take about that much in one piece. */
enum { OPENER_BYTES = 160 << 10 };

/* Whether an instruction names a map by its descriptor: it is the first of two. */
static inline bool opener_names_map(const struct bpf_insn *i)
{
	return i->code == (BPF_LD | BPF_IMM | BPF_DW) &&
	       (i->src_reg == BPF_PSEUDO_MAP_FD || i->src_reg == BPF_PSEUDO_MAP_VALUE);
}

/* Answers requests until the other side is gone. */
void opener_serve(int socket, pid_t client, bool elevated);
