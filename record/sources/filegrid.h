/*
 * Files with a single number each, like most of sysfs. As many as may stay open, and reading takes one pread(); the
 * others are opened for each reading. The numbers become a matrix if every instance has every counter, else a list.
 */
#pragma once

#include "record/plan/source.h"

struct plan;

struct filecell {
	int fd;
	uint32_t cpu;               /* the CPU with which the file comes and goes; PM_NONE: none */
	uint32_t counter, instance; /* ids */
	char *path;                 /* owned */
	bool offline;
	bool by_turns; /* opened for each reading, because there are more files than descriptors */
	/* The file's number wraps to 0 beyond `range`; the cell continues in 64 bits, from the first value read. */
	uint64_t range; /* 0: it does not */
	/* What is below `least` (s64), or the same as `none`, cannot be a reading: PM_REASON_SUSPECT. 0: all can. */
	int64_t least;
	uint64_t none;
	uint64_t last, total;
	bool seen; /* `last` is a value that was read */
	/* For a number that decides for others: readings since it or one of them changed. */
	uint8_t quiet;
};

struct filegrid;

/* What one read call fills: the whole grid, or one instance of it. */
struct gridpart {
	struct unit unit;
	struct filegrid *grid;
	uint32_t first, n; /* its cells */
};

struct filegrid {
	struct filegrid *next; /* other grids of the same source */
	const struct root *root;
	struct filecell *cell; /* owned */
	uint32_t n;
	/* The counts are divided by time: a matrix is read by instance, each with its own time, so that a late one
	 * does not affect others. */
	bool own_times;
	/* own_times: number k of an instance changes only with number k % tells, and is read only after that has
	 * changed; 0: all are read each time. */
	uint32_t tells;
	/* The number of files to be added; 0: unknown. If not all can stay open, those that decide for others do. */
	uint64_t expects;
	uint32_t run;           /* cells of the instance that was added last */
	bool lean;              /* not all of `expects` can stay open */
	uint64_t held_to;       /* descriptors below this are known to be within the limit */
	bool tolerant;          /* what cannot be read now is added, too: each reading tries it */
	uint64_t min_period_ns; /* as in struct unit */
	struct gridpart *part;  /* owned */
	uint32_t n_parts, held; /* held: parts that the plan has not released */
};

struct filegrid *filegrid_new(struct plan *p);
/* Whether the file has a number, before counters and instances are added for it. 0 or -errno. */
int filegrid_try(const struct root *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Opens the file and reads it once. `counter` and `instance` are ids, or the -errno of making them. 0, or -errno if
 * there is no id or, unless the grid is tolerant, it cannot be read now: then nothing is added. Numbers that decide
 * for others come first. */
int filegrid_add(struct filegrid *g, int64_t counter, int64_t instance, uint32_t cpu, uint64_t range,
		 const char *format, ...) __attribute__((format(printf, 6, 7)));
/* Makes the group and hands the grid to the plan as its units, chained to *list; an empty grid is freed. */
void filegrid_finish(struct filegrid *g, struct plan *p, struct filegrid **list);
/* The files in a folder's entries, such as /sys/class/thermal/thermal_zone0. */
struct filegrid_folder {
	const char *path, *prefix; /* prefix of the entries that matter; NULL: all do */
	void (*add)(struct filegrid *g, struct plan *p, const char *entry); /* what an entry has */
	uint64_t min_period_ns;
	const char *what; /* for the refusal if nothing was there */
	unsigned remedy;  /* 0: none */
};
/* The plan() of sources with a folder: makes one grid of it. */
int filegrid_plan(struct source *s, struct plan *p, struct error *e);

/* For update(): a CPU went offline or came online. True if the CPU has cells in one of the grids. */
bool filegrid_cpu(struct filegrid *list, uint32_t cpu, bool online);

/* Reason for a failed read of a file that may go with its CPU. */
uint16_t filegrid_reason(int err, bool of_cpu);
/* Refuses what needs a file that cannot be opened or read: `remedy` helps if there is none. Returns 0. */
int filegrid_refused(struct plan *p, int err, unsigned remedy, const char *what);
/* A number as sysfs writes it, with an optional minus sign, as the bits of an s64 or u64. 0 or -EINVAL. */
int filegrid_parse(const char *text, uint64_t *value);
