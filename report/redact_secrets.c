/* Finds any of many texts in another one, whatever the case of its letters. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "report/redact_private.h"

#define STARTS 65536

void secrets_release(struct secrets *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		free(s->row[i].text);
		free(s->row[i].instead);
	}
	free(s->row);
	free(s->first);
	names_release(&s->known);
	*s = (struct secrets){ 0 };
}

static unsigned char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (unsigned char)(c + 32) : (unsigned char)c;
}

static char *lower_copy(const char *text, size_t len)
{
	char *copy = malloc(len + 1);

	if (!copy)
		return NULL;
	for (size_t i = 0; i < len; i++)
		copy[i] = (char)lower(text[i]);
	copy[len] = '\0';
	return copy;
}

int secrets_add(struct secrets *s, const char *text, size_t len, const char *instead, bool weak)
{
	struct secret add = { .weak = weak };
	uint32_t at;
	int err;

	if (len < 3 || memchr(text, '\0', len))
		return 0;
	add.text = lower_copy(text, len);
	if (!add.text)
		return -ENOMEM;
	if (names_get(&s->known, add.text, &at)) {
		s->row[at].weak = s->row[at].weak && weak;
		free(add.text);
		return 0;
	}
	if (s->n == s->cap) {
		uint32_t cap = s->cap + s->cap / 2 + 64;
		struct secret *grown = reallocarray(s->row, cap, sizeof(*grown));

		if (!grown) {
			free(add.text);
			return -ENOMEM;
		}
		s->row = grown;
		s->cap = cap;
	}
	add.instead = strdup(instead);
	err = add.instead ? names_set(&s->known, add.text, s->n) : -ENOMEM;
	if (err) {
		free(add.text);
		free(add.instead);
		return err;
	}
	s->row[s->n++] = add;
	s->sorted = false;
	return 0;
}

static unsigned start_of(const char *text)
{
	return lower(text[0]) << 8 | lower(text[1]);
}

static int by_start(const void *x, const void *y)
{
	const struct secret *a = x, *b = y;
	unsigned p = start_of(a->text), q = start_of(b->text);
	size_t m = strlen(a->text), n = strlen(b->text);

	if (p != q)
		return (p > q) - (p < q);
	return m != n ? (m < n) - (m > n) : strcmp(a->text, b->text);
}

int secrets_sort(struct secrets *s)
{
	if (s->sorted)
		return 0;
	free(s->first);
	s->first = calloc(STARTS + 1, sizeof(*s->first));
	if (!s->first)
		return -ENOMEM;
	if (s->n)
		qsort(s->row, s->n, sizeof(*s->row), by_start);
	for (uint32_t i = 0; i < s->n; i++)
		s->first[start_of(s->row[i].text) + 1]++;
	for (uint32_t i = 0; i < STARTS; i++)
		s->first[i + 1] += s->first[i];
	/* Places have changed: who adds once more begins anew. */
	names_release(&s->known);
	for (uint32_t i = 0; i < s->n; i++)
		if (names_set(&s->known, s->row[i].text, i))
			return -ENOMEM;
	s->sorted = true;
	return 0;
}

static bool is_alnum(char c)
{
	return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z') || (unsigned char)c >= 0x80;
}

/* `text` is `at` bytes into what is searched, and `len` long from there. Parts are found as words only: "lazy" of a
 * command line is not in "pglazyfree". */
static const struct secret *find_at(const struct secrets *s, const char *text, size_t at, size_t len, bool weak_too)
{
	unsigned start;

	if (len < 3)
		return NULL;
	start = start_of(text);
	for (uint32_t i = s->first[start]; i < s->first[start + 1]; i++) {
		const char *t = s->row[i].text;
		size_t n = strlen(t), k = 2;

		if (n > len || (s->row[i].weak && !weak_too))
			continue;
		while (k < n && lower(text[k]) == (unsigned char)t[k])
			k++;
		if (k < n)
			continue;
		if (!s->row[i].weak || ((!at || !is_alnum(text[-1])) && (n == len || !is_alnum(text[n]))))
			return &s->row[i];
	}
	return NULL;
}

int secrets_scrub(const struct secrets *s, char **text, size_t *len, bool weak_too)
{
	struct buf out = BUF_INIT;
	size_t done = 0;
	int err;

	if (!s->n)
		return 0;
	for (size_t i = 0; i + 2 < *len;) {
		const struct secret *hit = find_at(s, *text + i, i, *len - i, weak_too);

		if (!hit) {
			i++;
			continue;
		}
		buf_add(&out, *text + done, i - done);
		buf_addstr(&out, hit->instead);
		i += strlen(hit->text);
		done = i;
	}
	if (!done)
		return 0;
	buf_add(&out, *text + done, *len - done);
	err = out.err;
	if (!err) {
		free(*text);
		*len = out.len;
		*text = buf_detach(&out);
		err = *text ? 1 : -ENOMEM;
	}
	buf_release(&out);
	return err;
}
