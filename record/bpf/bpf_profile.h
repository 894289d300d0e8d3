/*
 * Counting while a BPF program runs (-b): a program before it reads the events of the CPU, and one after it adds the
 * difference. The kernel's own entry and exit lie between the two: tens of nanoseconds per run.
 */
#pragma once

#include "common/error.h"
#include "record/bpf/bpf_cells.h"

/* A program that is loaded in the kernel. */
struct bpf_target {
	uint32_t id;
	uint32_t function; /* in its BTF */
	int fd;            /* owned; -1: none */
	char name[64];     /* of its function, or as much as the kernel shows */
};
/* 0; -ENOENT: no such program; -EPERM; -EINVAL: it has no BTF, so nothing can attach; -EPROTO: it is not compiled. *e
 * has cause and cure. */
int bpf_target_find(struct bpf_target *t, uint32_t id, struct error *e);
void bpf_target_release(struct bpf_target *t);

struct bpf_profile {
	const struct bpf_target *target; /* borrowed, n_targets of them */
	uint32_t n_targets, n_events, n_cpus;
	int events;             /* map: event * n_cpus + CPU */
	struct bpf_cells cells; /* target * n_cpus + CPU */
	int *link;              /* owned; two of each target */
};
enum { BPF_PROFILE_EVENTS_MAX = 400 }; /* what lies after one address of a program */

/* Attaches to all of them. 0 or -errno with the text in *e; bpf_profile_release() in any case. */
int bpf_profile_init(struct bpf_profile *p, const struct bpf_target *target, uint32_t n_targets, uint32_t n_events,
		     uint32_t n_cpus, struct error *e);
void bpf_profile_release(struct bpf_profile *p);
/* The event is read from this descriptor on the CPU from now on, or no more (-1). 0 or -errno. */
int bpf_profile_put(const struct bpf_profile *p, uint32_t event, uint32_t cpu, int fd);
/* What one event counted in one program on one CPU. */
struct bpf_sum bpf_profile_sum(const struct bpf_profile *p, uint32_t target, uint32_t event, uint32_t cpu);
