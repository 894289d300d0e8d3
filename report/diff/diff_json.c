/* One JSON object with the whole comparison. */
#include <math.h>

#include "common/json.h"
#include "report/diff/diff_output.h"

static struct json *recordings(const struct diff_report *x, enum diff_side side)
{
	struct json *all = json_new_array();

	for (size_t i = 0; i < x->recordings->n; i++) {
		const struct diff_recording *r = &x->recordings->recording[i];
		struct json *one;

		if (r->side != side)
			continue;
		one = json_new_object();
		json_put(one, "recording", json_new_text(r->path));
		json_put(one, "runs", json_new_u64(r->n_runs));
		json_put(one, "snapshots", json_new_u64(r->snapshots));
		json_put(one, "lost_ticks", json_new_u64(r->lost_ticks));
		json_put(one, "doubtful", json_new_u64(r->doubtful));
		json_put(one, "damaged", json_new_bool(r->damaged));
		json_put(one, "cut", json_new_bool(r->cut));
		json_push(all, one);
	}
	return all;
}

static struct json *environment(const struct diff_report *x)
{
	struct json *all = json_new_array();

	for (size_t i = 0; i < x->environment->n; i++) {
		const struct diff_difference *d = &x->environment->difference[i];
		struct json *one = json_new_object();

		json_put(one, "what", json_new_text(d->name));
		json_put(one, "base", json_new_text(d->side[DIFF_BASE]));
		json_put(one, "new", json_new_text(d->side[DIFF_NEW]));
		json_put(one, "meaningless", json_new_bool(d->meaningless));
		json_push(all, one);
	}
	return all;
}

static struct json *runs(const struct diff_result *r, enum diff_side side)
{
	struct json *all = json_new_array();
	size_t from = side == DIFF_BASE ? 0 : r->n[DIFF_BASE], to = from + r->n[side];

	for (size_t i = from; i < to; i++)
		json_push(all, json_new_f64(r->value[i]));
	return all;
}

static struct json *by_side(double base, double fresh)
{
	struct json *both = json_new_object();

	json_put(both, "base", json_new_f64(base));
	json_put(both, "new", json_new_f64(fresh));
	return both;
}

static struct json *result(const struct diff_result *r)
{
	struct json *one = json_new_object();
	const struct verdict *v = &r->v;

	json_put(one, "metric", json_new_text(r->series->metric));
	json_put(one, "scope", json_new_text(pm_kind_name(r->series->place.kind)));
	json_put(one, "place", json_new_text(r->series->where));
	json_put(one, "unit", json_new_text(r->series->unit));
	json_put(one, "better",
		 r->rules.better == METRIC_LOWER  ? json_new_text("lower") :
		 r->rules.better == METRIC_HIGHER ? json_new_text("higher") :
						    json_new_null());
	json_put(one, "gated", json_new_bool(r->gated));
	json_put(one, "explained_by_run_sd", json_new_f64(v->spread));
	json_put(one, "verdict", json_new_text(verdict_name(v->kind)));
	json_put(one, "base", json_new_f64(v->base));
	json_put(one, "new", json_new_f64(v->fresh));
	json_put(one, "ratio", json_new_f64(v->ratio));
	json_put(one, "low", json_new_f64(v->low));
	json_put(one, "high", json_new_f64(v->high));
	json_put(one, "p", json_new_f64(v->p));
	json_put(one, "q", json_new_f64(v->q));
	json_put(one, "p_permutation", json_new_f64(v->ranks));
	json_put(one, "n_base", json_new_u64(v->n_base));
	json_put(one, "n_new", json_new_u64(v->n_fresh));
	json_put(one, "margin", json_new_f64(r->rules.margin));
	json_put(one, "run_sd", json_new_f64(v->within ? r->rules.run_sd : NAN));
	json_put(one, "logarithmic", json_new_bool(v->logarithmic));
	json_put(one, "samples", by_side(r->samples[DIFF_BASE], r->samples[DIFF_NEW]));
	json_put(one, "time", by_side(r->time[DIFF_BASE], r->time[DIFF_NEW]));
	json_put(one, "runs_needed", v->needed ? json_new_u64(v->needed) : json_new_null());
	json_put(one, "why", json_new_text(r->why));
	json_put(one, "base_runs", runs(r, DIFF_BASE));
	json_put(one, "new_runs", runs(r, DIFF_NEW));
	return one;
}

int diff_print_json(const struct diff_report *x, struct buf *out)
{
	static const char *const order[] = { [DIFF_BASE_FIRST] = "base first",
					     [DIFF_NEW_FIRST] = "new first",
					     [DIFF_MIXED] = "mixed",
					     [DIFF_TURNS] = "in turn" };
	SCOPED(json_scoped) struct json *whole = json_new_object();
	struct json *boots = by_side(x->recordings->boots[DIFF_BASE], x->recordings->boots[DIFF_NEW]);
	struct json *all = json_new_array();

	json_put(whole, "base", recordings(x, DIFF_BASE));
	json_put(whole, "new", recordings(x, DIFF_NEW));
	json_put(whole, "order",
		 order[x->recordings->order] ? json_new_text(order[x->recordings->order]) : json_new_null());
	json_put(boots, "shared", json_new_u64(x->recordings->boots_shared));
	json_put(whole, "boots", boots);
	json_put(whole, "differences", environment(x));
	for (size_t i = 0; i < x->results->n; i++)
		json_push(all, result(&x->results->result[i]));
	json_put(whole, "failures", x->failures ? json_new_text(x->failures) : json_new_null());
	json_put(whole, "results", all);
	json_put(whole, "exit", json_new_u64((uint64_t)x->status));
	json_print(whole, 2, out);
	buf_addch(out, '\n');
	return out->err;
}
