/*
 * Values of one text file, for the groups that show them. A store holds everything that was found in the file last
 * time; each unit copies the part that is its own. So the file is read once a snapshot, and what turns up later (a
 * CPU that came online, an interrupt that fires at last) becomes one more unit.
 */
#pragma once

#include "record/host/textfile.h"
#include "record/plan/source.h"

struct textcell {
	uint32_t counter, instance; /* ids */
	uint32_t slot;              /* in the store */
};

struct textstore {
	uint64_t *value;  /* owned, n each */
	uint16_t *status; /* owned; PM_OK or why there is no value */
	uint32_t n;
	struct textcell *cell; /* owned: those that no unit has yet */
	uint32_t n_cells;
	/* Reads the file into value and status. Runs in the sampling thread. 0 or -errno. */
	int (*refresh)(struct textstore *s);
	int err;           /* of the last refresh */
	uint32_t failures; /* in a row */
	bool has_reader;   /* there is a first unit, which refreshes for all */
};

/* Grows to n slots; new ones are 0 and PM_REASON_FORMAT. 0 or -ENOMEM. */
int textstore_resize(struct textstore *s, uint32_t n);
void textstore_release(struct textstore *s);

/* A cell for the next unit. `counter` and `instance` are ids, or the -errno of making them, which it returns. 0 or
 * -errno. */
int textstore_cell(struct textstore *s, int64_t counter, int64_t instance, uint32_t slot);
/* Adds a LIST group of the cells that no unit has yet, and the unit that fills it. The store outlives the unit.
 * Without cells nothing is added. */
int textunit_add(struct plan *p, struct textstore *s, uint64_t min_period_ns);

/* What the data of a source begin with that reads one file. */
struct textsource {
	struct textstore store;
	struct textfile file;
};

/*
 * Makes source->data, `size` bytes of zeros after the store and the file at `path`. Where the file cannot be opened,
 * a refusal says so, and what would bring a file that does not exist (`hint`, or NULL); data stays NULL. 0 or -errno.
 */
int textsource_new(struct source *s, struct plan *p, size_t size, const char *path, const char *hint,
		   int (*refresh)(struct textstore *s));
void textsource_release(struct source *s);
