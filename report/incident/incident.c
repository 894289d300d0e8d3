#include "report/incident/incident.h"

#include <errno.h>
#include <stdlib.h>

#include "report/incident/incident_private.h"

static void forget_from(struct incidents *found, uint32_t n)
{
	while (found->n > n) {
		struct incident *i = &found->incident[--found->n];

		free(i->text);
		free(i->series);
		while (i->n_tasks)
			free(i->task[--i->n_tasks].name);
	}
}

void incidents_release(struct incidents *found)
{
	forget_from(found, 0);
	free(found->incident);
	if (found->store)
		store_release(found->store);
	free(found->store);
	buf_release(&found->result.notes);
	buf_release(&found->result.remarks);
	*found = (struct incidents){ 0 };
}

int incidents_find(struct incidents *found, const char *path, const char *name, const struct pipeline_config *config,
		   const struct pipeline_part *along, struct error *e)
{
	struct incident_store *s = calloc(1, sizeof(*s));
	struct findings f = { 0 };
	uint32_t n = 0;
	int err;

	*found = (struct incidents){ .store = s };
	if (!s)
		return error_sys(e, ENOMEM, "%s", name);
	do {
		pipeline_result_release(&found->result);
		store_restart(s);
		err = store_collect(s, found, path, name, config, along, e);
		if (!err)
			err = scan_all(s, &f);
		found->n_scanned += s->n_series - s->kept;
		err = err ? err : store_keep(s, &f);
		along = NULL;
	} while (!err && ++s->part < s->parts);
	if (!err)
		err = merge_all(s, &f, found);
	free(f.f);
	found->bin_s = s->interval_s;
	while (n < found->n && n < INCIDENTS_MOST && found->incident[n].score >= SCORE_LEAST)
		n++;
	forget_from(found, n);
	if (!err)
		err = refine_all(found, path, config, e);
	for (uint32_t i = 0; i < found->n && !err; i++)
		err = say(found, &found->incident[i]);
	return err && !e->text[0] ? error_sys(e, -err, "%s", name) : err;
}
