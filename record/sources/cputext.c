#include "record/sources/cputext.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "record/plan/plan.h"

int cputext_resize(struct cputext *t, uint32_t n_counters)
{
	uint32_t *counter = realloc(t->counter, (n_counters + 1) * sizeof(*counter));

	if (!counter)
		return -ENOMEM;
	t->counter = counter;
	for (uint32_t k = t->n_counters; k < n_counters; k++)
		counter[k] = 0;
	t->n_counters = n_counters;
	return textstore_resize(&t->text.store, t->n_system + n_counters * t->n_cpus);
}

/* In the first line. */
static uint32_t count_words(const struct textfile *f)
{
	uint32_t n = 0;

	for (const char *p = f->data; *p && *p != '\n'; p++)
		n += *p != ' ' && (p == f->data || p[-1] == ' ');
	return n;
}

int cputext_new(struct source *s, struct plan *p, size_t size, const char *path, const char *hint, uint32_t n_system,
		uint32_t n_counters, int (*refresh)(struct textstore *s))
{
	const struct pm_topology *topology = &p->model->topology;
	struct cpulist cpus = { 0 };
	int err = textsource_new(s, p, size, path, hint, refresh);
	struct cputext *t = s->data;

	if (err || !t)
		return err;
	t->n_system = n_system;
	/* What could be added later counts, too: some have a column for it from the start. */
	if (root_cpulist(p->root, &cpus, "/sys/devices/system/cpu/possible") == -ENOMEM)
		return -ENOMEM;
	for (uint32_t i = 0; i < topology->n && !err; i++)
		err = cpulist_add(&cpus, topology->cpu[i].cpu);
	t->cpu = cpus.cpu;
	t->n_cpus = (uint32_t)cpus.n;
	t->planned = calloc(t->n_cpus + 1, sizeof(*t->planned));
	/* In a container, the text may have more CPUs than /sys. */
	t->columns_most = count_words(&t->text.file);
	if (t->columns_most < t->n_cpus)
		t->columns_most = t->n_cpus;
	t->column = calloc(t->columns_most + 1, sizeof(*t->column));
	t->system = calloc(n_system + 1, sizeof(*t->system));
	t->head_size = (size_t)t->columns_most * 24 + 64;
	t->head = calloc(1, t->head_size);
	if (err || !t->planned || !t->column || !t->system || !t->head)
		return -ENOMEM;
	return cputext_resize(t, n_counters);
}

void cputext_release(struct source *s)
{
	struct cputext *t = s->data;

	free(t->cpu);
	free(t->planned);
	free(t->column);
	free(t->head);
	free(t->system);
	free(t->counter);
	textsource_release(s);
}

uint32_t cputext_index(const struct cputext *t, uint32_t cpu)
{
	size_t at = ARRAY_PLACE(t->n_cpus, i, t->cpu[i] < cpu);

	return at < t->n_cpus && t->cpu[at] == cpu ? (uint32_t)at : UINT32_MAX;
}

bool cputext_label(const char *label, uint32_t len, uint32_t *cpu)
{
	uint32_t v = 0;

	if (len < 4 || len > 8 || strncasecmp(label, "cpu", 3))
		return false;
	for (uint32_t i = 3; i < len; i++) {
		if (label[i] < '0' || label[i] > '9')
			return false;
		v = v * 10 + (uint32_t)(label[i] - '0');
	}
	*cpu = v;
	return true;
}

/* The columns of a head line that differs from the previous one. */
static int learn_head(struct cputext *t, const char *p, const char *end)
{
	const char *word;
	uint32_t cpu;

	t->n_columns = 0;
	while (p < end) {
		while (p < end && (*p == ' ' || *p == '\t'))
			p++;
		for (word = p; p < end && *p != ' ' && *p != '\t';)
			p++;
		if (word == p)
			break;
		if (!cputext_label(word, (uint32_t)(p - word), &cpu))
			return -EINVAL;
		if (t->n_columns == t->columns_most)
			return -EINVAL;
		t->column[t->n_columns++] = cputext_index(t, cpu);
	}
	return t->n_columns ? 0 : -EINVAL;
}

int cputext_begin(struct cputext *t, struct textcursor *c, bool *changed)
{
	const char *end;
	size_t len;
	int err;

	*changed = false;
	*c = textfile_begin(&t->text.file);
	if (!textcursor_line(c))
		return -EINVAL;
	end = memchr(c->label, '\n', (size_t)(c->end - c->label));
	if (!end)
		return -EINVAL;
	len = (size_t)(end - c->label);
	if (len == t->head_len && !memcmp(c->label, t->head, len))
		return 0;
	*changed = true;
	t->head_len = 0;
	err = learn_head(t, c->label, end);
	/* A line that is too long to be kept is parsed again each time: slow, not wrong. */
	if (!err && len <= t->head_size) {
		memcpy(t->head, c->label, len);
		t->head_len = len;
	}
	return err;
}

static int cpu_cells(struct cputext *t, struct plan *p, uint32_t index)
{
	int64_t instance = plan_cpu_instance(p, t->cpu[index]);
	int err = 0;

	for (uint32_t k = 0; k < t->n_counters && !err; k++)
		if (t->counter[k])
			err = textstore_cell(&t->text.store, t->counter[k], instance, cputext_slot(t, k, index));
	t->planned[index] = true;
	return err;
}

static int by_slot(const void *a, const void *b)
{
	const struct textcell *x = a, *y = b;

	return x->slot < y->slot ? -1 : x->slot > y->slot;
}

int cputext_plan(struct cputext *t, struct plan *p)
{
	struct textstore *s = &t->text.store;
	int err = 0;

	for (uint32_t k = 0; k < t->n_system && !err; k++)
		if (t->system[k])
			err = textstore_cell(s, t->system[k], p->system_instance, k);
	for (size_t i = 0; i < p->cpus.n && !err; i++) {
		uint32_t index = cputext_index(t, p->cpus.cpu[i]);

		if (index != UINT32_MAX)
			err = cpu_cells(t, p, index);
	}
	/* Counter by counter, so that neighbours are numbers of one kind. */
	if (s->n_cells)
		qsort(s->cell, s->n_cells, sizeof(*s->cell), by_slot);
	return err ? err : textunit_add(p, s, 0);
}

int cputext_update(struct source *s, struct plan *p, uint32_t cpu, bool online)
{
	struct cputext *t = s->data;
	uint32_t index;
	int err;

	if (!t || !online)
		return 0;
	/* The text may be much longer now; if it cannot be read, its readings say so. */
	if (textfile_grow(&t->text.file) == -ENOMEM)
		return -ENOMEM;
	index = cputext_index(t, cpu);
	if (index == UINT32_MAX || t->planned[index] || !plan_wants_cpu(p, cpu))
		return 0;
	err = cpu_cells(t, p, index);
	return err ? err : textunit_add(p, &t->text.store, 0);
}
