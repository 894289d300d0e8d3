/*
 * A recording with known truth for `pmrep diff`, on the machine of builder.h, one
 * snapshot a second. Every CPU counts interrupts.total (of which less is better), cycles, and instructions (of which
 * more is, per cycle), and the machine has a level.
 *
 *   seed=N       of the noise, and the recording's id       rows=N       snapshots (21)
 *   rate=X       interrupts a second of each CPU (1000)     ipc=X        instructions a cycle (0.5)
 *   sd=X         relative deviation of the run's rate       noise=X      of each second
 *   rho=X        lag-1 autocorrelation of the latter        step=ROW:X   from there on times X
 *   package=P:X  CPUs of that package times X               level=X      the gauge's level, and twice that at the end
 *   runs=N       so many runs of `rows` each                marker=ROW:TEXT (may be repeated)
 *   label=KEY=VALUE, unit=TEXT of interrupts, name=TEXT in place of interrupts.total
 *   config=NAME:CPU[:TEXT]  a one-time reading (may be repeated); without a text it could not be read
 *   command=SEC  a command from row 5 on, that took so long open=1       no end frame
 *   late=ROW     a counter that comes with that row (10, 20 ...)
 *   wall=SEC     so much later                              KEY=VALUE    any key of the header, by its name
 */
#pragma once

#include <stddef.h>

#include "tests/unit/lib/builder.h"

/* Of `n` words KEY=VALUE. Its bytes are out->file, and the caller releases it. False: there is no such key. */
bool diff_world(struct builder *out, size_t n, char *const *key);
