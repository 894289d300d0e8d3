/* What redaction remembers: pseudonyms and shifts, in a file that gives two redactions the same and can undo them;
 * and what is to be found again in texts. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "common/json.h"
#include "common/parse.h"
#include "report/copy/redact_private.h"
#include "report/input/outfile.h"

#define VERSION 1.0

/* Clocks of a shifted recording begin between these: what is redacted later with the same map may be older. */
#define BOOT_LEAST_NS UINT64_C(8640000000000000)   /* 100 days */
#define BOOT_MOST_NS  UINT64_C(34560000000000000)  /* 400 days */
#define WALL_MOST_NS  UINT64_C(315360000000000000) /* back by up to ten years */

void redact_map_release(struct redact_map *m)
{
	for (uint32_t i = 0; i < m->n; i++)
		free(m->row[i].kind);
	free(m->row);
	names_release(&m->by_from);
	names_release(&m->by_to);
	*m = (struct redact_map){ 0 };
}

/* Nothing could be redacted without: a name or a time that is guessed is not hidden. */
static uint64_t random_u64(void)
{
	uint64_t v;

	if (getrandom(&v, sizeof(v), 0) != sizeof(v))
		abort();
	return v;
}

static const struct redact_row *add_row(struct redact_map *m, const char *kind, const char *from, const char *to)
{
	size_t kind_size = strlen(kind) + 1, from_size = strlen(from) + 1, to_size = strlen(to) + 1;
	char *text = memory_new(1, kind_size + from_size + to_size);
	SCOPED(scoped_free) char *key = memory_format("%s %s", kind, from);

	memory_room(&m->row, m->n, sizeof(*m->row));
	m->row[m->n] = (struct redact_row){
		.kind = memcpy(text, kind, kind_size),
		.from = memcpy(text + kind_size, from, from_size),
		.to = memcpy(text + kind_size + from_size, to, to_size),
	};
	memory_done(names_set(&m->by_from, key, m->n));
	memory_done(names_set(&m->by_to, to, m->n));
	return &m->row[m->n++];
}

static const struct redact_row *find_row(const struct redact_map *m, const char *kind, const char *from)
{
	SCOPED(scoped_free) char *key = memory_format("%s %s", kind, from);
	uint32_t at;

	return names_get(&m->by_from, key, &at) ? &m->row[at] : NULL;
}

const char *redact_map_from(const struct redact_map *m, const char *to)
{
	uint32_t at;

	return names_get(&m->by_to, to, &at) ? m->row[at].from : NULL;
}

const char *redact_map_name(struct redact_map *m, const char *kind, const char *from, bool *made)
{
	const struct redact_row *row = find_row(m, kind, from);
	char to[64];

	*made = !row;
	if (row)
		return row->to;
	do
		snprintf(to, sizeof(to), "%s-%08" PRIx32, kind, (uint32_t)random_u64());
	while (redact_map_from(m, to));
	return add_row(m, kind, from, to)->to;
}

/* ---- times: rows of kind "shift" ---- */

static uint64_t number(struct redact_map *m, const char *from, uint64_t fresh)
{
	const struct redact_row *row = find_row(m, "shift", from);
	char to[24];

	snprintf(to, sizeof(to), "%" PRIu64, fresh);
	if (!row)
		row = add_row(m, "shift", from, to);
	return strtoull(row->to, NULL, 10);
}

/* Shifts a clock from where it stood to anywhere. */
static uint64_t clock_shift(struct redact_map *m, const char *boot, const char *clock, uint64_t first, uint64_t most)
{
	SCOPED(scoped_free) char *from = memory_format("%s clock %s", boot, clock);

	return number(m, from, BOOT_LEAST_NS + random_u64() % (most - BOOT_LEAST_NS) - first);
}

struct redact_shift redact_map_shift(struct redact_map *m, const char *boot, const struct pm_clocks *first)
{
	return (struct redact_shift){
		.monotonic = clock_shift(m, boot, "monotonic", first->monotonic, BOOT_MOST_NS),
		.raw = clock_shift(m, boot, "raw", first->monotonic_raw, BOOT_MOST_NS),
		.boottime = clock_shift(m, boot, "boottime", first->boottime, BOOT_MOST_NS),
		.counter = clock_shift(m, boot, "counter", first->counter, BOOT_MOST_NS * 3),
		.wall = number(m, "wall", 0 - random_u64() % WALL_MOST_NS),
	};
}

uint64_t redact_map_base(struct redact_map *m, const char *boot, const char *counter, unsigned width)
{
	SCOPED(scoped_free) char *from = memory_format("%s counter %s", boot, counter);

	/* A wide counter stays far from wrapping. */
	return number(m, from, random_u64() & ((UINT64_C(1) << (width < 56 ? width : 55)) - 1));
}

/* ---- the file ---- */

int redact_map_load(struct redact_map *m, const char *path, struct error *e)
{
	struct stat st;
	SCOPED(json_scoped) struct json *j = NULL;
	const struct json *list;
	bool good;

	if (stat(path, &st))
		return errno == ENOENT ? 0 : error_sys(e, errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return error_set(e, EINVAL, "%s: the map must be a regular file", path);
	if (st.st_mode & 077)
		return error_set(e, EACCES, "%s: others can read this map, and undo redaction with it; chmod 600 %s",
				 path, path);
	if (!st.st_size)
		return 0;
	j = json_load(path, e);
	good = j && json_number(json_get(j, "redact_map"), 0) == VERSION;
	list = good ? json_get(j, "names") : NULL;
	for (size_t i = 0; good && i < json_count(list); i++) {
		const struct json *row = json_at(list, i);
		const char *kind = json_text(json_get(row, "kind"), ""), *to = json_text(json_get(row, "to"), "");
		uint64_t v;

		good = strcmp(kind, "shift") ? redact_is_pseudonym(to) : !parse_u64(to, &v);
		if (good)
			add_row(m, kind, json_text(json_get(row, "from"), ""), to);
	}
	return good ? 0 : error_set(e, EINVAL, "%s: not a map written by pmrep redact", path);
}

int redact_map_save(const struct redact_map *m, const char *path, struct error *e)
{
	struct outfile file = { .fd = -1 };
	SCOPED(buf_release) struct buf out = BUF_INIT;
	int err;

	buf_printf(&out, "{\"redact_map\": %d,\n\"names\": [", (int)VERSION);
	for (uint32_t i = 0; i < m->n; i++) {
		const char *const part[] = { "kind", m->row[i].kind, "from", m->row[i].from, "to", m->row[i].to };

		for (size_t k = 0; k < 6; k += 2) {
			buf_printf(&out, "%s\"%s\": ", k ? ", " : i ? ",\n{" : "\n{", part[k]);
			json_quote(&out, part[k + 1], strlen(part[k + 1]));
		}
		buf_addch(&out, '}');
	}
	buf_addstr(&out, "]}\n");
	memory_whole(&out);
	err = outfile_open(&file, path, OUTFILE_OVERWRITE, NULL, 0, e);
	/* Before the first byte is written. */
	if (!err && fchmod(file.fd, 0600))
		err = error_sys(e, errno, "%s", path);
	if (!err)
		err = outfile_write(&file, out.data, out.len);
	return outfile_end(&file, err, e);
}

/* ---- what is found again ---- */

void secrets_release(struct secrets *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		free(s->row[i].instead);
	free(s->row);
	names_release(&s->known);
	*s = (struct secrets){ 0 };
}

static unsigned char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (unsigned char)(c + 32) : (unsigned char)c;
}

char *lowered(char *text)
{
	for (char *c = text; *c; c++)
		*c = (char)lower(*c);
	return text;
}

/* The shortest part of a secret by which it is looked for. */
#define START 3

static size_t start_bit(const char *text)
{
	uint32_t v = (uint32_t)lower(text[0]) << 16 | (uint32_t)lower(text[1]) << 8 | lower(text[2]);

	return v * 2654435761u >> 16;
}

void secrets_add(struct secrets *s, const char *text, size_t len, const char *instead, bool word)
{
	SCOPED(scoped_free) char *copy = NULL;
	size_t bit;
	uint32_t at;

	len = len < SECRET_MAX ? len : SECRET_MAX;
	if (len < START || memchr(text, '\0', len))
		return;
	copy = lowered(memory_checked(strndup(text, len)));
	if (names_get(&s->known, copy, &at)) {
		s->row[at].word = s->row[at].word && word;
		return;
	}
	bit = start_bit(copy);
	s->starts[bit / 8] |= (unsigned char)(1 << bit % 8);
	s->has_length[len] = true;
	s->longest = len > s->longest ? len : s->longest;
	memory_room(&s->row, s->n, sizeof(*s->row));
	memory_done(names_set(&s->known, copy, s->n));
	s->row[s->n++] = (struct secret){ .instead = memory_text(instead), .word = word };
}

static bool is_alnum(char c)
{
	return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z') || (unsigned char)c >= 0x80;
}

/* The longest secret that begins at `at` of `text`, whose copy in lower case is `low`; its length in *n. */
static const struct secret *find_at(const struct secrets *s, char *low, size_t at, size_t len, size_t *n)
{
	size_t bit = start_bit(low + at);

	if (!(s->starts[bit / 8] & 1 << bit % 8))
		return NULL;
	for (*n = len - at < s->longest ? len - at : s->longest; *n >= START; --*n) {
		char *end = low + at + *n, kept = *end;
		uint32_t found;
		bool is;

		if (!s->has_length[*n])
			continue;
		*end = '\0';
		is = strlen(low + at) == *n && names_get(&s->known, low + at, &found);
		*end = kept;
		if (is &&
		    (!s->row[found].word || ((!at || !is_alnum(low[at - 1])) && (at + *n == len || !is_alnum(kept)))))
			return &s->row[found];
	}
	return NULL;
}

bool secrets_scrub(const struct secrets *s, char **text, size_t *len)
{
	SCOPED(buf_release) struct buf out = BUF_INIT;
	SCOPED(scoped_free) char *low = s->n ? memory_copy(*text, *len + 1, 1) : NULL;
	size_t done = 0;

	for (size_t i = 0; low && i < *len; i++)
		low[i] = (char)lower(low[i]);
	for (size_t i = 0, n; low && i + START <= *len;) {
		const struct secret *hit = find_at(s, low, i, *len, &n);

		if (!hit) {
			i++;
			continue;
		}
		buf_add(&out, *text + done, i - done);
		buf_addstr(&out, hit->instead);
		i += n;
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
