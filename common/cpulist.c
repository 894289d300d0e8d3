#include "common/array.h"
#include "common/cpulist.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/parse.h"

void cpulist_release(struct cpulist *l)
{
	free(l->cpu);
	*l = (struct cpulist){ 0 };
}

/* The index of the first number that is at least `cpu`. */
static size_t lower_bound(const struct cpulist *l, uint32_t cpu)
{
	return ARRAY_PLACE(l->n, i, l->cpu[i] < cpu);
}

int cpulist_add(struct cpulist *l, uint32_t cpu)
{
	size_t at = l->n && l->cpu[l->n - 1] < cpu ? l->n : lower_bound(l, cpu);

	if (cpu > CPULIST_MAX)
		return -ERANGE;
	if (at < l->n && l->cpu[at] == cpu)
		return 0;
	if (array_room(&l->cpu, l->n, sizeof(*l->cpu)))
		return -ENOMEM;
	memmove(l->cpu + at + 1, l->cpu + at, (l->n - at) * sizeof(*l->cpu));
	l->cpu[at] = cpu;
	l->n++;
	return 0;
}

bool cpulist_has(const struct cpulist *l, uint32_t cpu)
{
	size_t at = lower_bound(l, cpu);

	return at < l->n && l->cpu[at] == cpu;
}

int cpulist_copy(struct cpulist *to, const struct cpulist *from)
{
	struct cpulist copy = { 0 };

	for (size_t i = 0; i < from->n; i++) {
		if (cpulist_add(&copy, from->cpu[i])) {
			cpulist_release(&copy);
			return -ENOMEM;
		}
	}
	free(to->cpu);
	*to = copy;
	return 0;
}

void cpulist_intersect(struct cpulist *l, const struct cpulist *with)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		if (cpulist_has(with, l->cpu[i]))
			l->cpu[n++] = l->cpu[i];
	l->n = n;
}

/* Reads "A", "A-B", "A-B:step" or "A-B:used/group", and marks the numbers. */
static int list_part(const char **text, bool dots, uint64_t *marks)
{
	uint64_t first, last, used = 1, group = 1;
	int err = parse_digits(text, 10, CPULIST_MAX, &first);

	if (err)
		return err;
	last = first;
	if (**text == '-' || (dots && !strncmp(*text, "..", 2))) {
		*text += **text == '-' ? 1 : 2;
		err = parse_digits(text, 10, CPULIST_MAX, &last);
		if (err)
			return err;
		if (last < first)
			return -EINVAL;
		if (**text == ':') {
			++*text;
			err = parse_digits(text, 10, CPULIST_MAX, &group);
			if (!err && **text == '/') {
				++*text;
				used = group;
				err = parse_digits(text, 10, CPULIST_MAX, &group);
			}
			if (err)
				return err;
			if (!group || !used || used > group)
				return -EINVAL;
		}
	}
	for (uint64_t v = first; v <= last; v++)
		if ((v - first) % group < used)
			marks[v / 64] |= 1ull << v % 64;
	return 0;
}

int cpulist_parse(struct cpulist *l, const char *text, bool dots, struct error *e)
{
	static const char blanks[] = " \t\n\r";
	uint64_t *marks = calloc(CPULIST_MAX / 64 + 1, sizeof(*marks));
	struct cpulist parsed = { 0 };
	const char *at = text;
	int err = 0;

	if (!marks)
		return error_sys(e, ENOMEM, "list");
	at += strspn(at, blanks);
	while (*at && !err) {
		err = list_part(&at, dots, marks);
		at += err ? 0 : strspn(at, blanks);
		if (err || !*at)
			break;
		err = *at++ == ',' ? 0 : -EINVAL;
		at += err ? 0 : strspn(at, blanks);
		if (!*at)
			err = -EINVAL;
	}
	for (uint32_t i = 0; i <= CPULIST_MAX / 64; i++)
		for (uint64_t left = marks[i]; left && !err; left &= left - 1)
			err = cpulist_add(&parsed, 64 * i + (uint32_t)__builtin_ctzll(left));
	free(marks);
	if (err) {
		cpulist_release(&parsed);
		if (err == -ERANGE)
			return error_set(e, ERANGE, "\"%.60s\": numbers end at %d", text, CPULIST_MAX);
		if (err == -EINVAL)
			return error_set(e, EINVAL, "\"%.60s\" is not a list such as 0-3,8 (column %d)", text,
					 (int)(at - text) + 1);
		return error_sys(e, -err, "list");
	}
	cpulist_release(l);
	*l = parsed;
	return 0;
}

void cpulist_print(const struct cpulist *l, struct buf *out)
{
	for (size_t i = 0; i < l->n;) {
		size_t last = i;

		while (last + 1 < l->n && l->cpu[last + 1] == l->cpu[last] + 1)
			last++;
		buf_printf(out, "%s%u", i ? "," : "", l->cpu[i]);
		if (last > i)
			buf_printf(out, "%c%u", last == i + 1 ? ',' : '-', l->cpu[last]);
		i = last + 1;
	}
}
