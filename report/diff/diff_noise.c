#include "report/diff/diff_noise.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "common/json.h"
#include "common/statistics.h"
#include "report/input/outfile.h"

#define VERSION 1

int diff_noise_load(struct diff_noise *n, const char *path, struct error *e)
{
	n->file = json_load(path, e);
	if (!n->file)
		return e->number ? -e->number : -EINVAL;
	if (json_number(json_get(n->file, "pmrep_noise"), 0) == VERSION &&
	    json_is_array(json_get(n->file, "metrics")))
		return 0;
	diff_noise_release(n);
	return error_set(e, EINVAL, "%s is not a file written by pmrep diff --save-noise", path);
}

void diff_noise_release(struct diff_noise *n)
{
	json_free(n->file);
	n->file = NULL;
}

double diff_noise_of(const struct diff_noise *n, const struct diff_series *s)
{
	const struct json *all = json_get(n->file, "metrics");

	for (size_t i = 0; i < json_count(all); i++) {
		const struct json *one = json_at(all, i);
		double sd = json_number(json_get(one, "relative_sd"), NAN), df = json_number(json_get(one, "df"), 0);

		if (strcmp(json_text(json_get(one, "metric"), ""), s->metric) ||
		    strcmp(json_text(json_get(one, "unit"), ""), s->unit) ||
		    strcmp(json_text(json_get(one, "place"), ""), s->where))
			continue;
		if (!(sd >= 0) || !(df >= 1))
			return NAN;
		return sd * statistics_t_quantile(0.975, df) / statistics_t_quantile(0.975, INFINITY);
	}
	return NAN;
}

/* Sum of squares of the logs around their side's mean; of relative differences where there are no logs. */
static double pooled(const struct diff_series *s, const struct diff_recordings *r, double *df)
{
	double squares = 0;

	*df = 0;
	for (int side = 0; side < DIFF_SIDES; side++) {
		double mean = 0, of_logs = 0, sum = 0, sum_logs = 0, n = 0;
		bool logs = true;

		for (uint32_t i = 0; i < s->n; i++)
			if (r->recording[s->value[i].recording].side == (enum diff_side)side &&
			    !isnan(s->value[i].v)) {
				logs &= s->value[i].v > 0;
				mean += s->value[i].v;
				of_logs += log(fabs(s->value[i].v));
				n++;
			}
		if (n < 2)
			continue;
		mean /= n;
		of_logs /= n;
		for (uint32_t i = 0; i < s->n; i++)
			if (r->recording[s->value[i].recording].side == (enum diff_side)side &&
			    !isnan(s->value[i].v)) {
				sum += pow(s->value[i].v - mean, 2);
				sum_logs += logs ? pow(log(s->value[i].v) - of_logs, 2) : 0;
			}
		if (!logs && !(mean > 0 || mean < 0))
			continue;
		squares += logs ? sum_logs : sum / (mean * mean);
		*df += n - 1;
	}
	return squares;
}

int diff_noise_save(const struct diff_data *d, const struct diff_recordings *r, const struct diff_options *o,
		    struct error *e)
{
	struct json *file = json_new_object(), *all = json_new_array();
	SCOPED(buf_release) struct buf text = BUF_INIT;
	struct outfile f;
	int err = !file || !all ? -ENOMEM : json_put(file, "pmrep_noise", json_new_u64(VERSION));

	if (!err)
		err = json_put(file, "metrics", all);
	for (size_t i = 0; i < d->n && !err; i++) {
		const struct diff_series *s = &d->series[i];
		double df, squares = pooled(s, r, &df);
		struct json *one = df > 0 ? json_new_object() : NULL;

		if (!one)
			continue;
		json_put(one, "metric", json_new_text(s->metric));
		json_put(one, "unit", json_new_text(s->unit));
		json_put(one, "place", json_new_text(s->where));
		json_put(one, "relative_sd", json_new_f64(sqrt(squares / df)));
		json_put(one, "df", json_new_f64(df));
		err = json_push(all, one);
	}
	if (!err && !json_count(all))
		err = error_set(e, ENODATA, "--save-noise needs two or more runs per side");
	else if (err)
		error_sys(e, -err, "--save-noise");
	for (size_t i = 0; i < r->n && !err; i++)
		if (outfile_is_among(o->save_noise, (char *const *)&r->recording[i].place, 1))
			err = error_set(e, EINVAL, "'%s' is an input; name another file for --save-noise",
					o->save_noise);
	if (!err) {
		json_print(file, 2, &text);
		buf_addch(&text, '\n');
		err = outfile_open(&f, o->save_noise, o->overwrite, NULL, 0, e);
		if (!err)
			err = outfile_write(&f, text.data, text.len);
		err = outfile_end(&f, err, e);
	}
	json_free(file);
	return err;
}
