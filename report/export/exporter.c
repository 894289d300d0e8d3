#include "report/export/exporter.h"

#include <string.h>
#include <time.h>

#include "common/number.h"
#include "common/table.h"

const char *const export_columns[EXPORT_ALL_COLUMNS] = {
	"recording", "run",  "time",   "duration_ns", "scope",      "package", "die",        "cluster",
	"cache",     "node", "core",   "cpu",         "device",     "task",    "cgroup",     "metric",
	"value",     "unit", "status", "coverage",    "elapsed_ns", "host",    "machine_id", "recording_id",
};

/* clang-format off */
const char *const export_verdicts[SHEET_VERDICTS] = {
	[SHEET_UNJUDGED] = "", [SHEET_UNKNOWN] = "unknown", [SHEET_GOOD] = "good", [SHEET_BAD] = "bad",
};
/* clang-format on */

void exporter_init(struct exporter *x, const struct sink_ops *ops, const struct export_config *config)
{
	*x = (struct exporter){
		.sink = { .ops = ops, .recording = "" },
		.config = *config,
		.out = { .fd = config->fd, .live = config->flush, .binary = ops && ops->binary },
	};
}

int exporter_close(struct exporter *x)
{
	int err = x->sink.ops->close ? x->sink.ops->close(&x->sink) : 0;

	if (err && x->out.error.text[0])
		x->sink.error = x->out.error;
	else if (err && !x->sink.error.text[0])
		error_sys(&x->sink.error, -err, "output");
	return err ? err : exporter_flush(x);
}

void exporter_release(struct exporter *x)
{
	if (x->sink.ops && x->sink.ops->release)
		x->sink.ops->release(&x->sink);
	output_release(&x->out);
	buf_release(&x->file);
	for (int i = 0; i < N_PIECES; i++) {
		buf_release(&x->piece[i].text);
		buf_release(&x->piece[i].end);
	}
}

int exporter_flush(struct exporter *x)
{
	int err = output_flush(&x->out);

	if (err)
		x->sink.error = x->out.error;
	return err;
}

int exporter_pace(struct exporter *x)
{
	return x->out.live || output_is_full(&x->out) ? exporter_flush(x) : 0;
}

/* ---- for the formats ---- */

void export_forget(struct exporter *x)
{
	buf_clear(&x->file);
	for (int i = 0; i < N_PIECES; i++) {
		buf_clear(&x->piece[i].text);
		buf_clear(&x->piece[i].end);
	}
}

static int32_t local_offset(int64_t wall_ns)
{
	time_t t = (time_t)(wall_ns / 1000000000);
	struct tm tm;

	return localtime_r(&t, &tm) ? (int32_t)tm.tm_gmtoff : 0;
}

size_t export_time_text(const struct exporter *x, const struct interval *i, enum export_time fallback, char *out,
			bool *quoted)
{
	enum export_time kind = x->config.time ? x->config.time : fallback;

	*quoted = false;
	/* A recording without wall time has only relative times. */
	if (kind == EXPORT_TIME_RELATIVE || i->wall_ns <= 0)
		return number_fixed(out, (double)(int64_t)(i->to_ns - x->sink.origin_ns) / 1e9, 9);
	if (kind == EXPORT_TIME_EPOCH_NS)
		return number_s64(out, i->wall_ns);
	*quoted = true;
	return number_time(out, (uint64_t)i->wall_ns, kind == EXPORT_TIME_LOCAL ? local_offset(i->wall_ns) : 0);
}

size_t export_number(char *out, double v)
{
	/* Most values are counts, which are quick to print. */
	if (v >= 0 && v < 0x1p53) {
		uint64_t n = (uint64_t)v;

		if ((double)n == v)
			return number_u64(out, n);
	}
	return number_double(out, v);
}

void export_csv_field(struct buf *out, const char *text)
{
	text_csv_name(out, text, ",");
}

void export_place_numbers(const struct place *p, uint32_t number[static 7])
{
	const uint32_t all[7] = { p->package, p->die, p->cluster, p->cache, p->node, p->core, p->cpu };

	memcpy(number, all, sizeof(all));
}

void export_place_names(const struct sheet *s, const struct place *p, const char *name[static 3])
{
	const char *text = places_name(s->places, p);

	name[0] = p->kind == PM_TASK || p->kind == PM_CGROUP ? "" : text;
	name[1] = p->kind == PM_TASK ? text : "";
	name[2] = p->kind == PM_CGROUP ? text : "";
}
