/*
 * A text file of /proc that is read again and again, and the sources that consist of one. It stays open, is read at
 * offset 0 into a buffer that is large enough from the start, and its lines are known by their labels: a read
 * compares each label with the one that followed last time and then only walks numbers. A line that moved, vanished
 * or is new costs a search in that read, not a wrong value. Where lines share a label, the first in the text is the
 * one that was added first, and so on.
 */
#pragma once

#include "record/host/root.h"
#include "record/plan/source.h"

/* Tags of lines: the number of a row, or of what has one number, or what is not read. */
#define TEXTFILE_SINGLE  0x80000000u
#define TEXTFILE_IDLE    (UINT32_MAX - 2) /* known and not read yet */
#define TEXTFILE_IGNORED (UINT32_MAX - 1) /* known and not wanted */
#define TEXTFILE_UNKNOWN UINT32_MAX       /* never added */

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
void textfile_add(struct textfile *t, const char *label, size_t len, uint32_t tag);

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
/* The rest of the line, blanks at both ends left out. */
const char *textcursor_rest(const struct textcursor *c, size_t *len);

/* The decimal number that begins at `p`: what follows it; NULL: none begins there. */
static inline __attribute__((always_inline)) const char *text_digits(const char *p, uint64_t *value)
{
	uint64_t v = 0;

	if (*p < '0' || *p > '9')
		return NULL;
	for (; *p >= '0' && *p <= '9'; p++)
		v = v * 10 + (uint64_t)(*p - '0');
	*value = v;
	return p;
}

/* Adds up the numbers behind `word` in the lines that begin with `line`. False: there is none. */
bool text_sum(const char *text, const char *line, const char *word, uint64_t *sum);

/* Takes the next word of this line if it is a number; false, and nothing taken, if it is none. */
static inline __attribute__((always_inline)) bool textcursor_u64(struct textcursor *c, uint64_t *value)
{
	const char *p = c->at;
	uint64_t v;

	while (*p == ' ' || *p == '\t')
		p++;
	p = text_digits(p, &v);
	if (!p || (*p != ' ' && *p != '\n' && *p != '\t' && *p != '\0'))
		return false;
	c->at = p;
	*value = v;
	return true;
}

/*
 * What the data of a source begin with that reads one file. It holds all numbers that were found in the file last
 * time; each unit copies the part that is its own. So the file is read once a snapshot, and what turns up later (a
 * CPU that came online, an interrupt that fires at last) becomes one more unit.
 *
 * A number has a slot: first n_single numbers that have a line each; then those of rows. A row has several numbers:
 * number k stands in slot n_single + row * step + column[k].
 */
struct textsource {
	struct textfile file;
	uint64_t *value;  /* owned, n each */
	uint16_t *status; /* owned; PM_OK or why there is no value */
	uint32_t n, n_single, step;
	uint32_t *column; /* owned; UINT32_MAX: not recorded */
	uint32_t n_columns, columns_most;
	uint32_t rows;                                     /* that were in the text last time */
	uint16_t absent_single, absent_row, absent_number; /* why what is not in the text, or in a row, is missing */
	/* Reads the file into value and status. Runs in the sampling thread. 0 or -errno. */
	int (*refresh)(struct textsource *t);
	/* Takes notice of a line that is idle, ignored or unknown; NULL: none matters. */
	void (*notice)(struct textsource *t, const struct textcursor *c, uint32_t tag);
	struct textcell *cell; /* owned: those that no unit has yet */
	uint32_t n_cells;
	struct source *source;
	int err;           /* of the last refresh */
	uint32_t failures; /* in a row */
	bool has_reader;   /* there is a first unit, which refreshes for all */
	/* Of texts about CPUs: each counter has a slot for each CPU that is there or may be added, online or not. */
	bool headed;   /* the first line is a head ("CPU0 CPU1 ..."), from which column[] is made */
	bool by_cpu;   /* the line "cpu5 ..." is the row of that CPU */
	uint32_t *cpu; /* owned: CPU numbers, ascending */
	bool *planned; /* owned: the CPU has cells */
	uint32_t *id;  /* owned: counter ids; 0: not recorded */
	char *head;    /* owned: the head line that column[] was made from */
	size_t head_len, head_size;
	uint32_t n_cpus, n_ids;
};

/*
 * Makes source->data, `size` bytes of zeros after the open file at `path`. Where it cannot be opened a refusal says
 * so, and what would bring a file that does not exist (`remedy`, or 0); NULL then. Only for plan().
 */
void *textsource_new(struct source *s, struct plan *p, size_t size, const char *path, unsigned remedy);
void textsource_release(struct source *s);
/* The usual refresh(). */
int textsource_refresh(struct textsource *t);
/* Grows to n slots; new ones are 0 and PM_REASON_FORMAT. */
void textsource_resize(struct textsource *t, uint32_t n);
/* A cell for the next unit. `counter` and `instance` are ids; below 0 there is no room for one, and no cell. */
void textsource_cell(struct textsource *t, int64_t counter, int64_t instance, uint32_t slot);
/* Adds a LIST group of the cells that no unit has yet, and the unit that fills it. Without cells nothing is added. */
void textsource_unit(struct textsource *t, struct plan *p, uint64_t min_period_ns);

/* Looks which CPUs there may be, and makes columns of which none is recorded yet. Only for plan(). */
void textsource_cpus(struct textsource *t, const struct plan *p, uint32_t n_columns);
/* Index of a CPU number in cpu[]; UINT32_MAX if it is not known. */
uint32_t textsource_index(const struct textsource *t, uint32_t cpu);
/* Sets the cursor before what was read last, and takes its head, which column[] follows. 0, or -EINVAL for another
 * line. Allocates nothing. */
int textsource_begin(struct textsource *t, struct textcursor *c);
/* Adds one group with the cells so far and those of the CPUs of the plan for each id. Only for plan(). */
void textsource_plan(struct textsource *t, struct plan *p);
/* update() of such sources: a CPU gets its cells when it comes online for the first time. */
void textsource_update(struct source *s, struct plan *p, uint32_t cpu, bool online);
