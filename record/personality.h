/* What a command line of turbostat or perf stat asks for, and the readers of the recording meanwhile. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct word {
	const char *name;
	int letter, argument;
	enum { THEIRS, OURS } whose;
	const char *record, *report;
	const char *arg, *help; /* of ours; NULL: the original options have their own manual */
};

enum { MAX_WORDS = 96 };

/* How one program differs from the other. */
struct personality {
	const char *name, *usage;
	const struct word *word;
	size_t n_words;
	bool perf;        /* perf stat, not turbostat: -interval is --interval there */
	int usage_status; /* for unknown words */
	const char *record, *report;
};

struct list {
	char **word;
	size_t n;
};

struct asked {
	const struct personality *who;
	struct list record, report;   /* pieces of the tables are owned by nobody: the process ends with them */
	const char *given[MAX_WORDS]; /* by word, one more than there are: its argument or ""; NULL: not given */
	bool records;                 /* perf stat record */
	char **command;
};

/* pmrep, which reads from that descriptor. As fork(). */
pid_t personality_start_reader(const struct asked *a, int from);
/* --keep: copies from[0] to a file, and to the descriptor `to` unless that is -1. As fork(). */
pid_t personality_start_keeper(const struct asked *a, const char *path, const int from[2], int to);
