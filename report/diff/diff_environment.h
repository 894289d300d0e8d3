/* Differences between machines, recorders and recordings, apart from their numbers. */
#pragma once

#include "report/diff/diff.h"

struct diff_difference {
	enum diff_fact fact;
	const char *name;
	char *side[DIFF_SIDES]; /* owned: the value of each side; several with their recordings */
	bool meaningless;       /* numbers of such sides cannot be compared */
};

struct diff_environment {
	struct diff_difference *difference; /* owned */
	size_t n, meaningless;
};

/* 0 or -ENOMEM. */
int diff_environment_compare(struct diff_environment *env, const struct diff_recordings *r);
void diff_environment_release(struct diff_environment *env);
