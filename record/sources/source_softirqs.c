/* /proc/softirqs: one line a kind, one column a CPU. */
#include <errno.h>
#include <string.h>

#include "record/sources/cputext.h"
#include "record/plan/member.h"
#include "record/plan/plan.h"

static int softirqs_refresh(struct textstore *s)
{
	struct cputext *t = (struct cputext *)s;
	struct textcursor c;
	bool changed;
	uint32_t tag;
	uint64_t v;
	int err;

	err = textfile_read(&t->text.file);
	if (err)
		return err;
	c = textfile_begin(&t->text.file);
	err = cputext_head(t, &c, &changed);
	if (err)
		return err;
	/* CPUs without a column keep this; there are few rows, so it is set anew each time. */
	for (uint32_t i = 0; i < s->n; i++)
		s->status[i] = PM_REASON_OFFLINE;
	while (textfile_next(&t->text.file, &c, &tag)) {
		if (tag >= t->n_counters)
			continue;
		for (uint32_t k = 0; k < t->n_columns && textcursor_u64(&c, &v); k++) {
			uint32_t slot;

			if (t->column[k] == UINT32_MAX)
				continue;
			slot = cputext_slot(t, tag, t->column[k]);
			s->value[slot] = v;
			s->status[slot] = PM_OK;
		}
	}
	return 0;
}

static int64_t kind_counter(struct plan *p, const struct textcursor *c)
{
	char part[32], shown[32];
	size_t n;

	if (c->label_len >= sizeof(shown))
		return -EINVAL;
	memcpy(shown, c->label, c->label_len);
	shown[c->label_len] = '\0';
	member_part(part, sizeof(part), c->label, c->label_len);
	return member_counter(p, catalog_source("softirqs", &n),
			      &(struct member){ .part = part, .shown = shown, .family = "softirqs.vec" });
}

static int learn_kinds(struct cputext *t, struct plan *p)
{
	struct textcursor c = textfile_begin(&t->text.file);
	uint32_t n = 0;
	bool changed;
	int err;

	err = cputext_head(t, &c, &changed);
	while (!err && textcursor_line(&c)) {
		int64_t counter = kind_counter(p, &c);

		if (counter < 0)
			return (int)counter;
		err = cputext_resize(t, n + 1);
		if (!err)
			err = textfile_add(&t->text.file, c.label, c.label_len, n);
		if (!err)
			t->counter[n++] = (uint32_t)counter;
	}
	return err;
}

static int softirqs_plan(struct source *s, struct plan *p, struct error *e)
{
	struct cputext *t;
	int err = cputext_new(s, p, sizeof(*t), "/proc/softirqs", NULL, 0, 0, softirqs_refresh);

	t = s->data;
	if (!err && !t)
		return 0;
	if (!err)
		err = learn_kinds(t, p);
	if (err == -EINVAL) {
		source_release(s);
		return plan_refused(p, PM_REASON_FORMAT, NULL, "/proc/softirqs");
	}
	if (!err)
		err = cputext_plan(t, p);
	return err;
}

const struct source_ops source_softirqs = {
	.name = "softirqs",
	.help = "soft interrupts by kind (/proc/softirqs)",
	.plan = softirqs_plan,
	.update = cputext_update,
	.release = cputext_release,
};
