#include "report/cmd_copy.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "report/input/input.h"
#include "report/input/spool.h"
#include "report/machine/value_out.h"
#include "report/pipeline/moment.h"
#include "report/pipeline/options_read.h"

static const char brief[] =
	"Usage: pmrep merge [OPTION...] -o OUT.pmr FILE...\n"
	"Join consecutive recordings of one boot of one machine, such as those of pmrec --rotate, into one.\n\n"
	"The order of the files does not matter: their times decide. The time between two recordings is a gap,\n"
	"unless one begins with the snapshot that ended the other.\n\n" OPTIONS_LIST "\n"
	"Example:\n"
	"  pmrep merge -o day.pmr host-*.pmr\n";

/* One of the inputs: what must be known before the first is copied. */
struct part {
	struct spool in;
	uint8_t id[8];     /* of the recording */
	char *boot, *host; /* owned; "" if the recording does not say */
	uint64_t from_ns, to_ns;
	uint64_t since_ns; /* --since, if this is the first of them */
	int64_t offset_ns; /* of the wall clock to CLOCK_MONOTONIC */
	bool has_wall;
};

struct merge {
	struct cmd_copy copy;
	struct moment since;
	struct rewrite_rules rules;
	struct part *part; /* by time */
	size_t first;      /* of those that reach into --since */
};

#define OPTIONS_INTO struct merge
static const struct option_row rows[] = {
	CMD_COPY_OPTIONS,
	{ "since", 0, "TIME", "only snapshots from TIME on, as for cut; -SECONDS: before the end of the last",
	  READ(since, read_moment) },
	{ 0 },
};

static const struct options_spec spec = {
	.name = "pmrep merge",
	.rows = rows,
	.operands = cmd_copy_files,
	.operands_doc = "FILE...",
	.brief = brief,
};

/* ---- do they belong together ---- */

static int look(struct part *p, const struct moment *since, struct error *e)
{
	const struct pm_model *model;
	struct pm_reader *reader;
	struct pm_item item;
	struct pm_chunk_head first;
	struct pm_extent extent;
	bool packed;
	int r;

	if (spool_reader(&reader, &p->in, e))
		return -e->number;
	r = pm_reader_extent(reader, &extent);
	p->from_ns = extent.from_ns;
	p->to_ns = extent.to_ns;
	/* A compressed file cannot seek: it is read. */
	packed = r == -ESPIPE;
	r = r && !packed ? error_sys(e, -r, "%s", p->in.name) : input_next_chunk(reader, &item, p->in.name, e);
	model = pm_reader_model(reader);
	if (r == 1) {
		p->boot = memory_text(pm_map_text(&model->header, PM_HEADER_BOOT_ID, ""));
		p->host = memory_text(pm_map_text(&model->header, PM_HEADER_HOST, ""));
		memcpy(p->id, model->recording_id, sizeof(p->id));
		first = item.chunk;
		p->has_wall = first.clocks.realtime;
		p->offset_ns = (int64_t)(first.clocks.realtime - first.clocks.monotonic);
		p->from_ns = packed ? first.from_ns : p->from_ns;
		while (packed && r == 1) {
			p->to_ns = item.chunk.to_ns;
			r = input_next_chunk(reader, &item, p->in.name, e);
		}
		r = r < 0 ? r : 0;
		if (!r && since->kind != MOMENT_FROM_END)
			r = moment_resolve(since, reader, &first, &p->since_ns, e);
	} else if (!r) {
		r = error_set(e, EINVAL, "%s: has no snapshot; nothing to merge", p->in.name);
	}
	pm_reader_close(reader);
	return r;
}

static int by_time(const void *x, const void *y)
{
	const struct part *a = x, *b = y;

	return (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
}

/* CLOCK_MONOTONIC restarts with each boot: numbers of two boots are unrelated. */
static int belong_together(const struct part *a, const struct part *b, struct error *e)
{
	int64_t apart = a->offset_ns > b->offset_ns ? a->offset_ns - b->offset_ns : b->offset_ns - a->offset_ns;

	if (!memcmp(a->id, b->id, sizeof(a->id)))
		return error_set(e, EINVAL, "%s and %s are the same recording", a->in.name, b->in.name);
	if (*a->host && *b->host && strcmp(a->host, b->host))
		return error_set(e, EINVAL, "%s and %s are of different machines", a->in.name, b->in.name);
	if (*a->boot && *b->boot) {
		if (strcmp(a->boot, b->boot))
			return error_set(e, EINVAL, "%s and %s are of different boots", a->in.name, b->in.name);
	} else if (!a->has_wall || !b->has_wall || apart > 60000000000) {
		return error_set(e, EINVAL, "cannot tell whether %s and %s are of the same boot", a->in.name,
				 b->in.name);
	}
	if (b->from_ns < a->to_ns)
		return error_set(e, EINVAL, "%s and %s overlap in time: they are not consecutive", a->in.name,
				 b->in.name);
	return 0;
}

static int look_at_all(struct merge *m, struct error *e)
{
	int err = 0;

	m->part = memory_new((size_t)m->copy.files.n, sizeof(*m->part));
	for (int i = 0; i < m->copy.files.n; i++)
		m->part[i].in.fd = -1;
	for (int i = 0; i < m->copy.files.n && !err; i++) {
		/* It is read for its times, and then again. */
		err = spool_open(&m->part[i].in, m->copy.files.path[i], SPOOL_TWICE, e);
		if (!err)
			err = look(&m->part[i], &m->since, e);
	}
	if (!err)
		qsort(m->part, (size_t)m->copy.files.n, sizeof(*m->part), by_time);
	for (int i = 1; i < m->copy.files.n && !err; i++)
		err = belong_together(&m->part[i - 1], &m->part[i], e);
	return err;
}

/* ---- joining ---- */

static uint64_t from(const struct merge *m, size_t n)
{
	uint64_t to = m->part[n - 1].to_ns;

	if (m->since.kind != MOMENT_FROM_END)
		return m->part[0].since_ns;
	return to > m->since.ns ? to - m->since.ns : 0;
}

static int open_part(void *ctx, size_t i, struct pm_reader **reader, const char **name, struct error *e)
{
	struct merge *m = ctx;
	struct part *p = &m->part[m->first + i];

	*name = p->in.name;
	m->rules.growing = p->in.growing;
	return spool_reader(reader, &p->in, e);
}

static int run(void *input, const struct options_common *common)
{
	struct merge *m = input;
	size_t n = (size_t)m->copy.files.n;
	struct rewrite_result r = { 0 };
	struct outfile out = { .fd = -1 };
	struct error e = { 0 };
	int err = look_at_all(m, &e);

	if (!err) {
		m->rules.join = true;
		m->rules.from_ns = from(m, n);
		m->rules.history = n > 1 ? "merged with those that followed" : NULL;
		while (m->first + 1 < n && m->part[m->first].to_ns < m->rules.from_ns)
			m->first++;
		n -= m->first;
		err = cmd_copy_open(&m->copy, OUTFILE_PRIVATE, &out, &e);
	}
	if (!err)
		err = rewrite_all(&m->rules, n, open_part, m, outfile_write, &out, &r, &e);
	if (outfile_end(&out, err, &e))
		return cmd_fail(spec.name, &e);
	cmd_complain(spec.name, "%zu recording%s, %llu snapshot%s, %llu gap%s, %llu byte%s", n, plural(n),
		     (unsigned long long)r.snapshots_out, plural(r.snapshots_out), (unsigned long long)r.gaps,
		     plural(r.gaps), (unsigned long long)r.bytes, plural(r.bytes));
	return cmd_copied(spec.name, "input", &r);
}

int cmd_merge(int argc, char **argv)
{
	struct merge m = { 0 };
	int r = cmd_run(&spec, argc, argv, &m, run);

	for (int i = 0; m.part && i < m.copy.files.n; i++) {
		free(m.part[i].boot);
		free(m.part[i].host);
		spool_close(&m.part[i].in);
	}
	free(m.part);
	return r;
}
