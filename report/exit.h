/* Exit statuses of pmrep. */
#pragma once

enum {
	EXIT_GOOD = 0,
	EXIT_NEGATIVE = 1,     /* the answer is no: check found damage, diff found a regression */
	EXIT_TROUBLE = 2,      /* usage, I/O, unreadable */
	EXIT_DAMAGED = 3,      /* the input is damaged or cut; all that is readable was printed */
	EXIT_INCONCLUSIVE = 4, /* diff: the question is undecided */
};
