/* Sends text that a person reads on a terminal through a pager. */
#ifndef REPORT_PAGER_H
#define REPORT_PAGER_H

#include <stdbool.h>

/* Sends standard output to $PMREP_PAGER, $PAGER or less, if it is a terminal and they name one; whether it does. */
bool pager_start(void);
/* Columns of the terminal behind the pager; 0: there is none. */
unsigned pager_width(void);
/* Until the person has read it: once standard output is closed. */
void pager_wait(void);

#endif
