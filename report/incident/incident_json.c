/* An incident as an object of JSON. */
#include <math.h>

#include "common/json.h"
#include "report/incident/incident_private.h"
#include "report/machine/value_out.h"

static struct json *number_or_null(uint32_t n)
{
	return n == PM_NONE ? json_new_null() : json_new_u64(n);
}

static struct json *wall(const struct incidents *all, double s)
{
	return time_json(all->start_wall_ns ? (uint64_t)(all->start_wall_ns + (int64_t)(s * 1e9)) : 0);
}

struct json *incident_json(const struct incidents *all, uint32_t rank)
{
	const struct incident *i = &all->incident[rank];
	struct json *j = json_new_object(), *list = json_new_array(), *tasks = json_new_array();
	struct buf text = BUF_INIT;

	incident_put_time(all, i, &text);
	buf_printf(&text, ": %s", i->text);
	for (uint32_t k = 0; k < i->n_series; k++) {
		const struct incident_series *s = &i->series[k];
		struct json *one = json_new_object();

		json_put(one, "metric", json_new_text(s->metric));
		json_put(one, "scope", json_new_text(pm_kind_name(s->kind)));
		json_put(one, "package", number_or_null(s->package));
		json_put(one, "cpu", number_or_null(s->cpu));
		json_put(one, "device", s->device[0] ? json_new_text(s->device) : json_new_null());
		json_put(one, "usual", json_new_f64(s->usual));
		json_put(one, "value", json_new_f64(s->value));
		json_push(list, one);
	}
	for (uint32_t k = 0; k < i->n_tasks; k++) {
		const struct incident_task *t = &i->task[k];
		struct json *one = json_new_object();

		json_put(one, "name", json_new_text(t->name));
		json_put(one, "pid", t->pid ? json_new_u64(t->pid) : json_new_null());
		json_put(one, "tid", t->tid ? json_new_u64(t->tid) : json_new_null());
		json_put(one, "ended", json_new_u64(t->ended));
		json_put(one, "cpu_s", json_new_f64(t->cpu));
		json_put(one, "bytes", json_new_f64(t->bytes));
		json_put(one, "rss", json_new_f64(t->rss));
		json_push(tasks, one);
	}
	json_put(j, "rank", json_new_u64(rank + 1));
	json_put(j, "from", wall(all, i->from_s));
	json_put(j, "to", wall(all, i->to_s));
	json_put(j, "from_s", json_new_f64(round(i->from_s * 1e6) / 1e6));
	json_put(j, "to_s", json_new_f64(round(i->to_s * 1e6) / 1e6));
	json_put(j, "score", json_new_f64(round(i->score * 100) / 100));
	json_put(j, "text", json_new_buf(&text));
	json_put(j, "series", list);
	json_put(j, "tasks", tasks);
	buf_release(&text);
	return j;
}
