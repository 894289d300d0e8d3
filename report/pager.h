/* What a person at a terminal gets: a pager for text, and, while nothing was printed for a second, how far a file is
 * read. Both are child processes, which begin before this one is confined. */
#pragma once

#include <stdbool.h>

/* Sends standard output to $PMREP_PAGER, $PAGER or less, if it is a terminal and they name one; whether it does.
 * What is said on a terminal goes there, too. */
bool pager_start(void);
/* Without a pager: shows how far a file is read on a terminal that gets messages only, as standard output is a file
 * or the command `saves` what it makes. */
void pager_watch(bool saves);
/* Columns of the terminal behind the pager; 0: there is none. */
unsigned pager_width(void);
/* Waits until they end; close standard output first. Nothing can be said after it. */
void pager_wait(void);
