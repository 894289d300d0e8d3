/* Sends text for people through a pager. */
#pragma once

#include <stdbool.h>

/* Sends standard output to $PMREP_PAGER, $PAGER or less, if it is a terminal and they name one; whether it does. */
bool pager_start(void);
/* Columns of the terminal behind the pager; 0: there is none. */
unsigned pager_width(void);
/* Waits until the pager ends; close standard output first. */
void pager_wait(void);
