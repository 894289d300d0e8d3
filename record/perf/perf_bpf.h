/*
 * perf events that BPF programs count (-b, --bpf-counters, the modifier b). Two ways: around the runs of other BPF
 * programs, and through leaders that many share. They differ in what they hold and how they are read; the result is
 * counts with enabled and running times, as for other events.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/error.h"

struct buf;
struct event;
struct perf_group;
struct perf_row;
struct perf_source;
struct plan;
struct record_options;

enum perf_way { PERF_BY_READ, PERF_BY_PROGRAM, PERF_BY_LEADER };

/* How the event is to be counted. */
enum perf_way perf_way_of(const struct record_options *o, const struct event *ev);

/* What one of the groups has that BPF counts. */
struct bpf_group {
	struct perf_bpf *all;      /* opaque */
	struct bpf_member *member; /* owned; of each of the perf group; opaque */
	uint32_t n;
	uint32_t target;  /* PERF_BY_PROGRAM */
	bool opens;       /* its rows have open events of their own */
	bool on;          /* it counts */
	bool first;       /* of those that are counted in the same way */
	char text[24];    /* for the recording: "program 12", "shared" or "alone" */
	const char *name; /* of the program, or NULL; the target's */
};

/* Before anything is opened: checks that BPF can count, if it is wanted, and notes what will differ from the request.
 * 0, or -errno with cause and cure in *e. */
int perf_bpf_check(const struct perf_source *s, struct plan *p, struct error *e);
/* Once groups are settled: finds the programs of -b and loads those that count. 0, or -errno with the text in *e. */
int perf_bpf_begin(struct perf_source *s, struct plan *p, struct error *e);
void perf_bpf_release(struct perf_bpf *b);
void bpf_group_free(struct bpf_group *b);

/* Like perf_row_open() and so on, for rows of such groups; called after or before those. */
int bpf_row_open(struct perf_row *row);
void bpf_row_close(struct perf_row *row);
int bpf_row_enable(struct perf_row *row, bool on);
/* Fills row->got as read(2) would. */
ssize_t bpf_row_read(const struct perf_row *row);
/* Brings up to date what later rows of the same snapshot read; a part of bpf_row_read(). */
void bpf_row_refresh(const struct perf_row *row);
/* A CPU has come online: the events of the group are opened there, too. */
void bpf_group_online(struct perf_group *g, uint32_t cpu);

/* For `pmrec doctor`: a line that says whether this works here, and if not, what helps. */
void perf_bpf_doctor(const struct plan *p, struct buf *out);
