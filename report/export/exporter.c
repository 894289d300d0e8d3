#include "report/export/exporter.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/number.h"
#include "common/table.h"

const char *const export_columns[EXPORT_ALL_COLUMNS] = {
	"recording", "run",  "time",   "duration_ns", "scope",      "package", "die",        "cluster",
	"cache",     "node", "core",   "cpu",         "device",     "task",    "cgroup",     "metric",
	"value",     "unit", "status", "coverage",    "elapsed_ns", "host",    "machine_id", "recording_id",
};

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

void export_fact(struct export_fact *f, const struct sink *sink, const struct sheet *s, const struct place *p,
		 const struct bound_metric *m, enum export_column column)
{
	const struct pm_model *model = s->places->model;

	*f = (struct export_fact){ .text = "" };
	switch (column) {
	case EXPORT_RECORDING:
		f->text = sink->recording;
		return;
	case EXPORT_SCOPE:
		f->text = pm_kind_name(p->kind);
		return;
	case EXPORT_METRIC:
		f->text = m->name;
		return;
	case EXPORT_UNIT:
		f->text = m->about->unit;
		return;
	case EXPORT_HOST:
		f->text = pm_map_text(&model->header, PM_HEADER_HOST, NULL);
		return;
	case EXPORT_MACHINE:
		f->text = pm_map_text(&model->header, PM_HEADER_MACHINE_ID, NULL);
		return;
	case EXPORT_RECORDING_ID:
		for (size_t i = 0; i < 8; i++)
			snprintf(f->own + 2 * i, 3, "%02x", model->recording_id[i]);
		f->text = f->own;
		return;
	case EXPORT_TASK:
	case EXPORT_CGROUP:
		f->text = p->kind == (column == EXPORT_TASK ? PM_TASK : PM_CGROUP) ? places_name(s->places, p) : "";
		return;
	case EXPORT_DEVICE:
		f->text = p->kind == PM_TASK || p->kind == PM_CGROUP ? "" : places_name(s->places, p);
		return;
	default:
		break;
	}
	if (column >= EXPORT_PACKAGE && column <= EXPORT_CPU) {
		const uint32_t all[] = { p->package, p->die, p->cluster, p->cache, p->node, p->core, p->cpu };

		f->number = all[column - EXPORT_PACKAGE];
		f->is_number = f->number != PM_NONE;
	}
}
