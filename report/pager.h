/* What a person at a terminal gets: a pager for text, and, while nothing was printed for a second, how far a file is
 * read. Both are child processes, which begin before this one is confined. */
#pragma once

#include <stdbool.h>

/* Sends standard output, if that is `wanted` and it is a terminal, to $PMREP_PAGER, $PAGER or less, as they say;
 * whether it does. What is said on a terminal goes there, too. Without a pager, a terminal that gets messages only,
 * as standard output is a file or the command `saves` what it makes, shows how far a file is read. */
bool pager_start(bool wanted, bool saves);
/* Columns of the terminal behind the pager; 0: there is none. */
unsigned pager_width(void);
/* Waits until they end; close standard output first. Nothing can be said after it. */
void pager_wait(void);
