/*
 * Recordings with known truth for pmrep stat. The machine of builder.h (2 packages, 4 cores, 8
 * CPUs), 5 snapshots, one a second.
 *
 * all    counters of CPU n = 0 to 7, each second:
 *   cycles               (n + 1) * 1000 are seen in (n + 1) / 8 of the time, so there were 8000; CPU 0 sees none
 *   task-clock           1e9 ns
 *   branch-misses        10; branches 100
 *   uncore_imc_N/cas/    N = 0, 1: on CPUs 0 and 4: 1000000 * (N + 1), unit MiB, scale 6.103515625e-05, one wildcard
 *   cpu_core/cycles/     on CPUs 0 to 3: 100; cpu_atom/cycles/ on CPUs 4 to 7: 200; one wildcard
 *   pkg/energy/          of the package, but opened on every CPU: n + 1
 *   core/ev,percore/     n + 1
 *   msr/level/           snapshot: 40 + n, whatever was before
 *   a,"b"                100: a name of all that parts fields
 *   broken               could not be opened
 * odd    the same where CPUs with odd numbers are of package 1
 * scales uncore_imc_N/cas/ on CPU 0, one wildcard, each second: 1000000 MiB / 16384 of N = 0; of N = 1 to 3 2000000 of
 *        these, of half a MiB, and of half a joule
 *
 * runs     a command that ran three times, for 1, 2 and 3 s: task-clock 1, 2 and 3 ms, instructions 10, 20 and 60
 * unrun    the same with rare, 100 in the first run and 300 in the third, which did not run in the second, and never,
 *          which ran in none
 * cut      the same up to the end of the first run, and the first snapshot of the others; rare is there in the third
 * tasks    context-switches of threads 10 (bash) and 11 ("two words"), 3 and 5 a second; the latter ends after 2 s
 * cgroups  task-clock and cs of cgroups 1 ("a") and 2 ("b,c") on CPUs 0 and 1: number * 1 ms, 10 * number + CPU
 * programs cs and faults of all CPUs in the BPF programs 12 ("one", 1 and 2 a second) and 7 (no name, 10 and 20)
 * topdown  slots, and the four events of the first level, which are 70, 10, 15 and 5 % of them
 * hybrid   made with -M Default: topdown of 1000 slots, context-switches and cpu-clock; cpu_core (CPUs 0 to 3) counts
 *          in a half of the time slots and 70, 10, 15 and 5 % of them, cpu_atom (CPUs 4 to 7) all the time 40, 20, 30
 *          and 10 %
 * slots    what older processors count of 1000 slots: 300 issued, 250 retired, 100 fetch bubbles, 50 of recovery
 * shares   CPUs 0 and 1, three snapshots: cycles, 1000 a second on CPU 0 in 1/2, then in 1/4 of the time, 100 on 1
 *          in all of it; part, 7 a second, which CPU 1 could not open; pkg/late/, one of a package, which never runs
 *          on CPU 0 and counts 5 a second on CPU 1
 * names    on CPUs 0 and 1, 1 to 4 a second: cpu_core/branches/u, cycles:k, sched:sched_switch and cpu/loads/, and what
 *          perf did not count, interrupts.total
 * nvidia   PCIE PMUs, three of package 0 and two of package 1, of the rates in pcie[] below, in two groups that take
 *          turns: requests beside a clock, and bytes beside one that was read when it ran at half the speed; and a
 *          link that is down
 */
#pragma once

#include "tests/unit/lib/builder.h"

/* Makes it, to its end; its bytes are b->file, and the caller releases it. False: there is none of that name. */
bool stat_world(struct builder *b, const char *kind);
