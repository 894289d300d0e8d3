#include "record/sources/textfile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/memory.h"
#include "record/plan/plan.h"

#define SMALLEST_BUFFER 4096
/* A file of /proc that fails this often in a row will not come back. */
#define FAILURES_OF_THE_DEAD 3

int textfile_open(struct textfile *t, const struct root *r, const char *path)
{
	int err;

	*t = TEXTFILE_INIT;
	t->fd = root_open(r, "%s", path);
	if (t->fd < 0)
		return t->fd;
	err = textfile_grow(t);
	if (err)
		textfile_release(t);
	return err;
}

void textfile_release(struct textfile *t)
{
	fd_close(&t->fd);
	for (uint32_t i = 0; i < t->n_lines; i++)
		free(t->line[i].label);
	free(t->line);
	free(t->data);
	*t = TEXTFILE_INIT;
}

int textfile_read(struct textfile *t)
{
	ssize_t n;

	t->len = 0;
	t->data[0] = '\0';
	for (;;) {
		if (t->len + 1 >= t->size)
			return -EFBIG;
		n = pread(t->fd, t->data + t->len, t->size - 1 - t->len, (off_t)t->len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			t->len = 0;
			t->data[0] = '\0';
			return -errno;
		}
		if (n == 0)
			break;
		t->len += (size_t)n;
	}
	t->data[t->len] = '\0';
	return 0;
}

int textfile_grow(struct textfile *t)
{
	size_t size = t->size ? t->size : SMALLEST_BUFFER;
	int err;

	for (;; size *= 2) {
		char *data = realloc(t->data, size);

		if (!data)
			return -ENOMEM;
		t->data = data;
		t->size = size;
		err = textfile_read(t);
		if (err && err != -EFBIG)
			return err;
		/* Numbers get longer while the machine runs. */
		if (!err && t->len <= size / 2)
			return 0;
	}
}

static bool has_label(const struct textfile_line *line, const char *label, uint32_t len)
{
	return line->len == len && !memcmp(line->label, label, len);
}

void textfile_add(struct textfile *t, const char *label, size_t len, uint32_t tag)
{
	struct textfile_line *line;

	memory_room(&t->line, t->n_lines, sizeof(*t->line));
	line = &t->line[t->n_lines];
	*line = (struct textfile_line){
		.len = (uint32_t)len, .tag = tag, .follow = t->n_lines + 1, .twin = t->n_lines, .walk = t->walk
	};
	line->label = memory_checked(strndup(label, len));
	while (line->twin-- && !has_label(&t->line[line->twin], label, line->len))
		;
	t->n_lines++;
}

struct textcursor textfile_begin(struct textfile *t)
{
	t->walk++;
	return (struct textcursor){
		.label = t->data, .end = t->data + t->len, .last = UINT32_MAX, .words = t->words
	};
}

static const char *word_end(const char *p)
{
	while (*p != ' ' && *p != '\t' && *p != '\n' && *p != '\0')
		p++;
	return p;
}

bool textcursor_line(struct textcursor *c)
{
	const char *p = c->at;

	if (!p)
		p = c->label;
	else
		p = memchr(p, '\n', (size_t)(c->end - p));
	if (!p)
		return false;
	while (*p == ' ' || *p == '\t' || *p == '\n')
		p++;
	if (p >= c->end)
		return false;
	for (uint32_t w = 0; w < c->words; w++)
		for (p = word_end(p); *p == ' ' || *p == '\t';)
			p++;
	c->label = p;
	for (p = word_end(p); p > c->label + 1 && p[-1] >= '0' && p[-1] <= '9';)
		p--;
	/* Of "IPI0:4294967295", too, the label is what stands before the colon. */
	if (p == c->label + 1 || p[-1] != ':')
		p = word_end(p);
	c->at = p;
	c->label_len = (uint32_t)(p - c->label);
	if (c->label_len > 1 && p[-1] == ':')
		c->label_len--;
	return true;
}

/* Whether it is this known line: of those with that label, the first that this walk has not met. */
static bool take_line(struct textfile *t, uint32_t i, struct textcursor *c, uint32_t *tag)
{
	struct textfile_line *line = &t->line[i];

	if (!has_label(line, c->label, c->label_len) || line->walk == t->walk ||
	    (line->twin != UINT32_MAX && t->line[line->twin].walk != t->walk))
		return false;
	if (c->last != UINT32_MAX)
		t->line[c->last].follow = i;
	line->walk = t->walk;
	c->last = i;
	*tag = line->tag;
	return true;
}

bool textfile_next(struct textfile *t, struct textcursor *c, uint32_t *tag)
{
	uint32_t expected, from;

	if (!textcursor_line(c))
		return false;
	from = c->last == UINT32_MAX ? 0 : c->last + 1;
	expected = c->last == UINT32_MAX ? 0 : t->line[c->last].follow;
	if (expected < t->n_lines && take_line(t, expected, c, tag))
		return true;
	/* Search forwards first: after a vanished line the next one is close. */
	for (uint32_t k = 0; k < t->n_lines; k++)
		if (take_line(t, (from + k) % t->n_lines, c, tag))
			return true;
	*tag = TEXTFILE_UNKNOWN;
	return true;
}

void textfile_name(const struct textfile *t, const struct textcursor *c, char *name, size_t size)
{
	unsigned n = 1;

	for (uint32_t i = 0; i < t->n_lines; i++)
		n += has_label(&t->line[i], c->label, c->label_len);
	snprintf(name, size, n > 1 ? "%.*s_%u" : "%.*s", (int)c->label_len, c->label, n);
}

bool text_sum(const char *text, const char *line, const char *word, uint64_t *sum)
{
	size_t begin = strlen(line), len = strlen(word);
	bool any = false;

	*sum = 0;
	for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n') {
		const char *end = at + strcspn(at, "\n"), *found = strncmp(at, line, begin) ? NULL : strstr(at, word);
		uint64_t v;

		if (!found || found >= end || !text_digits(found + len, &v))
			continue;
		*sum += v;
		any = true;
	}
	return any;
}

const char *textcursor_rest(const struct textcursor *c, size_t *len)
{
	const char *p = c->at, *end = memchr(p, '\n', (size_t)(c->end - p));

	if (!end)
		end = c->end;
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	while (end > p && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	*len = (size_t)(end - p);
	return p;
}

/* ---- sources ---- */

struct textcell {
	uint32_t counter, instance; /* ids */
	uint32_t slot;
};

struct textunit {
	struct unit unit;
	struct textsource *source;
	bool refreshes;
	struct {
		uint32_t slot;
		uint64_t most; /* a number above it is a negative one that the kernel printed unsigned */
	} cell[];
};

void textsource_resize(struct textsource *t, uint32_t n)
{
	t->value = memory_resize(t->value, n, sizeof(*t->value));
	t->status = memory_resize(t->status, n, sizeof(*t->status));
	for (uint32_t i = t->n; i < n; i++) {
		t->value[i] = 0;
		t->status[i] = PM_REASON_FORMAT;
	}
	t->n = n;
}

void textsource_cell(struct textsource *t, int64_t counter, int64_t instance, uint32_t slot)
{
	if (counter < 0 || instance < 0)
		return;
	memory_room(&t->cell, t->n_cells, sizeof(*t->cell));
	t->cell[t->n_cells++] = (struct textcell){ (uint32_t)counter, (uint32_t)instance, slot };
}

/* Takes the numbers of a row. */
static void take_row(struct textsource *t, struct textcursor *c, uint32_t row)
{
	uint32_t first = t->n_single + row * t->step;
	uint64_t v;

	for (uint32_t k = 0; k < t->n_columns; k++) {
		bool there = textcursor_u64(c, &v);
		uint32_t slot = first + t->column[k];

		/* Below a head all that is no number is a text behind them. */
		if (!there && !t->headed) {
			c->at += strspn(c->at, " \t");
			c->at = word_end(c->at);
		}
		if (t->column[k] == UINT32_MAX)
			continue;
		t->status[slot] = there ? PM_OK : t->absent_number;
		if (there)
			t->value[slot] = v;
	}
	t->rows++;
}

/* CPU number of a label like "cpu12"; false for other labels. */
static bool textcursor_cpu(const struct textcursor *c, uint32_t *cpu)
{
	uint64_t v;

	if (c->label_len < 4 || c->label_len > 8 || strncasecmp(c->label, "cpu", 3) ||
	    text_digits(c->label + 3, &v) != c->label + c->label_len)
		return false;
	*cpu = (uint32_t)v;
	return true;
}

int textsource_refresh(struct textsource *t)
{
	struct textcursor c;
	uint32_t tag, cpu;
	int err = textfile_read(&t->file);

	/* On a live kernel there are always lines, but not always members. */
	if (!err && !t->file.len && t->absent_row != PM_REASON_GONE)
		err = -ENODATA;
	if (!err && t->headed)
		err = textsource_begin(t, &c);
	if (err)
		return err;
	if (!t->headed)
		c = textfile_begin(&t->file);
	for (uint32_t i = 0; i < t->n; i++)
		t->status[i] = i < t->n_single ? t->absent_single : t->absent_row;
	t->rows = 0;
	while (textfile_next(&t->file, &c, &tag)) {
		if (t->by_cpu && textcursor_cpu(&c, &cpu))
			tag = textsource_index(t, cpu);
		if (tag < TEXTFILE_SINGLE)
			take_row(t, &c, tag);
		else if (tag < TEXTFILE_IDLE)
			t->status[tag - TEXTFILE_SINGLE] =
				textcursor_u64(&c, &t->value[tag - TEXTFILE_SINGLE]) ? PM_OK : PM_REASON_FORMAT;
		else if (t->notice)
			t->notice(t, &c, tag);
	}
	/* Not all CPUs can be offline. */
	for (uint32_t i = t->n_single; i < t->n && !t->rows && t->absent_row == PM_REASON_OFFLINE; i++)
		t->status[i] = PM_REASON_FORMAT;
	return 0;
}

static int textunit_read(struct unit *u, struct cells *c)
{
	struct textunit *own = (struct textunit *)u;
	struct textsource *t = own->source;

	if (own->refreshes) {
		t->err = t->refresh(t);
		t->failures = t->err ? t->failures + 1 : 0;
	}
	if (t->err) {
		cells_fail_all(c, pm_reason_errno(t->err));
		/* A file that has outgrown its buffer is not dead: update() takes care of it. */
		return t->failures >= FAILURES_OF_THE_DEAD && t->err != -EFBIG ? t->err : 0;
	}
	for (uint32_t k = 0; k < c->n; k++) {
		uint32_t slot = own->cell[k].slot;

		if (t->status[slot] != PM_OK)
			cells_fail(c, k, t->status[slot]);
		else if (t->value[slot] > own->cell[k].most)
			cells_fail(c, k, PM_REASON_SUSPECT);
		else
			cells_set(c, k, t->value[slot]);
	}
	return 0;
}

static void textunit_release(struct unit *u)
{
	free(u);
}

/* Counts that were below 0 once go on from there; but none gets as far as all ones. */
static uint64_t most_of(const struct pm_counter *c)
{
	return c->semantics == PM_GAUGE ? (UINT64_MAX >> (64 - c->width) >> 1) / c->scale.num : UINT64_MAX - 1;
}

void textsource_unit(struct textsource *t, struct plan *p, uint64_t min_period_ns)
{
	uint32_t n = t->n_cells;
	SCOPED(scoped_free) uint32_t *id = memory_new(2 * n, sizeof(*id));
	struct textunit *u = memory_new(1, sizeof(*u) + n * sizeof(u->cell[0]));
	struct pm_group g = { .source = (char *)p->source->ops->name,
			      .flags = PM_GROUP_LIST,
			      .counter = id,
			      .n_counters = n,
			      .instance = id + n,
			      .n_instances = n };
	int64_t group;

	for (uint32_t i = 0; i < n; i++) {
		g.counter[i] = t->cell[i].counter;
		g.instance[i] = t->cell[i].instance;
		u->cell[i].slot = t->cell[i].slot;
		u->cell[i].most = most_of(pm_model_counter(p->model, t->cell[i].counter));
	}
	group = n ? plan_group(p, &g) : 0;
	t->n_cells = 0;
	if (group <= 0) {
		free(u);
		return;
	}
	u->unit = (struct unit){ .group = (uint32_t)group,
				 .cpu = PM_NONE,
				 .min_period_ns = min_period_ns,
				 .read = textunit_read,
				 .release = textunit_release };
	u->source = t;
	u->refreshes = !t->has_reader;
	t->has_reader = true;
	plan_add_unit(p, &u->unit);
}

void *textsource_new(struct source *s, struct plan *p, size_t size, const char *path, unsigned remedy)
{
	struct textsource *t = memory_new(1, size);
	int err = textfile_open(&t->file, p->root, path);

	if (err) {
		free(t);
		plan_refused(p, pm_reason_errno(err), pm_remark(err == -ENOENT ? remedy : 0),
			     pm_remark(PM_REMARK_FILE, path));
		return NULL;
	}
	t->refresh = textsource_refresh;
	t->source = s;
	return s->data = t;
}

void textsource_release(struct source *s)
{
	struct textsource *t = s->data;

	free(t->value);
	free(t->status);
	free(t->column);
	free(t->cell);
	free(t->cpu);
	free(t->planned);
	free(t->id);
	free(t->head);
	textfile_release(&t->file);
}

/* ---- CPUs ---- */

void textsource_cpus(struct textsource *t, const struct plan *p, uint32_t n_columns)
{
	const struct pm_topology *topology = &p->model->topology;
	struct cpulist cpus = { 0 };
	uint32_t words = 0;

	/* What could be added later counts, too: some have a column for it from the start. */
	(void)root_cpulist(p->root, &cpus, "/sys/devices/system/cpu/possible");
	for (uint32_t i = 0; i < topology->n; i++)
		memory_must(cpulist_add(&cpus, topology->cpu[i].cpu));
	t->cpu = cpus.cpu;
	t->n_cpus = (uint32_t)cpus.n;
	t->planned = memory_new(t->n_cpus, sizeof(*t->planned));
	t->n_columns = n_columns;
	/* In a container, the text may have more CPUs than /sys. */
	for (const char *at = t->file.data; *at && *at != '\n'; at++)
		words += *at != ' ' && (at == t->file.data || at[-1] == ' ');
	t->columns_most = words < t->n_cpus ? t->n_cpus : words;
	t->columns_most = t->columns_most < n_columns ? n_columns : t->columns_most;
	t->column = memory_new(t->columns_most, sizeof(*t->column));
	memset(t->column, 0xff, t->columns_most * sizeof(*t->column));
	t->head_size = (size_t)t->columns_most * 24 + 64;
	t->head = memory_new(1, t->head_size);
}

uint32_t textsource_index(const struct textsource *t, uint32_t cpu)
{
	size_t at = ARRAY_PLACE(t->n_cpus, i, t->cpu[i] < cpu);

	return at < t->n_cpus && t->cpu[at] == cpu ? (uint32_t)at : UINT32_MAX;
}

/* The columns of a head line that differs from the previous one. */
static int learn_head(struct textsource *t, const char *p, const char *end)
{
	t->n_columns = 0;
	for (p += strspn(p, " \t"); p < end; p += strspn(p, " \t")) {
		struct textcursor word = { .label = p, .label_len = (uint32_t)(word_end(p) - p) };
		uint32_t cpu;

		if (!textcursor_cpu(&word, &cpu) || t->n_columns == t->columns_most)
			return -EINVAL;
		t->column[t->n_columns++] = textsource_index(t, cpu);
		p += word.label_len;
	}
	return t->n_columns ? 0 : -EINVAL;
}

int textsource_begin(struct textsource *t, struct textcursor *c)
{
	const char *end;
	size_t len;
	int err;

	*c = textfile_begin(&t->file);
	if (!textcursor_line(c))
		return -EINVAL;
	end = memchr(c->label, '\n', (size_t)(c->end - c->label));
	if (!end)
		return -EINVAL;
	len = (size_t)(end - c->label);
	if (len == t->head_len && !memcmp(c->label, t->head, len))
		return 0;
	t->head_len = 0;
	err = learn_head(t, c->label, end);
	/* A line that is too long to be kept is parsed again each time: slow, not wrong. */
	if (!err && len <= t->head_size) {
		memcpy(t->head, c->label, len);
		t->head_len = len;
	}
	return err;
}

static void cpu_cells(struct textsource *t, struct plan *p, uint32_t index)
{
	int64_t instance = plan_cpu_instance(p, t->cpu[index]);

	for (uint32_t k = 0; k < t->n_ids; k++)
		if (t->id[k])
			textsource_cell(t, t->id[k], instance, t->n_single + k * t->n_cpus + index);
	t->planned[index] = true;
}

static int by_slot(const void *a, const void *b)
{
	const struct textcell *x = a, *y = b;

	return x->slot < y->slot ? -1 : x->slot > y->slot;
}

void textsource_plan(struct textsource *t, struct plan *p)
{
	for (size_t i = 0; i < p->cpus.n && t->n_ids; i++) {
		uint32_t index = textsource_index(t, p->cpus.cpu[i]);

		if (index != UINT32_MAX)
			cpu_cells(t, p, index);
	}
	/* Counter by counter, so that neighbours are numbers of one kind. */
	if (t->n_cells)
		qsort(t->cell, t->n_cells, sizeof(*t->cell), by_slot);
	if (t->n < t->n_single + t->n_ids * t->n_cpus)
		textsource_resize(t, t->n_single + t->n_ids * t->n_cpus);
	textsource_unit(t, p, 0);
}

void textsource_update(struct source *s, struct plan *p, uint32_t cpu, bool online)
{
	struct textsource *t = s->data;
	uint32_t index;

	if (!online)
		return;
	/* The text may be much longer now; if it cannot be read, its readings say so. */
	(void)textfile_grow(&t->file);
	index = textsource_index(t, cpu);
	if (index == UINT32_MAX || t->planned[index] || !plan_wants_cpu(p, cpu))
		return;
	cpu_cells(t, p, index);
	textsource_unit(t, p, 0);
}
