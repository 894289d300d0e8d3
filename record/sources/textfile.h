/*
 * A text file of /proc that is read again and again. It stays open, is read at offset 0 into a buffer that is large
 * enough from the start, and its lines are known by their labels: a read compares each label with the one that
 * followed last time and then only walks numbers. A line that moved, vanished or is new costs a search in that read,
 * not a wrong value. Where lines share a label, the first in the text is the one that was added first, and so on.
 */
#pragma once

#include "record/host/root.h"
#include "record/plan/source.h"

#define TEXTFILE_UNKNOWN UINT32_MAX       /* tag of a line that was never added */
#define TEXTFILE_IGNORED (UINT32_MAX - 1) /* tag for lines that are known and not wanted */

struct textfile_line {
	char *label; /* owned */
	uint32_t len;
	uint32_t tag;    /* what the caller knows it by */
	uint32_t follow; /* the line that came after it last time */
	uint32_t twin;   /* the last line before it with the same label; UINT32_MAX: none */
	uint32_t walk;   /* the walk that met it last */
};

struct textfile {
	int fd;     /* -1: not open */
	char *data; /* owned; ends with a NUL that is not part of the file */
	size_t len, size;
	struct textfile_line *line; /* owned */
	uint32_t n_lines;
	uint32_t words; /* of each line, before its label */
	uint32_t walk;  /* number of the last textfile_begin() */
};

#define TEXTFILE_INIT ((struct textfile){ .fd = -1 })

/* Opens, reads once, and makes the buffer twice as large as the text. 0 or -errno. */
int textfile_open(struct textfile *t, const struct root *r, const char *path);
void textfile_release(struct textfile *t);
/* Replaces the text. -EFBIG if it has outgrown the buffer: textfile_grow() helps. Allocates nothing. */
int textfile_read(struct textfile *t);
/* Reads into a buffer that is large enough. */
int textfile_grow(struct textfile *t);

/* Makes a label known; lines are best added in the order of the file. */
int textfile_add(struct textfile *t, const char *label, size_t len, uint32_t tag);

/* Walks the text that was read last. */
struct textcursor {
	const char *at;    /* within the line, after what was taken */
	const char *end;   /* of the text */
	const char *label; /* of the line, without blanks and colon; a number may follow the colon without a blank */
	uint32_t label_len;
	uint32_t last;  /* index of the line before, for textfile_next() */
	uint32_t words; /* as the file's */
};

/* Before the first line of what was read last. */
struct textcursor textfile_begin(struct textfile *t);
/* Goes to the next line and takes its label. False at the end. Empty lines are skipped. */
bool textcursor_line(struct textcursor *c);
/* The same, and looks the label up: *tag. A line that repeats a label more often than it was added is unknown. */
bool textfile_next(struct textfile *t, struct textcursor *c, uint32_t *tag);
/* A name for the line, which is to be added: its label, with "_2", "_3" ... if that is known already. */
void textfile_name(const struct textfile *t, const struct textcursor *c, char *name, size_t size);
/* Steps after `text` in this line, false if it is not there. */
bool textcursor_find(struct textcursor *c, const char *text);
/* The rest of the line, blanks at both ends left out. */
const char *textcursor_rest(const struct textcursor *c, size_t *len);

/* Takes the next word of this line if it is a number; false, and nothing taken, if it is none. */
static inline bool textcursor_u64(struct textcursor *c, uint64_t *value)
{
	const char *p = c->at;
	uint64_t v;

	while (*p == ' ' || *p == '\t')
		p++;
	if (*p < '0' || *p > '9')
		return false;
	for (v = 0; *p >= '0' && *p <= '9'; p++)
		v = v * 10 + (uint64_t)(*p - '0');
	if (*p != ' ' && *p != '\n' && *p != '\t' && *p != '\0')
		return false;
	c->at = p;
	*value = v;
	return true;
}

/*
 * Values of one text file, for the groups that show them. A store holds everything that was found in the file last
 * time; each unit copies the part that is its own. So the file is read once a snapshot, and what turns up later (a
 * CPU that came online, an interrupt that fires at last) becomes one more unit.
 */
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
