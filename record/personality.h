/* Parsing command lines of turbostat and perf stat, with the errors that those programs report. */
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

enum { MAX_WORDS = 96, MAX_PORTS = 256, DONE = -1 };

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
	const char *given[MAX_WORDS]; /* by word: its last argument, "" if it takes none; NULL: it was not given */
	bool records;                 /* perf stat record */
	char **command;
};

/* The argument of a word of that program, or NULL. */
const char *personality_given(const struct asked *a, const char *name);
void personality_forget(struct asked *a, const char *name);
void personality_add(struct list *l, const char *text);
/* Removes an option of ours, and this many words after it. */
void personality_drop(struct list *l, const char *option, size_t arguments);

/* Prints the program's own error for words that it refuses: the status to exit with, or 0. Drops words that have no
 * effect beside others. */
int personality_check(struct asked *a);
/* --iostat: DONE if ports were to be listed, which is done; 0 if they are to be counted, or if it was not given; else
 * the status to exit with. */
int personality_iostat(struct asked *a);
/* pmrep, which reads from that descriptor. As fork(). */
pid_t personality_start_reader(const struct asked *a, int from);
/* --keep: copies from[0] to a file, and to the descriptor `to` unless that is -1. As fork(). */
pid_t personality_start_keeper(const struct asked *a, const char *path, const int from[2], int to);
