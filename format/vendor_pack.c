#include "format/vendor_pack.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/event/vendor_events.h"
#include "common/memory.h"
#include "common/parse.h"
#include "common/file.h"
#include "format/compress.h"
#include "format/crc32c.h"

#define MAX_INDEX  (1u << 20)
#define MAX_RAW    (64u << 20)
#define PACK_LEVEL 19

static const char magic[8] = { 'P', 'M', 'V', 'E', 'N', 'D', 'R', '3' };

struct head {
	char magic[8];
	uint32_t index, crc; /* little-endian */
};

char *vendor_pack_path(void)
{
	const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");

	if (data && *data == '/')
		return memory_format("%s/pmrec/vendor.pmv", data);
	return home && *home == '/' ? memory_format("%s/.local/share/pmrec/vendor.pmv", home) : NULL;
}

void vendor_pack_close(struct vendor_pack *p)
{
	for (uint32_t i = 0; i < p->n_sets; i++) {
		buf_release(&p->set[i].rows);
		buf_release(&p->set[i].list);
		free(p->set[i].name);
	}
	for (uint32_t i = 0; i < p->n_cpus; i++)
		free(p->cpu[i].pattern);
	free(p->set);
	free(p->cpu);
	free(p->path);
	if (p->fd >= 0)
		close(p->fd);
	*p = (struct vendor_pack){ .fd = -1 };
}

uint32_t vendor_pack_add_set(struct vendor_pack *p, const char *name)
{
	for (uint32_t i = 0; i < p->n_sets; i++)
		if (!strcmp(p->set[i].name, name))
			return i;
	memory_room(&p->set, p->n_sets, sizeof(*p->set));
	p->set[p->n_sets] = (struct vendor_set){ .name = memory_text(name) };
	return p->n_sets++;
}

void vendor_pack_add_cpu(struct vendor_pack *p, const char *pattern, uint32_t set)
{
	memory_room(&p->cpu, p->n_cpus, sizeof(*p->cpu));
	p->cpu[p->n_cpus++] = (struct vendor_cpu){ .pattern = memory_text(pattern), .set = set };
}

/* ---- reading ---- */

/* Absent numbers at the end are 0. */
static int take_set(struct vendor_pack *p, const char *name, char *line)
{
	uint32_t at = vendor_pack_add_set(p, name);
	struct vendor_set *s = &p->set[at];
	uint64_t n[6] = { 0 };

	for (size_t i = 0; i < 6 && line && *line; i++)
		n[i] = strtoull(line, &line, 10);
	s->events = (uint32_t)n[0];
	s->metrics = (uint32_t)n[1];
	s->offset = n[2];
	s->length = n[3];
	s->raw = n[4];
	s->crc = (uint32_t)n[5];
	return s->length > MAX_RAW || s->raw > MAX_RAW ? -EBADMSG : 0;
}

static int take_line(struct vendor_pack *p, char *line)
{
	const char *word = strsep(&line, "\t"), *name = line ? strsep(&line, "\t") : NULL;

	if (name && !strcmp(word, "set"))
		return take_set(p, name, line);
	if (!name || !line || strcmp(word, "cpu"))
		return 0;
	for (uint32_t i = 0; i < p->n_sets; i++)
		if (!strcmp(p->set[i].name, line)) {
			vendor_pack_add_cpu(p, name, i);
			return 0;
		}
	return -EBADMSG;
}

static int read_index(struct vendor_pack *p)
{
	struct head head;
	char *rest, *line;
	SCOPED(scoped_free) char *text = NULL;
	uint32_t size;
	int err = 0;

	if (pread(p->fd, &head, sizeof(head), 0) != sizeof(head) || memcmp(head.magic, magic, sizeof(magic)))
		return -EBADMSG;
	size = le32toh(head.index);
	if (size > MAX_INDEX)
		return -EBADMSG;
	text = memory_new((size_t)size + 1, 1);
	if (pread(p->fd, text, size, sizeof(head)) != (ssize_t)size || crc32c(text, size) != le32toh(head.crc))
		err = -EBADMSG;
	p->begin = sizeof(head) + size;
	for (rest = text; !err && (line = strsep(&rest, "\n"));)
		err = take_line(p, line);
	return err;
}

static int vendor_pack_open(struct vendor_pack *p, const char *path, struct error *e)
{
	int err;

	*p = (struct vendor_pack){ .path = memory_text(path) };
	p->fd = file_open(path, e);
	err = p->fd < 0 ? p->fd : read_index(p);
	if (p->fd >= 0 && err)
		error_set(e, -err, "%s: not a pack of vendors' events, or damaged", path);
	if (err)
		vendor_pack_close(p);
	return err;
}

int vendor_pack_find(struct vendor_pack *p, struct error *e)
{
	SCOPED(scoped_free) char *own = vendor_pack_path();
	const char *path = own && !access(own, F_OK) ? own : !access(PM_VENDOR_PACK, F_OK) ? PM_VENDOR_PACK : NULL;
	int err = path ? vendor_pack_open(p, path, e) : -ENOENT;

	if (!path)
		*p = (struct vendor_pack){ .fd = -1 };
	return err;
}

/* Of rows for revisions of an Arm processor that of the latest which is not newer than it, else the oldest. */
static bool is_best(const struct vendor_pack *p, uint32_t row, uint64_t own)
{
	const uint64_t revision = 0xf0000f;
	uint64_t mine, other;

	if (parse_u64(p->cpu[row].pattern, &mine) || (mine ^ own) & ~revision)
		return false;
	for (uint32_t i = 0; i < p->n_cpus; i++)
		if (!parse_u64(p->cpu[i].pattern, &other) && !((other ^ own) & ~revision) && other != mine &&
		    (other <= own ? mine > own || other > mine : mine > own && other < mine))
			return false;
	return true;
}

static uint32_t choose_sets(const struct vendor_pack *p, const char *cpuid, uint32_t *set, uint32_t max)
{
	uint64_t midr, other;
	uint32_t n = 0;

	for (uint32_t i = 0; cpuid && i < p->n_cpus && n < max; i++) {
		bool known = false;

		for (uint32_t k = 0; k < n; k++)
			known |= set[k] == p->cpu[i].set;
		if (!known && (parse_u64(cpuid, &midr) || parse_u64(p->cpu[i].pattern, &other) ?
				       vendor_is_cpu(p->cpu[i].pattern, cpuid) :
				       is_best(p, i, midr)))
			set[n++] = p->cpu[i].set;
	}
	return n;
}

/* Adds the texts of a set. */
static int read_set(const struct vendor_pack *p, struct pm_zstd *z, const struct vendor_set *s,
		    struct vendor_texts *out)
{
	SCOPED(scoped_free) char *in = memory_new(s->length, 1);
	SCOPED(buf_release) struct buf text = BUF_INIT;
	const char *all, *list;
	int err;

	if (pread(p->fd, in, s->length, (off_t)(p->begin + s->offset)) != (ssize_t)s->length ||
	    crc32c(in, s->length) != s->crc)
		return -EBADMSG;
	err = s->length ? pm_zstd_decompress(z, in, s->length, s->raw, &text) : 0;
	all = buf_str(&text);
	memory_whole(&text);
	list = *all == '\n' ? all : strstr(all, "\n\n");
	if (err || !list)
		return err;
	out->set[out->n].rows = memory_checked(strndup(all, (size_t)(list - all) + (list > all)));
	out->set[out->n++].metrics = memory_text(list + 1 + (list > all));
	return 0;
}

void vendor_texts_release(struct vendor_texts *t)
{
	for (uint32_t i = 0; i < t->n; i++) {
		free(t->set[i].rows);
		free(t->set[i].metrics);
	}
	*t = (struct vendor_texts){ 0 };
}

int vendor_pack_texts(const struct vendor_pack *p, const char *cpuid, struct vendor_texts *out, struct error *e)
{
	struct pm_zstd *z = memory_checked(pm_zstd_new());
	uint32_t set[VENDOR_TEXTS], n = choose_sets(p, cpuid, set, VENDOR_TEXTS);
	int err = 0;

	*out = (struct vendor_texts){ 0 };
	for (uint32_t i = 0; i < n && !err; i++) {
		err = read_set(p, z, &p->set[set[i]], out);
		if (err)
			error_set(e, -err, "%s: %s cannot be read: the pack is damaged", p->path,
				  p->set[set[i]].name);
	}
	pm_zstd_free(z);
	if (err)
		vendor_texts_release(out);
	return err;
}

/* ---- writing ---- */

static void pack_set(struct pm_zstd *z, const struct vendor_set *s, struct buf *index, struct buf *frames)
{
	SCOPED(buf_release) struct buf text = BUF_INIT;
	size_t at = frames->len;

	buf_add(&text, s->rows.data, s->rows.len);
	buf_addch(&text, '\n');
	if (s->list.len) {
		buf_addch(&text, '[');
		buf_add(&text, s->list.data, s->list.len);
		buf_addch(&text, ']');
	}
	memory_whole(&text);
	memory_must(pm_zstd_compress(z, text.data, text.len, PACK_LEVEL, frames));
	buf_printf(index, "set\t%s\t%u\t%u\t%zu\t%zu\t%zu\t%" PRIu32 "\n", s->name, s->events, s->metrics, at,
		   frames->len - at, text.len, crc32c(frames->data + at, frames->len - at));
}

static void pack_sets(const struct vendor_pack *p, struct buf *index, struct buf *frames)
{
	struct pm_zstd *z = memory_checked(pm_zstd_new());

	for (uint32_t i = 0; i < p->n_sets; i++)
		pack_set(z, &p->set[i], index, frames);
	for (uint32_t i = 0; i < p->n_cpus; i++)
		buf_printf(index, "cpu\t%s\t%s\n", p->cpu[i].pattern, p->set[p->cpu[i].set].name);
	pm_zstd_free(z);
	memory_whole(index);
}

int vendor_pack_write(struct vendor_pack *p, const char *path, struct error *e)
{
	SCOPED(buf_release) struct buf frames = BUF_INIT, index = BUF_INIT, file = BUF_INIT;
	SCOPED(scoped_free) char *temporary = memory_format("%s.XXXXXX", path);
	struct head head;
	int err, fd;

	pack_sets(p, &index, &frames);
	memcpy(head.magic, magic, sizeof(magic));
	head.index = htole32((uint32_t)index.len);
	head.crc = htole32(crc32c(index.data, index.len));
	buf_add(&file, &head, sizeof(head));
	buf_add(&file, index.data, index.len);
	buf_add(&file, frames.data, frames.len);
	memory_whole(&file);
	err = (fd = mkstemp(temporary)) < 0 ? -errno : file_write(fd, file.data, file.len);
	if (!err && (fchmod(fd, 0644) || fsync(fd) || rename(temporary, path)))
		err = -errno;
	if (fd >= 0) {
		close(fd);
		if (err)
			unlink(temporary);
	}
	return err ? error_sys(e, -err, "%s", path) : 0;
}
