/* Finds any of many texts in another one, ignoring case. */
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "report/copy/redact_private.h"

#define STARTS 65536

void secrets_release(struct secrets *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		free(s->row[i].text);
	free(s->row);
	free(s->first);
	names_release(&s->known);
	*s = (struct secrets){ 0 };
}

static unsigned char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (unsigned char)(c + 32) : (unsigned char)c;
}

/* In lower case, followed by its replacement. */
static char *text_of(const char *text, size_t len, const char *instead)
{
	char *copy = memory_new(1, len + 1 + strlen(instead) + 1);

	for (size_t i = 0; i < len; i++)
		copy[i] = (char)lower(text[i]);
	copy[len] = '\0';
	strcpy(copy + len + 1, instead);
	return copy;
}

void secrets_add(struct secrets *s, const char *text, size_t len, const char *instead, bool weak)
{
	struct secret add = { .weak = weak, .len = (uint32_t)len };
	uint32_t at;

	if (len < 3 || memchr(text, '\0', len))
		return;
	add.text = text_of(text, len, instead);
	add.instead = add.text + len + 1;
	if (names_get(&s->known, add.text, &at)) {
		s->row[at].weak = s->row[at].weak && weak;
		free(add.text);
		return;
	}
	memory_room(&s->row, s->n, sizeof(*s->row));
	memory_done(names_set(&s->known, add.text, s->n));
	s->row[s->n++] = add;
	s->sorted = false;
}

static unsigned start_of(const char *text)
{
	return lower(text[0]) << 8 | lower(text[1]);
}

static int by_start(const void *x, const void *y)
{
	const struct secret *a = x, *b = y;
	unsigned p = start_of(a->text), q = start_of(b->text);

	if (p != q)
		return (p > q) - (p < q);
	return a->len != b->len ? (a->len < b->len) - (a->len > b->len) : strcmp(a->text, b->text);
}

void secrets_sort(struct secrets *s)
{
	if (s->sorted)
		return;
	free(s->first);
	s->first = memory_new(STARTS + 1, sizeof(*s->first));
	if (s->n)
		qsort(s->row, s->n, sizeof(*s->row), by_start);
	for (uint32_t i = 0; i < s->n; i++)
		s->first[start_of(s->row[i].text) + 1]++;
	for (uint32_t i = 0; i < STARTS; i++)
		s->first[i + 1] += s->first[i];
	/* Places have changed, and the map is large. */
	names_release(&s->known);
	s->sorted = true;
}

static bool is_alnum(char c)
{
	return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z') || (unsigned char)c >= 0x80;
}

/* The end of the rows in row[i..end) that are as long as row[i]; the longest come first. */
static uint32_t end_of_length(const struct secrets *s, uint32_t i, uint32_t end)
{
	uint32_t len = s->row[i].len;

	while (i < end) {
		uint32_t middle = i + (end - i) / 2;

		if (s->row[middle].len == len)
			i = middle + 1;
		else
			end = middle;
	}
	return end;
}

/* The row of row[i..end), which are of one length and sorted, that `text` begins with. */
static const struct secret *find_length(const struct secrets *s, uint32_t i, uint32_t end, const char *text)
{
	uint32_t len = s->row[i].len;

	while (i < end) {
		uint32_t middle = i + (end - i) / 2, k = 2;
		const char *t = s->row[middle].text;

		while (k < len && lower(text[k]) == (unsigned char)t[k])
			k++;
		if (k == len)
			return &s->row[middle];
		if (lower(text[k]) > (unsigned char)t[k])
			i = middle + 1;
		else
			end = middle;
	}
	return NULL;
}

/* `text` is `at` bytes into the text that is searched, and `len` long from there. Parts match whole words only:
 * "lazy" of a command line does not match in "pglazyfree". */
static const struct secret *find_at(const struct secrets *s, const char *text, size_t at, size_t len, bool weak_too)
{
	unsigned start;

	if (len < 3)
		return NULL;
	start = start_of(text);
	for (uint32_t i = s->first[start], end = s->first[start + 1], next; i < end; i = next) {
		size_t n = s->row[i].len;
		const struct secret *hit;

		next = end_of_length(s, i, end);
		hit = n > len ? NULL : find_length(s, i, next, text);
		if (!hit || (hit->weak && !weak_too))
			continue;
		if (!hit->weak || ((!at || !is_alnum(text[-1])) && (n == len || !is_alnum(text[n]))))
			return hit;
	}
	return NULL;
}

bool secrets_scrub(const struct secrets *s, char **text, size_t *len, bool weak_too)
{
	SCOPED(buf_release) struct buf out = BUF_INIT;
	size_t done = 0;

	for (size_t i = 0; s->n && i + 2 < *len;) {
		const struct secret *hit = find_at(s, *text + i, i, *len - i, weak_too);

		if (!hit) {
			i++;
			continue;
		}
		buf_add(&out, *text + done, i - done);
		buf_addstr(&out, hit->instead);
		i += hit->len;
		done = i;
	}
	if (!done)
		return false;
	buf_add(&out, *text + done, *len - done);
	free(*text);
	*len = out.len;
	*text = memory_checked(buf_detach(&out));
	return true;
}
