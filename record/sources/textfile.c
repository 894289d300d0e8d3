#include "record/sources/textfile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"
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
	char *grown;
	int err;

	for (;; size *= 2) {
		grown = realloc(t->data, size);
		if (!grown)
			return -ENOMEM;
		t->data = grown;
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

int textfile_add(struct textfile *t, const char *label, size_t len, uint32_t tag)
{
	struct textfile_line *line;

	if (array_room(&t->line, t->n_lines, sizeof(*t->line)))
		return -ENOMEM;
	line = &t->line[t->n_lines];
	*line = (struct textfile_line){
		.len = (uint32_t)len, .tag = tag, .follow = t->n_lines + 1, .twin = t->n_lines, .walk = t->walk
	};
	line->label = strndup(label, len);
	if (!line->label)
		return -ENOMEM;
	while (line->twin-- && !has_label(&t->line[line->twin], label, line->len))
		;
	t->n_lines++;
	return 0;
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

bool textcursor_find(struct textcursor *c, const char *text)
{
	const char *newline = memchr(c->at, '\n', (size_t)(c->end - c->at));
	const char *found = memmem(c->at, (size_t)((newline ? newline : c->end) - c->at), text, strlen(text));

	if (found)
		c->at = found + strlen(text);
	return found != NULL;
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

/* ---- units ---- */

struct textunit {
	struct unit unit;
	struct textstore *store;
	bool refreshes;
	struct {
		uint32_t slot;
		uint64_t most; /* a number above it is a negative one that the kernel printed unsigned */
	} cell[];
};

int textstore_resize(struct textstore *s, uint32_t n)
{
	uint64_t *value = realloc(s->value, (n ? n : 1) * sizeof(*value));
	uint16_t *status;

	if (!value)
		return -ENOMEM;
	s->value = value;
	status = realloc(s->status, (n ? n : 1) * sizeof(*status));
	if (!status)
		return -ENOMEM;
	s->status = status;
	for (uint32_t i = s->n; i < n; i++) {
		value[i] = 0;
		status[i] = PM_REASON_FORMAT;
	}
	s->n = n;
	return 0;
}

void textstore_release(struct textstore *s)
{
	free(s->value);
	free(s->status);
	free(s->cell);
	*s = (struct textstore){ 0 };
}

int textstore_cell(struct textstore *s, int64_t counter, int64_t instance, uint32_t slot)
{
	if (counter < 0 || instance < 0)
		return (int)(counter < 0 ? counter : instance);
	if (array_room(&s->cell, s->n_cells, sizeof(*s->cell)))
		return -ENOMEM;
	s->cell[s->n_cells++] = (struct textcell){ (uint32_t)counter, (uint32_t)instance, slot };
	return 0;
}

static int refresh(struct textstore *s)
{
	s->err = s->refresh(s);
	s->failures = s->err ? s->failures + 1 : 0;
	return s->err;
}

static int textunit_read(struct unit *u, struct cells *c)
{
	struct textunit *t = (struct textunit *)u;
	const struct textstore *s = t->store;

	if (t->refreshes)
		refresh(t->store);
	if (s->err) {
		cells_fail_all(c, pm_reason_errno(s->err));
		/* A file that has outgrown its buffer is not dead: update() takes care of it. */
		return s->failures >= FAILURES_OF_THE_DEAD && s->err != -EFBIG ? s->err : 0;
	}
	for (uint32_t k = 0; k < c->n; k++) {
		uint32_t slot = t->cell[k].slot;

		if (s->status[slot] != PM_OK)
			cells_fail(c, k, s->status[slot]);
		else if (s->value[slot] > t->cell[k].most)
			cells_fail(c, k, PM_REASON_SUSPECT);
		else
			cells_set(c, k, s->value[slot]);
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

int textunit_add(struct plan *p, struct textstore *s, uint64_t min_period_ns)
{
	uint32_t n = s->n_cells;
	SCOPED(scoped_free) uint32_t *id = calloc(2 * n + 1, sizeof(*id));
	struct textunit *t = malloc(sizeof(*t) + n * sizeof(t->cell[0]));
	struct pm_group g = { .source = (char *)p->source->ops->name,
			      .flags = PM_GROUP_LIST,
			      .counter = id,
			      .n_counters = n,
			      .instance = id + n,
			      .n_instances = n };
	int64_t group = id && t ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < n && !group; i++) {
		g.counter[i] = s->cell[i].counter;
		g.instance[i] = s->cell[i].instance;
		t->cell[i].slot = s->cell[i].slot;
		t->cell[i].most = most_of(pm_model_counter(p->model, s->cell[i].counter));
	}
	if (!group && n)
		group = pm_model_add_group(p->model, &g);
	s->n_cells = 0;
	if (group <= 0) {
		free(t);
		return (int)group;
	}
	t->unit = (struct unit){ .group = (uint32_t)group,
				 .cpu = PM_NONE,
				 .min_period_ns = min_period_ns,
				 .read = textunit_read,
				 .release = textunit_release };
	t->store = s;
	t->refreshes = !s->has_reader;
	s->has_reader = true;
	plan_add_unit(p, &t->unit);
	return 0;
}

int textsource_new(struct source *s, struct plan *p, size_t size, const char *path, const char *hint,
		   int (*refresh)(struct textstore *s))
{
	struct textsource *t = calloc(1, size);
	int err;

	if (!t)
		return -ENOMEM;
	err = textfile_open(&t->file, p->root, path);
	if (err) {
		free(t);
		return plan_refused(p, pm_reason_errno(err), err == -ENOENT ? hint : NULL, "%s", path);
	}
	t->store.refresh = refresh;
	s->data = t;
	return 0;
}

void textsource_release(struct source *s)
{
	struct textsource *t = s->data;

	textstore_release(&t->store);
	textfile_release(&t->file);
}
