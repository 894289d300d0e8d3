/* /proc/interrupts: a total per CPU, and the cells that are not zero. Most cells always are, so they get a column
 * only when they count for the first time; read() notes that and update() adds them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "common/parse.h"
#include "record/host/clocks.h"
#include "record/plan/plan.h"
#include "record/sources/textfile.h"

/* New columns mean a new schema in the file; a machine whose interrupts migrate must not write one every second. */
#define GROW_NS 10000000000u
/* Beyond this size the kernel takes milliseconds to print the text: once a second is enough. */
#define LARGE_TEXT (1u << 20)

struct row {
	char *name;       /* owned: the label, which several may share, and what tells them apart */
	char *text;       /* owned: the text after the numbers */
	bool system;      /* one number for the whole machine, kept in the slot of the first CPU */
	bool part;        /* counts interrupts that another row counts, too */
	uint32_t counter; /* id; 0: none of its cells has a column */
};

struct interrupts {
	struct textsource text; /* first; slots: the totals of CPUs, then rows */
	struct row *row;        /* owned, n_rows */
	uint32_t n_rows;
	uint32_t total;   /* id of that counter */
	bool *shown;      /* owned, n_shown, one per slot: the cell has a column */
	uint64_t *before; /* owned, likewise: its number in the text before */
	uint32_t n_shown;
	bool fresh;        /* the text has something that has no column yet */
	uint64_t grown_ns; /* when update() last added cells */
	bool learning;     /* not sampling yet: nothing to request */
};

static uint32_t row_slot(const struct interrupts *d, uint32_t r, uint32_t cpu_index)
{
	return (r + 1) * d->text.n_cpus + cpu_index;
}

static void want_update(struct interrupts *d)
{
	if (!d->learning && (!d->grown_ns || clocks_monotonic() - d->grown_ns >= GROW_NS))
		atomic_store(&d->text.source->stale, true);
}

/* In a total while a text is read: one of its cells started again. */
#define FELL (UINT64_C(1) << 63)

/* How much a cell has increased. The kernel counts in 32 bits, so a large decrease is a wrap; after a small one the
 * counter started again with its driver, and what it had counted until then is unknown. */
static uint64_t gone_up(uint64_t before, uint64_t now)
{
	if (now >= before)
		return now - before;
	if (before <= UINT32_MAX && before - now > UINT32_MAX / 2)
		return now + (UINT32_MAX - before) + 1;
	return FELL;
}

static void notice(struct textsource *t, const struct textcursor *c, uint32_t tag)
{
	((struct interrupts *)t)->fresh |= tag == TEXTFILE_UNKNOWN;
}

/* Adds what the cells of a row have counted to the totals. CPUs without a column are offline; when they come back
 * they have kept their numbers. A row that has gone counts from 0 if it comes back; `online`, a CPU that has a column
 * (UINT32_MAX: none), tells. */
static void take_row(struct interrupts *d, uint32_t r, uint32_t online)
{
	struct textsource *t = &d->text;
	const uint32_t first = row_slot(d, r, 0);
	uint64_t *value = &t->value[first], *before = &d->before[first], *total = t->value;

	if (online != UINT32_MAX && t->status[first + online] == PM_REASON_GONE) {
		memset(value, 0, t->n_cpus * sizeof(*value));
		memset(before, 0, t->n_cpus * sizeof(*before));
		return;
	}
	for (uint32_t i = 0; i < t->n_cpus; i++) {
		if (t->status[first + i] == PM_REASON_GONE)
			t->status[first + i] = PM_REASON_OFFLINE;
		if (value[i] == before[i])
			continue;
		if (!d->row[r].part) {
			uint64_t up = gone_up(before[i], value[i]);

			total[i] = up == FELL ? total[i] | FELL : total[i] + up;
		}
		before[i] = value[i];
		d->fresh |= !d->shown[first + i] && t->planned[i];
	}
}

static int interrupts_refresh(struct textsource *t)
{
	struct interrupts *d = (struct interrupts *)t;
	uint32_t online = UINT32_MAX;
	int err;

	d->fresh = false;
	err = textsource_refresh(t);
	if (err == -EFBIG)
		want_update(d);
	if (err)
		return err;
	for (uint32_t k = 0; k < t->n_columns; k++)
		if (t->column[k] != UINT32_MAX)
			t->status[online = t->column[k]] = PM_OK;
	for (uint32_t r = 0; r < d->n_rows; r++) {
		uint32_t slot = row_slot(d, r, 0);

		if (d->row[r].system)
			d->fresh |= t->value[slot] && !d->shown[slot];
		else
			take_row(d, r, online);
	}
	/* A total starts again, visibly, with a cell of it. */
	for (uint32_t i = 0; i < t->n_cpus; i++)
		t->value[i] = t->value[i] & FELL ? 0 : t->value[i];
	if (d->fresh)
		want_update(d);
	return 0;
}

/* Whether the row, with so many numbers and a text after them, has one number for all CPUs. */
static bool is_system_row(const struct interrupts *d, const struct row *row, uint32_t numbers)
{
	if (d->text.n_columns > 1)
		return numbers == 1 && !row->text[0];
	return parse_is_among("ERR MIS Err", row->name, strlen(row->name));
}

/* s390x counts external, I/O and adapter interrupts in the first rows, and again by what they were for: EXT is the
 * sum of CLK, EXC, and so on (arch/s390/kernel/irq.c). */
static bool is_part(const struct interrupts *d, const char *name)
{
	return d->n_rows && !strcmp(d->row[0].name, "EXT") &&
	       !parse_is_among("EXT I/O AIO NMI RST", name, strlen(name));
}

static char *squeezed(const char *text, size_t len)
{
	char *copy = memory_new(len + 1, 1);
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		if (text[i] != ' ' || (n && copy[n - 1] != ' '))
			copy[n++] = text[i];
	copy[n] = '\0';
	return copy;
}

static void add_row(struct interrupts *d, struct textcursor *c)
{
	struct row *row;
	uint32_t numbers = 0;
	const char *rest;
	char name[64];
	uint64_t skipped;
	size_t len;

	memory_room(&d->row, d->n_rows, sizeof(*d->row));
	row = &d->row[d->n_rows];
	textfile_name(&d->text.file, c, name, sizeof(name));
	while (numbers < d->text.n_columns && textcursor_u64(c, &skipped))
		numbers++;
	rest = textcursor_rest(c, &len);
	/* parisc shows beside its interrupts how deep the stacks are. */
	if (memmem(rest, len, "stack usage", strlen("stack usage"))) {
		textfile_add(&d->text.file, c->label, c->label_len, TEXTFILE_IGNORED);
		return;
	}
	*row = (struct row){ .name = memory_text(name), .text = squeezed(rest, len), .part = is_part(d, name) };
	row->system = is_system_row(d, row, numbers);
	textfile_add(&d->text.file, c->label, c->label_len,
		     row->system ? TEXTFILE_SINGLE + row_slot(d, d->n_rows, 0) : d->n_rows);
	d->n_rows++;
}

/* Adds all unknown rows of the text, and room for their cells. */
static int learn_rows(struct interrupts *d)
{
	uint32_t tag;
	struct textcursor c;
	int err;

	err = textfile_grow(&d->text.file);
	if (err)
		return err;
	err = textsource_begin(&d->text, &c);
	while (!err && textfile_next(&d->text.file, &c, &tag))
		if (tag == TEXTFILE_UNKNOWN)
			add_row(d, &c);
	textsource_resize(&d->text, (d->n_rows + 1) * d->text.n_cpus);
	d->shown = memory_resize(d->shown, d->text.n, sizeof(*d->shown));
	d->before = memory_resize(d->before, d->text.n, sizeof(*d->before));
	for (; d->n_shown < d->text.n; d->n_shown++) {
		d->shown[d->n_shown] = false;
		d->before[d->n_shown] = 0;
	}
	return err;
}

static int64_t row_counter(struct interrupts *d, struct plan *p, struct row *row)
{
	bool numbered = row->name[0] >= '0' && row->name[0] <= '9';
	struct member m = { .shown = row->name, .family = "interrupts.irq" };
	char part[32];
	size_t n;
	int64_t id;

	if (row->counter)
		return row->counter;
	member_part(part, sizeof(part), row->name, strlen(row->name));
	m.part = part;
	/* The text of a numbered line names devices, such as network interfaces; other lines have fixed texts. */
	if (row->text[0])
		*(numbered ? &m.devices : &m.help) = row->text;
	id = member_counter(p, &catalog_source("interrupts", &n)[1], &m);
	if (id > 0)
		row->counter = (uint32_t)id;
	return id;
}

static void add_cell(struct interrupts *d, struct plan *p, int64_t counter, uint32_t i, bool system, uint32_t slot)
{
	d->shown[slot] = true;
	textsource_cell(&d->text, counter, system ? p->system_instance : plan_cpu_instance(p, d->text.cpu[i]), slot);
}

/* Adds all cells that count and have no column yet: the totals first, then row by row. */
static void add_cells(struct interrupts *d, struct plan *p)
{
	struct textsource *t = &d->text;

	for (uint32_t i = 0; i < t->n_cpus; i++)
		if (t->planned[i] && !d->shown[i])
			add_cell(d, p, d->total, i, false, i);
	for (uint32_t r = 0; r < d->n_rows; r++) {
		bool system = d->row[r].system;

		for (uint32_t i = 0; i < (system ? 1 : t->n_cpus); i++) {
			uint32_t slot = row_slot(d, r, i);

			if (!d->shown[slot] && t->value[slot] && (system || t->planned[i]))
				add_cell(d, p, row_counter(d, p, &d->row[r]), i, system, slot);
		}
	}
	textsource_unit(t, p, t->file.len > LARGE_TEXT ? 1000000000ull : 0);
}

static int learn(struct interrupts *d, struct plan *p)
{
	int err;

	d->learning = true;
	err = learn_rows(d);
	if (!err)
		err = interrupts_refresh(&d->text);
	if (!err)
		add_cells(d, p);
	d->learning = false;
	return err;
}

static int interrupts_plan(struct source *s, struct plan *p, struct error *e)
{
	struct interrupts *d = textsource_new(s, p, sizeof(*d), "/proc/interrupts", 0);
	size_t n;
	int err;

	if (!d)
		return 0;
	textsource_cpus(&d->text, p, 0);
	d->text.headed = true;
	d->text.n_single = d->text.step = d->text.n_cpus;
	d->text.absent_single = PM_REASON_OFFLINE;
	d->text.absent_row = PM_REASON_GONE;
	d->text.absent_number = PM_REASON_FORMAT;
	d->text.notice = notice;
	d->text.refresh = interrupts_refresh;
	s->restless = true;
	d->total = (uint32_t)plan_counter(p, &catalog_source("interrupts", &n)[0]);
	for (size_t i = 0; i < p->cpus.n; i++) {
		uint32_t index = textsource_index(&d->text, p->cpus.cpu[i]);

		if (index != UINT32_MAX)
			d->text.planned[index] = true;
	}
	err = learn(d, p);
	return err == -EINVAL ? plan_refused(p, PM_REASON_FORMAT, pm_remark(0),
					     pm_remark(PM_REMARK_FILE, "/proc/interrupts")) :
				err;
}

static void interrupts_update(struct source *s, struct plan *p, uint32_t cpu, bool online)
{
	struct interrupts *d = s->data;
	uint32_t index;

	if (!d->text.has_reader)
		return;
	if (cpu != PM_NONE) {
		index = textsource_index(&d->text, cpu);
		if (!online || index == UINT32_MAX || d->text.planned[index] || !plan_wants_cpu(p, cpu))
			return;
		d->text.planned[index] = true;
	}
	/* What cannot be read now says so in its readings. */
	(void)learn(d, p);
	d->grown_ns = clocks_monotonic();
}

static void interrupts_release(struct source *s)
{
	struct interrupts *d = s->data;

	for (uint32_t r = 0; r < d->n_rows; r++) {
		free(d->row[r].name);
		free(d->row[r].text);
	}
	free(d->row);
	free(d->shown);
	free(d->before);
	textsource_release(s);
}

const struct source_ops source_interrupts = {
	.name = "interrupts",
	.help = "interrupts: a total per CPU, and every active line (/proc/interrupts)",
	.plan = interrupts_plan,
	.update = interrupts_update,
	.release = interrupts_release,
};
