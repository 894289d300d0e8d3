/* The map of pseudonyms as a file: it gives two redactions the same pseudonyms, and can undo a redaction. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "common/json.h"
#include "common/parse.h"
#include "report/input/outfile.h"
#include "report/copy/redact_private.h"

#define VERSION 1.0

/* Clocks of a shifted recording begin between these: what is redacted later with the same map may be older. */
#define BOOT_LEAST_NS UINT64_C(8640000000000000)   /* 100 days */
#define BOOT_MOST_NS  UINT64_C(34560000000000000)  /* 400 days */
#define WALL_MOST_NS  UINT64_C(315360000000000000) /* back by up to ten years */

void redact_map_release(struct redact_map *m)
{
	for (uint32_t i = 0; i < m->n_names; i++)
		free(m->name[i].kind);
	for (uint32_t i = 0; i < m->n_shifts; i++)
		free(m->shift[i].boot);
	for (uint32_t i = 0; i < m->n_bases; i++)
		free(m->base[i].name);
	free(m->name);
	free(m->shift);
	free(m->base);
	names_release(&m->by_from);
	names_release(&m->by_to);
	names_release(&m->by_boot);
	names_release(&m->by_base);
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

/* ---- names ---- */

static void add_name(struct redact_map *m, const char *kind, const char *from, const char *to)
{
	size_t kind_size = strlen(kind) + 1, from_size = strlen(from) + 1, to_size = strlen(to) + 1;
	char *text = memory_new(1, kind_size + from_size + to_size);
	SCOPED(scoped_free) char *key = memory_format("%s %s", kind, from);

	memory_room(&m->name, m->n_names, sizeof(*m->name));
	m->name[m->n_names++] = (struct redact_name){
		.kind = memcpy(text, kind, kind_size),
		.from = memcpy(text + kind_size, from, from_size),
		.to = memcpy(text + kind_size + from_size, to, to_size),
	};
	memory_done(names_set(&m->by_from, key, m->n_names - 1));
	memory_done(names_set(&m->by_to, to, m->n_names - 1));
}

const char *redact_map_from(const struct redact_map *m, const char *to)
{
	uint32_t at;

	return names_get(&m->by_to, to, &at) ? m->name[at].from : NULL;
}

const char *redact_map_name(struct redact_map *m, const char *kind, const char *from, bool *made)
{
	SCOPED(scoped_free) char *key = memory_format("%s %s", kind, from);
	char to[64];
	uint32_t at;

	*made = !names_get(&m->by_from, key, &at);
	if (!*made)
		return m->name[at].to;
	do
		snprintf(to, sizeof(to), "%s-%08" PRIx32, kind, (uint32_t)random_u64());
	while (redact_map_from(m, to));
	add_name(m, kind, from, to);
	return m->name[m->n_names - 1].to;
}

/* ---- times ---- */

/* Shifts a clock from where it stood to anywhere. */
static uint64_t shift_from(uint64_t first, uint64_t least, uint64_t most)
{
	return least + random_u64() % (most - least) - first;
}

static struct redact_shift *add_shift(struct redact_map *m, const char *boot)
{
	memory_room(&m->shift, m->n_shifts, sizeof(*m->shift));
	memory_done(names_set(&m->by_boot, boot, m->n_shifts));
	m->shift[m->n_shifts] = (struct redact_shift){ .boot = memory_text(boot) };
	return &m->shift[m->n_shifts++];
}

const struct redact_shift *redact_map_shift(struct redact_map *m, const char *boot, const struct pm_clocks *first)
{
	struct redact_shift *s;
	uint32_t at;

	if (!m->has_wall)
		m->wall = 0 - random_u64() % WALL_MOST_NS;
	m->has_wall = true;
	if (names_get(&m->by_boot, boot, &at))
		return &m->shift[at];
	s = add_shift(m, boot);
	s->monotonic = shift_from(first->monotonic, BOOT_LEAST_NS, BOOT_MOST_NS);
	s->raw = shift_from(first->monotonic_raw, BOOT_LEAST_NS, BOOT_MOST_NS);
	s->boottime = shift_from(first->boottime, BOOT_LEAST_NS, BOOT_MOST_NS);
	s->counter = shift_from(first->counter, BOOT_LEAST_NS, BOOT_MOST_NS * 3);
	return s;
}

static void add_base(struct redact_map *m, const char *name, uint64_t offset)
{
	memory_room(&m->base, m->n_bases, sizeof(*m->base));
	memory_done(names_set(&m->by_base, name, m->n_bases));
	m->base[m->n_bases++] = (struct redact_base){ .name = memory_text(name), .offset = offset };
}

uint64_t redact_map_base(struct redact_map *m, const char *boot, const char *counter, unsigned width)
{
	SCOPED(scoped_free) char *name = memory_format("%s %s", boot, counter);
	uint64_t v = random_u64();
	uint32_t at;

	if (names_get(&m->by_base, name, &at))
		return m->base[at].offset;
	/* A wide counter stays far from wrapping. */
	v &= width < 56 ? (UINT64_C(1) << width) - 1 : (UINT64_C(1) << 55) - 1;
	add_base(m, name, v);
	return v;
}

/* ---- the file ---- */

static const char *text_of(const struct json *j, const char *key)
{
	return json_text(json_get(j, key), "");
}

static int number_of(const struct json *j, const char *key, uint64_t *v)
{
	return parse_u64(text_of(j, key), v);
}

static int take_names(struct redact_map *m, const struct json *list)
{
	for (size_t i = 0; i < json_count(list); i++) {
		const struct json *n = json_at(list, i);

		if (!redact_is_pseudonym(text_of(n, "to")))
			return -EINVAL;
		add_name(m, text_of(n, "kind"), text_of(n, "from"), text_of(n, "to"));
	}
	return 0;
}

static int take_shifts(struct redact_map *m, const struct json *list)
{
	for (size_t i = 0; i < json_count(list); i++) {
		const struct json *j = json_at(list, i);
		struct redact_shift *s = add_shift(m, text_of(j, "boot"));

		if (number_of(j, "monotonic", &s->monotonic) || number_of(j, "raw", &s->raw) ||
		    number_of(j, "boottime", &s->boottime) || number_of(j, "counter", &s->counter))
			return -EINVAL;
	}
	return 0;
}

static int take_bases(struct redact_map *m, const struct json *list)
{
	for (size_t i = 0; i < json_count(list); i++) {
		const struct json *j = json_at(list, i);
		uint64_t v;

		if (number_of(j, "offset", &v))
			return -EINVAL;
		add_base(m, text_of(j, "of"), v);
	}
	return 0;
}

int redact_map_load(struct redact_map *m, const char *path, struct error *e)
{
	struct stat st;
	SCOPED(json_scoped) struct json *j = NULL;
	int err;

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
	if (!j)
		return error_set(e, EINVAL, "%s: not a map written by pmrep redact", path);
	if (json_number(json_get(j, "redact_map"), 0) != VERSION)
		err = -EINVAL;
	else
		err = take_names(m, json_get(j, "names"));
	if (!err)
		err = take_shifts(m, json_get(j, "shifts"));
	if (!err)
		err = take_bases(m, json_get(j, "counters"));
	if (!err && json_is_text(json_get(j, "wall"))) {
		err = number_of(j, "wall", &m->wall);
		m->has_wall = !err;
	}
	return err ? error_set(e, -err, "%s: not a map written by pmrep redact", path) : 0;
}

static void put_number(struct buf *out, const char *key, uint64_t v)
{
	buf_printf(out, ", \"%s\": \"%" PRIu64 "\"", key, v);
}

static void quote(struct buf *out, const char *text)
{
	json_quote(out, text, strlen(text));
}

static void print_map(const struct redact_map *m, struct buf *out)
{
	buf_printf(out, "{\"redact_map\": %d", (int)VERSION);
	if (m->has_wall)
		put_number(out, "wall", m->wall);
	buf_addstr(out, ",\n\"names\": [");
	for (uint32_t i = 0; i < m->n_names; i++) {
		buf_addstr(out, i ? ",\n{\"kind\": " : "\n{\"kind\": ");
		quote(out, m->name[i].kind);
		buf_addstr(out, ", \"from\": ");
		quote(out, m->name[i].from);
		buf_addstr(out, ", \"to\": ");
		quote(out, m->name[i].to);
		buf_addch(out, '}');
	}
	buf_addstr(out, "],\n\"shifts\": [");
	for (uint32_t i = 0; i < m->n_shifts; i++) {
		buf_addstr(out, i ? ",\n{\"boot\": " : "\n{\"boot\": ");
		quote(out, m->shift[i].boot);
		put_number(out, "monotonic", m->shift[i].monotonic);
		put_number(out, "raw", m->shift[i].raw);
		put_number(out, "boottime", m->shift[i].boottime);
		put_number(out, "counter", m->shift[i].counter);
		buf_addch(out, '}');
	}
	buf_addstr(out, "],\n\"counters\": [");
	for (uint32_t i = 0; i < m->n_bases; i++) {
		buf_addstr(out, i ? ",\n{\"of\": " : "\n{\"of\": ");
		quote(out, m->base[i].name);
		put_number(out, "offset", m->base[i].offset);
		buf_addch(out, '}');
	}
	buf_addstr(out, "]}\n");
}

int redact_map_save(const struct redact_map *m, const char *path, struct error *e)
{
	struct outfile file = { .fd = -1 };
	SCOPED(buf_release) struct buf out = BUF_INIT;
	int err;

	print_map(m, &out);
	memory_whole(&out);
	err = outfile_open(&file, path, OUTFILE_OVERWRITE, NULL, 0, e);
	/* Before the first byte is written. */
	if (!err && fchmod(file.fd, 0600))
		err = error_sys(e, errno, "%s", path);
	if (!err)
		err = outfile_write(&file, out.data, out.len);
	return outfile_end(&file, err, e);
}
