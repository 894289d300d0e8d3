/* Threads that run ahead of all ordinary work, with a limit: one that runs too long without sleeping becomes an
 * ordinary thread. */
#pragma once

/* Sets the limit, and tries on the calling thread whether threads of this process may have this priority (1 to 99),
 * by the opener's rights or the caller's limit (ulimit -r); the thread is then an ordinary one again. 0 or -errno. */
int realtime_allow(unsigned priority);
/* The calling thread. 0 or -errno. */
int realtime_begin(unsigned priority);
