/* The protocol between the two sides of the opener. */
#pragma once

#include <limits.h>
#include <linux/bpf.h>

#include "record/host/message.h"
#include "record/host/opener.h"
#include "record/host/perf_open.h"

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
		struct {
			int32_t tid, realtime;
		};
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
