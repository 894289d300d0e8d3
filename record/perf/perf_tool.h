/*
 * Events of the PMU "tool": what pmrec counts itself, recorded with the kernel's events so that a replay needs
 * nothing else. duration_time is CLOCK_MONOTONIC. user_time and system_time come from /proc/stat (with what ran
 * niced) where CPUs are counted, from the stat file of each process or, where threads are what is counted, each
 * thread in /proc otherwise. Those of a process include its children that have ended; those of a command are its
 * rusage after its end.
 */
#pragma once

#include "record/perf/perf_source.h"

/* Adds the column groups and units of the others, whose counters exist already. */
void perf_tool_plan(struct perf_source *s, struct plan *p);
/* A CPU has come or gone: adds the times of a new one. */
void perf_tool_cpu(struct perf_source *s, struct plan *p, uint32_t cpu, bool online);
/* --per-thread: adds the times of new tasks, and removes those of ended ones. */
void perf_tool_threads(struct perf_source *s, struct plan *p);
/* p->child is a new process, and the tasks of the old one are gone. */
void perf_tool_restart(struct perf_tool *t, const struct plan *p);
void perf_tool_release(struct perf_tool *t);
