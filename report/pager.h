/* A pager for what a person reads on a terminal. It is a child process, which begins before this one is confined. */
#pragma once

#include <stdbool.h>

/* Sends standard output, if that is `wanted` and it is a terminal, to $PMREP_PAGER, $PAGER or less, as they say;
 * whether it does. What is said on a terminal goes there, too. */
bool pager_start(bool wanted);
/* Columns of the terminal behind the pager; 0: there is none. */
unsigned pager_width(void);
/* Waits until it ends; close standard output first. Nothing can be said after it. */
void pager_wait(void);
